//! The coordinator of one phase: starts the workers, releases them together, monitors, stops and reads them.

use crate::barrier::{PhaseMemory, WorkerSpec};
use crate::byte_ramps::ByteRamps;
use crate::clock::{Clock, Ticks};
use crate::control::{CommonLimit, PhaseTimes};
use crate::fault::Yielded;
use crate::group_scheduler::{GroupScheduler, WorkerStatus, release_delay};
use crate::observer::{INTERVAL_NS, Live, PhaseNow, WorkerNow, WorkerState};
use crate::oplog::{LogReader, LoggedOp};
use crate::others::OtherProcesses;
use crate::panics;
use crate::phase_error::PhaseError;
use crate::plan::GroupRun;
use crate::program::shared::Board;
use crate::recorder::Reading;
use crate::replay::ReplayTally;
use crate::rounds::{RoundState, SteadyRounds};
use crate::samples::SeriesSampler;
use crate::shared;
use crate::signals::StopFlag;
use crate::steady_groups::SteadyGroups;
use crate::summary::{Ending, MeasuredSpan, interval, merged, since};
use crate::worker_pool::WorkerPool;
use plumb_result::measurement::{Fault, StepMeasurement};
use plumb_result::{EndMeasurement, Interval, LatencyMap, PhaseMeasurement};
use plumb_workload::{OnError, RunAs, Steady, When};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;
use std::time::Duration;

/// Time for workers to end after a signal. An op that hangs in the kernel cannot be cancelled.
const STOP_PATIENCE: Duration = Duration::from_millis(1000);

/// Maximum interval between checks for signals and dead processes.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// The coordinator's name in place of a worker's name.
const COORDINATOR: &str = "main";

/// On virtual time, a phase that gets this far is considered endless.
const LONGEST_PHASE: Duration = Duration::from_secs(7 * 24 * 3_600);

/// A phase planned down to its workers.
pub(crate) struct PhaseRun {
    pub(crate) name: String,
    pub(crate) workers: Vec<WorkerSpec>,
    pub(crate) groups: Vec<GroupRun>,
    pub(crate) run_as: Vec<RunAs>,
    pub(crate) ramp_ns: u64,
    pub(crate) time_ns: Option<u64>,
    pub(crate) limit: CommonLimit,
    pub(crate) when: When,
    pub(crate) steady: Option<Steady>,
    pub(crate) working_set_bytes: Option<u64>,
    /// Whether the clock includes the flush.
    pub(crate) flush_inside_clock: bool,
    /// Statistics of single steps, if there are any.
    pub(crate) board: Option<Arc<Board>>,
    /// Counter of a replayed recording.
    pub(crate) replay: Option<Arc<ReplayTally>>,
    /// The processes that run the other workers of the phase.
    pub(crate) others: Option<Arc<dyn OtherProcesses>>,
}

/// Follows a running phase. The coordinator calls it, never a worker.
pub(crate) trait PhaseWatcher {
    /// The workers are ready. None has begun.
    fn workers_ready(&mut self) {}
    /// The workers are ready. The clock starts when this returns, or at the end of the ramp.
    fn clock_starts(&mut self);
    /// The workers start when this returns.
    fn await_start(&mut self) {}
    /// A second has passed.
    fn interval(&mut self, live: &Live);
    /// Returns the interval between calls of [`tick`](PhaseWatcher::tick), ns.
    fn tick_ns(&self) -> Option<u64> {
        None
    }
    /// The tick interval has passed.
    fn tick(&mut self, _now: &dyn PhaseNow) {}
    /// Passes the ops of a worker.
    fn op_log(&mut self, _worker: &str, _ops: &mut dyn Iterator<Item = LoggedOp>) {}
    /// The clock has stopped, and no work outside of it has begun. `processes` are workers that wait to continue.
    fn clock_stopped(&mut self, processes: &[u32]);
    /// Flushes the phase's writes. Returns the duration in ns; `None` if there is nothing to flush.
    fn flush(&mut self) -> Result<Option<u64>, Box<Fault>>;
}

/// A watcher that ignores everything.
pub(crate) struct Unwatched;

impl PhaseWatcher for Unwatched {
    fn clock_starts(&mut self) {}
    fn interval(&mut self, _live: &Live) {}
    fn clock_stopped(&mut self, _processes: &[u32]) {}
    fn flush(&mut self) -> Result<Option<u64>, Box<Fault>> {
        Ok(None)
    }
}

