//! The coordinator of one phase: starts the workers, releases them together, watches, stops and reads them.
#![allow(unsafe_code)]

use crate::clock::{Clock, Ticks};
use crate::control::CommonLimit;
use crate::gate::{Gate, PhaseMemory, WorkerSpec, worker_main};
use crate::recorder::Reading;
use crate::signals::StopFlag;
use plumb_result::{EndMeasurement, Interval, OpCounts, OpMeasurement, PhaseMeasurement, WorkerMeasurement};
use plumb_stats::steady;
use plumb_workload::{OpKind, RunAs, Steady, When};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Length of an entry of the interval series, ns.
pub const INTERVAL_NS: u64 = 1_000_000_000;

/// How long workers get to end after a signal. An op that hangs in the kernel cannot be called back.
const STOP_PATIENCE: Duration = Duration::from_millis(1200);

/// Longest wait between two looks at signals and dead processes.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// From the decision to start to the start, so that every worker sees it in time.
const RELEASE_DELAY_NS: u64 = 300_000;

/// A phase, planned down to its workers.
pub(crate) struct PhaseRun {
    pub(crate) name: String,
    pub(crate) workers: Vec<WorkerSpec>,
    pub(crate) groups: usize,
    pub(crate) run_as: Vec<RunAs>,
    pub(crate) ramp_ns: u64,
    pub(crate) time_ns: Option<u64>,
    pub(crate) limit: CommonLimit,
    pub(crate) when: When,
    pub(crate) steady: Option<Steady>,
    pub(crate) working_set_bytes: Option<u64>,
    /// Whether the flush counts.
    pub(crate) flush_inside_clock: bool,
}

/// What a phase looks like while it runs: the last second.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// The phase's name.
    pub phase: String,
    /// Since the end of the ramp, ns.
    pub elapsed_ns: u64,
    /// When it will end by time, since the end of the ramp, ns.
    pub time_ns: Option<u64>,
    /// The second that has just ended.
    pub interval: Interval,
    /// Mean ops in flight over it.
    pub in_flight: f64,
}

/// Looks on while a phase runs. Called by the coordinator, never by a worker.
pub(crate) trait PhaseWatcher {
    /// The workers are ready; the clock starts as this returns. With a ramp: at its end.
    fn clock_starts(&mut self);
    /// A second has passed.
    fn interval(&mut self, live: &Live);
    /// The clock has stopped.
    fn clock_stopped(&mut self);
    /// Flushes what the phase wrote; `None` where there is nothing to flush.
    fn flush(&mut self) -> Result<Option<u64>, String>;
}

/// Why a phase could not run.
#[derive(Debug, thiserror::Error)]
pub enum PhaseError {
    /// Shared memory, threads or processes could not be had.
    #[error("cannot start {what}: {source}; lower `count` or raise the limit on processes and memory")]
    Start {
        /// What was started.
        what: String,
        /// The system's word.
        source: io::Error,
    },
    /// A worker could not make itself ready.
    #[error("{worker}: {reason}")]
    Worker {
        /// Its name.
        worker: String,
        /// In words.
        reason: String,
    },
    /// The flush at the end failed.
    #[error("flushing at the end of phase `{phase}`: {reason}")]
    Flush {
        /// The phase.
        phase: String,
        /// In words.
        reason: String,
    },
}

/// A started worker.
enum Started {
    Thread,
    Process(libc::pid_t),
}

/// What a phase came to.
pub(crate) struct PhaseOutcome {
    pub(crate) measurement: PhaseMeasurement,
    /// Ops that each worker's source yielded.
    pub(crate) ops_yielded: Vec<u64>,
    /// A signal ended it.
    pub(crate) interrupted: bool,
}

