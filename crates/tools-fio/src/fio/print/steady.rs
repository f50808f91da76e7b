//! Results of a `steadystate` rule.

use plumb_result::{SteadyOutcome, SteadySample};

#[derive(Debug, Clone, PartialEq)]
pub struct SteadyReport {
    pub of: SteadyOf,
    pub by: SteadyBy,
    /// The limit, in the unit of `scale`.
    pub limit: f64,
    pub scale: SteadyScale,
    /// `steadystate_duration`, s.
    pub duration_s: u64,
    /// Number of intervals in this duration. fio lists all of them, with 0 for those that have not ended.
    pub intervals: usize,
    pub attained: bool,
    /// The value compared with the limit, in the limit's unit. It and the next two are 0 until the duration has passed.
    pub criterion: f64,
    /// Largest deviation from the mean, in the unit of the watched quantity.
    pub max_deviation: f64,
    /// Slope of the fitted line, in the unit of the watched quantity per interval.
    pub slope: f64,
    /// Bytes per second in each interval.
    pub bytes_per_second: Vec<u64>,
    /// Ops per second in each interval.
    pub iops: Vec<u64>,
    /// Mean latency in each interval, in nanoseconds; used only if latency is watched.
    pub latency_ns: Vec<u64>,
}

/// The quantity that a steady-state rule watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteadyOf {
    Iops,
    Bandwidth,
    Latency,
}

/// The statistic that a steady-state rule compares with its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteadyBy {
    /// Largest deviation from the mean.
    MeanDeviation,
    /// Slope of the fitted line.
    Slope,
}

/// The unit of a steady-state limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteadyScale {
    /// Percent of the mean.
    Percent,
    Absolute,
}

impl SteadyReport {
    /// Returns the whole mean of the intervals' values; 0 without values.
    pub(super) fn mean(values: &[u64]) -> u64 {
        let sum: u128 = values.iter().map(|value| u128::from(*value)).sum();
        u64::try_from(sum / values.len().max(1) as u128).unwrap_or(u64::MAX)
    }

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
