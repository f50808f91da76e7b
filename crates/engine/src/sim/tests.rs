//! Tests of the simulated device through its public door.

mod faults;
mod load;
mod models;
mod traps;

use super::*;
use crate::op::BlockOp;
use crate::rng::{Purpose, Rng, StreamId};
use crate::source::Source;
use plumb_result::{Histogram, PhaseMeasurement};
use plumb_workload::{Bytes, CachePolicy, Limit, Nanos, OnError, OpKind, Pace, Phase, SimTarget, Stop};
use std::ops::ControlFlow;

const SECOND: u64 = 1_000_000_000;
const GIB: u64 = 1 << 30;

/// Ops of one size: random or sequential, some of them writes, with a flush after every so many.
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

/// Metadata ops in turn, with a delay now and then.
#[derive(Debug, Clone)]
struct Steps(Vec<BlockOp>, usize);

impl Steps {
    fn of(kinds: &[OpKind]) -> Steps {
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
    SimTarget { device: device.parse().unwrap(), size: Bytes(64 * GIB), files: None, preallocated_percent: 0 }
}

fn phase(seconds: u64) -> Phase {
    Phase {
        cache: CachePolicy::Direct,
        stop: Stop { time: Some(Nanos(seconds * SECOND)), ..Stop::default() },
        ..Phase::new("phase", Vec::new())
    }
}

fn worker<S: Source>(source: S, depth: u32) -> SimWorker<S> {
    SimWorker {
        name: "workers.0/0".to_owned(),
        group: 0,
        device: 0,
        depth,
        pace: Pace::default(),
        limit: Limit::default(),
        on_error: OnError::Continue,
        arrivals: StreamId { seed: 1, phase: 0, worker: 0 }.rng(Purpose::Arrival),
        file: |_| 0,
        source,
    }
}

fn run(index: u32) -> SimRun {
    SimRun { seed: 42, run_index: index, plot_index: 0 }
}

/// One phase on a fresh device.
fn simulate<S: Source>(device: &str, index: u32, phase: &Phase, workers: Vec<SimWorker<S>>) -> SimPhaseOutcome {
    let target = target(device);
    let mut simulation = Simulation::new([("disk", &target)], run(index));
    simulation.run_phase(phase, workers, None, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// One worker for so many virtual seconds, cache bypassed.
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
