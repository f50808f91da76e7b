//! Findings of the checks.

use crate::remedy::Remedy;
use serde::{Deserialize, Serialize};

/// Severity of a finding. A `fail` rejects the run; a `warn` makes it a caution.
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
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Level {
    /// The check ran and found nothing wrong.
    Pass,
    /// The check could not run; the message states the reason.
    Skipped,
    /// A fact worth knowing that does not affect the numbers.
    Note,
    /// The number may mislead.
    Warn,
    /// The number is not what it claims to be.
    Fail,
}

impl Level {
    /// Returns the name that reports print.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The outcome of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Code of the check, `A1` … `E14`; stable.
    pub code: String,
    /// Severity of the finding; a `fail` rejects the run.
    pub level: Level,
    /// Name of the phase concerned; absent for the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Time in the phase when the finding first became true, ns from the end of the ramp. Absent if it was known only
    /// at the end, or from the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
    /// The observed value with its unit; empty if it could not be observed.
    pub observed: String,
    /// The limit that the observed value was compared with.
    pub threshold: String,
    /// The finding, in one sentence.
    pub message: String,
    /// Remedies as text, worded for the command that made the run; empty if there are none.
    pub remedy: String,
    /// Remedies as data; absent if there are none, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<Remedy>,
}

/// The origin of the bytes that a rate measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Tier {
    /// The device moved the bytes.
    Device,
    /// The server of a network file system moved the bytes. Clients cannot distinguish its memory from its storage.
    Server,
    /// This machine's memory served or absorbed the bytes.
    Cache,
    /// Both memory and the device or server; `device_share` (0–1) of the bytes came from the device or server.
    Mixed {
        /// Share of the bytes that the device moved, or that went to the server.
        device_share: f64,
    },
    /// The origin could not be observed.
    Unknown,
}

impl Tier {
    /// Returns the name: `device`, `server`, `cache`, `mixed`, `unknown`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Whether the numbers of a run can be trusted.
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
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum RunVerdict {
    /// Every check that could run found nothing wrong.
    Pass,
    /// A check warned: a number may mislead.
    Caution,
    /// A check failed: a number is not what it claims to be.
    Reject,
    /// The evidence for the checks was never recorded.
    Unknown,
}

impl RunVerdict {
    /// Returns the name that reports print.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the verdict for these findings. Skipped checks do not affect it; if all were skipped, the verdict is
    /// unknown. Trust lowers a `pass` further if an essential check was skipped.
    pub fn from_findings(findings: &[Finding]) -> RunVerdict {
        match findings.iter().map(|finding| finding.level).filter(|level| *level != Level::Skipped).max() {
            None | Some(Level::Skipped) => RunVerdict::Unknown,
            Some(Level::Pass | Level::Note) => RunVerdict::Pass,
            Some(Level::Warn) => RunVerdict::Caution,
            Some(Level::Fail) => RunVerdict::Reject,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(level: Level) -> Finding {
        Finding {
            code: "A1".to_owned(),
            level,
            phase: None,
            at_ns: None,
            observed: String::new(),
            threshold: String::new(),
            message: String::new(),
            remedy: String::new(),
            remedies: Vec::new(),
        }
    }

    /// Protects: one skipped check does not hide the findings of others, and no findings are no evidence.
    #[test]
    fn the_worst_finding_decides() {
        let verdict = |levels: &[Level]| {
            RunVerdict::from_findings(&levels.iter().map(|level| finding(*level)).collect::<Vec<_>>())
        };
        assert_eq!(verdict(&[]), RunVerdict::Unknown);
        assert_eq!(verdict(&[Level::Skipped]), RunVerdict::Unknown);
        assert_eq!(verdict(&[Level::Skipped, Level::Pass, Level::Note]), RunVerdict::Pass);
        assert_eq!(verdict(&[Level::Pass, Level::Warn]), RunVerdict::Caution);
        assert_eq!(verdict(&[Level::Warn, Level::Fail, Level::Skipped]), RunVerdict::Reject);
    }
}
