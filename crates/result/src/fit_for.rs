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
    /// [`FIT_FOR_SCHEMA`].
    pub schema: String,
    /// The use, such as `etcd`.
    #[serde(rename = "use")]
    pub use_name: String,
    /// The named workload that stands for it.
    pub workload: String,
    /// The storage, as typed.
    pub path: String,
    /// RFC 3339, UTC.
    pub measured_at: String,
    /// The answer.
    pub answer: FitAnswer,
    /// In words: the answer, with the number that decides it.
    pub answer_note: String,
    /// Each limit, and how the storage compares with it.
    pub limits: Vec<FitLimit>,
    /// Other numbers.
    pub numbers: Vec<FitNumber>,
    /// Why there is no limit, or what the limits leave out.
    pub note: String,
    /// Ids of the runs.
    pub runs: Vec<String>,
    /// Runs that were rejected by checks and left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// What the checks warn of in the runs, worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Finding>,
    /// Why there is no answer, where the numbers cannot be believed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_because: Vec<String>,
    /// The load of other processes in the run in which it was largest, where it was a part of the numbers.
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
    /// A number that has a limit was not measured: too few ops, or too few runs.
    CannotTell,
    /// Nobody has published a limit: there are numbers only.
    NoLimit,
    /// The numbers cannot be believed, or are not the device's.
    Refused,
}

/// A limit, and how the storage compares with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FitLimit {
    /// The condition, such as `wal/fdatasync.lat.p99 < 10ms`.
    pub condition: String,
    /// Who published it, and where.
    pub source: String,
    /// The limit, in the unit of its metric.
    pub limit: f64,
    /// The answer to it alone.
    pub answer: FitAnswer,
    /// The number.
    #[serde(flatten)]
    pub number: FitNumber,
}

/// A number of all runs together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FitNumber {
    /// Of which phase.
    pub phase: String,
    /// Which number.
    pub metric: Metric,
    /// Its unit.
    pub unit: Unit,
    /// Geometric mean of the runs; `null` where it was not measured.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
    /// Where the runs have too few ops for the metric: the percentile below it that was measured instead. It is no larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<Metric>,
    /// What moved the bytes of its phase; absent where the phase moves none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<TierName>,
}

impl FitAnswer {
    /// As printed.
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

    /// The answer of several limits: all must hold.
    pub fn of_all(answers: impl IntoIterator<Item = FitAnswer>) -> FitAnswer {
        const WORST_FIRST: [FitAnswer; 4] =
            [FitAnswer::No, FitAnswer::CannotTell, FitAnswer::Borderline, FitAnswer::Yes];
        let answers: Vec<FitAnswer> = answers.into_iter().collect();
        WORST_FIRST.into_iter().find(|answer| answers.contains(answer)).unwrap_or(FitAnswer::NoLimit)
    }
}
