//! Tests whether numbers rise or fall with their order, or with another number. These are rank tests: a single wild
//! value cannot make a trend.

use crate::StatsError;
use crate::estimate::t_two_sided;
use crate::summary::{finite, median, order_of};
use statrs::distribution::{ContinuousCDF, Normal};

/// Outcome of [`mann_kendall`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Kendall's τ-b between value and order: 1 if every value is above its predecessors, −1 if below.
    pub tau: f64,
    /// Two-sided p under the hypothesis of no trend.
    pub p: f64,
}

/// Outcome of [`spearman`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankCorrelation {
    /// Spearman's ρ, −1 to 1.
    pub rho: f64,
    /// Two-sided p under the hypothesis that the two are unrelated.
    pub p: f64,
}

/// A line through equally spaced values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrendLine {
    /// Rise from one value to the next.
    pub slope: f64,
    /// Height at the first value.
    pub start: f64,
}

/// Up to this many values without ties, p of [`mann_kendall`] is exact.
pub(crate) const KENDALL_EXACT: usize = 33;

/// Up to this many pairs, p of [`spearman`] is exact.
pub(crate) const SPEARMAN_EXACT: usize = 8;

/// [`theil_sen`] uses all pairs of up to this many points.
const POINTS_MAX: usize = 1024;

/// Runs the trend test of Mann and Kendall over values in their order; needs at least four. p is exact up to
/// [`KENDALL_EXACT`] values without ties (Kendall, "Rank correlation methods", 1948, §5.2: the counts of
/// inversions). Otherwise it is the normal approximation with corrections for ties and continuity (Mann,
/// "Nonparametric tests against trend", Econometrica 13, 1945; Gilbert, "Statistical methods for environmental
/// pollution monitoring", 1987, eq. 16.3–16.5).
///
/// It assumes independent values: correlated neighbours look like a trend.
pub fn mann_kendall(values: &[f64]) -> Result<Trend, StatsError> {
    mann_kendall_inflated(values, 1.0)
}

/// Runs [`mann_kendall`] with a variance `inflation` times that of independent values.
pub(crate) fn mann_kendall_inflated(values: &[f64], inflation: f64) -> Result<Trend, StatsError> {
    finite(values)?;
    if values.len() < 4 {
        return Err(StatsError::TooFew { needed: 4, found: values.len() });
    }
    let n = values.len() as f64;
    let pairs = n * (n - 1.0) / 2.0;
    let ties = tie_groups(values);
    let tied_pairs: f64 = ties.iter().map(|t| t * (t - 1.0) / 2.0).sum();
    if tied_pairs == pairs {
        return Ok(Trend { tau: 0.0, p: 1.0 });
    }
    let down = inversions(values);
    let sum = pairs - tied_pairs - 2.0 * down;
    let tau = sum / (pairs * (pairs - tied_pairs)).sqrt();
    if tied_pairs == 0.0 && inflation == 1.0 && values.len() <= KENDALL_EXACT {
        return Ok(Trend { tau, p: exact_kendall(values.len(), down.min(pairs - down)) });
    }
    let spread = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
    let variance = inflation * (spread(n) - ties.iter().map(|&t| spread(t)).sum::<f64>()) / 18.0;
    let z = (sum.abs() - 1.0).max(0.0) / variance.sqrt();
    Ok(Trend { tau, p: (2.0 * Normal::standard().sf(z)).min(1.0) })
}

/// Returns the sizes of the groups of equal values; single values are groups of 1.
fn tie_groups(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).map(|group| group.len() as f64).collect()
}

