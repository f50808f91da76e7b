//! What all formats need in addition to the report.

use super::super::DeviceRow;
use super::colour::Palette;

/// What a report says of the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameEnvironment {
    /// `Linux`.
    pub system: String,
    /// Release of the kernel.
    pub release: String,
    /// Name of the host.
    pub host: String,
    /// `x86_64`.
    pub machine: String,
    /// Processors.
    pub processors: usize,
    /// The date of the start, as it is printed.
    pub date: String,
    /// Colours of text.
    pub palette: Palette,
}

/// How times are written. `%x %X` of the C locale, or ISO 8601 where S_TIME_FORMAT says `ISO`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeFormat {
    /// Of the date of the start, for strftime(3).
    pub date: &'static str,
    /// Of the time of a report.
    pub time: &'static str,
}

impl TimeFormat {
    /// As the variable S_TIME_FORMAT says.
    pub fn of(variable: Option<&str>) -> TimeFormat {
        match variable {
            Some("ISO") => TimeFormat { date: "%Y-%m-%d", time: "%Y-%m-%dT%H:%M:%S%z" },
            _ => TimeFormat { date: "%m/%d/%y", time: "%m/%d/%y %H:%M:%S" },
        }
    }
}

/// Rates of a row. The order of every division is iostat's, since it decides how a half is rounded.
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

    /// Mean number of requests in flight.
    pub(super) fn queue(&self) -> f64 {
        self.per_second(u64::from(self.row.work.weighted_ms)) / 1000.0
    }

    /// Time with at least one request in flight, percent.
    pub(super) fn busy_percent(&self) -> f64 {
        self.per_second(u64::from(self.row.work.busy_ms)) / 10.0 / f64::from(self.row.devices)
    }
}