fn start_workers(
    memory: &Arc<PhaseMemory>,
    run_as: &[RunAs],
    workers: Vec<WorkerSpec>,
) -> Result<Vec<Started>, PhaseError> {
    let mut started = Vec::with_capacity(workers.len());
    // Processes first: a fork copies only the calling thread, so the fewer threads hold locks the better.
    let mut order: Vec<(usize, WorkerSpec)> = workers.into_iter().enumerate().collect();
    order.sort_by_key(|(number, _)| run_as[*number] == RunAs::Thread);
    for (number, spec) in order {
        let gate = Gate::new(Arc::clone(memory), number, &spec);
        let error = |source| PhaseError::Start { what: spec.name.clone(), source };
        match run_as[number] {
            RunAs::Thread => {
                let (cpu, body) = (spec.cpu, spec.body);
                std::thread::Builder::new()
                    .name(format!("plumb-{number}"))
                    .spawn(move || worker_main(&gate, cpu, body))
                    .map_err(|source| PhaseError::Start { what: spec.name, source })?;
                started.push(Started::Thread);
            }
            RunAs::Process => {
                // SAFETY: the child runs only `worker_main` and `_exit`: it touches its own copy of this process's memory
                // and the shared phase memory. glibc and musl keep malloc usable after fork.
                match unsafe { libc::fork() } {
                    -1 => return Err(error(io::Error::last_os_error())),
                    0 => {
                        #[cfg(target_os = "linux")]
                        // SAFETY: no memory is passed. A killed coordinator takes its workers with it.
                        unsafe {
                            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL)
                        };
                        worker_main(&gate, spec.cpu, spec.body);
                        // SAFETY: ends the child without running the parent's exit handlers.
                        unsafe { libc::_exit(0) }
                    }
                    child => started.push(Started::Process(child)),
                }
            }
        }
    }
    Ok(started)
}

/// Reaps children that have ended. The number that died without saying so.
fn reap_children(started: &mut [Started]) -> u64 {
    let mut died = 0;
    for worker in started {
        if let Started::Process(child) = *worker {
            let mut status = 0;
            // SAFETY: writes into a live int; the child is ours and not yet reaped.
            if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == child {
                *worker = Started::Thread;
                if !(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0) {
                    died += 1;
                }
            }
        }
    }
    died
}

fn kill_children(started: &[Started]) {
    for worker in started {
        if let Started::Process(child) = *worker {
            // SAFETY: the child is ours and not yet reaped, so its number is not anybody else's.
            unsafe {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, std::ptr::null_mut(), 0);
            }
        }
    }
}

fn merged(readings: &[Reading]) -> Reading {
    let mut all = Reading::default();
    readings.iter().for_each(|reading| all.merge(reading));
    all
}

fn since(now: &[Reading], earlier: &[Reading]) -> Vec<Reading> {
    now.iter().zip(earlier).map(|(now, earlier)| now.since(earlier)).collect()
}

fn interval(start_ns: u64, length_ns: u64, reading: &Reading) -> Interval {
    let ops = reading
        .kinds
        .iter()
        .map(|(&kind, reading)| {
            let counts = OpCounts {
                count: reading.service.count(),
                bytes: reading.bytes,
                p50_ns: reading.service.quantile(0.5),
                p99_ns: reading.service.quantile(0.99),
                max_ns: reading.service.max(),
            };
            (kind, counts)
        })
        .collect();
    Interval { start_ns, length_ns, ops }
}

/// A worker that failed before it did anything is an error of the phase, not a result.
fn check_workers(measurement: &PhaseMeasurement) -> Result<(), PhaseError> {
    if measurement.count() > 0 || measurement.fault_count > 0 {
        return Ok(());
    }
    match measurement.workers.iter().find(|worker| worker.ended_by.is_some()) {
        None => Ok(()),
        Some(worker) => {
            Err(PhaseError::Worker { worker: worker.name.clone(), reason: worker.ended_by.clone().unwrap_or_default() })
        }
    }
}

/// Runs one phase to its end.
pub(crate) fn run_phase(
    run: PhaseRun,
    stop: StopFlag,
    watcher: &mut dyn PhaseWatcher,
) -> Result<PhaseOutcome, PhaseError> {
    let clock = Clock::best();
    let memory = PhaseMemory::new(clock, run.workers.len(), run.groups)
        .map_err(|source| PhaseError::Start { what: format!("phase `{}`", run.name), source })?;
    Coordinator::new(clock, Arc::new(memory), &run).run(run, stop, watcher)
}

/// The state of the coordinator's watch over a phase.
struct Coordinator {
    clock: Clock,
    memory: Arc<PhaseMemory>,
    workers: u64,
    names: Vec<String>,
    depths: Vec<u32>,
    intervals: Vec<Interval>,
    /// Readings at the end of the ramp, and at the end of the last interval.
    baseline: Vec<Reading>,
    previous: Vec<Reading>,
    died: u64,
}

