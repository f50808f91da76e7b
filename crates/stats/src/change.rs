//! Detects changes of level: within a run, and over a history of results.

use crate::StatsError;
use crate::estimate::t_two_sided;
use crate::steady::inflation_of;
use crate::summary::{finite, logs, median};

/// A position where the level changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value of the new level.
    pub at: usize,
    /// Level from the previous change (or the start) to this one.
    pub before: f64,
    /// Level from here to the next change (or the end).
    pub after: f64,
    /// p of the test that found the change.
    pub p: f64,
}

impl ChangePoint {
    /// Returns the distance of the two levels as a factor: 0.05 is × or ÷ 1.05. Infinite if one of them is 0.
    pub fn magnitude(&self) -> f64 {
        if self.before == self.after {
            return 0.0;
        }
        (self.after / self.before).ln().abs().exp_m1()
    }
}

/// A change within a run needs p below this …
pub(crate) const WITHIN_RUN_P: f64 = 0.001;

/// … and two levels that are further apart than this factor.
pub const WITHIN_RUN_MAGNITUDE: f64 = 0.05;

/// Finds the change of level within a run, from its one-second means. A change needs p below [`WITHIN_RUN_P`] by
/// Pettitt's rank test, and medians further apart than [`WITHIN_RUN_MAGNITUDE`]. Fewer than about 22 values never
/// reach that p. As in [`crate::steady::within_run`], the variance is multiplied if neighbours are correlated beyond
/// what the two levels explain.
///
/// Source: Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics 28, 1979, with its
/// approximation p = 2 exp(−6 K² / (n³ + n²)), which is conservative.
///
/// Errors: fewer than ten values, one that is not finite or below 0.
pub fn within_run(values: &[f64]) -> Result<Option<ChangePoint>, StatsError> {
    finite(values)?;
    if values.len() < 10 {
        return Err(StatsError::TooFew { needed: 10, found: values.len() });
    }
    if let Some(index) = values.iter().position(|&value| value < 0.0) {
        return Err(StatsError::NotPositive { index, value: values[index] });
    }
    let n = values.len() as f64;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (mut sum, mut farthest, mut at) = (0.0, 0.0, 0);
    for (i, value) in values[..values.len() - 1].iter().enumerate() {
        // Twice the middle rank among equal values, less its mean.
        let below = sorted.partition_point(|other| other < value);
        let up_to = sorted.partition_point(|other| other <= value);
        sum += (below + up_to) as f64 - n;
        if f64::abs(sum) > farthest {
            (farthest, at) = (f64::abs(sum), i + 1);
        }
    }
    if at == 0 {
        return Ok(None);
    }
    let (Some(before), Some(after)) = (median(&values[..at]), median(&values[at..])) else { return Ok(None) };
    let rest: Vec<f64> =
        values.iter().enumerate().map(|(i, value)| value - if i < at { before } else { after }).collect();
    let p = (2.0 * (-6.0 * farthest * farthest / (inflation_of(&rest) * (n.powi(3) + n * n))).exp()).min(1.0);
    let found = ChangePoint { at, before, after, p };
    Ok((p < WITHIN_RUN_P && found.magnitude() > WITHIN_RUN_MAGNITUDE).then_some(found))
}

struct Split {
    at: usize,
    energy: f64,
}

/// Returns the split with the largest energy statistic: mn/(m+n) × (twice the mean distance between the sides, less
/// the mean distances within each). `None` if no split leaves `least` values on each side, or all values are equal.
fn best_split(values: &[f64], least: usize) -> Option<Split> {
    let least = least.max(2);
    if values.len() < 2 * least {
        return None;
    }
    let distance_to = |value: f64, others: &[f64]| others.iter().map(|other| (value - other).abs()).sum::<f64>();
    let (mut left, mut between) = (0.0, 0.0);
    let mut right: f64 = (0..values.len()).map(|i| distance_to(values[i], &values[i + 1..])).sum();
    let mut best: Option<Split> = None;
    for at in 1..=values.len() - least {
        // The value before the split crosses from the right-hand side to the left-hand one.
        let value = values[at - 1];
        let (to_left, to_right) = (distance_to(value, &values[..at - 1]), distance_to(value, &values[at..]));
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        if at < least {
            continue;
        }
        let (m, n) = (at as f64, (values.len() - at) as f64);
        let apart = 2.0 * between / (m * n) - 2.0 * left / (m * (m - 1.0)) - 2.0 * right / (n * (n - 1.0));
        let energy = m * n / (m + n) * apart;
        if energy > best.as_ref().map_or(0.0, |best| best.energy) {
            best = Some(Split { at, energy });
        }
    }
    best
}

