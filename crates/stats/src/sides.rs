//! The values of one contrast, and their evidence before its family is considered.

use crate::StatsError;
use crate::estimate::{Estimate, log_ratios, paired, welch};
use crate::permutation::sign_flip;
use crate::summary::geometric_mean;
use crate::verdict::Better;

/// Fewest plots a side for a claim: with one, the effect of the plot cannot be separated from that of its set-up.
pub const PLOTS_MIN: u32 = 2;

/// With fewer units the sign-flip test cannot reach 0.05 (2/2⁵ is 0.0625).
pub(crate) const UNITS_FOR_SIGN_FLIP: u32 = 6;

/// The values of one contrast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sides<'a> {
    /// One run of each side in each block: `baseline[i]` and `candidate[i]` belong to block `i`. All blocks are on
    /// one plot, and their conclusions hold for that plot only.
    Blocks {
        /// One value per block.
        baseline: &'a [f64],
        /// One value per block.
        candidate: &'a [f64],
    },
    /// A factor that is hard to change: the runs of each plot. Equal numbers of plots pair by position, since plots
    /// come in blocks too; unequal ones do not.
    Plots {
        /// The runs of each plot.
        baseline: &'a [Vec<f64>],
        /// The runs of each plot.
        candidate: &'a [Vec<f64>],
    },
    /// A factor that is easy to change, on several plots: `baseline[i][j]` and `candidate[i][j]` are pair `j` on plot
    /// `i`. The effect of the factor may itself vary from plot to plot (their interaction), and pairs of one plot
    /// share that. So the unit is the plot's mean log ratio, however much its pairs agree.
    PairsOnPlots {
        /// The runs of each plot.
        baseline: &'a [Vec<f64>],
        /// The runs of each plot.
        candidate: &'a [Vec<f64>],
    },
    /// Unpaired samples of two sides, each of one run or of several. They are compared by Welch's test only.
    Apart {
        /// The runs of each sample.
        baseline: &'a [Vec<f64>],
        /// The runs of each sample.
        candidate: &'a [Vec<f64>],
    },
}

/// One contrast of a family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compared<'a> {
    pub sides: Sides<'a>,
    /// Direction in which the values improve.
    pub better: Better,
    /// Step of the values, see [`crate::counts::granularity`]; 0 if they are measured, not counted.
    pub granularity: f64,
}

impl<'a> Compared<'a> {
    /// Creates a contrast of measured values.
    pub const fn measured(sides: Sides<'a>, better: Better) -> Compared<'a> {
        Compared { sides, better, granularity: 0.0 }
    }
}

/// The unit of replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicationUnit {
    /// A block of two runs.
    Block,
    /// A plot of each side, or one that holds pairs of both.
    Plot,
    /// A run of each side, with no counterpart on the other.
    Run,
}

/// The evidence of one contrast, before its family is considered.
pub(crate) struct ContrastEvidence {
    pub(crate) unit: ReplicationUnit,
    pub(crate) units: u32,
    pub(crate) estimate: Option<Estimate>,
    pub(crate) p_sign_flip: Option<f64>,
    /// For pairs on plots: the mean ratio on just these plots, whose error comes from their pairs alone.
    pub(crate) on_these_plots: Option<Estimate>,
}

/// One value of each unit on each side, ordered so that a ratio above 1 is better for the candidate.
struct Turned {
    worse: Vec<f64>,
    better: Vec<f64>,
}

impl Turned {
    fn new(baseline: Vec<f64>, candidate: Vec<f64>, better: Better) -> Turned {
        match better {
            Better::Higher => Turned { worse: baseline, better: candidate },
            Better::Lower => Turned { worse: candidate, better: baseline },
        }
    }
}

impl ContrastEvidence {
    /// Errors: sides that do not pair, an empty plot, values not above 0.
    pub(crate) fn from_compared(compared: &Compared<'_>, seed: u64) -> Result<ContrastEvidence, StatsError> {
        let mut evidence = match compared.sides {
            Sides::Blocks { baseline, candidate } => {
                let turned = Turned::new(baseline.to_vec(), candidate.to_vec(), compared.better);
                ContrastEvidence::from_pairs(&turned, ReplicationUnit::Block, seed)?
            }
            Sides::Plots { baseline, candidate } => {
                let turned = Turned::new(means(baseline)?, means(candidate)?, compared.better);
                if turned.worse.len() == turned.better.len() {
                    ContrastEvidence::from_pairs(&turned, ReplicationUnit::Plot, seed)?
                } else {
                    ContrastEvidence::unpaired(&turned, ReplicationUnit::Plot)?
                }
            }
            Sides::Apart { baseline, candidate } => {
                let turned = Turned::new(means(baseline)?, means(candidate)?, compared.better);
                ContrastEvidence::unpaired(&turned, ReplicationUnit::Run)?
            }
            Sides::PairsOnPlots { baseline, candidate } => {
                let pairs: Vec<usize> = baseline.iter().map(Vec::len).collect();
                if pairs != candidate.iter().map(Vec::len).collect::<Vec<usize>>() {
                    let count = |side: &[Vec<f64>]| side.iter().map(Vec::len).sum();
                    return Err(StatsError::Unpaired { baseline: count(baseline), candidate: count(candidate) });
                }
                let turned = Turned::new(means(baseline)?, means(candidate)?, compared.better);
                let evidence = ContrastEvidence::from_pairs(&turned, ReplicationUnit::Plot, seed)?;
                ContrastEvidence {
                    on_these_plots: estimate_within_plots(baseline, candidate, compared.better)?,
                    ..evidence
                }
            }
        };
        let least = rounding_error(&compared.sides, compared.granularity);
        let widened = |estimate: Estimate| Estimate { log_error: estimate.log_error.max(least), ..estimate };
        evidence.estimate = evidence.estimate.map(widened);
        evidence.on_these_plots = evidence.on_these_plots.map(widened);
        Ok(evidence)
    }