impl Coordinator {
    fn new(clock: Clock, memory: Arc<PhaseMemory>, run: &PhaseRun) -> Coordinator {
        let empty = vec![Reading::default(); run.workers.len()];
        Coordinator {
            clock,
            memory,
            workers: run.workers.len() as u64,
            names: run.workers.iter().map(|worker| worker.name.clone()).collect(),
            depths: run.workers.iter().map(|worker| worker.depth).collect(),
            intervals: Vec::new(),
            baseline: empty.clone(),
            previous: empty,
            died: 0,
        }
    }

    fn run(
        mut self,
        mut run: PhaseRun,
        stop: StopFlag,
        watcher: &mut dyn PhaseWatcher,
    ) -> Result<PhaseOutcome, PhaseError> {
        let memory = Arc::clone(&self.memory);
        let control = memory.control.control();
        control.set_limit(run.limit);
        let workers = std::mem::take(&mut run.workers);
        let mut started = match start_workers(&memory, &run.run_as, workers) {
            Ok(started) => started,
            Err(error) => {
                control.request_stop();
                return Err(error);
            }
        };
        if let Err(error) = self.wait_ready(&mut started, stop) {
            control.request_stop();
            self.wait_done(&mut started, STOP_PATIENCE);
            kill_children(&started);
            return Err(error);
        }

        if run.ramp_ns == 0 {
            watcher.clock_starts();
        }
        let released_at = self.clock.now() + self.clock.ticks(RELEASE_DELAY_NS);
        let clock_zero = released_at + self.clock.ticks(run.ramp_ns);
        control.release(released_at, run.time_ns.map(|ns| clock_zero + self.clock.ticks(ns)));
        let watched = self.watch(&run, clock_zero, &mut started, stop, watcher);
        kill_children(&started);

        let flush = |watcher: &mut dyn PhaseWatcher| {
            watcher.flush().map_err(|reason| PhaseError::Flush { phase: run.name.clone(), reason })
        };
        let flush_ns = if run.flush_inside_clock {
            let flushed = flush(watcher);
            watcher.clock_stopped();
            flushed?
        } else {
            watcher.clock_stopped();
            flush(watcher)?
        };
        let end = EndMeasurement { flush_ns, inside_clock: run.flush_inside_clock };
        let measurement = self.measurement(&run, clock_zero, end, watched.steady);
        check_workers(&measurement)?;
        let yielded = |number| memory.reports.worker(number).ops_yielded.load(std::sync::atomic::Ordering::Relaxed);
        let ops_yielded = (0..measurement.workers.len()).map(yielded).collect();
        Ok(PhaseOutcome { measurement, ops_yielded, interrupted: watched.interrupted })
    }

    fn wait_ready(&mut self, started: &mut [Started], stop: StopFlag) -> Result<(), PhaseError> {
        let control = self.memory.control.control();
        while control.ready() + control.done() + self.died < self.workers && !stop.requested() {
            self.memory.bell.wait(LONGEST_WAIT);
            self.died += reap_children(started);
        }
        for (number, name) in self.names.iter().enumerate() {
            let reason = self.memory.reports.worker(number).failure.read();
            if !reason.is_empty() {
                let reason = String::from_utf8_lossy(&reason).into_owned();
                return Err(PhaseError::Worker { worker: name.clone(), reason });
            }
        }
        if self.died > 0 {
            let reason = format!("{} of {} worker processes died before the start", self.died, self.workers);
            return Err(PhaseError::Worker { worker: self.names.join(", "), reason });
        }
        Ok(())
    }

    fn all_done(&self) -> bool {
        self.memory.control.control().done() + self.died >= self.workers
    }

    fn wait_done(&mut self, started: &mut [Started], patience: Duration) {
        let give_up = std::time::Instant::now() + patience;
        while !self.all_done() && std::time::Instant::now() < give_up {
            self.memory.bell.wait(Duration::from_millis(10));
            self.died += reap_children(started);
        }
    }

