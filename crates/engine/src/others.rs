//! Coordination with other processes that run workers of the same phase.

/// The other processes of a workload, as seen by one of them. Each runs a [part](crate::Part) of the workload. A phase
/// has the same meetings in every process, in the same order.
pub trait OtherProcesses: Send + Sync {
    /// Waits until the workers of all processes have arrived at a meeting. `count` is the progress of this process.
    /// Returns the highest progress; `None` if a process does not arrive.
    fn meet(&self, count: u64) -> Option<u64>;

    /// Stops all processes, because a worker here cannot keep in step with the others. They may wait for it in a call
    /// that only their own process can interrupt.
    fn give_up(&self);
}

/// Reads the number at the head of a message, and removes it from `bytes`.
pub(crate) fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*number))
}
