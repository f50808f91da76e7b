//! From fio's jobs to a workload: copies are made, groups and waits resolved, sizes become bytes, and what one option
//! implies for another is put in, as fio 3.42 does it before a job starts.
//!
//! [`lower`] is pure but for [`Places`]. What fio finds out at its start is an error here; what it would find out while
//! running (a missing file) is left to running. A job of an engine that Plumb does not run is lowered all the same, to a
//! [`Foreign`](plumb_workload::Backend::Foreign) backend, and told among [`Lowered::unrunnable`].

mod backend;
mod clone;
mod error;
mod facts;
mod names;
mod order;
mod pace;
mod parts;
mod places;
mod plan;
mod random;
mod replay;
mod sizes;
mod stream;
mod verify;

#[cfg(test)]
mod tests;

pub use error::{LowerError, LowerErrors, Wrong};
pub use facts::PlanLine;
pub use places::{AskedRecording, Found, Places, RecordedFile, RecordedFiles, RecordedName, RecordingPart};
pub use plan::{PlannedJob, plan};
pub use replay::{Merge, merges};

use super::Fio;
use plumb_workload::Workload;
use plumb_workload::job::Names;

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

/// Lowers all jobs.
///
/// # Errors
/// Everything that fio would refuse at its start, and what Plumb cannot do without changing the work, all together.
pub fn lower(fio: &Fio, places: &mut dyn Places, entropy: Entropy) -> Result<Lowered, LowerErrors> {
    order::lower(fio, places, entropy)
}
