//! General path: any plan, with a few branches per op.

use super::draw::{Draw, OffsetDistribution, Overrun, Positions};
use super::plan::{BlockOrder, ListedPlace, PlumbPlan};
use super::shape::{Flushes, Kinds, OpRange, SizesByKind};
use super::walk::Walk;
use super::walkers::Walkers;
use crate::op::BlockOp;
use crate::rng::{Purpose, Rng};
use crate::source::Source;
use plumb_workload::OpKind;

/// Yields the ops of any plan.
#[derive(Debug, Clone)]
pub struct General {
    kinds: Kinds,
    sizes: SizesByKind,
    size_rng: Rng,
    places: Places,
    flushes: Flushes,
}

/// Unlimited ops or bytes are 2^64, which no run reaches.
#[derive(Debug, Clone)]
enum Places {
    Walk(Walk),
    Draw { draw: Draw, positions: Positions, ops_left: u64, bytes_left: u64 },
    List { places: Box<[ListedPlace]>, at: usize, passes_left: u64 },
    Walkers { walkers: Box<Walkers>, bytes_left: u64 },
}

impl Places {
    fn new(plan: &PlumbPlan) -> Places {
        let passes = plan.passes.unwrap_or(u64::MAX);
        match &plan.order {
            BlockOrder::Walk(direction) => {
                Places::Walk(Walk::new(plan.pieces.clone(), *direction, u64::from(plan.smallest), passes))
            }
            BlockOrder::Draw(distribution) => {
                let overrun = match distribution {
                    OffsetDistribution::Permutation => Overrun::Shorten,
                    _ => Overrun::MoveBack,
                };
                let limit = |unit: u64| plan.passes.map_or(u64::MAX, |passes| unit.saturating_mul(passes));
                let (ops_left, bytes_left) = match distribution {
                    OffsetDistribution::Permutation => (limit(plan.positions()), u64::MAX),
                    _ => (u64::MAX, limit(plan.pass_bytes())),
                };
                let rng = plan.stream.rng(Purpose::Offset);
                let draw = Draw::new(distribution, plan.positions(), plan.stream.seed, rng);
                let positions = Positions::new(&plan.pieces, plan.step, plan.smallest, overrun);
                Places::Draw { draw, positions, ops_left, bytes_left }
            }
            BlockOrder::Walkers { walking, count } => Places::Walkers {
                walkers: Box::new(Walkers::new(*walking, *count, plan.pieces[0], plan.stream.rng(Purpose::Offset))),
                bytes_left: plan.passes.map_or(u64::MAX, |passes| plan.pass_bytes().saturating_mul(passes)),
            },
            BlockOrder::List(places) => Places::List { places: places.clone(), at: 0, passes_left: passes },
        }
    }

    #[inline]
    fn next(&mut self, kind: OpKind, length: u32) -> Option<OpRange> {
        match self {
            Places::Walk(walk) => walk.next(length),
            Places::Draw { draw, positions, ops_left, bytes_left } => {
                if *bytes_left == 0 {
                    return None;
                }
                *ops_left = ops_left.checked_sub(1)?;
                let range = positions.range(draw.next(kind), length);
                *bytes_left = bytes_left.saturating_sub(u64::from(range.length));
                Some(range)
            }
            Places::Walkers { walkers, bytes_left } => {
                if *bytes_left == 0 {
                    return None;
                }
                let range = walkers.next(kind, length);
                *bytes_left = bytes_left.saturating_sub(u64::from(range.length));
                Some(range)
            }
            Places::List { places, at, passes_left } => {
                if *passes_left == 0 {
                    return None;
                }
                let ListedPlace { file, offset, room } = places[*at];
                *at += 1;
                if *at == places.len() {
                    *at = 0;
                    *passes_left -= 1;
                }
                Some(OpRange { file, offset, length: u64::from(length).min(room) as u32 })
            }
        }
    }
}

impl General {
    pub(crate) fn new(plan: &PlumbPlan) -> General {
        General {
            kinds: Kinds::new(plan.mix, plan.stream.rng(Purpose::Mix)),
            sizes: plan.sizes.clone(),
            size_rng: plan.stream.rng(Purpose::Size),
            places: Places::new(plan),
            flushes: Flushes::new(plan.fsync_every, plan.fdatasync_every),
        }
    }
}

impl Source for General {
    type Op = BlockOp;

    #[inline]
    fn next(&mut self) -> Option<BlockOp> {
        if let Some(flush) = self.flushes.take() {
            return Some(flush);
        }
        let kind = self.kinds.next();
        let length = self.sizes.get(kind).next(&mut self.size_rng);
        let OpRange { file, offset, length } = self.places.next(kind, length)?;
        if kind == OpKind::Write {
            self.flushes.wrote(file);
        }
        Some(BlockOp::load(kind, file, offset, length))
    }

    #[inline(always)]
    fn waits_for_all(&self) -> bool {
        false
    }
}
