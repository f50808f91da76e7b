//! Pauses between the runs of a comparison.

use serde::{Deserialize, Serialize};

/// Pauses between the runs of a comparison, and whether the storage was idle after them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settled {
    /// Requested pause before each run except the first (`--settle`), ns. Simulated devices count it in simulated time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_ns: Option<u64>,
    /// Runs that waited for the storage to become idle, up to the longest wait allowed.
    pub waits: u32,
    /// Total length of those waits, ns.
    pub waited_ns: u64,
    /// Runs that started while the storage was still busy.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_idle: u32,
    /// Work that the storage was still doing before the last of these runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<String>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
