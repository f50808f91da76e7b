//! The interface between a loop and its pacer.

use crate::clock::Ticks;
use crate::op::Operation;
use crate::terms::Ended;
use plumb_workload::OpKind;

/// When the next op may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Now; its intended start was this time.
    Now { intended: Ticks },
    /// Not before this time.
    At(Ticks),
    /// Not before another op of the worker completes. Only returned while there is one in flight.
    AfterNext,
    /// Never: the worker ends with this result once its ops in flight complete. [`Pacer::failure`] explains a failure.
    End(Ended),
}

/// Reason why a pacer made its worker fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PaceFailure {
    /// Kind of the ops that failed.
    pub(crate) kind: OpKind,
    /// The corresponding error number, errno(3).
    pub(crate) errno: i32,
    /// The requested and the measured value, for the user.
    pub(crate) message: String,
}

/// Properties of an op that a pacer needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacedOp {
    pub(crate) kind: OpKind,
    /// Whether rates and pauses apply to it.
    pub(crate) is_paced: bool,
    /// Length in bytes.
    pub(crate) length: u64,
}

impl PacedOp {
    #[inline(always)]
    pub(crate) fn from_op<O: Operation>(op: &O) -> PacedOp {
        PacedOp { kind: op.kind(), is_paced: op.paced(), length: op.length() }
    }
}

/// Decides when the next op may start.
pub(crate) trait Pacer {
    /// Returns `true` if ops have intended starts, so that response time and start lag are
    /// meaningful. Never changes for a pacer.
    fn is_open(&self) -> bool;

    /// Returns whether this op may start at `now`. Returning [`Due::Now`] uses up that start.
    fn due(&mut self, now: Ticks, op: PacedOp) -> Due;

    /// Counts a completed op. Called once for each op that was due now, even if it failed and moved nothing. Only
    /// pacers that depend on results implement this.
    #[inline(always)]
    fn completed(&mut self, _kind: OpKind, _moved: u64, _service_ns: u64, _now: Ticks) {}

    /// Returns `true` once, if the measurement restarts with the op that is due now. Called after each [`Due::Now`].
    #[inline(always)]
    fn restarts(&mut self) -> bool {
        false
    }

    /// Returns the reason if the pacer made the worker fail. Called after its loop, however that ended.
    fn failure(&self) -> Option<PaceFailure> {
        None
    }

    /// Sets the start of the clock.
    fn start(&mut self, _at: Ticks) {}
}