/// Counts pairs whose later value is the smaller one, by merging (Knight, "A computer method for calculating
/// Kendall's tau with ungrouped data", 1966): a day of seconds has 3.7 · 10⁹ pairs.
fn inversions(values: &[f64]) -> f64 {
    fn sort(values: &mut [f64], spare: &mut Vec<f64>) -> u64 {
        if values.len() < 2 {
            return 0;
        }
        let middle = values.len() / 2;
        let mut down = sort(&mut values[..middle], spare) + sort(&mut values[middle..], spare);
        spare.clear();
        let (mut left, mut right) = (0, middle);
        while left < middle && right < values.len() {
            if values[right] < values[left] {
                down += (middle - left) as u64;
                spare.push(values[right]);
                right += 1;
            } else {
                spare.push(values[left]);
                left += 1;
            }
        }
        spare.extend_from_slice(&values[left..middle]);
        values[..spare.len()].copy_from_slice(spare);
        down
    }
    sort(&mut values.to_vec(), &mut Vec::new()) as f64
}

/// Returns the two-sided p of this few inversions (the smaller of inversions and their opposite) among n values:
/// twice the share of permutations with at most this many.
fn exact_kendall(n: usize, inversions: f64) -> f64 {
    let pairs = n * (n - 1) / 2;
    let mut share = vec![0.0; pairs + 1];
    share[0] = 1.0;
    for size in 2..=n {
        // The size-th value has 0 to size − 1 larger ones before it, all equally likely.
        let mut next = vec![0.0; pairs + 1];
        let mut window = 0.0;
        for count in 0..=size * (size - 1) / 2 {
            window += share[count];
            if count >= size {
                window -= share[count - size];
            }
            next[count] = window / size as f64;
        }
        share = next;
    }
    (2.0 * share[..=inversions as usize].iter().sum::<f64>()).min(1.0)
}

/// Fits the line of Theil and Sen: the median of the slopes between all pairs of values, through the medians of value
/// and order (Sen, "Estimates of the regression coefficient based on Kendall's tau", 1968). More than 1024 values are
/// first averaged in equal groups, in their order. Needs at least two values.
pub fn theil_sen(values: &[f64]) -> Result<TrendLine, StatsError> {
    finite(values)?;
    if values.len() < 2 {
        return Err(StatsError::TooFew { needed: 2, found: values.len() });
    }
    let group = values.len().div_ceil(POINTS_MAX);
    let points: Vec<f64> =
        values.chunks_exact(group).map(|group| group.iter().sum::<f64>() / group.len() as f64).collect();
    let mut slopes = Vec::with_capacity(points.len() * (points.len() - 1) / 2);
    for (i, from) in points.iter().enumerate() {
        slopes.extend(points[i + 1..].iter().enumerate().map(|(ahead, to)| (to - from) / ((ahead + 1) * group) as f64));
    }
    let missing = StatsError::TooFew { needed: 2, found: values.len() };
    let (Some(slope), Some(height)) = (median(&slopes), median(values)) else { return Err(missing) };
    Ok(TrendLine { slope, start: height - slope * (values.len() - 1) as f64 / 2.0 })
}

/// Computes Spearman's rank correlation of two numbers of the same things; equal values share their middle rank.
/// Needs at least four pairs.
///
/// Up to [`SPEARMAN_EXACT`] pairs, p is the share of all permutations. Beyond, it is Student's t on n − 2 degrees of
/// freedom (Spearman, "The proof and measurement of association between two things", 1904; Kendall, "Rank correlation
/// methods", §5.9), but never below the 2/n! that n pairs can give.
pub fn spearman(x: &[f64], y: &[f64]) -> Result<RankCorrelation, StatsError> {
    if x.len() != y.len() {
        return Err(StatsError::Unpaired { baseline: x.len(), candidate: y.len() });
    }
    finite(x)?;
    finite(y)?;
    if x.len() < 4 {
        return Err(StatsError::TooFew { needed: 4, found: x.len() });
    }
    let (x, y) = (centred_ranks(x), centred_ranks(y));
    let squares = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
    let scale = (squares(&x) * squares(&y)).sqrt();
    if scale == 0.0 {
        return Ok(RankCorrelation { rho: 0.0, p: 1.0 });
    }
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let sum = dot(&x, &y);
    let rho = (sum / scale).clamp(-1.0, 1.0);
    let n = x.len();
    if n <= SPEARMAN_EXACT {
        let (mut hits, mut all) = (0u32, 0u32);
        each_permutation(&mut y.clone(), &mut |permuted| {
            all += 1;
            hits += u32::from(dot(&x, permuted).abs() >= sum.abs() - 1e-9);
        });
        return Ok(RankCorrelation { rho, p: f64::from(hits) / f64::from(all) });
    }
    let freedom = n as f64 - 2.0;
    let t = rho * (freedom / (1.0 - rho * rho)).sqrt();
    let p_min = 2.0 / (1..=n).map(|i| i as f64).product::<f64>();
    Ok(RankCorrelation { rho, p: t_two_sided(t, freedom).max(p_min) })
}

