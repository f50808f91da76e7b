//! Fast path: one file, one size, no flushes, and either one kind of op or a mix of random ones. Against a null target,
//! the loop spends a few nanoseconds per op, so these sources do not branch on anything that is known in advance.

use super::permute::Shuffle;
use super::plan::{BlockOrder, PlumbPlan};
use super::shape::{Kinds, Piece, Sizes, kinds_of, only};
use crate::op::BlockOp;
use crate::rng::{Purpose, Rng};
use crate::source::Source;
use plumb_workload::OpKind;

/// Chooses the place of the next op of a [`Plain`] source.
pub trait Places {
    /// Returns the offset in the file and the length; `None` after the last pass.
    fn next(&mut self) -> Option<Place>;
}

/// Place of an op within the single file.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    offset: u64,
    length: u32,
}

/// Chooses the kind of the next op of a [`Plain`] source.
pub trait Does {
    /// Returns a read, write or trim.
    fn next(&mut self) -> OpKind;
}

/// Always yields the same kind.
#[derive(Debug, Clone, Copy)]
pub struct Always(OpKind);

impl Does for Always {
    #[inline(always)]
    fn next(&mut self) -> OpKind {
        self.0
    }
}

/// Draws kinds by their weights.
#[derive(Debug, Clone)]
pub struct Mixed(Kinds);

impl Does for Mixed {
    #[inline(always)]
    fn next(&mut self) -> OpKind {
        self.0.next()
    }
}

/// Yields ops on one file.
#[derive(Debug, Clone)]
pub struct Plain<P, D = Always> {
    does: D,
    file: u32,
    places: P,
}

impl<P: Places, D: Does> Source for Plain<P, D> {
    type Op = BlockOp;

    #[inline(always)]
    fn next(&mut self) -> Option<BlockOp> {
        let kind = self.does.next();
        let Place { offset, length } = self.places.next()?;
        Some(BlockOp::load(kind, self.file, offset, length))
    }

    #[inline(always)]
    fn waits_for_all(&self) -> bool {
        false
    }
}

/// The common part of plans that can use the fast path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Short {
    /// `None` for a mix.
    kind: Option<OpKind>,
    size: u32,
    piece: Piece,
}

impl Short {
    /// Returns the plan's size and range, if it has only one of each.
    pub(crate) fn from_plan(plan: &PlumbPlan) -> Option<Short> {
        let flushes = plan.mix.write > 0 && (plan.fsync_every > 0 || plan.fdatasync_every > 0);
        let mut sizes = kinds_of(plan.mix).map(|kind| plan.sizes.get(kind));
        match (&*plan.pieces, sizes.next()?, &plan.order) {
            ([piece], &Sizes::Fixed(size), BlockOrder::Walk(_) | BlockOrder::Draw(_))
                if !flushes && plan.passes != Some(0) && sizes.all(|other| *other == Sizes::Fixed(size)) =>
            {
                Some(Short { kind: only(plan.mix), size, piece: *piece })
            }
            _ => None,
        }
    }

    /// Returns the only kind of op; `None` for a mix.
    pub(crate) fn kind(&self) -> Option<Always> {
        self.kind.map(Always)
    }

    pub(crate) fn source<P: Places>(self, does: Always, places: P) -> Plain<P> {
        Plain { does, file: self.piece.file, places }
    }

    pub(crate) fn mixed<P: Places>(self, plan: &PlumbPlan, places: P) -> Plain<P, Mixed> {
        let kinds = Kinds::new(plan.mix, plan.stream.rng(Purpose::Mix));
        Plain { does: Mixed(kinds), file: self.piece.file, places }
    }

    pub(crate) fn upwards(self, plan: &PlumbPlan) -> Upwards {
        Upwards {
            at: self.piece.start,
            start: self.piece.start,
            end: self.piece.start + self.piece.length,
            size: self.size,
            passes_left: plan.passes.unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn anywhere(self, plan: &PlumbPlan) -> Anywhere {
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

    pub(crate) fn shuffled(self, plan: &PlumbPlan) -> Shuffled {
        let positions = plan.positions();
        Shuffled {
            shuffle: Shuffle::new(positions, plan.stream.rng(Purpose::Offset)),
            step: plan.step,
            start: self.piece.start,
            size: self.size,
            passes_left: plan.passes.unwrap_or(u64::MAX),
        }
    }
}

/// From the first byte to the last, repeatedly.
#[derive(Debug, Clone)]
pub struct Upwards {
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
pub struct Anywhere {
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

/// Every block once per pass.
#[derive(Debug, Clone)]
pub struct Shuffled {
    shuffle: Shuffle,
    step: u64,
    start: u64,
    size: u32,
    /// Passes left, including the current one.
    passes_left: u64,
}

impl Shuffled {
    /// Starts another pass and returns its first index.
    #[cold]
    #[inline(never)]
    fn turn(&mut self) -> Option<u64> {
        self.passes_left = self.passes_left.saturating_sub(1);
        if self.passes_left == 0 {
            return None;
        }
        self.shuffle.start_pass();
        self.shuffle.next_in_pass()
    }
}

impl Places for Shuffled {
    #[inline(always)]
    fn next(&mut self) -> Option<Place> {
        let index = match self.shuffle.next_in_pass() {
            Some(index) => index,
            None => self.turn()?,
        };
        Some(Place { offset: self.start + index * self.step, length: self.size })
    }
}
