//! The evidence of one host among several.

use plumb_result::{Measurement, Observations};
use plumb_workload::Workload;

/// What one host's ranks measured, and what was seen of that machine.
#[derive(Debug, Clone, PartialEq)]
pub struct HostEvidence {
    /// Its name.
    pub name: String,
    /// What its ranks run together.
    pub workload: Workload,
    /// All its ranks together, their workers side by side.
    pub measurement: Measurement,
    /// The machine, its storage and all its ranks.
    pub observations: Observations,
}
