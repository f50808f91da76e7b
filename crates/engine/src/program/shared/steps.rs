//! Statistics of single steps: counters with one writer, which only grow.

use plumb_result::measurement::StepMeasurement;
use plumb_workload::OpKind;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Number of buckets. Bucket i counts times from 2^(i - 1) to below 2^i ns; the last one counts all longer times too.
const BUCKETS: usize = 64;

/// Counters of one worker's step.
pub(super) struct StepCells {
    pub(super) count: AtomicU64,
    pub(super) bytes: AtomicU64,
    total_ns: AtomicU64,
    /// Shortest time plus one; 0 if there is none yet.
    shortest_ns: AtomicU64,
    longest_ns: AtomicU64,
    /// Number of times that the step found no file.
    pub(super) dry: AtomicU64,
    buckets: [AtomicU64; BUCKETS],
}

impl StepCells {
    fn new() -> StepCells {
        StepCells {
            count: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            total_ns: AtomicU64::new(0),
            shortest_ns: AtomicU64::new(0),
            longest_ns: AtomicU64::new(0),
            dry: AtomicU64::new(0),
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
        }
    }

    /// Records ops of the step that took `ns` together. Only the step's worker calls this.
    #[inline]
    pub(super) fn record(&self, ops: u64, bytes: u64, ns: u64) {
        let add = |cell: &AtomicU64, number: u64| cell.store(cell.load(Relaxed) + number, Relaxed);
        add(&self.bytes, bytes);
        add(&self.total_ns, ns);
        let shortest = self.shortest_ns.load(Relaxed);
        if shortest == 0 || ns < shortest - 1 {
            self.shortest_ns.store(ns + 1, Relaxed);
        }
        if ns > self.longest_ns.load(Relaxed) {
            self.longest_ns.store(ns, Relaxed);
        }
        let bucket = (u64::BITS - ns.leading_zeros()).min(BUCKETS as u32 - 1);
        add(&self.buckets[bucket as usize], 1);
        add(&self.count, ops);
    }
}

/// Identifies a step of a group of workers in the results.
pub(super) struct StepName {
    pub(super) name: String,
    /// Name of the group.
    pub(super) group: String,
    pub(super) kind: Option<OpKind>,
}

/// The statistics of all steps and workers of a phase.
pub(crate) struct Board {
    groups: Vec<GroupBoard>,
}

pub(super) struct GroupBoard {
    pub(super) steps: Vec<StepName>,
    pub(super) workers: Vec<Box<[StepCells]>>,
}

impl GroupBoard {
    pub(super) fn new(steps: Vec<StepName>, workers: u32) -> GroupBoard {
        let row = || steps.iter().map(|_| StepCells::new()).collect();
        GroupBoard { workers: (0..workers).map(|_| row()).collect(), steps }
    }
}

impl Board {
    pub(super) fn new(groups: Vec<GroupBoard>) -> Board {
        Board { groups }
    }

    /// Returns the counters of a worker's steps.
    pub(super) fn row(&self, group: usize, worker: usize) -> &[StepCells] {
        self.groups.get(group).and_then(|group| group.workers.get(worker)).map_or(&[], |row| &**row)
    }

    /// Returns the measurements of all steps, summed over each group's workers.
    pub(crate) fn measured(&self) -> Vec<StepMeasurement> {
        self.groups.iter().flat_map(GroupBoard::measured).collect()
    }
}

impl GroupBoard {
    fn measured(&self) -> impl Iterator<Item = StepMeasurement> {
        self.steps.iter().enumerate().map(|(number, step)| {
            let cells = || self.workers.iter().filter_map(move |row| row.get(number));
            let sum = |of: fn(&StepCells) -> &AtomicU64| cells().map(|cells| of(cells).load(Relaxed)).sum();
            let mut buckets: Vec<u64> =
                (0..BUCKETS).map(|bucket| cells().map(|cells| cells.buckets[bucket].load(Relaxed)).sum()).collect();
            buckets.truncate(buckets.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1));
            let shortest = cells().map(|cells| cells.shortest_ns.load(Relaxed)).filter(|&ns| ns > 0).min();
            StepMeasurement {
                name: step.name.clone(),
                group: step.group.clone(),
                kind: step.kind,
                count: sum(|cells| &cells.count),
                bytes: sum(|cells| &cells.bytes),
                total_ns: sum(|cells| &cells.total_ns),
                min_ns: shortest.map_or(0, |ns| ns - 1),
                max_ns: cells().map(|cells| cells.longest_ns.load(Relaxed)).max().unwrap_or(0),
                dry: sum(|cells| &cells.dry),
                buckets,
            }
        })
    }
}
