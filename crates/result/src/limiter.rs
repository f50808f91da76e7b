//! The limit that a phase ran into.

use serde::{Deserialize, Serialize};

/// The limit that kept a phase from being faster, with the evidence for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limiter {
    /// Which limit the phase ran into.
    pub what: Bound,
    /// Used share of the limited resource, 0–1; absent if no such share can be stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// The evidence as a phrase, without a full stop.
    pub text: String,
}

/// Things that can limit the speed of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// A block device under the target.
    Device,
    /// The link to a block device.
    Link,
    /// Copying from and to memory: the page cache, or a file system in memory.
    Cache,
    /// The processor of one worker, while other processors were idle.
    WorkerCpu,
    /// All processors of the machine.
    AllCpus,
    /// Workers that wait for each other in the kernel.
    Lock,
    /// Plumb's own loop, rather than the storage.
    Generator,
    /// The CPU quota of a control group.
    CpuLimit,
    /// The I/O limit of a control group.
    IoLimit,
    /// A network link of the machine.
    Network,
    /// The requested rate or think time.
    Pace,
    /// The allowed ops in flight: each op waits for an earlier one.
    Depth,
    /// None of the observed resources was at its limit.
    Unknown,
}

impl Bound {
    /// Returns the name that reports print.
    pub const fn name(self) -> &'static str {
        match self {
            Bound::Device => "the device",
            Bound::Link => "the link to the device",
            Bound::Cache => "memory",
            Bound::WorkerCpu => "one worker's CPU",
            Bound::AllCpus => "all CPUs",
            Bound::Lock => "a kernel lock",
            Bound::Generator => "Plumb itself",
            Bound::CpuLimit => "the control group's CPU limit",
            Bound::IoLimit => "the control group's I/O limit",
            Bound::Network => "the network",
            Bound::Pace => "the requested rate",
            Bound::Depth => "concurrency",
            Bound::Unknown => "unknown",
        }
    }
}
