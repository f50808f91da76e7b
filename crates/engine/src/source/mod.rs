//! Sources yield the next op. Each generator of block I/O is one: [`plumb`] follows a pattern, [`fio`] draws as fio
//! does, [`sweep`] goes through parts of files, [`requests`] takes them from a queue of the whole group, [`accesses`]
//! draws them from a table, and [`trace`] replays a recording. The sources of programs are next to their other parts.

pub(crate) mod accesses;
pub(crate) mod curve;
pub mod fio;
pub mod plumb;
pub(crate) mod requests;
pub(crate) mod sweep;
pub mod trace;
pub(crate) mod zipf;

use crate::op::Operation;
use plumb_result::measurement::Moved;
use plumb_workload::OpKind;

/// Yields ops, one at a time, from its own streams of random numbers.
pub trait Source {
    /// Type of its ops.
    type Op: Operation;

    /// Returns the next op, or `None` when its passes are used up. Called once per op from the hot loop: it allocates
    /// nothing, locks nothing and makes no system call.
    fn next(&mut self) -> Option<Self::Op>;

    /// Returns the next op if it has the last one's kind and length, counts the same, and directly follows it.
    /// Otherwise returns `None` and takes nothing.
    #[inline(always)]
    fn next_alike(&mut self) -> Option<Self::Op> {
        None
    }

    /// Called when an op has failed or was not made after all, so that a source can correct its state (such as a flow
    /// that assumed a file was created).
    fn failed(&mut self, _op: &Self::Op) {}

    /// Returns `true` if some of its ops start only when nothing else
    /// is in flight ([`Operation::after_all`]). Called once.
    fn waits_for_all(&self) -> bool {
        true
    }

    /// Restarts the limit of ops, at the end of the worker's ramp or of a search; bytes to move include those of the
    /// ramp. The current op was yielded before but starts afterwards, so it counts toward the new limit.
    fn restarts(&mut self, _at_hand: Option<&Self::Op>) {}

    /// Returns ops that count as done although they were not made, by kind. Called once, at the end.
    fn dry(&self) -> Vec<(OpKind, Moved)> {
        Vec::new()
    }

    /// Returns the number of completed passes through the flow, for sources that count transactions.
    fn transactions(&self) -> Option<u64> {
        None
    }
}
