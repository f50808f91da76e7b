//! The evidence of one host among several.

use plumb_result::{Measurement, Observations};
use plumb_workload::Workload;

/// Measurements of one host's ranks, and observations of its machine.
#[derive(Debug, Clone, PartialEq)]
pub struct HostEvidence {
    pub name: String,
    /// The workload of its ranks together.
    pub workload: Workload,
    /// Sum over its ranks, with their workers listed separately.
    pub measurement: Measurement,
    /// Observations of the machine, its storage and all its ranks.
    pub observations: Observations,
}
