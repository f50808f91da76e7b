//! Pacing of ops: rates, pauses and goals.

use crate::blocks::ByKind;
use crate::units::{Bytes, Nanos, PerSecond};
use serde::{Deserialize, Serialize};

/// Conditions for starting the next op. By default, an op starts as soon as the queue has room.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Pace {
    /// Open load: each op has an intended start, which stays fixed even if earlier ops are late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenLoad>,
    /// Maximum bytes per second of each worker. Late ops are caught up on.
    #[serde(skip_serializing_if = "is_unset")]
    pub bytes_per_second: ByKind<Option<PerSecond>>,
    /// Maximum ops per second of each worker. Late ops are caught up on.
    #[serde(skip_serializing_if = "is_unset")]
    pub ops_per_second: ByKind<Option<PerSecond>>,
    /// Apply the write rates to reads and writes together, and ignore the read rates.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reads_count_as_writes: bool,
    /// Spacing of the ops for `bytes-per-second` and `ops-per-second`.
    #[serde(alias = "process", skip_serializing_if = "Arrival::is_fixed")]
    pub arrival: Arrival,
    /// Fail if the rates drop below these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<MinimumRate>,
    /// Pauses between ops, as think time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<ThinkTime>,
    /// Catch up on ops that were delayed by pauses.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub catch_up_thinking: bool,
    /// Stop the worker if an op takes longer than this.
    #[serde(skip_serializing_if = "is_unset")]
    pub longest_op: ByKind<Option<Nanos>>,
    /// Search for the largest depth that keeps latency below a goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_goal: Option<LatencyGoal>,
    /// Weighted share among the workers of one flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<WeightedFlow>,
    /// Keep pace with an emulated consumer of the data, without reading far ahead of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumer: Option<Consumer>,
}

impl Pace {
    /// Returns an open load at this rate.
    pub fn open(rate: PerSecond, arrival: Arrival, shared: bool) -> Pace {
        Pace { open: Some(OpenLoad { rate, arrival, shared }), ..Pace::default() }
    }

    /// Returns a pause after every N ops.
    pub fn think(every: u64, pause: Nanos) -> Pace {
        Pace { think: Some(ThinkTime::every(every, pause)), ..Pace::default() }
    }

    /// Returns `true` if each op starts as soon as the queue has room.
    pub fn is_closed(&self) -> bool {
        *self == Pace::default()
    }

    /// Returns `true` if kinds of op have rates of their own.
    pub fn has_rates(&self) -> bool {
        !(is_unset(&self.bytes_per_second) && is_unset(&self.ops_per_second))
    }

    /// Returns `true` if ops may wait although the queue has room: for their start time, a pause or other workers.
    pub fn waits(&self) -> bool {
        let Pace { longest_op, latency_goal, .. } = *self;
        *self != Pace { longest_op, latency_goal, ..Pace::default() }
    }

    /// Returns the shortest mean interval between intended starts, ns; `None` if ops have none.
    pub fn shortest_interval_ns(&self) -> Option<f64> {
        let ByKind { read, write, trim } = self.ops_per_second;
        let rates = [self.open.map(|open| open.rate), read, write, trim].into_iter().flatten();
        rates.filter(|rate| rate.0 > 0.0).map(|rate| 1e9 / rate.0).reduce(f64::min)
    }
}

/// An open load, with an intended start for every op of any kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OpenLoad {
    /// Ops per second of each worker, or of the whole group if `shared`.
    pub rate: PerSecond,
    /// Spacing of the intended starts.
    #[serde(default)]
    pub arrival: Arrival,
    /// Let the group's workers share one rate.
    #[serde(default)]
    pub shared: bool,
}

/// Spacing of intended starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// Evenly spaced, one start every 1/rate.
    #[default]
    #[serde(alias = "linear")]
    Fixed,
    /// Exponentially distributed intervals, as from independent users.
    Poisson,
}

impl Arrival {
    /// Returns `true` if starts are evenly spaced.
    pub fn is_fixed(&self) -> bool {
        *self == Arrival::Fixed
    }
}

fn is_unset<T>(by_kind: &ByKind<Option<T>>) -> bool {
    by_kind.read.is_none() && by_kind.write.is_none() && by_kind.trim.is_none()
}

