//! Detects runs that fall into several groups: a fast and a slow mode have no common mean worth a headline.
//!
//! There are two tests. The dip test sees any second hump, given enough values; with 12 to 24 values, a
//! fifth of them slow, it sees next to nothing. The gap test looks for the typical slow modes of storage:
//! two tight groups with nothing between.

use crate::StatsError;
use crate::random::SplitMix;
use crate::summary::{finite, logs, median};

/// Two groups of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modes {
    /// The value between them: halfway, on the log scale, between the groups' nearest members.
    pub split: f64,
    /// Share of the values below the split.
    pub low_share: f64,
    /// Geometric mean of the lower group over that of the upper one; below 1.
    pub ratio: f64,
    /// The smaller p of the two tests.
    pub p: f64,
}

/// Outcome of [`dip`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dip {
    /// The largest distance between the values' distribution and the nearest unimodal one, 1/2n to 1/4.
    pub dip: f64,
    /// p that as many values of the uniform distribution, the hardest unimodal one, have a dip this large.
    pub p: f64,
}

/// p of the gap test below which there are two modes. Together with [`DIP_P`] it is wrong on less than one in a
/// hundred samples of 12 to 60 normal logarithms. It is below the 0.01 that this would allow, because [`centred`]
/// sides are a little less normal than one sample.
pub(crate) const GAP_P: f64 = 0.004;

/// p of the dip test below which there are two modes.
pub const DIP_P: f64 = 0.01;

/// Fewer values are not tested, because they form groups by chance.
pub const VALUES_MIN: usize = 8;

/// Modes closer than this do not matter, however tight they are.
const RATIO_MAX: f64 = 0.98;

/// Finds two modes in the logarithms of the values. Returns `None` with fewer than [`VALUES_MIN`] values, with one
/// that is not above 0, if neither test is significant, or if the groups are less than 2 % apart.
///
/// The gap test takes the widest gap between neighbours, relative to the spread within the two groups that it
/// separates, over all splits that leave two values on each side. The distribution of its width by chance was
/// simulated on 200 000 or more samples of normal logarithms for each of 6 to 120 values. A slow mode of 20 % of runs
/// at −25 % is found in nine of ten samples of 2 × 12 runs that vary by 3 %.
pub fn modes(values: &[f64]) -> Option<Modes> {
    if values.len() < VALUES_MIN {
        return None;
    }
    let mut sorted = logs(values).ok()?;
    sorted.sort_unstable_by(f64::total_cmp);
    let (gap_at, gap_p) = gap_p(&sorted);
    let dip_p = dip(&sorted).ok()?.p;
    let at = match (gap_p < GAP_P, dip_p < DIP_P) {
        (true, _) => gap_at,
        (false, true) => two_means(&sorted),
        (false, false) => return None,
    };
    let (low, high) = sorted.split_at(at);
    let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len() as f64;
    let ratio = (mean(low) - mean(high)).exp();
    (ratio <= RATIO_MAX).then(|| Modes {
        split: f64::midpoint(low[at - 1], high[0]).exp(),
        low_share: at as f64 / sorted.len() as f64,
        ratio,
        p: gap_p.min(dip_p),
    })
}

/// [`centred`] sides of at least this many values are close enough to a normal sample for the tables of both tests.
const LARGE_SIDE: usize = 10;

/// Largest number of samples drawn to simulate chance on small sides.
const SAMPLES_MAX: usize = 20_000;

