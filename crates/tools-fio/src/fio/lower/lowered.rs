//! The result of lowering.

use super::plan::PlannedJob;
use plumb_workload::files::Names;
use plumb_workload::{Companion, Start, WorkerGroup, Workload};

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
    /// The plan of each, in the same order.
    pub plan: Vec<PlannedJob>,
    /// Warnings, or was changed in a way that changes what is done.
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
    /// fio's thread number: from 1, over all copies of all jobs. Log names and random streams depend on it.
    pub thread_number: u32,
    /// fio's group of reporting, from 0.
    pub group_id: u32,
    /// Its phase, in [`Workload::phase`].
    pub phase: usize,
    /// What it became in that phase.
    pub member: PhaseMember,
    /// The name of that group or companion, unique in the workload.
    pub group_name: String,
    /// The name of the target, where it does I/O.
    pub target: Option<String>,
    /// Files that are missing or shorter than it asks for.
    pub fresh_files: usize,
    /// The names of its files, even if they are not used (`ioengine=null`).
    pub names: Names,
    /// The seed of its random choices.
    pub seed: u64,
}

/// What a copy of a job is in its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseMember {
    /// A group of one worker, in the phase's `workers`.
    Workers(usize),
    /// One of the phase's `companions`: its engine does no I/O.
    Companion(usize),
}

impl LoweredJob {
    /// Its group of workers; `None` for a companion.
    pub fn group<'a>(&self, workload: &'a Workload) -> Option<&'a WorkerGroup> {
        match self.member {
            PhaseMember::Workers(at) => workload.phase[self.phase].workers.get(at),
            PhaseMember::Companion(_) => None,
        }
    }

    /// The companion that it is; `None` where it does I/O.
    pub fn companion<'a>(&self, workload: &'a Workload) -> Option<&'a Companion> {
        match self.member {
            PhaseMember::Workers(_) => None,
            PhaseMember::Companion(at) => workload.phase[self.phase].companions.get(at),
        }
    }

    /// When it starts.
    pub fn start<'a>(&self, workload: &'a Workload) -> Option<&'a Start> {
        let of_companion = || self.companion(workload).map(|companion| &companion.start);
        self.group(workload).map(|group| &group.start).or_else(of_companion)
    }
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
