//! Who looks on while a workload runs: the probe takes its readings here, the live line is drawn here, and every second
//! is stored here. Called by the coordinator, never by a worker.

use crate::files::JobFilesError;
use crate::oplog::LoggedOp;
use crate::program::shared::TreeFacts;
use plumb_result::measurement::{Fault, Moved, StepMeasurement};
use plumb_result::observe::Counters;
use plumb_result::{Histogram, Interval, PhaseMeasurement, PhaseObservations};
use plumb_workload::OpKind;
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// The open files of one target, for looking at.
#[derive(Debug, Clone)]
pub struct TargetView<'a> {
    /// The target's name.
    pub name: &'a str,
    /// Where it lies: the file, the first of several files, the root of a tree, or the device.
    pub path: &'a Path,
    /// Its files; empty for a tree, and for the files of jobs until workers have opened them.
    pub files: Vec<BorrowedFd<'a>>,
    /// How many files it has: `files` holds some of them, evenly spread, where they are too many.
    pub file_count: usize,
}

/// Length of an entry of the interval series, ns.
pub const INTERVAL_NS: u64 = 1_000_000_000;

/// What a phase looks like while it runs: the last second.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// The phase's name.
    pub phase: String,
    /// Since the end of the ramp, ns.
    pub elapsed_ns: u64,
    /// When it will end by time, since the end of the ramp, ns.
    pub time_ns: Option<u64>,
    /// The second that has just ended.
    pub interval: Interval,
    /// Service times of the ops that ended in it, ns.
    pub service: BTreeMap<OpKind, Histogram>,
    /// Mean ops in flight over it.
    pub in_flight: f64,
    /// Errors of ops in the interval.
    pub interval_fault_count: u64,
    /// Errors of ops since the phase began.
    pub fault_count: u64,
    /// The first of them.
    pub faults: Vec<Fault>,
    /// Reads and writes since the end of the ramp that moved fewer bytes than asked.
    pub short_count: u64,
    /// See [`PhaseMeasurement::working_set_bytes`].
    pub working_set_bytes: Option<u64>,
    /// Asked ops in flight, all workers together.
    pub depth_asked: u32,
}

/// A phase at one moment. What is not asked for is not read.
pub trait PhaseNow {
    /// The phase's name.
    fn phase(&self) -> &str;

    /// Since the phase began, ramps included, ns.
    fn elapsed_ns(&self) -> u64;

    /// How each worker stands, in order. Cheap: only counts and bytes are read.
    fn workers(&self) -> Vec<WorkerNow>;

    /// The statistics of single steps so far, where there are any. Cheap.
    fn steps(&self) -> Vec<StepMeasurement> {
        Vec::new()
    }

    /// What would be measured if the phase ended here. Reads every distribution; what is known only at a worker's end,
    /// such as its processor time, is left at 0.
    fn measurement(&self) -> PhaseMeasurement;
}

/// One worker at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerNow {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub state: WorkerState,
    /// How long it has been measured, ns: since its own start and ramp, and up to its end.
    pub measured_ns: u64,
    /// What it has done in that time.
    pub ops: BTreeMap<OpKind, Moved>,
}

/// How a worker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerState {
    /// It has not started.
    Waiting,
    /// It runs, and is not measured yet.
    Ramp,
    /// It runs and is measured.
    Running,
    /// It has ended.
    Over,
}

/// How far a file set that workers share has come in being laid out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FileSetStep<'a> {
    /// It is known what is to be in it.
    Populated(&'a TreeFacts),
    /// What is there already is removed.
    Removing,
    /// Directories are made.
    MakingDirectories,
    /// Files are made.
    MakingFiles,
}

/// Looks on while a workload runs. Every method has an empty default.
pub trait Observer {
    /// Something slow goes on that is not measured: laying out files, evicting, warming.
    fn preparing(&mut self, _what: &str) {}

    /// A file set that workers share is being laid out.
    fn file_set(&mut self, _name: &str, _step: FileSetStep<'_>) {}

    /// The files of a job cannot be obtained; it fails when its turn comes, and the others run.
    fn job_failed(&mut self, _target: &str, _why: &JobFilesError) {}

    /// The targets exist, and may be changed; none of the phases has begun. Who measures together with other processes waits for them
    /// here.
    fn targets_ready(&mut self, _targets: &[TargetView<'_>]) {}

    /// A phase is to come that only reads, and of whose files each of several processes has its own. Who measures together with
    /// others waits until all have come here, passes on to one of them where this process' files are, and answers what another one
    /// passed on: the phase reads the files of that one. Where there is `None`, it reads its own. Own files are complete once
    /// `own` has said where they are.
    fn exchange_files(&mut self, _own: &dyn Fn() -> Result<Vec<u8>, String>) -> Option<Vec<u8>> {
        None
    }

    /// The cache is as the phase wants it; workers are about to be made.
    fn phase_begins(&mut self, _phase: &str, _targets: &[TargetView<'_>]) {}

    /// The workers have opened and prepared their files; none has begun.
    fn workers_ready(&mut self, _phase: &str, _targets: &[TargetView<'_>]) {}

    /// The clock starts as this returns; with a ramp, at its end.
    fn clock_starts(&mut self, _phase: &str) {}

    /// Everything is ready; the workers start as this returns. Who measures together with other processes waits for them here.
    fn await_start(&mut self, _phase: &str) {}

    /// A second of the phase has passed.
    fn interval(&mut self, _live: &Live) {}

    /// How often [`tick`](Observer::tick) is called while a phase runs, ns; never where `None`. Asked once a phase.
    fn tick_ns(&self) -> Option<u64> {
        None
    }

    /// So much time has passed again; ramps count. Late where the coordinator was held up, and then once.
    fn tick(&mut self, _now: &dyn PhaseNow) {}

    /// What one worker of a phase did, op by op in the order of their ends, where its job keeps that. Called after
    /// [`Observer::clock_stopped`], worker by worker.
    fn op_log(&mut self, _phase: &str, _worker: &str, _ops: &mut dyn Iterator<Item = LoggedOp>) {}

    /// The clock has stopped; what is flushed outside the clock is not flushed yet. What `processes` read and wrote is
    /// not counted with this one's: they are workers with more to do.
    fn clock_stopped(&mut self, _phase: &str, _targets: &[TargetView<'_>], _processes: &[u32]) {}

    /// Counters of simulated devices, which no probe can see: as the clock starts, with 0, and at the end of each second, with the
    /// measured time so far, ns.
    fn simulated_counters(&mut self, _elapsed_ns: u64, _now: &Counters) {}

    /// A simulated phase has run; this is what would have been seen around it.
    fn simulated(&mut self, _phase: PhaseObservations) {}

    /// The phase is over, and this is what was measured of it. Called after [`Observer::clock_stopped`] or
    /// [`Observer::simulated`].
    fn phase_ended(&mut self, _measured: &PhaseMeasurement) {}

    /// No phase is left; test data are still there.
    fn phases_over(&mut self) {}
}

/// Nobody looks on.
pub struct Nobody;

impl Observer for Nobody {}
