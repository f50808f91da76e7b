//! The verdict of a comparison.
//!
//! It uses two tests of the same blocks, the t interval and the sign-flip test, and one margin below which a
//! difference does not matter. The margin is a factor: within ± 5 % means between 1/1.05 and 1.05, so that swapping
//! the sides swaps the verdict.

use crate::StatsError;
use crate::correct::{benjamini_hochberg, holm};
use crate::equivalence::tost;
use crate::estimate::{Estimate, Ratio, t_quantile};
use crate::sides::ContrastEvidence;
pub use crate::sides::{Compared, PLOTS_MIN, ReplicationUnit, Sides};

/// The direction in which values improve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better: rates.
    Higher,
    /// Less is better: times.
    Lower,
}

/// Settings of the verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VerdictRule {
    /// Differences up to this factor do not matter: 0.05 is × or ÷ 1.05.
    pub margin: f64,
    /// Coverage of the printed interval.
    pub confidence: f64,
    /// A claim needs p of t below this, after correction. Equivalence needs two one-sided tests at this level each,
    /// at 0.03 a 94 % interval (Schuirmann, "A comparison of the two one-sided tests procedure and the power
    /// approach", Journal of Pharmacokinetics and Biopharmaceutics 15, 1987).
    ///
    /// It is below the promised 0.05, because several looks at the data cost something. With it, equal sides
    /// are called different, and sides on the margin are called equivalent, in less than 5 % of comparisons
    /// that end by [`crate::stop`] (`docs/statistics.md`).
    pub alpha: f64,
    /// Fewer blocks than this support no claim; below six the sign-flip test cannot be significant. Plots
    /// have their own minimum, [`PLOTS_MIN`].
    pub blocks_min: u32,
    /// Seed of the sign-flip test when it samples (past 16 blocks).
    pub seed: u64,
}

impl Default for VerdictRule {
    fn default() -> VerdictRule {
        VerdictRule { margin: 0.05, confidence: 0.95, alpha: 0.03, blocks_min: 6, seed: 0 }
    }
}

/// The comparison of the candidate with the baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// The candidate is better, beyond chance. The difference is also certainly beyond the margin,
    /// unless the note is [`Note::RealButPossiblySmall`].
    Faster(Ratio),
    /// The candidate is worse, beyond chance.
    Slower(Ratio),
    /// The difference is within the margin: the narrower interval (94 % by default, given here) lies wholly inside.
    Equivalent(Ratio),
    /// The data support no claim.
    CannotTell {
        /// Estimated number of further blocks that would settle it, see [`Assessment::blocks_needed`].
        blocks_needed: Option<u32>,
    },
    /// The t test and the sign-flip test disagree on whether there is a difference.
    Fragile(Ratio),
}

/// A qualification of the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    None,
    /// There are fewer blocks than any claim needs.
    TooFewBlocks,
    /// There are fewer than [`PLOTS_MIN`] plots a side.
    TooFewPlots,
    /// There are fewer runs a side than any claim needs.
    TooFewRuns,
    /// A claim from fewer than six plots a side: the sign-flip test could not have objected, so t decides alone.
    WithoutCrossCheck,
    /// There is a difference, but it may be too small to matter: the interval excludes 1 and reaches into the margin.
    RealButPossiblySmall,
    /// There is a difference, but it is too small to matter: equivalent, although the interval excludes 1.
    RealButSmall,
    /// The interval includes 1 and reaches beyond the margin.
    TooWide,
    /// There is a difference on the measured plots, by the spread of the pairs on each of them. Between plots it
    /// varies too much, or there are too few of them, to claim it for others.
    OnTheseProvisionings,
    /// As the only contrast it would be a difference; among this many, one as large is expected by chance.
    ChanceAmongMany,
    /// The interval shows a difference and the sign-flip test does not: it rests on few or uneven blocks.
    OnlyInterval,
    /// The sign-flip test shows a difference and the interval does not: one or two blocks are extreme.
    OnlySignFlip,
}

impl Note {
    /// Returns the printed text, without a full stop; empty for [`Note::None`].
    pub const fn text(self) -> &'static str {
        match self {
            Note::None => "",
            Note::TooFewBlocks => "too few blocks for any claim",
            Note::TooFewRuns => "too few runs for any claim",
            Note::TooFewPlots => "with one plot a side, what the level does and what its plot does cannot be separated",
            Note::WithoutCrossCheck => "fewer than six plots a side: no cross-check by a permutation test",
            Note::RealButPossiblySmall => "a real difference, but it may be too small to matter",
            Note::RealButSmall => "a real difference, but too small to matter",
            Note::TooWide => "too noisy: the spread hides any difference",
            Note::OnTheseProvisionings => {
                "a difference on these plots, but they are too few, or too different, to claim it of others"
            }
            Note::ChanceAmongMany => {
                "possibly a difference, but not significant after correction for multiple comparisons"
            }
            Note::OnlyInterval => "the interval shows a difference, the permutation test does not",
            Note::OnlySignFlip => "the permutation test shows a difference, the interval does not",
        }
    }
}

