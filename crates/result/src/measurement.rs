//! What the engine measured.

use crate::caches::CachePreparation;
use crate::histogram::Histogram;
use crate::lane::Lane;
use crate::latency_map::LatencyMap;
use crate::network::Network;
use crate::processors::RunQueue;
use crate::replay::ReplayMeasurement;
use plumb_workload::OpKind;
use plumb_workload::process::IoPriority;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the engine measured of a whole workload.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measurement {
    /// One for each phase that was started, in order.
    pub phases: Vec<PhaseMeasurement>,
    /// A signal ended the run early; what is here was measured before.
    pub interrupted: bool,
    /// An error ended the run after the first of its phases; what is here was measured before.
    #[serde(default)]
    pub error: Option<String>,
}

/// What the engine measured of one phase, the ramp left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PhaseMeasurement {
    /// The phase's name.
    pub name: String,
    /// From the end of the ramp (the phase's, with what the ramps of all its groups have in common) to the end of the last
    /// worker, with the end policy where that is inside the clock.
    pub wall_ns: u64,
    /// Before that, time in which its jobs searched for a depth, which is no part of what is measured, ns.
    #[serde(default)]
    pub searched_ns: u64,
    /// When the first worker was done, from the same start.
    pub first_done_ns: Option<u64>,
    /// What all workers together had done by then, where there were several.
    #[serde(default)]
    pub until_first_done: BTreeMap<OpKind, Moved>,
    /// By kind of op, all workers merged.
    pub ops: BTreeMap<OpKind, OpMeasurement>,
    /// Single steps of programs that have statistics of their own, in order of groups and steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepMeasurement>,
    /// What a replay kept of its recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Box<ReplayMeasurement>>,
    /// What both ends know of its connections to other hosts, and its probe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<Network>,
    /// Times through the flow, where it counts them.
    pub transactions: Option<u64>,
    /// One entry a second of the phase; a second in which nothing completed is there, with zeros.
    pub intervals: Vec<Interval>,
    /// Service times of the ops by time, of the same intervals.
    #[serde(default)]
    pub latency_map: LatencyMap,
    /// What devices and the machine did in each of the intervals, as far as they were watched.
    #[serde(default)]
    pub lanes: Vec<Lane>,
    /// One for each worker.
    pub workers: Vec<WorkerMeasurement>,
    /// The end policy.
    pub end: EndMeasurement,
    /// Mean number of ops in flight over the phase, all workers together, by Little's law from the service times.
    pub in_flight_mean: f64,
    /// The smallest and largest distance between the asked start of an open load and the real one, as a histogram (ns).
    pub start_lag: Option<Histogram>,
    /// Distinct bytes that the phase could touch, for B6; `None` where the pattern does not bound it.
    pub working_set_bytes: Option<u64>,
    /// Errors of ops, at most [`Fault::KEPT`] of each worker.
    pub faults: Vec<Fault>,
    /// All errors, also those not kept.
    pub fault_count: u64,
    /// Reads and writes that moved fewer bytes than asked.
    pub short_count: u64,
    /// Features that were asked for and not had, each with the reason, such as "io_uring: ENOSYS, psync used".
    pub fallbacks: Vec<String>,
    /// Preparation of caches before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<Box<CachePreparation>>,
    /// How time was read: `tsc`, `clock_gettime` or `virtual`.
    pub clock: String,
    /// Smallest step and cost of reading the clock, ns.
    pub clock_cost_ns: f64,
    /// Processor time of all workers, user and system, ns.
    pub cpu_user_ns: u64,
    /// See `cpu_user_ns`.
    pub cpu_system_ns: u64,
    /// Whether the steady-state rule was met, where one was asked for.
    pub steady: Option<bool>,
}

/// One kind of op.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OpMeasurement {
    /// Completed without error.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Start to completion, ns.
    pub service: Histogram,
    /// Intended start to completion, ns; only under an open load.
    pub response: Option<Histogram>,
    /// Start to the return of the call that handed it over, ns; only where that was asked for and is apart from waiting.
    #[serde(default)]
    pub submission: Option<Histogram>,
    /// From that return to completion, ns: with `submission` of the same op, its service time. Only where that is.
    #[serde(default)]
    pub completion: Option<Histogram>,
    /// Reads, writes and trims that moved fewer bytes than asked.
    #[serde(default)]
    pub short_count: u64,
    /// Ops among `count` that were too short to be timed one by one: `service` counts each at the time of one that was
    /// timed just before it, or at the mean of those that were timed with it, and its sum is of what they really took.
    #[serde(default)]
    pub untimed_count: u64,
    /// Of one worker, where some of its ops have a priority of their own: times by priority.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<PriorityMeasurement>,
}

