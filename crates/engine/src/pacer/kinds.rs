//! Which kind of op is due, told from the pacer to the source of the same worker.

use crate::clock::Ticks;
use plumb_workload::blocks::ByKind;
use plumb_workload::{OpKind, Pace};
use std::cell::Cell;
use std::rc::Rc;

/// This many kinds have rates of their own: reads, writes and trims.
pub(super) const KINDS: usize = 3;

pub(super) const KIND: [OpKind; KINDS] = [OpKind::Read, OpKind::Write, OpKind::Trim];

/// The place of a kind in arrays of [`KINDS`].
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

/// When the next op of each kind is due, as its worker's rates have it.
///
/// In a mix of reads and writes with rates, each kind keeps to its own: where the kind that was drawn is not due yet and
/// the other one is, the other one comes. So rates decide over the mix, as in fio. The pacer writes this and the source
/// reads it, both in one thread.
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
    /// For jobs that need it: a mix of reads and writes of which at least one has a rate.
    pub(crate) fn of(moves: ByKind<bool>, pace: &Pace) -> Option<KindsDue> {
        let rated = [pace.bytes_per_second, pace.ops_per_second]
            .iter()
            .any(|rates| rates.read.is_some() || rates.write.is_some());
        (moves.read && moves.write && rated).then(KindsDue::default)
    }

    /// The kind that comes next, where `drawn` was drawn and `other` is the other one of the mix.
    #[inline]
    pub(crate) fn choose(&self, drawn: OpKind, other: OpKind) -> OpKind {
        let due = |kind| place(kind).map_or(0, |place| self.cells.due[place].get());
        let now = self.cells.now.get();
        if due(drawn) <= now || (due(other) > now && due(drawn) <= due(other)) { drawn } else { other }
    }

    /// The next op of a kind is due at `at`.
    #[inline]
    pub(super) fn set(&self, place: usize, at: Ticks) {
        self.cells.due[place].set(at);
    }

    /// It is `now`.
    #[inline]
    pub(super) fn saw(&self, now: Ticks) {
        self.cells.now.set(now);
    }
}
