//! The phases of a run, and their measurements.

use plumb_result::histogram::Histogram;
use plumb_result::{Fault, PhaseMeasurement, WorkerMeasurement};
use plumb_workload::OpKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// Data sets and objects are created.
    Precreate,
    Benchmark,
    /// The remaining objects are removed.
    Cleanup,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub kind: PartKind,
    /// Index of the benchmark's iteration; after the benchmark, the number of iterations.
    pub iteration: u32,
    /// Wait after each operation, in millionths of its time.
    pub waits_ppm: u64,
}

/// Waits of an adaptive iteration, in millionths of an operation's time: none, a sixteenth, then doubled each time.
const ADAPTIVE_PPM: [u64; 8] = [0, 62_500, 125_000, 250_000, 500_000, 1_000_000, 2_000_000, 4_000_000];

impl Part {
    /// Returns the phases of these settings, in order.
    pub fn all(settings: &super::MdWorkbenchSettings) -> Vec<Part> {
        let part = |kind, iteration, waits_ppm| Part { kind, iteration, waits_ppm };
        let waits: &[u64] = if settings.waits.adapts { &ADAPTIVE_PPM } else { &[settings.waits.ppm] };
        // Phases outside of the benchmark do not wait, but the names of latency files contain the last wait.
        let (first, last) = match settings.waits.adapts {
            true => (settings.waits.ppm, if settings.phases.benchmarks { 8_000_000 } else { settings.waits.ppm }),
            false => (settings.waits.ppm, settings.waits.ppm),
        };
        let iterations = if settings.phases.benchmarks { settings.phases.iterations } else { 0 };
        let before = settings.phases.precreates.then(|| part(PartKind::Precreate, 0, first));
        let after = settings.phases.cleans_up.then(|| part(PartKind::Cleanup, iterations, last));
        let benchmark =
            (0..iterations).flat_map(|number| waits.iter().map(move |&ppm| part(PartKind::Benchmark, number, ppm)));
        before.into_iter().chain(benchmark).chain(after).collect()
    }

    /// Returns md-workbench's name for it.
    pub fn word(&self) -> &'static str {
        match self.kind {
            PartKind::Precreate => "precreate",
            PartKind::Benchmark => "benchmark",
            PartKind::Cleanup => "cleanup",
        }
    }

    /// Returns the name of its phase.
    pub fn phase(&self, settings: &super::MdWorkbenchSettings) -> String {
        match self.kind {
            PartKind::Benchmark if settings.waits.adapts => {
                format!("benchmark-{}-wait-{}", self.iteration, self.factor())
            }
            PartKind::Benchmark => format!("benchmark-{}", self.iteration),
            _ => self.word().to_owned(),
        }
    }

    /// Returns the wait as a share of an operation's time.
    pub fn factor(&self) -> f64 {
        self.waits_ppm as f64 / 1e6
    }

    /// Returns its operations, with the names used in files.
    pub fn ops(&self) -> &'static [(OpKind, &'static str)] {
        match self.kind {
            PartKind::Precreate => &[(OpKind::Create, "precreate")],
            PartKind::Benchmark => &[
                (OpKind::Read, "read"),
                (OpKind::Stat, "stat"),
                (OpKind::Create, "create"),
                (OpKind::Unlink, "delete"),
            ],
            PartKind::Cleanup => &[(OpKind::Unlink, "cleanup")],
        }
    }
}

/// Measurement of a phase, of all ranks or of one.
#[derive(Debug, Clone, Default)]
pub struct Sums {
    /// Time of the slowest rank, ns.
    pub time_ns: u64,
    /// Time of each rank, ns.
    pub times_ns: Vec<u64>,
    /// Latencies by kind of operation.
    latencies: Vec<(OpKind, Histogram)>,
    /// Number of failed operations, and of objects with wrong data.
    pub errors: u64,
    /// The first of the errors.
    pub faults: Vec<Fault>,
    /// Renewals of each rank's data sets before the stonewall; empty without a stonewall.
    pub at_wall: Vec<u64>,
}

impl Sums {
    /// Sums up the measurements of all ranks.
    pub fn from_measurement(measured: &PhaseMeasurement) -> Sums {
        let mut sums = Sums { errors: measured.fault_count, faults: measured.faults.clone(), ..Sums::default() };
        measured.workers.iter().for_each(|rank| sums.add(rank));
        sums
    }

    /// Returns the measurement of one rank.
    pub fn of_rank(rank: &WorkerMeasurement) -> Sums {
        let mut sums = Sums { errors: rank.fault_count, ..Sums::default() };
        sums.add(rank);
        sums
    }

    fn add(&mut self, rank: &WorkerMeasurement) {
        self.time_ns = self.time_ns.max(rank.wall_ns);
        self.times_ns.push(rank.wall_ns);
        self.at_wall.extend(rank.items_at_wall);
        for (&kind, op) in &rank.ops {
            // An empty object is opened and closed, but not read.
            let kind = if kind == OpKind::Open { OpKind::Read } else { kind };
            match self.latencies.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, latency)) => latency.merge(&op.service),
                None => self.latencies.push((kind, op.service.clone())),
            }
        }
    }

    /// Returns `true` if an object had wrong data, as far as the kept errors show.
    pub fn read_what_was_not_written(&self) -> bool {
        self.faults.iter().any(|fault| fault.op == OpKind::Read && fault.errno.is_none())
    }

    /// Returns the latencies of one kind of operation.
    pub fn latency(&self, kind: OpKind) -> Option<&Histogram> {
        self.latencies.iter().find(|(other, _)| *other == kind).map(|(_, latency)| latency)
    }

    /// Returns the number of operations of a kind.
    pub fn count(&self, kind: OpKind) -> u64 {
        self.latency(kind).map_or(0, Histogram::count)
    }

    /// Returns the longest operation on an object, s.
    pub fn longest_s(&self) -> f64 {
        let of_objects = self.latencies.iter().filter(|(kind, _)| !matches!(kind, OpKind::Mkdir | OpKind::Rmdir));
        of_objects.filter_map(|(_, latency)| latency.max()).max().unwrap_or(0) as f64 / 1e9
    }

    /// Returns the operations per second, as md-workbench counts them.
    pub fn rate(&self, part: &Part, reads_only: bool) -> f64 {
        let count = match part.kind {
            PartKind::Precreate => self.count(OpKind::Mkdir) + self.count(OpKind::Create),
            PartKind::Benchmark => self.count(OpKind::Read) * if reads_only { 2 } else { 4 },
            PartKind::Cleanup => self.count(OpKind::Unlink) + self.count(OpKind::Rmdir),
        };
        self.per_second(count)
    }

    /// Returns a count per second.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 * 1e9 / self.time_ns.max(1) as f64
    }
}
