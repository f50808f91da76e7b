//! Measurements made by the engine.

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

/// Measurements of a whole workload.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measurement {
    /// One entry for each phase that started, in order.
    pub phases: Vec<PhaseMeasurement>,
    /// Whether a signal ended the run early; the numbers were measured before it.
    pub interrupted: bool,
    /// The error that ended the run after at least one phase; the numbers were measured before it.
    #[serde(default)]
    pub error: Option<String>,
}

/// Measurements of one phase, without its ramp.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PhaseMeasurement {
    /// Name of the measured phase.
    pub name: String,
    /// Time from the end of the ramp to the end of the last worker, including the end policy if it is inside the
    /// clock, ns. The ramp is the phase's own plus the part that the ramps of all its groups have in common.
    pub wall_ns: u64,
    /// Time before that in which the jobs searched for a depth, ns; not part of the measured time.
    #[serde(default)]
    pub searched_ns: u64,
    /// Time when the first worker finished, from the same start, ns.
    pub first_done_ns: Option<u64>,
    /// Work of all workers together until that time; empty for a single worker.
    #[serde(default)]
    pub until_first_done: BTreeMap<OpKind, Moved>,
    /// By kind of op, all workers merged.
    pub ops: BTreeMap<OpKind, OpMeasurement>,
    /// Program steps that have statistics of their own, in order of groups and steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepMeasurement>,
    /// Differences between a replay and its recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Box<ReplayMeasurement>>,
    /// Numbers of the phase's connections to other hosts from both ends, and of its probe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<Network>,
    /// Number of passes through the flow, if it counts them.
    pub transactions: Option<u64>,
    /// One entry per second of the phase, with zeros for a second in which nothing completed.
    pub intervals: Vec<Interval>,
    /// Service times of the ops over time, for the same intervals.
    #[serde(default)]
    pub latency_map: LatencyMap,
    /// Activity of devices and the machine in each interval, as far as they were watched.
    #[serde(default)]
    pub lanes: Vec<Lane>,
    /// One entry for each worker.
    pub workers: Vec<WorkerMeasurement>,
    /// Measurements of the end policy.
    pub end: EndMeasurement,
    /// Mean number of ops in flight over all workers, by Little's law from the service times.
    pub in_flight_mean: f64,
    /// Delays between the intended and the real start of ops under an open load, ns.
    pub start_lag: Option<Histogram>,
    /// Distinct bytes that the phase can touch, for check B6; `None` if the pattern does not bound them.
    pub working_set_bytes: Option<u64>,
    /// Errors of ops, at most [`Fault::KEPT`] for each worker.
    pub faults: Vec<Fault>,
    /// Number of all errors, including those not kept.
    pub fault_count: u64,
    /// Number of reads and writes that moved fewer bytes than requested.
    pub short_count: u64,
    /// Unavailable features, each with the reason and substitute, such as "io_uring: ENOSYS, psync used".
    pub fallbacks: Vec<String>,
    /// Preparation of caches before the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<Box<CachePreparation>>,
    /// Clock that was used: `tsc`, `clock_gettime` or `virtual`.
    pub clock: String,
    /// Smallest step and cost of reading the clock, ns.
    pub clock_cost_ns: f64,
    /// Processor time of all workers in user mode, ns.
    pub cpu_user_ns: u64,
    /// Processor time of all workers in the kernel, ns.
    pub cpu_system_ns: u64,
    /// Whether the steady-state rule was met; `None` without such a rule.
    pub steady: Option<bool>,
}

/// Measurements of one kind of op.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OpMeasurement {
    /// Number of ops that completed without error.
    pub count: u64,
    /// Bytes moved by these ops.
    pub bytes: u64,
    /// Time from start to completion, ns.
    pub service: Histogram,
    /// Time from intended start to completion, ns; only under an open load.
    pub response: Option<Histogram>,
    /// Time from start until the submitting call returned, ns; only if requested, and if submitting is separate from waiting.
    #[serde(default)]
    pub submission: Option<Histogram>,
    /// Time from that return to completion, ns; present with `submission`. The two add up to the op's service time.
    #[serde(default)]
    pub completion: Option<Histogram>,
    /// Number of reads, writes and trims that moved fewer bytes than requested.
    #[serde(default)]
    pub short_count: u64,
    /// Number of ops in `count` too short to be timed individually. `service` counts each at the time of an op timed
    /// just before it, or at the mean of those timed with it. Its sum is the time that the ops really took.
    #[serde(default)]
    pub untimed_count: u64,
    /// Times by priority, for a worker some of whose ops have a priority of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<PriorityMeasurement>,
}

