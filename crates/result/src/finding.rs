//! What the checks say.

use crate::remedy::Remedy;
use serde::{Deserialize, Serialize};

/// How bad a finding is. Any `fail` rejects a run, any `warn` makes it a caution.
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
    /// Looked at, and in order.
    Pass,
    /// Could not be looked at; the message says why.
    Skipped,
    /// Worth knowing.
    Note,
    /// The number may mislead.
    Warn,
    /// The number is not what it claims to be.
    Fail,
}

impl Level {
    /// As printed.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The outcome of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The check, `A1` … `E14`; stable.
    pub code: String,
    /// How bad it is.
    pub level: Level,
    /// The phase that it is about; the whole run when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// When in its phase it was first true, ns from the end of the ramp; absent where it was known only at the end, or from the
    /// beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
    /// What was seen, with its unit; empty where it could not be seen.
    pub observed: String,
    /// What it was held against.
    pub threshold: String,
    /// One plain sentence.
    pub message: String,
    /// The remedies in words, for the command that made the run; empty if there are none.
    pub remedy: String,
    /// The remedies as data; absent if there are none, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<Remedy>,
}

/// What a rate measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Tier {
    /// The device moved the bytes.
    Device,
    /// The server of a network file system did: from its memory or its storage, which a client cannot tell apart.
    Server,
    /// This machine's memory did.
    Cache,
    /// Memory and the device or server; `device_share` (0–1) of the bytes came from there.
    Mixed {
        /// Share of the bytes that the device moved, or that went to the server.
        device_share: f64,
    },
    /// It could not be seen.
    Unknown,
}

impl Tier {
    /// The word of the design: `device`, `server`, `cache`, `mixed`, `unknown`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Whether a run can be believed.
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
    /// Every check that could look found nothing wrong.
    Pass,
    /// Something may mislead.
    Caution,
    /// The number is not what it claims to be.
    Reject,
    /// The evidence was never recorded.
    Unknown,
}

impl RunVerdict {
    /// As printed.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The verdict that these findings carry. A check that could not look says nothing; where none could, the verdict
    /// is unknown. Trust lowers a `pass` further where a check without which nothing is known could not look.
    pub fn of(findings: &[Finding]) -> RunVerdict {
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

    /// One check that could not look must not hide what the others saw, and none at all is no evidence.
    #[test]
    fn the_worst_that_was_seen_decides() {
        let verdict =
            |levels: &[Level]| RunVerdict::of(&levels.iter().map(|level| finding(*level)).collect::<Vec<_>>());
        assert_eq!(verdict(&[]), RunVerdict::Unknown);
        assert_eq!(verdict(&[Level::Skipped]), RunVerdict::Unknown);
        assert_eq!(verdict(&[Level::Skipped, Level::Pass, Level::Note]), RunVerdict::Pass);
        assert_eq!(verdict(&[Level::Pass, Level::Warn]), RunVerdict::Caution);
        assert_eq!(verdict(&[Level::Warn, Level::Fail, Level::Skipped]), RunVerdict::Reject);
    }
}
