//! Splits the spread into components between plots and between runs, and plans the number of runs per plot from them.

use crate::StatsError;
use crate::estimate::f_above;
use crate::summary::{Moments, logs};

/// One level of a nested design.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NestedLevel {
    /// Degrees of freedom.
    pub freedom: f64,
    /// Mean square.
    pub mean_square: f64,
    /// Variance of the logarithms that this level adds; never below 0, although the method of moments may give less.
    pub variance: f64,
    /// Its share of the variance of one value, 0 to 1.
    pub share: f64,
    /// p of the F test against the level below, under the hypothesis that this level adds
    /// nothing; `None` for the lowest.
    pub p: Option<f64>,
}

/// Variance between plots, and between runs of one plot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlotsAndRuns {
    /// Level of the plots.
    pub plots: NestedLevel,
    /// Level of the runs within a plot.
    pub runs: NestedLevel,
}

/// Estimates variance components of runs within plots, by the method of moments of a balanced nested analysis of
/// variance, on logarithms. Needs at least two plots of at least two runs each, all with the same number of runs.
///
/// Source: Searle, Casella and McCulloch, "Variance components", 1992, §3.5; Kalibera and Jones, "Rigorous
/// benchmarking in reasonable time", ISMM 2013, §7.
pub fn plots_and_runs(plots: &[Vec<f64>]) -> Result<PlotsAndRuns, StatsError> {
    plots_and_runs_of_cells(&[plots.to_vec()])
}

/// Estimates the components of several cells of a design together; `cells[i][j]` are the runs of plot `j` of
/// cell `i`. Each cell is compared with its own mean, and the squares of all cells are pooled over their
/// degrees of freedom. Cells may have different numbers of plots, at least two. All plots have the same number
/// of runs, at least two.
pub fn plots_and_runs_of_cells(cells: &[Vec<Vec<f64>>]) -> Result<PlotsAndRuns, StatsError> {
    let size = balanced(cells.iter().flatten().map(Vec::len))?;
    let (mut within, mut top) = (Pooled { mean_square: 0.0, freedom: 0.0 }, Pooled { mean_square: 0.0, freedom: 0.0 });
    for plots in cells {
        let plots: Vec<Vec<f64>> = plots.iter().map(|runs| logs(runs)).collect::<Result<_, _>>()?;
        balanced(plots.iter().map(Vec::len))?;
        let means: Vec<f64> = plots.iter().map(|runs| mean(runs)).collect();
        within = within.with(Pooled::from_groups(plots.iter())?);
        top = top.with(Pooled {
            mean_square: Moments::from_values(&means)?.variance * size,
            freedom: means.len() as f64 - 1.0,
        });
    }
    let [plots, runs] = levels([(top, size), (within, 1.0)]);
    Ok(PlotsAndRuns { plots, runs })
}

/// Costs of a further plot and a further run, in the same unit: seconds, or bytes written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FurtherCost {
    /// Cost of a plot without its runs.
    pub plot: f64,
    /// A run.
    pub run: f64,
}

/// Returns the number of runs per plot that gives the narrowest interval for its cost: √(cost ratio × variance
/// ratio), at least 1, rounded up. `None` if plots add no variance: then one plot with all the runs is best, which
/// only data of several plots can show.
///
/// Source: Kalibera and Jones, ISMM 2013, §8.1; Cochran, "Sampling techniques", 1977, §10.6.
///
/// Errors: a cost that is not above 0.
pub fn runs_per_plot(components: &PlotsAndRuns, cost: FurtherCost) -> Result<Option<u32>, StatsError> {
    for (name, value) in [("cost of a plot", cost.plot), ("cost of a run", cost.run)] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(StatsError::Setting { name, value, allowed: "the numbers above 0" });
        }
    }
    if components.plots.variance == 0.0 {
        return Ok(None);
    }
    let best = (cost.plot / cost.run * components.runs.variance / components.plots.variance).sqrt();
    Ok(Some(best.ceil().max(1.0) as u32))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the common size of all groups; there must be at least two groups of at least two.
fn balanced(sizes: impl Iterator<Item = usize> + Clone) -> Result<f64, StatsError> {
    let groups = sizes.clone().count();
    let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
    if groups < 2 || least < 2 {
        return Err(StatsError::TooFew { needed: 2, found: groups.min(least) });
    }
    if least != most {
        return Err(StatsError::Unbalanced { least, most });
    }
    Ok(least as f64)
}

#[derive(Clone, Copy)]
struct Pooled {
    mean_square: f64,
    freedom: f64,
}

impl Pooled {
    /// Computes the variance within groups of equal size.
    fn from_groups<'a>(groups: impl Iterator<Item = &'a Vec<f64>>) -> Result<Pooled, StatsError> {
        let (mut sum, mut groups_seen, mut freedom) = (0.0, 0.0, 0.0);
        for group in groups {
            sum += Moments::from_values(group)?.variance;
            groups_seen += 1.0;
            freedom += group.len() as f64 - 1.0;
        }
        Ok(Pooled { mean_square: sum / groups_seen, freedom })
    }

    /// Pools two variances, weighted by their degrees of freedom.
    fn with(self, other: Pooled) -> Pooled {
        let freedom = self.freedom + other.freedom;
        let squares = self.mean_square * self.freedom + other.mean_square * other.freedom;
        Pooled { mean_square: if freedom > 0.0 { squares / freedom } else { 0.0 }, freedom }
    }
}

