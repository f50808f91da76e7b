//! Observes the machine around every phase of a run, and stores each second as it passes.

use crate::live::{SeldomOthers, SoFar};
use crate::progress::{Progress, Second};
use crate::ranks::RanksRun;
use crate::target_files::{extents_of, few_extents_of, residency_of};
use plumb_engine::{FileSetStep, JobFilesError, Live, LoggedOp, MpiIo, Observer, OtherProcesses, PhaseNow, TargetView};
use plumb_lab::agent::DeviceReadings;
use plumb_probe::BackgroundRead;
use plumb_probe::census::Census;
use plumb_probe::clock::ClockWatch;
use plumb_probe::conditions::ConditionWatch;
use plumb_probe::counters::{self, SampleSet};
use plumb_probe::kernel_log::KernelLog;
use plumb_probe::others::IoWatch;
use plumb_probe::pauses::PauseWatch;
use plumb_probe::processors::ProcessorWatch;
use plumb_probe::stack;
use plumb_probe::throttle::{LimitWatch, Network, QuotaFiles};
use plumb_result::observe::{Counters, Environment, PhaseObservations, TargetFacts};
use plumb_result::watch::DeviceUse;
use plumb_result::{Lane, LaneLog, Measurement, Observations, PhaseMeasurement, Seen, Tier, Tool};
use plumb_store::{Partial, RunLog, RunStart, StoreError};
use plumb_trust::{LiveJudge, Typed};
use plumb_workload::{FileTarget, FilesTarget, Target, TreeTarget, Workload};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Log that a run writes to before it has a result.
pub(crate) struct EvidenceLog<'a> {
    pub(crate) to: &'a mut dyn RunLog,
    pub(crate) id: &'a str,
    pub(crate) started_at: String,
    pub(crate) tool: &'a Tool,
    pub(crate) command: &'a str,
    pub(crate) dialect: Option<&'a str>,
}

/// Collects the observations of a run.
pub(crate) struct Evidence<'a> {
    workload: &'a Workload,
    base: &'a Path,
    environment: &'a BackgroundRead<Environment>,
    observations: Observations,
    /// Completed phases, for checks that compare with earlier ones.
    measured: Measurement,
    judge: LiveJudge,
    samples: SampleSet,
    conditions: ConditionWatch,
    early: Option<BackgroundRead<Early>>,
    quota_files: Option<QuotaFiles>,
    around: Option<Around>,
    /// Device use in the current phase, or in the one that just ended.
    lanes: LaneLog,
    first_found: BTreeMap<String, u64>,
    seen: Vec<SeenInPhase>,
    evidence_log: Option<EvidenceLog<'a>>,
    log_begun: LogBegun,
    device_readings: Option<(&'a DeviceReadings, LastLook)>,
    /// The multi-rank run that this process takes part in, if any.
    ranks: Option<&'a RanksRun<'a>>,
    progress: &'a mut dyn Progress,
}

/// Whether the run has been announced to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogBegun {
    /// The targets are not known yet.
    NotYet,
    /// The targets are known; the run is announced once the environment has been read.
    Due,
    Yes,
}

/// Data read for the first phase while it is prepared.
struct Early {
    /// Used only if it is still fresh when the phase begins.
    census: Census,
    quota_files: QuotaFiles,
}

impl Early {
    fn read() -> Early {
        Early { quota_files: QuotaFiles::find(), census: Census::read_now() }
    }
}

/// The reader of the final device state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLook {
    /// This run, before it removes its test data.
    BeforeRemoval,
    /// The parent process, after this one has exited.
    Elsewhere,
}

/// State watched during one phase.
struct Around {
    observations: PhaseObservations,
    /// Taken just before the phase.
    census: Census,
    others: IoWatch,
    named_others: SeldomOthers,
    kernel_log: KernelLog,
    kernel_lines: Seen<Vec<String>>,
    clock: ClockWatch,
    limits: Option<LimitWatch>,
    processors: Option<ProcessorWatch>,
    pauses: Option<PauseWatch>,
    so_far: SoFar,
    /// Counters at the end of the last second.
    last_second: Option<Counters>,
}

