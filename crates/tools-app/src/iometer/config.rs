//! What a configuration file says.

use plumb_workload::blocks::accesses::AccessLine;

/// A configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// What holds for all tests.
    pub setup: Setup,
    /// The access specifications.
    pub specs: Vec<Spec>,
    /// The name of the one manager.
    pub manager: String,
    /// Its workers.
    pub workers: Vec<Worker>,
}

/// What holds for all tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Words of whoever made the file.
    pub description: String,
    /// Seconds that are measured.
    pub run_s: u64,
    /// Seconds before.
    pub ramp_s: u64,
    /// Whose results are written.
    pub record: Record,
    /// How workers are added.
    pub workers: Cycle,
    /// How targets are added.
    pub targets: Cycle,
    /// How the queue grows.
    pub queue: Cycle,
    /// The largest queue.
    pub queue_end: u64,
    /// What changes from test to test.
    pub test_type: TestType,
}

impl Setup {
    /// No results are written.
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
    /// The first.
    pub start: u64,
    /// What is added, or multiplied by.
    pub step: u64,
    /// It is multiplied.
    pub is_exponential: bool,
}

/// Whose results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Record {
    /// Nobody's.
    None,
    /// Those of all together.
    NoManagers,
    /// Managers' too.
    NoWorkers,
    /// Workers' too.
    NoTargets,
    /// Targets' too.
    All,
}

/// What changes from test to test, beside the access specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestType {
    /// Nothing.
    Normal,
    /// The targets of each worker.
    CycleTargets,
    /// The workers.
    CycleWorkers,
    /// The targets, one worker after another, on all managers at once.
    IncrementTargetsParallel,
    /// The same, one manager after another.
    IncrementTargetsSerial,
    /// The workers, and for each number of them their targets.
    CycleWorkersAndTargets,
    /// The queue.
    CycleQueue,
    /// The targets, and for each number of them the queue.
    CycleQueueAndTargets,
}

/// The words of a file for each type of test. Their order is that of the numbers that results have for them.
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

/// An access specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Its name; upper and lower case are the same.
    pub name: String,
    /// The workers that run it by default: 0 none, 1 all, 2 those of disks, 3 those of networks.
    pub assigned: u64,
    /// Its lines; none is idle.
    pub lines: Vec<Line>,
}

/// A line of an access specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// What its ops are.
    pub access: AccessLine,
    /// Milliseconds of waiting before each burst.
    pub delay_ms: u64,
}

/// A disk worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Its name.
    pub name: String,
    /// I/Os in flight, of each target.
    pub depth: u64,
    /// Its own seed.
    pub seed: Option<u64>,
    /// Sectors of 512 bytes that are used of each target; 0 is all of them.
    pub sectors: u64,
    /// The first of them.
    pub first_sector: u64,
    /// What is written: 0 repeated bytes, 1 one random buffer, 2 always other random bytes.
    pub pattern: u64,
    /// Which access specifications it is assigned, by number, one for each test.
    pub specs: Vec<usize>,
    /// Its targets.
    pub targets: Vec<String>,
}
