//! Whether storage is good enough for a use, as printed by `plumb fit-for --json` (`plumb.fit-for/1`).

use crate::compare::LeftOut;
use crate::finding::Finding;
use crate::metric::{Metric, Unit};
use crate::run::TierName;
use crate::under_load::UnderLoad;
use serde::{Deserialize, Serialize};

/// Name and version of the JSON form.
pub const FIT_FOR_SCHEMA: &str = "plumb.fit-for/1";

/// Whether storage is good enough for a use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FitFor {
    /// Name and version of this form: `plumb.fit-for/1`.
    pub schema: String,
    /// Name of the use, such as `etcd`.
    #[serde(rename = "use")]
    pub use_name: String,
    /// Name of the workload that represents the use.
    pub workload: String,
    /// Path of the storage, as typed.
    pub path: String,
    /// Time of the measurement, RFC 3339, UTC.
    pub measured_at: String,
    /// The answer over all limits together.
    pub answer: FitAnswer,
    /// The answer as a sentence, with the number that decides it.
    pub answer_note: String,
    /// Each limit, and how the storage compares with it.
    pub limits: Vec<FitLimit>,
    /// Measured numbers that have no limit.
    pub numbers: Vec<FitNumber>,
    /// Reason why there is no limit, or aspects that the limits do not cover.
    pub note: String,
    /// Ids of the runs that were measured.
    pub runs: Vec<String>,
    /// Runs that were left out because checks rejected them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Warnings of the checks about the runs, worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Finding>,
    /// Reasons why the numbers cannot be trusted, and so have no answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_because: Vec<String>,
    /// Largest load of other processes among the runs; absent if no load affected the numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_load: Option<Box<UnderLoad>>,
}

/// The answer of [`FitFor`], or of one of its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FitAnswer {
    /// Good enough: the whole interval is on the good side of every limit.
    Yes,
    /// Not good enough: the whole interval is on the bad side of a limit.
    No,
    /// An interval covers its limit.
    Borderline,
    /// A number that has a limit was not measured: too few ops or too few runs.
    CannotTell,
    /// No limit has been published: the result has numbers only.
    NoLimit,
    /// The numbers cannot be trusted, or do not describe the device.
    Refused,
}

/// A limit, and how the storage compares with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FitLimit {
    /// The condition, such as `wal/fdatasync.lat.p99 < 10ms`.
    pub condition: String,
    /// The publisher of the limit, and the place of publication.
    pub source: String,
    /// Value of the limit, in the unit of its metric.
    pub limit: f64,
    /// The answer for this limit alone.
    pub answer: FitAnswer,
    /// The measured number, compared with the limit.
    #[serde(flatten)]
    pub number: FitNumber,
}

/// A number measured over all runs together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FitNumber {
    /// Name of the phase that the number describes.
    pub phase: String,
    /// Metric that the number is a value of.
    pub metric: Metric,
    /// Unit of the value and its interval.
    pub unit: Unit,
    /// Geometric mean of the runs; `null` if not measured.
    pub value: Option<f64>,
    /// Lower end of the 95 % interval.
    pub lo: Option<f64>,
    /// Upper end of the 95 % interval.
    pub hi: Option<f64>,
    /// If the runs have too few ops for the metric: the lower percentile that was measured instead. It is never larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<Metric>,
    /// Origin of the bytes that the phase moved; absent if it moved none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<TierName>,
}

impl FitAnswer {
    /// Returns the name that reports print.
    pub const fn name(self) -> &'static str {
        match self {
            FitAnswer::Yes => "yes",
            FitAnswer::No => "no",
            FitAnswer::Borderline => "borderline",
            FitAnswer::CannotTell => "cannot tell",
            FitAnswer::NoLimit => "no limit",
            FitAnswer::Refused => "refused",
        }
    }

    /// Combines the answers of several limits: all of them must hold.
    pub fn of_all(answers: impl IntoIterator<Item = FitAnswer>) -> FitAnswer {
        const WORST_FIRST: [FitAnswer; 4] =
            [FitAnswer::No, FitAnswer::CannotTell, FitAnswer::Borderline, FitAnswer::Yes];
        let answers: Vec<FitAnswer> = answers.into_iter().collect();
        WORST_FIRST.into_iter().find(|answer| answers.contains(answer)).unwrap_or(FitAnswer::NoLimit)
    }
}