/// Finds two modes in several sides together, each around its own median, with a false alarm rate below `alpha`.
///
/// The tables of [`modes`] hold for one normal sample. Sides of two, three or four values are no longer normal after
/// their medians are subtracted: two values lie at equal distances from their median, and one of three lies exactly
/// on it, so that gaps form around the middle. With two to four values a side the tables alone raise alarms in 2 to 5
/// % of samples without modes. So an alarm of small sides counts only if it is equally rare among normal samples of
/// the same sizes, centred in the same way. These are drawn only after an alarm by the tables.
///
/// # Errors
/// A value is not above 0.
pub fn modes_of_sides(sides: &[&[f64]], alpha: f64) -> Result<Option<Modes>, StatsError> {
    let Some(found) = modes(&centred(sides)?).filter(|modes| modes.p < alpha) else { return Ok(None) };
    let sizes: Vec<usize> = sides.iter().map(|side| side.len()).filter(|&size| size > 0).collect();
    let is_small = sizes.iter().any(|&size| size < LARGE_SIDE);
    Ok((!is_small || is_rare(&sizes, found.p, alpha)).then_some(found))
}

/// Returns `true` if less than `alpha` of normal samples of these sizes have a p this small, by either test.
fn is_rare(sizes: &[usize], p: f64, alpha: f64) -> bool {
    let samples = ((20.0 / alpha).ceil() as usize).clamp(1, SAMPLES_MAX);
    let allowed = alpha * samples as f64;
    let mut random = SplitMix::new(SIZES_SEED);
    let mut pooled = Vec::with_capacity(sizes.iter().sum());
    let mut as_small = 1.0;
    for _ in 0..samples {
        pooled.clear();
        for &size in sizes {
            let side: Vec<f64> = (0..size).map(|_| random.normal()).collect();
            let middle = median(&side).unwrap_or(0.0);
            pooled.extend(side.iter().map(|value| value - middle));
        }
        pooled.sort_unstable_by(f64::total_cmp);
        let is_as_small = gap_p(&pooled).1 <= p || dip(&pooled).is_ok_and(|dip| dip.p <= p);
        as_small += f64::from(u8::from(is_as_small));
        if as_small >= allowed {
            return false;
        }
    }
    true
}

/// Fixed, so that the same sizes are always judged alike.
const SIZES_SEED: u64 = 20;

/// Returns the start of the upper group at the widest gap, and the p of that gap.
fn gap_p(sorted: &[f64]) -> (usize, f64) {
    let (at, score) = widest_gap(sorted);
    (at, tail(&GAP_CHANCE, &GAP_VALUES, sorted.len(), score, |n| n))
}

/// Combines several sides into one sample around 1, each divided by its median: modes are easier to see in all of
/// them together. Errors: a value not above 0.
pub fn centred(sides: &[&[f64]]) -> Result<Vec<f64>, StatsError> {
    let mut pooled = Vec::with_capacity(sides.iter().map(|side| side.len()).sum());
    for side in sides {
        let logs = logs(side)?;
        if let Some(middle) = median(&logs) {
            pooled.extend(logs.iter().map(|log| (log - middle).exp()));
        }
    }
    Ok(pooled)
}

/// Returns the start of the upper group at the widest gap of sorted values, and its width
/// in standard deviations within groups.
fn widest_gap(sorted: &[f64]) -> (usize, f64) {
    let mut widest = (2, 0.0);
    each_split(sorted, |at, within| {
        let gap = sorted[at] - sorted[at - 1];
        // Two groups of equal values have no spread, and any gap between them is infinitely wide.
        let score = if gap == 0.0 { 0.0 } else { gap / (within / (sorted.len() - 2) as f64).sqrt() };
        if score > widest.1 {
            widest = (at, score);
        }
    });
    widest
}

/// Returns the split with the least spread within the groups.
fn two_means(sorted: &[f64]) -> usize {
    let mut best = (2, f64::INFINITY);
    each_split(sorted, |at, within| {
        if within < best.1 {
            best = (at, within);
        }
    });
    best.0
}

