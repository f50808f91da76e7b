//! Burstiness of arrivals at time scales from a millisecond to ten seconds.

/// The widths of windows, ns.
pub(super) const WIDTHS_NS: [u64; 5] = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000];

/// Consecutive windows of one width.
#[derive(Debug, Clone, Copy, Default)]
struct Windows {
    width_ns: u64,
    end_ns: u64,
    count: u64,
    windows: f64,
    sum: f64,
    squares: f64,
    peak: u64,
}

impl Windows {
    #[cold]
    fn close(&mut self, at_ns: u64) {
        let passed = (at_ns - self.end_ns) / self.width_ns + 1;
        self.windows += passed as f64;
        self.sum += self.count as f64;
        self.squares += self.count as f64 * self.count as f64;
        self.peak = self.peak.max(self.count);
        self.count = 0;
        self.end_ns = self.end_ns.saturating_add(passed.saturating_mul(self.width_ns));
    }

    /// Returns the variance of the counts of whole windows.
    fn variance(&self) -> f64 {
        let mean = self.sum / self.windows;
        (self.squares / self.windows - mean * mean).max(0.0)
    }
}

/// Counts of ops in windows.
#[derive(Debug)]
pub(super) struct Burst {
    levels: [Windows; WIDTHS_NS.len()],
}

impl Default for Burst {
    fn default() -> Burst {
        let level = |width_ns| Windows { width_ns, end_ns: width_ns, ..Windows::default() };
        Burst { levels: WIDTHS_NS.map(level) }
    }
}

/// Minimum number of whole windows for a result.
const WINDOWS_MIN: f64 = 8.0;

impl Burst {
    /// Adds the arrival of an op.
    #[inline]
    pub(super) fn add(&mut self, at_ns: u64) {
        if at_ns >= self.levels[0].end_ns {
            self.close(at_ns);
        }
        self.levels[0].count += 1;
    }

    /// Ends the shortest window. Wider ones add its count; each of them begins and ends with one of the shortest.
    #[cold]
    fn close(&mut self, at_ns: u64) {
        let [shortest, wider @ ..] = &mut self.levels;
        for level in wider {
            if shortest.end_ns > level.end_ns {
                level.close(shortest.end_ns - 1);
            }
            level.count += shortest.count;
        }
        shortest.close(at_ns);
    }

    /// Returns the variance-to-mean ratio of the counts at each width (index of dispersion for counts): 1 for
    /// random arrivals, more for bursts.
    pub(super) fn dispersion(&self) -> [Option<f64>; WIDTHS_NS.len()] {
        self.levels.map(|level| {
            let says_something = level.windows >= WINDOWS_MIN && level.sum > 0.0;
            says_something.then(|| level.variance() / (level.sum / level.windows))
        })
    }

    /// Returns the maximum ops in a window of this width.
    pub(super) fn peak(&self, level: usize) -> u64 {
        self.levels[level].peak.max(self.levels[level].count + if level == 0 { 0 } else { self.levels[0].count })
    }

    /// Returns Hurst's exponent, from the decrease of the rate's variance with the window width: 0.5 for random
    /// arrivals, towards 1 for bursts at all scales. Source: Leland, Taqqu, Willinger, Wilson, "On the self-similar
    /// nature of Ethernet traffic", 1994.
    pub(super) fn hurst(&self) -> Option<f64> {
        let usable = |level: &&Windows| level.windows >= WINDOWS_MIN && level.variance() > 0.0;
        let point = |level: &Windows| {
            let width = level.width_ns as f64;
            (width.ln(), (level.variance() / (width * width)).ln())
        };
        let points: Vec<(f64, f64)> = self.levels.iter().filter(usable).map(point).collect();
        slope(&points).filter(|_| points.len() >= 3).map(|slope| (1.0 + slope / 2.0).clamp(0.0, 1.0))
    }
}

/// Returns the slope of a least-squares line through points.
pub(super) fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let (across, along) = points.iter().fold((0.0, 0.0), |(across, along), point| {
        (across + (point.0 - x) * (point.1 - y), along + (point.0 - x) * (point.0 - x))
    });
    (along > 0.0).then(|| across / along)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_arrivals_have_no_dispersion_and_bursts_have_much() {
        let mut regular = Burst::default();
        (0..100_000).for_each(|n| regular.add(n * 100_000));
        let [first, second, ..] = regular.dispersion();
        assert!(first.unwrap() < 0.01 && second.unwrap() < 0.01, "{first:?} {second:?}");
        assert_eq!(regular.peak(0), 10);
        let mut bursts = Burst::default();
        (0..1000).for_each(|n| (0..100).for_each(|_| bursts.add(n * 10_000_000)));
        // A hundred at once, in one of ten windows: variance 900, mean 10.
        assert!((bursts.dispersion()[0].unwrap() - 90.0).abs() < 1.0);
    }

    #[test]
    fn random_arrivals_have_a_dispersion_of_one_and_no_memory() {
        let (mut state, mut at_ns, mut random) = (7_u64, 0.0, Burst::default());
        for _ in 0..400_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            at_ns -= ((state >> 11) as f64 / (1_u64 << 53) as f64).ln() * 200_000.0;
            random.add(at_ns as u64);
        }
        assert!((random.dispersion()[0].unwrap() - 1.0).abs() < 0.05);
        assert!((random.hurst().unwrap() - 0.5).abs() < 0.1, "{:?}", random.hurst());
    }
}
