//! Bytes, ops, latencies and rates of reads, writes and trims.

use super::display::PercentilesOf;
use super::report::Figure;
use plumb_result::Histogram;
use plumb_workload::process::IoPriority;

/// Results by direction, as grouped by `unified_rw_reporting`.
#[derive(Debug, Clone, PartialEq)]
pub enum Io {
    /// Reads, writes and trims separately.
    Separate(Split),
    Mixed(Box<DirectionReport>),
    Both(Split, Box<DirectionReport>),
}

impl Default for Io {
    fn default() -> Io {
        Io::Separate(Split::default())
    }
}

/// Reads, writes and trims separately.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Split {
    pub read: DirectionReport,
    pub write: DirectionReport,
    pub trim: DirectionReport,
}

impl Split {
    /// Returns the three with fio's names.
    pub fn named(&self) -> [(&'static str, &DirectionReport); 3] {
        [("read", &self.read), ("write", &self.write), ("trim", &self.trim)]
    }
}

impl Io {
    /// Returns the blocks in fio's order, with fio's names.
    pub fn named(&self) -> Vec<(&'static str, &DirectionReport)> {
        match self {
            Io::Separate(split) => split.named().to_vec(),
            Io::Mixed(mixed) => vec![("mixed", &**mixed)],
            Io::Both(split, mixed) => split.named().into_iter().chain([("mixed", &**mixed)]).collect(),
        }
    }

    pub fn ios(&self) -> u64 {
        match self {
            Io::Separate(split) | Io::Both(split, _) => split.named().iter().map(|(_, one)| one.ios).sum(),
            Io::Mixed(mixed) => mixed.ios,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct DirectionReport {
    pub bytes: u64,
    pub ios: u64,
    /// Number of ops that moved fewer bytes than asked.
    pub short: Figure<u64>,
    pub dropped: Figure<u64>,
    /// Time that the rates refer to, in milliseconds; 0 if nothing was done.
    pub runtime_ms: u64,
    /// Submission latency: from preparing an op to the return of the call that submitted it.
    pub slat: Figure<Latency>,
    /// Completion latency: from the end of submission to completion.
    pub clat: Figure<Latency>,
    pub lat: Figure<Latency>,
    /// Latencies by priority, if the ops had more than one.
    pub priorities: Vec<PriorityReport>,
    /// Samples of the bandwidth in KiB/s.
    pub bandwidth: Figure<Samples>,
    /// Samples of the ops per second.
    pub iops: Figure<Samples>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct PriorityReport {
    /// `None` if neither the job nor the op has one; printed as 0.
    pub priority: Option<IoPriority>,
    /// As [`DirectionReport::clat`].
    pub clat: Figure<Latency>,
    /// As [`DirectionReport::lat`].
    pub lat: Figure<Latency>,
}

impl PriorityReport {
    /// Returns the name and value of the printed latency: the one whose percentiles are shown.
    pub fn shown(&self, of: PercentilesOf) -> (&'static str, &Figure<Latency>) {
        if of.lat { ("lat", &self.lat) } else { ("clat", &self.clat) }
    }

    /// Returns class, level and hint as numbers.
    pub fn numbers(&self) -> [u64; 3] {
        self.priority.map_or([0; 3], |one| [one.class.into(), one.level.into(), one.hint.into()])
    }
}

impl DirectionReport {
    /// Returns whole bytes per second; 0 without run time.
    pub fn bytes_per_second(&self) -> u64 {
        rate(self.bytes, self.runtime_ms)
    }

    /// Returns ops per second; 0 without run time.
    pub(crate) fn ios_per_second(&self) -> f64 {
        if self.runtime_ms == 0 { 0.0 } else { self.ios as f64 * 1000.0 / self.runtime_ms as f64 }
    }
}

/// Returns whole units per second; 0 without time.
pub(super) fn rate(amount: u64, time_ms: u64) -> u64 {
    if time_ms == 0 {
        return 0;
    }
    u64::try_from(u128::from(amount) * 1000 / u128::from(time_ms)).unwrap_or(u64::MAX)
}

/// A latency distribution: exact summary numbers, and the histogram if it was kept.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Latency {
    pub count: u64,
    /// Smallest value in nanoseconds.
    pub min_ns: u64,
    /// Largest value in nanoseconds.
    pub max_ns: u64,
    /// Arithmetic mean in nanoseconds.
    pub mean_ns: f64,
    /// Standard deviation of the sample in nanoseconds.
    pub stddev_ns: f64,
    /// Distribution in nanoseconds.
    pub histogram: Option<Histogram>,
}

impl Latency {
    /// Summarises a histogram. Count, mean, minimum and maximum are exact. The standard deviation is that of the bucket
    /// middles, which are within 0.4 % of a value.
    pub fn from_histogram(histogram: &Histogram) -> Latency {
        let (count, mean_ns) = (histogram.count(), histogram.mean().unwrap_or(0.0));
        let squares: f64 = histogram
            .buckets()
            .map(|bucket| {
                let middle = bucket.lowest as f64 + (bucket.highest - bucket.lowest) as f64 / 2.0;
                (middle - mean_ns).powi(2) * bucket.count as f64
            })
            .sum();
        Latency {
            count,
            min_ns: histogram.min().unwrap_or(0),
            max_ns: histogram.max().unwrap_or(0),
            mean_ns,
            // Equal values have no spread, even in a wide bucket.
            stddev_ns: match count {
                0 | 1 => 0.0,
                _ if histogram.min() == histogram.max() => 0.0,
                _ => (squares / (count - 1) as f64).sqrt(),
            },
            histogram: Some(histogram.clone()),
        }
    }
}

/// Rates sampled over the run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Samples {
    pub count: u64,
    pub min: u64,
    pub max: u64,
    pub mean: f64,
    /// Standard deviation of the sample.
    pub stddev: f64,
}

impl Samples {
    /// Summarises values; `None` without values.
    pub fn from_values(values: &[f64]) -> Option<Samples> {
        let count = values.len();
        let (first, mean) = (values.first()?, values.iter().sum::<f64>() / count as f64);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Samples {
            count: count as u64,
            min: values.iter().fold(*first, |a, b| a.min(*b)) as u64,
            max: values.iter().fold(*first, |a, b| a.max(*b)) as u64,
            mean,
            stddev: if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 },
        })
    }
}