/// Rates below which the job fails.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MinimumRate {
    /// Minimum bytes per second, by kind of op.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub bytes_per_second: ByKind<Option<PerSecond>>,
    /// Minimum ops per second, by kind of op.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub ops_per_second: ByKind<Option<PerSecond>>,
    /// Length of the windows over which rates are measured.
    pub window: Nanos,
}

/// Pauses between ops, as think time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ThinkTime {
    /// Duration of each pause.
    pub pause: Nanos,
    /// Start the pause at once, without waiting for ops in flight.
    #[serde(default)]
    pub at_once: bool,
    /// Part of each pause to spend busy on the CPU.
    #[serde(default)]
    pub busy: Nanos,
    /// CPU cycles to stay busy for after each op, even without pauses.
    #[serde(default)]
    pub busy_cycles: u32,
    /// Number of ops between pauses; 0 if only `work` counts.
    #[serde(default = "every_op")]
    pub every: u64,
    /// Ops that count towards `every`.
    #[serde(default)]
    pub counts: ThinkBasis,
    /// Working time between pauses. If `every` is above 0 too, the first to be reached counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Nanos>,
}

fn every_op() -> u64 {
    1
}

impl ThinkTime {
    /// Returns a pause after every N ops.
    pub const fn every(every: u64, pause: Nanos) -> ThinkTime {
        ThinkTime {
            pause,
            at_once: false,
            busy: Nanos(0),
            busy_cycles: 0,
            every,
            counts: ThinkBasis::Completed,
            work: None,
        }
    }
}

/// Ops that count between pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ThinkBasis {
    /// Count ops when they complete.
    #[default]
    Completed,
    /// Count ops when they start.
    Started,
}

/// Search for the largest depth at which `percent` of the ops stay below a latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LatencyGoal {
    /// Latency that the ops must stay below.
    pub latency: Nanos,
    /// Time to try each depth for.
    pub window: Nanos,
    /// Percentage of ops that must stay below the latency.
    pub percent: f64,
    /// Keep adjusting the depth instead of ending.
    #[serde(default)]
    pub keep_on: bool,
}

/// An emulated consumer of the data that a group's workers read, such as an accelerator in training. It takes a batch
/// as soon as the batch is read and is then busy for a fixed time. Nothing is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Consumer {
    /// Bytes per batch, over all workers.
    pub batch: Bytes,
    /// Time that the consumer is busy per batch.
    pub busy: Nanos,
    /// Batches that may be read before the consumer takes them, including the one being read.
    #[serde(default = "two")]
    pub ahead: u32,
}

fn two() -> u32 {
    2
}

/// A weighted share of a flow. No worker gets further ahead of the others than its weight allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WeightedFlow {
    /// Number of the flow.
    pub flow: u32,
    /// Weight of each worker.
    pub weight: u32,
    /// Time to sleep when ahead of the others.
    #[serde(default)]
    pub sleep: Nanos,
}

/// Ends a group when a figure is steady, by fio's rule. The rule judges the last values of
/// the figure, one per interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SteadyRule {
    /// Figure that must become steady.
    pub figure: SteadyFigure,
    /// Measure of its variation.
    pub judged: SteadyJudged,
    /// Limit on the variation: percent of the mean, or in the figure's unit (ops per
    /// second, bytes per second, nanoseconds).
    pub limit: f64,
    /// Interpret `limit` as a percentage of the mean.
    #[serde(default)]
    pub limit_is_percent: bool,
    /// Time for which the figure must have been steady; a multiple of `check-every`.
    pub window: Nanos,
    /// Interval between checks, and length of the interval that each value covers.
    pub check_every: Nanos,
    /// Time to ignore at the beginning.
    #[serde(default)]
    pub ramp: Nanos,
    /// Groups whose figures are added up and judged as one, and which end together. Must include this group;
    /// empty for this group alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<String>,
}

/// A figure that can become steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SteadyFigure {
    /// Ops per second of the group.
    Ops,
    /// Bytes per second of the group.
    Bytes,
    /// Mean completion latency of the group, ns.
    Latency,
}

/// Measure of a figure's variation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SteadyJudged {
    /// Largest deviation of a value from the mean.
    Deviation,
    /// Slope of the line fitted to the values, per interval.
    Slope,
}