    fn from_pairs(turned: &Turned, unit: ReplicationUnit, seed: u64) -> Result<ContrastEvidence, StatsError> {
        let differences = log_ratios(&turned.worse, &turned.better)?;
        let units = count(differences.len());
        if units < 2 {
            return Ok(ContrastEvidence { unit, units, estimate: None, p_sign_flip: None, on_these_plots: None });
        }
        let can_flip = unit == ReplicationUnit::Block || units >= UNITS_FOR_SIGN_FLIP;
        let p_sign_flip = if can_flip { Some(sign_flip(&differences, seed)?.p) } else { None };
        let estimate = Some(paired(&turned.worse, &turned.better)?);
        Ok(ContrastEvidence { unit, units, estimate, p_sign_flip, on_these_plots: None })
    }

    fn unpaired(Turned { worse, better }: &Turned, unit: ReplicationUnit) -> Result<ContrastEvidence, StatsError> {
        let units = worse.len().min(better.len());
        Ok(ContrastEvidence {
            unit,
            units: count(units),
            estimate: if units < 2 { None } else { Some(welch(worse, better)?) },
            p_sign_flip: None,
            on_these_plots: None,
        })
    }
}

/// Returns the geometric mean of each plot's runs.
fn means(plots: &[Vec<f64>]) -> Result<Vec<f64>, StatsError> {
    plots.iter().map(|runs| geometric_mean(runs)).collect()
}

/// Estimates the mean of the plots' mean log ratios, with the pooled error of the pairs on each plot: a statement
/// about these plots and no others (plots as fixed effects). `None` if no plot has two pairs.
fn estimate_within_plots(
    baseline: &[Vec<f64>],
    candidate: &[Vec<f64>],
    better: Better,
) -> Result<Option<Estimate>, StatsError> {
    let (mut sum, mut squares, mut freedom, mut inverse_pairs) = (0.0, 0.0, 0.0, 0.0);
    for (one, other) in baseline.iter().zip(candidate) {
        let ratios = log_ratios(one, other)?;
        let pairs = ratios.len() as f64;
        let mean = ratios.iter().sum::<f64>() / pairs;
        sum += mean;
        squares += ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>();
        freedom += pairs - 1.0;
        inverse_pairs += 1.0 / pairs;
    }
    if freedom < 1.0 {
        return Ok(None);
    }
    let plots = baseline.len() as f64;
    let log_mean = if better == Better::Higher { sum / plots } else { -sum / plots };
    let log_error = (squares / freedom * inverse_pairs).sqrt() / plots;
    Ok(Some(Estimate { log_mean, log_error, freedom }))
}

/// Returns the error of a mean log ratio that comes from counts being known only to half a step; 0 for a step of 0. A
/// few counts such as 8 and 9 may have no spread at all by chance, and then any difference looks certain. Yet each is
/// known only to ± ½, which is a variance of step²/12 (Sheppard, "On the calculation of the most probable values of
/// frequency-constants", Proceedings of the London Mathematical Society 29, 1898).
fn rounding_error(sides: &Sides<'_>, step: f64) -> f64 {
    if step <= 0.0 {
        return 0.0;
    }
    let of_value = |value: &f64| step * step / 12.0 / (value * value);
    let of_plots = |plots: &[Vec<f64>]| {
        let of_mean = |runs: &Vec<f64>| runs.iter().map(of_value).sum::<f64>() / (runs.len() as f64).powi(2);
        plots.iter().map(of_mean).sum::<f64>() / (plots.len() as f64).powi(2)
    };
    let of_blocks = |blocks: &[f64]| blocks.iter().map(of_value).sum::<f64>() / (blocks.len() as f64).powi(2);
    let variance = match sides {
        Sides::Blocks { baseline, candidate } => of_blocks(baseline) + of_blocks(candidate),
        Sides::Plots { baseline, candidate }
        | Sides::PairsOnPlots { baseline, candidate }
        | Sides::Apart { baseline, candidate } => of_plots(baseline) + of_plots(candidate),
    };
    variance.sqrt()
}

fn count(units: usize) -> u32 {
    u32::try_from(units).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "sides_tests.rs"]
mod tests;
