//! What bounded a phase.

use serde::{Deserialize, Serialize};

/// What kept a phase from being faster, and the evidence for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limiter {
    /// What it was.
    pub what: Bound,
    /// How much of it was used, as a share of what there is; absent where no such share can be stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<f64>,
    /// The evidence in words, without a full stop.
    pub text: String,
}

/// What can bound a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// A block device.
    Device,
    /// The link to a block device.
    Link,
    /// Copying from and to memory: the page cache, or a file system that lives in memory.
    Cache,
    /// The processor of one worker, while others were idle.
    WorkerCpu,
    /// All processors of the machine.
    AllCpus,
    /// Workers that wait for each other in the kernel.
    Lock,
    /// Plumb's own loop.
    Generator,
    /// The CPU quota of a control group.
    CpuLimit,
    /// The I/O limit of a control group.
    IoLimit,
    /// A network link.
    Network,
    /// The asked rate, or think time.
    Pace,
    /// The ops that may be in flight: each waits for the one before.
    Depth,
    /// Nothing that was seen was at its limit.
    Unknown,
}

impl Bound {
    /// As printed.
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
