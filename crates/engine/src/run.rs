//! The engine's door: runs a workload, phase by phase, on real storage or on simulated devices.

use crate::control::CommonLimit;
use crate::copy::{CopyError, SharedListener};
use crate::guard::{Guard, Permissions, Refusal};
use crate::job::failed::Unopened;
use crate::job::files::JobFilesError;
use crate::job::files::look::{self, Look};
use crate::job::replay::Recordings;
use crate::observer::{Observer, PhaseNow};
use crate::oplog::LoggedOp;
use crate::phase::{Live, PhaseError, PhaseRun, PhaseWatcher, run_phase};
use crate::plan::{WorkerPlanError, group_runs};
use crate::prepare::{DropCaches, MemoryPressure, NotCold, PrepareError, PressureError};
use crate::signals::StopFlag;
use crate::sim::SimRun;
use crate::simulate;
use crate::staff::{StaffedPhase, check, staff};
use crate::targets::{OpenTargets, Surroundings};
use crate::testdir::{KeptFiles, TestDirError, TestDirs};
use plumb_result::Measurement;
use plumb_result::measurement::Fault;
use plumb_workload::{ClockScope, Flush, Phase, Size, Target, Workload};
use std::path::Path;

/// What a run needs of its surroundings.
pub struct Setting<'a> {
    /// The directory below which test data is made.
    pub base: &'a Path,
    /// What may be overwritten.
    pub permissions: &'a Permissions,
    /// Set by a signal.
    pub stop: StopFlag,
    /// Where test directories are registered.
    pub test_dirs: &'a TestDirs,
    /// Files that were laid out by earlier runs of the same data, to be used again; every run has its own when absent.
    /// What is verified, trimmed or not written in full before the first phase is always a run's own.
    pub kept: Option<&'a KeptFiles>,
    /// Whether the whole page cache may be dropped to make files cold.
    pub drop_caches: DropCaches,
    /// Which run this is, for simulated devices.
    pub sim_run: SimRun,
    /// Different in every run, so that no two runs write the same bytes; ops do not depend on it.
    pub content_seed: u64,
    /// Opens the recordings of jobs that replay one.
    pub recordings: Option<&'static dyn Recordings>,
    /// Whom it ends when the files of a job cannot be had.
    pub unopened: Unopened,
    /// Hears at once what happens in copies.
    pub copy_listener: Option<SharedListener>,
}

/// Why a workload could not be run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The workload cannot be, as it stands.
    #[error("{0}")]
    Plan(String),
    /// A worker of it cannot be.
    #[error(transparent)]
    Worker(#[from] WorkerPlanError),
    /// The write guard refuses.
    #[error(transparent)]
    Refused(Refusal),
    /// A target could not be opened or laid out.
    #[error(transparent)]
    Prepare(PrepareError),
    /// A file set could not be laid out.
    #[error("target `{target}`: {reason}")]
    Tree {
        /// The target.
        target: String,
        /// In words.
        reason: String,
    },
    /// The files of a job could not be opened or laid out.
    #[error("target `{target}`: {source}")]
    JobFiles {
        /// The target.
        target: String,
        /// Why.
        source: Box<JobFilesError>,
    },
    /// No test directory could be made.
    #[error(transparent)]
    TestDir(TestDirError),
    /// The cache could not be emptied.
    #[error("phase `{phase}` wants a cold cache: {source}")]
    NotCold {
        /// The phase.
        phase: String,
        /// Why.
        source: NotCold,
    },
    /// The cache could not be warmed.
    #[error("phase `{phase}` wants a warm cache: {source}")]
    NotWarm {
        /// The phase.
        phase: String,
        /// Why.
        source: Box<PrepareError>,
    },
    /// Memory could not be held.
    #[error("phase `{phase}`: {source}")]
    Pressure {
        /// The phase.
        phase: String,
        /// Why.
        source: PressureError,
    },
    /// A copy could not begin.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// A phase could not run.
    #[error(transparent)]
    Phase(#[from] PhaseError),
}

impl EngineError {
    /// A plan that cannot be, with the reason.
    pub(crate) fn plan(reason: impl ToString) -> EngineError {
        EngineError::Plan(reason.to_string())
    }

    /// The guard's refusal, where it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            EngineError::Refused(refusal)
            | EngineError::Prepare(PrepareError::Refused(refusal))
            | EngineError::TestDir(TestDirError::Refused(refusal)) => Some(refusal),
            EngineError::JobFiles { source, .. } => source.refusal(),
            EngineError::Copy(error) => error.refusal(),
            _ => None,
        }
    }

    /// Whether the workload, rather than the system, is to blame.
    pub fn is_plan(&self) -> bool {
        match self {
            EngineError::Plan(_) | EngineError::Worker(_) | EngineError::NotCold { .. } => true,
            EngineError::Prepare(error) => error.exit_code() == 2,
            EngineError::JobFiles { source, .. } => source.is_plan(),
            _ => false,
        }
    }

    /// Whether a signal is to blame.
    fn is_stop(&self) -> bool {
        match self {
            EngineError::NotWarm { source, .. } => matches!(**source, PrepareError::Stopped { .. }),
            EngineError::Prepare(PrepareError::Stopped { .. })
            | EngineError::NotCold { source: NotCold::Stopped, .. }
            | EngineError::Pressure { source: PressureError::Stopped, .. } => true,
            _ => false,
        }
    }
}

