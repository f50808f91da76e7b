//! The decision of a gate: whether a candidate is worse than its baseline, or not worse by more than a margin.
//!
//! Both are one-sided questions, and each look at the data may answer them wrongly. The looks are fixed before the first of
//! them, by the number of units and never by what was found, and share the level equally: by Bonferroni's inequality
//! the chance of a wrong answer at any of them is below the level, however they depend on each other. docs/gate.md has what
//! that came to on simulated and on real storage.

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

/// The numbers of a gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateRule {
    /// A regression within this factor passes: 0.05 is × or ÷ 1.05.
    pub margin: f64,
    /// Level of either answer over all looks, and of `regression` also over all numbers. It is less than the 0.05 that is
    /// promised, as that of [`crate::VerdictRule`]: real storage is not normal, and budgets end when they end.
    pub alpha: f64,
    /// Blocks before the first look. Below six the sign-flip test cannot object.
    pub blocks_min: u32,
    /// Seed of the sign-flip test where it draws.
    pub seed: u64,
    /// Gates that a repository runs side by side, each with a history or places of its own: the levels hold for all together.
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

/// What a gate says of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateVerdict {
    /// A regression beyond the margin is excluded.
    Pass,
    /// It is worse, beyond chance, and a regression beyond the margin is not excluded.
    Regression,
    /// One session looks worse: a second one decides.
    Suspected,
    /// Neither can be said.
    CannotTell,
}

/// What the verdict's word leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateNote {
    /// Nothing.
    None,
    /// Fewer units than any answer needs.
    TooFew,
    /// It is worse, and within the margin.
    WorseWithinMargin,
    /// Of one number that was judged alone it would be a regression; among these, one as large is expected by chance.
    ChanceAmongMany,
    /// The interval shows a regression, the sign-flip test does not.
    OnlyInterval,
    /// The interval reaches from no regression to one beyond the margin.
    TooWide,
    /// Worse than chance explains, but not than this machine's history does.
    Objected(Objection),
}

/// Another explanation for a session that looks worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objection {
    /// The history has sessions as bad as these.
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

/// How the values of a number were collected: what more of them would cost, and bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Design {
    /// One run of each side in each block.
    Blocks,
    /// Provisionings, which no budget makes more of.
    Plots,
    /// Sessions of each side at different times.
    Sessions { baseline: u32, candidate: u32 },
}

/// What the values of a number say, before looks and the other numbers are considered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateEvidence {
    /// Logarithm of candidate against baseline, above 0 where the candidate is better; `None` below two units.
    pub estimate: Option<Estimate>,
    /// Blocks, plots or sessions that it rests on: those of the side that has fewer, and of sessions the baseline's.
    pub units: u32,
    design: Design,
    /// One-sided p of the sign-flip test that the candidate is not worse, where there is one.
    p_sign_flip: Option<f64>,
    /// Of sessions: another explanation for why they look worse.
    objection: Option<Objection>,
}

impl GateEvidence {
    /// Of blocks, or of plots.
    ///
    /// # Errors
    /// Sides that do not pair, an empty plot, values that are not above 0.
    pub fn of_sides(sides: Sides<'_>, better: Better, seed: u64) -> Result<GateEvidence, StatsError> {
        let evidence = ContrastEvidence::of(&Compared::measured(sides, better), seed)?;
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

    /// Verdict and level for sessions that look worse. One session is only suspected, so its level is lenient; two that agree are a
    /// regression. `None` for blocks and plots.
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

    /// One-sided p that the candidate is not worse.
    fn p_worse(&self) -> Option<f64> {
        let estimate = self.estimate?;
        Some(match estimate.log_error {
            0.0 => f64::from(estimate.log_mean >= 0.0),
            error => t_above(-estimate.log_mean / error, estimate.freedom),
        })
    }

    /// One-sided p that the candidate is worse by the margin or more.
    fn p_beyond(&self, rule: &GateRule) -> Option<f64> {
        self.estimate.and_then(|estimate| tost(&estimate, rule.margin).ok()).map(|test| test.p_lower)
    }
}

/// What a gate says of a number, with what it rests on. Ratios are turned so that above 1 is better for the candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateAssessment {
    /// What may be said.
    pub verdict: GateVerdict,
    /// What the word leaves out.
    pub note: GateNote,
    /// Geometric mean of candidate / baseline, with the interval that both answers are read from: of coverage 1 − 2 × the
    /// level of the look.
    pub ratio: Option<Ratio>,
    /// One-sided p that the candidate is not worse.
    pub p_worse: Option<f64>,
    /// The same after Holm's correction over all numbers.
    pub p_worse_adjusted: Option<f64>,
    /// One-sided p that it is worse by the margin or more.
    pub p_beyond: Option<f64>,
    /// Units that it rests on, see [`GateEvidence::units`].
    pub units: u32,
    /// Units in all, from a new start, that should decide it, see [`DECIDED`]; of sessions the candidate's. `None` where it is
    /// decided, or where it would take more than [`crate::verdict::BLOCKS_NEEDED_MAX`].
    pub units_needed: Option<u32>,
}

/// The chance with which [`GateAssessment::units_needed`] should decide, over all that ratio and spread may be after what
/// was seen of them.
pub(crate) const DECIDED: f64 = 0.8;

/// p below which a single session is suspected …
const SUSPECTED_P: f64 = 0.15;

/// … and below which two or more sessions together are worse. Either is after correction for the number of numbers.
const AGREED_P: f64 = 0.04;

/// p above which the sign-flip test objects to a regression. As in comparisons it is not corrected: it guards the assumptions
/// of t, and its smallest p is too coarse to be shared.
const OBJECTS: f64 = 0.05;

/// Judges the numbers of a gate at one of `looks` looks, in the given order. The least favourable of all is the gate's answer:
/// a regression of any is one, and all must pass for a pass, which therefore needs no correction for their number.
///
/// # Errors
/// A rule out of range.
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

/// Whether runs of one side were rejected more often than those of the other, by more than chance: of all rejected runs, as many or
/// more of one side have a chance below 5 % where either side is as likely. What is left of such sides is not comparable.
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

/// The answer over several numbers; `CannotTell` without any.
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
