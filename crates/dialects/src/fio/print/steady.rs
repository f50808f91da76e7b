//! `steadystate`: what a steady-state rule found.

/// `steadystate`.
#[derive(Debug, Clone, PartialEq)]
pub struct SteadyState {
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
    /// Whether it was reached.
    pub attained: bool,
    /// What was found, in the limit's unit.
    pub criterion: f64,
    /// Largest distance from the mean.
    pub max_deviation: f64,
    /// Slope of the fitted line.
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

impl SteadyState {
    /// The whole mean of the intervals' values; 0 of none.
    pub(super) fn mean(values: &[u64]) -> u64 {
        let sum: u128 = values.iter().map(|value| u128::from(*value)).sum();
        u64::try_from(sum / values.len().max(1) as u128).unwrap_or(u64::MAX)
    }

    /// Works out slope, largest deviation and criterion from the intervals' values of what is watched, in the limit's unit:
    /// the least-squares line over the interval's number, and the distance from the mean. Zeros where there are none.
    pub(super) fn look(&mut self) {
        let watched = match self.of {
            SteadyOf::Iops => &self.iops,
            SteadyOf::Bandwidth => &self.bytes_per_second,
            SteadyOf::Latency => &self.latency_ns,
        };
        let count = watched.len() as f64;
        let mean = watched.iter().map(|one| *one as f64).sum::<f64>() / count.max(1.0);
        let middle = (count - 1.0) / 2.0;
        let (mut product, mut square, mut furthest) = (0.0, 0.0, 0.0f64);
        for (place, one) in watched.iter().enumerate() {
            let (x, y) = (place as f64 - middle, *one as f64 - mean);
            product += x * y;
            square += x * x;
            furthest = furthest.max(y.abs());
        }
        let scale = match self.scale {
            SteadyScale::Percent if mean > 0.0 => 100.0 / mean,
            SteadyScale::Percent => 0.0,
            SteadyScale::Absolute => 1.0,
        };
        self.slope = if square > 0.0 { product / square * scale } else { 0.0 };
        self.max_deviation = furthest * scale;
        self.criterion = match self.by {
            SteadyBy::Slope => self.slope.abs(),
            SteadyBy::MeanDeviation => self.max_deviation,
        };
    }
}
