//! What was seen of limits from outside while a phase ran: a control group's CPU quota and the machine's network links.

use crate::seen::Seen;
use serde::{Deserialize, Serialize};

/// Limits from outside, over one phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LimitsSeen {
    /// How often the CPU quota of this process' control groups held it back.
    pub cpu_quota: Seen<CpuQuota>,
    /// Physical network links, only where a target is remote.
    pub network: Seen<Vec<NetworkLink>>,
}

/// Of the group that was held back most. Source: the kernel's Documentation/scheduler/sched-bwc.rst, "Statistics".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CpuQuota {
    /// Periods of the quota in which the group wanted to run.
    pub periods: u64,
    /// Periods in which it had used up its quota and had to wait.
    pub throttled_periods: u64,
    /// Time that its processors waited, all of them together, µs.
    pub throttled_us: u64,
}

/// One network link.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NetworkLink {
    /// Kernel's name, `eth0`.
    pub name: String,
    /// Bytes received meanwhile, frames' headers included.
    pub received_bytes: u64,
    /// Bytes sent meanwhile.
    pub sent_bytes: u64,
    /// What it carries in each direction, bytes/s; `None` where it does not say, as virtual links do not.
    pub bytes_per_second: Option<f64>,
}