pub(crate) struct PhaseOutcome {
    pub(crate) measurement: PhaseMeasurement,
    /// Progress of each worker's source, if reported.
    pub(crate) yielded: Vec<Option<Yielded>>,
    /// Whether a signal ended it.
    pub(crate) interrupted: bool,
    /// Whether it ends the whole run, so that no later phase starts.
    pub(crate) ends_run: bool,
}

/// Runs one phase to its end, in real time or on the virtual time of this thread.
pub(crate) fn run_phase(
    clock: Clock,
    run: PhaseRun,
    stop: StopFlag,
    watcher: &mut dyn PhaseWatcher,
) -> Result<PhaseOutcome, PhaseError> {
    let memory = || PhaseMemory::new(clock, &run.workers, &run.groups, run.ramp_ns);
    let has_processes = run.run_as.contains(&RunAs::Process);
    let memory = if has_processes { memory() } else { shared::for_this_process(memory) };
    let memory = memory.map_err(|source| PhaseError::Start { what: format!("phase `{}`", run.name), source })?;
    let memory = memory.with_others(run.others.clone());
    Coordinator::new(clock, Arc::new(memory), &run).run(run, stop, watcher)
}

/// Properties of a worker, for the coordinator.
pub(crate) struct PhaseWorker {
    pub(crate) name: String,
    pub(crate) depth: u32,
    pub(crate) on_error: OnError,
}

/// State of the coordinator during a phase.
pub(crate) struct Coordinator {
    pub(crate) clock: Clock,
    pub(crate) memory: Arc<PhaseMemory>,
    pub(crate) worker_pool: WorkerPool,
    pub(crate) members: Vec<PhaseWorker>,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) latency_map: LatencyMap,
    /// Total length of all intervals.
    pub(crate) covered_ns: u64,
    /// Readings at the end of the last interval.
    pub(crate) previous: Vec<Reading>,
    pub(crate) sampler: SeriesSampler,
    pub(crate) steady: SteadyGroups,
    byte_ramps: ByteRamps,
    group_scheduler: GroupScheduler,
}

/// Result of monitoring a phase.
struct WatchOutcome {
    /// Whether measured time has begun.
    measures: bool,
    interrupted: bool,
    steady: Option<bool>,
}

/// A running phase, for observers.
struct Now<'a> {
    coordinator: &'a Coordinator,
    run: &'a PhaseRun,
    times: PhaseTimes,
    now: Ticks,
}

impl PhaseNow for Now<'_> {
    fn phase(&self) -> &str {
        &self.run.name
    }

    fn elapsed_ns(&self) -> u64 {
        self.coordinator.clock.ns_between(self.times.begins_at, self.now)
    }

    fn workers(&self) -> Vec<WorkerNow> {
        let Coordinator { clock, memory, worker_pool, members, .. } = self.coordinator;
        let numbered = members.iter().enumerate();
        numbered
            .map(|(number, member)| {
                let ended_at = memory.reports.worker(number).ended_at.load(Acquire);
                let measured_at = memory.control.measured_at(number);
                let until = if ended_at == 0 { self.now } else { ended_at };
                let begun = memory.control.go_at(number).is_some_and(|at| at <= self.now);
                WorkerNow {
                    name: member.name.clone(),
                    state: match (worker_pool.status(number), measured_at) {
                        (WorkerStatus::Ended | WorkerStatus::Failed, _) => WorkerState::Over,
                        (WorkerStatus::Active, Some(_)) => WorkerState::Running,
                        (WorkerStatus::Active, None) if begun => WorkerState::Ramp,
                        (WorkerStatus::Active, None) => WorkerState::Waiting,
                    },
                    measured_ns: measured_at.map_or(0, |at| clock.ns_between(at, until)),
                    ops: memory.cells.moved(number),
                }
            })
            .collect()
    }

    fn steps(&self) -> Vec<StepMeasurement> {
        self.run.board.as_ref().map(|board| board.measured()).unwrap_or_default()
    }

    fn measurement(&self) -> PhaseMeasurement {
        let span = MeasuredSpan {
            begins_at: self.times.begins_at,
            clock_zero: self.times.ramp_ends_at.min(self.now),
            over_at: self.now,
            ending: Ending::NotYet,
        };
        let end = EndMeasurement { flush_ns: None, inside_clock: self.run.flush_inside_clock };
        self.coordinator.measurement(self.run, span, &self.coordinator.memory.cells.read(), end)
    }
}

