//! The phases of a run, and what was measured of one.

use plumb_result::histogram::Histogram;
use plumb_result::{Fault, PhaseMeasurement, WorkerMeasurement};
use plumb_workload::OpKind;

/// A kind of phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// Data sets and objects are made.
    Precreate,
    /// They are renewed.
    Benchmark,
    /// What is left is removed.
    Cleanup,
}

/// A phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Which.
    pub kind: PartKind,
    /// Number of the benchmark's iteration; for what comes behind it, of all that there were.
    pub iteration: u32,
    /// Wait behind each operation, millionths of its time.
    pub waits_ppm: u64,
}

/// What an adaptive iteration waits, millionths: nothing, then a sixteenth of the time, and twice as much each time.
const ADAPTIVE_PPM: [u64; 8] = [0, 62_500, 125_000, 250_000, 500_000, 1_000_000, 2_000_000, 4_000_000];

impl Part {
    /// The phases of these settings, in their order.
    pub fn all(settings: &super::MdWorkbenchSettings) -> Vec<Part> {
        let part = |kind, iteration, waits_ppm| Part { kind, iteration, waits_ppm };
        let waits: &[u64] = if settings.waits.adapts { &ADAPTIVE_PPM } else { &[settings.waits.ppm] };
        // Outside of the benchmark nothing is waited, but files of latencies are named by the last wait.
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

    /// What md-workbench calls it.
    pub fn word(&self) -> &'static str {
        match self.kind {
            PartKind::Precreate => "precreate",
            PartKind::Benchmark => "benchmark",
            PartKind::Cleanup => "cleanup",
        }
    }

    /// The name of its phase.
    pub fn phase(&self, settings: &super::MdWorkbenchSettings) -> String {
        match self.kind {
            PartKind::Benchmark if settings.waits.adapts => {
                format!("benchmark-{}-wait-{}", self.iteration, self.factor())
            }
            PartKind::Benchmark => format!("benchmark-{}", self.iteration),
            _ => self.word().to_owned(),
        }
    }

    /// The wait, as a share of an operation's time.
    pub fn factor(&self) -> f64 {
        self.waits_ppm as f64 / 1e6
    }

    /// Its operations, with the names under which they are written to files.
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

/// What was measured of a phase, of all ranks or of one.
#[derive(Debug, Clone, Default)]
pub struct Sums {
    /// Of the slowest rank, ns.
    pub time_ns: u64,
    /// Of each rank, ns.
    pub times_ns: Vec<u64>,
    /// By kind of operation.
    latencies: Vec<(OpKind, Histogram)>,
    /// Operations that failed, and objects that were not what was written.
    pub errors: u64,
    /// The first of them.
    pub faults: Vec<Fault>,
    /// How often each rank had renewed its data sets when it met the stonewall; empty where there was none.
    pub at_wall: Vec<u64>,
}

impl Sums {
    /// Of all ranks.
    pub fn of(measured: &PhaseMeasurement) -> Sums {
        let mut sums = Sums { errors: measured.fault_count, faults: measured.faults.clone(), ..Sums::default() };
        measured.workers.iter().for_each(|rank| sums.add(rank));
        sums
    }

    /// Of one of them.
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
            // An empty object is opened and closed.
            let kind = if kind == OpKind::Open { OpKind::Read } else { kind };
            match self.latencies.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, latency)) => latency.merge(&op.service),
                None => self.latencies.push((kind, op.service.clone())),
            }
        }
    }

    /// Whether an object was read that was not what was written, as far as the errors are known that were kept.
    pub fn read_what_was_not_written(&self) -> bool {
        self.faults.iter().any(|fault| fault.op == OpKind::Read && fault.errno.is_none())
    }

    /// Times of single operations of a kind.
    pub fn latency(&self, kind: OpKind) -> Option<&Histogram> {
        self.latencies.iter().find(|(other, _)| *other == kind).map(|(_, latency)| latency)
    }

    /// How many there were.
    pub fn count(&self, kind: OpKind) -> u64 {
        self.latency(kind).map_or(0, Histogram::count)
    }

    /// The longest of all that are of objects, s.
    pub fn longest_s(&self) -> f64 {
        let of_objects = self.latencies.iter().filter(|(kind, _)| !matches!(kind, OpKind::Mkdir | OpKind::Rmdir));
        of_objects.filter_map(|(_, latency)| latency.max()).max().unwrap_or(0) as f64 / 1e9
    }

    /// Operations per second, as md-workbench counts them.
    pub fn rate(&self, part: &Part, reads_only: bool) -> f64 {
        let count = match part.kind {
            PartKind::Precreate => self.count(OpKind::Mkdir) + self.count(OpKind::Create),
            PartKind::Benchmark => self.count(OpKind::Read) * if reads_only { 2 } else { 4 },
            PartKind::Cleanup => self.count(OpKind::Unlink) + self.count(OpKind::Rmdir),
        };
        self.per_second(count)
    }

    /// A count per second.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 * 1e9 / self.time_ns.max(1) as f64
    }
}
