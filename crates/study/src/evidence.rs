//! Looks at the machine around every phase of a run, and stores each second as it passes.

use crate::run::Progress;
use plumb_engine::{Live, Observer, TargetView};
use plumb_probe::clock::ClockWatch;
use plumb_probe::conditions::ConditionWatch;
use plumb_probe::counters::{self, SampleSet};
use plumb_probe::kernel_log::KernelLog;
use plumb_probe::others::IoWatch;
use plumb_probe::{extents, residency, stack};
use plumb_result::observe::{Counters, Environment, Extents, PhaseObservations, Residency, TargetFacts};
use plumb_result::{Observations, Seen, Tier, Tool};
use plumb_store::{Partial, RunStart, Store, StoreError};
use plumb_workload::{FileTarget, FilesTarget, Target, TreeTarget, Workload};
use std::collections::BTreeMap;
use std::path::Path;

/// The row of a run in the store, before its result.
pub(crate) struct Ledger<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) id: &'a str,
    pub(crate) started_at: &'a str,
    pub(crate) tool: &'a Tool,
    pub(crate) command: &'a str,
}

/// Collects the observations of a run.
pub(crate) struct Evidence<'a> {
    workload: &'a Workload,
    environment: &'a Environment,
    base: &'a Path,
    targets: BTreeMap<String, TargetFacts>,
    phases: Vec<PhaseObservations>,
    samples: SampleSet,
    conditions: ConditionWatch,
    around: Option<Around>,
    null_ceiling_ops: Seen<f64>,
    ledger: Option<Ledger<'a>>,
    /// The first failure of the store: the run goes on without it, and the failure is told at the end.
    store_error: Option<StoreError>,
    progress: &'a mut dyn Progress,
}

/// What is being watched during one phase.
struct Around {
    observations: PhaseObservations,
    others: IoWatch,
    kernel_log: KernelLog,
    clock: ClockWatch,
    /// Counters at the end of the last second.
    last_second: Option<Counters>,
}

/// What a run's evidence came to.
pub(crate) struct Collected {
    pub(crate) observations: Observations,
    pub(crate) store_error: Option<StoreError>,
}

impl<'a> Evidence<'a> {
    pub(crate) fn new(
        workload: &'a Workload,
        environment: &'a Environment,
        base: &'a Path,
        null_ceiling_ops: Seen<f64>,
        ledger: Option<Ledger<'a>>,
        progress: &'a mut dyn Progress,
    ) -> Evidence<'a> {
        Evidence {
            workload,
            environment,
            base,
            targets: BTreeMap::new(),
            phases: Vec::new(),
            samples: SampleSet::of([]),
            conditions: ConditionWatch::of([]),
            around: None,
            null_ceiling_ops,
            ledger,
            store_error: None,
            progress,
        }
    }

    pub(crate) fn collected(self) -> Collected {
        Collected {
            observations: Observations {
                environment: self.environment.clone(),
                targets: self.targets,
                phases: self.phases,
            },
            store_error: self.store_error,
        }
    }

    fn facts(&self, target: &TargetView<'_>) -> TargetFacts {
        match self.workload.target.get(target.name) {
            Some(Target::Sim(sim)) => {
                // The kernel of the simulation numbers its devices in the order of the targets' names.
                let before = self.workload.target.iter().take_while(|(name, _)| name.as_str() != target.name);
                let number = before.filter(|(_, target)| matches!(target, Target::Sim(_))).count() as u32;
                plumb_engine::sim::target_facts(number, sim)
            }
            Some(Target::Null(_)) => TargetFacts {
                path: "null".to_owned(),
                filesystem: Seen::no("the null target has no storage"),
                ..TargetFacts::default()
            },
            // Test data lies in a directory that is gone afterwards; what people know is where that directory was.
            Some(
                Target::File(FileTarget { path, .. })
                | Target::Files(FilesTarget { path, .. })
                | Target::Tree(TreeTarget { path, .. }),
            ) if path.is_relative() => {
                TargetFacts { path: self.base.display().to_string(), ..stack::of_path(target.path) }
            }
            _ => stack::of_path(target.path),
        }
    }

    fn note(&mut self, outcome: Result<(), StoreError>) {
        if let Err(error) = outcome {
            self.store_error.get_or_insert(error);
            self.ledger = None;
        }
    }
}

