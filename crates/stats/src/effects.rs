//! Effects of factors and their interactions, as contrasts of logarithms, from designs that need not be balanced.
//!
//! A *plot* is a system provisioned once (one mkfs, one array, one boot). All its runs have one combination of
//! levels of the factors that are hard to change (`whole`). Each combination of the easy ones (`sub`) has a
//! value, or none. For each contrast, a plot gives one number: its values weighted over the easy factors. The
//! contrast is the weighted mean of these numbers over the hard factors. Its error is the spread of the numbers
//! between plots of one combination, pooled.
//!
//! So a hard factor is compared with the spread between plots. An easy factor, or an interaction, is compared with
//! the variation of its own effect from plot to plot. Nothing is assumed about the correlation of values within a
//! plot, and cells may have different numbers of plots.
//!
//! Source: Kuehl, "Design of experiments", 2nd ed., 2000, chapter 14 (split plots), with each contrast's own error as
//! in Boik, "A priori tests in repeated measures designs", Psychometrika 46, 1981; unweighted means of cells as in
//! Searle, "Linear models for unbalanced data", 1987, chapter 4.

use crate::StatsError;
use crate::estimate::Estimate;

/// Results of one plot.
#[derive(Debug, Clone, PartialEq)]
pub struct PlotValues {
    /// Number of its combination of levels of the hard factors.
    pub whole: usize,
    /// Logarithm of its value for each combination of levels of the easy factors; `None` if no run counts.
    pub logs: Vec<Option<f64>>,
}

/// The reason why a contrast has no estimate.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NotEstimable {
    /// A combination of levels that the contrast needs has no plot with all values.
    #[error("a combination of levels has no value")]
    EmptyCell {
        /// Number of the combination of the hard factors.
        whole: usize,
    },
    /// No combination has two plots, so there is no error to compare with.
    #[error("no combination of levels has two plots")]
    NoReplicates {
        /// The contrast itself, a logarithm.
        log_mean: f64,
    },
    /// The values are not finite, or the weights do not belong to this design.
    #[error(transparent)]
    Input(#[from] BadInput),
}

/// Weights or values that do not belong to one design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("weights and values of different designs, or values that are no numbers")]
pub struct BadInput;

/// Estimates a contrast of logarithms: `Σ whole[h] · sub[e] · mean of cell (h, e)`. With weights that sum to 0 it is
/// the logarithm of a ratio.
///
/// # Errors
/// See [`NotEstimable`].
pub fn contrast(plots: &[PlotValues], whole: &[f64], sub: &[f64]) -> Result<Estimate, NotEstimable> {
    let fits = |plot: &PlotValues| plot.whole < whole.len() && plot.logs.len() == sub.len();
    let is_number = |value: &Option<f64>| value.is_none_or(f64::is_finite);
    if !plots.iter().all(|plot| fits(plot) && plot.logs.iter().all(is_number)) {
        return Err(BadInput.into());
    }
    let mut of_whole: Vec<Vec<f64>> = vec![Vec::new(); whole.len()];
    for plot in plots {
        let needed = sub.iter().zip(&plot.logs).filter(|(weight, _)| **weight != 0.0);
        let weighted: Option<Vec<f64>> = needed.map(|(weight, log)| Some(weight * (*log)?)).collect();
        if let Some(weighted) = weighted {
            of_whole[plot.whole].push(weighted.iter().sum());
        }
    }
    let (mut log_mean, mut squares, mut freedom) = (0.0, 0.0, 0.0);
    for (at, values) in of_whole.iter().enumerate() {
        if values.is_empty() {
            if whole[at] != 0.0 {
                return Err(NotEstimable::EmptyCell { whole: at });
            }
            continue;
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        log_mean += whole[at] * mean;
        squares += values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        freedom += values.len() as f64 - 1.0;
    }
    if freedom < 1.0 {
        return Err(NotEstimable::NoReplicates { log_mean });
    }
    let shares = whole.iter().zip(&of_whole).filter(|(weight, _)| **weight != 0.0);
    let share: f64 = shares.map(|(weight, values)| weight * weight / values.len() as f64).sum();
    Ok(Estimate { log_mean, log_error: (squares / freedom * share).sqrt(), freedom })
}

/// Shares of the variation that terms explain, by the unweighted means of the cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    /// Share of each requested subset of factors, 0 to 1, in their order.
    pub terms: Vec<f64>,
    /// Remaining share between the cells: interactions that were not requested.
    pub rest: f64,
    /// Share of the differences between plots of one cell.
    pub error: f64,
}

