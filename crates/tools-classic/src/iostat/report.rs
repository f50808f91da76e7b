//! The activity between two samples.

use super::DeviceRow;

/// Shares of CPU time in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuShares {
    pub user: f64,
    pub nice: f64,
    /// Time in the kernel, including interrupts.
    pub system: f64,
    /// Idle time with outstanding I/O.
    pub iowait: f64,
    pub steal: f64,
    pub idle: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The printed time of the sample.
    pub time: String,
    pub cpu: CpuShares,
    /// Length of the interval in hundredths of a second.
    pub interval_cs: u64,
    /// Devices; four lists if the report has four parts.
    pub parts: Vec<Vec<DeviceRow>>,
}
