//! The decision of a gate: whether a candidate is worse than its baseline, or not worse by more than a margin.
//!
//! Both are one-sided questions, and each look at the data may answer them wrongly. The looks are planned in advance
//! by the number of units, independent of the data, and share the level equally. By Bonferroni's inequality the
//! chance of a wrong answer at any of them is below the level, however they depend on each other. docs/gate.md has
//! the resulting error rates on simulated and on real storage.

mod history;
mod looks;
mod needed;
mod sessions;

pub use history::{HistoryEvidence, NumberHistory, of_histories};
pub use looks::Looks;
pub use sessions::{SESSIONS_MIN, SessionSides};

use crate::StatsError;
use crate::correct::holm;
use crate::equivalence::tost;
use crate::estimate::{Estimate, Ratio, t_above};
use crate::sides::ContrastEvidence;
use crate::verdict::{Better, Compared, PLOTS_MIN, ReplicationUnit, Sides};

/// Settings of the gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateRule {
    /// A regression within this factor passes: 0.05 is × or ÷ 1.05.
    pub margin: f64,
    /// Level of either answer over all looks, and of `regression` also over all numbers. It is below the
    /// promised 0.05, like that of [`crate::VerdictRule`]: real storage is not normal, and a budget may end
    /// a gate at any time.
    pub alpha: f64,
    /// Number of blocks before the first look. Below six the sign-flip test cannot object.
    pub blocks_min: u32,
    /// Seed of the sign-flip test when it samples.
    pub seed: u64,
    /// Number of gates that a repository runs, each with its own history or places: the levels hold
    /// for all of them together.
    pub gates: u32,
}

impl Default for GateRule {
    fn default() -> GateRule {
        GateRule { margin: 0.05, alpha: 0.03, blocks_min: 6, seed: 0, gates: 1 }
    }
}

impl GateRule {
    /// Errors: a margin that is not above 0, a level that is not between 0 and 0.5.
    fn check(&self) -> Result<(), StatsError> {
        if !(self.margin > 0.0 && self.margin.is_finite()) {
            return Err(StatsError::Setting { name: "margin", value: self.margin, allowed: "the numbers above 0" });
        }
        if !(self.alpha > 0.0 && self.alpha < 0.5) {
            return Err(StatsError::Setting { name: "alpha", value: self.alpha, allowed: "0 to 0.5, both excluded" });
        }
        Ok(())
    }
}

/// A gate's answer for one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateVerdict {
    /// A regression beyond the margin is excluded.
    Pass,
    /// The candidate is worse beyond chance, and a regression beyond the margin is not excluded.
    Regression,
    /// One session looks worse; a second one decides.
    Suspected,
    /// The data support neither answer.
    CannotTell,
}

/// A qualification of the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateNote {
    None,
    /// There are fewer units than any answer needs.
    TooFew,
    /// The candidate is worse, but within the margin.
    WorseWithinMargin,
    /// Judged alone, the number would be a regression; among this many numbers, one as large is expected by chance.
    ChanceAmongMany,
    /// The interval shows a regression, but the sign-flip test does not.
    OnlyInterval,
    /// The interval includes both no regression and one beyond the margin.
    TooWide,
    /// The candidate is worse beyond chance, but the machine's own history explains it.
    Objected(Objection),
}

/// Another explanation for a session that looks worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objection {
    /// The history has sessions that are equally bad.
    SeenBefore,
    /// The history has too few sessions for this many numbers: one of them is extreme by chance.
    TooFewForFamily,
    /// The level of this machine changes by itself, as often and as far.
    LevelsChange,
    /// This machine has slow sessions by itself, as often and as slow.
    SlowSessions,
    /// The history was falling before, and the sessions lie on its line.
    Falling,
    /// The history wanders, and has taken steps as large.
    Wanders,
}

/// Design of a number's data collection, which decides the cost and the benefit of further values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Design {
    /// One run of each side in each block.
    Blocks,
    /// Provisionings; a larger budget does not add any.
    Plots,
    /// Sessions of each side at different times.
    Sessions { baseline: u32, candidate: u32 },
}

/// The evidence for one number, before looks and the other numbers are considered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateEvidence {
    /// Logarithm of candidate against baseline, above 0 if the candidate is better; `None` with fewer than two units.
    pub estimate: Option<Estimate>,
    /// Number of blocks, plots or sessions of the estimate: of the side that has fewer, and
    /// for sessions of the baseline.
    pub units: u32,
    design: Design,
    /// One-sided p of the sign-flip test that the candidate is not worse, if that test applies.
    p_sign_flip: Option<f64>,
    /// Another explanation for sessions that look worse.
    objection: Option<Objection>,
}

