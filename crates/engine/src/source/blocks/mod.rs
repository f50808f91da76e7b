//! Block I/O by a pattern.
//!
//! A [`BlockPlan`] says what one worker does; [`with_source`] turns it into the source of its ops, of a type that is
//! chosen once.
//!
//! # What a plan means
//!
//! * **Range.** Block patterns address the target's files one after another as if they were one, beginning with file
//!   `worker mod count`. The worker's range is `span` bytes of that from `offset` (and `offset-increment` for each
//!   worker before it). No op straddles two files. Under direct I/O, each file's part of the range is cut to whole
//!   logical blocks.
//! * **Walking** patterns (sequential, reverse, stride) go through one file of the range and then the next. A pass
//!   covers every byte; the rest at the end of a file, shorter than a block, is a shorter op. Reads, writes and trims
//!   of a mix share one place: each block meets one of them.
//! * **Drawing** patterns choose among positions: multiples of `align` (or of the smallest block), counted from the
//!   start of the range in each file, where the smallest block fits; a shorter rest is ignored. A longer block that
//!   would run over the end moves back to the last position where it fits; under a permutation, where each position is
//!   used once, it is shortened instead. Files are chosen in proportion to their positions.
//! * **Hot blocks** of zipf and pareto are scattered over the range by a keyed bijection, so that each block has a rank
//!   of its own. The key is the workload's seed: all its workers and phases agree on which blocks are hot. The normal
//!   and the zones are laid over the range as they are.
//! * **Lists** hold offsets within the range; an op that would run over the end of its file is shortened.
//! * **A pass** is: every byte, for patterns that walk; every position once, for permutations; every offset once, for
//!   lists; as many bytes as the whole blocks of the range have, for the other patterns.
//! * **Flushes** come behind every so many writes, on the file of the last of them, and count in no limit.
//!
//! Offsets, sizes and kinds come from three streams of random numbers, so that another block size leaves the sequence
//! of positions as it was. What has only one value (one size, one kind) draws nothing.

mod draw;
mod general;
pub(crate) mod permute;
mod plain;
mod plan;
mod shape;
mod walk;

pub use plan::{BlockPlan, PlanError, PlanRequest};

use crate::op::BlockOp;
use crate::source::Source;
use draw::Law;
use general::General;
use plain::Short;
use plan::Order;
use walk::Direction;

/// Something to do with a source, whatever its type: a loop that runs it.
pub trait BlockVisitor {
    /// What comes of it.
    type Out;

    /// Does it. Called once, with the source at its start.
    fn visit<S: Source<Op = BlockOp> + 'static>(self, source: S) -> Self::Out;
}

/// Makes the source of a plan and hands it to `visitor`.
///
/// The visitor is compiled four times: for sequential, random and permuted ops of one size and kind on one file, which
/// are what the fastest storage is measured with; and for everything else.
pub fn with_source<V: BlockVisitor>(plan: &BlockPlan, visitor: V) -> V::Out {
    match (Short::of(plan), &plan.order) {
        (Some(short), Order::Walk(Direction::Up)) => visitor.visit(short.source(short.upwards(plan))),
        (Some(short), Order::Draw(Law::Uniform)) => visitor.visit(short.source(short.anywhere(plan))),
        (Some(short), Order::Draw(Law::Permutation)) => visitor.visit(short.source(short.shuffled(plan))),
        _ => visitor.visit(General::new(plan)),
    }
}

#[cfg(test)]
mod tests;
