//! One run, as one rank sees it: its barriers, its reports, and on rank 0 the measurements of all ranks.

use super::JoinedRanks;
use super::meet::Meetings;
use super::mpi_io::mpi_io_of;
use super::order::{Division, WorkloadOfRank};
use super::patience::AfterSignal;
use super::seconds::{self, ReceivedSeconds};
use super::share::{HostFacts, PhaseSum, RankPhase, Reporter};
use crate::progress::{HostReport, Progress, Second};
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

/// The next collective step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Every rank has examined its files and passed the write guard.
    Admit,
    /// Tell the rank that reads this rank's files where they are.
    Exchange,
    /// Be ready for a phase.
    Ready,
    /// Start its clock.
    Start,
    /// Stop its clock.
    Stop,
    /// Add up the measurements.
    Sum,
}

/// The reason of a rank that a signal ended.
pub(crate) const INTERRUPTED: &str = "interrupted";
/// Slurm signals the processes of a job one after the other: rank 0's signal may come after that of others.
const OWN_SIGNAL_LAG: Duration = Duration::from_millis(500);

/// Returns the number of meetings of a phase's workers.
fn meetings_of(phase: &Phase) -> usize {
    phase.workers.iter().filter_map(|group| group.work.program()).map(Program::meetings).max().unwrap_or(0)
}

/// Returns the first step of a phase, which depends on whether ranks read each other's files.
fn first_step(exchanges: Option<&bool>) -> Next {
    if exchanges == Some(&true) { Next::Exchange } else { Next::Ready }
}

/// Returns `true` if any worker opens files by MPI-IO.
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
    /// Whether phases have barriers; those on virtual time have none.
    has_barriers: bool,
    /// Whether each rank has its own workload.
    is_apart: bool,
    /// For each phase, whether ranks read each other's files.
    exchanges: Vec<bool>,
    next: Cell<Next>,
    summed: Cell<usize>,
    start_ns: Cell<u64>,
    /// Whether the run ends for all ranks. The current phase is still added up, and no collective step follows.
    ends: Cell<bool>,
    /// Whether that last sum has been made.
    last_is_summed: Cell<bool>,
    after_signal: AfterSignal,
    /// Whether workers may be in MPI calls that cannot be interrupted.
    uses_mpi_io: bool,
    /// The rank whose files this rank reads, and the reader of its own.
    exchange: Option<Exchange>,
    /// Meetings of the workers of all ranks, and their number in each phase; `None` if every rank
    /// runs all workers by itself.
    meetings: Option<(Arc<Meetings>, Vec<usize>)>,
    reasons: RefCell<Vec<String>>,
    /// On rank 0, the phases of all ranks.
    found: RefCell<Vec<RankPhase>>,
}

/// The outcome of a run of several ranks, on rank 0.
pub(crate) struct RanksFound {
    pub(crate) phases: Vec<RankPhase>,
    /// For each phase, the rank or host whose files each rank read; `None` if its own.
    pub(crate) read_files_of: Vec<Option<String>>,
    /// Reasons why the run ended early.
    pub(crate) ended_by: Vec<String>,
}

impl<'a> RanksRun<'a> {
    /// Creates the run for the part of a workload that this rank runs.
    pub(crate) fn new(
        ranks: &'a JoinedRanks,
        stop: StopFlag,
        workload: &Workload,
        own: &'a WorkloadOfRank,
        (division, phases): (Division, u32),
    ) -> RanksRun<'a> {
        // From the whole workload: a rank without work of its own makes the same barriers as the others.
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
            // Either every rank runs the same workers, or each rank runs different ones.
            workers: if division == Division::Each { Workers::Together } else { Workers::SideBySide },
            files: &own.files,
            has_barriers: !is_simulated,
            next: Cell::new(if is_simulated { first_step(exchanges.first()) } else { Next::Admit }),
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

