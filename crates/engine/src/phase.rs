//! The coordinator of one phase: starts the workers, releases them together, watches, stops and reads them.

use crate::clock::{Clock, Ticks};
use crate::control::CommonLimit;
use crate::crew::Crew;
use crate::fault::Yielded;
use crate::gate::{PhaseMemory, WorkerSpec};
use crate::recorder::Reading;
use crate::rounds::{SteadyRounds, SteadyState};
use crate::signals::StopFlag;
use plumb_result::measurement::Fault;
use plumb_result::{EndMeasurement, Interval, OpCounts, OpMeasurement, PhaseMeasurement, WorkerMeasurement};
use plumb_workload::{OpKind, RunAs, Steady, When};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Duration;

/// Length of an entry of the interval series, ns.
pub const INTERVAL_NS: u64 = 1_000_000_000;

/// How long workers get to end after a signal. An op that hangs in the kernel cannot be called back.
const STOP_PATIENCE: Duration = Duration::from_millis(1000);

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
    /// Errors of ops since the phase began.
    pub fault_count: u64,
    /// The first of them.
    pub faults: Vec<Fault>,
    /// Reads and writes since the end of the ramp that moved fewer bytes than asked.
    pub short_count: u64,
    /// See [`PhaseMeasurement::working_set_bytes`].
    pub working_set_bytes: Option<u64>,
    /// Asked ops in flight, all workers together.
    pub depth_asked: u32,
}

/// Looks on while a phase runs. Called by the coordinator, never by a worker.
pub(crate) trait PhaseWatcher {
    /// The workers are ready; the clock starts as this returns. With a ramp: at its end.
    fn clock_starts(&mut self);
    /// A second has passed.
    fn interval(&mut self, live: &Live);
    /// The clock has stopped.
    fn clock_stopped(&mut self);
    /// Flushes what the phase wrote, and says how long that took, ns; `None` where there is nothing to flush.
    fn flush(&mut self) -> Result<Option<u64>, Box<Fault>>;
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
}