impl From<PrepareError> for EngineError {
    fn from(error: PrepareError) -> EngineError {
        match error {
            PrepareError::Refused(refusal) => EngineError::Refused(refusal),
            error => EngineError::Prepare(error),
        }
    }
}

impl From<Refusal> for EngineError {
    fn from(refusal: Refusal) -> EngineError {
        EngineError::Refused(refusal)
    }
}

/// Runs a workload whose sizes are all in bytes. A signal ends it early, with what was measured before; so does an error
/// after the first phase, which is then named in the measurement.
pub fn run(
    workload: &Workload,
    setting: &Setting<'_>,
    observer: &mut dyn Observer,
) -> Result<Measurement, EngineError> {
    if workload.target.values().any(|target| matches!(target, Target::Sim(_))) {
        return simulate::run(workload, setting, observer);
    }
    match run_real(workload, setting, observer) {
        Err(error) if error.is_stop() => Ok(Measurement { interrupted: true, ..Measurement::default() }),
        outcome => outcome,
    }
}

fn run_real(
    workload: &Workload,
    setting: &Setting<'_>,
    observer: &mut dyn Observer,
) -> Result<Measurement, EngineError> {
    let guard = Guard::new(setting.permissions.clone());
    let surroundings = Surroundings { guard: &guard, setting, workload };
    let mut targets = OpenTargets::open(&surroundings, observer)?;
    check(workload, &targets)?;
    observer.targets_ready(&targets.views(|_| true));
    let mut measurement = Measurement::default();
    for (number, phase) in workload.phase.iter().enumerate() {
        if setting.stop.requested() {
            measurement.interrupted = true;
            break;
        }
        match run_one(workload, phase, number as u32, &surroundings, &mut targets, observer) {
            Ok(outcome) => {
                measurement.interrupted = outcome.interrupted;
                observer.phase_ended(&outcome.measurement);
                measurement.phases.push(outcome.measurement);
                if outcome.ends_run {
                    break;
                }
            }
            Err(error) if error.is_stop() => measurement.interrupted = true,
            Err(error) => {
                measurement = keep_finished(measurement, error)?;
                break;
            }
        }
        if measurement.interrupted || setting.stop.requested() {
            measurement.interrupted = true;
            break;
        }
    }
    if let (Err(error), Some(last)) = (targets.close(), measurement.phases.last_mut()) {
        last.fallbacks.push(format!("clean up: {error}; `plumb clean` removes what is left"));
    }
    Ok(measurement)
}

/// What an error leaves of a run: the phases before it. Where there are none, the run has come to nothing.
pub(crate) fn keep_finished(measurement: Measurement, error: EngineError) -> Result<Measurement, EngineError> {
    match measurement.phases.is_empty() {
        true => Err(error),
        false => Ok(Measurement { error: Some(error.to_string()), ..measurement }),
    }
}

