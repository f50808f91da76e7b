//! Tests of streams: against fio itself, and of what holds for every one.

mod fio;
mod rules;

use super::general::General;
use super::{Handing, JobPlan, JobPlanError, JobPlanRequest};
use crate::op::BlockOp;
use crate::source::Source;
use plumb_workload::job::{
    ByKind, Coverage, FileRange, Job, JobOps, JobSize, Law, Order, RandomGenerator, Seeding, Sequencer, Stream,
};
use plumb_workload::units::Bytes;

pub(super) const KIB: u64 = 1024;
pub(super) const MIB: u64 = 1024 * KIB;

/// What a job does with each block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Read,
    Write,
    Mix(u8),
    Trim,
    TrimWrite,
}

/// fio's `rw=` without its options: 1 MiB in blocks of 4 KiB, everything else at fio's default.
pub(super) fn stream(does: Does, order: Order) -> Stream {
    let (read_percent, trims) = match does {
        Does::Read => (Some(100), false),
        Does::Write => (Some(0), false),
        Does::Mix(percent) => (Some(percent), false),
        Does::Trim => (None, true),
        Does::TrimWrite => (Some(0), true),
    };
    Stream {
        read_percent,
        trims,
        order,
        sequencer: Sequencer::Sequential,
        sizes: ByKind::all(JobSize::Fixed(Bytes(4 * KIB))),
        unaligned_sizes: false,
        sizes_by_order: false,
        align: ByKind::all(Bytes(0)),
        random_percent: ByKind::all(100),
        law: Law::Uniform,
        coverage: Coverage::Once,
        generator: RandomGenerator::Taus88,
        seed: 0x89,
        seeding: Seeding::AllButOffsets,
        reseed_each_loop: true,
        worker_number: 1,
        ranges: vec![FileRange { start: Bytes(0), length: Bytes(MIB) }],
        file_choice: Default::default(),
        open_files: None,
        io_bytes: None,
        max_ops: None,
        loops: 1,
        repeat_until_time: false,
        fill_device: false,
        ranges_per_trim: 1,
        trim_amid: None,
        zones: None,
        no_overlap_in_flight: false,
    }
}

pub(super) fn sequential() -> Order {
    Order::Sequential { skip_bytes: 0 }
}

pub(super) fn random() -> Order {
    Order::Random { ops_per_draw: 1 }
}

pub(super) fn job(stream: Stream) -> Job {
    Job::new(JobOps::Stream(Box::new(stream)))
}

pub(super) fn plan(job: &Job, file_lengths: &[u64], handing: Handing) -> Result<JobPlan, JobPlanError> {
    JobPlan::new(&JobPlanRequest { job, file_lengths, io_alignment_bytes: 1, handing })
}

/// The first ops of a plan, at most so many, by the long way.
pub(super) fn ops(plan: &JobPlan, most: usize) -> Vec<BlockOp> {
    let mut source = General::new(&plan.script, None);
    std::iter::from_fn(|| source.next()).take(most).collect()
}
