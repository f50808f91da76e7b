//! Tests of counts. If every run of a side counts the same, there is no spread to test. With few small counts, a
//! spread that is 0 by chance makes any difference look certain.

/// The source of a count's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedBy {
    /// Only the work: bytes past the page cache. The same work always counts the same.
    Work,
    /// Timers, queues and the kernel too: flushes, merged requests.
    Timers,
}

impl CountedBy {
    /// Returns the number of units in which every run of a side must count the same to rule out chance. Counts by the
    /// work need three units, to show that no other program wrote.
    ///
    /// Take two equally likely neighbours (8 or 9 flushes, the same in all runs of a unit). Six units show a single
    /// number on each side, and different ones, in 2 · 4⁻⁶ = 1 of 2048 studies of equal systems.
    pub(crate) const fn units_min(self) -> u32 {
        match self {
            CountedBy::Work => 3,
            CountedBy::Timers => 6,
        }
    }
}

/// The result of comparing counts that should be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EqualCounts {
    /// Every run counts the same as the others of its group, in enough units.
    Exact,
    /// Equal counts, but in too few units to rule out chance.
    TooFew {
        /// Number of units that it takes.
        needed: u32,
    },
    /// Counts vary: judge their spread.
    Vary,
}

/// Evaluates counts without statistics. `likes` are groups of runs that should count the same: those of one side, at
/// the same levels of all other factors. `units` is the number of blocks or plots that they are spread over.
pub fn equal_counts<'a>(mut likes: impl Iterator<Item = &'a [f64]>, units: u32, counted_by: CountedBy) -> EqualCounts {
    let needed = counted_by.units_min();
    if !likes.all(|runs| runs.windows(2).all(|pair| pair[0] == pair[1])) {
        EqualCounts::Vary
    } else if units < needed {
        EqualCounts::TooFew { needed }
    } else {
        EqualCounts::Exact
    }
}

/// Returns the step of the counts, for [`crate::Compared::granularity`]: the smallest distance between two of them,
/// or 0 if all are equal. Flushes come in ones and a file system's bytes in its blocks, which the counts themselves
/// show. Among many large counts the step is negligible.
pub fn granularity(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let steps = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0.0);
    steps.reduce(f64::min).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;
    use crate::verdict::{Better, Compared, Family, Sides, Verdict, VerdictRule, assess_family};
    use proptest::prelude::*;

    #[test]
    fn equal_runs_are_exact_only_in_enough_units() {
        let same: [&[f64]; 2] = [&[8.0, 8.0], &[9.0, 9.0]];
        let of = |units, counted_by| equal_counts(same.into_iter(), units, counted_by);
        assert_eq!(of(2, CountedBy::Work), EqualCounts::TooFew { needed: 3 });
        assert_eq!(of(3, CountedBy::Work), EqualCounts::Exact);
        assert_eq!(of(5, CountedBy::Timers), EqualCounts::TooFew { needed: 6 });
        assert_eq!(of(6, CountedBy::Timers), EqualCounts::Exact);
        assert_eq!(equal_counts([&[8.0, 9.0][..]].into_iter(), 9, CountedBy::Work), EqualCounts::Vary);
    }

    #[test]
    fn the_step_comes_from_the_counts() {
        assert_eq!(granularity([8.0, 9.0, 8.0, 11.0]), 1.0);
        assert_eq!(granularity([32_768.0, 36_864.0]), 4096.0);
        assert_eq!(granularity([8.0, 8.0]), 0.0);
        assert_eq!(granularity([]), 0.0);
    }

    /// Returns the share of studies of equal systems, 8 or 9 flushes a run, that claim fewer flushes for one.
    fn claims(plots: usize, with_step: bool) -> f64 {
        let mut random = SplitMix::new(11);
        let mut claims = 0;
        for _ in 0..2000 {
            let mut side = || -> Vec<Vec<f64>> {
                (0..plots).map(|_| (0..2).map(|_| if random.unit() < 0.5 { 8.0 } else { 9.0 }).collect()).collect()
            };
            let (baseline, candidate) = (side(), side());
            let step = granularity(baseline.iter().chain(&candidate).flatten().copied());
            let sides = Sides::Plots { baseline: &baseline, candidate: &candidate };
            let granularity = if with_step { step } else { 0.0 };
            let compared = Compared { granularity, ..Compared::measured(sides, Better::Lower) };
            let found = assess_family(&[compared], &VerdictRule::default(), Family::Holm).unwrap();
            claims += u32::from(matches!(found[0].verdict, Verdict::Faster(_) | Verdict::Slower(_)));
        }
        f64::from(claims) / 2000.0
    }

    // Protects: two plots whose few counts happen to differ by the same step have no spread, and t
    // was certain of a difference.
    #[test]
    fn counts_without_spread_by_chance_are_no_difference() {
        assert!(claims(2, false) > 0.10, "{}", claims(2, false));
        for plots in [2, 3, 4] {
            assert!(claims(plots, true) <= 0.03, "{plots} plots: {}", claims(plots, true));
        }
    }

    proptest! {
        #[test]
        fn the_order_of_counts_does_not_matter(mut values in prop::collection::vec(0.0..1e6f64, 0..20)) {
            let step = granularity(values.iter().copied());
            values.reverse();
            prop_assert_eq!(granularity(values.iter().copied()), step);
            prop_assert!(step >= 0.0);
        }
    }
}