/// Settings of [`history`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct History {
    /// Number of results examined together. Windows overlap by half, so that an old change does not hide a new one.
    pub window: usize,
    /// Largest p of a change.
    pub p: f64,
    /// Changes smaller than this factor do not matter; set it to the noise floor if known.
    pub magnitude: f64,
}

impl Default for History {
    fn default() -> History {
        History { window: 50, p: 0.001, magnitude: 0.05 }
    }
}

/// Finds the changes of level in a history of results, one value each, in order. In each window, it splits by energy
/// distance while a t test of the two sides has p below ten times the rule's. Then, over the whole history, it merges
/// away the weakest change until all have p below the rule's and reach the rule's magnitude. All tests are on the log
/// scale, and levels are geometric means. It uses no random numbers: the same history gives the same changes.
///
/// Source: Fleming et al., "Hunter: using change point detection to hunt for performance regressions", ICPE 2023, and
/// its successor Apache Otava, whose defaults (window 50, p 0.001) these are.
///
/// Errors: a value not above 0; a window below 6, p not between 0 and 1, a negative magnitude.
pub fn history(values: &[f64], rule: &History) -> Result<Vec<ChangePoint>, StatsError> {
    let logs = logs(values)?;
    if rule.window < 6 {
        return Err(StatsError::Setting { name: "window", value: rule.window as f64, allowed: "6 and more" });
    }
    if !(rule.p > 0.0 && rule.p < 1.0) {
        return Err(StatsError::Setting { name: "p", value: rule.p, allowed: "0 to 1, both excluded" });
    }
    if !(rule.magnitude >= 0.0 && rule.magnitude.is_finite()) {
        let allowed = "the numbers from 0 on";
        return Err(StatsError::Setting { name: "magnitude", value: rule.magnitude, allowed });
    }
    let weak_p = (10.0 * rule.p).min(0.5);
    let mut bounds = vec![0, logs.len()];
    let mut start = 0;
    loop {
        let end = (start + rule.window).min(logs.len());
        split_while(&logs, start, end, weak_p, &mut bounds);
        if end == logs.len() {
            break;
        }
        start += rule.window / 2;
    }
    bounds.sort_unstable();
    bounds.dedup();
    loop {
        let points: Vec<ChangePoint> = bounds.windows(3).map(|at| describe(&logs, at)).collect();
        let weakest =
            points.iter().max_by(|a, b| a.p.total_cmp(&b.p)).filter(|point| point.p >= rule.p).or_else(|| {
                let smallest = points.iter().min_by(|a, b| a.magnitude().total_cmp(&b.magnitude()));
                smallest.filter(|point| point.magnitude() < rule.magnitude)
            });
        match weakest.map(|point| point.at) {
            Some(at) => bounds.retain(|&bound| bound != at),
            None => return Ok(points),
        }
    }
}

/// Splits a stretch repeatedly while the t test of its two sides stays below p.
fn split_while(logs: &[f64], start: usize, end: usize, p: f64, bounds: &mut Vec<usize>) {
    let Some(split) = best_split(&logs[start..end], 2) else { return };
    let at = start + split.at;
    if describe(logs, &[start, at, end]).p < p {
        bounds.push(at);
        split_while(logs, start, at, p, bounds);
        split_while(logs, at, end, p, bounds);
    }
}