impl Coordinator {
    fn new(clock: Clock, memory: Arc<PhaseMemory>, run: &PhaseRun) -> Coordinator {
        let member = |spec: &WorkerSpec| PhaseWorker {
            name: spec.name.clone(),
            depth: spec.depth,
            on_error: spec.rules.on_error,
        };
        let group_of: Vec<usize> = run.workers.iter().map(|spec| spec.group).collect();
        Coordinator {
            clock,
            worker_pool: WorkerPool::new(Arc::clone(&memory)),
            memory,
            members: run.workers.iter().map(member).collect(),
            intervals: Vec::new(),
            latency_map: LatencyMap::default(),
            covered_ns: 0,
            previous: vec![Reading::default(); run.workers.len()],
            sampler: SeriesSampler::new(clock, run.workers.iter().map(|spec| run.groups[spec.group].sample_ns)),
            steady: SteadyGroups::new(clock, &run.groups, &group_of),
            byte_ramps: ByteRamps::new(clock, &run.groups, &group_of),
            group_scheduler: GroupScheduler::new(clock, &run.groups, group_of),
        }
    }

    fn run(
        mut self,
        mut run: PhaseRun,
        stop: StopFlag,
        watcher: &mut dyn PhaseWatcher,
    ) -> Result<PhaseOutcome, PhaseError> {
        let memory = Arc::clone(&self.memory);
        // Ops of the ramp do not count toward the limit.
        memory.control.control().set_limit(run.limit);
        let workers = std::mem::take(&mut run.workers);
        let ready = self.worker_pool.start(&run.run_as, &run.groups, workers).and_then(|()| self.wait_ready(stop));
        if let Err(error) = ready {
            memory.control.request_stop();
            self.worker_pool.wait_done(STOP_PATIENCE);
            return Err(error);
        }

        watcher.workers_ready();
        // Nothing is measured before the shortest ramp of a group is over.
        let ramp_ns = run.ramp_ns.saturating_add(run.groups.iter().map(|group| group.ramp_ns).min().unwrap_or(0));
        if ramp_ns == 0 {
            watcher.clock_starts();
        }
        watcher.await_start();
        if stop.requested() {
            // Another host may have ended the run in the meantime: the phase executes no op.
            memory.control.request_stop();
        }
        let begins_at = self.clock.now() + release_delay(&self.clock, self.members.len());
        let clock_zero = begins_at.saturating_add(self.clock.ticks(ramp_ns));
        let deadline = run.time_ns.map(|ns| clock_zero.saturating_add(self.clock.ticks(ns)));
        let ramp_ends_at = begins_at.saturating_add(self.clock.ticks(run.ramp_ns));
        let times = PhaseTimes { begins_at, ramp_ends_at, deadline };
        memory.control.set_times(times);
        self.group_scheduler.begin(&memory.control, begins_at);
        if panics::is_requested_by_test(COORDINATOR) {
            panics::panic_on_purpose();
        }
        let times = PhaseTimes { ramp_ends_at: clock_zero, ..times };
        let mut watched = match self.watch(&run, times, stop, watcher) {
            Ok(watched) => watched,
            Err(error) => {
                self.worker_pool.finish(stop, STOP_PATIENCE);
                return Err(error);
            }
        };
        let over_at = self.clock.now();
        self.worker_pool.wait_for_exits();
        if !watched.measures {
            watcher.clock_starts();
        }
        self.sampler.finish(&memory, over_at);
        let readings = memory.cells.read();

        // After Ctrl-C, skip the flush: dirty data is removed with the test data, and the user should
        // not wait for a disk.
        let waits = !watched.interrupted;
        let flush = |watcher: &mut dyn PhaseWatcher| if waits { watcher.flush() } else { Ok(None) };
        let flushed_inside = run.flush_inside_clock.then(|| flush(watcher));
        watcher.clock_stopped(&self.worker_pool.awaiting_snapshot());
        if !self.worker_pool.finish(stop, STOP_PATIENCE) {
            watched.interrupted = true;
        }
        let flushed = flushed_inside.unwrap_or_else(|| flush(watcher));
        let (flush_ns, fault) = match flushed {
            Ok(flush_ns) => (flush_ns, None),
            Err(fault) => (None, Some(*fault)),
        };
        for (member, log) in self.members.iter().zip(&memory.logs) {
            if let Some(file) = log {
                watcher.op_log(&member.name, &mut LogReader::new(file));
            }
        }
        let end = EndMeasurement { flush_ns, inside_clock: run.flush_inside_clock };
        let yielded = (0..self.members.len()).map(|number| memory.reports.worker(number).yielded()).collect();
        let span = MeasuredSpan { begins_at, clock_zero: clock_zero.min(over_at), over_at, ending: Ending::Over };
        self.check_panics()?;
        let mut measurement = self.measurement(&run, span, &readings, end);
        measurement.steady = watched.steady;
        measurement.fault_count += u64::from(fault.is_some());
        measurement.faults.extend(fault);
        if !watched.interrupted {
            self.check_workers(&measurement)?;
        }
        let ends_run = self.group_scheduler.ends_run();
        Ok(PhaseOutcome { measurement, yielded, interrupted: watched.interrupted, ends_run })
    }

