//! Analysis of variance of a split-plot design: a factor that needs a new provisioning is held against the spread between
//! provisionings, a factor that changes within one against the spread within.
//!
//! Source: Montgomery, "Design and analysis of experiments", §14.4; Yates, "Complex experiments", 1935; the error strata
//! are those of R's `aov(y ~ A * B + Error(plot))`.

use crate::StatsError;
use crate::estimate::f_above;
use crate::summary::logs;

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnovaLine {
    /// Degrees of freedom.
    pub freedom: f64,
    /// Sum of squares, of logarithms.
    pub squares: f64,
    /// Its share of all variation, 0 to 1.
    pub share: f64,
}

impl AnovaLine {
    /// Sum of squares over degrees of freedom.
    pub fn mean_square(&self) -> f64 {
        self.squares / self.freedom
    }
}

/// A line that is tested, against the error of its stratum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// The line.
    pub line: AnovaLine,
    /// F against the error of the stratum.
    pub f: f64,
    /// p that there is no such effect.
    pub p: f64,
}

/// Outcome of [`split_plot`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitPlot {
    /// The hard factor, against the plots.
    pub whole: Effect,
    /// Spread between plots of one level of the hard factor: the error of the upper stratum.
    pub plots: AnovaLine,
    /// The easy factor, against the error within plots.
    pub sub: Effect,
    /// Hard and easy factor together, against the error within plots.
    pub interaction: Effect,
    /// Spread within plots: the error of the lower stratum.
    pub within: AnovaLine,
}

