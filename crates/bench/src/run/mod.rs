//! One run with its evidence: probe before, engine, probe after, trust, store.
//!
//! [`Bench`] holds the context of a process's runs. How a run is made depends on who makes it: see [`mode`].

mod begun;
mod engine;
mod judged;
mod mode;
mod null_ceiling;
mod ordered;
mod partners;
mod results;
mod series;
mod sizes;

pub use crate::outcome::{FailureKind, RunError, RunOutcome};
pub use engine::EngineOptions;
pub use partners::Partners;
pub use results::ResultLog;
pub use series::Series;

use crate::evidence::has_storage;
use crate::fit::Policies;
use crate::progress::Progress;
use begun::BegunRun;
use mode::ResolvedRun;
use null_ceiling::NullCeilings;
use plumb_engine::guard::Permissions;
use plumb_engine::signals::StopFlag;
use plumb_engine::sim::SimRun;
use plumb_engine::testdir::TestDirs;
use plumb_lab::agent::DeviceReadings;
use plumb_probe::BackgroundRead;
use plumb_result::observe::Environment;
use plumb_result::{Finding, Level, RunResult, Tool};
use plumb_store::Store;
use plumb_trust::CommandContext;
use plumb_workload::Workload;
use plumb_workload_text::validate::{Problem, validate};
use std::path::Path;
use std::time::Duration;

/// The context of runs, created once per process.
pub struct Bench {
    /// Set by a signal.
    pub stop: StopFlag,
    pub results: ResultLog,
    pub engine: EngineOptions,
    /// The processes that make every run together with this one.
    pub partners: Partners,
    /// State that one run leaves to the next.
    pub series: Series,
    /// The command and the settings of its user, for which findings are worded.
    pub command_context: CommandContext,
    /// Records device state around the work, for a study that conducts this process.
    pub device_readings: Option<DeviceReadings>,
    /// Added to the dates of runs, because sessions of simulated devices are a day apart.
    pub ahead: Duration,
    environment: BackgroundRead<Environment>,
    /// The first of the hosts that this process leads, after their first run.
    environment_of_hosts: Option<Environment>,
    null_ceilings: NullCeilings,
}

/// A run as requested by a caller.
pub struct RunRequest<'a> {
    /// Workload whose sizes may still depend on the machine.
    pub workload: &'a Workload,
    /// Origin of the workload's cache policies.
    pub policies: Policies,
    /// Directory that test data is made in.
    pub base: &'a Path,
    /// Command line as typed, stored with the result.
    pub command: &'a str,
    /// Dialect of the command, such as `fio`; `None` for Plumb's own.
    pub dialect: Option<&'a str>,
    /// Identifies this run within a comparison, for simulated devices.
    pub sim_run: SimRun,
}

/// Returns the checks that reject a run.
pub fn failed(result: &RunResult) -> impl Iterator<Item = &Finding> {
    result.checks.iter().filter(|finding| finding.level == Level::Fail)
}

/// Returns the failed checks in one line. Each is listed once, for its first phase.
pub fn rejected_because(result: &RunResult) -> String {
    let mut codes: Vec<&str> = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    for finding in failed(result) {
        if !codes.contains(&finding.code.as_str()) {
            codes.push(&finding.code);
            reasons.push(format!("{} {}", finding.code, finding.message));
        }
    }
    reasons.join(" ")
}

/// Returns a new unique id, UUIDv7: ids sort by creation time.
pub fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// Returns this program's name and version for results.
pub fn tool() -> Tool {
    Tool { name: "plumb".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

impl Bench {
    /// Creates a bench; with `store` as `None`, results are not stored.
    pub fn new(store: Option<Store>, stop: StopFlag, permissions: Permissions, test_dirs: TestDirs) -> Bench {
        Bench {
            stop,
            results: ResultLog { store, ..ResultLog::default() },
            engine: EngineOptions::new(permissions, test_dirs),
            partners: Partners::default(),
            series: Series::default(),
            command_context: CommandContext::default(),
            device_readings: DeviceReadings::from_env(),
            ahead: Duration::ZERO,
            environment: BackgroundRead::begin(plumb_probe::environment),
            environment_of_hosts: None,
            null_ceilings: NullCeilings::default(),
        }
    }

    /// Returns the environment of this machine.
    pub fn environment(&self) -> &Environment {
        self.environment.get()
    }

    /// Returns the memory that a run may use: the machine's, or the control group's if that is less.
    pub fn ram_bytes(&self) -> u64 {
        let environment = self.environment();
        environment.ram_bytes.min(environment.cgroup.memory_bytes.unwrap_or(u64::MAX))
    }

    /// Returns the environment of the last run: this machine, or the first of the hosts that this process leads.
    pub fn environment_of_runs(&self) -> &Environment {
        self.environment_of_hosts.as_ref().unwrap_or_else(|| self.environment())
    }

    /// Returns the memory that a run below a path may use: with hosts, the smallest of theirs.
    ///
    /// # Errors
    /// A host cannot read it, or does not answer.
    pub fn ram_of_runs(&self, base: &Path) -> Result<u64, RunError> {
        self.partners.led().map_or_else(|| Ok(self.ram_bytes()), |ranks| ranks.ram_of_each(self.stop, base))
    }

    /// Returns `true` if runs can share files that are laid out once. Hosts lay out the files of each run.
    pub fn keeps_files(&self) -> bool {
        self.partners.led().is_none()
    }

    /// Runs a workload once, with all its evidence, then judges and stores the run. Several ranks make the run
    /// together, and rank 0 gets the result of all of them.
    ///
    /// # Errors
    /// The workload is invalid, a size is unknown, the engine or another rank could not run it, or the run ended
    /// early. Then [`RunError::EndedEarly`] has the measurements of its completed phases.
    pub fn run(&mut self, request: &RunRequest<'_>, progress: &mut dyn Progress) -> Result<RunOutcome, RunError> {
        let mode = self.partners.mode();
        let ResolvedRun { workload, not_had } = mode.resolve(self, request)?;
        check(mode.apart().unwrap_or(std::slice::from_ref(&workload)))?;
        let run = BegunRun::new(request, &workload);
        let mut measured = mode.measure(self, &run, progress).map_err(|error| self.results.fail(&run.id, error))?;
        if has_storage(&workload) {
            let of_a_host = measured.workload_of_a_host(&workload);
            let cpus = self.environment.get().cpus;
            let ceiling = self.null_ceilings.measure(of_a_host, &measured.measurement, cpus);
            measured.add_null_ceiling(&ceiling);
        }
        let judgement = measured.judged(&*mode, &workload, &self.command_context);
        self.environment_of_hosts = mode.environment_elsewhere(&measured).cloned();
        let mut outcome = measured.outcome(&*mode, run, &not_had, judgement, &self.environment);
        outcome.not_stored = self.results.finish(&outcome.result, &outcome.measurement);
        self.series.has_run |= outcome.measurement.error.is_none();
        match outcome.measurement.error.clone() {
            Some(error) => Err(RunError::EndedEarly { error, outcome: Box::new(outcome) }),
            None => Ok(outcome),
        }
    }
}

/// Checks the workloads of a run.
fn check(workloads: &[Workload]) -> Result<(), RunError> {
    let problems: Vec<Problem> = workloads.iter().flat_map(validate).collect();
    if problems.is_empty() { Ok(()) } else { Err(RunError::Workload(problems)) }
}