/// A verdict with its evidence. In ratios, above 1 is better for the candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assessment {
    pub verdict: Verdict,
    /// A qualification of the verdict.
    pub note: Note,
    /// Geometric mean of the units' ratios with the interval of the rule's confidence; `None`
    /// with fewer than two units.
    pub ratio: Option<Ratio>,
    /// The ratio with the narrower interval that decides on equivalence.
    pub narrow: Option<Ratio>,
    /// Two-sided p of Student's t; `None` with fewer than two units.
    pub p_t: Option<f64>,
    /// `p_t` corrected for the number of contrasts assessed together; equal to it for a single one.
    pub p_adjusted: Option<f64>,
    /// Two-sided p of the sign-flip test; `None` with fewer than two units, and for plots that are fewer than
    /// six or do not pair.
    pub p_sign_flip: Option<f64>,
    /// p of the two one-sided tests that the sides are equivalent within the margin, corrected like `p_adjusted`;
    /// `None` with fewer than two units.
    pub p_equivalence: Option<f64>,
    /// The unit that `blocks` counts.
    pub unit: ReplicationUnit,
    /// Number of units: blocks, or plots of the side that has fewer.
    pub blocks: u32,
    /// Estimated number of *further* units that would settle an open verdict; blocks come in twos, to keep
    /// their order balanced. `None` if the verdict is settled, if there is no spread to calculate with, or if
    /// it would take more than [`BLOCKS_NEEDED_MAX`].
    pub blocks_needed: Option<u32>,
}

/// A larger estimate is not a realistic plan, and is not reported.
pub const BLOCKS_NEEDED_MAX: u32 = 1000;

/// Judges one contrast of blocks: [`assess_all`] with a family of one.
pub fn assess(
    baseline: &[f64],
    candidate: &[f64],
    better: Better,
    rule: &VerdictRule,
) -> Result<Assessment, StatsError> {
    assess_one(Sides::Blocks { baseline, candidate }, better, rule)
}

/// Judges one contrast of plots, given the runs of each plot: [`assess_all`] with a family of one.
pub fn assess_plots(
    baseline: &[Vec<f64>],
    candidate: &[Vec<f64>],
    better: Better,
    rule: &VerdictRule,
) -> Result<Assessment, StatsError> {
    assess_one(Sides::Plots { baseline, candidate }, better, rule)
}

fn assess_one(sides: Sides<'_>, better: Better, rule: &VerdictRule) -> Result<Assessment, StatsError> {
    let all = assess_all(&[Compared::measured(sides, better)], rule)?;
    Ok(all.into_iter().next().expect("one contrast gives one assessment"))
}

/// Judges the contrasts of a comparison, in the given order.
///
/// - `Equivalent`: the narrower interval lies wholly within the margin. (The two tests need not agree on a difference
///   then, because it does not matter.)
/// - `Faster`, `Slower`: p of t is below `rule.alpha` after Holm's correction over these contrasts, and p of the
///   sign-flip test is below 1 − confidence. The sign-flip test is not corrected: it guards the assumptions of t in
///   each contrast, and its smallest p, 2/2ⁿ, is too coarse to be shared among many.
/// - `Fragile`: a difference that only one of the t test and the sign-flip test shows.
/// - `CannotTell`: anything else, and always below `rule.blocks_min` blocks or [`PLOTS_MIN`] plots a side.
///
/// For plots, the unit is the geometric mean of the runs of one plot; for pairs on plots, it is the mean log ratio of
/// a plot's pairs. With fewer than six pairs of plots, or plots that do not pair, no sign-flip test could object.
/// Then t decides alone, on few degrees of freedom, and the note says so.
///
/// Fewer than two units are not an error: users often have one run of each side, which supports no claim. Errors:
/// unequal numbers of blocks, an empty plot, values not above 0, a setting out of range.
pub fn assess_all(contrasts: &[Compared<'_>], rule: &VerdictRule) -> Result<Vec<Assessment>, StatsError> {
    assess_family(contrasts, rule, Family::Holm)
}

/// The correction of p for the number of contrasts in a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Holm's: the chance of any false claim among them stays at the level.
    Holm,
    /// Benjamini and Hochberg's, for grids of hundreds of cells: the share of false claims among the
    /// claims stays at the level.
    BenjaminiHochberg,
    /// Each contrast is compared with the level by itself.
    Uncorrected,
}

