//! Tests of the simulated device with the same workers and coordinator as on real time.

mod faults;
mod load;
mod models;
mod traps;

use super::backend::{SimCalls, SimQueue};
use super::run::Simulation;
use super::*;
use crate::barrier::{Barrier, Body, WorkerSpec};
use crate::bind::{bind_pacer, run_to_end};
use crate::control::CommonLimit;
use crate::instances::{AnyQueued, AnySource, run_any_queued};
use crate::observer::{Live, Observer};
use crate::op::BlockOp;
use crate::pacer::{FlowEntry, Pacing};
use crate::phase::PhaseRun;
use crate::phase_error::PhaseError;
use crate::plan::{GroupRun, WorkerRules};
use crate::rng::{Purpose, Rng, StreamId};
use crate::signals::StopFlag;
use crate::simulate::run_phase;
use crate::source::Source;
use crate::terms::{Budget, Ended, Queue};
use crate::worker_error::WorkerError;
use plumb_result::{Histogram, Interval, PhaseMeasurement, PhaseObservations};
use plumb_workload::{
    Bytes, CachePolicy, ClockScope, Limit, Nanos, OnError, OpKind, Pace, Phase, RunAs, SimTarget, Stop,
};
use std::ops::ControlFlow;

const SECOND: u64 = 1_000_000_000;
const GIB: u64 = 1 << 30;

/// Ops of one size: random or sequential, some of them writes, with a flush after every N.
#[derive(Debug, Clone)]
struct TestSource {
    size: u64,
    block: u32,
    sequential: bool,
    write_share: f64,
    fsync_every: u64,
    position: u64,
    count: u64,
    rng: Rng,
}

impl TestSource {
    fn random(block: u32) -> TestSource {
        let rng = StreamId { seed: 1, phase: 0, worker: 0 }.rng(Purpose::Offset);
        let (sequential, write_share, fsync_every) = (false, 0.0, 0);
        TestSource { size: 64 * GIB, block, sequential, write_share, fsync_every, position: 0, count: 0, rng }
    }
    fn sequential(block: u32) -> TestSource {
        TestSource { sequential: true, ..TestSource::random(block) }
    }
    fn writing(self) -> TestSource {
        TestSource { write_share: 1.0, ..self }
    }
}

impl Source for TestSource {
    type Op = BlockOp;
    fn next(&mut self) -> Option<BlockOp> {
        self.count += 1;
        if self.fsync_every > 0 && self.count.is_multiple_of(self.fsync_every + 1) {
            return Some(BlockOp::load(OpKind::Fsync, 0, 0, 0));
        }
        let block = u64::from(self.block);
        let offset =
            if self.sequential { self.position % self.size } else { self.rng.below(self.size / block) * block };
        self.position += block;
        let kind = if self.rng.unit() < self.write_share { OpKind::Write } else { OpKind::Read };
        Some(BlockOp::load(kind, 0, offset, self.block))
    }
}

/// Cycles through metadata ops, with a delay now and then.
#[derive(Debug, Clone)]
struct Steps(Vec<BlockOp>, usize);

impl Steps {
    fn from_kinds(kinds: &[OpKind]) -> Steps {
        Steps(kinds.iter().map(|&kind| BlockOp::load(kind, 0, 0, 0)).collect(), 0)
    }
}

impl Source for Steps {
    type Op = BlockOp;
    fn next(&mut self) -> Option<BlockOp> {
        self.1 += 1;
        Some(self.0[(self.1 - 1) % self.0.len()])
    }
    fn transactions(&self) -> Option<u64> {
        Some((self.1 / self.0.len()) as u64)
    }
}

fn target(device: &str) -> SimTarget {
    SimTarget {
        device: device.parse().unwrap(),
        size: Bytes(64 * GIB),
        files: None,
        preallocated_percent: 0,
        shares: None,
    }
}

fn phase(seconds: u64) -> Phase {
    Phase {
        cache: CachePolicy::Direct,
        stop: Stop { time: Some(Nanos(seconds * SECOND)), ..Stop::default() },
        ..Phase::new("phase", Vec::new())
    }
}

/// A worker with its source, depth and pace, on one of the simulation's devices.
struct SimWorker {
    name: String,
    group: usize,
    /// Name of its target.
    device: &'static str,
    depth: u32,
    pace: Pace,
    limit: Limit,
    on_error: OnError,
    arrivals: Rng,
    source: Box<dyn Source<Op = BlockOp> + Send>,
}

impl SimWorker {
    fn body(self, simulation: &Simulation, group_count: u32) -> Body {
        let SimWorker { depth, pace, arrivals, mut source, .. } = self;
        let device = simulation.device(self.device).unwrap();
        Box::new(move |barrier: &Barrier| {
            let pacing = Pacing {
                pace,
                depth,
                group_count,
                ramp: Nanos(0),
                paces_all: false,
                flow_home: None,
                flow_entry: FlowEntry::WithPhase,
            };
            let mut pacer = bind_pacer(&pacing, barrier, arrivals, None);
            if depth == 1 || device.is_serial() {
                let mut calls = SimCalls::new(device, |op: &BlockOp| op.file.into());
                return Ok(run_to_end(barrier, &mut *source, &mut calls, pacer.table()));
            }
            let Some(mut passed) = barrier.pass() else { return Ok(Ended::Stopped) };
            pacer.table().start(passed.started_at);
            let mut source = AnySource::Other(source);
            let mut backend = AnyQueued::Other(Box::new(SimQueue::new(device, depth)));
            let context = &mut passed.context;
            let ended = run_any_queued(context, &mut source, &mut backend, &mut pacer, Queue::with_depth(depth));
            passed.stop_clock();
            ended.map_err(|source| WorkerError::Backend { backend: "sim", source })
        })
    }
}

