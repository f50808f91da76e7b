//! The planned block ops of a worker, by generator.

use crate::source::accesses::AccessesPlan;
use crate::source::fio::FioPlan;
use crate::source::plumb::PlumbPlan;
use crate::source::requests::RequestsPlan;
use crate::source::sweep::SweepPlan;
use crate::source::trace::TracePlan;

/// A planned stream of block ops.
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
    /// Returns the size in bytes of the largest op that moves data, which is the size of a buffer.
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

    /// Returns the size in bytes of the smallest op that moves data. The last op of a part may be smaller.
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

    /// Returns the number of distinct bytes that its ops can touch.
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
