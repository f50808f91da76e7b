//! Remedies of findings, as data. `plumb_trust::advice` words them for the command that the user ran.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Text that is compiled into the program or read from a document.
pub(crate) type RemedyText = Cow<'static, str>;

/// One way to resolve a finding. A remedy that a command's option applies carries the value to use; `None` if the
/// evidence does not determine one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// Advice in whole sentences, for remedies that no option applies.
    Words(RemedyText),
    /// Lengthen the timed phases of a workload.
    LongerTime {
        /// The phase that is too short; absent if all phases are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<RemedyText>,
        /// Shortest length that suffices, ns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_least_ns: Option<u64>,
    },
    /// Increase the time budget of a comparison, so that it can run more blocks.
    LargerBudget {
        /// Time that the needed blocks take, ns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_least_ns: Option<u64>,
    },
    /// Run at least this many blocks, or this many runs of each point.
    MoreRuns {
        /// Smallest number of runs that suffices.
        at_least: u32,
    },
    /// Pause between runs until the storage has settled.
    Settle {
        /// Shortest pause that suffices, ns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_least_ns: Option<u64>,
    },
    /// Measure the numbers of fewer phases.
    NamePhase {
        /// A phase that the user can name.
        phase: RemedyText,
    },
    /// Bring the storage to a steady state first.
    Precondition,
    /// Measure in rounds until the rate is steady.
    UntilSteady,
    /// Use a larger test file.
    LargerFile {
        /// Smallest size that suffices, bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_least_bytes: Option<u64>,
    },
    /// Provision each side several times.
    MorePlaces {
        /// Number of places on each side.
        per_side: u32,
        /// The factor that the comparison claims as the cause of the difference.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        varying: Option<RemedyText>,
    },
    /// Change a setting of the workload.
    Setting {
        /// Name of the setting, as `--set` accepts it.
        key: RemedyText,
        /// Value that the setting should have.
        value: RemedyText,
        /// Purpose of the change, as an imperative without a full stop.
        purpose: RemedyText,
    },
    /// Measure the noise floor of the set-up.
    MeasureFloor,
    /// Alternate between both sides while measuring.
    Interleave,
    /// Declare the load of other processes as a part of the set-up.
    DeclareLoad,
    /// Run as root, because other users cannot read the needed facts.
    RunAsRoot,
    /// Resolve the check failures that rejected the runs.
    SeeChecks {
        /// Codes of these checks, such as `C1`.
        codes: Vec<String>,
    },
}

impl Remedy {
    /// Returns a remedy with constant text.
    pub const fn words(text: &'static str) -> Remedy {
        Remedy::Words(Cow::Borrowed(text))
    }

    /// Returns a remedy that changes a workload setting.
    pub const fn setting(key: &'static str, value: &'static str, purpose: &'static str) -> Remedy {
        Remedy::Setting { key: Cow::Borrowed(key), value: Cow::Borrowed(value), purpose: Cow::Borrowed(purpose) }
    }

    /// Lengthens all timed phases, without naming a length.
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

/// Returns a time as `--budget` accepts it: whole minutes, or hours if longer than two hours.
pub fn budget_text(ns: u64) -> String {
    let minutes = ns.div_ceil(60_000_000_000).max(1);
    if minutes <= 120 { format!("{minutes}m") } else { format!("{}h", minutes.div_ceil(60)) }
}