    /// Watches the running phase: the end of the ramp, every interval, stop rules, signals, deaths.
    fn watch(
        &mut self,
        run: &PhaseRun,
        clock_zero: Ticks,
        started: &mut [Started],
        stop: StopFlag,
        watcher: &mut dyn PhaseWatcher,
    ) -> Watched {
        let memory = Arc::clone(&self.memory);
        let control = memory.control.control();
        let mut rounds = run.steady.map(SteadyRounds::new);
        let mut ramping = run.ramp_ns > 0;
        let mut watched = Watched { interrupted: false, steady: run.steady.map(|_| false) };
        loop {
            let next_end_ns = (self.intervals.len() as u64 + 1) * INTERVAL_NS;
            let next_at = if ramping { clock_zero } else { clock_zero + self.clock.ticks(next_end_ns) };
            let left = Duration::from_nanos(self.clock.ns_between(self.clock.now(), next_at));
            memory.bell.wait(left.min(LONGEST_WAIT));
            self.died += reap_children(started);
            if self.died > 0 || (run.when == When::FirstDone && control.done() > 0) {
                control.request_stop();
            }
            if self.all_done() {
                return watched;
            }
            if stop.requested() {
                watched.interrupted = true;
                control.request_stop();
                self.wait_done(started, STOP_PATIENCE);
                return watched;
            }
            let now = self.clock.now();
            if now < next_at {
                continue;
            }
            let readings = memory.cells.read();
            if ramping {
                ramping = false;
                watcher.clock_starts();
                self.baseline.clone_from(&readings);
                self.previous = readings;
                continue;
            }
            self.close_interval(run, INTERVAL_NS, readings, watcher);
            if let Some(rounds) = &mut rounds {
                match rounds.next(&self.intervals) {
                    SteadyState::Open => {}
                    SteadyState::Reached => {
                        watched.steady = Some(true);
                        control.request_stop();
                    }
                    SteadyState::GivenUp => control.request_stop(),
                }
            }
        }
    }

    fn close_interval(
        &mut self,
        run: &PhaseRun,
        length_ns: u64,
        readings: Vec<Reading>,
        watcher: &mut dyn PhaseWatcher,
    ) {
        let start_ns = self.intervals.len() as u64 * INTERVAL_NS;
        let mut delta = merged(&since(&readings, &self.previous));
        // The service time of what completed, spread over the interval: Little's law.
        let in_flight = delta.service_sum_ns() as f64 / length_ns as f64;
        delta.start_lag = plumb_result::Histogram::new();
        let interval = interval(start_ns, length_ns, &delta);
        watcher.interval(&Live {
            phase: run.name.clone(),
            elapsed_ns: start_ns + length_ns,
            time_ns: run.time_ns,
            interval: interval.clone(),
            in_flight,
        });
        self.intervals.push(interval);
        self.previous = readings;
    }

    fn measurement(
        mut self,
        run: &PhaseRun,
        clock_zero: Ticks,
        end: EndMeasurement,
        steady: Option<bool>,
    ) -> PhaseMeasurement {
        let now = self.clock.now();
        let reports = &self.memory.reports;
        let ends_ns: Vec<u64> = (0..self.names.len())
            .map(|number| {
                use std::sync::atomic::Ordering::Acquire;
                let ended_at = Some(reports.worker(number).ended_at.load(Acquire)).filter(|&at| at != 0).unwrap_or(now);
                self.clock.ns_between(clock_zero, ended_at)
            })
            .collect();
        let load_ns = ends_ns.iter().copied().max().unwrap_or(0);
        let flush_in_clock_ns = if end.inside_clock { end.flush_ns.unwrap_or(0) } else { 0 };
        let wall_ns = load_ns + flush_in_clock_ns;

        let readings = self.memory.cells.read();
        let closed_ns = self.intervals.len() as u64 * INTERVAL_NS;
        if load_ns > closed_ns {
            // A phase that ended between two ticks of a busy coordinator may be more than one interval ahead.
            let delta = merged(&since(&readings, &self.previous));
            self.intervals.push(interval(closed_ns, load_ns - closed_ns, &delta));
        }
        let by_worker = since(&readings, &self.baseline);
        let total = merged(&by_worker);
        let ops: BTreeMap<OpKind, OpMeasurement> = total
            .kinds
            .iter()
            .filter(|(_, reading)| !reading.service.is_empty())
            .map(|(&kind, reading)| {
                let response = (!reading.response.is_empty()).then(|| reading.response.clone());
                let measurement = OpMeasurement {
                    count: reading.service.count(),
                    bytes: reading.bytes,
                    service: reading.service.clone(),
                    response,
                };
                (kind, measurement)
            })
            .collect();
        let workers: Vec<WorkerMeasurement> = by_worker
            .iter()
            .enumerate()
            .map(|(number, reading)| self.worker(number, reading, ends_ns[number]))
            .collect();
        let mut fallbacks: Vec<String> = (0..self.names.len())
            .flat_map(|number| {
                let text = String::from_utf8_lossy(&reports.worker(number).fallbacks.read()).into_owned();
                text.lines().map(str::to_owned).collect::<Vec<_>>()
            })
            .collect();
        fallbacks.sort();
        fallbacks.dedup();
        PhaseMeasurement {
            name: run.name.clone(),
            wall_ns,
            first_done_ns: ends_ns.iter().copied().min(),
            ops,
            transactions: Some(total.transactions).filter(|&count| count > 0),
            intervals: self.intervals,
            in_flight_mean: if load_ns == 0 { 0.0 } else { total.service_sum_ns() as f64 / load_ns as f64 },
            start_lag: (!total.start_lag.is_empty()).then_some(total.start_lag),
            working_set_bytes: run.working_set_bytes,
            faults: reports.faults(),
            fault_count: total.errors + self.died,
            short_count: total.short,
            fallbacks,
            clock: self.clock.kind().name().to_owned(),
            clock_cost_ns: self.clock.cost_ns(),
            cpu_user_ns: workers.iter().map(|worker| worker.cpu_user_ns).sum(),
            cpu_system_ns: workers.iter().map(|worker| worker.cpu_system_ns).sum(),
            workers,
            end,
            steady,
        }
    }

