//! What a loop asks of a pacer, and what it hears.

use crate::clock::Ticks;
use crate::op::Operation;
use crate::terms::Ended;
use plumb_workload::OpKind;

/// When the next op may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Now; it was meant to start at this time.
    Now { intended: Ticks },
    /// Not before this time.
    At(Ticks),
    /// Not before another op of the worker has come to its end. Only said while there is one in flight.
    AfterNext,
    /// Never: the worker ends like this when what is in flight has come to its end. Where it failed,
    /// [`Pacer::failure`] says why.
    End(Ended),
}

/// Why a pacer made its worker fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PaceFailure {
    /// Of which kind the ops were.
    pub(crate) kind: OpKind,
    /// The error number that goes with it, errno(3).
    pub(crate) errno: i32,
    /// What was asked for and what was found.
    pub(crate) message: String,
}

/// What a pacer needs to know of an op.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacedOp {
    pub(crate) kind: OpKind,
    /// Whether rates and pauses hold for it.
    pub(crate) is_paced: bool,
    /// Bytes.
    pub(crate) length: u64,
}

impl PacedOp {
    #[inline(always)]
    pub(crate) fn of<O: Operation>(op: &O) -> PacedOp {
        PacedOp { kind: op.kind(), is_paced: op.paced(), length: op.length() }
    }
}

/// Decides when the next op may start.
pub(crate) trait Pacer {
    /// Whether ops have an intended start of their own, so that response time and start lag mean something. Always the
    /// same.
    fn is_open(&self) -> bool;

    /// Whether this op may start at `now`. Answering [`Due::Now`] uses up that start.
    fn due(&mut self, now: Ticks, op: PacedOp) -> Due;

    /// An op has come to its end: called once for each that was due now, also where it failed and moved nothing. Only
    /// pacers that look at results do anything.
    #[inline(always)]
    fn completed(&mut self, _kind: OpKind, _moved: u64, _service_ns: u64, _now: Ticks) {}

    /// Whether what is measured begins anew with the op that is due now. Asked after each [`Due::Now`], and true once.
    #[inline(always)]
    fn begins_anew(&mut self) -> bool {
        false
    }

    /// Why the worker has failed, where the pacer found it so. Asked when its loop is over, however it ended.
    fn failure(&self) -> Option<PaceFailure> {
        None
    }

    /// The clock starts.
    fn start(&mut self, _at: Ticks) {}
}
