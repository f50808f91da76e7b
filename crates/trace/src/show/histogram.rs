//! Counts values in buckets that grow with them: sixteen per doubling, so a bucket is at most 6.25 % wide.

const BUCKETS: usize = 16 + 60 * 16;

#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    counts: Vec<u64>,
    sum: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: vec![0; BUCKETS], sum: 0 }
    }
}

fn bucket(value: u64) -> usize {
    if value < 16 {
        return value as usize;
    }
    let octave = 63 - value.leading_zeros() as usize;
    (octave - 3) * 16 + (value >> (octave - 4)) as usize - 16
}

/// Returns the lowest value of a bucket.
fn lowest(bucket: usize) -> u64 {
    if bucket < 16 { bucket as u64 } else { ((bucket % 16 + 16) as u64) << (bucket / 16 - 1) }
}

impl Histogram {
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.sum = self.sum.saturating_add(value);
    }

    /// Returns the number of values.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the mean of the values; 0 if there are none.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.total().max(1) as f64
    }

    /// Returns the quantile for a share of the values: the lowest value of its bucket.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.total() as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return lowest(bucket);
            }
        }
        0
    }

    /// Returns the lowest value of each non-empty bucket, and the share of values up to it.
    pub fn shares(&self) -> Vec<(u64, f64)> {
        let total = self.total() as f64;
        let mut seen = 0;
        let mut share = |(bucket, count): (usize, &u64)| {
            seen += count;
            (*count > 0).then(|| (lowest(bucket), seen as f64 / total))
        };
        self.counts.iter().enumerate().filter_map(&mut share).collect()
    }

    /// Returns the largest difference between the cumulative shares, 0 to 1 (Kolmogorov-Smirnov); `None`
    /// if one histogram is empty.
    pub fn distance(&self, other: &Histogram) -> Option<f64> {
        let totals = (self.total() as f64, other.total() as f64);
        if totals.0 == 0.0 || totals.1 == 0.0 {
            return None;
        }
        let (mut ours, mut theirs, mut widest) = (0, 0, 0.0_f64);
        for (one, two) in self.counts.iter().zip(&other.counts) {
            ours += one;
            theirs += two;
            widest = widest.max((ours as f64 / totals.0 - theirs as f64 / totals.1).abs());
        }
        Some(widest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_in_the_bucket_that_begins_at_or_below_it() {
        for value in (0..200).chain([4095, 4096, 65_536, u64::MAX / 3, u64::MAX]) {
            let found = bucket(value);
            assert!(lowest(found) <= value && (found + 1 >= BUCKETS || value < lowest(found + 1)), "{value}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_and_distances_are_those_of_the_values() {
        let mut one = Histogram::default();
        (0..100).for_each(|_| one.add(4096));
        (0..100).for_each(|_| one.add(65_536));
        assert_eq!((one.quantile(0.5), one.quantile(0.51), one.quantile(1.0)), (4096, 65_536, 65_536));
        let mut two = Histogram::default();
        (0..10).for_each(|_| two.add(4096));
        assert_eq!(one.shares(), [(4096, 0.5), (65_536, 1.0)]);
        assert_eq!(one.distance(&two), Some(0.5));
        assert_eq!(one.distance(&one), Some(0.0));
        assert_eq!(one.distance(&Histogram::default()), None);
        assert_eq!((two.mean(), two.total()), (4096.0, 10));
    }
}
