//! One run, from the side of one rank: its barriers, its reports, and on rank 0 what all ranks measured.

use super::JoinedRanks;
use super::meet::Meetings;
use super::mpi_io::mpi_io_of;
use super::order::{Division, WorkloadOfRank};
use super::patience::AfterSignal;
use super::seconds::{self, HeardSeconds};
use super::share::{HostFacts, PhaseSum, RankPhase, Reporter};
use crate::progress::{HostTold, Progress, Second};
use plumb_cluster::{Arrival, ClusterError, Ending, EndingKind, Exchange, Release, monotonic_ns, wait_until_ns};
use plumb_engine::signals::{StopFlag, StopSignal};
use plumb_engine::{Live, MpiIo, OtherProcesses};
use plumb_result::merge::{FilesOfRanks, Workers};
use plumb_result::observe::{Environment, PhaseObservations, TargetFacts};
use plumb_result::{Measurement, PhaseMeasurement, Tier};
use plumb_workload::{Phase, Program, Target, Workload};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What all do together next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Have looked at every file, and been let pass.
    Admit,
    /// Say where the files are that another rank reads.
    Exchange,
    /// Be ready for a phase.
    Ready,
    /// Start its clock.
    Start,
    /// Stop it.
    Stop,
    /// Add up what was measured.
    Sum,
}

/// Why a rank ends that a signal ended.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// How often the workers of a phase meet.
fn meetings_of(phase: &Phase) -> usize {
    phase.workers.iter().filter_map(|group| group.work.program()).map(Program::meetings).max().unwrap_or(0)
}

/// What all do first in a phase, in which they read each other's files or do not.
fn first_of(exchanges: Option<&bool>) -> Next {
    if exchanges == Some(&true) { Next::Exchange } else { Next::Ready }
}

/// Whether any worker opens files by MPI-IO.
fn opens_by_mpi(workload: &Workload) -> bool {
    let groups = workload.phase.iter().flat_map(|phase| &phase.workers);
    groups.filter_map(|group| group.work.program()).any(|program| program.opened_by_mpi().next().is_some())
}

/// One run of several ranks.
pub(crate) struct RanksRun<'a> {
    ranks: &'a JoinedRanks,
    stop: StopFlag,
    workers: Workers,
    files: &'a FilesOfRanks,
    /// Phases on virtual time have no barriers.
    has_barriers: bool,
    /// Each rank has a workload of its own.
    is_apart: bool,
    /// Of each phase, whether ranks read each other's files.
    exchanges: Vec<bool>,
    next: Cell<Next>,
    summed: Cell<usize>,
    start_ns: Cell<u64>,
    /// The run ends for all: what was measured of this phase is added up, and nothing is done together after that.
    ends: Cell<bool>,
    /// That last sum is made.
    last_is_summed: Cell<bool>,
    after_signal: AfterSignal,
    /// Workers may be in calls of MPI's that nothing ends.
    uses_mpi_io: bool,
    /// Whose files this rank reads, and who reads its own.
    exchange: Option<Exchange>,
    /// Of the workers of all ranks inside a phase, and how many each phase has; none where every rank runs all workers by itself.
    meetings: Option<(Arc<Meetings>, Vec<usize>)>,
    reasons: RefCell<Vec<String>>,
    /// What all ranks measured, phase by phase, on rank 0.
    found: RefCell<Vec<RankPhase>>,
}

/// What a run of several ranks came to, on rank 0.
pub(crate) struct RanksFound {
    /// By phase.
    pub(crate) phases: Vec<RankPhase>,
    /// By phase, whose files each rank read, where not its own.
    pub(crate) read_files_of: Vec<Option<String>>,
    /// Why it ended early.
    pub(crate) ended_by: Vec<String>,
}

