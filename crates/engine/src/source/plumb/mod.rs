//! Block I/O by a pattern.
//!
//! A [`PlumbPlan`] describes the work of one worker; [`PlumbSource::new`] turns it into the source of its ops.
//!
//! # Meaning of a plan
//!
//! * **Range.** Block patterns address the target's files one after another as if they were one, beginning
//!   with file `worker mod count`. The worker's range is `span` bytes of that from `offset` (and
//!   `offset-increment` for each worker before it). No op straddles two files. With direct I/O, each file's
//!   part of the range is cut to whole logical blocks.
//! * **Walking** patterns (sequential, reverse, stride) go through one file of the range and then the next. A pass
//!   covers every byte; the rest at the end of a file, shorter than a block, is a shorter op. Reads, writes and trims
//!   of a mix share one position: each block is used by one of them.
//! * **Drawing** patterns choose among positions: multiples of `align` (or of the smallest block), counted from the
//!   start of the range in each file, where the smallest block fits; a shorter rest is ignored. A longer block that
//!   would exceed the end moves back to the last position where it fits. With a permutation, which uses each position
//!   once, it is shortened instead. Files are chosen in proportion to their positions.
//! * **Hot blocks** of zipf and pareto are scattered over the range by a keyed bijection, so that each block has its
//!   own rank. The key is the workload's seed: all its workers and phases agree on which blocks are hot. The normal and
//!   the zones apply to the range in order.
//! * **Lists** hold offsets within the range; an op that would exceed the end of its file is shortened.
//! * **Walkers** (reuse walks and runs) share a range within one file; a random walker makes each op.
//! * **A pass** is: every byte, for patterns that walk; every position once, for permutations; every offset once, for
//!   lists; as many bytes as the whole blocks of the range have, for the other patterns.
//! * **Flushes** follow every N writes, on the file of the last of them, and do not count toward limits.
//!
//! Offsets, sizes and kinds come from three streams of random numbers, so that another block size does not change the
//! sequence of positions. A single size or kind draws nothing.

pub(crate) mod draw;
mod general;
pub(crate) mod permute;
mod plain;
mod plan;
mod shape;
mod walk;
mod walkers;

pub use plan::{PlanError, PlanRequest, PlumbPlan};

use crate::op::BlockOp;
use crate::source::Source;
use draw::OffsetDistribution;
pub use general::General;
pub use permute::Permutation;
use plain::Short;
pub use plain::{Anywhere, Mixed, Plain, Shuffled, Upwards};
use plan::BlockOrder;
use walk::Direction;

/// The source of a plan. All but the last have one size on one file, which is how the fastest storage is measured.
#[derive(Debug, Clone)]
pub(crate) enum PlumbSource {
    /// From the first byte to the last.
    Sequential(Plain<Upwards>),
    /// Uniform, with replacement.
    Random(Plain<Anywhere>),
    /// Every block once per pass.
    Permuted(Plain<Shuffled>),
    /// Uniform, with replacement, with several kinds.
    Mixed(Plain<Anywhere, Mixed>),
    General(Box<General>),
}

impl PlumbSource {
    /// Creates the source of a plan, at its start.
    pub(crate) fn new(plan: &PlumbPlan) -> PlumbSource {
        let short = Short::from_plan(plan);
        match (short, short.and_then(|short| short.kind()), &plan.order) {
            (Some(short), Some(kind), BlockOrder::Walk(Direction::Up)) => {
                PlumbSource::Sequential(short.source(kind, short.upwards(plan)))
            }
            (Some(short), Some(kind), BlockOrder::Draw(OffsetDistribution::Uniform)) => {
                PlumbSource::Random(short.source(kind, short.anywhere(plan)))
            }
            (Some(short), Some(kind), BlockOrder::Draw(OffsetDistribution::Permutation)) => {
                PlumbSource::Permuted(short.source(kind, short.shuffled(plan)))
            }
            (Some(short), None, BlockOrder::Draw(OffsetDistribution::Uniform)) => {
                PlumbSource::Mixed(short.mixed(plan, short.anywhere(plan)))
            }
            _ => PlumbSource::General(Box::new(General::new(plan))),
        }
    }

    /// Returns the source as a trait object.
    pub(crate) fn table(&mut self) -> &mut dyn Source<Op = BlockOp> {
        match self {
            PlumbSource::Sequential(source) => source,
            PlumbSource::Random(source) => source,
            PlumbSource::Permuted(source) => source,
            PlumbSource::Mixed(source) => source,
            PlumbSource::General(source) => &mut **source,
        }
    }
}

#[cfg(test)]
mod tests;
