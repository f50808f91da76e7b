//! `steadystate`: what a steady-state rule found.

use plumb_result::{SteadyOutcome, SteadySample};

/// `steadystate`.
#[derive(Debug, Clone, PartialEq)]
pub struct SteadyReport {
    /// What was watched.
    pub of: SteadyOf,
    /// How.
    pub by: SteadyBy,
    /// The limit that was given.
    pub limit: f64,
    /// Whether the limit is in percent of the mean.
    pub scale: SteadyScale,
    /// `steadystate_duration`, s.
    pub duration_s: u64,
    /// Intervals that this time has; fio lists as many, 0 for each that has not come.
    pub intervals: usize,
    /// Whether it was reached.
    pub attained: bool,
    /// What was held against the limit, in the limit's unit; 0 before the time was full, and so are the next two.
    pub criterion: f64,
    /// Largest distance from the mean, in the unit of what was watched.
    pub max_deviation: f64,
    /// Slope of the fitted line, in the unit of what was watched, an interval.
    pub slope: f64,
    /// Bytes a second in each interval.
    pub bytes_per_second: Vec<u64>,
    /// Ops a second in each interval.
    pub iops: Vec<u64>,
    /// Mean latency in each interval, ns; used where latency was watched.
    pub latency_ns: Vec<u64>,
}

/// What a steady-state rule watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteadyOf {
    /// Ops a second.
    Iops,
    /// Bytes a second.
    Bandwidth,
    /// Latency.
    Latency,
}

/// What a steady-state rule compares with its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteadyBy {
    /// Largest distance from the mean.
    MeanDeviation,
    /// Slope of the fitted line.
    Slope,
}

/// The unit of a steady-state limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteadyScale {
    /// Percent of the mean.
    Percent,
    /// The watched quantity's own.
    Absolute,
}

impl SteadyReport {
    /// The whole mean of the intervals' values; 0 of none.
    pub(super) fn mean(values: &[u64]) -> u64 {
        let sum: u128 = values.iter().map(|value| u128::from(*value)).sum();
        u64::try_from(sum / values.len().max(1) as u128).unwrap_or(u64::MAX)
    }

    /// Takes what was found.
    pub(super) fn take(&mut self, outcome: &SteadyOutcome) {
        let whole =
            |pick: fn(&SteadySample) -> f64| outcome.samples.iter().map(|one| pick(one).round() as u64).collect();
        self.attained = outcome.attained;
        self.criterion = outcome.criterion.unwrap_or(0.0);
        self.max_deviation = outcome.max_deviation.unwrap_or(0.0);
        self.slope = outcome.slope.unwrap_or(0.0);
        self.bytes_per_second = whole(|one| one.bytes_per_second);
        self.iops = whole(|one| one.ops_per_second);
        self.latency_ns = whole(|one| one.latency_ns);
    }
}
