//! Pauses between the runs of a comparison.

use serde::{Deserialize, Serialize};

/// Pauses between the runs of a comparison, and whether they were long enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settled {
    /// Pause before each run but the first, as asked for (`--settle`), ns; of simulated devices, in their time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_ns: Option<u64>,
    /// Runs that waited until the storage was idle, or for as long as is allowed.
    pub waits: u32,
    /// Time that passed so, ns.
    pub waited_ns: u64,
    /// Runs that began while the storage still worked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_idle: u32,
    /// Work that the storage still did before the last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<String>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