/// Observations made during a phase that the checks do not read.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SeenInPhase {
    /// Device use in each interval.
    pub(crate) lanes: Vec<Lane>,
    /// When each check first reported a finding, by its code, in ns from the end of the ramp.
    pub(crate) first_found: BTreeMap<String, u64>,
}

impl<'a> Evidence<'a> {
    pub(crate) fn new(
        workload: &'a Workload,
        environment: &'a BackgroundRead<Environment>,
        base: &'a Path,
        evidence_log: Option<EvidenceLog<'a>>,
        progress: &'a mut dyn Progress,
    ) -> Evidence<'a> {
        Evidence {
            workload,
            base,
            environment,
            observations: Observations::default(),
            measured: Measurement::default(),
            judge: LiveJudge::new(),
            samples: SampleSet::for_targets([]),
            conditions: ConditionWatch::for_targets([]),
            early: has_storage(workload).then(|| BackgroundRead::begin(Early::read)),
            quota_files: None,
            around: None,
            lanes: LaneLog::default(),
            first_found: BTreeMap::new(),
            seen: Vec::new(),
            evidence_log,
            log_begun: LogBegun::NotYet,
            device_readings: None,
            ranks: None,
            progress,
        }
    }

    /// Silences live findings about load from other processes if the user declared such load.
    pub(crate) fn with_load(self, declared: Typed) -> Evidence<'a> {
        let judge = if declared == Typed::Yes { LiveJudge::under_declared_load() } else { self.judge };
        Evidence { judge, ..self }
    }

    /// Records the state of all devices before and after the work.
    pub(crate) fn with_looks(self, looks: &'a DeviceReadings, last: LastLook) -> Evidence<'a> {
        Evidence { device_readings: Some((looks, last)), ..self }
    }

    /// Makes this a part of a run of several ranks.
    pub(crate) fn with_ranks(self, ranks: Option<&'a RanksRun<'a>>) -> Evidence<'a> {
        Evidence { ranks, ..self }
    }

    /// Returns the processes that run the other workers.
    pub(crate) fn others(&self) -> Option<Arc<dyn OtherProcesses>> {
        self.ranks.and_then(RanksRun::others)
    }

    /// Returns the MPI-IO that the workers of several ranks open files with.
    pub(crate) fn mpi_io(&self) -> Option<Arc<dyn MpiIo>> {
        self.ranks.and_then(RanksRun::mpi_io)
    }

    /// Announces a run made by other hosts to the log. It has no target on this host.
    pub(crate) fn begin_at_once(&mut self) {
        self.log_begun = LogBegun::Due;
        self.begin_log();
    }

    pub(crate) fn progress(&mut self) -> &mut dyn Progress {
        self.progress
    }

    /// Returns the observations for the checks, and the other observations by phase.
    pub(crate) fn collected(mut self) -> (Observations, Vec<SeenInPhase>) {
        // The run is still unannounced if the preparations of the first phase failed.
        self.begin_log();
        (self.observations, self.seen)
    }

    /// Announces the run to the log. The machine is read during the preparations, but the log does not wait for their
    /// end.
    fn begin_log(&mut self) {
        if self.log_begun != LogBegun::Due {
            return;
        }
        self.log_begun = LogBegun::Yes;
        self.observations.environment.clone_from(self.environment.get());
        let Observations { environment, targets, .. } = &self.observations;
        let workload = self.workload;
        let begun = self.evidence_log.as_mut().map(|evidence_log| {
            evidence_log.to.begin_run(&RunStart {
                id: evidence_log.id,
                started_at: &evidence_log.started_at,
                tool: evidence_log.tool,
                command: evidence_log.command,
                dialect: evidence_log.dialect,
                workload,
                environment,
                targets,
            })
        });
        self.note(begun.unwrap_or(Ok(())));
    }

    fn facts(&self, target: &TargetView<'_>) -> TargetFacts {
        match self.workload.target.get(target.name) {
            Some(Target::Sim(sim)) => {
                // The simulated kernel numbers its devices in the order of the target names.
                let owner = sim.shares.as_deref().unwrap_or(target.name);
                let before = self.workload.target.iter().take_while(|(name, _)| name.as_str() != owner);
                let has_own = |target: &Target| matches!(target, Target::Sim(sim) if sim.shares.is_none());
                let number = before.filter(|(_, target)| has_own(target)).count() as u32;
                plumb_engine::sim::target_facts(number, sim)
            }
            Some(Target::Host(host)) => TargetFacts {
                path: host.address.clone(),
                filesystem: Seen::no("a host has no storage here"),
                ..TargetFacts::default()
            },
            Some(Target::Null(_)) => TargetFacts {
                path: "null".to_owned(),
                filesystem: Seen::no("the null target has no storage"),
                ..TargetFacts::default()
            },
            // The test data directory is gone after the run; users know its parent.
            Some(
                Target::File(FileTarget { path, .. })
                | Target::Files(FilesTarget { path, .. })
                | Target::Tree(TreeTarget { path, .. }),
            ) if path.is_relative() => {
                TargetFacts { path: plumb_result::path_text(self.base), ..stack::of_path(target.path) }
            }
            Some(Target::Tree(TreeTarget { path, .. })) => {
                let above = path.parent().unwrap_or(path);
                TargetFacts { path: plumb_result::path_text(above), ..stack::of_path(target.path) }
            }
            _ => stack::of_path(target.path),
        }
    }

    /// Records a store error. The run goes on without the store: its result is stored as a whole at
    /// its end, or fails then.
    fn note(&mut self, outcome: Result<(), StoreError>) {
        if outcome.is_err() {
            self.evidence_log = None;
        }
    }
}

