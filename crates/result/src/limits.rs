//! Limits imposed from outside during a phase: a control group's CPU quota and the machine's network links.

use crate::seen::Seen;
use serde::{Deserialize, Serialize};

/// Outside limits observed over one phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LimitsSeen {
    /// Throttling by the CPU quota of this process' control groups.
    pub cpu_quota: Seen<CpuQuota>,
    /// Physical network links; read only if a target is remote.
    pub network: Seen<Vec<NetworkLink>>,
}

/// CPU quota of the most throttled control group. Source: the kernel's Documentation/scheduler/sched-bwc.rst, "Statistics".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CpuQuota {
    /// Quota periods in which the group was runnable.
    pub periods: u64,
    /// Periods in which the group used up its quota and had to wait.
    pub throttled_periods: u64,
    /// Throttled time summed over all processors, µs.
    pub throttled_us: u64,
}

/// Traffic and capacity of one network link.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NetworkLink {
    /// Kernel name of the interface, such as `eth0`.
    pub name: String,
    /// Bytes received during the phase, including frame headers.
    pub received_bytes: u64,
    /// Bytes sent during the phase.
    pub sent_bytes: u64,
    /// Capacity in each direction, bytes/s; `None` if the link does not report it, as virtual links do not.
    pub bytes_per_second: Option<f64>,
}