/// Judges like [`assess_all`], with a choice of correction.
pub fn assess_family(
    contrasts: &[Compared<'_>],
    rule: &VerdictRule,
    family: Family,
) -> Result<Vec<Assessment>, StatsError> {
    check(rule)?;
    let evidence = contrasts
        .iter()
        .map(|contrast| ContrastEvidence::from_compared(contrast, rule.seed))
        .collect::<Result<Vec<_>, _>>()?;
    // A contrast without a p, or with too few units to claim anything, is not a test, and costs the others nothing.
    let tested: Vec<usize> = (0..evidence.len()).filter(|&i| evidence[i].may_claim(rule)).collect();
    let p: Vec<f64> = tested.iter().filter_map(|&i| evidence[i].estimate.map(|estimate| estimate.p())).collect();
    let mut adjusted: Vec<Option<f64>> =
        evidence.iter().map(|evidence| evidence.estimate.map(|estimate| estimate.p())).collect();
    for (&i, p) in tested.iter().zip(family.correct(p)?) {
        adjusted[i] = Some(p);
    }
    // Equivalence is a claim, too.
    let mut equivalence: Vec<Option<f64>> =
        evidence.iter().map(|evidence| evidence.p_equivalence(rule)).collect::<Result<_, _>>()?;
    let p: Vec<f64> = tested.iter().filter_map(|&i| equivalence[i]).collect();
    for (&i, p) in tested.iter().zip(family.correct(p)?) {
        equivalence[i] = Some(p);
    }
    let shared_by = if family == Family::Uncorrected { 1 } else { tested.len() };
    evidence
        .iter()
        .zip(adjusted.into_iter().zip(equivalence))
        .map(|(evidence, p)| evidence.judge(p, shared_by, rule))
        .collect()
}

impl Family {
    fn correct(self, p: Vec<f64>) -> Result<Vec<f64>, StatsError> {
        match self {
            Family::Holm => holm(&p),
            Family::BenjaminiHochberg => benjamini_hochberg(&p),
            Family::Uncorrected => Ok(p),
        }
    }
}

fn check(rule: &VerdictRule) -> Result<(), StatsError> {
    if !(rule.margin > 0.0 && rule.margin.is_finite()) {
        return Err(StatsError::Setting { name: "margin", value: rule.margin, allowed: "the numbers above 0" });
    }
    if !(rule.confidence > 0.5 && rule.confidence < 1.0) {
        let allowed = "0.5 to 1, both excluded";
        return Err(StatsError::Setting { name: "confidence", value: rule.confidence, allowed });
    }
    if !(rule.alpha > 0.0 && rule.alpha <= 1.0 - rule.confidence) {
        let allowed = "0 (excluded) to 1 − confidence, so that the interval of a claim leaves 1 out";
        return Err(StatsError::Setting { name: "alpha", value: rule.alpha, allowed });
    }
    Ok(())
}

impl ContrastEvidence {
    fn units_min(&self, rule: &VerdictRule) -> u32 {
        match self.unit {
            ReplicationUnit::Block | ReplicationUnit::Run => rule.blocks_min.max(2),
            ReplicationUnit::Plot => PLOTS_MIN,
        }
    }

    fn may_claim(&self, rule: &VerdictRule) -> bool {
        self.estimate.is_some() && self.units >= self.units_min(rule)
    }

    /// Returns p of the two one-sided tests; `None` if there is no estimate.
    fn p_equivalence(&self, rule: &VerdictRule) -> Result<Option<f64>, StatsError> {
        self.estimate.map(|estimate| Ok(tost(&estimate, rule.margin)?.p)).transpose()
    }

    /// Judges one contrast. `p_adjusted` has the p of the difference, and that of equivalence.
    fn judge(
        &self,
        (p_adjusted, p_equivalence): (Option<f64>, Option<f64>),
        family: usize,
        rule: &VerdictRule,
    ) -> Result<Assessment, StatsError> {
        let too_few = match self.unit {
            ReplicationUnit::Block => Note::TooFewBlocks,
            ReplicationUnit::Plot => Note::TooFewPlots,
            ReplicationUnit::Run => Note::TooFewRuns,
        };
        let (Some(estimate), Some(p_adjusted)) = (self.estimate, p_adjusted) else {
            let missing = self.units_min(rule).saturating_sub(self.units);
            let blocks_needed = Some(self.step(missing));
            return Ok(Assessment {
                verdict: Verdict::CannotTell { blocks_needed },
                note: too_few,
                ratio: None,
                narrow: None,
                p_t: None,
                p_adjusted: None,
                p_sign_flip: None,
                p_equivalence: None,
                unit: self.unit,
                blocks: self.units,
                blocks_needed,
            });
        };
        let ratio = estimate.interval(rule.confidence)?;
        let narrow = estimate.interval(1.0 - 2.0 * rule.alpha)?;
        let p_t = estimate.p();
        let level = 1.0 - rule.confidence;
        let top = 1.0 + rule.margin;

        let t_sees = p_t < level;
        // Without a sign-flip test, nothing can object.
        let flip_sees = self.p_sign_flip.map_or(t_sees, |p| p < level);
        let beyond_margin = ratio.lo > top || ratio.hi < 1.0 / top;
        let alpha = rule.alpha / family.max(1) as f64;
        let seen_here = self.on_these_plots.is_some_and(|estimate| estimate.p() < alpha);
        let blocks_needed =
            more_blocks(&estimate, self.units, self.units_min(rule), family, rule).map(|n| self.step(n));
        let open = Verdict::CannotTell { blocks_needed };
        let (verdict, note) = if !self.may_claim(rule) {
            (open, too_few)
        } else if p_equivalence.is_some_and(|p| p < rule.alpha) {
            (Verdict::Equivalent(narrow), if t_sees { Note::RealButSmall } else { Note::None })
        } else if !t_sees && !flip_sees {
            (open, if seen_here { Note::OnTheseProvisionings } else { Note::TooWide })
        } else if !flip_sees {
            (Verdict::Fragile(ratio), Note::OnlyInterval)
        } else if !t_sees {
            (Verdict::Fragile(ratio), Note::OnlySignFlip)
        } else if p_adjusted >= rule.alpha {
            (open, if seen_here { Note::OnTheseProvisionings } else { Note::ChanceAmongMany })
        } else {
            let note = match (self.p_sign_flip, beyond_margin) {
                (None, _) if self.unit == ReplicationUnit::Plot => Note::WithoutCrossCheck,
                (_, true) => Note::None,
                (_, false) => Note::RealButPossiblySmall,
            };
            (if estimate.log_mean > 0.0 { Verdict::Faster(ratio) } else { Verdict::Slower(ratio) }, note)
        };
        let is_open = matches!(verdict, Verdict::CannotTell { .. } | Verdict::Fragile(_));
        Ok(Assessment {
            verdict,
            note,
            ratio: Some(ratio),
            narrow: Some(narrow),
            p_t: Some(p_t),
            p_adjusted: Some(p_adjusted),
            p_sign_flip: self.p_sign_flip,
            p_equivalence,
            unit: self.unit,
            blocks: self.units,
            blocks_needed: if is_open { blocks_needed } else { None },
        })
    }

    /// Rounds up to units that can be run: blocks come in twos, so that their order stays balanced.
    const fn step(&self, more: u32) -> u32 {
        match self.unit {
            ReplicationUnit::Block => even(more),
            ReplicationUnit::Plot | ReplicationUnit::Run => more,
        }
    }
}

const fn even(blocks: u32) -> u32 {
    blocks.next_multiple_of(2)
}

/// Chance with which the recommended blocks should settle the question.
const POWER: f64 = 0.8;

/// Returns the number of further units that settle it with the chance [`POWER`], if ratio and spread stay as they
/// are: the smallest n whose quantiles of t, for the test and for the power, fit into the distance.
///
/// Two answers are possible, and the nearer one counts. A difference has the distance of the estimate from 1; it is
/// tested two-sided, at the level shared among the family, which Holm requires of its smallest p. Equivalence has the
/// distance to the margin from inside; its power is shared between the two ends.
fn more_blocks(estimate: &Estimate, units: u32, units_min: u32, family: usize, rule: &VerdictRule) -> Option<u32> {
    let least = units_min.saturating_sub(units);
    let spread = estimate.log_error * f64::from(units).sqrt();
    if spread == 0.0 {
        return (least > 0).then_some(least);
    }
    let alpha = rule.alpha / family.max(1) as f64;
    let off = estimate.log_mean.abs();
    let difference = Some((1.0 - alpha / 2.0, POWER, off));
    let inside = rule.margin.ln_1p() - off;
    let equivalence = (inside > 0.0).then_some((1.0 - rule.alpha, 0.5 + POWER / 2.0, inside));
    let fits = |n: u32| {
        let freedom = f64::from(n - 1);
        let error = spread / f64::from(n).sqrt();
        [difference, equivalence]
            .into_iter()
            .flatten()
            .any(|(test, power, distance)| (t_quantile(test, freedom) + t_quantile(power, freedom)) * error < distance)
    };
    // More blocks only ever narrow the interval, so bisection finds the smallest number.
    let (mut low, mut high) = ((units + 1).max(units_min).max(2), units.saturating_add(BLOCKS_NEEDED_MAX));
    if !fits(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low - units)
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
