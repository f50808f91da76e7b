//! Companions of a phase: processor time that is used up, and programs that run, while its workers do their I/O.

use crate::phase::{OnError, RunAs, Start, WhenDone};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// What runs in a phase and makes no I/O of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Companion {
    /// Labels its numbers, which are those of workers called `NAME/0`, `NAME/1`, …. No group of the phase has it.
    pub name: String,
    /// What it does.
    pub does: Activity,
    /// How many of them.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u32,
    /// As threads or as processes.
    #[serde(default)]
    pub run_as: RunAs,
    /// When it starts, where that is not with the phase.
    #[serde(default, skip_serializing_if = "Start::is_with_phase")]
    pub start: Start,
    /// In this time after its start nothing of it is measured.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub ramp: Nanos,
    /// It ends after so long, its ramp not included; without one, by itself or with the phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Nanos>,
    /// CPUs to run on: companion `i` on `cpus[i mod len]`; anywhere when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// What it means that it failed.
    #[serde(default)]
    pub on_error: OnError,
    /// Whom its end ends.
    #[serde(default, skip_serializing_if = "WhenDone::is_itself")]
    pub when_done: WhenDone,
}

/// What a companion does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Activity {
    /// It uses up processor time.
    Busy(Busy),
    /// It runs another program.
    Exec(Exec),
}

/// Processor time that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Busy {
    /// Per cent of one processor, 1 to 100.
    pub percent: u8,
    /// Length of a busy piece; between two it sleeps.
    pub piece: Nanos,
    /// By sorting numbers, which uses the caches, rather than by counting.
    #[serde(default)]
    pub sorts: bool,
    /// End with the last worker of the phase.
    #[serde(default)]
    pub ends_with_others: bool,
}

/// Another program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Exec {
    /// The program.
    pub program: String,
    /// Its arguments, parted as a shell does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    /// Between asking it to end and killing it.
    pub grace: Nanos,
    /// Its output goes to `NAME.stdout` and `NAME.stderr` in the working directory, rather than nowhere.
    #[serde(default)]
    pub keeps_output: bool,
}

impl Companion {
    /// One thread of this name, from the phase's start.
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
