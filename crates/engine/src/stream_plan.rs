//! The planned block ops of a worker, by the generator that draws them.

use crate::source::accesses::AccessesPlan;
use crate::source::fio::FioPlan;
use crate::source::plumb::PlumbPlan;
use crate::source::requests::RequestsPlan;
use crate::source::sweep::SweepPlan;
use crate::source::trace::TracePlan;

/// A stream of block ops, planned: by its generator.
#[derive(Debug, Clone)]
pub(crate) enum StreamPlan {
    Plumb(PlumbPlan),
    Fio(FioPlan),
    Sweep(SweepPlan),
    Requests(RequestsPlan),
    Accesses(AccessesPlan),
    Trace(TracePlan),
}

impl StreamPlan {
    /// Bytes of the largest op that moves data: the size of a buffer.
    pub(crate) fn largest_block_bytes(&self) -> u64 {
        match self {
            StreamPlan::Plumb(plan) => plan.largest_block_bytes().into(),
            StreamPlan::Fio(plan) => plan.largest_block_bytes(),
            StreamPlan::Sweep(plan) => plan.block_bytes(),
            StreamPlan::Requests(plan) => plan.requests.block.0,
            StreamPlan::Accesses(plan) => plan.accesses.sizes().1,
            StreamPlan::Trace(plan) => plan.largest_block_bytes(),
        }
    }

    /// Bytes of the smallest op that moves data; what is left at the end of a part may be less.
    pub(crate) fn smallest_block_bytes(&self) -> u64 {
        match self {
            StreamPlan::Plumb(plan) => plan.smallest_block_bytes().into(),
            StreamPlan::Fio(plan) => plan.smallest_block_bytes(),
            StreamPlan::Sweep(plan) => plan.block_bytes(),
            StreamPlan::Requests(plan) => plan.requests.block.0,
            StreamPlan::Accesses(plan) => plan.accesses.sizes().0,
            StreamPlan::Trace(plan) => plan.smallest_block_bytes(),
        }
    }

    /// Distinct bytes that its ops can touch.
    pub(crate) fn working_set_bytes(&self) -> u64 {
        match self {
            StreamPlan::Plumb(plan) => plan.working_set_bytes(),
            StreamPlan::Fio(plan) => plan.working_set_bytes(),
            StreamPlan::Sweep(plan) => plan.working_set_bytes(),
            StreamPlan::Requests(plan) => plan.working_set_bytes(),
            StreamPlan::Accesses(plan) => plan.accesses.length.0,
            StreamPlan::Trace(plan) => plan.reached_bytes(),
        }
    }
}