/// Describes the change at the middle one of three bounds, by the t test with a common variance: a level of two
/// values has no useful variance of its own.
fn describe(logs: &[f64], at: &[usize]) -> ChangePoint {
    let (left, right) = (&logs[at[0]..at[1]], &logs[at[1]..at[2]]);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (a, b) = (mean(left), mean(right));
    let squares = |values: &[f64], mean: f64| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let freedom = (left.len() + right.len()).saturating_sub(2) as f64;
    let weight = 1.0 / left.len() as f64 + 1.0 / right.len() as f64;
    let error = ((squares(left, a) + squares(right, b)) / freedom * weight).sqrt();
    let p = if freedom == 0.0 || a == b {
        1.0
    } else if error == 0.0 {
        0.0
    } else {
        t_two_sided((b - a) / error, freedom)
    };
    ChangePoint { at: at[1], before: a.exp(), after: b.exp(), p }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;
    use proptest::prelude::*;

    fn levels(seed: u64, spread: f64, levels: &[(usize, f64)]) -> Vec<f64> {
        let mut noise = SplitMix::new(seed);
        let each = levels.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count));
        each.map(|level| level * (spread * noise.normal()).exp()).collect()
    }

    #[test]
    fn the_energy_of_a_split_agrees_with_numpy() {
        // numpy: a, b = x[:t], x[t:]; D = abs(x[:,None]-x); m*n/(m+n)*(2*D[:t,t:].mean() - D[:t,:t].sum()/(m*(m-1)) - D[t:,t:].sum()/(n*(n-1)))
        let values = [1.0, 2.0, 1.5, 0.5, 5.0, 6.0, 5.5, 7.0, 4.0, 2.5];
        let split = best_split(&values, 2).unwrap();
        assert_eq!(split.at, 4);
        assert!((split.energy - 11.36).abs() < 1e-9, "{}", split.energy);
    }

    #[test]
    fn a_step_within_a_run_is_found_where_it_is() {
        // Credits end after 40 of 90 seconds.
        let found = within_run(&levels(1, 0.03, &[(40, 300.0), (50, 120.0)])).unwrap().unwrap();
        assert_eq!(found.at, 40);
        assert!(
            found.p < 1e-6 && (found.before / 300.0 - 1.0).abs() < 0.02 && (found.after / 120.0 - 1.0).abs() < 0.02
        );
    }

    #[test]
    fn a_flat_run_and_a_step_too_small_to_matter_have_no_change() {
        let flat = (0..300).filter(|&seed| within_run(&levels(seed, 0.2, &[(60, 100.0)])).unwrap().is_some()).count();
        assert!(flat <= 1, "{flat} of 300");
        assert_eq!(within_run(&levels(3, 0.001, &[(30, 100.0), (30, 102.0)])).unwrap(), None);
        assert_eq!(within_run(&[5.0; 30]).unwrap(), None);
        assert!(within_run(&[1.0; 9]).is_err() && within_run(&[-1.0; 20]).is_err());
    }

    #[test]
    fn a_device_that_stops_has_changed_beyond_any_factor() {
        let found = within_run(&levels(3, 0.05, &[(30, 100.0), (30, 0.0)])).unwrap().unwrap();
        assert!(found.magnitude().is_infinite() && found.after == 0.0);
    }

    #[test]
    fn neighbours_that_resemble_each_other_are_no_change() {
        let mut noise = SplitMix::new(11);
        let flagged = (0..300).filter(|_| {
            let mut state = noise.normal();
            let run: Vec<f64> = (0..60)
                .map(|_| {
                    state = 0.7 * state + 0.714 * noise.normal();
                    100.0 * (1.0 + 0.08 * state)
                })
                .collect();
            within_run(&run).unwrap().is_some()
        });
        let flagged = flagged.count();
        assert!(flagged <= 6, "{flagged} of 300");
    }

    #[test]
    fn a_history_shows_an_old_and_a_new_change() {
        let values = levels(5, 0.02, &[(60, 100.0), (70, 92.0), (8, 120.0)]);
        let found = history(&values, &History::default()).unwrap();
        assert_eq!(found.iter().map(|point| point.at).collect::<Vec<_>>(), [60, 130]);
        // The smaller change is below a floor of 10 %.
        let coarse = history(&values, &History { magnitude: 0.10, ..History::default() }).unwrap();
        assert_eq!(coarse.iter().map(|point| point.at).collect::<Vec<_>>(), [130]);
    }

    #[test]
    fn a_quiet_history_has_no_changes() {
        let changed = (0..100)
            .filter(|&seed| !history(&levels(seed, 0.05, &[(120, 100.0)]), &History::default()).unwrap().is_empty());
        let changed = changed.count();
        assert!(changed <= 3, "{changed} of 100");
        assert!(history(&[100.0; 80], &History::default()).unwrap().is_empty());
        assert!(history(&[100.0, 0.0], &History::default()).is_err());
        assert!(history(&[100.0], &History { window: 2, ..History::default() }).is_err());
    }

    proptest! {
        #[test]
        fn the_unit_does_not_matter(values in prop::collection::vec(1.0..2.0f64, 10..60), scale in 1e-3..1e6f64) {
            let scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
            let at = |points: Vec<ChangePoint>| points.iter().map(|point| point.at).collect::<Vec<_>>();
            let rule = History { p: 0.05, ..History::default() };
            prop_assert_eq!(at(history(&values, &rule).unwrap()), at(history(&scaled, &rule).unwrap()));
            prop_assert_eq!(within_run(&values).unwrap().map(|point| point.at), within_run(&scaled).unwrap().map(|point| point.at));
        }
    }
}