/// Visits each split into two groups of at least two, with the sum of squares within the groups.
fn each_split(sorted: &[f64], mut visit: impl FnMut(usize, f64)) {
    let n = sorted.len();
    let mean = sorted.iter().sum::<f64>() / n as f64;
    let total: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
    let mut below = 0.0;
    for at in 1..n {
        below += sorted[at - 1] - mean;
        if at >= 2 && n - at >= 2 {
            // The sum of squares that the groups' means explain; the group above sums to −below.
            let between = below * below * (1.0 / at as f64 + 1.0 / (n - at) as f64);
            // A remainder below rounding errors is not a spread.
            let within = total - between;
            visit(at, if within < 1e-14 * total { 0.0 } else { within });
        }
    }
}

/// Computes Hartigan's dip statistic with its p; needs at least four values.
///
/// p is read from quantiles of √n · dip, simulated on 20 000 to 300 000 uniform samples for each of 17 sizes,
/// and interpolated by √n between sizes. Beyond the table it is extrapolated along the last slope, and is
/// only a rough number there.
///
/// Source: Hartigan and Hartigan, "The dip test of unimodality", Annals of Statistics 13, 1985; P. M. Hartigan,
/// "Algorithm AS 217: Computation of the dip statistic", Applied Statistics 34, 1985.
pub fn dip(values: &[f64]) -> Result<Dip, StatsError> {
    finite(values)?;
    if values.len() < 4 {
        return Err(StatsError::TooFew { needed: 4, found: values.len() });
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let dip = dip_counts(&sorted) / (2.0 * n);
    let p = tail(&DIP_CHANCE, &DIP_VALUES, sorted.len(), dip * n.sqrt(), f64::sqrt);
    Ok(Dip { dip, p })
}

/// Returns 2 n times the dip of sorted values. Narrows the modal interval between the convex minorant and the concave
/// majorant of the distribution, until the distance there is no larger than the values outside require.
fn dip_counts(sorted: &[f64]) -> f64 {
    let (mut low, mut high) = (0, sorted.len() - 1);
    let mut dip: f64 = 1.0;
    if sorted[low] == sorted[high] {
        return dip;
    }
    loop {
        let minorant = hull(sorted, low, high, Bend::Up);
        let majorant = hull(sorted, low, high, Bend::Down);
        // Heights in counts: the minorant runs below the steps, the majorant one above the same points.
        let (mut distance, mut next) = (0.0, (low, high));
        for &knot in &minorant {
            let apart = height(sorted, &majorant, knot) + 1.0 - knot as f64;
            if apart > distance {
                let right = majorant.iter().copied().find(|&end| end >= knot).unwrap_or(high);
                (distance, next) = (apart, (knot, right));
            }
        }
        for &knot in &majorant {
            let apart = knot as f64 + 1.0 - height(sorted, &minorant, knot);
            if apart > distance {
                let left = minorant.iter().copied().rev().find(|&end| end <= knot).unwrap_or(low);
                (distance, next) = (apart, (left, knot));
            }
        }
        if distance <= dip {
            return dip;
        }
        for i in low..=next.0 {
            dip = dip.max(i as f64 + 1.0 - height(sorted, &minorant, i));
        }
        for i in next.1..=high {
            dip = dip.max(height(sorted, &majorant, i) + 1.0 - i as f64);
        }
        if next == (low, high) {
            return dip;
        }
        (low, high) = next;
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Bend {
    Up,
    Down,
}

/// Returns the positions of the knots of the convex (`Up`) or concave (`Down`) hull of the points (value,
/// position) from `low` to `high`.
fn hull(sorted: &[f64], low: usize, high: usize, bend: Bend) -> Vec<usize> {
    let mut knots: Vec<usize> = Vec::new();
    for i in low..=high {
        while let [.., a, b] = knots[..] {
            // A cross product instead of slopes, so that equal values cause no division by zero.
            let turn = (sorted[b] - sorted[a]) * (i - a) as f64 - (sorted[i] - sorted[a]) * (b - a) as f64;
            let keeps = if bend == Bend::Up { turn > 0.0 } else { turn < 0.0 };
            if keeps {
                break;
            }
            knots.pop();
        }
        knots.push(i);
    }
    knots
}

/// Returns the height of a hull over the value at a position, in counts.
fn height(sorted: &[f64], knots: &[usize], at: usize) -> f64 {
    let right = knots.partition_point(|&knot| knot < at);
    let (Some(&to), true) = (knots.get(right), right > 0) else {
        return at as f64;
    };
    let from = knots[right - 1];
    let width = sorted[to] - sorted[from];
    if to == at || width == 0.0 {
        return at as f64;
    }
    from as f64 + (to - from) as f64 * (sorted[at] - sorted[from]) / width
}

/// Reads p of a statistic from a table of its quantiles: rows by number of values, columns by chance of exceeding.
/// Interpolates rows by `scale` of the number of values, and columns by the logarithm of the chance. Beyond the last
/// column the last slope continues.
fn tail<const COLUMNS: usize, const ROWS: usize>(
    chance: &[f64; COLUMNS],
    table: &[(usize, [f64; COLUMNS]); ROWS],
    n: usize,
    statistic: f64,
    scale: impl Fn(f64) -> f64,
) -> f64 {
    let above = table.partition_point(|(size, _)| *size < n).clamp(1, ROWS - 1);
    let ((size_low, low), (size_high, high)) = (table[above - 1], table[above]);
    let (from, to) = (scale(size_low as f64), scale(size_high as f64));
    let share = ((scale(n as f64) - from) / (to - from)).clamp(0.0, 1.0);
    let quantiles: [f64; COLUMNS] = std::array::from_fn(|i| low[i] + share * (high[i] - low[i]));
    if statistic <= quantiles[0] {
        return 1.0;
    }
    // The interval of columns around the statistic, or the last one.
    let right = quantiles.partition_point(|&quantile| quantile < statistic).clamp(1, COLUMNS - 1);
    let width = quantiles[right] - quantiles[right - 1];
    if width <= 0.0 {
        return chance[right];
    }
    let along = (statistic - quantiles[right - 1]) / width;
    let log = chance[right - 1].ln() + along * (chance[right].ln() - chance[right - 1].ln());
    log.exp().max(1e-12)
}

/// Chances of exceeding the columns of [`GAP_VALUES`].
const GAP_CHANCE: [f64; 10] = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0002];

// Some quantiles are close to a mathematical constant by coincidence.
#[allow(clippy::approx_constant)]
#[rustfmt::skip]
const GAP_VALUES: [(usize, [f64; 10]); 12] = [
    (6, [1.45, 2.475, 3.353, 4.396, 5.999, 7.529, 9.348, 12.127, 14.666, 21.445]),
    (8, [1.384, 2.095, 2.674, 3.308, 4.245, 5.033, 5.937, 7.207, 8.398, 11.364]),
    (10, [1.261, 1.817, 2.243, 2.695, 3.353, 3.885, 4.468, 5.296, 5.984, 7.879]),
    (12, [1.152, 1.609, 1.952, 2.314, 2.814, 3.233, 3.651, 4.255, 4.752, 5.935]),
    (16, [0.987, 1.331, 1.583, 1.841, 2.191, 2.473, 2.77, 3.191, 3.508, 4.309]),
    (20, [0.872, 1.159, 1.367, 1.577, 1.865, 2.095, 2.322, 2.634, 2.881, 3.476]),
    (24, [0.788, 1.038, 1.219, 1.402, 1.651, 1.84, 2.038, 2.307, 2.505, 2.998]),
    (30, [0.697, 0.916, 1.074, 1.234, 1.451, 1.62, 1.792, 2.02, 2.194, 2.62]),
    (40, [0.599, 0.792, 0.933, 1.077, 1.269, 1.414, 1.562, 1.755, 1.905, 2.206]),
    (60, [0.496, 0.671, 0.802, 0.934, 1.111, 1.241, 1.372, 1.553, 1.695, 1.957]),
    (80, [0.444, 0.613, 0.736, 0.859, 1.025, 1.152, 1.277, 1.436, 1.563, 1.837]),
    (120, [0.393, 0.552, 0.668, 0.783, 0.936, 1.045, 1.164, 1.311, 1.415, 1.657]),
];

/// Chances of exceeding the columns of [`DIP_VALUES`], which are √n · dip.
const DIP_CHANCE: [f64; 12] = [0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];

// Some quantiles are close to a mathematical constant by coincidence.
#[allow(clippy::approx_constant)]
#[rustfmt::skip]
const DIP_VALUES: [(usize, [f64; 12]); 17] = [
    (4, [0.25, 0.25, 0.25, 0.2654, 0.315, 0.3745, 0.4144, 0.4471, 0.463, 0.474, 0.4837, 0.4884]),
    (5, [0.2236, 0.2236, 0.2719, 0.3298, 0.3603, 0.3952, 0.4164, 0.4325, 0.4391, 0.443, 0.4455, 0.4463]),
    (6, [0.2041, 0.2546, 0.302, 0.3444, 0.3661, 0.3899, 0.4036, 0.4396, 0.4717, 0.4979, 0.5239, 0.5395]),
    (7, [0.2162, 0.2731, 0.3115, 0.3448, 0.3614, 0.382, 0.4235, 0.464, 0.487, 0.5052, 0.5238, 0.5342]),
    (8, [0.2319, 0.2821, 0.314, 0.341, 0.355, 0.4011, 0.4354, 0.4696, 0.4892, 0.5061, 0.5275, 0.5478]),
    (9, [0.2411, 0.2851, 0.3125, 0.3379, 0.3686, 0.4094, 0.4405, 0.4721, 0.4938, 0.5198, 0.5495, 0.5681]),
    (10, [0.2464, 0.2856, 0.3091, 0.3472, 0.3754, 0.4122, 0.4411, 0.4767, 0.5039, 0.5279, 0.5536, 0.5697]),
    (12, [0.2505, 0.2818, 0.3154, 0.3569, 0.3815, 0.4164, 0.4505, 0.4892, 0.5143, 0.5376, 0.5648, 0.5857]),
    (15, [0.2489, 0.2886, 0.3238, 0.3608, 0.3861, 0.4267, 0.46, 0.499, 0.5262, 0.5515, 0.5815, 0.6033]),
    (20, [0.2539, 0.2951, 0.3276, 0.3683, 0.3946, 0.4342, 0.4695, 0.5114, 0.5396, 0.5658, 0.5989, 0.622]),
    (30, [0.26, 0.3023, 0.337, 0.3779, 0.405, 0.4465, 0.4831, 0.5276, 0.5568, 0.5846, 0.6199, 0.6417]),
    (50, [0.2663, 0.3095, 0.3456, 0.3872, 0.4156, 0.4581, 0.4959, 0.5419, 0.5737, 0.6024, 0.6394, 0.6633]),
    (100, [0.2738, 0.3174, 0.3541, 0.3974, 0.4269, 0.4718, 0.5108, 0.5583, 0.5905, 0.6223, 0.6601, 0.6886]),
    (200, [0.2796, 0.3242, 0.3621, 0.4065, 0.4363, 0.4811, 0.522, 0.5696, 0.6036, 0.6357, 0.6753, 0.7032]),
    (500, [0.2851, 0.3299, 0.3681, 0.4126, 0.4432, 0.4879, 0.5293, 0.5783, 0.6124, 0.6398, 0.6827, 0.7071]),
    (2000, [0.2893, 0.3348, 0.3736, 0.417, 0.448, 0.4944, 0.5365, 0.5851, 0.6206, 0.6553, 0.7004, 0.7327]),
    (10000, [0.2906, 0.3381, 0.3768, 0.4228, 0.4536, 0.5024, 0.5461, 0.5946, 0.6328, 0.6642, 0.6928, 0.7217]),
];

#[cfg(test)]
#[path = "modes_tests.rs"]
mod tests;