/// Result of one simulated phase.
#[derive(Debug, PartialEq)]
struct SimPhaseOutcome {
    measurement: PhaseMeasurement,
    observations: PhaseObservations,
    interrupted: bool,
}

/// Forwards intervals, and keeps the observations.
struct Listener<'a> {
    on_interval: &'a mut dyn FnMut(&Interval) -> ControlFlow<()>,
    stop: StopFlag,
    observations: Option<PhaseObservations>,
}

impl Observer for Listener<'_> {
    fn interval(&mut self, live: &Live) {
        if (self.on_interval)(&live.interval).is_break() {
            self.stop.request();
        }
    }

    fn simulated(&mut self, phase: PhaseObservations) {
        self.observations = Some(phase);
    }
}

impl Simulation {
    fn run_phase(
        &mut self,
        phase: &Phase,
        workers: Vec<SimWorker>,
        working_set_bytes: Option<u64>,
        on_interval: &mut dyn FnMut(&Interval) -> ControlFlow<()>,
    ) -> Result<SimPhaseOutcome, PhaseError> {
        let groups = workers.iter().map(|worker| worker.group + 1).max().unwrap_or(0);
        let count_of = |group| workers.iter().filter(|worker| worker.group == group).count() as u32;
        let counts: Vec<u32> = (0..groups).map(count_of).collect();
        let shares_limit = phase.stop.ops.is_some() || phase.stop.bytes.is_some();
        let specs = workers.into_iter().map(|worker| WorkerSpec {
            name: worker.name.clone(),
            group: worker.group,
            depth: worker.depth,
            cpu: None,
            rules: WorkerRules {
                budget: Budget {
                    ops: worker.limit.ops.unwrap_or(u64::MAX),
                    bytes: worker.limit.bytes.map_or(u64::MAX, |bytes| bytes.0),
                    shares_limit,
                },
                on_error: worker.on_error,
                ..WorkerRules::default()
            },
            body: {
                let count = counts[worker.group];
                worker.body(self, count)
            },
        });
        let workers: Vec<WorkerSpec> = specs.collect();
        let run = PhaseRun {
            name: phase.name.clone(),
            run_as: vec![RunAs::Thread; workers.len()],
            workers,
            groups: vec![GroupRun::default(); groups],
            ramp_ns: phase.ramp.0,
            time_ns: phase.stop.time.map(|time| time.0),
            limit: CommonLimit { ops: phase.stop.ops, bytes: phase.stop.bytes.map(|bytes| bytes.0) },
            when: phase.stop.when,
            steady: phase.stop.steady,
            working_set_bytes,
            flush_inside_clock: phase.end.clock == ClockScope::Inside,
            board: None,
            replay: None,
            others: None,
        };
        let stop = StopFlag::detached();
        let mut listener = Listener { on_interval, stop, observations: None };
        let outcome = run_phase(phase, run, self, stop, &mut listener)?;
        Ok(SimPhaseOutcome {
            measurement: outcome.measurement,
            observations: listener.observations.unwrap(),
            interrupted: outcome.interrupted,
        })
    }
}

fn worker(source: impl Source<Op = BlockOp> + Send + 'static, depth: u32) -> SimWorker {
    SimWorker {
        name: "workers.0/0".to_owned(),
        group: 0,
        device: "disk",
        depth,
        pace: Pace::default(),
        limit: Limit::default(),
        on_error: OnError::Continue,
        arrivals: StreamId { seed: 1, phase: 0, worker: 0 }.rng(Purpose::Arrival),
        source: Box::new(source),
    }
}

fn run(index: u32) -> SimRun {
    SimRun { seed: 42, run_index: index, plot_index: 0 }
}

/// Runs one phase on a new device.
fn simulate(device: &str, index: u32, phase: &Phase, workers: Vec<SimWorker>) -> SimPhaseOutcome {
    let target = target(device);
    let mut simulation = Simulation::new([("disk", &target)], run(index));
    simulation.run_phase(phase, workers, None, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Runs one worker for `seconds` of virtual time, bypassing the cache.
fn measure(device: &str, seconds: u64, source: TestSource, depth: u32) -> PhaseMeasurement {
    simulate(device, 0, &phase(seconds), vec![worker(source, depth)]).measurement
}

fn rate(measurement: &PhaseMeasurement) -> f64 {
    measurement.per_second(measurement.count()).unwrap()
}

fn bandwidth(measurement: &PhaseMeasurement) -> f64 {
    measurement.per_second(measurement.bytes()).unwrap()
}

fn service(measurement: &PhaseMeasurement, kind: OpKind) -> &Histogram {
    &measurement.ops[&kind].service
}