/// What a phase came to.
pub(crate) struct PhaseOutcome {
    pub(crate) measurement: PhaseMeasurement,
    /// How far each worker's source came, as far as it said so.
    pub(crate) yielded: Vec<Option<Yielded>>,
    /// A signal ended it.
    pub(crate) interrupted: bool,
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

/// From where to where a phase is measured.
struct Span {
    clock_zero: Ticks,
    /// For workers that have not said when they ended.
    over_at: Ticks,
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
    crew: Crew,
    names: Vec<String>,
    depths: Vec<u32>,
    intervals: Vec<Interval>,
    /// Length of all of them.
    covered_ns: u64,
    /// Readings at the end of the ramp, and at the end of the last interval.
    baseline: Vec<Reading>,
    previous: Vec<Reading>,
}

/// How the watch over a phase ended.
struct Watched {
    /// Where the measured time begins; `None` where the phase ended in its ramp.
    clock_zero: Option<Ticks>,
    interrupted: bool,
    steady: Option<bool>,
}

impl Coordinator {
    fn new(clock: Clock, memory: Arc<PhaseMemory>, run: &PhaseRun) -> Coordinator {
        let empty = vec![Reading::default(); run.workers.len()];
        Coordinator {
            clock,
            crew: Crew::new(Arc::clone(&memory)),
            memory,
            names: run.workers.iter().map(|worker| worker.name.clone()).collect(),
            depths: run.workers.iter().map(|worker| worker.depth).collect(),
            intervals: Vec::new(),
            covered_ns: 0,
            baseline: empty.clone(),
            previous: empty,
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
        // What is done in the ramp uses nothing up.
        control.set_limit(if run.ramp_ns == 0 { run.limit } else { CommonLimit::default() });
        let workers = std::mem::take(&mut run.workers);
        let ready = self.crew.start(&run.run_as, workers).and_then(|()| self.wait_ready(stop));
        if let Err(error) = ready {
            control.request_stop();
            self.crew.wait_done(STOP_PATIENCE);
            return Err(error);
        }

        if run.ramp_ns == 0 {
            watcher.clock_starts();
        }
        let released_at = self.clock.now() + self.clock.ticks(RELEASE_DELAY_NS);
        let ramp_ends_at = released_at + self.clock.ticks(run.ramp_ns);
        control.release(released_at, run.time_ns.map(|ns| ramp_ends_at + self.clock.ticks(ns)));
        let watched = self.watch(&run, ramp_ends_at, stop, watcher);
        let over_at = self.clock.now();
        let clock_zero = watched.clock_zero.unwrap_or_else(|| {
            watcher.clock_starts();
            // Nothing has been measured.
            self.baseline = self.memory.cells.read();
            self.previous.clone_from(&self.baseline);
            over_at
        });
        let readings = self.memory.cells.read();

        // Who presses Ctrl-C waits for no disk: what is dirty is removed with the test data.
        let flush = |watcher: &mut dyn PhaseWatcher| if watched.interrupted { Ok(None) } else { watcher.flush() };
        let flushed = if run.flush_inside_clock {
            let flushed = flush(watcher);
            watcher.clock_stopped();
            flushed
        } else {
            watcher.clock_stopped();
            flush(watcher)
        };
        let (flush_ns, fault) = match flushed {
            Ok(flush_ns) => (flush_ns, None),
            Err(fault) => (None, Some(*fault)),
        };
        let end = EndMeasurement { flush_ns, inside_clock: run.flush_inside_clock };
        let reports = &memory.reports;
        let yielded = (0..self.names.len()).map(|number| reports.worker(number).yielded()).collect();
        let mut measurement = self.measurement(&run, Span { clock_zero, over_at }, readings, end);
        measurement.steady = watched.steady;
        measurement.fault_count += u64::from(fault.is_some());
        measurement.faults.extend(fault);
        if !watched.interrupted {
            check_workers(&measurement)?;
        }
        Ok(PhaseOutcome { measurement, yielded, interrupted: watched.interrupted })
    }

    fn wait_ready(&mut self, stop: StopFlag) -> Result<(), PhaseError> {
        while !self.crew.all_ready() && !stop.requested() {
            self.crew.wait(LONGEST_WAIT);
        }
        for (number, name) in self.names.iter().enumerate() {
            let reason = self.memory.reports.worker(number).failure.read();
            if !reason.is_empty() {
                let reason = String::from_utf8_lossy(&reason).into_owned();
                return Err(PhaseError::Worker { worker: name.clone(), reason });
            }
        }
        Ok(())
    }

    /// Watches the running phase: the end of the ramp, every interval, stop rules, signals, deaths.
    fn watch(
        &mut self,
        run: &PhaseRun,
        ramp_ends_at: Ticks,
        stop: StopFlag,
        watcher: &mut dyn PhaseWatcher,
    ) -> Watched {
        let memory = Arc::clone(&self.memory);
        let control = memory.control.control();
        let mut rounds = run.steady.map(SteadyRounds::new);
        let mut watched = Watched {
            clock_zero: (run.ramp_ns == 0).then_some(ramp_ends_at),
            interrupted: false,
            steady: run.steady.map(|_| false),
        };
        loop {
            let next_at = match watched.clock_zero {
                None => ramp_ends_at,
                Some(zero) => zero + self.clock.ticks(self.covered_ns + INTERVAL_NS),
            };
            let left = Duration::from_nanos(self.clock.ns_between(self.clock.now(), next_at));
            self.crew.wait(left.min(LONGEST_WAIT));
            if self.crew.died() > 0 || (run.when == When::FirstDone && control.done() > 0) {
                control.request_stop();
            }
            if self.crew.all_done() {
                return watched;
            }
            if stop.requested() {
                watched.interrupted = true;
                control.request_stop();
                self.crew.wait_done(STOP_PATIENCE);
                return watched;
            }
            let now = self.clock.now();
            if now < next_at {
                continue;
            }
            let Some(zero) = watched.clock_zero else {
                // The measured time begins where the ramp's ops were read, however late that is.
                watched.clock_zero = Some(now);
                self.baseline = memory.cells.read();
                self.previous.clone_from(&self.baseline);
                control.set_limit(run.limit);
                watcher.clock_starts();
                continue;
            };
            // A coordinator that was held up makes a longer interval, and no empty ones that never were.
            let whole = (self.clock.ns_between(zero, now).saturating_sub(self.covered_ns) / INTERVAL_NS).max(1);
            let interval = self.close_interval(run, whole * INTERVAL_NS, memory.cells.read(), watcher);
            match rounds.as_mut().map_or(SteadyState::Open, |rounds| rounds.next(&interval)) {
                SteadyState::Open => {}
                SteadyState::Reached => {
                    watched.steady = Some(true);
                    control.request_stop();
                }
                SteadyState::GivenUp => control.request_stop(),
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
        self.covered_ns += length_ns;
        let count = |readings: &[Reading], of: fn(&Reading) -> u64| readings.iter().map(of).sum::<u64>();
        let fault_count = count(&readings, |reading| reading.errors);
        let short_count = count(&readings, |reading| reading.short) - count(&self.baseline, |reading| reading.short);
        watcher.interval(&Live {
            phase: run.name.clone(),
            elapsed_ns: self.covered_ns,
            time_ns: run.time_ns,
            interval: interval.clone(),
            // The service time of what completed, spread over the interval: Little's law.
            in_flight: delta.service_sum_ns() as f64 / length_ns as f64,
            fault_count,
            faults: if fault_count > 0 { self.memory.reports.faults() } else { Vec::new() },
            short_count,
            working_set_bytes: run.working_set_bytes,
            depth_asked: self.depths.iter().sum(),
        });
        self.intervals.push(interval.clone());
        self.previous = readings;
        interval
    }

    fn measurement(
        mut self,
        run: &PhaseRun,
        span: Span,
        readings: Vec<Reading>,
        end: EndMeasurement,
    ) -> PhaseMeasurement {
        let reports = &self.memory.reports;
        let ends_ns: Vec<u64> = (0..self.names.len())
            .map(|number| {
                let ended_at = reports.worker(number).ended_at.load(Acquire);
                self.clock.ns_between(span.clock_zero, if ended_at == 0 { span.over_at } else { ended_at })
            })
            .collect();
        let load_ns = ends_ns.iter().copied().max().unwrap_or(0);
        let flush_in_clock_ns = if end.inside_clock { end.flush_ns.unwrap_or(0) } else { 0 };

        if load_ns > self.covered_ns {
            let delta = merged(&since(&readings, &self.previous));
            self.intervals.push(interval(self.covered_ns, load_ns - self.covered_ns, &delta));
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
                    ..OpMeasurement::default()
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
        // An error in the ramp is no measurement, but it is news.
        let errors: u64 = readings.iter().map(|reading| reading.errors).sum();
        PhaseMeasurement {
            name: run.name.clone(),
            wall_ns: load_ns + flush_in_clock_ns,
            first_done_ns: ends_ns.iter().copied().min(),
            ops,
            transactions: Some(total.transactions).filter(|&count| count > 0),
            intervals: self.intervals,
            in_flight_mean: if load_ns == 0 { 0.0 } else { total.service_sum_ns() as f64 / load_ns as f64 },
            start_lag: (!total.start_lag.is_empty()).then_some(total.start_lag),
            working_set_bytes: run.working_set_bytes,
            faults: reports.faults(),
            fault_count: errors + self.crew.died(),
            short_count: total.short,
            fallbacks,
            clock: self.clock.kind().name().to_owned(),
            clock_cost_ns: self.clock.cost_ns(),
            cpu_user_ns: workers.iter().map(|worker| worker.cpu_user_ns).sum(),
            cpu_system_ns: workers.iter().map(|worker| worker.cpu_system_ns).sum(),
            workers,
            end,
            steady: None,
        }
    }

    fn worker(&self, number: usize, reading: &Reading, wall_ns: u64) -> WorkerMeasurement {
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
            // Where there is no count per thread, there is none.
            sleeps: cfg!(target_os = "linux").then(|| report.sleeps.load(Relaxed)),
            depth_asked: self.depths[number],
            in_flight_mean: if wall_ns == 0 { 0.0 } else { reading.service_sum_ns() as f64 / wall_ns as f64 },
            fill_ns: fill_ns + check_ns,
            ended_by,
            ..WorkerMeasurement::default()
        }
    }
}
