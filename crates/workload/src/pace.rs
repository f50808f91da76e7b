//! When the next op may start.

use crate::units::{Nanos, PerSecond};
use serde::{Deserialize, Serialize};

/// When the next op may start.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "=", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Pace"))]
pub enum Pace {
    /// As soon as there is room in the queue.
    #[default]
    Closed,
    /// Closed, with a pause after every `every` ops.
    Think {
        /// Length of the pause.
        time: Nanos,
        /// Ops between pauses.
        #[serde(default = "every_op")]
        every: u64,
    },
    /// Open: each op has an intended start, kept whether or not earlier ops are late.
    Open {
        /// Ops per second: of each worker, or of the whole group when `shared`.
        rate: PerSecond,
        /// How intended starts are spread.
        #[serde(default)]
        arrival: Arrival,
        /// One rate for the group's workers together.
        #[serde(default)]
        shared: bool,
    },
}

fn every_op() -> u64 {
    1
}

/// How the intended starts of an open load are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// Evenly: one every 1/rate.
    #[default]
    Fixed,
    /// Exponential gaps: independent users.
    Poisson,
}
