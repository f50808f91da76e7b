//! What an audit of published numbers says. Written by `audit`, shown by report; pure data.

use crate::finding::{Level, RunVerdict};
use serde::{Deserialize, Serialize};

/// One study, audited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Audit {
    /// `plumb.audit/1`.
    pub schema: String,
    /// What the study is called.
    pub title: String,
    /// Who wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authors: Option<String>,
    /// When it appeared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year: Option<i32>,
    /// Where it can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Of all findings: `reject` where one fails, `caution` where one warns, else `pass`.
    pub verdict: RunVerdict,
    /// The sides, in the order of the file.
    pub sides: Vec<AuditedSide>,
    /// What was published, a row a test and metric.
    pub rows: Vec<AuditedRow>,
    /// What is wrong with it, worst first.
    pub findings: Vec<AuditFinding>,
    /// What was concluded from it, and whether that stands.
    pub claims: Vec<AuditedClaim>,
    /// What the authors said themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub admitted: Vec<String>,
    /// What in the audited file does not stand in the study as it was published.
    #[serde(default)]
    pub added: Vec<String>,
}

impl Audit {
    /// The version of this form.
    pub const SCHEMA: &'static str = "plumb.audit/1";

    /// Whether something fails, or a claim does not stand.
    pub fn is_rejected(&self) -> bool {
        self.verdict == RunVerdict::Reject || self.claims.iter().any(|claim| claim.verdict != ClaimVerdict::Stands)
    }
}

/// One of the things compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditedSide {
    /// Its short name.
    pub id: String,
    /// What it is called in full.
    pub name: String,
}

/// Published numbers of one test and metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditedRow {
    /// The test.
    pub test: String,
    /// The metric.
    pub metric: String,
    /// One number a side, in the order of the file.
    pub cells: Vec<AuditedCell>,
}

/// One published number, and what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditedCell {
    /// The side.
    pub side: String,
    /// As printed, with its unit; absent where the number is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// Why it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// What it is in bytes per second, where it is a rate of bytes and its unit could be settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<f64>,
    /// Which prefix the number turned out to have: `MB/s`, `MiB/s` …; absent where nothing shows another than printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub really: Option<String>,
}

/// Something that is wrong with published numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditFinding {
    /// The check, `A1` … `E14`, or `P1` … for what only published numbers can have; stable.
    pub code: String,
    /// Which rule of that check, in a word or two: `mixed-units`; stable.
    pub rule: String,
    /// How bad it is.
    pub level: Level,
    /// The numbers it rests on, `test.metric@side`; none where it is about the study as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<String>,
    /// What was recomputed.
    pub observed: String,
    /// One plain sentence.
    pub message: String,
    /// What would be right.
    pub remedy: String,
}

/// Whether a conclusion follows from the numbers.
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
    /// The numbers carry it.
    Stands,
    /// The numbers neither carry nor contradict it.
    Unsupported,
    /// The numbers say otherwise.
    Contradicted,
}

impl ClaimVerdict {
    /// As printed.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A conclusion of the study, held against its numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditedClaim {
    /// As the authors put it.
    pub text: String,
    /// Whether it stands.
    pub verdict: ClaimVerdict,
    /// The numbers it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<String>,
    /// What decides, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
    /// Findings that touch its numbers, as `code rule`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}
