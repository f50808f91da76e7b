//! Results of auditing published numbers, as pure data: `audit` writes them, report shows them.

use crate::finding::{Level, RunVerdict};
use serde::{Deserialize, Serialize};

/// The audit of one study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Audit {
    /// Name and version of this form: `plumb.audit/1`.
    pub schema: String,
    /// Title of the audited study.
    pub title: String,
    /// Authors of the study; absent if the file does not name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authors: Option<String>,
    /// Year of publication; absent if the file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year: Option<i32>,
    /// Citation or address of the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Verdict over all findings: `reject` if one fails, `caution` if one warns, else `pass`.
    pub verdict: RunVerdict,
    /// The compared sides, in the order of the file.
    pub sides: Vec<AuditedSide>,
    /// Published numbers: one row for each test and metric.
    pub rows: Vec<AuditedRow>,
    /// Problems of the numbers, worst first.
    pub findings: Vec<AuditFinding>,
    /// The study's conclusions, and whether its numbers support them.
    pub claims: Vec<AuditedClaim>,
    /// Limitations that the authors stated themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub admitted: Vec<String>,
    /// Additions to the audited file that the published study does not contain.
    #[serde(default)]
    pub added: Vec<String>,
}

impl Audit {
    /// Name and version of the form.
    pub const SCHEMA: &'static str = "plumb.audit/1";

    /// Returns `true` if a check failed or the numbers do not support a claim.
    pub fn is_rejected(&self) -> bool {
        self.verdict == RunVerdict::Reject || self.claims.iter().any(|claim| claim.verdict != ClaimVerdict::Stands)
    }
}

/// One of the compared systems.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditedSide {
    /// Short name, used in `test.metric@side`.
    pub id: String,
    /// Full name of the system.
    pub name: String,
}

/// Published numbers of one test and metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditedRow {
    /// Name of the test in the audited file.
    pub test: String,
    /// Name of the metric in the audited file.
    pub metric: String,
    /// One number for each side, in the order of the file.
    pub cells: Vec<AuditedCell>,
}

/// One published number and its interpretation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditedCell {
    /// Short name of the side.
    pub side: String,
    /// The number as printed, with its unit; absent if it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// Reason why the number is missing; absent if it is present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The number in bytes per second, if it is a byte rate whose unit could be determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<f64>,
    /// The prefix that the number really has: `MB/s`, `MiB/s` …; absent if nothing contradicts the printed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub really: Option<String>,
}

/// A problem of published numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditFinding {
    /// Code of the check, `A1` … `E14`, or `P1` … for problems that only published numbers can have; stable.
    pub code: String,
    /// Rule of that check in a word or two, such as `mixed-units`; stable.
    pub rule: String,
    /// Severity of the problem; a `fail` rejects the numbers.
    pub level: Level,
    /// The numbers concerned, as `test.metric@side`; empty if the finding is about the study as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<String>,
    /// The values that the check recomputed.
    pub observed: String,
    /// The problem, in one sentence.
    pub message: String,
    /// Correction that would resolve the problem.
    pub remedy: String,
}

/// Whether the numbers support a conclusion.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ClaimVerdict {
    /// The numbers support the conclusion.
    Stands,
    /// The numbers neither support nor contradict the conclusion.
    Unsupported,
    /// The numbers contradict the conclusion.
    Contradicted,
}

impl ClaimVerdict {
    /// Returns the name that reports print.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A conclusion of the study, checked against its numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditedClaim {
    /// The conclusion in the authors' words.
    pub text: String,
    /// Whether the numbers support it.
    pub verdict: ClaimVerdict,
    /// The numbers that the conclusion relies on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<String>,
    /// The reasons for the verdict, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
    /// Findings about these numbers, as `code rule`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}