impl GateEvidence {
    /// Computes the evidence of blocks, or of plots.
    ///
    /// # Errors
    /// The sides do not pair, a plot is empty, or a value is not above 0.
    pub fn from_sides(sides: Sides<'_>, better: Better, seed: u64) -> Result<GateEvidence, StatsError> {
        let evidence = ContrastEvidence::from_compared(&Compared::measured(sides, better), seed)?;
        let is_worse = evidence.estimate.is_some_and(|estimate| estimate.log_mean < 0.0);
        // The test is symmetric: one direction has half of its chance.
        let one_sided = |p: f64| if is_worse { p / 2.0 } else { 1.0 - p / 2.0 };
        Ok(GateEvidence {
            estimate: evidence.estimate,
            units: evidence.units,
            design: if evidence.unit == ReplicationUnit::Block { Design::Blocks } else { Design::Plots },
            p_sign_flip: evidence.p_sign_flip.map(one_sided),
            objection: None,
        })
    }

    fn units_min(&self, rule: &GateRule) -> u32 {
        match self.design {
            Design::Blocks => rule.blocks_min,
            Design::Plots => PLOTS_MIN,
            Design::Sessions { .. } => SESSIONS_MIN,
        }
    }

    /// Returns the verdict and the level for sessions that look worse. A single session is only suspected, so its
    /// level is lenient; two that agree are a regression. `None` for blocks and plots.
    fn session_level(&self) -> Option<(f64, GateVerdict)> {
        match self.design {
            Design::Sessions { candidate: 0 | 1, .. } => Some((SUSPECTED_P, GateVerdict::Suspected)),
            Design::Sessions { .. } => Some((AGREED_P, GateVerdict::Regression)),
            Design::Blocks | Design::Plots => None,
        }
    }

    fn may_decide(&self, rule: &GateRule) -> bool {
        self.estimate.is_some() && self.units >= self.units_min(rule)
    }

    /// Returns the one-sided p that the candidate is not worse.
    fn p_worse(&self) -> Option<f64> {
        let estimate = self.estimate?;
        Some(match estimate.log_error {
            0.0 => f64::from(estimate.log_mean >= 0.0),
            error => t_above(-estimate.log_mean / error, estimate.freedom),
        })
    }

    /// Returns the one-sided p that the candidate is worse by the margin or more.
    fn p_beyond(&self, rule: &GateRule) -> Option<f64> {
        self.estimate.and_then(|estimate| tost(&estimate, rule.margin).ok()).map(|test| test.p_lower)
    }
}

/// A gate's answer for one number, with its evidence. In ratios, above 1 is better for the candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateAssessment {
    pub verdict: GateVerdict,
    /// A qualification of the verdict.
    pub note: GateNote,
    /// Geometric mean of candidate / baseline, with the interval that both answers are read from: its coverage is 1 −
    /// 2 × the level of the look.
    pub ratio: Option<Ratio>,
    /// One-sided p that the candidate is not worse.
    pub p_worse: Option<f64>,
    /// `p_worse` after Holm's correction over all numbers.
    pub p_worse_adjusted: Option<f64>,
    /// One-sided p that the candidate is worse by the margin or more.
    pub p_beyond: Option<f64>,
    /// Number of units of the estimate, see [`GateEvidence::units`].
    pub units: u32,
    /// Total number of units, from a new start, that should decide it with the chance
    /// [`DECIDED`]; for sessions those of the candidate. `None` if it is decided, or if it
    /// would take more than [`crate::verdict::BLOCKS_NEEDED_MAX`].
    pub units_needed: Option<u32>,
}

/// Chance that [`GateAssessment::units_needed`] units decide, averaged over the ratios and spreads
/// that the data leave possible.
pub(crate) const DECIDED: f64 = 0.8;

/// p below which a single session is suspected …
const SUSPECTED_P: f64 = 0.15;

/// … and below which two or more sessions together are worse. Both apply after the correction
/// for the number of numbers.
const AGREED_P: f64 = 0.04;

/// p above which the sign-flip test objects to a regression. As in comparisons it is not corrected: it guards the
/// assumptions of t, and its smallest p is too coarse to be shared.
const OBJECTS: f64 = 0.05;

