//! Latency histograms with elbencho's buckets: four per doubling of microseconds.

use super::format::edge;
use plumb_result::Histogram;

/// Buckets per doubling.
const EACH_DOUBLING: usize = 4;
/// Number of doublings; the last bucket ends at 2^28 µs, 268 s.
const DOUBLINGS: usize = 28;
const BUCKETS: usize = EACH_DOUBLING * DOUBLINGS;

/// Latencies of one kind of work, in microseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseLatencies {
    count: u64,
    sum_ns: u128,
    min_us: u64,
    max_us: u64,
    buckets: Vec<u64>,
}

impl Default for PhaseLatencies {
    fn default() -> PhaseLatencies {
        PhaseLatencies { count: 0, sum_ns: 0, min_us: u64::MAX, max_us: 0, buckets: vec![0; BUCKETS] }
    }
}

fn bucket(us: u64) -> usize {
    match us {
        0 => 0,
        us => (((us as f64).log2() * EACH_DOUBLING as f64) as usize).min(BUCKETS - 1),
    }
}

/// Returns the end of a bucket, µs.
fn end(bucket: usize) -> f64 {
    ((bucket + 1) as f64 / EACH_DOUBLING as f64).exp2()
}

impl PhaseLatencies {
    /// Converts a histogram of nanoseconds.
    pub fn from_histogram(histogram: &Histogram) -> PhaseLatencies {
        let mut all = PhaseLatencies::default();
        for used in histogram.buckets() {
            all.buckets[bucket(used.lowest.midpoint(used.highest) / 1000)] += used.count;
        }
        all.count = histogram.count();
        all.sum_ns = histogram.sum();
        all.min_us = histogram.min().map_or(u64::MAX, |ns| ns / 1000);
        all.max_us = histogram.max().unwrap_or(0) / 1000;
        all
    }

    /// Builds latencies from counts in elbencho's own buckets; `None` if there are too many buckets, or counts that no
    /// number holds.
    pub fn from_buckets(counts: &[u64], sum_us: u64, min_us: u64, max_us: u64) -> Option<PhaseLatencies> {
        let mut all = PhaseLatencies { sum_ns: u128::from(sum_us) * 1000, min_us, max_us, ..PhaseLatencies::default() };
        all.buckets.get_mut(..counts.len())?.copy_from_slice(counts);
        all.count = counts.iter().try_fold(0u64, |sum, count| sum.checked_add(*count))?;
        Some(all)
    }

    /// Adds one latency, ns.
    pub fn add(&mut self, ns: u64) {
        let us = ns / 1000;
        self.count += 1;
        self.sum_ns += u128::from(ns);
        self.min_us = self.min_us.min(us);
        self.max_us = self.max_us.max(us);
        self.buckets[bucket(us)] += 1;
    }

    /// Adds all latencies of `other`.
    pub fn merge(&mut self, other: &PhaseLatencies) {
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_us = self.min_us.min(other.min_us);
        self.max_us = self.max_us.max(other.max_us);
        for (mine, other) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine = mine.saturating_add(*other);
        }
    }

    /// Appends the number of used buckets, the sum, the smallest, the largest, and for each
    /// bucket its index and count.
    pub(super) fn numbers(&self, into: &mut Vec<u64>) {
        let used = || self.buckets.iter().zip(0..).filter(|(count, _)| **count > 0);
        let sum_ns = u64::try_from(self.sum_ns).unwrap_or(u64::MAX);
        into.extend([used().count() as u64, sum_ns, self.min_us, self.max_us]);
        into.extend(used().flat_map(|(count, number)| [number, *count]));
    }

    /// Reads the output of [`PhaseLatencies::numbers`].
    pub(super) fn read(numbers: &mut impl Iterator<Item = u64>) -> Option<PhaseLatencies> {
        let mut all = PhaseLatencies::default();
        let used = numbers.next()?;
        all.sum_ns = numbers.next()?.into();
        all.min_us = numbers.next()?;
        all.max_us = numbers.next()?;
        for _ in 0..used {
            let bucket = all.buckets.get_mut(usize::try_from(numbers.next()?).ok()?)?;
            *bucket = numbers.next()?;
            all.count = all.count.checked_add(*bucket)?;
        }
        Some(all)
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of latencies.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the smallest, mean and largest latency, µs; `None` if there are none.
    pub(crate) fn summary_us(&self) -> Option<[u64; 3]> {
        (self.count > 0).then(|| {
            let mean = self.sum_ns / 1000 / u128::from(self.count);
            [self.min_us, u64::try_from(mean).unwrap_or(u64::MAX), self.max_us]
        })
    }

    /// Returns `true` if the last bucket is used. Histogram and percentiles cannot be reported then.
    pub(super) fn is_exceeded(&self) -> bool {
        self.buckets[BUCKETS - 1] > 0
    }

    /// Returns the end of the bucket that reaches this percentage.
    pub(super) fn percentile(&self, percent: f64) -> String {
        let mut seen = 0;
        for (number, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen as f64 / self.count as f64 >= percent / 100.0 {
                return edge(end(number));
            }
        }
        edge(0.0)
    }

    /// Returns the used buckets: start, end and count.
    pub(super) fn used(&self) -> impl Iterator<Item = (String, String, u64)> + '_ {
        let used = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        used.map(|(number, count)| {
            let begin = if number == 0 { 0.0 } else { end(number - 1) };
            (edge(begin), edge(end(number)), *count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Golden: `8.0-9.5us`, `9.5-11us`, `11-13us` in elbencho's own JSON.
    #[test]
    fn edges_equal_elbenchos() {
        let mut all = PhaseLatencies::default();
        for ns in [8_100, 10_000, 12_000, 13_100] {
            all.add(ns);
        }
        let used: Vec<_> = all.used().collect();
        let text = |a: &str, b: &str, count| (a.to_owned(), b.to_owned(), count);
        assert_eq!(used, [text("8.0", "9.5", 1), text("9.5", "11", 1), text("11", "13", 2)]);
        assert_eq!(all.summary_us(), Some([8, 10, 13]));
        assert_eq!([1.0, 50.0, 75.0, 99.0].map(|percent| all.percentile(percent)), ["9.5", "11", "13", "13"]);
    }
}
