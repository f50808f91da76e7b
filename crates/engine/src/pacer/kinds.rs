//! The kind of op that is due next, passed from the pacer to the source of the same worker.

use crate::clock::Ticks;
use plumb_workload::blocks::ByKind;
use plumb_workload::{OpKind, Pace};
use std::cell::Cell;
use std::rc::Rc;

/// Number of kinds with rates of their own: reads, writes and trims.
pub(super) const KINDS: usize = 3;

pub(super) const KIND: [OpKind; KINDS] = [OpKind::Read, OpKind::Write, OpKind::Trim];

/// Returns the index of a kind in arrays of [`KINDS`].
#[inline(always)]
pub(super) fn place(kind: OpKind) -> Option<usize> {
    match kind {
        OpKind::Read | OpKind::Receive => Some(0),
        OpKind::Write | OpKind::Send => Some(1),
        OpKind::Trim => Some(2),
        _ => None,
    }
}

pub(super) fn in_places<T: Copy>(by_kind: &ByKind<T>) -> [T; KINDS] {
    [by_kind.read, by_kind.write, by_kind.trim]
}

/// Due times of the next op of each kind, from its worker's rates.
///
/// In a mix of reads and writes with rates, each kind keeps its own rate. If the drawn kind is not due yet and the
/// other one is, the other one comes next. So rates take precedence over the mix, as in fio. The pacer writes the times
/// and the source reads them, in the same thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct KindsDue {
    cells: Rc<Cells>,
}

#[derive(Debug, Default)]
struct Cells {
    due: [Cell<Ticks>; KINDS],
    now: Cell<Ticks>,
}

impl KindsDue {
    /// Returns the shared state for jobs that need it: mixes of reads and writes of which at least one has a rate.
    pub(crate) fn for_pace(moves: ByKind<bool>, pace: &Pace) -> Option<KindsDue> {
        let rated = [pace.bytes_per_second, pace.ops_per_second]
            .iter()
            .any(|rates| rates.read.is_some() || rates.write.is_some());
        (moves.read && moves.write && rated).then(KindsDue::default)
    }

    /// Chooses the next kind, given the kind that was drawn and the other kind of the mix.
    #[inline]
    pub(crate) fn choose(&self, drawn: OpKind, other: OpKind) -> OpKind {
        let due = |kind| place(kind).map_or(0, |place| self.cells.due[place].get());
        let now = self.cells.now.get();
        if due(drawn) <= now || (due(other) > now && due(drawn) <= due(other)) { drawn } else { other }
    }

    /// Sets the due time of a kind's next op.
    #[inline]
    pub(super) fn set(&self, place: usize, at: Ticks) {
        self.cells.due[place].set(at);
    }

    /// Sets the current time.
    #[inline]
    pub(super) fn set_now(&self, now: Ticks) {
        self.cells.now.set(now);
    }
}