    fn worker(&self, number: usize, reading: &Reading, wall_ns: u64) -> WorkerMeasurement {
        use std::sync::atomic::Ordering::{Acquire, Relaxed};
        let report = self.memory.reports.worker(number);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let count = |kind: OpKind| reading.kinds.get(&kind).map_or(0, |kind| kind.service.count());
        let fill_ns = report.fill_cost_ns.load(Relaxed) * count(OpKind::Write);
        let check_ns = report.check_cost_ns.load(Relaxed) * count(OpKind::Read);
        let failure = text(report.failure.read());
        let ended_by = match (failure.is_empty(), report.ended_at.load(Acquire)) {
            (false, _) => Some(failure),
            (true, 0) => {
                Some("it did not end when it was asked to: an op hangs in the kernel, or its process died".to_owned())
            }
            (true, _) => None,
        };
        WorkerMeasurement {
            name: self.names[number].clone(),
            backend: text(report.backend.read()),
            count: reading.count(),
            bytes: reading.bytes(),
            wall_ns,
            cpu_user_ns: report.cpu_user_ns.load(Relaxed),
            cpu_system_ns: report.cpu_system_ns.load(Relaxed),
            depth_asked: self.depths[number],
            in_flight_mean: if wall_ns == 0 { 0.0 } else { reading.service_sum_ns() as f64 / wall_ns as f64 },
            fill_ns: fill_ns + check_ns,
            ended_by,
        }
    }
}

/// How the watch over a phase ended.
struct Watched {
    interrupted: bool,
    steady: Option<bool>,
}

enum SteadyState {
    Open,
    Reached,
    GivenUp,
}

/// The steady-state rule over rounds of whole intervals.
struct SteadyRounds {
    rule: Steady,
    intervals_per_round: usize,
}

impl SteadyRounds {
    fn new(rule: Steady) -> SteadyRounds {
        SteadyRounds { rule, intervals_per_round: (rule.round.0.div_ceil(INTERVAL_NS)).max(1) as usize }
    }

    fn next(&mut self, intervals: &[Interval]) -> SteadyState {
        if !intervals.len().is_multiple_of(self.intervals_per_round) {
            return SteadyState::Open;
        }
        let rounds: Vec<f64> = intervals
            .chunks_exact(self.intervals_per_round)
            .map(|round| {
                let counts = |pick: fn(&OpCounts) -> u64| -> u64 {
                    round.iter().flat_map(|interval| interval.ops.values()).map(pick).sum()
                };
                // Bytes where there are any: op counts say little under mixed sizes.
                let bytes = counts(|ops| ops.bytes);
                if bytes > 0 { bytes as f64 } else { counts(|ops| ops.count) as f64 }
            })
            .collect();
        let rule = steady::Rule {
            window: self.rule.window,
            range: self.rule.range,
            slope: self.rule.slope,
            rounds_max: self.rule.max_rounds,
        };
        if steady::snia(&rounds, &rule).is_some() {
            SteadyState::Reached
        } else if rounds.len() >= self.rule.max_rounds as usize {
            SteadyState::GivenUp
        } else {
            SteadyState::Open
        }
    }
}
