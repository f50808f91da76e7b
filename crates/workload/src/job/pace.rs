//! Rates, pauses and goals of a job.

use super::stream::ByKind;
use crate::units::{Nanos, PerSecond};
use serde::{Deserialize, Serialize};

/// Rates, pauses and goals of a job. Rates are kept by intended starts: what came late is made up for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct JobPace {
    /// At most so many bytes per second.
    #[serde(skip_serializing_if = "is_unset")]
    pub bytes_per_second: ByKind<Option<PerSecond>>,
    /// At most so many ops per second.
    #[serde(skip_serializing_if = "is_unset")]
    pub ops_per_second: ByKind<Option<PerSecond>>,
    /// The rates of writes hold for reads and writes together; those of reads are then left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reads_count_as_writes: bool,
    /// How the ops of a limited rate are spread.
    pub process: RateProcess,
    /// Fail below these rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<MinimumRate>,
    /// Make up for pauses of thinking.
    pub catch_up_thinking: bool,
    /// Pauses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<ThinkTime>,
    /// End the job where an op takes longer.
    #[serde(skip_serializing_if = "is_unset")]
    pub longest_op: ByKind<Option<Nanos>>,
    /// Find the largest depth that keeps latency below a goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_goal: Option<LatencyGoal>,
    /// A share among jobs of one flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<WeightedFlow>,
    /// End the job when a figure is steady.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyRule>,
}

fn is_unset<T>(by_kind: &ByKind<Option<T>>) -> bool {
    by_kind.read.is_none() && by_kind.write.is_none() && by_kind.trim.is_none()
}

/// How the ops of a limited rate are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RateProcess {
    /// Evenly.
    #[default]
    Linear,
    /// As a Poisson process.
    Poisson,
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
    /// So much of it is spent busy.
    #[serde(default)]
    pub busy: Nanos,
    /// Cycles of the processor to be busy for after each op, pauses or not.
    #[serde(default)]
    pub busy_cycles: u32,
    /// Ops between pauses; 0 where only `work` counts.
    pub every: u32,
    /// Which ops count.
    #[serde(default)]
    pub counts: ThinkBasis,
    /// Time of work between pauses. With `every` above 0, whichever comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Nanos>,
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

/// Find the largest depth at which so many of the ops stay below a latency.
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

/// A share among the jobs of one flow: none gets ahead of the others by more than its weight allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WeightedFlow {
    /// Which flow.
    pub flow: u32,
    /// The job's weight.
    pub weight: u32,
    /// Sleep so long when ahead.
    #[serde(default)]
    pub sleep: Nanos,
}

/// End a job when a figure is steady: the rule of fio. It is judged over the last so many of the figure's values, one for
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
    /// How often it is looked at, and the length of the pieces of time.
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
