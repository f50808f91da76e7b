//! One run with its evidence: probe before, engine, probe after, trust, store.

use crate::evidence::{Evidence, EvidenceLog, LastLook, has_storage};
use crate::fit::{Policies, fit};
use crate::not_stored::NotStored;
pub use crate::outcome::{FailureKind, RunError, RunOutcome};
use crate::place::free_bytes;
use crate::progress::{Progress, RunBegun};
use crate::ranks::{
    AgentPolicy, Division, JoinedRanks, OfRanks, RanksRun, RunOrder, SimOrder, WorkloadOfRank, is_named,
};
use crate::settle::Settling;
use crate::work::Work;
use jiff::Timestamp;
use plumb_cluster::ClusterError;
use plumb_engine::copy::SharedListener;
use plumb_engine::guard::Permissions;
use plumb_engine::guard::space::WhenFull;
use plumb_engine::net::NetProtocol;
use plumb_engine::signals::StopFlag;
use plumb_engine::sim::{CarriedDebt, SimRun, left_behind};
use plumb_engine::testdir::TestDirs;
use plumb_engine::trace::Recordings;
use plumb_engine::{DropCaches, EngineError, KeptFiles, MpiIo, Part, Setting, Unopened};
use plumb_lab::agent::RunLooks;
use plumb_probe::Beside;
use plumb_result::observe::Environment;
use plumb_result::run::RESULT_SCHEMA;
use plumb_result::{Finding, Level, Measurement, PhaseMeasurement, RunResult, Seen, Tool};
use plumb_store::{BUSY_TIMEOUT, Queue, RunLog, Store};
use plumb_trust::{Asked, Measured, Typed};
use plumb_workload::{Size, Target, Workload};
use plumb_workload_text::validate::{Problem, validate};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a run waits for the database after the run before it has waited in vain.
const BUSY_AGAIN: Duration = Duration::from_secs(1);

/// What runs need of their surroundings: made once a process.
pub struct Bench {
    /// Where results go; nowhere when absent.
    pub store: Option<Store>,
    /// Where runs go in place of the store, which is not opened then: for commands that only run.
    pub queue: Option<Queue>,
    /// Set by a signal.
    pub stop: StopFlag,
    /// What may be overwritten.
    pub permissions: Permissions,
    /// Where test directories are registered.
    pub test_dirs: TestDirs,
    /// Whether the whole page cache may be dropped to make files cold.
    pub drop_caches: DropCaches,
    /// Files that runs share while this is set, each laid out once.
    pub kept: Option<KeptFiles>,
    /// Opens the recordings of jobs that replay one.
    pub recordings: Option<&'static dyn Recordings>,
    /// Connects network work.
    pub net: Option<&'static dyn NetProtocol>,
    /// Whom it ends when the files of a job cannot be had.
    pub unopened: Unopened,
    /// Receives a line when something that is not measured takes unexpectedly long.
    pub say: fn(&str),
    /// Hears at once what happens in copies.
    pub copy_listener: Option<SharedListener>,
    /// Whoever conducts this process wants to know what devices did for the work alone.
    pub device_looks: Option<RunLooks>,
    /// The processes that make every run together with this one.
    pub ranks: Option<Rc<JoinedRanks>>,
    /// What this process lets those do who lead it, where it is an agent's.
    pub policy: Option<AgentPolicy>,
    /// Which part of a workload each of them runs.
    pub division: Division,
    /// The workload of each host, where each has its own and this process only leads them; what is requested is their sum.
    pub apart: Option<Vec<Workload>>,
    /// What opens files by MPI-IO in a process that is alone; ranks have that of the library that joins them.
    pub mpi_io: Option<Arc<dyn MpiIo>>,
    /// What the store did not take of all runs so far, and of what was made of them.
    pub not_stored: Option<NotStored>,
    /// Added to the dates of runs: sessions of simulated devices are a day apart.
    pub ahead: Duration,
    environment: Rc<Beside<Environment>>,
    /// The first of the hosts that this process leads, once they have made a run.
    of_hosts: Option<Environment>,
    /// Whether a run has come to its end.
    has_run: bool,
    /// Why the last of several runs ended early.
    pub cut_by: Option<String>,
    /// Debt of the next run on simulated devices, see [`Bench::begin_comparison`].
    pub carried: CarriedDebt,
    /// Pauses between the runs of a comparison.
    pub settling: Settling,
    /// The command that runs, and what its user set: findings are worded for it.
    pub asked: Asked,
    null_ceilings: BTreeMap<u32, Seen<f64>>,
}

