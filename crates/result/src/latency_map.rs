//! Latency over time: the number of ops in each range of latencies, in columns of time. It shows what a percentile
//! line hides: two modes, and stalls that few ops encounter.

use crate::histogram::{Histogram, bucket_of, lowest_of};
use plumb_workload::OpKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Buckets per octave, as a power of two. A bucket is at most a quarter of its lower bound wide.
const SUB_BUCKET_BITS: u32 = 2;

/// Largest number of columns in a map. Beyond it, neighbouring columns are joined.
pub const COLUMNS_MAX: usize = 120;

/// Latencies over time, in columns of bounded number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyMap {
    /// Columns in time order; each begins where the one before it ends.
    pub columns: Vec<LatencyColumn>,
    /// Number of intervals in a full column.
    intervals_per_column: u32,
    /// Number of intervals in the last column.
    intervals_in_last: u32,
}

/// One column of a latency map: a stretch of time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LatencyColumn {
    /// Start, from the end of the ramp, ns.
    pub start_ns: u64,
    /// Length of the column, ns.
    pub length_ns: u64,
    /// Number of ops in each bucket, by kind of op; in bucket order, without empty buckets.
    pub ops: BTreeMap<OpKind, Vec<BucketCount>>,
}

/// Number of ops in one bucket of latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketCount {
    /// Index of the bucket; [`bucket_range`] returns its times.
    pub bucket: u16,
    /// Number of ops in the bucket.
    pub count: u64,
}

impl Default for LatencyMap {
    fn default() -> LatencyMap {
        LatencyMap { columns: Vec::new(), intervals_per_column: 1, intervals_in_last: 0 }
    }
}

/// Returns the bucket of a latency in ns.
pub const fn bucket(ns: u64) -> u16 {
    bucket_of::<SUB_BUCKET_BITS>(ns) as u16
}

/// Number of buckets.
const BUCKETS: u16 = bucket(u64::MAX) + 1;

/// Returns the range of times in a bucket, ns; the end is the start of the next bucket. `None` if the bucket does not exist.
pub fn bucket_range(bucket: u16) -> Option<(u64, u64)> {
    if bucket >= BUCKETS {
        return None;
    }
    let lowest = |bucket: u16| lowest_of::<SUB_BUCKET_BITS>(usize::from(bucket));
    match bucket + 1 {
        BUCKETS => Some((lowest(bucket), u64::MAX)),
        next => Some((lowest(bucket), lowest(next))),
    }
}

impl LatencyMap {
    /// Creates a map from consecutive columns.
    pub fn of_columns(columns: Vec<LatencyColumn>) -> LatencyMap {
        LatencyMap { columns, ..LatencyMap::default() }
    }

    /// Appends an interval with the latencies recorded in it.
    pub fn push<'a>(&mut self, start_ns: u64, length_ns: u64, ops: impl Iterator<Item = (OpKind, &'a Histogram)>) {
        let mut column = LatencyColumn { start_ns, length_ns, ops: BTreeMap::new() };
        for (kind, histogram) in ops {
            let counts = column.ops.entry(kind).or_default();
            for of in histogram.buckets() {
                add(counts, BucketCount { bucket: bucket(of.lowest), count: of.count });
            }
        }
        column.ops.retain(|_, counts| !counts.is_empty());
        match self.columns.last_mut() {
            Some(last) if self.intervals_in_last < self.intervals_per_column => {
                last.absorb(column);
                self.intervals_in_last += 1;
            }
            _ => {
                self.columns.push(column);
                self.intervals_in_last = 1;
            }
        }
        if self.columns.len() > COLUMNS_MAX {
            self.halve();
        }
    }

    /// Joins each pair of neighbouring columns.
    fn halve(&mut self) {
        let is_odd = self.columns.len() % 2 == 1;
        let mut pairs: Vec<LatencyColumn> = Vec::with_capacity(COLUMNS_MAX);
        for (index, column) in std::mem::take(&mut self.columns).into_iter().enumerate() {
            match pairs.last_mut() {
                Some(pair) if index % 2 == 1 => pair.absorb(column),
                _ => pairs.push(column),
            }
        }
        self.columns = pairs;
        if !is_odd {
            self.intervals_in_last += self.intervals_per_column;
        }
        self.intervals_per_column *= 2;
    }

    /// Adds a map of other workers over the same time. Columns of the finer map are joined first.
    pub fn merge(&mut self, mut other: LatencyMap) {
        while self.intervals_per_column < other.intervals_per_column {
            self.halve();
        }
        while other.intervals_per_column < self.intervals_per_column {
            other.halve();
        }
        if other.columns.len() >= self.columns.len() {
            let last = if other.columns.len() > self.columns.len() { 0 } else { self.intervals_in_last };
            self.intervals_in_last = last.max(other.intervals_in_last);
        }
        for (place, column) in other.columns.into_iter().enumerate() {
            match self.columns.get_mut(place) {
                Some(mine) => mine.add(column),
                None => self.columns.push(column),
            }
        }
    }

    /// Drops columns that began before `ns`, and moves the origin to that time.
    pub fn since(mut self, ns: u64) -> LatencyMap {
        self.columns.retain(|column| column.start_ns >= ns);
        self.columns.iter_mut().for_each(|column| column.start_ns -= ns);
        self
    }
}