impl Evidence<'_> {
    /// Returns the sum of a phase over all ranks; `None` with a single rank, and on all ranks but the first.
    fn of_all_ranks(&mut self, measured: &PhaseMeasurement) -> Option<PhaseMeasurement> {
        let ranks = self.ranks?;
        let tells = self.progress.report_phase(measured);
        let seen = self.observations.phases.last().cloned().unwrap_or_default();
        let facts = || (self.observations.environment.clone(), self.observations.targets.clone());
        ranks.phase_ended(measured, (seen, tells), facts)
    }

    /// Judges the phase so far and reports new findings. It uses data that was read anyway: residency and extents are
    /// from the start of the phase, and only what costs nothing is read again.
    fn judge_so_far(&mut self, live: &Live) {
        // The machine serves all its ranks, and this process knows only its own work.
        if self.ranks.is_some() {
            return;
        }
        let Some(mut around) = self.around.take() else { return };
        around.so_far.add(live);
        read_new_lines(&mut around.kernel_log, &mut around.kernel_lines);
        around.observations.after.clone_from(around.last_second.as_ref().unwrap_or(&around.observations.before));
        around.observations.kernel_log.clone_from(&around.kernel_lines);
        around.named_others.last().record(&mut around.observations);
        // Moved in for the check and out again, so that neither is copied.
        self.measured.phases.push(std::mem::take(&mut around.so_far.measured));
        self.observations.phases.push(std::mem::take(&mut around.observations));
        if self.judge.suspects_others(self.workload, &self.measured, &self.observations)
            && let Some(seen) = self.observations.phases.last_mut()
        {
            let others = around.named_others.search(&mut around.others, live.elapsed_ns / 1_000_000_000);
            others.record(seen);
        }
        let found = self.judge.second(self.workload, &self.measured, &self.observations);
        if live.elapsed_ns > FROM_THE_BEGINNING_NS {
            for finding in found.iter().filter(|finding| finding.phase.is_some()) {
                self.first_found.entry(finding.code.clone()).or_insert(live.elapsed_ns);
            }
        }
        around.so_far.measured = self.measured.phases.pop().unwrap_or_default();
        around.observations = self.observations.phases.pop().unwrap_or_default();
        self.around = Some(around);
        found.iter().for_each(|finding| self.progress.found(finding));
    }
}