/// A named step of a program, over all workers of its group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepMeasurement {
    /// Name of the step; for a nested step, the names of both with a dot between them.
    pub name: String,
    /// Name of the group of workers.
    pub group: String,
    /// Kind of op; absent for a step that waits, counts or computes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<OpKind>,
    /// Number of executions of the step.
    pub count: u64,
    /// Bytes moved by the step.
    pub bytes: u64,
    /// Total time of all executions, ns.
    pub total_ns: u64,
    /// Shortest execution, ns; 0 if there is none.
    pub min_ns: u64,
    /// Longest execution, ns.
    pub max_ns: u64,
    /// Number of times that no file was available for the step.
    #[serde(default)]
    pub dry: u64,
    /// Number of executions that took at least 2^(i-1) ns and less than 2^i ns, for each i up to the last non-zero one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<u64>,
}

/// Ops of one kind and one priority.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PriorityMeasurement {
    /// Priority of the ops; `None` for the priority of their worker.
    pub priority: Option<IoPriority>,
    /// Service times, as in [`OpMeasurement::service`].
    pub service: Histogram,
    /// Completion times, as in [`OpMeasurement::completion`].
    #[serde(default)]
    pub completion: Option<Histogram>,
}

/// One second of a phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Interval {
    /// Start, from the end of the ramp, ns.
    pub start_ns: u64,
    /// Length, ns. The last interval may be shorter; one is longer if the coordinator itself was delayed.
    pub length_ns: u64,
    /// By kind of op; a kind that has not occurred yet is absent.
    pub ops: BTreeMap<OpKind, OpCounts>,
}

/// One kind of op in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpCounts {
    /// Ops completed in the interval.
    pub count: u64,
    /// Bytes moved by these ops.
    pub bytes: u64,
    /// Median of the service time, ns; `null` if nothing completed.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the service time, ns.
    pub p99_ns: Option<u64>,
    /// Largest service time, with the histogram's resolution, ns.
    pub max_ns: Option<u64>,
}

/// Measurements of one worker during a phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WorkerMeasurement {
    /// Group and number, such as `workers.0/3`.
    pub name: String,
    /// Name of the backend that was really used.
    pub backend: String,
    /// Number of ops that completed.
    pub count: u64,
    /// Bytes moved by these ops.
    pub bytes: u64,
    /// Time from the worker's measured start to its end, ns.
    pub wall_ns: u64,
    /// Processor time in user mode, ns.
    pub cpu_user_ns: u64,
    /// Processor time in the kernel, ns.
    pub cpu_system_ns: u64,
    /// Number of times that it went to sleep to wait for something; `None` if not counted.
    #[serde(default)]
    pub sleeps: Option<u64>,
    /// Requested number of ops in flight; 0 for a worker that does no I/O.
    pub depth_asked: u32,
    /// Mean number of ops in flight.
    pub in_flight_mean: f64,
    /// Time spent generating and verifying content (estimated from a calibration of the same content), ns.
    pub fill_ns: u64,
    /// Reason why the worker ended, if neither its own limit nor the phase's stop.
    pub ended_by: Option<String>,
    /// Start of the worker including its ramp, from the phase's own start, ns. Times of single ops have the same origin.
    #[serde(default)]
    pub began_ns: u64,
    /// Start of its measured time, after its own delay and ramp, from the start of the phase's measured time, ns.
    #[serde(default)]
    pub started_ns: u64,
    /// Measurements by kind of op.
    #[serde(default)]
    pub ops: BTreeMap<OpKind, OpMeasurement>,
    /// Work in every sampling interval, if its group requested samples. Intervals without completed ops are present but empty.
    #[serde(default)]
    pub samples: Vec<Sample>,
    /// Ops in flight and batch sizes, if its backend has a queue.
    #[serde(default)]
    pub queue: Option<QueueCounts>,
    /// Number of errors of its ops.
    #[serde(default)]
    pub fault_count: u64,
    /// The first errors, at most [`Fault::KEPT`].
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// Longest total time of the calls that moved one record, from the first call to the last, ns; `None` if a
    /// record takes a single call.
    #[serde(default)]
    pub longest_record_ns: Option<u64>,
    /// Number of involuntary context switches. With `sleeps`, these are all its context switches.
    #[serde(default)]
    pub preemptions: Option<u64>,
    /// Its waits for a processor; `None` if the kernel does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_queue: Option<RunQueue>,
    /// Number of page faults that needed I/O.
    #[serde(default)]
    pub major_faults: Option<u64>,
    /// Number of page faults that needed no I/O.
    #[serde(default)]
    pub minor_faults: Option<u64>,
    /// Id of its process or thread.
    #[serde(default)]
    pub pid: Option<u32>,
    /// Progress of its search for a depth, if its job has a latency goal.
    #[serde(default)]
    pub depth_search: Option<DepthSearched>,
    /// Its steadiness, if its job has a rule for that. The last worker of a set of groups judged together holds the
    /// result for all of them.
    #[serde(default)]
    pub steady: Option<SteadyOutcome>,
    /// Time of the parts of its work that have ops of this kind, ns; an absent kind counts all of its time. A
    /// verified job writes first and then reads back.
    #[serde(default)]
    pub spent_ns: BTreeMap<OpKind, u64>,
    /// Ops that its tool counts as done although nothing was done: those of a job that only verifies data written by
    /// an earlier run. No other count includes them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dry: BTreeMap<OpKind, Moved>,
    /// Number of items completed when it reached the stonewall of its phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items_at_wall: Option<u64>,
}

