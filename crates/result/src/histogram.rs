//! The latency histogram: log-linear, 128 buckets an octave, over the whole of `u64`.
//!
//! A bucket is at most 1/128 (0.78 %) of its lower bound wide; values below 128 ns are exact. The index is a shift
//! and an add ([`bucket`]), so recorders keep bare arrays of [`BUCKETS`] counters. Everything else is derived here.
//!
//! Methods that go over many values or buckets are `#[inline]`: the engine calls them, and it is compiled with
//! `opt-level = 3`, this crate with 1.

use serde::{Deserialize, Serialize};

/// Sub-buckets per octave, as a power of two.
pub(crate) const SUB_BUCKET_BITS: u32 = 7;

/// Number of buckets that cover `u64`.
pub const BUCKETS: usize = ((64 - SUB_BUCKET_BITS + 1) as usize) << SUB_BUCKET_BITS;

/// Returns the bucket of a value.
#[inline(always)]
pub const fn bucket(value: u64) -> usize {
    bucket_of::<SUB_BUCKET_BITS>(value)
}

/// Returns the bucket of a value, with two to the power of `BITS` buckets per octave.
#[inline(always)]
pub(crate) const fn bucket_of<const BITS: u32>(value: u64) -> usize {
    // This branch is always predicted, so the store need not wait for the shift by a computed width.
    if value < 1 << BITS {
        return value as usize;
    }
    let shift = 63 - value.leading_zeros() - BITS;
    ((shift as usize) << BITS) + (value >> shift) as usize
}

/// Returns the smallest value of a bucket.
pub const fn lowest(bucket: usize) -> u64 {
    lowest_of::<SUB_BUCKET_BITS>(bucket)
}

/// Returns the smallest value of a bucket, with two to the power of `BITS` buckets per octave.
pub(crate) const fn lowest_of<const BITS: u32>(bucket: usize) -> u64 {
    let octave = (bucket >> BITS) as u32;
    let sub = bucket as u64 & ((1 << BITS) - 1);
    if octave == 0 { sub } else { ((1 << BITS) + sub) << (octave - 1) }
}

/// Returns the largest value of a bucket.
pub const fn highest(bucket: usize) -> u64 {
    let octave = (bucket >> SUB_BUCKET_BITS) as u32;
    if octave == 0 { lowest(bucket) } else { lowest(bucket) + ((1u64 << (octave - 1)) - 1) }
}

/// A quantile is shown if at least this many samples lie beyond it (check E6).
pub const MIN_SAMPLES_BEYOND: u64 = 10;

/// Counts of values in log-linear buckets, with exact count, sum, minimum and maximum.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "Sparse", try_from = "Sparse")]
pub struct Histogram {
    /// Counts by bucket, without trailing zeros.
    counts: Vec<u64>,
    total: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// Serialized form of a histogram. Only a few of its thousands of buckets are used, and JSON has no 128-bit numbers.
#[derive(Serialize, Deserialize)]
struct Sparse {
    /// Index and count of each used bucket.
    buckets: Vec<(u64, u64)>,
    /// Upper and lower half of the 128-bit sum.
    sum: (u64, u64),
    min: u64,
    max: u64,
}

impl From<Histogram> for Sparse {
    fn from(histogram: Histogram) -> Sparse {
        let used = |(index, &count): (usize, &u64)| (count > 0).then_some((index as u64, count));
        Sparse {
            buckets: histogram.counts.iter().enumerate().filter_map(used).collect(),
            sum: ((histogram.sum >> 64) as u64, histogram.sum as u64),
            min: histogram.min,
            max: histogram.max,
        }
    }
}

impl TryFrom<Sparse> for Histogram {
    type Error = String;

    fn try_from(text: Sparse) -> Result<Histogram, String> {
        let mut counts = Vec::new();
        let total = text.buckets.iter().try_fold(0u64, |total, &(_, count)| total.checked_add(count));
        total.ok_or("more values than 64 bits count")?;
        for (index, count) in text.buckets {
            let index = usize::try_from(index).ok().filter(|&index| index < BUCKETS);
            let index = index.ok_or_else(|| format!("a histogram has buckets 0 to {}", BUCKETS - 1))?;
            if counts.len() <= index {
                counts.resize(index + 1, 0);
            }
            if std::mem::replace(&mut counts[index], count) != 0 {
                return Err(format!("bucket {index} occurs twice"));
            }
        }
        if text.min > text.max && total != Some(0) {
            return Err("the smallest value is larger than the largest".to_owned());
        }
        let sum = (u128::from(text.sum.0) << 64) | u128::from(text.sum.1);
        Ok(Histogram::from_counts(counts, sum, text.min, text.max))
    }
}

/// Error from writing a histogram as HdrHistogram.
#[derive(Debug, thiserror::Error)]
#[error("the histogram cannot be written as HdrHistogram V2: {0}")]
pub struct HdrError(String);

impl Histogram {
    /// Creates a histogram without any values.
    pub fn new() -> Histogram {
        Histogram::default()
    }

    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Adds a value `n` times.
    #[inline]
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        let bucket = bucket(value);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += n;
        self.min = if self.total == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.total += n;
        self.sum += u128::from(value) * u128::from(n);
    }