/// Returns ranks less their mean; equal values share their middle rank.
fn centred_ranks(values: &[f64]) -> Vec<f64> {
    let order = order_of(values);
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for group in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let middle = first as f64 + (group.len() - 1) as f64 / 2.0;
        for &index in group {
            ranks[index] = middle - (values.len() - 1) as f64 / 2.0;
        }
        first += group.len();
    }
    ranks
}

/// Visits all orders of the values, each once (Heap, "Permutations by interchanges", 1963).
fn each_permutation(values: &mut [f64], visit: &mut impl FnMut(&[f64])) {
    fn heap(size: usize, values: &mut [f64], visit: &mut impl FnMut(&[f64])) {
        if size <= 1 {
            return visit(values);
        }
        for i in 0..size {
            heap(size - 1, values, visit);
            if i < size - 1 {
                values.swap(if size.is_multiple_of(2) { i } else { 0 }, size - 1);
            }
        }
    }
    heap(values.len(), values, visit);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;
    use proptest::prelude::*;

    const SERIES: [f64; 12] = [9.1, 8.7, 9.5, 9.9, 9.4, 10.2, 9.8, 10.6, 10.1, 10.9, 10.4, 11.2];
    const TIED: [f64; 12] = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0, 8.0];

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1e-3), "{found} is not {expected}");
    }

    #[test]
    fn mann_kendall_agrees_with_r() {
        // R: cor.test(1:12, series, method = "kendall")
        let exact = mann_kendall(&SERIES).unwrap();
        assert_close(exact.tau, 0.7272727272727273);
        assert_close(exact.p, 0.0004988835110362189);
        // R: cor.test(1:12, tied, method = "kendall", exact = FALSE, continuity = TRUE)
        let tied = mann_kendall(&TIED).unwrap();
        assert_close(tied.tau, 0.39400626128204935);
        assert_close(tied.p, 0.09529283802345666);
        // R: cor.test(1:40, sin(1:40) + (1:40) / 20, method = "kendall", exact = FALSE, continuity = TRUE)
        let long: Vec<f64> = (1..=40).map(|i| f64::from(i).sin() + f64::from(i) / 20.0).collect();
        let long = mann_kendall(&long).unwrap();
        assert_close(long.tau, 0.45897435897435906);
        assert_close(long.p, 3.1905766831277595e-05);
    }

    #[test]
    fn theil_sen_agrees_with_scipy() {
        // scipy.stats.theilslopes(x)
        let line = theil_sen(&SERIES).unwrap();
        assert_close(line.slope, 0.18194444444444452);
        assert_close(line.start, 8.999305555555555);
        let line = theil_sen(&TIED).unwrap();
        assert_close(line.slope, 0.3666666666666667);
        assert_close(line.start, 2.4833333333333334);
    }

    #[test]
    fn spearman_agrees_with_scipy() {
        // scipy.stats.spearmanr(series, tied)
        let found = spearman(&SERIES, &TIED).unwrap();
        assert_close(found.rho, 0.572470329119578);
        assert_close(found.p, 0.051744714963663035);
        // scipy.stats.spearmanr(x, y).statistic; p: numpy over itertools.permutations of scipy.stats.rankdata(y)
        let found = spearman(&TIED[..7], &[2.0, 7.0, 1.0, 8.0, 2.0, 8.0, 1.0]).unwrap();
        assert_close(found.rho, -0.08334762598987158);
        assert_close(found.p, 0.8571428571428571);
    }

    #[test]
    fn a_long_series_is_averaged_and_keeps_its_slope() {
        let values: Vec<f64> = (0..5000).map(|i| 100.0 + 0.01 * f64::from(i)).collect();
        let line = theil_sen(&values).unwrap();
        assert_close(line.slope, 0.01);
        assert_close(line.start, 100.0);
        assert_eq!(mann_kendall(&values).unwrap().tau, 1.0);
    }

    #[test]
    fn one_wild_value_makes_no_trend() {
        let mut values = [10.0, 10.2, 9.9, 10.1, 10.3, 9.8, 10.05, 9.95, 10.15, 10.0];
        values[4] = 1e9;
        assert!(mann_kendall(&values).unwrap().p > 0.5);
        assert!(theil_sen(&values).unwrap().slope.abs() < 0.05);
    }

    #[test]
    fn equal_values_have_no_trend_and_no_correlation() {
        assert_eq!(mann_kendall(&[5.0; 9]).unwrap(), Trend { tau: 0.0, p: 1.0 });
        assert_eq!(spearman(&[5.0; 9], &TIED[..9]).unwrap(), RankCorrelation { rho: 0.0, p: 1.0 });
        assert_eq!(theil_sen(&[5.0; 9]).unwrap().slope, 0.0);
    }

    #[test]
    fn too_few_and_nan_are_refused() {
        assert_eq!(mann_kendall(&[1.0; 3]), Err(StatsError::TooFew { needed: 4, found: 3 }));
        assert!(spearman(&[1.0, 2.0, 3.0, f64::NAN], &[1.0; 4]).is_err());
        assert!(spearman(&[1.0; 4], &[1.0; 5]).is_err());
        assert!(theil_sen(&[1.0]).is_err());
    }

    #[test]
    fn noise_has_a_trend_as_rarely_as_promised() {
        let mut noise = SplitMix::new(4);
        let mut false_alarms = [0; 2];
        for _ in 0..2000 {
            let values: Vec<f64> = (0..14).map(|_| noise.normal()).collect();
            let order: Vec<f64> = (0..14).map(f64::from).collect();
            false_alarms[0] += u32::from(mann_kendall(&values).unwrap().p < 0.05);
            false_alarms[1] += u32::from(spearman(&order, &values).unwrap().p < 0.05);
        }
        assert!(false_alarms.iter().all(|count| (60..=140).contains(count)), "{false_alarms:?} of 2000");
    }

    fn values() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((0..40i32).prop_map(f64::from), 4..30)
    }

    proptest! {
        #[test]
        fn reversing_the_order_reverses_the_trend(values in values()) {
            let back: Vec<f64> = values.iter().rev().copied().collect();
            let (there, back_again) = (mann_kendall(&values).unwrap(), mann_kendall(&back).unwrap());
            prop_assert!((there.tau + back_again.tau).abs() < 1e-12 && (there.p - back_again.p).abs() < 1e-12);
            prop_assert!((-1.0..=1.0).contains(&there.tau) && there.p > 0.0 && there.p <= 1.0);
            let (a, b) = (theil_sen(&values).unwrap().slope, theil_sen(&back).unwrap().slope);
            prop_assert!((a + b).abs() < 1e-12);
        }

        #[test]
        fn ranks_ignore_scale(values in values(), scale in 0.01..100.0f64) {
            let scaled: Vec<f64> = values.iter().map(|value| value * scale + 7.0).collect();
            prop_assert_eq!(mann_kendall(&values).unwrap(), mann_kendall(&scaled).unwrap());
        }

        #[test]
        fn correlation_is_symmetric(pairs in prop::collection::vec((0..20i32, 0..20i32), 4..14)) {
            let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().map(|&(x, y)| (f64::from(x), f64::from(y))).unzip();
            let (there, back) = (spearman(&x, &y).unwrap(), spearman(&y, &x).unwrap());
            prop_assert!((there.rho - back.rho).abs() < 1e-12 && (there.p - back.p).abs() < 1e-12);
        }
    }
}