/// Work of a worker in one sampling interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Start, from the worker's own start, ns.
    pub start_ns: u64,
    /// Length of the interval, ns.
    pub length_ns: u64,
    /// By kind of op; a kind without completed ops is absent.
    pub ops: BTreeMap<OpKind, Moved>,
}

/// Numbers of ops and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Moved {
    /// Number of ops that completed.
    pub count: u64,
    /// Bytes moved by these ops.
    pub bytes: u64,
}

/// Distribution of queue depths and batch sizes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QueueCounts {
    /// Number of ops by depth at submission, including the op itself: entry `n` counts depth `n`.
    pub depth: Vec<u64>,
    /// Number of submissions by batch size.
    pub submitted: Vec<u64>,
    /// Number of reaps by the completions that each returned.
    pub completed: Vec<u64>,
}

/// Progress of the search for a depth in a job with a latency goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthSearched {
    /// The depth that was found, or else the last one tried.
    pub depth: u32,
    /// Whether it is the largest depth that meets the goal: found, and confirmed by another attempt from the start.
    pub found: bool,
}

/// Steadiness of a job at its end, if it had a rule for that.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SteadyOutcome {
    /// Whether the rule was met, which ended the job.
    pub attained: bool,
    /// Value compared with the limit, in the limit's unit; `None` before the window was full.
    pub criterion: Option<f64>,
    /// Largest deviation from the mean of the rule's figure, in the figure's unit.
    pub max_deviation: Option<f64>,
    /// Slope of the line through the values of the rule's figure, in the figure's unit per value.
    pub slope: Option<f64>,
    /// Values of the window, in time order.
    pub samples: Vec<SteadySample>,
}

/// Sample from which the steadiness of a job is judged.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SteadySample {
    /// Ops completed per second.
    pub ops_per_second: f64,
    /// Bytes moved per second.
    pub bytes_per_second: f64,
    /// Mean latency of the completed ops, ns; 0 if there are none.
    pub latency_ns: f64,
}

/// Measurements of the end policy.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct EndMeasurement {
    /// Time to flush all written files, ns; `None` without a flush.
    pub flush_ns: Option<u64>,
    /// Whether that time is part of `wall_ns`.
    pub inside_clock: bool,
}

/// An op that failed, or that read data other than what was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fault {
    /// Kind of the op that failed.
    pub op: OpKind,
    /// Path of the file. A path that is not UTF-8 is quoted as in bash: `$'/mnt/d\xff'`.
    #[serde(serialize_with = "as_text")]
    pub path: PathBuf,
    /// Offset in the file, bytes.
    pub offset: u64,
    /// Number of bytes that the op requested.
    pub length: u64,
    /// Error number of the system, unless verification failed.
    pub errno: Option<i32>,
    /// Text of the error, or the expected and found data of a verification.
    pub message: String,
}

/// Serializes a path as text. JSON is text and a path need not be; a fault must never prevent storing a result.
fn as_text<S: Serializer>(path: &std::path::Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&crate::path_text(path))
}

impl Fault {
    /// Largest number kept for each worker; further faults are only counted.
    pub const KEPT: usize = 16;
}

fn over(amount: u64, ns: u64) -> Option<f64> {
    (ns > 0).then(|| amount as f64 * 1e9 / ns as f64)
}

impl PhaseMeasurement {
    /// Returns the bytes moved by ops of all kinds.
    pub fn bytes(&self) -> u64 {
        self.ops.values().map(|op| op.bytes).sum()
    }

    /// Returns the number of ops completed, of all kinds.
    pub fn count(&self) -> u64 {
        self.ops.values().map(|op| op.count).sum()
    }

    /// Returns a rate over the phase's wall time, per second; `None` if that is 0.
    pub fn per_second(&self, amount: u64) -> Option<f64> {
        over(amount, self.wall_ns)
    }

    /// Returns a rate over the time in which ops of this kind were done, per second; `None` if that is 0.
    pub fn per_second_of(&self, kind: OpKind, amount: u64) -> Option<f64> {
        over(amount, self.time_of_ns(kind))
    }

    /// Returns the workers that do I/O. The others are companions that use processor time or run another program.
    pub fn io_workers(&self) -> impl Iterator<Item = &WorkerMeasurement> {
        self.workers.iter().filter(|worker| worker.depth_asked > 0)
    }

    /// Returns the time in which ops of a kind were done, ns. If each worker that did such ops measures its parts
    /// separately, this is the time of those parts. Otherwise it lasts until the last I/O worker finished. Companions
    /// that only use processors or run another program do not lower any rate.
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