/// The table of a balanced design: `values[a][plot][b]` is the value of level `b` of the easy factor on that plot of level
/// `a` of the hard factor; several runs of one such cell come as their geometric mean. At least two levels of each factor,
/// and two plots for each level of the hard one. On logarithms.
///
/// Errors: too few of anything, unequal numbers, a value not above 0.
pub fn split_plot(values: &[Vec<Vec<f64>>]) -> Result<SplitPlot, StatsError> {
    let logs: Vec<Vec<Vec<f64>>> = values
        .iter()
        .map(|plots| plots.iter().map(|cells| logs(cells)).collect::<Result<_, _>>())
        .collect::<Result<_, _>>()?;
    let plots_each = balanced(logs.iter().map(Vec::len))?;
    let subs = balanced(logs.iter().flatten().map(Vec::len))?;
    balanced([logs.len(); 2].into_iter())?;
    let (a, r, b) = (logs.len() as f64, plots_each as f64, subs as f64);

    let plot_means: Vec<Vec<f64>> = logs.iter().map(|plots| plots.iter().map(|cells| mean(cells)).collect()).collect();
    let whole_means: Vec<f64> = plot_means.iter().map(|plots| mean(plots)).collect();
    let grand = mean(&whole_means);
    let sub_mean = |level: usize| logs.iter().flatten().map(|cells| cells[level]).sum::<f64>() / (a * r);
    let cell_mean = |whole: usize, level: usize| logs[whole].iter().map(|cells| cells[level]).sum::<f64>() / r;

    let square = |value: f64| value * value;
    let whole: f64 = whole_means.iter().map(|mean| r * b * square(mean - grand)).sum();
    let plots: f64 = plot_means
        .iter()
        .zip(&whole_means)
        .flat_map(|(plots, whole)| plots.iter().map(move |plot| b * square(plot - whole)))
        .sum();
    let sub: f64 = (0..subs).map(|level| a * r * square(sub_mean(level) - grand)).sum();
    let mut interaction = 0.0;
    let mut within = 0.0;
    for (i, whole_mean) in whole_means.iter().enumerate() {
        for level in 0..subs {
            let cell = cell_mean(i, level);
            interaction += r * square(cell - whole_mean - sub_mean(level) + grand);
            for (plot, plot_mean) in logs[i].iter().zip(&plot_means[i]) {
                within += square(plot[level] - plot_mean - cell + whole_mean);
            }
        }
    }
    let total = whole + plots + sub + interaction + within;
    // What rounding leaves where nothing varies is no variation.
    let line = |squares: f64, freedom: f64| AnovaLine {
        freedom,
        squares: if squares < 1e-24 * (1.0 + grand * grand) { 0.0 } else { squares },
        share: if total > 0.0 { squares / total } else { 0.0 },
    };
    let effect = |line: AnovaLine, error: AnovaLine| Effect {
        line,
        f: line.mean_square() / error.mean_square(),
        p: f_above(line.mean_square(), error.mean_square(), line.freedom, error.freedom),
    };
    let plots = line(plots, a * (r - 1.0));
    let within = line(within, a * (r - 1.0) * (b - 1.0));
    Ok(SplitPlot {
        whole: effect(line(whole, a - 1.0), plots),
        plots,
        sub: effect(line(sub, b - 1.0), within),
        interaction: effect(line(interaction, (a - 1.0) * (b - 1.0)), within),
        within,
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The number that all groups have, at least two.
fn balanced(sizes: impl Iterator<Item = usize> + Clone) -> Result<usize, StatsError> {
    let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
    if least < 2 {
        return Err(StatsError::TooFew { needed: 2, found: least });
    }
    if least != most {
        return Err(StatsError::Unbalanced { least, most });
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;
    use proptest::prelude::*;

    fn assert_close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-8, "{found} is not {expected}");
    }

    #[test]
    fn the_table_agrees_with_r() {
        let values: Vec<Vec<Vec<f64>>> = (0..2)
            .map(|a| {
                (0..3)
                    .map(|p| {
                        (0..4)
                            .map(|b| {
                                100.0
                                    + f64::from(
                                        12 * a + (a * 5 + p * 7) % 6 + 4 * b + a * b + (a * 3 + p * 5 + b * b * 2) % 7,
                                    )
                            })
                            .collect()
                    })
                    .collect()
            })
            .collect();
        let table = split_plot(&values).unwrap();
        // R: summary(aov(log(y) ~ A * B + Error(plot))) with A, B, plot as factors: sums of squares, Pr(>F)
        assert_close(table.whole.line.squares, 0.09332190068891622);
        assert_close(table.plots.squares, 0.006297570023717736);
        assert_close(table.sub.line.squares, 0.04110907294427009);
        assert_close(table.interaction.line.squares, 0.0004399580770849198);
        assert_close(table.within.squares, 0.006244103503198054);
        assert_close(table.whole.p, 0.0015313620492451699);
        assert_close(table.sub.p, 1.4518401049117285e-05);
        assert_close(table.interaction.p, 0.8375277720891463);
        assert_eq!((table.plots.freedom, table.within.freedom), (4.0, 12.0));
    }

    #[test]
    fn what_a_provisioning_does_is_not_taken_for_the_hard_factor() {
        let mut noise = SplitMix::new(2);
        let called = (0..1000).filter(|_| {
            let values: Vec<Vec<Vec<f64>>> = (0..2)
                .map(|_| {
                    (0..4)
                        .map(|_| {
                            let plot = 0.06 * noise.normal();
                            (0..3).map(|_| (plot + 0.02 * noise.normal()).exp()).collect()
                        })
                        .collect()
                })
                .collect();
            split_plot(&values).unwrap().whole.p < 0.05
        });
        let called = called.count();
        assert!((25..=75).contains(&called), "{called} of 1000");
    }

    #[test]
    fn designs_that_cannot_be_analysed_say_why() {
        let level = |plots: usize, subs: usize| vec![vec![5.0; subs]; plots];
        assert!(matches!(split_plot(&[level(2, 2), level(3, 2)]), Err(StatsError::Unbalanced { least: 2, most: 3 })));
        assert!(split_plot(&[level(1, 2), level(1, 2)]).is_err());
        assert!(split_plot(&[level(2, 1), level(2, 1)]).is_err());
        assert!(split_plot(&[level(2, 2)]).is_err());
        assert_eq!(split_plot(&[level(2, 2), level(2, 2)]).unwrap().whole.p, 1.0);
    }

    proptest! {
        #[test]
        fn shares_sum_to_1(values in prop::collection::vec(1.0..3.0f64, 12)) {
            let design: Vec<Vec<Vec<f64>>> =
                values.chunks(6).map(|level| level.chunks(2).map(<[f64]>::to_vec).collect()).collect();
            let table = split_plot(&design).unwrap();
            let lines = [table.whole.line, table.plots, table.sub.line, table.interaction.line, table.within];
            prop_assert!((lines.iter().map(|line| line.share).sum::<f64>() - 1.0).abs() < 1e-9);
            let freedom: f64 = lines.iter().map(|line| line.freedom).sum();
            prop_assert_eq!(freedom, 11.0);
        }
    }
}
