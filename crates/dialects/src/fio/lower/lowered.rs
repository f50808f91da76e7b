//! What fio's jobs are lowered to.

use super::plan::PlannedJob;
use plumb_workload::Workload;
use plumb_workload::files::Names;

/// What `randrepeat=0` asks for: a number that differs from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entropy(pub u64);

/// fio's jobs as a workload.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// What is to be done; a phase for each run of jobs without a stonewall between.
    pub workload: Workload,
    /// Each copy of each job, in the order of its thread number.
    pub jobs: Vec<LoweredJob>,
    /// What became of each, for people; in the same order.
    pub plan: Vec<PlannedJob>,
    /// What is doubtful, or was changed in a way that changes what is done.
    pub warnings: Vec<String>,
    /// Jobs that cannot be run here.
    pub unrunnable: Vec<Unrunnable>,
}

/// One copy of a job of fio.
#[derive(Debug, Clone, PartialEq)]
pub struct LoweredJob {
    /// Its job, in [`Fio::jobs`].
    pub job: usize,
    /// Which copy, from 0: fio's number of the sub-job. fio makes the copies of a job in the order 0, N−1, N−2, … 1.
    pub copy: u32,
    /// fio's thread number: from 1, over all copies of all jobs. Names of logs and random streams go by it.
    pub thread_number: u32,
    /// fio's group of reporting, from 0.
    pub group_id: u32,
    /// Its phase, in [`Workload::phase`].
    pub phase: usize,
    /// Its group of one worker, in the phase's `workers`.
    pub group: usize,
    /// The name of that group, unique in the workload.
    pub group_name: String,
    /// The name of the target.
    pub target: String,
    /// Files that are missing or shorter than it asks for.
    pub fresh_files: usize,
    /// What its files are called, also where nothing is done with them (`ioengine=null`).
    pub names: Names,
    /// What reads, writes and trims draw from, where they are drawn.
    pub seed: u64,
}

/// A job that cannot be run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrunnable {
    /// Its job, in [`Fio::jobs`].
    pub job: usize,
    /// The engine, or the option.
    pub what: String,
    /// Why not.
    pub why: String,
}
