//! Companions of a phase: CPU load and external programs that run while its workers do I/O.

use crate::phase::{OnError, RunAs, Start, WhenDone};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// A companion runs during a phase and makes no I/O of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Companion {
    /// Name that labels the companion's metrics, as workers `NAME/0`, `NAME/1`, …. It must differ
    /// from the phase's group names.
    pub name: String,
    /// Activity, either CPU load or an external program.
    pub does: Activity,
    /// Number of threads or processes that run it.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u32,
    /// Run as threads or as processes.
    #[serde(default)]
    pub run_as: RunAs,
    /// Start condition; starts with the phase by default.
    #[serde(default, skip_serializing_if = "Start::is_with_phase")]
    pub start: Start,
    /// Time after its start that is not measured.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub ramp: Nanos,
    /// Run time, not counting the ramp. Without it, the companion ends by itself or with the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Nanos>,
    /// CPUs to run on: companion `i` on `cpus[i mod len]`; any CPU when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// Consequence of a failure for the phase.
    #[serde(default)]
    pub on_error: OnError,
    /// Groups, or the phase, that end when a worker of the companion ends.
    #[serde(default, skip_serializing_if = "WhenDone::is_itself")]
    pub when_done: WhenDone,
}

/// Activity of a companion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Activity {
    /// Use up processor time.
    Busy(Busy),
    /// Run an external program.
    Exec(Exec),
}

/// A CPU load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Busy {
    /// Percentage of one CPU, 1 to 100.
    pub percent: u8,
    /// Length of a busy period. The companion sleeps between two periods.
    pub piece: Nanos,
    /// Sort numbers, which uses the caches, instead of counting.
    #[serde(default)]
    pub sorts: bool,
    /// End with the last worker of the phase.
    #[serde(default)]
    pub ends_with_others: bool,
}

/// An external program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Exec {
    /// Path or name of the program.
    pub program: String,
    /// Arguments, split as a shell does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    /// Time between asking the program to end and killing it.
    pub grace: Nanos,
    /// Write its output to `NAME.stdout` and `NAME.stderr` in the working directory. Otherwise discard it.
    #[serde(default)]
    pub keeps_output: bool,
}

impl Companion {
    /// Returns one thread of this name that starts with the phase.
    pub fn new(name: impl Into<String>, does: Activity) -> Companion {
        Companion {
            name: name.into(),
            does,
            count: one(),
            run_as: RunAs::default(),
            start: Start::default(),
            ramp: Nanos::default(),
            time: None,
            cpus: Vec::new(),
            on_error: OnError::default(),
            when_done: WhenDone::default(),
        }
    }
}

fn one() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}
