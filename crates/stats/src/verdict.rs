//! What a comparison is allowed to say.
//!
//! Two ways to look at the same blocks, the t interval and the sign-flip test, and one margin below which a difference
//! does not matter. The margin is a factor: within ± 5 % means between 1/1.05 and 1.05, so that swapping the sides
//! swaps the verdict.

use crate::StatsError;
use crate::estimate::{Estimate, Ratio, log_ratios, paired, t_quantile};
use crate::permutation::sign_flip;

/// Which direction of the values is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better: rates.
    Higher,
    /// Less is better: times.
    Lower,
}

/// The numbers of the verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Differences up to this factor do not matter: 0.05 is × or ÷ 1.05.
    pub margin: f64,
    /// Coverage of the interval that a difference needs. Equivalence needs two one-sided tests at half the rest each:
    /// at 0.95, a 90 % interval (Schuirmann, "A comparison of the two one-sided tests procedure and the power
    /// approach", 1987).
    pub confidence: f64,
    /// Fewer blocks than this carry no claim; below six the sign-flip test cannot be significant.
    pub blocks_min: u32,
    /// Seed of the sign-flip test where it draws (past 16 blocks).
    pub seed: u64,
}

impl Default for Rule {
    fn default() -> Rule {
        Rule { margin: 0.05, confidence: 0.95, blocks_min: 6, seed: 0 }
    }
}

/// What may be said of candidate against baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// The candidate is better, by more than the margin: the interval lies wholly beyond it.
    Faster(Ratio),
    /// The candidate is worse, by more than the margin.
    Slower(Ratio),
    /// The difference is within the margin: the narrower interval (90 % by default, given here) lies wholly inside.
    Equivalent(Ratio),
    /// The data do not carry a claim.
    CannotTell {
        /// About so many more blocks would settle it, see [`Assessment::blocks_needed`].
        blocks_needed: Option<u32>,
    },
    /// The interval and the sign-flip test disagree on whether there is a difference.
    Fragile(Ratio),
}

/// What the verdict's word leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// Nothing.
    None,
    /// Fewer blocks than any claim needs.
    TooFewBlocks,
    /// There is a difference, and it may be too small to matter: the interval leaves 1 out and reaches into the margin.
    RealButPossiblySmall,
    /// There is a difference, and it is too small to matter: equivalent, yet the interval leaves 1 out.
    RealButSmall,
    /// The interval includes 1 and reaches beyond the margin.
    TooWide,
    /// The interval sees a difference and the sign-flip test does not: it rests on few or uneven blocks.
    OnlyInterval,
    /// The sign-flip test sees a difference and the interval does not: one or two blocks stand far out.
    OnlySignFlip,
}

impl Note {
    /// In words, without a full stop; empty for [`Note::None`].
    pub const fn text(self) -> &'static str {
        match self {
            Note::None => "",
            Note::TooFewBlocks => "too few blocks for any claim",
            Note::RealButPossiblySmall => "a real difference, but possibly too small to matter",
            Note::RealButSmall => "a real difference, but too small to matter",
            Note::TooWide => "the spread hides whatever difference there is",
            Note::OnlyInterval => "the interval sees a difference, but the permutation test does not",
            Note::OnlySignFlip => "the permutation test sees a difference, but the interval does not",
        }
    }
}

/// A verdict with what it rests on. All ratios are turned so that above 1 is better for the candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assessment {
    /// What may be said.
    pub verdict: Verdict,
    /// What the word leaves out.
    pub note: Note,
    /// Geometric mean of the blocks' ratios with the interval of the rule's confidence; `None` below two blocks.
    pub ratio: Option<Ratio>,
    /// The same with the narrower interval that equivalence is read from.
    pub narrow: Option<Ratio>,
    /// Two-sided p of the sign-flip test; `None` below two blocks.
    pub p_sign_flip: Option<f64>,
    /// Blocks that it rests on.
    pub blocks: u32,
    /// About so many *more* blocks would settle it, where the verdict is open; always even, to keep the order balanced.
    /// `None` where the verdict is settled, where there is no spread to reckon with, or where it would take more than
    /// [`BLOCKS_NEEDED_MAX`] because the ratio lies too near the margin.
    pub blocks_needed: Option<u32>,
}

/// An estimate of more blocks than this is no plan, and is not given.
pub const BLOCKS_NEEDED_MAX: u32 = 1000;

