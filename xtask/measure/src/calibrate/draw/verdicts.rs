//! Verdicts on a study's family.

use super::super::scenario::Counted;
use super::super::trial::Outcome;
use super::noise::Noise;
use anyhow::{Context, Result, bail};
use plumb_stats::power::{PlannedFamily, claimable_ratio};
use plumb_stats::random::SplitMix;
use plumb_stats::{Assessment, Better, Compared, Family, ReplicationUnit, Sides, Verdict, VerdictRule, assess_family};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The truth about a drawn study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Truth {
    Equal,
    /// One number differs by exactly the amount that the plan promises to find in four of five studies; no other number
    /// differs.
    Promised,
    /// Like `Promised`, but the plan knows the spread only from a pilot with this many degrees of freedom. Each study
    /// has its own pilot.
    PromisedByPilot(u32),
}

/// The units of a drawn study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Design {
    Plots,
    /// Blocks with one run each.
    Blocks,
    /// Plots that contain pairs of runs.
    PairsOnPlots {
        pairs: u32,
        /// Spread of the effect between plots, relative to that of one run.
        interaction: f64,
    },
}

/// A study whose numbers are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Drawn {
    pub contrasts: u32,
    /// Number of units: plots or blocks.
    pub units: u32,
    pub design: Design,
    /// Spread of a unit on the natural log scale; for pairs on plots, of a run.
    pub spread: f64,
    pub noise: Noise,
    pub truth: Truth,
}

/// Probability with which a plan promises to find a difference.
const PROMISED: f64 = 0.8;

/// Draws a study, judges it, and returns each line's outcome.
pub(crate) fn run<'a>(drawn: &Drawn, seed: u64, counted: impl Iterator<Item = &'a Counted>) -> Result<Vec<Outcome>> {
    let found = study(drawn, seed)?;
    let is_claim = |one: &Assessment| matches!(one.verdict, Verdict::Faster(_) | Verdict::Slower(_));
    counted
        .map(|counted| {
            let hit = match counted {
                Counted::Claim => found.iter().any(is_claim),
                Counted::Slower => matches!(found[0].verdict, Verdict::Slower(_)),
                other => bail!("the verdicts of drawn numbers have no {other:?}"),
            };
            Ok(Outcome::from_hit(hit))
        })
        .collect()
}

/// Returns the verdicts of one drawn study.
pub(crate) fn study(drawn: &Drawn, seed: u64) -> Result<Vec<Assessment>> {
    let mut random = SplitMix::new(seed);
    let ratio = drawn.true_ratio(&mut random)?;
    let mut numbers = Vec::new();
    for contrast in 0..drawn.contrasts {
        let (baseline, mut candidate) = drawn.noise.sides(&mut random, drawn.spread, drawn.units, drawn.design);
        if contrast == 0 {
            candidate.iter_mut().flatten().for_each(|value| *value /= ratio);
        }
        numbers.push((baseline, candidate));
    }
    let as_blocks: Vec<(Vec<f64>, Vec<f64>)> = numbers.iter().map(|(a, b)| (first(a), first(b))).collect();
    let compared: Vec<Compared<'_>> = numbers
        .iter()
        .zip(&as_blocks)
        .map(|((one, other), (baseline, candidate))| {
            let sides = match drawn.design {
                Design::Plots => Sides::Plots { baseline: one, candidate: other },
                Design::PairsOnPlots { .. } => Sides::PairsOnPlots { baseline: one, candidate: other },
                Design::Blocks => Sides::Blocks { baseline, candidate },
            };
            Compared::measured(sides, Better::Higher)
        })
        .collect();
    Ok(assess_family(&compared, &VerdictRule::default(), Family::Holm)?)
}

/// Returns the first run of each unit.
fn first(units: &[Vec<f64>]) -> Vec<f64> {
    units.iter().filter_map(|runs| runs.first().copied()).collect()
}

impl Drawn {
    /// Returns the ratio by which the baseline of the first number is faster.
    fn true_ratio(&self, random: &mut SplitMix) -> Result<f64> {
        match self.truth {
            Truth::Equal => Ok(1.0),
            Truth::Promised => self.promised(),
            // The promised difference grows with the spread that the pilot saw: the margin of equivalence is far below
            // it.
            Truth::PromisedByPilot(freedom) => {
                let chi_squared: f64 = (0..freedom).map(|_| random.normal().powi(2)).sum();
                Ok(self.promised()?.powf((chi_squared / f64::from(freedom)).sqrt()))
            }
        }
    }

    /// Returns the ratio that a plan of this family promises to find, computed once for each.
    fn promised(&self) -> Result<f64> {
        static KNOWN: Mutex<BTreeMap<String, f64>> = Mutex::new(BTreeMap::new());
        let key = format!("{self:?}");
        if let Some(known) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(*known);
        }
        let (unit, variance) = match self.design {
            Design::Plots => (ReplicationUnit::Plot, 2.0),
            Design::Blocks => (ReplicationUnit::Block, 2.0),
            Design::PairsOnPlots { pairs, interaction } => {
                (ReplicationUnit::Plot, interaction * interaction + 2.0 / f64::from(pairs))
            }
        };
        let planned = PlannedFamily {
            units: self.units,
            unit,
            spread: self.spread * variance.sqrt(),
            spread_freedom: match self.truth {
                Truth::PromisedByPilot(freedom) => Some(freedom),
                Truth::Equal | Truth::Promised => None,
            },
            verdicts: self.contrasts,
        };
        let ratio =
            claimable_ratio(planned, &VerdictRule::default(), PROMISED)?.context("this family promises nothing")?;
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(key, ratio);
        Ok(ratio)
    }
}