/// A named step of a program, all workers of its group together.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepMeasurement {
    /// Its name; of a step inside of another, both with a dot between them.
    pub name: String,
    /// The group of workers.
    pub group: String,
    /// The kind of op; `None` of a step that waits, counts or computes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<OpKind>,
    /// How often it was done.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Time of all of them, ns.
    pub total_ns: u64,
    /// The shortest, ns; 0 where there is none.
    pub min_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
    /// Times that there was no file to do it to.
    #[serde(default)]
    pub dry: u64,
    /// How many took less than 2^i ns and not less than half of that, for each i, up to the last that is not 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<u64>,
}

/// Ops of one kind and one priority.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PriorityMeasurement {
    /// Their priority; `None` for that of their worker.
    pub priority: Option<IoPriority>,
    /// As [`OpMeasurement::service`].
    pub service: Histogram,
    /// As [`OpMeasurement::completion`].
    #[serde(default)]
    pub completion: Option<Histogram>,
}

/// One second of a phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Interval {
    /// Start, from the end of the ramp.
    pub start_ns: u64,
    /// Length; the last one may be shorter, and one is longer where the coordinator itself was held up.
    pub length_ns: u64,
    /// By kind of op; a kind that has not been seen yet is absent.
    pub ops: BTreeMap<OpKind, OpCounts>,
}

/// One kind of op in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpCounts {
    /// Completed.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Percentiles of the service time, ns; `None` where nothing completed.
    pub p50_ns: Option<u64>,
    /// 99 %.
    pub p99_ns: Option<u64>,
    /// Largest, to the histogram's bucket.
    pub max_ns: Option<u64>,
}

/// One worker.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WorkerMeasurement {
    /// Group and number, `workers.0/3`.
    pub name: String,
    /// Backend that really ran.
    pub backend: String,
    /// Ops completed.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// From its measured start to its end.
    pub wall_ns: u64,
    /// Processor time in user mode, ns.
    pub cpu_user_ns: u64,
    /// Processor time in the kernel, ns.
    pub cpu_system_ns: u64,
    /// How often it went to sleep by itself, to wait for something; `None` where that is not counted.
    #[serde(default)]
    pub sleeps: Option<u64>,
    /// Asked ops in flight; 0 of a worker that does no I/O.
    pub depth_asked: u32,
    /// Mean ops in flight.
    pub in_flight_mean: f64,
    /// Time spent on making and checking content (estimated from a calibration of the same content), ns.
    pub fill_ns: u64,
    /// A short text of why it ended, where that was neither its limit nor the phase's stop.
    pub ended_by: Option<String>,
    /// When it began, its ramp included, from the phase's own beginning, ns. Times of single ops count from there too.
    #[serde(default)]
    pub began_ns: u64,
    /// When its measured time began, its own delay and ramp over, from where the phase's begins, ns.
    #[serde(default)]
    pub started_ns: u64,
    /// By kind of op.
    #[serde(default)]
    pub ops: BTreeMap<OpKind, OpMeasurement>,
    /// What it did in every piece of time, where its group asked for samples; pieces in which nothing completed are
    /// there, with nothing in them.
    #[serde(default)]
    pub samples: Vec<Sample>,
    /// Ops in flight and batches, where its backend has a queue.
    #[serde(default)]
    pub queue: Option<QueueCounts>,
    /// Errors of its ops, all of them counted.
    #[serde(default)]
    pub fault_count: u64,
    /// The first of them.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// Longest time of all calls that were made of one record, from the first to the last, ns; `None` where one call is
    /// all that is made of each.
    #[serde(default)]
    pub longest_record_ns: Option<u64>,
    /// How often the kernel took its processor away; with `sleeps`, all its context switches.
    #[serde(default)]
    pub preemptions: Option<u64>,
    /// Its waits for a processor; `None` where the kernel does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_queue: Option<RunQueue>,
    /// Page faults that needed I/O.
    #[serde(default)]
    pub major_faults: Option<u64>,
    /// Page faults that needed none.
    #[serde(default)]
    pub minor_faults: Option<u64>,
    /// Its process number, or its thread's.
    #[serde(default)]
    pub pid: Option<u32>,
    /// How far it came in finding its depth, where its job has a goal of latency.
    #[serde(default)]
    pub depth_search: Option<DepthSearched>,
    /// How steady it was, where its job has a rule for that; of all groups that are judged together, where it is the last
    /// of them.
    #[serde(default)]
    pub steady: Option<SteadyOutcome>,
    /// Time of the parts of its work that have ops of this kind, ns; all of its time for a kind that is absent. A job that
    /// is verified writes first, and reads back then.
    #[serde(default)]
    pub spent_ns: BTreeMap<OpKind, u64>,
    /// Ops that its tool counts as done although nothing was done: those of a job that only verifies what an earlier run
    /// wrote. They are in no other count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dry: BTreeMap<OpKind, Moved>,
    /// Items that it had done when it met the stonewall of its phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items_at_wall: Option<u64>,
}

/// What a worker did in one piece of time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Start, from the worker's own, ns.
    pub start_ns: u64,
    /// Length, ns.
    pub length_ns: u64,
    /// By kind of op; a kind of which nothing completed is absent.
    pub ops: BTreeMap<OpKind, Moved>,
}

