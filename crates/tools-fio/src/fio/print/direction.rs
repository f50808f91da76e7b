//! What moved data: bytes, ops, times and rates of reads, writes and trims.

use super::display::PercentilesOf;
use super::report::Figure;
use plumb_result::Histogram;
use plumb_workload::process::IoPriority;

/// What moved data, as `unified_rw_reporting` groups it.
#[derive(Debug, Clone, PartialEq)]
pub enum Io {
    /// Reads, writes and trims separately.
    Separate(Split),
    /// Combined.
    Mixed(Box<DirectionReport>),
    /// Separately and combined.
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
    /// Reads.
    pub read: DirectionReport,
    /// Writes.
    pub write: DirectionReport,
    /// Trims.
    pub trim: DirectionReport,
}

impl Split {
    /// The three with fio's names.
    pub fn named(&self) -> [(&'static str, &DirectionReport); 3] {
        [("read", &self.read), ("write", &self.write), ("trim", &self.trim)]
    }
}

impl Io {
    /// The blocks in fio's order, with fio's names.
    pub fn named(&self) -> Vec<(&'static str, &DirectionReport)> {
        match self {
            Io::Separate(split) => split.named().to_vec(),
            Io::Mixed(mixed) => vec![("mixed", &**mixed)],
            Io::Both(split, mixed) => split.named().into_iter().chain([("mixed", &**mixed)]).collect(),
        }
    }

    /// Ops of all directions.
    pub fn ios(&self) -> u64 {
        match self {
            Io::Separate(split) | Io::Both(split, _) => split.named().iter().map(|(_, one)| one.ios).sum(),
            Io::Mixed(mixed) => mixed.ios,
        }
    }
}

/// One direction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DirectionReport {
    /// Bytes moved.
    pub bytes: u64,
    /// Ops completed.
    pub ios: u64,
    /// Ops that moved fewer bytes than asked.
    pub short: Figure<u64>,
    /// Ops that were dropped.
    pub dropped: Figure<u64>,
    /// The time that its rates refer to, ms; 0 if nothing was done.
    pub runtime_ms: u64,
    /// Submission latency: from preparing an op to the return of the call that submitted it.
    pub slat: Figure<Latency>,
    /// Completion latency: from there to completion.
    pub clat: Figure<Latency>,
    /// Both together.
    pub lat: Figure<Latency>,
    /// Latencies by priority, where there were ops of more than one.
    pub priorities: Vec<PriorityReport>,
    /// Samples of the rate, KiB/s.
    pub bandwidth: Figure<Samples>,
    /// Samples of the ops a second.
    pub iops: Figure<Samples>,
}

/// Ops of one priority.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PriorityReport {
    /// `None` where neither the job nor the op has one, which is printed as 0.
    pub priority: Option<IoPriority>,
    /// As [`DirectionReport::clat`].
    pub clat: Figure<Latency>,
    /// As [`DirectionReport::lat`].
    pub lat: Figure<Latency>,
}

impl PriorityReport {
    /// The latency that is printed: the one whose percentiles are shown.
    pub fn shown(&self, of: PercentilesOf) -> (&'static str, &Figure<Latency>) {
        if of.lat { ("lat", &self.lat) } else { ("clat", &self.clat) }
    }

    /// Class, level and hint, as numbers.
    pub fn numbers(&self) -> [u64; 3] {
        self.priority.map_or([0; 3], |one| [one.class.into(), one.level.into(), one.hint.into()])
    }
}

impl DirectionReport {
    /// Bytes a second, whole; 0 without run time.
    pub fn bytes_per_second(&self) -> u64 {
        rate(self.bytes, self.runtime_ms)
    }

    /// Ops a second; 0 without run time.
    pub(crate) fn ios_per_second(&self) -> f64 {
        if self.runtime_ms == 0 { 0.0 } else { self.ios as f64 * 1000.0 / self.runtime_ms as f64 }
    }
}

/// Whole units a second; 0 without time.
pub(super) fn rate(amount: u64, time_ms: u64) -> u64 {
    if time_ms == 0 {
        return 0;
    }
    u64::try_from(u128::from(amount) * 1000 / u128::from(time_ms)).unwrap_or(u64::MAX)
}

/// A distribution of times: its exact numbers, and its shape where that was kept.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// Smallest, ns.
    pub min_ns: u64,
    /// Largest, ns.
    pub max_ns: u64,
    /// Arithmetic mean, ns.
    pub mean_ns: f64,
    /// Standard deviation of the sample, ns.
    pub stddev_ns: f64,
    /// The shape, ns.
    pub histogram: Option<Histogram>,
}

impl Latency {
    /// From a histogram. Count, mean, smallest and largest are exact; the standard deviation is that of the bucket
    /// middles, which is within 0.4 % of a value's own size.
    pub fn of(histogram: &Histogram) -> Latency {
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
            // One value, or many equal ones, spread not at all, whatever the width of their bucket.
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
    /// How many.
    pub count: u64,
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the sample.
    pub stddev: f64,
}

impl Samples {
    /// Of these values; `None` of none.
    pub fn of(values: &[f64]) -> Option<Samples> {
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
