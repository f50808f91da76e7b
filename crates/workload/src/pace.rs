//! When the next op may start: rates, pauses and goals.

use crate::blocks::ByKind;
use crate::units::{Bytes, Nanos, PerSecond};
use serde::{Deserialize, Serialize};

/// When the next op may start. Where nothing is said, as soon as there is room in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Pace {
    /// Open: each op has an intended start, kept whether or not earlier ops are late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenLoad>,
    /// At most this many bytes per second, of each worker. What came late is made up for.
    #[serde(skip_serializing_if = "is_unset")]
    pub bytes_per_second: ByKind<Option<PerSecond>>,
    /// At most this many ops per second, of each worker. What came late is made up for.
    #[serde(skip_serializing_if = "is_unset")]
    pub ops_per_second: ByKind<Option<PerSecond>>,
    /// The rates of writes hold for reads and writes together; those of reads are then left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reads_count_as_writes: bool,
    /// How the ops of such a rate are spread.
    #[serde(alias = "process", skip_serializing_if = "Arrival::is_fixed")]
    pub arrival: Arrival,
    /// Fail below these rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<MinimumRate>,
    /// Pauses between ops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<ThinkTime>,
    /// Make up for pauses of thinking.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub catch_up_thinking: bool,
    /// End the worker where an op takes longer.
    #[serde(skip_serializing_if = "is_unset")]
    pub longest_op: ByKind<Option<Nanos>>,
    /// Find the largest depth that keeps latency below a goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_goal: Option<LatencyGoal>,
    /// A share among workers of one flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<WeightedFlow>,
    /// Keep up with an emulated consumer of what is read, and not run far ahead of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumer: Option<Consumer>,
}

impl Pace {
    /// An open load at this rate.
    pub fn open(rate: PerSecond, arrival: Arrival, shared: bool) -> Pace {
        Pace { open: Some(OpenLoad { rate, arrival, shared }), ..Pace::default() }
    }

    /// A pause after every N ops.
    pub fn think(every: u64, pause: Nanos) -> Pace {
        Pace { think: Some(ThinkTime::every(every, pause)), ..Pace::default() }
    }

    /// Whether each op starts as soon as there is room in the queue.
    pub fn is_closed(&self) -> bool {
        *self == Pace::default()
    }

    /// Whether kinds of op have rates of their own.
    pub fn has_rates(&self) -> bool {
        !(is_unset(&self.bytes_per_second) && is_unset(&self.ops_per_second))
    }

    /// Whether ops wait though there is room: for their time, for a pause to end, or for others.
    pub fn waits(&self) -> bool {
        let Pace { longest_op, latency_goal, .. } = *self;
        *self != Pace { longest_op, latency_goal, ..Pace::default() }
    }

    /// The shortest mean gap between due times, ns; `None` where ops have none.
    pub fn shortest_interval_ns(&self) -> Option<f64> {
        let ByKind { read, write, trim } = self.ops_per_second;
        let rates = [self.open.map(|open| open.rate), read, write, trim].into_iter().flatten();
        rates.filter(|rate| rate.0 > 0.0).map(|rate| 1e9 / rate.0).reduce(f64::min)
    }
}

/// An open load: intended starts for all ops, whatever their kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OpenLoad {
    /// Ops per second: of each worker, or of the whole group when `shared`.
    pub rate: PerSecond,
    /// How intended starts are spread.
    #[serde(default)]
    pub arrival: Arrival,
    /// One rate for the group's workers together.
    #[serde(default)]
    pub shared: bool,
}

/// How intended starts are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// Evenly: one every 1/rate.
    #[default]
    #[serde(alias = "linear")]
    Fixed,
    /// Exponential gaps: independent users.
    Poisson,
}

impl Arrival {
    /// Whether they are spread evenly.
    pub fn is_fixed(&self) -> bool {
        *self == Arrival::Fixed
    }
}