impl<'a> RanksRun<'a> {
    /// Of what this rank runs of a workload.
    pub(crate) fn new(
        ranks: &'a JoinedRanks,
        stop: StopFlag,
        workload: &Workload,
        own: &'a WorkloadOfRank,
        (division, phases): (Division, u32),
    ) -> RanksRun<'a> {
        // Of the whole: a rank without work of its own makes the same barriers as the others.
        let is_simulated = workload.target.values().any(|target| matches!(target, Target::Sim(_)));
        let after_signal = AfterSignal::new(stop, &*ranks.cluster);
        let exchange = (division == Division::Each).then(|| ranks.roster.exchange(ranks.rank())).flatten();
        let may_exchange = division == Division::Each && ranks.size() > 1;
        let exchanges = |phase: &Phase| may_exchange && workload.read_of_others(phase).next().is_some();
        let mut exchanges: Vec<bool> = workload.phase.iter().map(exchanges).collect();
        exchanges.resize(exchanges.len().max(phases as usize), false);
        let is_apart = division == Division::Apart;
        RanksRun {
            ranks,
            stop,
            // Every rank runs the same workers, or those that no other one runs.
            workers: if division == Division::Each { Workers::Together } else { Workers::SideBySide },
            files: &own.files,
            has_barriers: !is_simulated,
            next: Cell::new(if is_simulated { first_of(exchanges.first()) } else { Next::Admit }),
            is_apart,
            exchanges,
            summed: Cell::new(0),
            start_ns: Cell::new(0),
            ends: Cell::new(false),
            last_is_summed: Cell::new(false),
            after_signal,
            uses_mpi_io: opens_by_mpi(workload),
            exchange,
            meetings: matches!(division, Division::Groups | Division::Workers).then(|| {
                let meetings = Meetings::new(Arc::clone(&ranks.cluster), after_signal);
                (Arc::new(meetings), workload.phase.iter().map(meetings_of).collect())
            }),
            reasons: RefCell::new(Vec::new()),
            found: RefCell::new(Vec::new()),
        }
    }

    /// Processes of this machine that are ranks of the run.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.ranks.roster.processes_on_kernel_of(self.ranks.rank())
    }

    fn name(&self, rank: u32) -> String {
        self.ranks.name(rank)
    }

    fn is_signalled(&self) -> bool {
        self.after_signal.is_signalled()
    }

    /// What the workers of this rank ask those of the others.
    pub(crate) fn others(&self) -> Option<Arc<dyn OtherProcesses>> {
        self.meetings.as_ref().map(|(meetings, _)| Arc::clone(meetings) as Arc<dyn OtherProcesses>)
    }

    /// What the workers of this rank open files with that they open by MPI-IO. Rank 0 says why there is none.
    pub(crate) fn mpi_io(&self) -> Option<Arc<dyn MpiIo>> {
        Some(mpi_io_of(&self.ranks.mpi_io().ok()??))
    }

    /// Tells whoever leads what a second of a phase came to.
    pub(crate) fn tell(&self, live: &Live) {
        if self.ranks.leads_only() {
            self.ranks.cluster.tell(&seconds::bytes(live));
        }
    }

    /// Ends a phase that is under way where another rank cannot go on, or no longer answers. Once a second will do.
    pub(crate) fn look(&self) {
        if self.ranks.cluster.is_to_end().is_some() {
            self.stop.request();
        }
    }

    fn end(&self, reasons: Vec<String>) {
        self.ends.set(true);
        self.learn(reasons.into_iter());
        self.stop.request();
    }

    fn learn(&self, reasons: impl Iterator<Item = String>) {
        let mut known = self.reasons.borrow_mut();
        for reason in reasons {
            if !known.contains(&reason) {
                known.push(reason);
            }
        }
    }

    /// Whether all go on, and when.
    fn barrier(&self, arrival: Arrival) -> Option<u64> {
        self.barrier_hearing(arrival, &|| ())
    }

    /// The same, and does something again and again while it waits.
    fn barrier_hearing(&self, arrival: Arrival, meanwhile: &dyn Fn()) -> Option<u64> {
        if arrival != Arrival::Ready {
            self.ranks.cluster.announce_end();
        }
        let patience = self.after_signal.patience();
        let patience = |rank: u32, waited: Duration| {
            meanwhile();
            if self.ranks.leads_only() && self.stop.requested() {
                // No launcher tells the others of a signal, nor does anybody that whoever looks on has enough.
                self.ranks.cluster.announce_end();
            }
            patience(rank, waited)
        };
        match self.ranks.cluster.barrier(arrival, &patience) {
            Ok(Release::At(at)) => Some(at),
            Ok(Release::End(endings)) => {
                if endings.iter().any(|ending| ending.kind == EndingKind::Silent) {
                    self.ranks.broken.set(true);
                }
                self.end(endings.into_iter().map(|ending| self.reason(ending)).collect());
                None
            }
            Err(error) => {
                self.ranks.broken.set(true);
                self.end(vec![error.to_string()]);
                None
            }
        }
    }

    /// A rank that ends the run, as people read it.
    fn reason(&self, Ending { rank, kind, why }: Ending) -> String {
        match kind {
            EndingKind::Said => format!("{}: {why}", self.name(rank)),
            EndingKind::Silent => self.silence_of(rank),
        }
    }

    /// What is said of a rank that does not answer, as far as it is known.
    fn silence_of(&self, rank: u32) -> String {
        let how = self.ranks.cluster.lost().into_iter().find(|(lost, _)| *lost == rank);
        format!("{} {}", self.name(rank), how.map_or_else(|| "does not answer".to_owned(), |(_, how)| how))
    }

    fn arrival(&self) -> Arrival {
        match self.is_signalled() {
            false => Arrival::Ready,
            true => Arrival::Ends(INTERRUPTED.to_owned()),
        }
    }

    /// This rank's files are admitted: waits until those of all ranks are. Nobody removes or replaces a file that another rank is still
    /// looking at, or that another rank refuses.
    pub(crate) fn await_admitted(&self) {
        if self.ends.get() || self.next.get() != Next::Admit {
            return;
        }
        self.next.set(first_of(self.exchanges.first()));
        self.barrier(self.arrival());
    }

    /// Waits until the files of all ranks are complete, which `own` says of this rank's; tells the rank that reads them where they
    /// are, and answers where those are that this rank reads.
    pub(crate) fn exchange_files(&self, own: &dyn Fn() -> Result<Vec<u8>, String>) -> Option<Vec<u8>> {
        let exchange = self.exchange?;
        if self.ends.get() || self.next.get() != Next::Exchange {
            return None;
        }
        self.next.set(Next::Ready);
        let own = own();
        let arrival = match (self.arrival(), &own) {
            (Arrival::Ready, Err(why)) => Arrival::Ends(why.clone()),
            (arrival, _) => arrival,
        };
        self.barrier(arrival)?;
        let (cluster, patience) = (&*self.ranks.cluster, self.after_signal.patience());
        let own = own.ok()?;
        let send = || cluster.send(exchange.reader, &own, &patience);
        let receive = || cluster.receive(exchange.source, &patience);
        let received = match exchange.sends_first {
            true => send().and_then(|()| receive()),
            false => receive().and_then(|bytes| send().map(|()| bytes)),
        };
        let failed = |error: ClusterError| {
            self.ranks.broken.set(true);
            self.end(vec![error.to_string()]);
        };
        received.map_err(failed).ok()
    }

    /// Whose files the ranks read in a phase, where not their own.
    fn read_files_of(&self, phase: usize) -> Option<String> {
        let between_hosts = self.exchange.filter(|_| self.exchanges.get(phase) == Some(&true))?.between_hosts;
        Some(if between_hosts { "another host" } else { "the next rank" }.to_owned())
    }

    /// The workers are ready: waits until those of all ranks are.
    pub(crate) fn await_ready(&self) {
        if !self.has_barriers || self.ends.get() || self.next.get() != Next::Ready {
            return;
        }
        self.next.set(Next::Start);
        self.barrier(self.arrival());
    }

    /// All ranks are ready: waits for the common moment.
    pub(crate) fn await_start(&self) {
        if self.ends.get() || self.next.get() != Next::Start {
            return;
        }
        self.next.set(Next::Stop);
        if let Some(at) = self.barrier(self.arrival()) {
            wait_until_ns(self.ranks.offset.get().to_own_ns(at));
        }
        self.start_ns.set(self.ranks.offset.get().to_rank_0_ns(monotonic_ns()));
    }

    /// The clock has stopped: waits until it has for all ranks.
    pub(crate) fn await_stop(&self) {
        self.await_stop_hearing(&|| ());
    }

    fn await_stop_hearing(&self, meanwhile: &dyn Fn()) {
        if self.next.get() != Next::Stop {
            return;
        }
        self.next.set(Next::Sum);
        if self.ends.get() {
            return;
        }
        if let Some((meetings, numbers)) = &self.meetings {
            let arrival = self.arrival();
            if arrival != Arrival::Ready {
                // Others may be on their way to a meeting.
                self.ranks.cluster.announce_end();
            }
            match meetings.finish(numbers.get(self.summed.get()).copied().unwrap_or(0)) {
                // Who is silent is missed at the barrier too.
                Ok(()) | Err(ClusterError::Silent { .. }) => {}
                Err(error) => {
                    self.barrier(Arrival::Ends(error.to_string()));
                    return;
                }
            }
        }
        self.barrier_hearing(self.arrival(), meanwhile);
    }

    /// Adds up what all ranks measured; on rank 0, all of it is the answer. `facts` are those of the host, with the first phase
    /// of the rank that speaks for it.
    pub(crate) fn phase_ended(
        &self,
        measured: &PhaseMeasurement,
        (observations, tells): (PhaseObservations, String),
        facts: impl FnOnce() -> (Environment, BTreeMap<String, TargetFacts>),
    ) -> Option<PhaseMeasurement> {
        let rank = self.ranks.rank();
        // Simulated devices are each rank's own, as those of a host are not.
        let speaker = if self.has_barriers { self.ranks.roster.speaker_of(rank) } else { rank };
        let facts = (speaker == rank && self.summed.get() == 0).then(|| {
            let (environment, targets) = facts();
            let offset = self.ranks.offset.get();
            HostFacts { environment, targets, clock_offset_ns: offset.ns, clock_within_ns: offset.within_ns }
        });
        let reporter = Reporter { rank, host: self.ranks.roster.host(rank), speaker, is_apart: self.is_apart };
        let phase = RankPhase::of(reporter, self.start_ns.get(), measured, observations, facts);
        self.sum(phase.telling(tells));
        let found = self.found.borrow();
        (rank == 0).then(|| found.last()?.whole.as_ref().map(|share| share.measured.clone())).flatten()
    }

    fn sum(&self, own: RankPhase) {
        self.summed.set(self.summed.get() + 1);
        self.next.set(first_of(self.exchanges.get(self.summed.get())));
        let (name, silence) = (|rank: u32| self.name(rank), |rank: u32| self.silence_of(rank));
        let mut sum = PhaseSum { phase: own, workers: self.workers, files: self.files, name: &name, silence: &silence };
        if let Err(error) = self.ranks.cluster.reduce(&mut sum, &self.after_signal.patience()) {
            self.ranks.broken.set(true);
            self.end(vec![error.to_string()]);
        }
        if sum.phase.silent {
            self.ranks.broken.set(true);
        }
        self.learn(sum.phase.ended_by.iter().cloned());
        if self.ranks.rank() == 0 {
            self.found.borrow_mut().push(sum.phase);
        }
        self.last_is_summed.set(self.ends.get());
    }

    /// Takes part in a phase without work.
    fn attend(&self, ready: &mut dyn FnMut(), meanwhile: &dyn Fn()) {
        if self.next.get() == Next::Exchange {
            self.next.set(Next::Ready);
            self.barrier(self.arrival());
        }
        self.await_ready();
        ready();
        self.await_start();
        self.await_stop_hearing(meanwhile);
        self.sum(RankPhase::default());
    }

    /// Leads a run of others, and measures nothing: what they measured.
    pub(crate) fn lead(&self, workload: &Workload, progress: &mut dyn Progress) -> Measurement {
        let mut measurement = Measurement::default();
        self.await_admitted();
        for phase in &workload.phase {
            // Whoever looks on may have enough.
            if self.ends.get() || self.stop.requested() {
                break;
            }
            progress.phase_begins(&phase.name);
            // Of the phase before.
            self.ranks.cluster.told();
            let heard = RefCell::new((HeardSeconds::new(self.ranks.size(), &phase.name), &mut *progress));
            let hear = || {
                let (seconds, progress) = &mut *heard.borrow_mut();
                for live in seconds.hear(self.ranks.cluster.told()) {
                    progress.live(&Second { live: &live, tier: Tier::Unknown, devices: &[] });
                }
            };
            self.attend(&mut || heard.borrow_mut().1.clock_starts(&phase.name), &hear);
            let whole = self.found.borrow().last().and_then(|found| Some(found.whole.as_ref()?.measured.clone()));
            let nothing = || PhaseMeasurement { name: phase.name.clone(), ..PhaseMeasurement::default() };
            let measured = whole.unwrap_or_else(nothing);
            progress.told(self.found.borrow().last().map_or_else(Vec::new, |found| self.told(found)));
            progress.phase_ended(&measured);
            measurement.phases.push(measured);
        }
        self.learn(self.ranks.cluster.lost().into_iter().map(|(rank, _)| self.silence_of(rank)));
        measurement.interrupted = self.is_signalled();
        measurement
    }

    fn told(&self, found: &RankPhase) -> Vec<HostTold> {
        let told = found.hosts.iter().map(|host| {
            let (number, text) = (self.ranks.number_of(host.speaker), host.tells.clone());
            HostTold { number, text }
        });
        let mut told: Vec<HostTold> = told.collect();
        told.sort_by_key(|host| host.number);
        told
    }

    /// The engine is done with the run: whatever all still do together is done, so that nobody waits for this rank.
    pub(crate) fn finish(&self, error: Option<&str>) -> RanksFound {
        let own = self.ranks.rank();
        let why = match (error, self.is_signalled()) {
            (Some(error), _) => error,
            (None, true) => INTERRUPTED,
            (None, false) => "ended before the others",
        };
        let leads = own == 0 && self.ranks.leads_only();
        let has_enough = leads && self.stop.requested();
        if self.is_apart && error.is_none() && !has_enough {
            // Others have more phases than this one.
            while self.summed.get() < self.exchanges.len() && !self.ends.get() {
                self.attend(&mut || (), &|| ());
            }
        }
        while self.summed.get() < self.exchanges.len() && !(self.ends.get() && self.last_is_summed.get()) {
            let is_before_barrier = self.has_barriers && self.next.get() != Next::Sum;
            if is_before_barrier && !self.ends.get() {
                self.barrier(Arrival::Ends(why.to_owned()));
            }
            // Whoever only leads never measures.
            self.sum(match leads {
                true => RankPhase::default(),
                false => RankPhase::nothing(format!("{}: {why}", self.name(own))),
            });
        }
        // A library that a worker is still in cannot be left as if all were well.
        if self.uses_mpi_io && self.ranks.cluster.is_to_end().is_some() {
            self.ranks.broken.set(true);
        }
        let read_files_of = (0..self.exchanges.len()).map(|phase| self.read_files_of(phase)).collect();
        let mut ended_by = self.reasons.take();
        if leads && error.is_none() && self.stop.signal() == Some(StopSignal::Program) {
            // Whoever looks on had enough, which is no failure.
            ended_by.retain(|reason| *reason != format!("{}: {why}", self.name(own)));
        }
        RanksFound { phases: self.found.take(), read_files_of, ended_by }
    }
}
