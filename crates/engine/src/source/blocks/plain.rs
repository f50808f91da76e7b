//! The short way: one file, one size, one kind of op, no flushes. The loop spends a few nanoseconds on an op against
//! nothing, so these sources branch on nothing that is known before they start.

use super::permute::Shuffle;
use super::plan::{BlockPlan, Order};
use super::shape::{Piece, Sizes, only};
use crate::op::BlockOp;
use crate::rng::{Purpose, Rng};
use crate::source::Source;
use plumb_workload::OpKind;

/// Where the next op of a [`Plain`] source goes.
pub(crate) trait Places {
    /// Offset in the file and length, `None` after the last pass.
    fn next(&mut self) -> Option<Place>;
}

/// Where an op goes within the one file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    offset: u64,
    length: u32,
}

/// Yields ops of one kind on one file.
#[derive(Debug, Clone)]
pub(crate) struct Plain<P> {
    kind: OpKind,
    file: u32,
    places: P,
}

impl<P: Places> Source for Plain<P> {
    type Op = BlockOp;

    #[inline(always)]
    fn next(&mut self) -> Option<BlockOp> {
        let Place { offset, length } = self.places.next()?;
        Some(BlockOp::load(self.kind, self.file, offset, length))
    }

    #[inline(always)]
    fn waits_for_all(&self) -> bool {
        false
    }
}

/// What plans of the short way have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Short {
    kind: OpKind,
    size: u32,
    piece: Piece,
}

impl Short {
    /// The plan's kind, size and range, where it has only one of each.
    pub(crate) fn of(plan: &BlockPlan) -> Option<Short> {
        let kind = only(plan.mix)?;
        let flushes = kind == OpKind::Write && (plan.fsync_every > 0 || plan.fdatasync_every > 0);
        match (&*plan.pieces, plan.sizes.of(kind), &plan.order) {
            ([piece], Sizes::Fixed(size), Order::Walk(_) | Order::Draw(_)) if !flushes => {
                Some(Short { kind, size: *size, piece: *piece })
            }
            _ => None,
        }
    }

    pub(crate) fn source<P: Places>(self, places: P) -> Plain<P> {
        Plain { kind: self.kind, file: self.piece.file, places }
    }

    pub(crate) fn upwards(self, plan: &BlockPlan) -> Upwards {
        Upwards {
            at: self.piece.start,
            start: self.piece.start,
            end: self.piece.start + self.piece.length,
            size: self.size,
            passes_left: plan.passes.unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn anywhere(self, plan: &BlockPlan) -> Anywhere {
        let ops = self.piece.length / u64::from(self.size);
        Anywhere {
            rng: plan.stream.rng(Purpose::Offset),
            positions: plan.positions(),
            step: plan.step,
            start: self.piece.start,
            size: self.size,
            ops_left: plan.passes.map_or(u64::MAX, |passes| ops.saturating_mul(passes)),
        }
    }

    pub(crate) fn shuffled(self, plan: &BlockPlan) -> Shuffled {
        let positions = plan.positions();
        Shuffled {
            shuffle: Shuffle::new(positions, plan.stream.rng(Purpose::Offset)),
            step: plan.step,
            start: self.piece.start,
            size: self.size,
            ops_left: plan.passes.map_or(u64::MAX, |passes| positions.saturating_mul(passes)),
        }
    }
}

/// From the first byte to the last, again and again.
#[derive(Debug, Clone)]
pub(crate) struct Upwards {
    at: u64,
    start: u64,
    end: u64,
    size: u32,
    passes_left: u64,
}

impl Places for Upwards {
    #[inline(always)]
    fn next(&mut self) -> Option<Place> {
        if self.passes_left == 0 {
            return None;
        }
        let offset = self.at;
        let length = u64::from(self.size).min(self.end - offset);
        self.at = offset + length;
        if self.at == self.end {
            self.at = self.start;
            self.passes_left -= 1;
        }
        Some(Place { offset, length: length as u32 })
    }
}

/// Uniform, with replacement.
#[derive(Debug, Clone)]
pub(crate) struct Anywhere {
    rng: Rng,
    positions: u64,
    step: u64,
    start: u64,
    size: u32,
    ops_left: u64,
}

impl Places for Anywhere {
    #[inline(always)]
    fn next(&mut self) -> Option<Place> {
        self.ops_left = self.ops_left.checked_sub(1)?;
        Some(Place { offset: self.start + self.rng.below(self.positions) * self.step, length: self.size })
    }
}

/// Every block once a pass.
#[derive(Debug, Clone)]
pub(crate) struct Shuffled {
    shuffle: Shuffle,
    step: u64,
    start: u64,
    size: u32,
    ops_left: u64,
}

impl Places for Shuffled {
    #[inline(always)]
    fn next(&mut self) -> Option<Place> {
        self.ops_left = self.ops_left.checked_sub(1)?;
        Some(Place { offset: self.start + self.shuffle.next() * self.step, length: self.size })
    }
}
