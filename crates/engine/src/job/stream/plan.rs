//! From a job to what its source needs.

use crate::op::BlockOp;
use crate::source::Source;
use plumb_workload::job::{ByKind, Job};
use thiserror::Error;

/// What a [`JobPlan`] is made from.
#[derive(Debug, Clone, Copy)]
pub struct JobPlanRequest<'a> {
    /// The job.
    pub job: &'a Job,
    /// Length of each of the target's files and devices, in bytes.
    pub file_lengths: &'a [u64],
    /// Offsets and lengths must be multiples of this, in bytes; 1 where anything goes.
    pub io_alignment_bytes: u64,
    /// How the backend takes ops.
    pub handing: Handing,
}

/// How a backend takes ops, which decides in fio where one loop of an endless draw ends and the next begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handing {
    /// Each is done when the call returns.
    Inline,
    /// They are queued.
    Queued,
}

/// Why a job has no plan.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum JobPlanError {
    /// The ops come from elsewhere.
    #[error("the ops of this job are recorded, not drawn; play the recording instead")]
    Recorded,
}

/// The ops of a job, ready to be drawn.
#[derive(Debug, Clone)]
pub struct JobPlan {}

impl JobPlan {
    /// Plans a job.
    pub fn new(request: &JobPlanRequest<'_>) -> Result<JobPlan, JobPlanError> {
        let _ = request;
        Err(JobPlanError::Recorded)
    }

    /// Bytes of the largest op: the size of its buffer.
    pub fn largest_block_bytes(&self) -> u64 {
        0
    }

    /// Bytes of the smallest op that moves data.
    pub fn smallest_block_bytes(&self) -> u64 {
        0
    }

    /// Distinct bytes that its ops can touch.
    pub fn working_set_bytes(&self) -> u64 {
        0
    }

    /// Bytes that one loop moves, read-back left out.
    pub fn pass_bytes(&self) -> u64 {
        0
    }

    /// Which kinds of op it has, read-back left out.
    pub fn moves(&self) -> ByKind<bool> {
        ByKind::all(false)
    }

    /// Whether "no space left" is the end of the job and not an error.
    pub fn ends_at_no_space(&self) -> bool {
        false
    }
}

pub(super) struct Nothing;

impl Nothing {
    pub(super) fn new(_plan: &JobPlan) -> Nothing {
        Nothing
    }
}

impl Source for Nothing {
    type Op = BlockOp;
    fn next(&mut self) -> Option<BlockOp> {
        None
    }
}
