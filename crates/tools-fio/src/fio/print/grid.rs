//! fio's histogram: 64 buckets per octave, exact below 128 ns. A bucket's value is its middle.
//!
//! Plumb's buckets are half as wide and nested in these, so converting loses nothing that fio would have kept. Beyond
//! the end of fio's grid (2^34 ns, 17.18 s), this grid continues by the same rule.

use super::report::Latency;
use crate::fio::Compat;
use plumb_result::Histogram;

/// Sub-buckets per octave, as a power of two.
const BITS: u32 = 6;

/// Columns in a line of a histogram log: the buckets of fio's grid. Larger values count in the last column.
pub const LOG_COLUMNS: usize = 29 << BITS;

/// Returns the bucket of a value.
pub(super) const fn bucket(value_ns: u64) -> usize {
    let high = 63 - (value_ns | 1).leading_zeros();
    if high <= BITS {
        return value_ns as usize;
    }
    let shift = high - BITS;
    (((shift + 1) as usize) << BITS) + ((value_ns >> shift) as usize & ((1 << BITS) - 1))
}

/// Returns the value that represents a bucket, in nanoseconds.
pub(super) const fn value(bucket: usize) -> u64 {
    if bucket < 2 << BITS {
        return bucket as u64;
    }
    let shift = (bucket >> BITS) as u32 - 1;
    let width = 1u64 << shift;
    let lowest = (1u64 << (shift + BITS)) + (bucket as u64 & ((1 << BITS) - 1)) * width;
    lowest + width / 2
}

/// A bucket that contains values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bin {
    pub bucket: usize,
    pub count: u64,
}

pub(super) fn bins(histogram: &Histogram) -> Vec<Bin> {
    let mut bins: Vec<Bin> = Vec::new();
    for one in histogram.buckets() {
        let bucket = bucket(one.lowest);
        match bins.last_mut() {
            Some(last) if last.bucket == bucket => last.count += one.count,
            _ => bins.push(Bin { bucket, count: one.count }),
        }
    }
    bins
}

/// A percentile and its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Percentile {
    pub percent: f64,
    /// Its value in nanoseconds.
    pub value_ns: u64,
}

/// Maximum number of percentiles in fio.
pub(super) const PERCENTILES_MAX: usize = 20;

/// Returns the requested percentiles in order, without invalid ones.
pub(super) fn wanted(percentiles: &[f64]) -> Vec<f64> {
    let mut wanted: Vec<f64> = percentiles.iter().copied().filter(|p| *p > 0.0 && *p <= 100.0).collect();
    wanted.sort_unstable_by(f64::total_cmp);
    wanted.truncate(PERCENTILES_MAX);
    wanted
}

/// Returns the percentiles. Each is the first bucket up to which its share of
/// the values lies. Empty without a histogram.
pub(super) fn percentiles(latency: &Latency, asked: &[f64], compat: Compat) -> Vec<Percentile> {
    let Some(histogram) = latency.histogram.as_ref().filter(|histogram| !histogram.is_empty()) else {
        return Vec::new();
    };
    let (bins, total) = (bins(histogram), histogram.count() as f64);
    let (mut seen, mut bin) = (bins[0].count, 0);
    let value_at = |percent: f64| {
        while bin + 1 < bins.len() && (seen as f64) < percent / 100.0 * total {
            bin += 1;
            seen += bins[bin].count;
        }
        let value_ns = value(bins[bin].bucket);
        let value_ns = match compat {
            // The middle of a bucket can be outside the range of the values.
            Compat::Meant => value_ns.clamp(latency.min_ns, latency.max_ns.max(latency.min_ns)),
            Compat::Strict => value_ns,
        };
        Percentile { percent, value_ns }
    };
    wanted(asked).into_iter().map(value_at).collect()
}

/// Latency classes, in percent of all ops.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BucketShares {
    /// Below 1 µs, by the upper bounds [`BucketShares::BOUNDS`] in nanoseconds.
    pub ns: [f64; 10],
    /// Below 1 ms, by the same bounds in microseconds.
    pub us: [f64; 10],
    /// From 1 ms, by the same bounds in milliseconds, then below 2 s, then the rest.
    pub ms: [f64; 12],
}

impl BucketShares {
    /// Upper bounds of the classes within a unit. A class contains values from the
    /// previous bound to just below its own.
    pub(crate) const BOUNDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

    /// Names of the millisecond classes. The other units use the first ten.
    pub const NAMES: [&'static str; 12] =
        ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];

    /// Classifies these latencies as shares of `ios`. A bucket counts where its middle lies, so an op within 0.4 % of a
    /// bound can count on its other side.
    pub fn from_histograms<'a>(histograms: impl IntoIterator<Item = &'a Histogram>, ios: u64) -> BucketShares {
        let mut counts = [[0u64; 12]; 3];
        for one in histograms.into_iter().flat_map(Histogram::buckets) {
            let (unit, value) = match one.lowest + (one.highest - one.lowest) / 2 {
                ns @ 0..1_000 => (0, ns),
                ns @ 1_000..1_000_000 => (1, ns / 1_000),
                ns => (2, ns / 1_000_000),
            };
            let class = BucketShares::BOUNDS.iter().position(|bound| value < *bound);
            let class = class.unwrap_or(if value < 2000 { 10 } else { 11 });
            counts[unit][class] += one.count;
        }
        let share = |count: u64| match count {
            0 => 0.0,
            _ if ios == 0 => 0.0,
            count => count as f64 / ios as f64 * 100.0,
        };
        BucketShares {
            ns: std::array::from_fn(|class| share(counts[0][class])),
            us: std::array::from_fn(|class| share(counts[1][class])),
            ms: std::array::from_fn(|class| share(counts[2][class])),
        }
    }
}

/// Rounds a share for printing: a share above 0 is never printed as 0.
pub(super) fn shown(share: f64) -> f64 {
    if share > 0.0 { share.max(0.01) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of `bins` that fio 3.42 wrote.
    #[test]
    fn a_bucket_is_read_at_the_middle_that_fio_reads_it_at() {
        for known in [0, 41, 127, 131, 133, 1256, 8640, 66_048, 41_680_896, 51_642_368] {
            assert_eq!(value(bucket(known)), known);
        }
        assert_eq!(bucket((1 << 34) - 1), LOG_COLUMNS - 1, "fio's last bucket");
    }

    #[test]
    fn the_grid_has_no_ceiling() {
        let hour = 3_600_000_000_000;
        let mut histogram = Histogram::new();
        histogram.record(hour);
        let latency = Latency::from_histogram(&histogram);
        let strict = percentiles(&latency, &[50.0], Compat::Strict)[0].value_ns;
        assert!(strict.abs_diff(hour) < hour / 128, "{strict}");
        assert_eq!(percentiles(&latency, &[50.0], Compat::Meant)[0].value_ns, hour);
    }

    #[test]
    fn every_value_falls_into_one_class() {
        let mut histogram = Histogram::new();
        for value in [1, 2, 3, 990, 1_010, 990_000, 1_010_000, 1_900_000_000, 2_100_000_000, u64::MAX] {
            histogram.record(value);
        }
        let shares = BucketShares::from_histograms([&histogram], 10);
        assert_eq!((shares.ns[0], shares.ns[1], shares.ns[9]), (10.0, 20.0, 10.0));
        assert_eq!((shares.us[0], shares.us[9]), (10.0, 10.0));
        assert_eq!((shares.ms[0], shares.ms[11]), (10.0, 20.0));
        assert_eq!(shares.ms[10], 10.0);
    }
}
