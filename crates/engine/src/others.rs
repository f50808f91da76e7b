//! The workers of a phase that other processes run, and what processes send each other.

/// Processes that run a workload together, each a [part](crate::Part) of it, as one of them asks the others. A phase has the same
/// meetings in every process, in the same order.
pub trait OtherProcesses: Send + Sync {
    /// Waits until the workers of all processes have come to a meeting, those of this one to `count`: how far the furthest came. `None`
    /// where a process does not come.
    fn meet(&self, count: u64) -> Option<u64>;

    /// A worker of this process cannot go on in step with the others, which may wait for it where nothing but their own process
    /// can end that: all are to end.
    fn give_up(&self);
}

/// The number at the head of what was sent, which is left with the rest.
pub(crate) fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*number))
}