fn residency_of(targets: &[TargetView<'_>]) -> BTreeMap<String, Seen<Residency>> {
    of_files(targets, |target| residency::sum(target.files.iter().map(|&file| residency::of_fd(file))))
}

fn extents_of(targets: &[TargetView<'_>]) -> BTreeMap<String, Seen<Extents>> {
    of_files(targets, |target| extents::sum(target.files.iter().map(|&file| extents::of_fd(file))))
}

fn of_files<T>(targets: &[TargetView<'_>], look: impl Fn(&TargetView<'_>) -> Seen<T>) -> BTreeMap<String, Seen<T>> {
    let seen = |target: &TargetView<'_>| {
        if target.files.is_empty() { Seen::no("it has no files that are open all the time") } else { look(target) }
    };
    targets.iter().map(|target| (target.name.to_owned(), seen(target))).collect()
}

impl Observer for Evidence<'_> {
    fn preparing(&mut self, what: &str) {
        self.progress.preparing(what);
    }

    fn targets_ready(&mut self, targets: &[TargetView<'_>]) {
        self.targets = targets.iter().map(|target| (target.name.to_owned(), self.facts(target))).collect();
        self.samples = SampleSet::of(self.targets.values());
        self.conditions = ConditionWatch::of(self.targets.values());
        let (workload, environment) = (self.workload, self.environment);
        let targets = &self.targets;
        let begun = self.ledger.as_mut().map(|ledger| {
            ledger.store.begin_run(&RunStart {
                id: ledger.id,
                started_at: ledger.started_at,
                tool: ledger.tool,
                command: ledger.command,
                dialect: None,
                workload,
                environment,
                targets,
            })
        });
        self.note(begun.unwrap_or(Ok(())));
    }

    fn phase_begins(&mut self, phase: &str, targets: &[TargetView<'_>]) {
        let observations = PhaseObservations {
            name: phase.to_owned(),
            resident_before: residency_of(targets),
            extents_before: extents_of(targets),
            null_ceiling_ops: self.null_ceiling_ops.clone(),
            conditions: self.conditions.begin(),
            ..PhaseObservations::default()
        };
        self.around = Some(Around {
            observations,
            others: IoWatch::start(),
            kernel_log: KernelLog::mark(),
            clock: ClockWatch::start(),
            last_second: None,
        });
    }

    fn clock_starts(&mut self, _phase: &str) {
        if let Some(around) = &mut self.around {
            around.observations.before = counters::sample(&self.samples);
        }
    }

    fn interval(&mut self, live: &Live) {
        let mut tier = Tier::Unknown;
        if let Some(around) = &mut self.around {
            around.clock.tick();
            self.conditions.tick();
            let now = counters::sample(&self.samples);
            let since = around.last_second.as_ref().unwrap_or(&around.observations.before);
            tier = plumb_trust::live_tier(&live.interval, since, &now, self.targets.values());
            around.last_second = Some(now);
        }
        let phase = self.phases.len() as u32 + 1;
        let stored = self.ledger.as_mut().map(|ledger| {
            let partial = Partial { phase, name: &live.phase, intervals: std::slice::from_ref(&live.interval) };
            ledger.store.heartbeat(ledger.id, &partial)
        });
        self.note(stored.unwrap_or(Ok(())));
        self.progress.live(live, tier);
    }

    fn clock_stopped(&mut self, _phase: &str, targets: &[TargetView<'_>]) {
        let after: Counters = counters::sample(&self.samples);
        let Some(mut around) = self.around.take() else { return };
        around.observations.after = after;
        around.observations.dirty_after = residency_of(targets);
        around.observations.conditions = self.conditions.finish();
        around.observations.other_io = around.others.finish(&[std::process::id()]);
        around.observations.kernel_log = around.kernel_log.since();
        around.observations.clock_step_ns = around.clock.finish();
        self.phases.push(around.observations);
    }

    fn simulated(&mut self, phase: PhaseObservations) {
        self.phases.push(phase);
    }
}
