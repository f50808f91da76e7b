//! Measurements of an iteration, as mdtest counts them.

use plumb_result::histogram::Histogram;
use plumb_result::{Fault, PhaseMeasurement, WorkerMeasurement};
use plumb_workload::OpKind;
use strum::VariantArray;

/// A test, in mdtest's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, VariantArray)]
pub enum Test {
    DirectoryCreation,
    /// Call stat on the directories.
    DirectoryStat,
    /// Nothing: mdtest has no work for it.
    DirectoryRead,
    DirectoryRename,
    DirectoryRemoval,
    FileCreation,
    /// Call stat on the files.
    FileStat,
    /// Open and read the files.
    FileRead,
    FileRemoval,
    TreeCreation,
    TreeRemoval,
}

impl Test {
    pub const ALL: &[Test] = Test::VARIANTS;

    /// Returns mdtest's name of the test.
    pub fn name(self) -> &'static str {
        match self {
            Test::DirectoryCreation => "Directory creation",
            Test::DirectoryStat => "Directory stat",
            Test::DirectoryRead => "Directory read",
            Test::DirectoryRename => "Directory rename",
            Test::DirectoryRemoval => "Directory removal",
            Test::FileCreation => "File creation",
            Test::FileStat => "File stat",
            Test::FileRead => "File read",
            Test::FileRemoval => "File removal",
            Test::TreeCreation => "Tree creation",
            Test::TreeRemoval => "Tree removal",
        }
    }

    /// Returns the name of its phase.
    pub fn phase(self) -> &'static str {
        match self {
            Test::DirectoryCreation => "directory-create",
            Test::DirectoryStat => "directory-stat",
            Test::DirectoryRead => "directory-read",
            Test::DirectoryRename => "directory-rename",
            Test::DirectoryRemoval => "directory-remove",
            Test::FileCreation => "file-create",
            Test::FileStat => "file-stat",
            Test::FileRead => "file-read",
            Test::FileRemoval => "file-remove",
            Test::TreeCreation => "tree-create",
            Test::TreeRemoval => "tree-remove",
        }
    }

    /// Returns the test of a phase.
    pub fn of_phase(name: &str) -> Option<Test> {
        Test::ALL.iter().copied().find(|test| test.phase() == name)
    }

    /// Returns `true` for a test of a tree.
    pub(crate) fn is_of_tree(self) -> bool {
        self >= Test::TreeCreation
    }
}

/// Items and time of one rank in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RankTime {
    pub items: u64,
    /// The rank's own time, without `sync`, commands and waiting for others, ns.
    pub time_ns: u64,
}

impl RankTime {
    /// Returns the items per second; 0 without items.
    pub fn rate(&self) -> f64 {
        per_second(self.items, self.time_ns)
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct TestResult {
    /// Number of items of all ranks.
    pub items: u64,
    /// Time from the barrier before to the barrier after, ns.
    pub time_ns: u64,
    /// Items and times by rank.
    pub ranks: Vec<RankTime>,
    pub latency: Histogram,
    pub fault_count: u64,
    /// The first of the failures.
    pub faults: Vec<Fault>,
}

impl TestResult {
    /// Returns the items per second of all ranks.
    pub fn rate(&self) -> f64 {
        per_second(self.items, self.time_ns)
    }

    /// Returns the time per item of one rank, ms.
    pub(crate) fn ms_per_item(&self) -> f64 {
        let busy = self.ranks.iter().filter(|rank| rank.items > 0).count().max(1) as f64;
        if self.items == 0 { 0.0 } else { self.time_ns as f64 / 1e6 * busy / self.items as f64 }
    }
}

fn per_second(items: u64, time_ns: u64) -> f64 {
    if items == 0 { 0.0 } else { items as f64 * 1e9 / time_ns.max(1) as f64 }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct IterationResult {
    tests: Vec<(Test, TestResult)>,
    /// Items of each rank before the stonewall; empty without a stonewall.
    pub at_wall: Vec<u64>,
}

impl IterationResult {
    /// Adds the measurement of a phase of `tasks` tasks.
    pub fn add(&mut self, measured: &PhaseMeasurement, tasks: u32) {
        let Some(test) = Test::of_phase(&measured.name) else { return };
        let is_item = |kind: &OpKind| !matches!(kind, OpKind::Sync | OpKind::Command);
        let mut result = TestResult {
            time_ns: measured.wall_ns,
            fault_count: measured.fault_count,
            faults: measured.faults.clone(),
            ..TestResult::default()
        };
        // With -c, the work of rank 0 for all comes first. It counts in the time, but not in the items.
        let ranks = &measured.workers[measured.workers.len().saturating_sub(tasks as usize)..];
        for (_, op) in ranks.iter().flat_map(|rank| &rank.ops).filter(|(kind, _)| is_item(kind)) {
            result.items += op.count;
            result.latency.merge(&op.service);
        }
        let of_rank = |worker: &WorkerMeasurement| {
            let others = worker.ops.iter().filter(|(kind, _)| !is_item(kind));
            let others_ns: u128 = others.map(|(_, op)| op.service.sum()).sum();
            RankTime {
                items: worker.ops.iter().filter(|(kind, _)| is_item(kind)).map(|(_, op)| op.count).sum(),
                time_ns: worker.wall_ns.saturating_sub(u64::try_from(others_ns).unwrap_or(u64::MAX)),
            }
        };
        result.ranks = ranks.iter().map(of_rank).collect();
        self.at_wall.extend(ranks.iter().filter_map(|worker| worker.items_at_wall));
        self.tests.push((test, result));
    }

    /// Returns the measurement of a test, or `None`.
    pub fn test(&self, test: Test) -> Option<&TestResult> {
        self.tests.iter().find(|(other, _)| *other == test).map(|(_, result)| result)
    }

    /// Returns the measurements of all tests.
    pub fn tests(&self) -> impl Iterator<Item = &TestResult> {
        self.tests.iter().map(|(_, result)| result)
    }
}