    /// Fails if a worker panicked, because the measurements are not reliable then.
    fn check_panics(&self) -> Result<(), PhaseError> {
        let mut workers = self.members.iter().enumerate();
        let panicked = workers.find_map(|(number, member)| {
            let reason = self.memory.reports.worker(number).panic_reason()?;
            Some(PhaseError::Panicked { worker: member.name.clone(), reason })
        });
        let Some(error) = panicked else { return Ok(()) };
        panics::happened_in_worker();
        Err(error)
    }

    /// Fails if a worker failed before it did anything. That is an error of the phase and not a result, unless
    /// the worker may fail alone.
    fn check_workers(&self, measurement: &PhaseMeasurement) -> Result<(), PhaseError> {
        if measurement.count() > 0 || measurement.fault_count > 0 {
            return Ok(());
        }
        let failed = measurement.workers.iter().zip(&self.members).find_map(|(worker, member)| {
            let reason = worker.ended_by.as_ref().filter(|_| member.on_error != OnError::Leave)?;
            Some(PhaseError::Worker { worker: worker.name.clone(), reason: reason.clone() })
        });
        failed.map_or(Ok(()), Err)
    }

    fn wait_ready(&mut self, stop: StopFlag) -> Result<(), PhaseError> {
        while !self.worker_pool.all_ready() && !stop.requested() {
            self.worker_pool.wait(LONGEST_WAIT);
        }
        self.check_panics()?;
        for (number, member) in self.members.iter().enumerate() {
            let report = self.memory.reports.worker(number);
            if report.has_failed() && member.on_error != OnError::Leave {
                let reason = String::from_utf8_lossy(&report.failure.read()).into_owned();
                return Err(PhaseError::Worker { worker: member.name.clone(), reason });
            }
        }
        Ok(())
    }

    /// Applies the consequences of workers that have ended. Returns the number of ended workers.
    fn handle_ended_workers(&mut self, run: &PhaseRun, over_before: u64) -> u64 {
        let over = self.worker_pool.over();
        if over == over_before {
            return over;
        }
        let dies_alone = |number: &usize| self.members[*number].on_error == OnError::Leave;
        let is_over = |number: usize| self.worker_pool.status(number) != WorkerStatus::Active;
        let first_is_done = run.when == When::FirstDone && self.io_workers().any(is_over);
        if first_is_done || !self.worker_pool.dead().iter().all(dies_alone) {
            self.memory.control.request_stop();
        }
        let worker_pool = &self.worker_pool;
        self.group_scheduler.update(&self.memory.control, |number| worker_pool.status(number), self.clock.now());
        over
    }