fn is_unset<T>(by_kind: &ByKind<Option<T>>) -> bool {
    by_kind.read.is_none() && by_kind.write.is_none() && by_kind.trim.is_none()
}

/// Fail below these rates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MinimumRate {
    /// Bytes per second.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub bytes_per_second: ByKind<Option<PerSecond>>,
    /// Ops per second.
    #[serde(default, skip_serializing_if = "is_unset")]
    pub ops_per_second: ByKind<Option<PerSecond>>,
    /// Over windows of this length.
    pub window: Nanos,
}

/// Pauses between ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ThinkTime {
    /// Length of a pause.
    pub pause: Nanos,
    /// Pauses begin at once, and do not wait for what is in flight.
    #[serde(default)]
    pub at_once: bool,
    /// So much of it is spent busy.
    #[serde(default)]
    pub busy: Nanos,
    /// Cycles of the processor to be busy for after each op, pauses or not.
    #[serde(default)]
    pub busy_cycles: u32,
    /// Ops between pauses; 0 where only `work` counts.
    #[serde(default = "every_op")]
    pub every: u64,
    /// Which ops count.
    #[serde(default)]
    pub counts: ThinkBasis,
    /// Time of work between pauses. With `every` above 0, whichever comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Nanos>,
}

fn every_op() -> u64 {
    1
}

impl ThinkTime {
    /// A pause after every N ops.
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

/// Which ops count between pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ThinkBasis {
    /// Those that completed.
    #[default]
    Completed,
    /// Those that were started.
    Started,
}

/// Find the largest depth at which `percent` of the ops stay below a latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LatencyGoal {
    /// The latency.
    pub latency: Nanos,
    /// How long each depth is tried.
    pub window: Nanos,
    /// Per cent of ops that must stay below.
    pub percent: f64,
    /// Keep on adjusting instead of ending.
    #[serde(default)]
    pub keep_on: bool,
}

/// A consumer of what the workers of a group read together, such as an accelerator in training: it takes a batch as soon as all of
/// it is read, and is busy with it for a time. It is emulated: nothing is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Consumer {
    /// Bytes of a batch.
    pub batch: Bytes,
    /// How long it is busy with each.
    pub busy: Nanos,
    /// Batches that may be read before it takes them, the one that is being read among them.
    #[serde(default = "two")]
    pub ahead: u32,
}

fn two() -> u32 {
    2
}

/// A share among the workers of one flow: none gets ahead of the others by more than its weight allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WeightedFlow {
    /// Which flow.
    pub flow: u32,
    /// The weight of each worker.
    pub weight: u32,
    /// Sleep so long when ahead.
    #[serde(default)]
    pub sleep: Nanos,
}

/// End a group when a figure is steady: the rule of fio. It is judged over the last values of the figure, one for
/// each piece of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SteadyRule {
    /// Which figure.
    pub figure: SteadyFigure,
    /// What of it must be small.
    pub judged: SteadyJudged,
    /// How small: per cent of the mean, or in the figure's own unit (ops per second, bytes per second, nanoseconds).
    pub limit: f64,
    /// The limit is in per cent of the mean.
    #[serde(default)]
    pub limit_is_percent: bool,
    /// How long it must have been steady; a multiple of `check-every`.
    pub window: Nanos,
    /// How often it is checked, and the length of the pieces of time.
    pub check_every: Nanos,
    /// So much of the beginning is left out.
    #[serde(default)]
    pub ramp: Nanos,
    /// The groups whose figures are added up and judged as one, this one among them, and that all end together; only
    /// this one where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<String>,
}

/// A figure that can become steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SteadyFigure {
    /// Ops per second.
    Ops,
    /// Bytes per second.
    Bytes,
    /// Mean completion latency.
    Latency,
}

/// What of a figure must be small for it to be steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SteadyJudged {
    /// The largest distance of one value from the mean.
    Deviation,
    /// The slope of the line fitted through the values, per piece of time.
    Slope,
}
