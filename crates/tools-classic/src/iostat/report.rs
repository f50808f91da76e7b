//! What happened between two samples.

use super::DeviceRow;

/// Shares of the processors' time, percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuShares {
    /// Programs.
    pub user: f64,
    /// Programs of low priority.
    pub nice: f64,
    /// The kernel, interrupts with it.
    pub system: f64,
    /// Idle, while I/O was waited for.
    pub iowait: f64,
    /// What a hypervisor took.
    pub steal: f64,
    /// Idle.
    pub idle: f64,
}

/// One report.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The time at which it was taken, as it is printed.
    pub time: String,
    /// Processors.
    pub cpu: CpuShares,
    /// Length of time that it is about, in hundredths of a second.
    pub interval_cs: u64,
    /// Devices; four times where a report has four parts.
    pub parts: Vec<Vec<DeviceRow>>,
}
