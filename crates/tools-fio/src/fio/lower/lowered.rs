//! The result of lowering.

use super::plan::PlannedJob;
use plumb_workload::files::Names;
use plumb_workload::{Companion, Start, WorkerGroup, Workload};

/// A seed that differs from run to run, for `randrepeat=0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entropy(pub u64);

/// fio's jobs as a workload.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// The work: one phase for each sequence of jobs without a stonewall between them.
    pub workload: Workload,
    /// All copies of all jobs, by thread number.
    pub jobs: Vec<LoweredJob>,
    /// The plan of each copy, in the same order.
    pub plan: Vec<PlannedJob>,
    /// Warnings, including changes that lowering made to the work.
    pub warnings: Vec<String>,
    /// Jobs that Plumb cannot run.
    pub unrunnable: Vec<Unrunnable>,
}

/// One copy of a job of fio.
#[derive(Debug, Clone, PartialEq)]
pub struct LoweredJob {
    /// Index in [`Fio::jobs`].
    pub job: usize,
    /// Index of the copy, from 0: fio's subjob number. fio creates the copies of a job in the order 0, N−1, N−2, … 1.
    pub copy: u32,
    /// fio's thread number: from 1, over all copies of all jobs. Log names and random streams depend on it.
    pub thread_number: u32,
    /// fio's reporting group, from 0.
    pub group_id: u32,
    /// Index in [`Workload::phase`].
    pub phase: usize,
    /// The group or companion that represents it in the phase.
    pub member: PhaseMember,
    /// Name of that group or companion, unique in the workload.
    pub group_name: String,
    /// Name of the target; `None` for a job that does no I/O.
    pub target: Option<String>,
    /// Files that are missing or shorter than needed.
    pub fresh_files: usize,
    /// Names of its files, even if they are not used (`ioengine=null`).
    pub names: Names,
    /// Seed of its random streams.
    pub seed: u64,
}

/// The role of a job's copy in its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseMember {
    /// Index of a group with one worker, in the phase's `workers`.
    Workers(usize),
    /// Index in the phase's `companions`: the engine does no I/O.
    Companion(usize),
}

impl LoweredJob {
    /// Returns its worker group, or `None` for a companion.
    pub fn group<'a>(&self, workload: &'a Workload) -> Option<&'a WorkerGroup> {
        match self.member {
            PhaseMember::Workers(at) => workload.phase[self.phase].workers.get(at),
            PhaseMember::Companion(_) => None,
        }
    }

    /// Returns its companion, or `None` if the job does I/O.
    pub fn companion<'a>(&self, workload: &'a Workload) -> Option<&'a Companion> {
        match self.member {
            PhaseMember::Workers(_) => None,
            PhaseMember::Companion(at) => workload.phase[self.phase].companions.get(at),
        }
    }

    pub fn start<'a>(&self, workload: &'a Workload) -> Option<&'a Start> {
        let of_companion = || self.companion(workload).map(|companion| &companion.start);
        self.group(workload).map(|group| &group.start).or_else(of_companion)
    }
}

/// A job that Plumb cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrunnable {
    /// Index in [`Fio::jobs`].
    pub job: usize,
    /// The engine or option that prevents it.
    pub what: String,
    pub why: String,
}
