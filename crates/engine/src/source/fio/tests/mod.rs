//! Tests of streams: comparisons with fio itself, and rules for every stream.

mod fio;
mod rules;
mod steady_state;

use super::general::General;
use super::plan::FioPlanError;
use super::{FioPlan, FioPlanRequest, Handing};
use crate::files::Lengths;
use crate::op::BlockOp;
use crate::source::Source;
use plumb_workload::Verify;
use plumb_workload::blocks::ByKind;
use plumb_workload::blocks::fio::{
    AccessOrder, Coverage, FileRange, JobSize, OffsetDistribution, RandomGenerator, Seeding, Sequencer, Stream,
};
use plumb_workload::files::{FileRules, Syncs};
use plumb_workload::units::Bytes;

pub(super) const KIB: u64 = 1024;
pub(super) const MIB: u64 = 1024 * KIB;

/// Kind of a job's ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Read,
    Write,
    Mix(u8),
    Trim,
    TrimWrite,
}

/// Returns fio's `rw=` without its options: 1 MiB in blocks of 4 KiB, everything else at fio's default.
pub(super) fn stream(does: Does, order: AccessOrder) -> Stream {
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
        align: ByKind::all(Bytes(0)),
        coverage: Coverage::Once,
        seeding: Seeding::AllButOffsets,
        ..Stream::sequential(Bytes(4 * KIB), Bytes(MIB))
    }
}

pub(super) fn sequential() -> AccessOrder {
    AccessOrder::Sequential { skip_bytes: 0 }
}

pub(super) fn random() -> AccessOrder {
    AccessOrder::Random { ops_per_draw: 1 }
}

/// A job with its files, flushes and verification.
#[derive(Clone)]
pub(super) struct Tried {
    pub(super) stream: Stream,
    pub(super) files: FileRules,
    pub(super) syncs: Syncs,
    pub(super) verify: Option<Verify>,
}

/// Returns a job that does not drop cached data.
pub(super) fn job(stream: Stream) -> Tried {
    let files = FileRules { drop_cached: false, ..FileRules::default() };
    Tried { stream, files, syncs: Syncs::default(), verify: None }
}

pub(super) fn plan(tried: &Tried, file_lengths: &[u64], handing: Handing) -> Result<FioPlan, FioPlanError> {
    planned(tried, file_lengths, handing, false)
}

/// Returns a plan with notes for a log.
pub(super) fn noted(tried: &Tried, file_lengths: &[u64], handing: Handing) -> Result<FioPlan, FioPlanError> {
    planned(tried, file_lengths, handing, true)
}

fn planned(tried: &Tried, file_lengths: &[u64], handing: Handing, noted: bool) -> Result<FioPlan, FioPlanError> {
    let file_lengths = &Lengths::from_each(file_lengths.to_vec());
    let Tried { stream, files, syncs, verify } = tried;
    FioPlan::new(&FioPlanRequest {
        stream,
        files,
        syncs,
        verify: verify.as_ref(),
        file_lengths,
        io_alignment_bytes: 1,
        handing,
        cached: true,
        noted,
    })
}

/// Returns the first ops of a plan, at most this many, by the general path.
pub(super) fn ops(plan: &FioPlan, most: usize) -> Vec<BlockOp> {
    let mut source = General::new(&plan.script, None);
    std::iter::from_fn(|| source.next()).take(most).collect()
}