/// Judges blocks: `baseline[i]` and `candidate[i]` are the two runs of block `i`.
///
/// - `Faster`, `Slower`: the interval lies wholly beyond the margin, and the sign-flip test is significant too.
/// - `Equivalent`: the narrower interval lies wholly within the margin. (Whether the difference is exactly nothing does
///   not matter then, so the two tests need not agree on it.)
/// - `Fragile`: neither of these, or a difference that only one of interval and sign-flip test sees.
/// - `CannotTell`: anything else, and always below `rule.blocks_min` blocks.
///
/// Fewer than two blocks are no error: one run of each side is what people have, and nothing can be told from it.
/// Errors: unequal numbers of values, values not above 0, a margin or confidence out of range.
pub fn assess(baseline: &[f64], candidate: &[f64], better: Better, rule: &Rule) -> Result<Assessment, StatsError> {
    if !(rule.margin > 0.0 && rule.margin.is_finite()) {
        return Err(StatsError::Setting { name: "margin", value: rule.margin, allowed: "the numbers above 0" });
    }
    if !(rule.confidence > 0.5 && rule.confidence < 1.0) {
        let allowed = "0.5 to 1, both excluded";
        return Err(StatsError::Setting { name: "confidence", value: rule.confidence, allowed });
    }
    let (worse, better) = match better {
        Better::Higher => (baseline, candidate),
        Better::Lower => (candidate, baseline),
    };
    let differences = log_ratios(worse, better)?;
    let blocks = u32::try_from(differences.len()).unwrap_or(u32::MAX);
    if blocks < 2 {
        let blocks_needed = Some(even(rule.blocks_min.saturating_sub(blocks)));
        return Ok(Assessment {
            verdict: Verdict::CannotTell { blocks_needed },
            note: Note::TooFewBlocks,
            ratio: None,
            narrow: None,
            p_sign_flip: None,
            blocks,
            blocks_needed,
        });
    }
    let estimate = paired(worse, better)?;
    let ratio = estimate.interval(rule.confidence)?;
    let narrow = estimate.interval(2.0 * rule.confidence - 1.0)?;
    let p = sign_flip(&differences, rule.seed)?.p;

    let top = 1.0 + rule.margin;
    let interval_sees = !ratio.contains(1.0);
    let flip_sees = p < 1.0 - rule.confidence;
    let enough = blocks >= rule.blocks_min;
    let blocks_needed = more_blocks(&estimate, blocks, rule);
    let open = Verdict::CannotTell { blocks_needed };
    let (verdict, note) = if !enough {
        (open, Note::TooFewBlocks)
    } else if narrow.lo > 1.0 / top && narrow.hi < top {
        (Verdict::Equivalent(narrow), if interval_sees { Note::RealButSmall } else { Note::None })
    } else if interval_sees && !flip_sees {
        (Verdict::Fragile(ratio), Note::OnlyInterval)
    } else if flip_sees && !interval_sees {
        (Verdict::Fragile(ratio), Note::OnlySignFlip)
    } else if ratio.lo > top {
        (Verdict::Faster(ratio), Note::None)
    } else if ratio.hi < 1.0 / top {
        (Verdict::Slower(ratio), Note::None)
    } else if interval_sees {
        (open, Note::RealButPossiblySmall)
    } else {
        (open, Note::TooWide)
    };
    let is_open = matches!(verdict, Verdict::CannotTell { .. } | Verdict::Fragile(_));
    Ok(Assessment {
        verdict,
        note,
        ratio: Some(ratio),
        narrow: Some(narrow),
        p_sign_flip: Some(p),
        blocks,
        blocks_needed: if is_open { blocks_needed } else { None },
    })
}

/// The chance with which the blocks that are asked for should settle the question.
const POWER: f64 = 0.8;

/// How many more blocks settle it in [`POWER`] of cases, if ratio and spread stay what they are: the least n whose
/// quantiles of t, for the test and for the power, fit between the estimate and the margin. Beyond the margin, the
/// question is a difference (two-sided); inside, equivalence, where the power is shared between the two ends.
fn more_blocks(estimate: &Estimate, blocks: u32, rule: &Rule) -> Option<u32> {
    let least = rule.blocks_min.saturating_sub(blocks);
    let spread = estimate.log_error * f64::from(blocks).sqrt();
    let distance = estimate.log_mean.abs() - rule.margin.ln_1p();
    let (test, power) =
        if distance > 0.0 { (0.5 + rule.confidence / 2.0, POWER) } else { (rule.confidence, 0.5 + POWER / 2.0) };
    if spread == 0.0 {
        return (least > 0).then(|| even(least));
    }
    let fits = |n: u32| {
        let freedom = f64::from(n - 1);
        (t_quantile(test, freedom) + t_quantile(power, freedom)) * spread / f64::from(n).sqrt() < distance.abs()
    };
    // More blocks only ever narrow the interval, so the least number can be found by halving.
    let (mut low, mut high) = ((blocks + 1).max(rule.blocks_min).max(2), blocks.saturating_add(BLOCKS_NEEDED_MAX));
    if !fits(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle + 1 }
    }
    Some(even(low - blocks))
}

/// The next even number: the order of blocks is balanced in twos.
const fn even(blocks: u32) -> u32 {
    blocks.next_multiple_of(2)
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
