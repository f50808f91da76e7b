//! Inputs of all formats besides the report.

use super::super::DeviceRow;
use super::colour::Palette;

/// Facts about the machine in a report.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameEnvironment {
    pub system: String,
    pub release: String,
    pub host: String,
    pub machine: String,
    pub processors: usize,
    /// The printed date of the start.
    pub date: String,
    pub palette: Palette,
}

/// Format of times: `%x %X` of the C locale, or ISO 8601 if S_TIME_FORMAT is `ISO`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeFormat {
    /// strftime(3) format for the date of the start.
    pub date: &'static str,
    /// strftime(3) format for the time of a report.
    pub time: &'static str,
}

impl TimeFormat {
    /// Returns the format for the value of S_TIME_FORMAT.
    pub fn from_variable(variable: Option<&str>) -> TimeFormat {
        match variable {
            Some("ISO") => TimeFormat { date: "%Y-%m-%d", time: "%Y-%m-%dT%H:%M:%S%z" },
            _ => TimeFormat { date: "%m/%d/%y", time: "%m/%d/%y %H:%M:%S" },
        }
    }
}

/// Computes the rates of a row. The order of every division is iostat's, because it determines the rounding of halves.
pub(super) struct Rates<'a> {
    pub(super) row: &'a DeviceRow,
    interval_cs: f64,
}

impl Rates<'_> {
    pub(super) fn new(row: &DeviceRow, interval_cs: u64) -> Rates<'_> {
        Rates { row, interval_cs: interval_cs as f64 }
    }

    pub(super) fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.interval_cs * 100.0
    }

    /// Returns the mean number of requests in flight.
    pub(super) fn queue(&self) -> f64 {
        self.per_second(u64::from(self.row.work.weighted_ms)) / 1000.0
    }

    /// Returns the time with at least one request in flight, in percent.
    pub(super) fn busy_percent(&self) -> f64 {
        self.per_second(u64::from(self.row.work.busy_ms)) / 10.0 / f64::from(self.row.devices)
    }
}
