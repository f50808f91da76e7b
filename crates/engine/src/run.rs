//! Entry point of the engine: runs a workload, phase by phase, on real storage or on simulated devices.

use crate::build_workers::{BuiltPhase, build_workers, check};
use crate::clock::Clock;
use crate::content::test_block;
use crate::control::CommonLimit;
use crate::engine_error::{EngineError, keep_finished};
use crate::files::evidence_files::{self, EvidenceFiles};
use crate::guard::{Guard, Permissions};
use crate::net::ProbeRun;
use crate::observer::{Live, Observer, PhaseNow};
use crate::oplog::LoggedOp;
use crate::phase::{PhaseRun, PhaseWatcher, run_phase};
use crate::plan::group_runs;
use crate::prepare::MemoryPressure;
use crate::setting::Setting;
use crate::simulate;
use crate::targets::{OpenTargets, TargetContext};
use plumb_result::Measurement;
use plumb_result::measurement::Fault;
use plumb_workload::{ClockScope, Flush, Phase, Size, Workload};

/// Creates the write guard of runs, which recognises the test data of Plumb and fio.
pub fn write_guard(permissions: Permissions) -> Guard {
    Guard::new(permissions, test_block)
}

/// Runs a workload whose sizes are all in bytes. A signal ends it early and keeps the measurements so far. An error
/// after the first phase does the same, and is reported in the measurement.
pub fn run(
    workload: &Workload,
    setting: &Setting<'_>,
    observer: &mut dyn Observer,
) -> Result<Measurement, EngineError> {
    let guard = write_guard(setting.permissions.clone())
        .with_register(setting.test_dirs.made_files())
        .patient(setting.say, setting.stop.cell());
    let measured = run_phases(workload, &guard, setting, observer);
    guard.give_back();
    match measured {
        Err(error) if error.is_stop() => Ok(Measurement { interrupted: true, ..Measurement::default() }),
        outcome => outcome,
    }
}

fn run_phases(
    workload: &Workload,
    guard: &Guard,
    setting: &Setting<'_>,
    observer: &mut dyn Observer,
) -> Result<Measurement, EngineError> {
    let surroundings = TargetContext { guard, setting, workload };
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
    observer.phases_over();
    targets.list_files(guard, workload);
    if let (Err(error), Some(last)) = (targets.close(), measurement.phases.last_mut()) {
        last.fallbacks.push(format!("cannot clean up: {error}; `plumb clean` removes what is left"));
    }
    Ok(measurement)
}