    /// Creates a histogram from a recorder's counters. `min` and `max` must be exact; they are ignored if all counts are 0.
    #[inline]
    pub fn from_counts(counts: Vec<u64>, sum: u128, min: u64, max: u64) -> Histogram {
        let mut counts = counts;
        let used = counts.iter().rposition(|&count| count != 0).map_or(0, |last| last + 1);
        // No value is counted below the smallest one.
        let total = counts[bucket(min.min(max)).min(used)..used].iter().sum();
        if total == 0 {
            return Histogram::new();
        }
        counts.truncate(used);
        Histogram { counts, total, sum, min, max }
    }

    /// Returns the first bucket that may be used.
    fn first(&self) -> usize {
        bucket(self.min.min(self.max)).min(self.counts.len())
    }

    /// Returns the values recorded since `earlier`, an earlier state of the same histogram. Their minimum and
    /// maximum have only bucket resolution.
    #[inline]
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let first = self.first();
        let mut counts = vec![0; self.counts.len()];
        counts[first..].copy_from_slice(&self.counts[first..]);
        for (count, before) in counts.iter_mut().zip(&earlier.counts).skip(first) {
            *count = count.saturating_sub(*before);
        }
        let min = counts.iter().skip(first).position(|&count| count != 0).map_or(0, |at| lowest(first + at));
        let max = counts.iter().rposition(|&count| count != 0).map_or(0, |last| highest(last).min(self.max));
        Histogram::from_counts(counts, self.sum.saturating_sub(earlier.sum), min, max)
    }

    /// Adds all values of `other`.
    #[inline]
    pub fn merge(&mut self, other: &Histogram) {
        if other.total == 0 {
            return;
        }
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts).skip(other.first()) {
            *count += more;
        }
        self.min = if self.total == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.total += other.total;
        self.sum += other.sum;
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Returns `true` if nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Returns the exact sum of all values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the smallest value; `None` if empty.
    pub fn min(&self) -> Option<u64> {
        (self.total > 0).then_some(self.min)
    }

    /// Returns the largest value; `None` if empty.
    pub fn max(&self) -> Option<u64> {
        (self.total > 0).then_some(self.max)
    }

    /// Returns the arithmetic mean from the exact sum; `None` if empty.
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum as f64 / self.total as f64)
    }

    /// Returns the value at or below which a share `quantile` (0–1) of the values lies: the middle of its bucket,
    /// within `min..=max`. `None` if empty.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        if self.total == 0 {
            return None;
        }
        let rank = ((quantile.clamp(0.0, 1.0) * self.total as f64).ceil() as u64).clamp(1, self.total);
        if rank == self.total {
            return Some(self.max);
        }
        let mut seen = 0;
        for (bucket, &count) in self.counts.iter().enumerate().skip(self.first()) {
            seen += count;
            if seen >= rank {
                let middle = lowest(bucket) + (highest(bucket) - lowest(bucket)) / 2;
                return Some(middle.clamp(self.min, self.max));
            }
        }
        Some(self.max)
    }

    /// Returns `true` if the quantile is supported: at least [`MIN_SAMPLES_BEYOND`] values lie beyond it (check E6).
    pub fn carries(&self, quantile: f64) -> bool {
        self.beyond(quantile) >= MIN_SAMPLES_BEYOND
    }

    /// Returns the quantile if enough values lie beyond it.
    pub fn carried_quantile(&self, quantile: f64) -> Option<u64> {
        self.quantile(quantile).filter(|_| self.carries(quantile))
    }

    /// Returns the number of values beyond the quantile.
    pub fn beyond(&self, quantile: f64) -> u64 {
        self.total - ((quantile * self.total as f64).ceil() as u64).min(self.total)
    }

    /// Returns the non-empty buckets in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts.iter().enumerate().filter(|(_, count)| **count != 0).map(|(bucket, &count)| Bucket {
            lowest: lowest(bucket),
            highest: highest(bucket),
            count,
        })
    }

    /// Returns the uncompressed wire form of HdrHistogram V2, readable by every HdrHistogram library: 3 significant
    /// digits, values from 1 to 2^62 (0 is counted as 1). The values of a bucket are written at its middle.
    pub fn to_hdr_v2(&self) -> Result<Vec<u8>, HdrError> {
        use hdrhistogram::serialization::{Serializer, V2Serializer};
        const LARGEST: u64 = 1 << 62;
        let error = |text: String| HdrError(text);
        let top = self.max.clamp(2, LARGEST);
        let mut hdr = hdrhistogram::Histogram::<u64>::new_with_bounds(1, top, 3).map_err(|e| error(e.to_string()))?;
        for bucket in self.buckets() {
            let middle = (bucket.lowest + (bucket.highest - bucket.lowest) / 2).clamp(self.min.max(1), top);
            hdr.record_n(middle, bucket.count).map_err(|e| error(e.to_string()))?;
        }
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&hdr, &mut bytes).map_err(|e| error(e.to_string()))?;
        Ok(bytes)
    }
}

