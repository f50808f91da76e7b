//! The contents of a configuration file.

use plumb_workload::blocks::accesses::AccessLine;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    pub setup: Setup,
    pub specs: Vec<Spec>,
    /// Name of the only manager.
    pub manager: String,
    pub workers: Vec<Worker>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Free text by the author of the file.
    pub description: String,
    /// Measured time, seconds.
    pub run_s: u64,
    /// Ramp-up time before the measurement, seconds.
    pub ramp_s: u64,
    /// Entities whose results are recorded.
    pub record: Record,
    /// Number of workers, from test to test.
    pub workers: Cycle,
    /// Number of targets, from test to test.
    pub targets: Cycle,
    /// Queue depth, from test to test.
    pub queue: Cycle,
    pub queue_end: u64,
    /// The parameter that changes from test to test.
    pub test_type: TestType,
}

impl Setup {
    /// Returns `true` if no results are recorded.
    pub fn record_is_off(&self) -> bool {
        self.record == Record::None
    }
}

impl Default for Setup {
    fn default() -> Setup {
        let cycle = Cycle { start: 1, step: 1, is_exponential: false };
        Setup {
            description: String::new(),
            run_s: 0,
            ramp_s: 0,
            record: Record::All,
            workers: cycle,
            targets: cycle,
            queue: Cycle { is_exponential: true, step: 2, ..cycle },
            queue_end: 32,
            test_type: TestType::Normal,
        }
    }
}

/// A number that grows from test to test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycle {
    pub start: u64,
    /// The summand, or the factor if `is_exponential`.
    pub step: u64,
    /// Whether the number is multiplied rather than increased.
    pub is_exponential: bool,
}

/// Entities whose results are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Record {
    None,
    /// Only the totals.
    NoManagers,
    /// Also managers.
    NoWorkers,
    /// Also workers.
    NoTargets,
    /// Also targets.
    All,
}

/// The parameter that changes from test to test, besides the access specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestType {
    /// Nothing changes from test to test.
    Normal,
    /// The targets of each worker.
    CycleTargets,
    CycleWorkers,
    /// The number of targets, one worker after another, on all managers at once.
    IncrementTargetsParallel,
    /// The number of targets, one worker after another, on one manager after another.
    IncrementTargetsSerial,
    /// The number of workers, and for each number of them the targets.
    CycleWorkersAndTargets,
    CycleQueue,
    /// The number of targets, and for each number of them the queue depth.
    CycleQueueAndTargets,
}

/// Keywords of the test types. Their order gives the numbers that results contain.
pub(super) const TEST_TYPES: [(&str, TestType); 8] = [
    ("NORMAL", TestType::Normal),
    ("CYCLE_TARGETS", TestType::CycleTargets),
    ("CYCLE_WORKERS", TestType::CycleWorkers),
    ("INCREMENT_TARGETS_PARALLEL", TestType::IncrementTargetsParallel),
    ("INCREMENT_TARGETS_SERIAL", TestType::IncrementTargetsSerial),
    ("CYCLE_WORKERS_AND_TARGETS", TestType::CycleWorkersAndTargets),
    ("CYCLE_OUTSTANDING_IOS", TestType::CycleQueue),
    ("CYCLE_OUTSTANDING_IOS_AND_TARGETS", TestType::CycleQueueAndTargets),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Name, compared case-insensitively.
    pub name: String,
    /// Workers that run it by default: 0 none, 1 all, 2 those of disks, 3 those of networks.
    pub assigned: u64,
    /// Lines; empty means idle.
    pub lines: Vec<Line>,
}

/// A line of an access specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    pub access: AccessLine,
    /// Delay before each burst, milliseconds.
    pub delay_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    pub name: String,
    /// Queue depth per target.
    pub depth: u64,
    /// Seed of the worker; `None` if the file gives none.
    pub seed: Option<u64>,
    /// Number of sectors of 512 bytes used on each target; 0 means all.
    pub sectors: u64,
    /// First sector used.
    pub first_sector: u64,
    /// Data pattern: 0 repeated bytes, 1 one random buffer, 2 new random bytes for each write.
    pub pattern: u64,
    /// Indexes of the assigned access specifications, one per test.
    pub specs: Vec<usize>,
    pub targets: Vec<String>,
}