fn run_one(
    workload: &Workload,
    phase: &Phase,
    number: u32,
    surroundings: &TargetContext<'_>,
    targets: &mut OpenTargets,
    observer: &mut dyn Observer,
) -> Result<crate::phase::PhaseOutcome, EngineError> {
    let stop = surroundings.setting.stop;
    let of_phase = |name: &str| phase.workers.iter().any(|group| group.targets().any(|target| target == name));
    let is_simulated = targets.simulation().is_some();
    let pressure = phase.memory_pressure.and_then(Size::fixed).filter(|_| !is_simulated);
    // Held until the phase has ended.
    let _pressure = pressure
        .map(|bytes| MemoryPressure::hold(bytes.0, None, stop))
        .transpose()
        .map_err(|source| EngineError::Pressure { phase: phase.name.clone(), source })?;
    let mut fallbacks = Vec::new();
    let own_files = targets.use_others_files(phase, surroundings, observer, &mut fallbacks);
    let prepared = targets.apply_cache_policy(phase, surroundings, observer)?;
    fallbacks.extend(prepared.fallbacks);
    let mut probe = match (&phase.probe, surroundings.setting.net) {
        (None, _) => None,
        (Some(_), _) if is_simulated => {
            return Err(EngineError::plan("a simulated device runs on a virtual clock, and has no probe"));
        }
        (Some(_), None) => return Err(EngineError::plan("this command does no network work")),
        (Some(probe), Some(protocol)) => {
            observer.preparing(&format!("round trips to {} before the phase `{}`", probe.to, phase.name));
            let begun = ProbeRun::begin(probe, protocol, stop);
            Some(begun.map_err(|error| network(phase, "probe", error))?)
        }
    };
    let BuiltPhase { workers, run_as, working_set_bytes, written, flows, notes, board, replay, net } =
        build_workers(workload, phase, number, targets, surroundings.setting)?;
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
        board,
        replay,
        others: surroundings.setting.others.clone(),
    };
    let mut outcome = match targets.simulation() {
        Some(simulation) => simulate::run_phase(phase, run, simulation, stop, observer)?,
        None => {
            observer.phase_begins(&phase.name, &targets.views(of_phase));
            let probe = probe.as_mut();
            let mut watcher =
                ObserverWatch { phase, targets, evidence: Vec::new(), written: &written, observer, probe };
            let outcome = run_phase(Clock::best(), run, stop, &mut watcher)?;
            fallbacks.extend(
                watcher.evidence.iter().filter_map(EvidenceFiles::note).chain(evidence_files::note(&watcher.evidence)),
            );
            outcome
        }
    };
    outcome.measurement.fallbacks.extend(fallbacks);
    outcome.measurement.caches = (!prepared.done.is_nothing()).then(|| Box::new(prepared.done));
    // An interrupted phase closes its connections without a report.
    if !outcome.interrupted {
        let workers = std::mem::take(&mut outcome.measurement.workers);
        let groups = net.into_iter().map(|group| group.finish(&workers));
        let probed = probe.map(|probe| probe.finish(&phase.name).map_err(|error| format!("probe: {error}")));
        for known in groups.chain(probed) {
            match known {
                Ok(network) => outcome.measurement.network.push(network),
                Err(error) => outcome.measurement.fallbacks.push(error),
            }
        }
        outcome.measurement.workers = workers;
    }
    for flow in flows {
        let target = flow.target.clone();
        let state = flow.after(&outcome.yielded);
        targets.return_files(&target, state);
    }
    targets.restore_own_files(own_files);
    Ok(outcome)
}

fn network(phase: &Phase, part: &str, reason: String) -> EngineError {
    EngineError::Network { phase: phase.name.clone(), part: part.to_owned(), reason }
}

/// Passes the coordinator's events on to the observer, and flushes at the end.
struct ObserverWatch<'a> {
    phase: &'a Phase,
    targets: &'a OpenTargets,
    /// Files of jobs, once they are open.
    evidence: Vec<EvidenceFiles>,
    written: &'a [String],
    observer: &'a mut dyn Observer,
    probe: Option<&'a mut ProbeRun>,
}

impl PhaseWatcher for ObserverWatch<'_> {
    fn workers_ready(&mut self) {
        self.evidence = self.targets.open_evidence(self.phase);
        let views = self.targets.views_with(&self.evidence, self.phase);
        self.observer.workers_ready(&self.phase.name, &views);
    }

    fn clock_starts(&mut self) {
        self.observer.clock_starts(&self.phase.name);
        if let Some(probe) = &mut self.probe {
            probe.starts();
        }
    }

    fn await_start(&mut self) {
        self.observer.await_start(&self.phase.name);
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

    fn clock_stopped(&mut self, processes: &[u32]) {
        if let Some(probe) = &mut self.probe {
            probe.stopped();
        }
        let views = self.targets.views_with(&self.evidence, self.phase);
        self.observer.clock_stopped(&self.phase.name, &views, processes);
    }

    fn flush(&mut self) -> Result<Option<u64>, Box<Fault>> {
        if self.phase.end.flush == Flush::None || self.written.is_empty() {
            return Ok(None);
        }
        let clock = Clock::best();
        let start = clock.now();
        for target in self.written {
            self.targets.flush(target, self.phase.end.flush)?;
        }
        Ok(Some(clock.ns_between(start, clock.now())))
    }
}