    /// Monitors the running phase: starts of groups, the end of the ramp, every interval,
    /// stop rules, signals and deaths.
    fn watch(
        &mut self,
        run: &PhaseRun,
        times: PhaseTimes,
        stop: StopFlag,
        watcher: &mut dyn PhaseWatcher,
    ) -> Result<WatchOutcome, PhaseError> {
        let memory = Arc::clone(&self.memory);
        let clock = self.clock;
        let zero = times.ramp_ends_at;
        let tick = watcher.tick_ns().map(|ns| clock.ticks(ns).max(1));
        let mut next_tick_at = tick.map_or(Ticks::MAX, |tick| times.begins_at + tick);
        let mut rounds = run.steady.map(SteadyRounds::new);
        let mut over = 0;
        // A second of virtual time passes quickly.
        let longest_wait = if clock.is_virtual() { Duration::from_nanos(INTERVAL_NS) } else { LONGEST_WAIT };
        let mut watched =
            WatchOutcome { measures: zero == times.begins_at, interrupted: false, steady: run.steady.map(|_| false) };
        loop {
            let next_at = match watched.measures {
                false => zero,
                true => zero.saturating_add(clock.ticks(self.covered_ns + INTERVAL_NS)),
            };
            let now = clock.now();
            let others = [self.sampler.next_at(now), self.steady.next_at(now), self.byte_ramps.next_at(now)];
            let look_at = others.into_iter().flatten().fold(next_at.min(next_tick_at), Ticks::min);
            if !stop.requested() {
                self.worker_pool.wait(Duration::from_nanos(clock.ns_between(now, look_at)).min(longest_wait));
            }
            over = self.handle_ended_workers(run, over);
            if self.worker_pool.all_done() {
                return Ok(watched);
            }
            if stop.requested() {
                watched.interrupted = true;
                memory.control.request_stop();
                self.worker_pool.wait_done(STOP_PATIENCE);
                return Ok(watched);
            }
            let now = clock.now();
            if clock.is_virtual() && clock.ns_between(times.begins_at, now) >= LONGEST_PHASE.as_nanos() as u64 {
                memory.control.request_stop();
                self.worker_pool.wait_done(STOP_PATIENCE);
                return Err(PhaseError::Endless { phase: run.name.clone() });
            }
            self.sampler.update(&memory, now);
            self.steady.update(&memory, now);
            self.byte_ramps.update(&memory, now);
            if let Some(tick) = tick.filter(|_| now >= next_tick_at) {
                next_tick_at += ((now - next_tick_at) / tick + 1) * tick;
                watcher.tick(&Now { coordinator: self, run, times, now });
            }
            if now < next_at {
                continue;
            }
            if !watched.measures {
                watched.measures = true;
                watcher.clock_starts();
                continue;
            }
            // If the coordinator was delayed, make one longer interval instead of several empty ones.
            let whole = (clock.ns_between(zero, now).saturating_sub(self.covered_ns) / INTERVAL_NS).max(1);
            let interval = self.close_interval(run, whole * INTERVAL_NS, memory.cells.read(), watcher);
            match rounds.as_mut().map_or(RoundState::Open, |rounds| rounds.next(&interval)) {
                RoundState::Open => {}
                RoundState::Reached => {
                    watched.steady = Some(true);
                    memory.control.request_stop();
                }
                RoundState::GivenUp => memory.control.request_stop(),
            }
        }
    }

    fn close_interval(
        &mut self,
        run: &PhaseRun,
        length_ns: u64,
        readings: Vec<Reading>,
        watcher: &mut dyn PhaseWatcher,
    ) -> Interval {
        let delta = merged(&since(&readings, &self.previous));
        let interval = interval(self.covered_ns, length_ns, &delta);
        self.latency_map.push(self.covered_ns, length_ns, delta.services());
        self.covered_ns += length_ns;
        let fault_count: u64 = readings.iter().map(|reading| reading.errors).sum();
        let faults_before: u64 = self.previous.iter().map(|reading| reading.errors).sum();
        watcher.interval(&Live {
            phase: run.name.clone(),
            elapsed_ns: self.covered_ns,
            time_ns: run.time_ns,
            interval: interval.clone(),
            // Service time of the completed ops divided by the interval: Little's law.
            in_flight: delta.service_sum_ns() as f64 / length_ns as f64,
            fault_count,
            interval_fault_count: fault_count.saturating_sub(faults_before),
            faults: if fault_count > 0 { self.memory.reports.faults() } else { Vec::new() },
            short_count: readings.iter().map(Reading::short).sum(),
            working_set_bytes: run.working_set_bytes,
            depth_asked: self.members.iter().map(|member| member.depth).sum(),
            service: BTreeMap::from_iter(delta.kinds.into_iter().map(|(kind, reading)| (kind, reading.service))),
        });
        self.intervals.push(interval.clone());
        self.previous = readings;
        interval
    }
}