    /// Returns the processes on this machine that are ranks of the run.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.ranks.roster.processes_on_kernel_of(self.ranks.rank())
    }

    fn name(&self, rank: u32) -> String {
        self.ranks.name(rank)
    }

    fn is_signalled(&self) -> bool {
        self.after_signal.is_signalled()
    }

    /// Returns the link from this rank's workers to those of the other ranks.
    pub(crate) fn others(&self) -> Option<Arc<dyn OtherProcesses>> {
        self.meetings.as_ref().map(|(meetings, _)| Arc::clone(meetings) as Arc<dyn OtherProcesses>)
    }

    /// Returns the MPI-IO of this rank's workers. Rank 0 reports why there is none.
    pub(crate) fn mpi_io(&self) -> Option<Arc<dyn MpiIo>> {
        Some(mpi_io_of(&self.ranks.mpi_io().ok()??))
    }

    /// Sends the numbers of one second to the coordinator.
    pub(crate) fn send_second(&self, live: &Live) {
        if self.ranks.leads_only() {
            self.ranks.cluster.tell(&seconds::bytes(live));
        }
    }

    /// Stops the current phase if another rank cannot go on, or no longer answers. Calling it
    /// once a second is enough.
    pub(crate) fn stop_if_ended(&self) {
        if self.ranks.cluster.is_to_end().is_some() {
            self.stop.request();
        }
    }

    fn end(&self, reasons: Vec<String>) {
        self.ends.set(true);
        if self.ranks.rank() == 0 && reasons.iter().all(|why| why.ends_with(INTERRUPTED)) {
            self.stop.await_signal(OWN_SIGNAL_LAG);
        }
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

    /// Waits at a barrier. Returns the common start time, or `None` if the run ends.
    fn barrier(&self, arrival: Arrival) -> Option<u64> {
        self.barrier_while(arrival, &|| ())
    }

    /// Waits at a barrier, and calls `while_waiting` again and again meanwhile.
    fn barrier_while(&self, arrival: Arrival, while_waiting: &dyn Fn()) -> Option<u64> {
        if arrival != Arrival::Ready {
            self.ranks.cluster.announce_end();
        }
        let patience = self.after_signal.patience();
        let patience = |rank: u32, waited: Duration| {
            while_waiting();
            if self.ranks.leads_only() && self.stop.requested() {
                // No launcher forwards a signal to the other ranks, and they cannot know that
                // an observer stopped the run.
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

    /// Formats the reason of a rank that ends the run.
    fn reason(&self, Ending { rank, kind, why }: Ending) -> String {
        match kind {
            EndingKind::Reported => format!("{}: {why}", self.name(rank)),
            EndingKind::Silent => self.silence_of(rank),
        }
    }

    /// Formats the message about a rank that does not answer, with the cause if known.
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

    /// Waits until the files of all ranks are admitted, after this rank's are. Before that, no rank removes or replaces a
    /// file that another rank is still examining or refuses.
    pub(crate) fn await_admitted(&self) {
        if self.ends.get() || self.next.get() != Next::Admit {
            return;
        }
        self.next.set(first_step(self.exchanges.first()));
        self.barrier(self.arrival());
    }

    /// Waits until the files of all ranks are complete; `own` returns the paths of this rank's files. Sends them to
    /// the rank that reads these files, and returns the paths of the files that this rank reads.
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

    /// Describes the owner of the files that ranks read in a phase; `None` if they read their own.
    fn read_files_of(&self, phase: usize) -> Option<String> {
        // A coordinator reads no files: ask for the first rank that does.
        let first = || self.ranks.roster.exchange(u32::from(self.ranks.leads_only()));
        let exchange = self.exchange.or_else(first).filter(|_| self.exchanges.get(phase) == Some(&true));
        let between_hosts = exchange?.between_hosts;
        Some(if between_hosts { "another host" } else { "the next rank" }.to_owned())
    }

    /// Waits until the workers of all ranks are ready, after this rank's are.
    pub(crate) fn await_ready(&self) {
        if !self.has_barriers || self.ends.get() || self.next.get() != Next::Ready {
            return;
        }
        self.next.set(Next::Start);
        self.barrier(self.arrival());
    }

    /// Waits for the common start time, after all ranks are ready.
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

    /// Waits until the clock has stopped on all ranks, after this rank's has.
    pub(crate) fn await_stop(&self) {
        self.await_stop_while(&|| ());
    }

    fn await_stop_while(&self, while_waiting: &dyn Fn()) {
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
                // The barrier detects a silent rank too.
                Ok(()) | Err(ClusterError::Silent { .. }) => {}
                Err(error) => {
                    self.barrier(Arrival::Ends(error.to_string()));
                    return;
                }
            }
        }
        self.barrier_while(self.arrival(), while_waiting);
    }

    /// Adds up the measurements of all ranks. Returns the sum on rank 0. `facts` describes the host; it is called in
    /// the first phase, on the host's first rank.
    pub(crate) fn phase_ended(
        &self,
        measured: &PhaseMeasurement,
        (observations, tells): (PhaseObservations, String),
        facts: impl FnOnce() -> (Environment, BTreeMap<String, TargetFacts>),
    ) -> Option<PhaseMeasurement> {
        let rank = self.ranks.rank();
        // Simulated devices belong to a rank; real ones belong to a host.
        let speaker = if self.has_barriers { self.ranks.roster.speaker_of(rank) } else { rank };
        let facts = (speaker == rank && self.summed.get() == 0).then(|| {
            let (environment, targets) = facts();
            let offset = self.ranks.offset.get();
            HostFacts { environment, targets, clock_offset_ns: offset.ns, clock_within_ns: offset.within_ns }
        });
        let reporter = Reporter { rank, host: self.ranks.roster.host(rank), speaker, is_apart: self.is_apart };
        let phase = RankPhase::new(reporter, self.start_ns.get(), measured, observations, facts);
        self.sum(phase.with_report(tells));
        let found = self.found.borrow();
        (rank == 0).then(|| found.last()?.whole.as_ref().map(|share| share.measured.clone())).flatten()
    }

    fn sum(&self, own: RankPhase) {
        self.summed.set(self.summed.get() + 1);
        self.next.set(first_step(self.exchanges.get(self.summed.get())));
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
    fn attend(&self, ready: &mut dyn FnMut(), while_waiting: &dyn Fn()) {
        if self.next.get() == Next::Exchange {
            self.next.set(Next::Ready);
            self.barrier(self.arrival());
        }
        self.await_ready();
        ready();
        self.await_start();
        self.await_stop_while(while_waiting);
        self.sum(RankPhase::default());
    }

    /// Coordinates a run of other hosts without measuring. Returns their measurements.
    pub(crate) fn lead(&self, workload: &Workload, progress: &mut dyn Progress) -> Measurement {
        let mut measurement = Measurement::default();
        self.await_admitted();
        for phase in &workload.phase {
            // An observer may have stopped the run.
            if self.ends.get() || self.stop.requested() {
                break;
            }
            progress.phase_begins(&phase.name);
            // Discard seconds of the phase before.
            self.ranks.cluster.take_news();
            let shown = RefCell::new((ReceivedSeconds::new(self.ranks.size(), &phase.name), &mut *progress));
            let show_seconds = || {
                let (seconds, progress) = &mut *shown.borrow_mut();
                for live in seconds.add_received(self.ranks.cluster.take_news()) {
                    progress.live(&Second { live: &live, tier: Tier::Unknown, devices: &[] });
                }
            };
            self.attend(&mut || shown.borrow_mut().1.clock_starts(&phase.name), &show_seconds);
            let whole = self.found.borrow().last().and_then(|found| Some(found.whole.as_ref()?.measured.clone()));
            let nothing = || PhaseMeasurement { name: phase.name.clone(), ..PhaseMeasurement::default() };
            let measured = whole.unwrap_or_else(nothing);
            progress
                .receive_reports(self.found.borrow().last().map_or_else(Vec::new, |found| self.host_reports(found)));
            progress.phase_ended(&measured);
            measurement.phases.push(measured);
        }
        self.learn(self.ranks.cluster.lost().into_iter().map(|(rank, _)| self.silence_of(rank)));
        measurement.interrupted = self.is_signalled();
        measurement
    }

    fn host_reports(&self, found: &RankPhase) -> Vec<HostReport> {
        let reports = found.hosts.iter().map(|host| {
            let (number, text) = (self.ranks.number_of(host.speaker), host.tells.clone());
            HostReport { number, text }
        });
        let mut reports: Vec<HostReport> = reports.collect();
        reports.sort_by_key(|host| host.number);
        reports
    }

    /// Takes part in all remaining collective steps after the engine has ended the run, so that no
    /// rank waits for this one.
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
            // Others may have more phases than this rank.
            while self.summed.get() < self.exchanges.len() && !self.ends.get() {
                self.attend(&mut || (), &|| ());
            }
        }
        while self.summed.get() < self.exchanges.len() && !(self.ends.get() && self.last_is_summed.get()) {
            let is_before_barrier = self.has_barriers && self.next.get() != Next::Sum;
            if is_before_barrier && !self.ends.get() {
                self.barrier(Arrival::Ends(why.to_owned()));
            }
            // A coordinator has no measurement of its own.
            self.sum(match leads {
                true => RankPhase::default(),
                false => RankPhase::nothing(format!("{}: {why}", self.name(own))),
            });
        }
        // A worker is still in a library call, so this process must not exit as if all were well.
        if self.uses_mpi_io && self.ranks.cluster.is_to_end().is_some() {
            self.ranks.broken.set(true);
        }
        let read_files_of = (0..self.exchanges.len()).map(|phase| self.read_files_of(phase)).collect();
        let mut ended_by = self.reasons.take();
        if leads && error.is_none() && self.stop.signal() == Some(StopSignal::Program) {
            // An observer stopped the run, which is not a failure.
            ended_by.retain(|reason| *reason != format!("{}: {why}", self.name(own)));
        }
        RanksFound { phases: self.found.take(), read_files_of, ended_by }
    }
}
