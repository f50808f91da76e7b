//! Hooks into a running workload: the probe takes its readings here, the live line is drawn here, and every second is
//! stored here. The coordinator calls them, never a worker.

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

/// The open files of one target, for inspection.
#[derive(Debug, Clone)]
pub struct TargetView<'a> {
    pub name: &'a str,
    /// The file, the first of several files, the root of a tree, or the device.
    pub path: &'a Path,
    /// Its files; empty for a tree, and for files of jobs until the workers have opened them.
    pub files: Vec<BorrowedFd<'a>>,
    /// Total number of files. If there are too many, `files` holds an evenly spread sample.
    pub file_count: usize,
}

/// Length of an interval in the interval series, ns.
pub const INTERVAL_NS: u64 = 1_000_000_000;

/// State of a running phase after its last second.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    pub phase: String,
    /// Time since the end of the ramp, ns.
    pub elapsed_ns: u64,
    /// Planned duration after the ramp, ns; `None` for no time limit.
    pub time_ns: Option<u64>,
    /// The second that has just ended.
    pub interval: Interval,
    /// Service times of the ops that ended in this second, ns.
    pub service: BTreeMap<OpKind, Histogram>,
    /// Mean number of ops in flight in this second.
    pub in_flight: f64,
    /// Number of failed ops in this second.
    pub interval_fault_count: u64,
    /// Number of failed ops since the phase began.
    pub fault_count: u64,
    /// The first of these failures.
    pub faults: Vec<Fault>,
    /// Number of short reads and writes since the end of the ramp.
    pub short_count: u64,
    /// See [`PhaseMeasurement::working_set_bytes`].
    pub working_set_bytes: Option<u64>,
    /// Requested number of ops in flight, over all workers.
    pub depth_asked: u32,
}

/// A phase at one moment. Data is read only on request.
pub trait PhaseNow {
    /// Returns the name of the phase.
    fn phase(&self) -> &str;

    /// Returns the time since the phase began, including ramps, ns.
    fn elapsed_ns(&self) -> u64;

    /// Returns the state of each worker, in order. Cheap: reads only counts and bytes.
    fn workers(&self) -> Vec<WorkerNow>;

    /// Returns the statistics of single steps so far, if there are any. Cheap.
    fn steps(&self) -> Vec<StepMeasurement> {
        Vec::new()
    }

    /// Returns the measurement as if the phase ended now. Reads every distribution. Values known only at a worker's
    /// end, such as its CPU time, are 0.
    fn measurement(&self) -> PhaseMeasurement;
}

#[derive(Debug, Clone, PartialEq)]
pub struct WorkerNow {
    pub name: String,
    pub state: WorkerState,
    /// Measured time so far, ns: from the end of its own ramp to its end.
    pub measured_ns: u64,
    /// Ops in its measured time, by kind.
    pub ops: BTreeMap<OpKind, Moved>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerState {
    /// Has not started.
    Waiting,
    /// Runs, but is not measured yet.
    Ramp,
    /// Runs and is measured.
    Running,
    Over,
}

/// Progress of laying out a file set that workers share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FileSetStep<'a> {
    /// The content of the file set was decided.
    Populated(&'a TreeFacts),
    /// Existing files are being removed.
    Removing,
    MakingDirectories,
    MakingFiles,
}

/// Follows a running workload. Every method has an empty default.
pub trait Observer {
    /// A slow, unmeasured step begins: laying out files, evicting, warming.
    fn preparing(&mut self, _what: &str) {}

    /// A file set that workers share is being laid out.
    fn file_set(&mut self, _name: &str, _step: FileSetStep<'_>) {}

    /// The files of a job cannot be opened. The job fails when its turn comes, and the others run.
    fn job_failed(&mut self, _target: &str, _why: &JobFilesError) {}

    /// The targets exist and may be changed. No phase has begun. An observer that measures together with other
    /// processes waits for them here.
    fn targets_ready(&mut self, _targets: &[TargetView<'_>]) {}

    /// The next phase only reads, and each of several processes has its own files for it. An observer that measures
    /// together with others waits until all have arrived. It sends the location of this process's files to one of them,
    /// and returns the location that another one sent: the phase reads the files there. With `None`, it reads its own.
    /// When `own` has returned the location of the own files, they are complete.
    fn exchange_files(&mut self, _own: &dyn Fn() -> Result<Vec<u8>, String>) -> Option<Vec<u8>> {
        None
    }

    /// The cache is in the state that the phase asks for. The workers are created next.
    fn phase_begins(&mut self, _phase: &str, _targets: &[TargetView<'_>]) {}

    /// The workers have opened and prepared their files. None has begun.
    fn workers_ready(&mut self, _phase: &str, _targets: &[TargetView<'_>]) {}

    /// The clock starts when this returns, or at the end of the ramp.
    fn clock_starts(&mut self, _phase: &str) {}

    /// Everything is ready. The workers start when this returns. An observer that measures together with other
    /// processes waits for them here.
    fn await_start(&mut self, _phase: &str) {}

    /// A second of the phase has passed.
    fn interval(&mut self, _live: &Live) {}

    /// Returns the interval between calls of [`tick`](Observer::tick) in ns; `None` for no
    /// calls. Called once per phase.
    fn tick_ns(&self) -> Option<u64> {
        None
    }

    /// The tick interval has passed; ramps count. After a delay of the coordinator, this comes late, but only once.
    fn tick(&mut self, _now: &dyn PhaseNow) {}

    /// Passes the ops of one worker in the order of their ends, if its job records them. Called
    /// after [`Observer::clock_stopped`], worker by worker.
    fn op_log(&mut self, _phase: &str, _worker: &str, _ops: &mut dyn Iterator<Item = LoggedOp>) {}

    /// The clock has stopped. Data that is flushed outside the clock is not flushed yet. `processes` are workers with
    /// more to do, whose I/O is not yet included in the counters of this process.
    fn clock_stopped(&mut self, _phase: &str, _targets: &[TargetView<'_>], _processes: &[u32]) {}

    /// Passes the counters of simulated devices, which no probe can read: once when the clock starts, with time 0, and
    /// at the end of each second, with the measured time so far in ns.
    fn simulated_counters(&mut self, _elapsed_ns: u64, _now: &Counters) {}

    /// A simulated phase has run. Passes what probes would have observed around it.
    fn simulated(&mut self, _phase: PhaseObservations) {}

    /// The phase is over. Passes its measurement. Called after [`Observer::clock_stopped`] or [`Observer::simulated`].
    fn phase_ended(&mut self, _measured: &PhaseMeasurement) {}

    /// All phases are over. The test data still exists.
    fn phases_over(&mut self) {}
}

/// An observer that ignores everything.
pub struct Nobody;

impl Observer for Nobody {}
