//! Sources yield the next op. Each generator of block I/O is one: [`plumb`] goes by a pattern, [`fio`] draws as fio does,
//! [`sweep`] goes over parts of files, [`requests`] takes them from a queue of the whole group, [`accesses`] draws them from a
//! table, and [`trace`] replays a recording. Programs have theirs beside their other parts.

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
    /// The kind of op that it yields.
    type Op: Operation;

    /// The next op, or `None` when its passes are used up. Called once an op from the hot loop: it allocates nothing,
    /// locks nothing and makes no system call.
    fn next(&mut self) -> Option<Self::Op>;

    /// The next op where it is one more of the last one's kind and length and counts as that one did, and nothing comes
    /// between the two. Else `None`, and nothing was taken.
    #[inline(always)]
    fn next_alike(&mut self) -> Option<Self::Op> {
        None
    }

    /// Told when an op has failed or was not done after all, so that a source with state (a flow that believed a file was made) can mend it.
    fn failed(&mut self, _op: &Self::Op) {}

    /// Whether some of its ops start only when nothing else is in flight ([`Operation::after_all`]). Asked once.
    fn waits_for_all(&self) -> bool {
        true
    }

    /// Restarts the limit of ops, at the end of the worker's ramp or of a search; bytes to move include those of the ramp. The
    /// op at hand was yielded already and starts afterwards, so it counts in the new limit.
    fn begins_anew(&mut self, _at_hand: Option<&Self::Op>) {}

    /// What it counts as done although nothing was done, by kind. Asked once, at the end.
    fn dry(&self) -> Vec<(OpKind, Moved)> {
        Vec::new()
    }

    /// Times through the whole flow so far, for sources that count transactions.
    fn transactions(&self) -> Option<u64> {
        None
    }
}