/// Judges the numbers of a gate at one of `looks` looks, in the given order. The gate's answer is the least
/// favourable of all. A regression of any number is one. All numbers must pass for a pass, which therefore needs
/// no correction for their number.
///
/// # Errors
/// A setting of the rule is out of range.
pub fn assess(numbers: &[GateEvidence], looks: u32, rule: &GateRule) -> Result<Vec<GateAssessment>, StatsError> {
    rule.check()?;
    let level = rule.alpha / f64::from(looks.max(1));
    let tested: Vec<usize> = (0..numbers.len()).filter(|&index| numbers[index].may_decide(rule)).collect();
    let p: Vec<f64> = tested.iter().filter_map(|&index| numbers[index].p_worse()).collect();
    let mut adjusted: Vec<Option<f64>> = numbers.iter().map(GateEvidence::p_worse).collect();
    let gates = f64::from(rule.gates.max(1));
    for (&index, p) in tested.iter().zip(holm(&p)?) {
        adjusted[index] = Some((p * gates).min(1.0));
    }
    let family = tested.len() * rule.gates.max(1) as usize;
    let judge = |(evidence, adjusted): (&GateEvidence, Option<f64>)| judge(evidence, adjusted, level, family, rule);
    numbers.iter().zip(adjusted).map(judge).collect()
}

fn judge(
    evidence: &GateEvidence,
    p_worse_adjusted: Option<f64>,
    level: f64,
    family: usize,
    rule: &GateRule,
) -> Result<GateAssessment, StatsError> {
    let is_below = |p: Option<f64>, level: f64| p.is_some_and(|p| p < level);
    let (p_worse, p_beyond) = (evidence.p_worse(), evidence.p_beyond(rule));
    let (verdict, note) = if !evidence.may_decide(rule) {
        (GateVerdict::CannotTell, GateNote::TooFew)
    } else if is_below(p_beyond, level) {
        let is_worse = is_below(p_worse, level);
        (GateVerdict::Pass, if is_worse { GateNote::WorseWithinMargin } else { GateNote::None })
    } else if let Some((level, worse)) = evidence.session_level()
        && is_below(p_worse_adjusted, level)
    {
        match evidence.objection {
            None => (worse, GateNote::None),
            Some(objection) => (GateVerdict::CannotTell, GateNote::Objected(objection)),
        }
    } else if evidence.session_level().is_none() && is_below(p_worse_adjusted, level) {
        match evidence.p_sign_flip.is_none_or(|p| p < OBJECTS) {
            true => (GateVerdict::Regression, GateNote::None),
            false => (GateVerdict::CannotTell, GateNote::OnlyInterval),
        }
    } else if is_below(p_worse, level) {
        (GateVerdict::CannotTell, GateNote::ChanceAmongMany)
    } else {
        (GateVerdict::CannotTell, GateNote::TooWide)
    };
    let is_open = verdict == GateVerdict::CannotTell;
    Ok(GateAssessment {
        verdict,
        note,
        ratio: evidence.estimate.map(|estimate| estimate.interval(1.0 - 2.0 * level)).transpose()?,
        p_worse,
        p_worse_adjusted,
        p_beyond,
        units: evidence.units,
        units_needed: if is_open { needed::units_needed(evidence, family.max(1), rule) } else { None },
    })
}

/// Returns `true` if runs of one side were rejected more often than those of the other, by more than
/// chance: a split this uneven has a chance below 5 % if both sides are equally likely. The remaining runs
/// of such sides are not comparable.
pub fn is_one_sided([baseline, candidate]: [u32; 2]) -> bool {
    let (all, more) = (baseline + candidate, baseline.max(candidate));
    // Both tails of the binomial with an even chance.
    let mut mass = 0.5f64.powi(all as i32);
    let mut tail = 0.0;
    for count in 0..=all {
        if count >= more {
            tail += mass;
        }
        mass *= f64::from(all - count) / f64::from(count + 1);
    }
    2.0 * tail < 0.05
}

/// Combines the answers for several numbers; `CannotTell` without any.
pub fn overall(verdicts: impl IntoIterator<Item = GateVerdict>) -> GateVerdict {
    let severity = |verdict: &GateVerdict| match verdict {
        GateVerdict::Pass => 0,
        GateVerdict::CannotTell => 1,
        GateVerdict::Suspected => 2,
        GateVerdict::Regression => 3,
    };
    verdicts.into_iter().max_by_key(severity).unwrap_or(GateVerdict::CannotTell)
}

#[cfg(test)]
mod tests;