/// What to run.
pub struct RunRequest<'a> {
    /// The workload; sizes may still depend on the machine.
    pub workload: &'a Workload,
    /// Whose words its cache policies are.
    pub policies: Policies,
    /// Where test data is made.
    pub base: &'a Path,
    /// As typed, for the record.
    pub command: &'a str,
    /// The tool whose language it was typed in, `fio`; `None` for Plumb's own.
    pub dialect: Option<&'a str>,
    /// Which run of a comparison this is, for simulated devices.
    pub sim_run: SimRun,
}

/// The checks that reject a run.
pub(crate) fn failed(result: &RunResult) -> impl Iterator<Item = &Finding> {
    result.checks.iter().filter(|finding| finding.level == Level::Fail)
}

/// The failed checks in one line; each once, with the first of its phases.
pub(crate) fn rejected_because(result: &RunResult) -> String {
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

/// An id that nothing else has, later ones behind earlier ones: UUIDv7.
pub fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// This program, as results name it.
pub fn tool() -> Tool {
    Tool { name: "plumb".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

impl Bench {
    /// A bench that stores its results, or not.
    pub fn new(store: Option<Store>, stop: StopFlag, permissions: Permissions, test_dirs: TestDirs) -> Bench {
        Bench {
            store,
            queue: None,
            stop,
            permissions,
            test_dirs,
            drop_caches: DropCaches::Never,
            kept: None,
            recordings: None,
            net: None,
            unopened: Unopened::EndsRun,
            say: |_| {},
            copy_listener: None,
            device_looks: RunLooks::asked(),
            ranks: None,
            policy: None,
            division: Division::Each,
            apart: None,
            mpi_io: None,
            not_stored: None,
            ahead: Duration::ZERO,
            environment: Rc::new(Beside::begin(plumb_probe::environment)),
            of_hosts: None,
            has_run: false,
            cut_by: None,
            carried: CarriedDebt::default(),
            settling: Settling::default(),
            asked: Asked::default(),
            null_ceilings: BTreeMap::new(),
        }
    }

    /// Forgets earlier runs: those of another comparison have nothing to do with them.
    pub fn begin_comparison(&mut self) {
        self.carried = CarriedDebt::default();
        self.settling.begin();
    }

    /// Lets the storage work off what the last run left behind. Simulated devices do so in their own time.
    fn settle(&mut self, is_simulated: bool) {
        if !is_simulated {
            self.settling.wait(self.stop);
            return;
        }
        let last = self.settling.last().unwrap_or_default();
        self.carried = self.carried.after_pause(self.settling.simulated_pause(), last);
    }

    /// The machine.
    pub fn environment(&self) -> &Environment {
        self.environment.get()
    }

    /// Memory that a run may use: the machine's, or the control group's where that is less.
    pub fn ram_bytes(&self) -> u64 {
        let environment = self.environment();
        environment.ram_bytes.min(environment.cgroup.memory_bytes.unwrap_or(u64::MAX))
    }

    /// The machine that made the last run: this one, or the first of the hosts that this process leads.
    pub(crate) fn environment_of_runs(&self) -> &Environment {
        self.of_hosts.as_ref().unwrap_or_else(|| self.environment())
    }

    /// Memory that a run below a path may use, where runs are made: the least of the hosts that this process leads.
    ///
    /// # Errors
    /// A host cannot tell, or does not answer.
    pub fn ram_of_runs(&self, base: &Path) -> Result<u64, RunError> {
        self.leading().map_or_else(|| Ok(self.ram_bytes()), |ranks| ranks.ram_of_each(self.stop, base))
    }

    /// Whether runs can share files that are laid out once. Hosts lay out those of each run.
    pub fn keeps_files(&self) -> bool {
        self.leading().is_none()
    }

    /// What the null backend reaches with this workload's workers. It is measured when the run is over, once a process, and only
    /// for a run that could have come near it: scripts call other tools' commands a thousand times, and wait for it.
    fn null_ceiling(&mut self, workload: &Workload, measurement: &Measurement) -> Seen<f64> {
        let near = measurement.phases.iter().filter(|phase| may_be_near_null_ceiling(phase));
        let Some(longest_ns) = near.map(|phase| phase.wall_ns).max() else {
            return Seen::no("so few ops per second, or so short a phase, that it says nothing");
        };
        let most = |phase: &plumb_workload::Phase| phase.workers.iter().map(|group| group.count).sum::<u32>();
        let workers = workload.phase.iter().map(most).max().unwrap_or(1).clamp(1, self.environment().cpus.max(1));
        self.null_ceilings
            .entry(workers)
            .or_insert_with(|| {
                let ceiling = plumb_engine::null_ceiling_ops(workers, null_ceiling_time_ns(longest_ns));
                ceiling.map_err(|error| error.to_string()).into()
            })
            .clone()
    }

    /// The workload with every size in bytes, as [`Bench::run`] takes it.
    ///
    /// # Errors
    /// [`RunError::Size`].
    pub fn resolve(&self, workload: &Workload, base: &Path) -> Result<Workload, RunError> {
        match self.leading() {
            None => self.resolve_here(workload, base),
            Some(ranks) => {
                let resolved = ranks.resolve(self.stop, workload, base, false)?;
                Ok(resolved.workload.unwrap_or_else(|| workload.clone()))
            }
        }
    }

    /// The others, where this process only leads them.
    fn leading(&self) -> Option<Rc<JoinedRanks>> {
        self.ranks.clone().filter(|ranks| ranks.leads_only())
    }

    /// The same of this host.
    pub(crate) fn resolve_here(&self, workload: &Workload, base: &Path) -> Result<Workload, RunError> {
        // Ranks have files of their own: a share of the memory, or of the free space, is divided among them.
        let (on_host, all) = self.ranks.as_ref().map_or((1, 1), |ranks| (ranks.on_this_host(), ranks.size()));
        let sharers = Sharers { of_memory: u64::from(on_host.max(1)), of_space: u64::from(all.max(1)) };
        resolved(workload, || self.ram_bytes(), base, sharers)
    }

    /// Runs a workload once, with all its evidence; stores it and judges it. Where there are several ranks, all of them do so
    /// together, and this one, which is the first, has the result of all.
    pub fn run(&mut self, request: &RunRequest<'_>, progress: &mut dyn Progress) -> Result<RunOutcome, RunError> {
        let leading = self.leading();
        let fitted = request.policies == Policies::Fitted;
        let (mut workload, of_hosts) = match &leading {
            None => (self.resolve_here(request.workload, request.base)?, Vec::new()),
            // It comes from them.
            Some(_) if self.apart.is_some() => (request.workload.clone(), Vec::new()),
            Some(ranks) => {
                let resolved = ranks.resolve(self.stop, request.workload, request.base, fitted)?;
                (resolved.workload.unwrap_or_else(|| request.workload.clone()), resolved.not_had)
            }
        };
        let problems = self.apart.iter().flatten().chain([&workload].into_iter().filter(|_| self.apart.is_none()));
        let problems: Vec<Problem> = problems.flat_map(validate).collect();
        if !problems.is_empty() {
            return Err(RunError::Workload(problems));
        }
        let not_had = match request.policies {
            _ if leading.is_some() => of_hosts,
            Policies::AsWritten => Vec::new(),
            Policies::Fitted => fit(&mut workload, request.base),
        };
        let id = uuid::Uuid::now_v7();
        let content_seed = id.as_u64_pair().1;
        let id = id.to_string();
        let ranks = self.ranks.clone();
        let of_rank = ranks.as_ref().map(|ranks| WorkloadOfRank::of(&workload, self.division, 0, ranks.size()));
        let of_rank = of_rank.transpose()?;
        let part = Part::All;
        let work = Work {
            workload: &workload,
            part,
            base: request.base,
            content_seed,
            sim_run: request.sim_run,
            sim_debt: self.carried,
        };
        if let Some(ranks) = &ranks {
            let order = self.order(&work);
            ranks.carry_on(self.apart.is_some());
            match &self.apart {
                None => order.send(ranks)?,
                Some(apart) => order.send_apart(ranks, apart)?,
            }
        }
        progress.run_begins(&RunBegun { id: &id, workload: &workload, base: request.base });
        let started_at = (Timestamp::now() + self.ahead).to_string();
        let tool = tool();
        let environment = Rc::clone(&self.environment);
        let (mut store, mut queue) = (self.store.take(), self.queue.take());
        let evidence_log = run_log(&mut store, &mut queue).map(|to| EvidenceLog {
            to,
            id: &id,
            started_at: &started_at,
            tool: &tool,
            command: request.command,
            dialect: request.dialect,
        });
        let together = ranks
            .as_deref()
            .zip(of_rank.as_ref())
            .map(|(ranks, own)| RanksRun::new(ranks, self.stop, &workload, own, (self.division, 0)));
        let part = ranks.as_ref().map_or(Part::All, |ranks| self.division.part(0, ranks.size()));
        let own_work = Work { workload: of_rank.as_ref().map_or(&workload, |own| &own.workload), part, ..work };
        let mut evidence = Evidence::new(own_work.workload, &environment, request.base, evidence_log, &mut *progress)
            .with_ranks(together.as_ref())
            .with_load(self.asked.under_load);
        if let Some(looks) = &self.device_looks {
            // Another tool's removal of its files is part of what the tool does, and it may make more runs than one.
            let last = if request.dialect.is_none() { LastLook::BeforeRemoval } else { LastLook::Elsewhere };
            evidence = evidence.with_looks(looks, last);
        }
        let (measured, (mut observations, seen)) = match (&leading, &together) {
            (Some(_), Some(together)) => {
                evidence.begin_at_once();
                (Ok(together.lead(&workload, evidence.progress())), evidence.collected())
            }
            _ => (self.measure(own_work, &mut evidence), evidence.collected()),
        };
        self.carried = self.carried.after(left_behind(&workload));
        (self.store, self.queue) = (store, queue);
        let found = together.map(|together| together.finish(early_end(&measured).as_deref()));
        progress.run_ended();
        let mut measurement = match measured {
            Ok(measurement) => measurement,
            Err(error) => return Err(self.failed(&id, error.into())),
        };
        let of_rank_0 = ranks.is_some().then(|| measurement.clone());
        let of_ranks = match (found, &ranks) {
            (Some(found), Some(ranks)) => {
                let parts = (&workload, self.division, self.apart.as_deref());
                match OfRanks::new(found, ranks, parts, &mut measurement, self.stop) {
                    Ok(of_ranks) => Some(of_ranks),
                    Err(error) => return Err(self.failed(&id, error)),
                }
            }
            _ => None,
        };
        let mut hosts = of_ranks.as_ref().map_or_else(Vec::new, |of_ranks| of_ranks.hosts.clone());
        if has_storage(&workload) {
            let ceiling = self.null_ceiling(hosts.first().map_or(&workload, |host| &host.workload), &measurement);
            let all = hosts.iter_mut().flat_map(|host| &mut host.observations.phases);
            all.chain(&mut observations.phases).for_each(|phase| phase.null_ceiling_ops = ceiling.clone());
        }
        let mut judgement = match &of_ranks {
            None => plumb_trust::judge(&workload, &measurement, &observations),
            Some(of_ranks) => {
                let whole = Measured { workload: &of_ranks.workload, measurement: &measurement };
                let one = match self.division {
                    // Whoever leads has files of nobody.
                    _ if leading.is_some() => hosts
                        .first()
                        .map_or(whole, |first| Measured { workload: &first.workload, measurement: &first.measurement }),
                    Division::Each => {
                        Measured { workload: &workload, measurement: of_rank_0.as_ref().unwrap_or(&measurement) }
                    }
                    Division::Groups | Division::Workers | Division::Apart => whole,
                };
                plumb_trust::judge_hosts(whole, one, &hosts)
            }
        };
        if self.asked.under_load == Typed::Yes {
            judgement.declare_load();
        }
        plumb_trust::reword(&mut judgement.findings, &self.asked);
        for (phase, seen) in measurement.phases.iter_mut().zip(seen) {
            for finding in judgement.findings.iter_mut().filter(|one| one.phase.as_ref() == Some(&phase.name)) {
                finding.at_ns = seen.first_found.get(&finding.code).copied().filter(|_| finding.level > Level::Note);
            }
            phase.lanes = seen.lanes;
        }
        let mut phases = plumb_trust::phase_results(&workload, &measurement, &judgement);
        for phase in &mut phases {
            phase.notes.extend(not_had.iter().filter(|one| one.phase == phase.name).map(|one| one.note.clone()));
        }
        plumb_trust::fidelity_of_hosts(&mut phases, &hosts);
        if let Some(of_ranks) = &of_ranks {
            for (phase, spread) in phases.iter_mut().zip(&of_ranks.spreads) {
                phase.ranks = spread.clone().map(Box::new);
            }
            // Of the whole host, not only of rank 0.
            if let Some(first) = hosts.first() {
                observations = first.observations.clone();
            }
        }
        // Whoever only leads is none of those who are measured.
        let environment = if leading.is_some() { &observations.environment } else { environment.get() }.clone();
        self.of_hosts = leading.is_some().then(|| environment.clone());
        let result = RunResult {
            schema: RESULT_SCHEMA.to_owned(),
            id,
            started_at,
            tool,
            workload,
            environment,
            target: observations.targets.clone(),
            verdict: judgement.verdict,
            partial: measurement.interrupted || measurement.error.is_some(),
            error: measurement.error.clone(),
            checks: judgement.findings,
            phases,
            ranks: of_ranks.map(|of_ranks| Box::new(of_ranks.facts)),
            imported: None,
            gated: None,
            under_load: judgement.under_load.map(Box::new),
        };
        let not_stored = run_log(&mut self.store, &mut self.queue).and_then(|log| finish(log, &result, &measurement));
        NotStored::add(&mut self.not_stored, not_stored.clone());
        let hosts = if leading.is_some() { hosts } else { Vec::new() };
        let outcome = RunOutcome { result, measurement, observations, hosts, not_stored };
        self.has_run |= outcome.measurement.error.is_none();
        match outcome.measurement.error.clone() {
            Some(error) => Err(RunError::EndedEarly { error, outcome: Box::new(outcome) }),
            None => Ok(outcome),
        }
    }

    /// One of many runs. Where it ends early, as when a host is lost, those before it are worth a report: `None` then, and
    /// [`Bench::cut_by`] says why.
    ///
    /// # Errors
    /// As [`Bench::run`]; where no run has come to its end, whatever ends it.
    pub(crate) fn run_of_many(
        &mut self,
        request: &RunRequest<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Option<RunOutcome>, RunError> {
        let is_simulated = request.workload.target.values().any(|target| matches!(target, Target::Sim(_)));
        self.settle(is_simulated);
        let began = Instant::now();
        match self.run(request, progress) {
            Ok(outcome) => {
                let took = if is_simulated { outcome.simulated() } else { began.elapsed() };
                // The devices of hosts that this process only leads are not here.
                let is_here = self.leading().is_none();
                self.settling.ran(took, outcome.observations.targets.values().filter(|_| is_here));
                Ok(Some(outcome))
            }
            Err(error @ (RunError::EndedEarly { .. } | RunError::EndedByRank(_) | RunError::Ranks(_)))
                if self.has_run =>
            {
                self.cut_by = Some(error.to_string());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// One rank's part of a run that the first one asked for. Whatever becomes of it, the first one hears of it.
    ///
    /// # Errors
    /// The order is one that rank 0 refuses before it sends it.
    pub(crate) fn run_as_ordered(
        &mut self,
        order: &RunOrder,
        ranks: &JoinedRanks,
        progress: &mut dyn Progress,
    ) -> Result<(), ClusterError> {
        let own = WorkloadOfRank::of(&order.workload, order.division, ranks.number(), ranks.size())
            .map_err(|_| ClusterError::Unexpected { rank: 0, what: "a run that several ranks cannot make" })
            .inspect_err(|_| ranks.break_off())?;
        let together = RanksRun::new(ranks, self.stop, &order.workload, &own, (order.division, order.phases));
        let work = Work { workload: &own.workload, ..order.work(ranks.number(), ranks.size()) };
        let environment = Rc::clone(&self.environment);
        let mut evidence =
            Evidence::new(work.workload, &environment, work.base, None, progress).with_ranks(Some(&together));
        let refused = self.policy.as_ref().and_then(|policy| policy.admit(order).err());
        if let Some(refused) = refused {
            drop(evidence);
            together.finish(Some(&refused.to_string()));
            return Ok(());
        }
        let measured = self.measure(work, &mut evidence);
        drop(evidence);
        together.finish(early_end(&measured).as_deref());
        Ok(())
    }

    /// What the other ranks are asked to run.
    fn order(&self, work: &Work<'_>) -> RunOrder {
        RunOrder {
            workload: work.workload.clone(),
            division: self.division,
            phases: work.workload.phase.len() as u32,
            // To another host, a relative path is relative to where its agent runs.
            base: match self.ranks.as_ref().is_some_and(|ranks| ranks.leads_only()) {
                true => work.base.to_owned(),
                false => std::path::absolute(work.base).unwrap_or_else(|_| work.base.to_owned()),
            },
            content_seed: work.content_seed,
            sim: SimOrder::of(work.sim_run, work.sim_debt),
            may_drop_caches: self.drop_caches == DropCaches::Allowed,
            unopened_fails_jobs: self.unopened == Unopened::FailsItsJobs,
            allow: self.permissions.text(),
            fill: match &self.permissions.when_full {
                WhenFull::Refused => None,
                WhenFull::FilledAt(places) => Some((places.at.clone(), places.never.clone())),
            },
        }
    }

    fn measure(&self, work: Work<'_>, evidence: &mut Evidence<'_>) -> Result<Measurement, EngineError> {
        let setting = Setting {
            base: work.base,
            permissions: &self.permissions,
            stop: self.stop,
            test_dirs: &self.test_dirs,
            kept: self.kept.as_ref(),
            drop_caches: self.drop_caches,
            sim_run: work.sim_run,
            sim_debt: work.sim_debt,
            content_seed: work.content_seed,
            recordings: self.recordings,
            net: self.net,
            unopened: self.unopened,
            say: self.say,
            copy_listener: self.copy_listener.clone(),
            part: work.part,
            others: evidence.others(),
            mpi_io: self.mpi_io.clone().or_else(|| evidence.mpi_io()),
        };
        plumb_engine::run(work.workload, &setting, evidence)
    }

    /// Marks a run that has no result.
    fn failed(&mut self, id: &str, error: RunError) -> RunError {
        if let Some(log) = run_log(&mut self.store, &mut self.queue) {
            // The run may not have been begun; then there is nothing to mark.
            let _ = log.fail_run(id, &error.to_string());
        }
        error
    }
}

/// Why a rank's part of a run ended before its last phase, where it did.
fn early_end(measured: &Result<Measurement, EngineError>) -> Option<String> {
    match measured {
        Ok(measurement) => measurement.error.clone(),
        Err(error) => Some(error.to_string()),
    }
}

/// Returns the time to measure the null ceiling after a phase of this length: too short for a user to notice, and long enough for
/// a number that is exact to a few percent. Checks compare it with results of half its size and less.
fn null_ceiling_time_ns(phase_ns: u64) -> u64 {
    (phase_ns / 50).clamp(2_000_000, 50_000_000)
}

/// A worker reaches some ten million ops per second against nothing, and on an emulated processor some hundred thousand. Far
/// below that, nothing is learnt from the ceiling, nor of so short a phase.
fn may_be_near_null_ceiling(phase: &PhaseMeasurement) -> bool {
    const OPS_PER_SECOND: f64 = 20_000.0;
    const SHORTEST_NS: u64 = 50_000_000;
    let ops: u64 = phase.ops.values().map(|moved| moved.count).sum();
    phase.wall_ns >= SHORTEST_NS && ops as f64 >= OPS_PER_SECOND * (phase.wall_ns as f64 / 1e9)
}

fn run_log<'a>(store: &'a mut Option<Store>, queue: &'a mut Option<Queue>) -> Option<&'a mut dyn RunLog> {
    match (store, queue) {
        (Some(store), _) => Some(store),
        (None, Some(queue)) => Some(queue),
        (None, None) => None,
    }
}

/// Stores a result, or saves it to a file. Heartbeats may have failed before: a result that is stored has all of it.
fn finish(log: &mut dyn RunLog, result: &RunResult, measurement: &Measurement) -> Option<NotStored> {
    let finished = log.finish_run(result, measurement);
    // Whoever has held the database for so long may hold it on: each further run of this process asks, and does not
    // wait as long again. Where the time cannot be set, it waits longer, and no more.
    let _ = log.wait_at_most(if finished.is_ok() { BUSY_TIMEOUT } else { BUSY_AGAIN });
    finished.err().map(|error| NotStored::result(log.path(), error.to_string(), result))
}

/// Ranks that have files of their own, each a share of what there is.
#[derive(Clone, Copy)]
struct Sharers {
    of_memory: u64,
    of_space: u64,
}

impl Sharers {
    const ONE: Sharers = Sharers { of_memory: 1, of_space: 1 };
}

/// The workload with every size in bytes.
fn resolved(
    workload: &Workload,
    ram_bytes: impl Fn() -> u64,
    base: &Path,
    sharers: Sharers,
) -> Result<Workload, RunError> {
    let mut workload = workload.clone();
    // It is being read meanwhile, and most workloads need not wait for it.
    let memory = |size: Size, sharers: u64| if size.fixed().is_some() { 0 } else { ram_bytes() / sharers };
    for (name, target) in &mut workload.target {
        let Sharers { of_memory, of_space } = if is_named(target) { Sharers::ONE } else { sharers };
        if let Some(size) = target.size_mut() {
            let free = match size {
                Size::Free(_) => {
                    let free = free_bytes(base);
                    free.map_err(|error| RunError::Size { target: name.clone(), reason: error.reason })? / of_space
                }
                Size::Bytes(_) | Size::Ram(_) => 0,
            };
            *size = Size::Bytes(size.resolve(memory(*size, of_memory), free));
        }
    }
    for phase in &mut workload.phase {
        if let Some(pressure) = &mut phase.memory_pressure {
            *pressure = Size::Bytes(pressure.resolve(memory(*pressure, sharers.of_memory), 0));
        }
    }
    Ok(workload)
}