/// A used bucket of a [`Histogram`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Smallest value of the bucket.
    pub lowest: u64,
    /// Largest value of the bucket.
    pub highest: u64,
    /// Number of values in the bucket.
    pub count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Protects: a histogram that is sent or stored as text is identical after parsing, and malformed text is rejected.
    #[test]
    fn it_survives_serialization() {
        let mut histogram = Histogram::new();
        for value in [0, 5, 5, 1 << 20, u64::MAX, u64::MAX, u64::MAX] {
            histogram.record(value);
        }
        for histogram in [histogram, Histogram::new()] {
            let text = plumb_document::json::to_string(&histogram).unwrap();
            assert_eq!(plumb_document::json::from_str::<Histogram>(&text).unwrap(), histogram, "{text}");
        }
        for buckets in ["[[7424,1]]", "[[1,1],[1,1]]", "[[1,18446744073709551615],[2,1]]", "[[-1,1]]"] {
            let text = format!(r#"{{"buckets":{buckets},"sum":[0,0],"min":0,"max":0}}"#);
            assert!(plumb_document::json::from_str::<Histogram>(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn buckets_tile_u64_without_gap_or_overlap() {
        for index in 1..BUCKETS {
            assert_eq!(lowest(index), highest(index - 1) + 1, "bucket {index}");
        }
        assert_eq!(highest(BUCKETS - 1), u64::MAX);
    }

    #[test]
    fn an_hour_of_stall_is_recorded_as_an_hour() {
        let hour = 3_600_000_000_000;
        let mut histogram = Histogram::new();
        histogram.record_n(1_000, 99);
        histogram.record(hour);
        assert_eq!(histogram.max(), Some(hour));
        assert_eq!(histogram.quantile(1.0), Some(hour));
        assert_eq!(histogram.quantile(0.5), Some(1_001), "middle of the bucket 1000..=1003");
    }

    #[test]
    fn an_empty_histogram_has_no_numbers() {
        let histogram = Histogram::new();
        assert_eq!((histogram.min(), histogram.max(), histogram.quantile(0.5)), (None, None, None));
        assert_eq!(histogram.mean(), None);
    }

    #[test]
    fn hdr_v2_reads_back_with_the_same_quantiles() {
        let mut histogram = Histogram::new();
        for value in 1..=100_000u64 {
            histogram.record(value * 37);
        }
        let bytes = histogram.to_hdr_v2().unwrap();
        let hdr: hdrhistogram::Histogram<u64> =
            hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!(hdr.len(), histogram.count());
        for quantile in [0.01, 0.5, 0.99, 0.999] {
            let ours = histogram.quantile(quantile).unwrap() as f64;
            let theirs = hdr.value_at_quantile(quantile) as f64;
            assert!((ours / theirs - 1.0).abs() < 0.01, "{quantile}: {ours} {theirs}");
        }
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_value_within_one_part_in_128(value: u64) {
            let index = bucket(value);
            prop_assert!(lowest(index) <= value && value <= highest(index));
            prop_assert!(highest(index) - lowest(index) <= lowest(index) / 128);
        }

        #[test]
        fn merging_equals_recording_together(a: Vec<u32>, b: Vec<u32>) {
            let record = |values: &[u32]| {
                let mut histogram = Histogram::new();
                values.iter().for_each(|&value| histogram.record(u64::from(value)));
                histogram
            };
            let mut merged = record(&a);
            merged.merge(&record(&b));
            prop_assert_eq!(merged, record(&[a, b].concat()));
        }

        #[test]
        fn since_undoes_merge_but_for_the_extremes(a: Vec<u32>, b: Vec<u32>) {
            let record = |values: &[u32]| {
                let mut histogram = Histogram::new();
                values.iter().for_each(|&value| histogram.record(u64::from(value)));
                histogram
            };
            let earlier = record(&a);
            let mut later = earlier.clone();
            later.merge(&record(&b));
            let delta = later.since(&earlier);
            prop_assert_eq!(delta.count(), b.len() as u64);
            prop_assert_eq!(delta.sum(), b.iter().map(|&value| u128::from(value)).sum::<u128>());
        }
    }
}
