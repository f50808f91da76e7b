//! Remedies of findings, as data. `plumb_trust::advice` puts it into words for the command at hand.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A text that is a part of the program, or was read from a document.
pub(crate) type RemedyText = Cow<'static, str>;

/// One way out of a finding. What an option of a command can do carries the value that it should have; `None` where the
/// evidence does not give one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// Something that no option of a command does, in whole sentences.
    Words(RemedyText),
    /// Give timed phases more time.
    LongerTime {
        /// The phase that is too short; all where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<RemedyText>,
        /// The least length that would do, ns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_least_ns: Option<u64>,
    },
    /// Give a comparison more time for more blocks.
    LargerBudget {
        /// Time that the blocks take which are needed, ns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_least_ns: Option<u64>,
    },
    /// Run at least this many blocks, or as many runs of each point.
    MoreRuns {
        /// The least number that would do.
        at_least: u32,
    },
    /// Pause between runs for some time.
    Settle {
        /// The least pause that would do, ns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_least_ns: Option<u64>,
    },
    /// Measure the numbers of fewer phases.
    NamePhase {
        /// A phase that can be named.
        phase: RemedyText,
    },
    /// Bring the storage to a steady state first.
    Precondition,
    /// Measure in rounds until the rate is steady.
    UntilSteady,
    /// Use a larger test file.
    LargerFile {
        /// The least size that would do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_least_bytes: Option<u64>,
    },
    /// Provision each side several times.
    MorePlaces {
        /// Number of places on each side.
        per_side: u32,
        /// The factor that is claimed to make the difference.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        varying: Option<RemedyText>,
    },
    /// Change a setting of the workload.
    Setting {
        /// Its name, as `--set` takes it.
        key: RemedyText,
        /// The value that it should have.
        value: RemedyText,
        /// The purpose of the change, as a request without a full stop.
        purpose: RemedyText,
    },
    /// Measure the noise floor of the set-up.
    MeasureFloor,
    /// Measure both sides by turns.
    Interleave,
    /// Declare the load of others as a part of the set-up.
    DeclareLoad,
    /// Run as root, who sees what is hidden from other users.
    RunAsRoot,
    /// See to what rejected the runs, by the codes of the checks.
    SeeChecks {
        /// Their codes, such as `C1`.
        codes: Vec<String>,
    },
}

impl Remedy {
    /// Words that are a part of the program.
    pub const fn words(text: &'static str) -> Remedy {
        Remedy::Words(Cow::Borrowed(text))
    }

    /// A setting of the workload.
    pub const fn setting(key: &'static str, value: &'static str, purpose: &'static str) -> Remedy {
        Remedy::Setting { key: Cow::Borrowed(key), value: Cow::Borrowed(value), purpose: Cow::Borrowed(purpose) }
    }

    /// More time for timed phases.
    pub const LONGER_TIME: Remedy = Remedy::LongerTime { phase: None, at_least_ns: None };
}

impl From<&'static str> for Remedy {
    fn from(text: &'static str) -> Remedy {
        Remedy::words(text)
    }
}

impl From<String> for Remedy {
    fn from(text: String) -> Remedy {
        Remedy::Words(Cow::Owned(text))
    }
}

/// A budget as `--budget` takes it: whole minutes, or hours from two of them on.
pub fn budget_text(ns: u64) -> String {
    let minutes = ns.div_ceil(60_000_000_000).max(1);
    if minutes <= 120 { format!("{minutes}m") } else { format!("{}h", minutes.div_ceil(60)) }
}