impl LatencyColumn {
    /// Returns the latency at or below which a share `quantile` (0–1) of the ops of a kind lies: the middle of its
    /// bucket, ns. `None` if there were no ops.
    pub fn quantile(&self, kind: OpKind, quantile: f64) -> Option<u64> {
        let counts = self.ops.get(&kind)?;
        let total: u64 = counts.iter().map(|of| of.count).sum();
        let rank = ((quantile.clamp(0.0, 1.0) * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        let of = counts.iter().find(|of| {
            seen += of.count;
            seen >= rank
        })?;
        bucket_range(of.bucket).map(|(lowest, end)| lowest + (end - lowest) / 2)
    }

    /// Adds ops of other workers in the same time.
    fn add(&mut self, other: LatencyColumn) {
        self.length_ns = self.length_ns.max(other.length_ns);
        for (kind, counts) in other.ops {
            let mine = self.ops.entry(kind).or_default();
            counts.into_iter().for_each(|count| add(mine, count));
        }
    }

    fn absorb(&mut self, later: LatencyColumn) {
        self.length_ns = (later.start_ns + later.length_ns).saturating_sub(self.start_ns);
        for (kind, counts) in later.ops {
            let mine = self.ops.entry(kind).or_default();
            counts.into_iter().for_each(|count| add(mine, count));
        }
    }
}

fn add(counts: &mut Vec<BucketCount>, more: BucketCount) {
    match counts.binary_search_by_key(&more.bucket, |known| known.bucket) {
        Ok(at) => counts[at].count += more.count,
        Err(at) => counts.insert(at, more),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another_and_hold_their_times() {
        let mut end = 0;
        for index in 0..BUCKETS {
            let (from, to) = bucket_range(index).unwrap();
            assert_eq!(from, end, "bucket {index}");
            assert_eq!((bucket(from), bucket(to - 1)), (index, index));
            assert!(from < 4 || to - from <= from / 4 + 1);
            end = to;
        }
        assert_eq!(end, u64::MAX);
        assert_eq!(bucket_range(BUCKETS), None);
        assert_eq!(bucket_range(u16::MAX), None);
    }

    fn filled(seconds: u64) -> LatencyMap {
        let mut map = LatencyMap::default();
        for second in 0..seconds {
            let mut histogram = Histogram::new();
            histogram.record_n(100_000, 10);
            histogram.record(5_000_000 + second);
            map.push(second * 1_000, 1_000, [(OpKind::Read, &histogram)].into_iter());
        }
        map
    }

    // Protects: a long run has a map of bounded size that loses no op and has no gap in time.
    #[test]
    fn a_long_run_has_few_columns_and_all_its_ops() {
        for seconds in [1, 119, 120, 121, 122, 240, 241, 5_000, 100_000] {
            let columns = filled(seconds).columns;
            assert!(columns.len() <= COLUMNS_MAX && (seconds < 120 || columns.len() >= COLUMNS_MAX / 2), "{seconds}");
            let ops: u64 = columns.iter().flat_map(|column| &column.ops[&OpKind::Read]).map(|of| of.count).sum();
            assert_eq!(ops, seconds * 11);
            let ends: Vec<u64> = columns.iter().map(|column| column.start_ns + column.length_ns).collect();
            assert!(columns.iter().skip(1).zip(&ends).all(|(next, end)| next.start_ns == *end));
            assert_eq!(ends.last(), Some(&(seconds * 1_000)));
            // All columns except the last have the same length.
            let all_but_last = &columns[..columns.len() - 1];
            assert!(all_but_last.iter().all(|column| column.length_ns == columns[0].length_ns));
        }
    }

    #[test]
    fn a_search_before_the_measured_time_is_cut_off() {
        let map = filled(5).since(2_000);
        assert_eq!(map.columns.len(), 3);
        assert_eq!(map.columns[0].start_ns, 0);
    }
}