/// Computes components from mean squares, highest level first, each with the number of values under one of its units.
/// A component is the excess of a level's mean square over that of the next level, per value.
fn levels<const N: usize>(squares: [(Pooled, f64); N]) -> [NestedLevel; N] {
    let variances: [f64; N] = std::array::from_fn(|i| {
        let below = squares.get(i + 1).map_or(0.0, |(next, _)| next.mean_square);
        ((squares[i].0.mean_square - below) / squares[i].1).max(0.0)
    });
    let total: f64 = variances.iter().sum();
    std::array::from_fn(|i| {
        let Pooled { mean_square, freedom } = squares[i].0;
        NestedLevel {
            freedom,
            mean_square,
            variance: variances[i],
            share: if total > 0.0 { variances[i] / total } else { 0.0 },
            p: squares.get(i + 1).map(|(next, _)| f_above(mean_square, next.mean_square, freedom, next.freedom)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;
    use proptest::prelude::*;

    fn assert_close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn components_agree_with_r() {
        let plots =
            [vec![102.0, 105.0, 101.0], vec![95.0, 97.0, 94.0], vec![110.0, 108.0, 113.0], vec![99.0, 101.0, 100.0]];
        let found = plots_and_runs(&plots).unwrap();
        // R: summary(aov(log(y) ~ factor(plot))): mean squares and Pr(>F); (MS1 − MS2) / 3
        assert_close(found.plots.mean_square, 0.01115295596224296);
        assert_close(found.runs.mean_square, 0.00032032505375794216);
        assert_close(found.plots.p.unwrap(), 6.121336728242211e-05);
        assert_close(found.plots.variance, (0.01115295596224296 - 0.00032032505375794216) / 3.0);
        assert_eq!((found.plots.freedom, found.runs.freedom, found.runs.p), (3.0, 8.0, None));
        assert_close(found.plots.share + found.runs.share, 1.0);
    }

    /// Protects: differences between cells do not count as spread of their plots.
    #[test]
    fn cells_are_compared_with_their_own_means() {
        let one = vec![vec![102.0, 105.0], vec![95.0, 97.0], vec![110.0, 108.0]];
        let other: Vec<Vec<f64>> = one.iter().map(|runs| runs.iter().map(|run| run * 7.0).collect()).collect();
        let alone = plots_and_runs(&one).unwrap();
        let both = plots_and_runs_of_cells(&[one, other]).unwrap();
        assert_close(both.plots.variance, alone.plots.variance);
        assert_close(both.runs.variance, alone.runs.variance);
        assert_eq!((both.plots.freedom, both.runs.freedom), (4.0, 6.0));
        assert!(plots_and_runs_of_cells(&[]).is_err());
    }

    #[test]
    fn provisionings_that_differ_are_seen_in_the_components() {
        let mut noise = SplitMix::new(6);
        let plots: Vec<Vec<f64>> = (0..200)
            .map(|_| {
                let plot = 0.06 * noise.normal();
                (0..3).map(|_| (plot + 0.02 * noise.normal()).exp()).collect()
            })
            .collect();
        let found = plots_and_runs(&plots).unwrap();
        assert!((0.85..0.95).contains(&found.plots.share), "{found:?}");
        // A plot that costs nine runs and has nine times their variance needs one run: √(9 / 9).
        let nine = PlotsAndRuns {
            plots: NestedLevel { variance: 9.0, ..found.plots },
            runs: NestedLevel { variance: 1.0, ..found.runs },
        };
        assert_eq!(runs_per_plot(&nine, FurtherCost { plot: 9.0, run: 1.0 }).unwrap(), Some(1));
        assert_eq!(runs_per_plot(&nine, FurtherCost { plot: 144.0, run: 1.0 }).unwrap(), Some(4));
        assert!(runs_per_plot(&nine, FurtherCost { plot: 0.0, run: 1.0 }).is_err());
    }

    #[test]
    fn plots_that_add_nothing_have_no_variance_and_unbalanced_ones_are_refused() {
        let same = plots_and_runs(&[vec![100.0, 110.0], vec![110.0, 100.0], vec![100.0, 110.0]]).unwrap();
        assert_eq!((same.plots.variance, same.plots.share), (0.0, 0.0));
        assert_eq!(runs_per_plot(&same, FurtherCost { plot: 1.0, run: 1.0 }).unwrap(), None);
        assert!(matches!(plots_and_runs(&[vec![1.0, 2.0], vec![1.0, 2.0, 3.0]]), Err(StatsError::Unbalanced { .. })));
        assert!(plots_and_runs(&[vec![1.0, 2.0]]).is_err());
        assert!(plots_and_runs(&[vec![1.0], vec![2.0]]).is_err());
        assert_eq!(plots_and_runs(&[vec![5.0, 5.0], vec![5.0, 5.0]]).unwrap().plots.p, Some(1.0));
    }

    proptest! {
        #[test]
        fn unit_and_order_do_not_matter(values in prop::collection::vec(1.0..3.0f64, 12), scale in 1e-3..1e6f64) {
            let plots: Vec<Vec<f64>> = values.chunks(3).map(<[f64]>::to_vec).collect();
            let other: Vec<Vec<f64>> =
                values.chunks(3).rev().map(|runs| runs.iter().rev().map(|run| run * scale).collect()).collect();
            let (a, b) = (plots_and_runs(&plots).unwrap(), plots_and_runs(&other).unwrap());
            prop_assert!((a.plots.variance - b.plots.variance).abs() < 1e-9);
            prop_assert!((a.runs.variance - b.runs.variance).abs() < 1e-9);
            prop_assert!(a.plots.share >= 0.0 && a.plots.share <= 1.0);
        }
    }
}