fn run_one(
    workload: &Workload,
    phase: &Phase,
    number: u32,
    surroundings: &Surroundings<'_>,
    targets: &mut OpenTargets,
    observer: &mut dyn Observer,
) -> Result<crate::phase::PhaseOutcome, EngineError> {
    let stop = surroundings.setting.stop;
    let of_phase = |name: &str| phase.workers.iter().any(|group| group.targets().any(|target| target == name));
    let pressure = phase.memory_pressure.and_then(Size::fixed);
    // Held until the phase has ended.
    let _pressure = pressure
        .map(|bytes| MemoryPressure::hold(bytes.0, None, stop))
        .transpose()
        .map_err(|source| EngineError::Pressure { phase: phase.name.clone(), source })?;
    let mut fallbacks = targets.apply_cache_policy(phase, surroundings, observer)?;
    let StaffedPhase { workers, run_as, working_set_bytes, written, flows, notes } =
        staff(workload, phase, number, targets, surroundings.setting)?;
    fallbacks.extend(notes);
    let run = PhaseRun {
        name: phase.name.clone(),
        workers,
        groups: group_runs(phase)?,
        run_as,
        ramp_ns: phase.ramp.0,
        time_ns: phase.stop.time.map(|time| time.0),
        limit: CommonLimit { ops: phase.stop.ops, bytes: phase.stop.bytes.map(|bytes| bytes.0) },
        when: phase.stop.when,
        steady: phase.stop.steady,
        working_set_bytes,
        flush_inside_clock: phase.end.clock == ClockScope::Inside,
    };
    observer.phase_begins(&phase.name, &targets.views(of_phase));
    let mut watcher = Watcher { phase, targets, looks: Vec::new(), written: &written, observer };
    let mut outcome = run_phase(run, stop, &mut watcher)?;
    fallbacks.extend(watcher.looks.iter().filter_map(Look::note).chain(look::note(&watcher.looks)));
    drop(watcher);
    outcome.measurement.fallbacks.extend(fallbacks);
    for flow in flows {
        let target = flow.target.clone();
        let state = flow.after(&outcome.yielded);
        targets.return_tree(&target, state);
    }
    Ok(outcome)
}

/// Passes what the coordinator says on to the observer, and flushes at the end.
struct Watcher<'a> {
    phase: &'a Phase,
    targets: &'a OpenTargets,
    /// Files of jobs, from when they are open.
    looks: Vec<Look>,
    written: &'a [String],
    observer: &'a mut dyn Observer,
}

impl PhaseWatcher for Watcher<'_> {
    fn workers_ready(&mut self) {
        self.looks = self.targets.look(self.phase);
        let views = self.targets.views_with(&self.looks, self.phase);
        self.observer.workers_ready(&self.phase.name, &views);
    }

    fn clock_starts(&mut self) {
        self.observer.clock_starts(&self.phase.name);
    }

    fn interval(&mut self, live: &Live) {
        self.observer.interval(live);
    }

    fn tick_ns(&self) -> Option<u64> {
        self.observer.tick_ns()
    }

    fn tick(&mut self, now: &dyn PhaseNow) {
        self.observer.tick(now);
    }

    fn op_log(&mut self, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        self.observer.op_log(&self.phase.name, worker, ops);
    }

    fn clock_stopped(&mut self) {
        let views = self.targets.views_with(&self.looks, self.phase);
        self.observer.clock_stopped(&self.phase.name, &views);
    }

    fn flush(&mut self) -> Result<Option<u64>, Box<Fault>> {
        if self.phase.end.flush == Flush::None || self.written.is_empty() {
            return Ok(None);
        }
        let clock = crate::clock::Clock::best();
        let start = clock.now();
        for target in self.written {
            self.targets.flush(target, self.phase.end.flush)?;
        }
        Ok(Some(clock.ns_between(start, clock.now())))
    }
}