/// Ops and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Moved {
    /// Ops completed.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
}

/// How full a queue was, and how ops were gathered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QueueCounts {
    /// Ops by how many were in flight as each was handed over, itself among them: entry `n` counts depth `n`.
    pub depth: Vec<u64>,
    /// Submissions by how many ops each handed over.
    pub submitted: Vec<u64>,
    /// Reapings by how many completions each took.
    pub completed: Vec<u64>,
}

/// How far the search for a depth came, where a job had a goal of latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthSearched {
    /// The depth that was found, or else the one that was tried last.
    pub depth: u32,
    /// Whether it is the largest that keeps the goal: it was found, and tried once more from its own beginning.
    pub found: bool,
}

/// How steady a job was at its end, where it had a rule for that.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SteadyOutcome {
    /// The rule was met, which ended the job.
    pub attained: bool,
    /// What was held against the limit, in the limit's unit; `None` before the window was full.
    pub criterion: Option<f64>,
    /// The largest distance of a value of the rule's figure from the mean, in the figure's unit.
    pub max_deviation: Option<f64>,
    /// The slope of the line through the values of the rule's figure, in the figure's unit, from one value to the next.
    pub slope: Option<f64>,
    /// The window's values, in the order of time.
    pub samples: Vec<SteadySample>,
}

/// What is looked at of one piece of time to find whether a job is steady.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SteadySample {
    /// Ops completed per second.
    pub ops_per_second: f64,
    /// Bytes moved per second.
    pub bytes_per_second: f64,
    /// Mean latency of the ops that completed, ns; 0 where none did.
    pub latency_ns: f64,
}

/// The end policy, measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct EndMeasurement {
    /// Time of the flush of all written files, ns; `None` where there was none.
    pub flush_ns: Option<u64>,
    /// Whether it is part of `wall_ns`.
    pub inside_clock: bool,
}

/// An op that failed or read something else than was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fault {
    /// What was tried.
    pub op: OpKind,
    /// On which file. A path that is not UTF-8 is stored as [`crate::path_text`] quotes it.
    #[serde(serialize_with = "as_text")]
    pub path: PathBuf,
    /// Where in the file.
    pub offset: u64,
    /// Bytes asked for.
    pub length: u64,
    /// The system's error number, where it was an error.
    pub errno: Option<i32>,
    /// In words: the error's text, or expected and found of a verification.
    pub message: String,
}

/// JSON is text, and a path need not be: a fault must never be what keeps a result from being stored.
fn as_text<S: Serializer>(path: &std::path::Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&crate::path_text(path))
}

impl Fault {
    /// How many are kept per worker; the rest is counted.
    pub const KEPT: usize = 16;
}

fn over(amount: u64, ns: u64) -> Option<f64> {
    (ns > 0).then(|| amount as f64 * 1e9 / ns as f64)
}

impl PhaseMeasurement {
    /// Bytes moved by ops that move bytes, of all kinds.
    pub fn bytes(&self) -> u64 {
        self.ops.values().map(|op| op.bytes).sum()
    }

    /// Ops completed, of all kinds.
    pub fn count(&self) -> u64 {
        self.ops.values().map(|op| op.count).sum()
    }

    /// Per second of the phase's wall time; `None` for an empty clock.
    pub fn per_second(&self, amount: u64) -> Option<f64> {
        over(amount, self.wall_ns)
    }

    /// Per second of the time in which ops of this kind were done; `None` for an empty clock.
    pub fn per_second_of(&self, kind: OpKind, amount: u64) -> Option<f64> {
        over(amount, self.time_of_ns(kind))
    }

    /// The workers that do I/O; all others are companions, which use up processor time or run another program.
    pub fn io_workers(&self) -> impl Iterator<Item = &WorkerMeasurement> {
        self.workers.iter().filter(|worker| worker.depth_asked > 0)
    }

    /// The time in which ops of a kind were done, ns: that of the parts that have them, where each worker that did some
    /// tells its parts apart; else until the last worker was done that does I/O at all. Who only keeps processors busy, or
    /// runs another program, takes nothing away from anybody's rate.
    pub(crate) fn time_of_ns(&self, kind: OpKind) -> u64 {
        let did = |worker: &&WorkerMeasurement| worker.ops.get(&kind).is_some_and(|op| op.count > 0);
        let parts: Option<Vec<u64>> =
            self.workers.iter().filter(did).map(|worker| worker.spent_ns.get(&kind).copied()).collect();
        if let Some(longest_ns) = parts.and_then(|parts| parts.into_iter().max()) {
            return longest_ns;
        }
        if self.io_workers().count() == self.workers.len() {
            return self.wall_ns;
        }
        let flush_ns = self.end.flush_ns.filter(|_| self.end.inside_clock).unwrap_or(0);
        let io_ns = self.io_workers().map(|worker| worker.started_ns.saturating_add(worker.wall_ns)).max();
        io_ns.map_or(self.wall_ns, |io_ns| io_ns.saturating_add(flush_ns).min(self.wall_ns))
    }
}
