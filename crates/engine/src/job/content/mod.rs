//! What a job writes, how it is stamped, and how it is read back.

use crate::op::BlockOp;
use plumb_workload::job::{Job, Names};
use std::path::Path;

/// What the bytes of a job's ops depend on.
pub(crate) struct JobBytesRequest<'a> {
    /// The job.
    pub(crate) job: &'a Job,
    /// What the job is called: the name in a state file.
    pub(crate) name: &'a str,
    /// What its files are called, for messages and dumps; absent for a null target.
    pub(crate) names: Option<&'a Names>,
    /// Bytes of its smallest write.
    pub(crate) smallest_block_bytes: u32,
    /// Bytes of its largest op.
    pub(crate) largest_block_bytes: u32,
    /// Ops that may be in flight at once.
    pub(crate) in_flight_max: usize,
    /// The seed of the job, from which the seeds in its stamps follow.
    pub(crate) seed: u64,
    /// Number of the worker among all workers of all jobs, from 1.
    pub(crate) worker_number: u32,
    /// Content that nobody verifies follows from this; another one in every run, so that no run writes duplicates of the
    /// last.
    pub(crate) content_seed: u64,
    /// Where blocks that differ are kept.
    pub(crate) base: &'a Path,
}

/// How a job's ops came to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobEnd {
    /// All of them were done.
    Complete,
    /// Something ended them before.
    Early,
}

/// The bytes of a job's ops: what its writes hold, and what its reads should.
pub(crate) struct JobBytes {
    fills_each_op: bool,
}

impl JobBytes {
    /// What the job asks for; what is wrong with it, in words, where that cannot be done.
    pub(crate) fn new(_request: &JobBytesRequest<'_>) -> Result<JobBytes, String> {
        Ok(JobBytes { fills_each_op: false })
    }

    /// Whether anything is done for each op; without, a slot keeps what [`fill_slot`](JobBytes::fill_slot) put there.
    pub(crate) fn works_each_op(&self) -> bool {
        self.fills_each_op
    }

    /// Fills a slot, once, before the clock runs.
    pub(crate) fn fill_slot(&mut self, memory: &mut [u8]) {
        memory.fill(0);
    }

    /// Makes the content of a write, in the order of issue.
    pub(crate) fn before_write(&mut self, _op: &BlockOp, _memory: &mut [u8]) {}

    /// Whether completed ops are looked at: to verify them, or to know which slots reads overwrote.
    pub(crate) fn looks_after(&self) -> bool {
        false
    }

    /// Takes note of a completed op, and verifies what it read back; `read` is what came, less than the op asked for at
    /// the end of a file, and empty for ops that do not read.
    pub(crate) fn after(&mut self, _op: &BlockOp, _read: &[u8]) -> Result<(), String> {
        Ok(())
    }

    /// Waits for what is still being verified, and leaves what should be kept: the mismatches that no call of
    /// [`after`](JobBytes::after) told, and what could not be kept.
    pub(crate) fn finish(&mut self, _end: JobEnd) -> Vec<String> {
        Vec::new()
    }
}
