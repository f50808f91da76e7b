//! Backends execute ops.

pub mod flow;

use crate::op::Operation;

/// What became of an op: bytes moved (0 for ops that move none), or the system's error number.
pub type Completion = Result<u64, Errno>;

/// An error number of the system, `errno(3)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

/// Executes ops one at a time, in the calling thread: depth 1.
pub trait SyncBackend {
    /// The kind of op that it executes.
    type Op: Operation;

    /// Executes one op to its end. Between the two readings of the clock: nothing but the I/O.
    fn execute(&mut self, op: &Self::Op) -> Completion;

    /// Before the clock is read: content is made here.
    #[inline(always)]
    fn before(&mut self, _op: &Self::Op) {}

    /// After the clock was read: what was read is verified here. An error is a verification failure in words.
    #[inline(always)]
    fn after(&mut self, _op: &Self::Op, _done: Completion) -> Result<(), String> {
        Ok(())
    }
}