/// Computes the shares of variation of terms: subsets of the factors, bit i for factor i. `levels` are
/// the numbers of levels of the factors. `cells` hold the logarithms of each cell's plots; in their
/// order, the first factor varies slowest.
///
/// # Errors
/// A cell has no value, or the cells do not match the factors.
pub fn shares(levels: &[usize], cells: &[Vec<f64>], terms: &[u32]) -> Result<Shares, StatsError> {
    let count: usize = levels.iter().product();
    if cells.len() != count || count == 0 {
        let allowed = "one cell for each combination of levels";
        return Err(StatsError::Setting { name: "cells", value: cells.len() as f64, allowed });
    }
    if cells.iter().any(Vec::is_empty) {
        return Err(StatsError::TooFew { needed: 1, found: 0 });
    }
    let means: Vec<f64> = cells.iter().map(|cell| cell.iter().sum::<f64>() / cell.len() as f64).collect();
    let plots = count as f64 / cells.iter().map(|cell| 1.0 / cell.len() as f64).sum::<f64>();
    let total_mean = means.iter().sum::<f64>() / count as f64;
    // Squares of a term: those of the means over all other factors, less those of its own smaller terms.
    let marginal = |term: u32| -> f64 {
        let mut sums: std::collections::BTreeMap<Vec<usize>, (f64, f64)> = std::collections::BTreeMap::new();
        for (cell, mean) in means.iter().enumerate() {
            let mut rest = cell;
            let mut places = vec![0; levels.len()];
            for (place, count) in places.iter_mut().zip(levels).rev() {
                *place = rest % count;
                rest /= count;
            }
            let kept = places.iter().enumerate().filter(|(factor, _)| term & (1 << factor) != 0);
            let entry = sums.entry(kept.map(|(_, place)| *place).collect()).or_default();
            *entry = (entry.0 + mean, entry.1 + 1.0);
        }
        sums.values().map(|(sum, cells)| cells * (sum / cells - total_mean).powi(2)).sum()
    };
    // Inclusion and exclusion over the subsets of a term.
    let squares = |term: u32| -> f64 {
        let mut subset = term;
        let mut sum = 0.0;
        loop {
            let sign = if (term.count_ones() - subset.count_ones()).is_multiple_of(2) { 1.0 } else { -1.0 };
            sum += sign * marginal(subset);
            if subset == 0 {
                break sum.max(0.0);
            }
            subset = (subset - 1) & term;
        }
    };
    let of_terms: Vec<f64> = terms.iter().map(|term| plots * squares(*term)).collect();
    let between: f64 = plots * means.iter().map(|mean| (mean - total_mean).powi(2)).sum::<f64>();
    let error: f64 =
        cells.iter().zip(&means).flat_map(|(cell, mean)| cell.iter().map(move |log| (log - mean).powi(2))).sum();
    let total = between + error;
    let share = |part: f64| if total > 0.0 { part / total } else { 0.0 };
    let rest = (between - of_terms.iter().sum::<f64>()).max(0.0);
    Ok(Shares { terms: of_terms.into_iter().map(share).collect(), rest: share(rest), error: share(error) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} is not {expected}");
    }

    fn plot(whole: usize, logs: &[f64]) -> PlotValues {
        PlotValues { whole, logs: logs.iter().map(|log| Some(*log)).collect() }
    }

    // Jain, "The art of computer systems performance analysis", 1991, example 18.1 to 18.5:
    // memory and cache, three runs.
    const JAIN: [[f64; 3]; 4] = [[15.0, 18.0, 12.0], [25.0, 28.0, 19.0], [45.0, 48.0, 51.0], [75.0, 75.0, 81.0]];

    #[test]
    fn effects_of_two_hard_factors_are_those_of_jain() {
        let plots: Vec<PlotValues> = JAIN
            .iter()
            .enumerate()
            .flat_map(|(whole, runs)| runs.iter().map(move |run| plot(whole, &[*run])))
            .collect();
        // From the low to the high level is twice his effect; his standard deviation of an effect is 1.03,
        // with 8 degrees of freedom.
        for (weights, effect) in
            [([-0.5, -0.5, 0.5, 0.5], 21.5), ([-0.5, 0.5, -0.5, 0.5], 9.5), ([0.5, -0.5, -0.5, 0.5], 5.0)]
        {
            let found = contrast(&plots, &weights, &[1.0]).unwrap();
            assert_close(found.log_mean, 2.0 * effect);
            assert_close(found.log_error, 2.0 * (102.0f64 / 8.0 / 12.0).sqrt());
            assert_close(found.freedom, 8.0);
        }
        // 2 * pt(-9.5 / sqrt(102 / 96), 8) in R
        assert_close(contrast(&plots, &[-0.5, 0.5, -0.5, 0.5], &[1.0]).unwrap().p(), 1.5556600125413703e-05);
    }

    #[test]
    fn shares_are_those_of_jain() {
        let cells: Vec<Vec<f64>> = JAIN.iter().map(|runs| runs.to_vec()).collect();
        let found = shares(&[2, 2], &cells, &[0b01, 0b10, 0b11]).unwrap();
        for (share, squares) in found.terms.iter().zip([5547.0, 1083.0, 300.0]) {
            assert_close(*share, squares / 7032.0);
        }
        assert_close(found.error, 102.0 / 7032.0);
        assert!(found.rest.abs() < 1e-12);
        let main_only = shares(&[2, 2], &cells, &[0b01, 0b10]).unwrap();
        assert_close(main_only.rest, 300.0 / 7032.0);
    }

    // Protects: the error of an easy factor is the variation of its effect between plots, not that of
    // the runs of all plots.
    #[test]
    fn an_easy_factor_has_the_plots_as_units() {
        let plots = [plot(0, &[1.0, 1.3]), plot(0, &[5.0, 5.1]), plot(1, &[2.0, 2.4]), plot(1, &[9.0, 9.2])];
        let found = contrast(&plots, &[0.5, 0.5], &[-1.0, 1.0]).unwrap();
        // Differences 0.3, 0.1 | 0.4, 0.2: mean 0.25, pooled variance 0.02, on 2 degrees of freedom.
        assert_close(found.log_mean, 0.25);
        assert_close(found.log_error, (0.02f64 * (0.25 / 2.0 + 0.25 / 2.0)).sqrt());
        assert_close(found.freedom, 2.0);
        // Interaction with the hard factor: (0.3 − 0.2).
        assert_close(contrast(&plots, &[-1.0, 1.0], &[-1.0, 1.0]).unwrap().log_mean, 0.1);
    }

    #[test]
    fn unbalanced_cells_are_used_and_empty_ones_are_named() {
        let mut plots = vec![plot(0, &[1.0, 2.0]), plot(0, &[1.2, 2.1]), plot(0, &[0.9, 2.2]), plot(1, &[3.0, 4.5])];
        plots[2].logs[1] = None;
        let hard = contrast(&plots, &[-1.0, 1.0], &[0.5, 0.5]).unwrap();
        assert_close(hard.log_mean, 3.75 - (1.5 + 1.65) / 2.0);
        assert_close(hard.freedom, 1.0);
        // A contrast at the low level of the easy factor needs no value at the high one.
        assert_close(contrast(&plots, &[-1.0, 1.0], &[1.0, 0.0]).unwrap().freedom, 2.0);
        plots[3].logs[0] = None;
        assert_eq!(contrast(&plots, &[-1.0, 1.0], &[0.5, 0.5]), Err(NotEstimable::EmptyCell { whole: 1 }));
        let single = [plot(0, &[1.0]), plot(1, &[3.0])];
        assert_eq!(contrast(&single, &[-1.0, 1.0], &[1.0]), Err(NotEstimable::NoReplicates { log_mean: 2.0 }));
        assert_eq!(contrast(&single, &[-1.0, 1.0], &[1.0, 0.0]), Err(BadInput.into()));
        assert_eq!(contrast(&[plot(0, &[f64::NAN])], &[1.0], &[1.0]), Err(BadInput.into()));
        assert!(shares(&[2], &[vec![1.0], vec![]], &[1]).is_err());
        assert!(shares(&[3], &[vec![1.0], vec![2.0]], &[1]).is_err());
    }

    proptest! {
        #[test]
        fn shares_sum_to_1(values in prop::collection::vec(0.0..3.0f64, 24), drop in 0_usize..12) {
            let mut cells: Vec<Vec<f64>> = values.chunks(2).map(<[f64]>::to_vec).collect();
            cells[drop].pop();
            let found = shares(&[3, 2, 2], &cells, &[1, 2, 4, 3, 5, 6]).unwrap();
            let sum = found.terms.iter().sum::<f64>() + found.rest + found.error;
            prop_assert!((sum - 1.0).abs() < 1e-9, "{found:?}");
        }

        // Shifting a whole plot does not affect the easy factors.
        #[test]
        fn the_level_of_a_plot_cancels_in_easy_contrasts(logs in prop::collection::vec(0.0..3.0f64, 8), shift in -9.0..9.0f64) {
            let plots = |shift: f64| -> Vec<PlotValues> {
                let of = |(at, pair): (usize, &[f64])| {
                    let shift = if at == 1 { shift } else { 0.0 };
                    plot(at % 2, &[pair[0] + shift, pair[1] + shift])
                };
                logs.chunks(2).enumerate().map(of).collect()
            };
            let [one, other] = [0.0, shift].map(|shift| contrast(&plots(shift), &[0.5, 0.5], &[-1.0, 1.0]).unwrap());
            prop_assert!((one.log_mean - other.log_mean).abs() < 1e-9 && (one.log_error - other.log_error).abs() < 1e-9);
        }
    }
}