/// A finding up to this time counts as true from the start, because rate checks need two seconds in a row.
const FROM_THE_BEGINNING_NS: u64 = 2_000_000_000;

/// More lines than this add no information.
const KERNEL_LINES_MAX: usize = 100;

/// Reads new lines of the kernel log. After a failed read, the earlier lines count as unknown too.
fn read_new_lines(log: &mut KernelLog, lines: &mut Seen<Vec<String>>) {
    match (log.since(), lines) {
        (Seen::Yes(new), Seen::Yes(lines)) if lines.len() < KERNEL_LINES_MAX => lines.extend(new),
        (Seen::Yes(_), Seen::Yes(_)) => {}
        (Seen::No(reason), lines) => *lines = Seen::No(reason),
        (Seen::Yes(_), Seen::No(_)) => {}
    }
}

/// Returns `true` if a workload uses anything but simulated devices, the null device and hosts.
pub(crate) fn has_storage(workload: &Workload) -> bool {
    workload.target.values().any(|target| !matches!(target, Target::Sim(_) | Target::Null(_) | Target::Host(_)))
}

impl Observer for Evidence<'_> {
    fn file_set(&mut self, name: &str, step: FileSetStep<'_>) {
        self.begin_log();
        self.progress.file_set(name, step);
    }

    fn preparing(&mut self, what: &str) {
        self.begin_log();
        self.progress.preparing(what);
    }

    fn job_failed(&mut self, _target: &str, why: &JobFilesError) {
        self.progress.job_failed(why);
    }

    fn targets_ready(&mut self, targets: &[TargetView<'_>]) {
        if let Some(ranks) = self.ranks {
            ranks.await_admitted();
        }
        self.observations.targets =
            BTreeMap::from_iter(targets.iter().map(|target| (target.name.to_owned(), self.facts(target))));
        self.samples = SampleSet::for_targets(self.observations.targets.values());
        self.conditions = ConditionWatch::for_targets(self.observations.targets.values());
        self.log_begun = LogBegun::Due;
    }

    fn phase_begins(&mut self, phase: &str, targets: &[TargetView<'_>]) {
        self.progress.phase_begins(phase);
        let listed = self.early.take().map(BackgroundRead::into_inner).map(|Early { census, quota_files }| {
            self.quota_files = Some(quota_files);
            census
        });
        let census = listed.filter(Census::is_fresh).unwrap_or_default();
        let observations = PhaseObservations {
            name: phase.to_owned(),
            resident_before: residency_of(targets),
            extents_before: extents_of(targets),
            conditions: self.conditions.begin(&census),
            ..PhaseObservations::default()
        };
        let leaves: Vec<String> =
            self.observations.targets.values().flat_map(|facts| facts.leaves.iter().cloned()).collect();
        self.around = Some(Around {
            observations,
            others: IoWatch::start_on(&leaves, &census),
            census,
            named_others: SeldomOthers::new(),
            kernel_log: KernelLog::mark(),
            kernel_lines: Seen::Yes(Vec::new()),
            clock: ClockWatch::start(),
            limits: None,
            processors: None,
            pauses: None,
            so_far: SoFar::new(phase),
            last_second: None,
        });
        self.begin_log();
    }

    fn exchange_files(&mut self, own: &dyn Fn() -> Result<Vec<u8>, String>) -> Option<Vec<u8>> {
        self.ranks?.exchange_files(own)
    }

    fn workers_ready(&mut self, _phase: &str, targets: &[TargetView<'_>]) {
        if let Some(ranks) = self.ranks {
            ranks.await_ready();
        }
        // Jobs drop or fill the cache as they open their files, and scripts create theirs.
        let of_jobs = |view: &&TargetView<'_>| {
            matches!(self.workload.target.get(view.name), Some(Target::JobFiles(_) | Target::Scratch(_)))
        };
        let views: Vec<TargetView<'_>> = targets.iter().filter(of_jobs).cloned().collect();
        if let Some(around) = &mut self.around {
            around.observations.resident_before.extend(residency_of(&views));
            around.observations.extents_before.extend(extents_of(&views));
        }
        if let Some((looks, _)) = self.device_readings {
            looks.before(self.base);
        }
    }

    fn clock_starts(&mut self, phase: &str) {
        let remote =
            self.observations.targets.values().any(|facts| facts.filesystem.value().is_some_and(|fs| fs.remote));
        let quota_files = self.quota_files.get_or_insert_with(QuotaFiles::find).clone();
        if let Some(around) = &mut self.around {
            let network = if remote { Network::Watched } else { Network::Ignored };
            let processors = ProcessorWatch::start(&around.census, &quota_files);
            around.others.set_child_faults(processors.child_faults());
            around.processors = Some(processors);
            around.limits = Some(LimitWatch::start(quota_files, network));
            around.pauses = Some(PauseWatch::start());
            around.observations.before = counters::sample(&self.samples);
            self.lanes = LaneLog::new(around.observations.before.clone());
        }
        self.progress.clock_starts(phase);
    }

    fn await_start(&mut self, _phase: &str) {
        if let Some(ranks) = self.ranks {
            ranks.await_start();
        }
    }

    fn tick_ns(&self) -> Option<u64> {
        self.progress.tick_ns()
    }

    fn tick(&mut self, now: &dyn PhaseNow) {
        self.progress.tick(now);
    }

    fn op_log(&mut self, phase: &str, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        self.progress.op_log(phase, worker, ops);
    }

    fn interval(&mut self, live: &Live) {
        if let Some(ranks) = self.ranks {
            ranks.stop_if_ended();
            ranks.send_second(live);
        }
        let mut tier = Tier::Unknown;
        let mut devices = Vec::new();
        if let Some(around) = &mut self.around {
            around.clock.tick();
            around.observations.conditions.meanwhile = self.conditions.tick().to_vec();
            let now = counters::sample(&self.samples);
            let since = around.last_second.as_ref().unwrap_or(&around.observations.before);
            tier = plumb_trust::live_tier(&live.interval, since, &now, self.observations.targets.values());
            devices = DeviceUse::between(since, &now);
            self.lanes.push(live.elapsed_ns, &now);
            around.last_second = Some(now);
        }
        self.judge_so_far(live);
        let phase = self.observations.phases.len() as u32 + 1;
        let stored = self.evidence_log.as_mut().map(|evidence_log| {
            let partial = Partial { phase, name: &live.phase, intervals: std::slice::from_ref(&live.interval) };
            evidence_log.to.heartbeat(evidence_log.id, &partial)
        });
        self.note(stored.unwrap_or(Ok(())));
        self.progress.live(&Second { live, tier, devices: &devices });
    }

    fn clock_stopped(&mut self, _phase: &str, targets: &[TargetView<'_>], processes: &[u32]) {
        if let Some(ranks) = self.ranks {
            ranks.await_stop();
        }
        self.samples.set_workers(processes.to_vec());
        let pauses = self.around.as_mut().and_then(|around| around.pauses.take()).map(PauseWatch::finish);
        let after: Counters = counters::sample(&self.samples);
        self.samples.set_workers(Vec::new());
        let Some(mut around) = self.around.take() else { return };
        let others_can_matter = plumb_trust::others_can_matter(&around.observations.before, &after);
        around.observations.after = after;
        around.observations.dirty_after = residency_of(targets);
        around.observations.extents_after = few_extents_of(targets, &around.observations.extents_before);
        let census = around.census.later();
        around.observations.conditions = self.conditions.finish(&census);
        let own = self.ranks.map_or_else(|| vec![std::process::id()], RanksRun::processes);
        let own = [&own, processes].concat();
        if let Some(watch) = around.processors {
            around.observations.processors = watch.finish(&own, &census);
        }
        around.observations.processors.pauses = pauses.unwrap_or_default();
        if others_can_matter {
            around.others.finish(&own, &census).record(&mut around.observations);
        } else {
            around.observations.other_io = Seen::no("the devices moved too little for others to matter");
        }
        read_new_lines(&mut around.kernel_log, &mut around.kernel_lines);
        around.observations.kernel_log = around.kernel_lines;
        around.observations.clock_step_ns = around.clock.finish();
        if let Some(limits) = around.limits {
            around.observations.limits = limits.finish();
        }
        self.observations.phases.push(around.observations);
    }

    fn simulated_counters(&mut self, elapsed_ns: u64, now: &Counters) {
        self.begin_log();
        match elapsed_ns {
            0 => self.lanes = LaneLog::new(now.clone()),
            _ => self.lanes.push(elapsed_ns, now),
        }
    }

    fn simulated(&mut self, phase: PhaseObservations) {
        self.observations.phases.push(phase);
    }

    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        let lanes = std::mem::take(&mut self.lanes).finish(&measured.intervals, measured.searched_ns);
        let first_found = std::mem::take(&mut self.first_found);
        // Checks count from the end of the ramp. Intervals do too, once those of a search before
        // the measurement are cut off.
        let first_found = first_found.into_iter().map(|(code, ns)| (code, ns.saturating_sub(measured.searched_ns)));
        self.seen.push(SeenInPhase { lanes, first_found: BTreeMap::from_iter(first_found) });
        self.measured.phases.push(measured.clone());
        let of_all = self.of_all_ranks(measured);
        if self.ranks.is_none() {
            let news = self.judge.phase_ended(self.workload, &self.measured, &self.observations);
            news.withdrawn.iter().for_each(|finding| self.progress.withdrawn(finding));
            news.found.iter().for_each(|finding| self.progress.found(finding));
        }
        let devices = self.observations.phases.last().map(|seen| DeviceUse::between(&seen.before, &seen.after));
        self.progress.phase_devices(devices.unwrap_or_default());
        self.progress.phase_ended(of_all.as_ref().unwrap_or(measured));
    }

    fn phases_over(&mut self) {
        if let Some((looks, LastLook::BeforeRemoval)) = self.device_readings {
            looks.after(self.base);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;
    use plumb_result::{Interval, OpCounts};
    use plumb_workload::OpKind;
    use plumb_workload_text::named::{RunPlace, Scale, select};

    // Protects: a report shows a finding where it became true, and shows none that was true from the start.
    #[test]
    fn a_finding_has_the_time_at_which_it_became_true() {
        let workload = select("random-read").unwrap()[0].workload(&Scale::moderate(RunPlace::Directory));
        let environment = BackgroundRead::begin(Environment::default);
        for (fails_from, expected) in [(5, Some(5_000_000_000)), (1, None)] {
            let mut silent = Silent;
            let mut evidence = Evidence::new(&workload, &environment, Path::new("/"), None, &mut silent);
            evidence.targets_ready(&[]);
            evidence.phase_begins("random-read", &[]);
            evidence.clock_starts("random-read");
            let mut measured = PhaseMeasurement { name: "random-read".to_owned(), ..PhaseMeasurement::default() };
            for second in 1..=6u64 {
                let ops = OpCounts { count: 100, bytes: 409_600, ..OpCounts::default() };
                let interval = Interval {
                    start_ns: (second - 1) * 1_000_000_000,
                    length_ns: 1_000_000_000,
                    ops: [(OpKind::Read, ops)].into(),
                };
                measured.intervals.push(interval.clone());
                evidence.interval(&Live {
                    phase: "random-read".to_owned(),
                    elapsed_ns: second * 1_000_000_000,
                    time_ns: None,
                    interval,
                    service: BTreeMap::new(),
                    in_flight: 1.0,
                    interval_fault_count: u64::from(second == fails_from),
                    fault_count: u64::from(second >= fails_from),
                    faults: Vec::new(),
                    short_count: 0,
                    working_set_bytes: None,
                    depth_asked: 1,
                });
            }
            evidence.clock_stopped("random-read", &[], &[]);
            evidence.phase_ended(&measured);
            let (_, seen) = evidence.collected();
            assert_eq!(seen[0].first_found.get("B9").copied(), expected, "B9 of errors from second {fails_from}");
        }
    }
}
