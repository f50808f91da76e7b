//! When to stop adding blocks: when the answer is precise, independent of the answer.
//!
//! Stopping at the first significant result turns noise into significance. This rule uses the width of the interval,
//! and whether equivalence has already been shown, but never whether there is a difference. When it starts at six
//! blocks and needs two consecutive looks, its intervals cover 93–95 % (87 % when started at two blocks). The table
//! behind its numbers is in `docs/statistics.md`.

use crate::StatsError;
use crate::estimate::Estimate;
use crate::verdict::{Assessment, Verdict};

/// The kind of number that is estimated; rare events need more patience.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// A rate, a mean or a median.
    Rate,
    /// A 99th percentile.
    P99,
    /// A 99.9th percentile, or further out.
    P999,
}

impl Statistic {
    /// Returns the relative half-width that is precise enough: 2.5 %, 10 %, 25 %.
    pub(crate) const fn wanted_half_width(self) -> f64 {
        match self {
            Statistic::Rate => 0.025,
            Statistic::P99 => 0.10,
            Statistic::P999 => 0.25,
        }
    }
}

/// p of the two one-sided tests below which equivalence is settled: the 98 % interval lies within the margin.
/// Stopping as soon as it is first shown would call a ratio on the margin equivalent more often than promised.
pub(crate) const SETTLED_P: f64 = 0.01;

/// The precision of one number, and the precision that it needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// Relative half-width of its interval.
    pub half_width: f64,
    /// Largest half-width that is precise enough.
    pub wanted: f64,
    /// Whether more precision could change the answer.
    pub question: Question,
}

/// Whether a number needs more data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    Open,
    /// Equivalence has been shown; a narrower interval would only show it again.
    Settled,
}

impl Precision {
    /// Computes the precision of an estimate, at a coverage strictly between 0 and 1.
    pub fn from_estimate(estimate: &Estimate, confidence: f64, statistic: Statistic) -> Result<Precision, StatsError> {
        let half_width = estimate.half_width(confidence)?;
        Ok(Precision { half_width, wanted: statistic.wanted_half_width(), question: Question::Open })
    }

    /// Computes the precision of a comparison so far like [`Precision::from_estimate`]. It is settled if the sides are clearly
    /// equivalent: p below [`SETTLED_P`]. `None` if there is no interval yet.
    pub fn from_assessment(assessment: &Assessment, statistic: Statistic) -> Option<Precision> {
        let ratio = assessment.ratio?;
        let shown = assessment.p_equivalence.is_some_and(|p| p < SETTLED_P);
        let settled = shown && matches!(assessment.verdict, Verdict::Equivalent(_));
        Some(Precision {
            half_width: ratio.hi / ratio.value - 1.0,
            wanted: statistic.wanted_half_width(),
            question: if settled { Question::Settled } else { Question::Open },
        })
    }

    /// Returns `true` if the number is precise enough, or settled.
    pub fn is_met(&self) -> bool {
        self.question == Question::Settled || self.half_width < self.wanted
    }
}

/// Settings of the stop rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopRule {
    /// Number of blocks before the first look.
    pub blocks_min: u32,
    /// Number of blocks between looks.
    pub step: u32,
    /// Number of consecutive looks at which the precision must be met.
    pub looks: u32,
    /// Largest number of blocks.
    pub blocks_max: u32,
}

impl Default for StopRule {
    fn default() -> StopRule {
        StopRule { blocks_min: 6, step: 2, looks: 2, blocks_max: 30 }
    }
}

/// Whether time and wear allow a further step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FurtherBudget {
    Left,
    Spent,
}

/// The reason for stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Every number is precise enough, at as many consecutive looks as the rule requires.
    Precise,
    /// The rule's largest number of blocks has been reached.
    BlocksMax,
    /// The budget is used up.
    Budget,
}

/// The next action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Run this many more blocks, then look again.
    Run {
        /// At least 1.
        blocks: u32,
    },
    Stop(StopReason),
}

/// State of the stop rule: call [`Stopper::decide`] before the first block and after each step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopper {
    rule: StopRule,
    met_running: u32,
}

impl Stopper {
    /// Starts before the first look.
    pub fn new(rule: StopRule) -> Stopper {
        Stopper { rule, met_running: 0 }
    }

    /// Takes one look after `done` blocks. `precisions` are those of all numbers of the comparison; with none, or
    /// below the smallest number of blocks, nothing is precise.
    pub fn decide(&mut self, done: u32, precisions: &[Precision], budget: FurtherBudget) -> Decision {
        if done >= self.rule.blocks_min {
            let met = !precisions.is_empty() && precisions.iter().all(Precision::is_met);
            self.met_running = if met { self.met_running + 1 } else { 0 };
            if self.met_running >= self.rule.looks.max(1) {
                return Decision::Stop(StopReason::Precise);
            }
        }
        if done >= self.rule.blocks_max {
            return Decision::Stop(StopReason::BlocksMax);
        }
        if budget == FurtherBudget::Spent {
            return Decision::Stop(StopReason::Budget);
        }
        let wanted = if done < self.rule.blocks_min { self.rule.blocks_min - done } else { self.rule.step.max(1) };
        Decision::Run { blocks: wanted.min(self.rule.blocks_max - done) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::paired;
    use crate::random::SplitMix;

    const SHARP: Precision = Precision { half_width: 0.01, wanted: 0.05, question: Question::Open };
    const BLUNT: Precision = Precision { half_width: 0.20, wanted: 0.05, question: Question::Open };

    fn stopper() -> Stopper {
        Stopper::new(StopRule::default())
    }

    #[test]
    fn six_blocks_then_two_more_then_precise() {
        let mut stopper = stopper();
        assert_eq!(stopper.decide(0, &[], FurtherBudget::Left), Decision::Run { blocks: 6 });
        assert_eq!(stopper.decide(6, &[SHARP], FurtherBudget::Left), Decision::Run { blocks: 2 });
        assert_eq!(stopper.decide(8, &[SHARP], FurtherBudget::Left), Decision::Stop(StopReason::Precise));
    }

    #[test]
    fn one_lucky_look_is_not_enough() {
        let mut stopper = stopper();
        stopper.decide(6, &[SHARP], FurtherBudget::Left);
        assert_eq!(stopper.decide(8, &[BLUNT], FurtherBudget::Left), Decision::Run { blocks: 2 });
        assert_eq!(stopper.decide(10, &[SHARP], FurtherBudget::Left), Decision::Run { blocks: 2 });
        assert_eq!(stopper.decide(12, &[SHARP], FurtherBudget::Left), Decision::Stop(StopReason::Precise));
    }

    #[test]
    fn the_least_precise_number_decides() {
        let mut stopper = stopper();
        stopper.decide(6, &[SHARP, BLUNT], FurtherBudget::Left);
        assert_eq!(stopper.decide(8, &[SHARP, BLUNT], FurtherBudget::Left), Decision::Run { blocks: 2 });
    }

    #[test]
    fn looks_below_six_blocks_do_not_count() {
        let mut stopper = stopper();
        stopper.decide(2, &[SHARP], FurtherBudget::Left);
        stopper.decide(4, &[SHARP], FurtherBudget::Left);
        assert_eq!(stopper.decide(6, &[SHARP], FurtherBudget::Left), Decision::Run { blocks: 2 });
    }

    #[test]
    fn noise_ends_at_the_most_blocks_and_never_passes_them() {
        let mut stopper = Stopper::new(StopRule { blocks_max: 7, ..StopRule::default() });
        assert_eq!(stopper.decide(6, &[BLUNT], FurtherBudget::Left), Decision::Run { blocks: 1 });
        assert_eq!(stopper.decide(7, &[BLUNT], FurtherBudget::Left), Decision::Stop(StopReason::BlocksMax));
    }

    #[test]
    fn a_spent_budget_ends_it_unless_it_is_precise_anyway() {
        assert_eq!(stopper().decide(4, &[BLUNT], FurtherBudget::Spent), Decision::Stop(StopReason::Budget));
        let mut done = stopper();
        done.decide(6, &[SHARP], FurtherBudget::Left);
        assert_eq!(done.decide(8, &[SHARP], FurtherBudget::Spent), Decision::Stop(StopReason::Precise));
    }

    #[test]
    fn a_tail_may_be_wider_than_a_rate() {
        let widths = [Statistic::Rate, Statistic::P99, Statistic::P999].map(Statistic::wanted_half_width);
        assert_eq!(widths, [0.025, 0.10, 0.25]);
    }

    #[test]
    fn equivalence_once_shown_needs_no_more_precision() {
        let wobbles = [1.01, 0.99, 1.02, 0.98, 1.035, 0.965, 1.03, 0.97];
        let candidate = wobbles.map(|wobble| 100.0 * wobble);
        let rule = crate::verdict::VerdictRule::default();
        let same = crate::assess(&[100.0; 8], &candidate, crate::Better::Higher, &rule).unwrap();
        let precision = Precision::from_assessment(&same, Statistic::Rate).unwrap();
        assert!(precision.is_met() && precision.question == Question::Settled, "{precision:?}");
        // An equally wide interval around a difference is not precise enough.
        let faster = candidate.map(|value| value * 1.2);
        let differs = crate::assess(&[100.0; 8], &faster, crate::Better::Higher, &rule).unwrap();
        let other = Precision::from_assessment(&differs, Statistic::Rate).unwrap();
        assert!(!Precision { wanted: 0.02, ..other }.is_met());
        let plain = Precision::from_estimate(&paired(&[100.0; 8], &faster).unwrap(), 0.95, Statistic::Rate).unwrap();
        assert!((plain.half_width - other.half_width).abs() < 1e-12);
        let none = crate::assess(&[1.0], &[1.0], crate::Better::Higher, &rule).unwrap();
        assert_eq!(Precision::from_assessment(&none, Statistic::Rate), None);
    }

    /// Verdicts of comparisons of simulated disks under the default rules.
    #[derive(Default)]
    struct Ended {
        held: u32,
        claims: u32,
        equivalent: u32,
    }

    fn compare(draws: u64, spread: f64, factor: f64) -> Ended {
        let mut ended = Ended::default();
        for draw in 0..draws {
            let mut noise = SplitMix::new(draw);
            let (mut a, mut b) = (Vec::new(), Vec::new());
            let mut stopper = stopper();
            let mut precision = Vec::new();
            let rule = crate::verdict::VerdictRule::default();
            while let Decision::Run { blocks } = stopper.decide(a.len() as u32, &precision, FurtherBudget::Left) {
                for _ in 0..blocks {
                    a.push((spread * noise.normal()).exp());
                    b.push(factor * (spread * noise.normal()).exp());
                }
                let found = crate::assess(&a, &b, crate::Better::Higher, &rule).unwrap();
                precision = Precision::from_assessment(&found, Statistic::Rate).into_iter().collect();
            }
            let found = crate::assess(&a, &b, crate::Better::Higher, &rule).unwrap();
            ended.held += u32::from(found.ratio.unwrap().contains(factor));
            ended.claims += u32::from(matches!(found.verdict, Verdict::Faster(_) | Verdict::Slower(_)));
            ended.equivalent += u32::from(matches!(found.verdict, Verdict::Equivalent(_)));
        }
        ended
    }

    #[test]
    fn stopping_by_precision_keeps_coverage_and_false_claims_where_promised() {
        // At a spread of 5 % the data influence the stopping time most.
        let same = compare(600, 0.05, 1.0);
        assert!((555..=588).contains(&same.held), "{} of 600 intervals hold", same.held);
        assert!(same.claims <= 30, "{} of 600 comparisons of equal disks claim a difference", same.claims);
    }

    #[test]
    fn a_true_gap_on_the_margin_is_found_and_calm_equal_disks_are_equivalent() {
        let gap = compare(600, 0.03, 1.05);
        assert!(gap.claims >= 540, "{} of 600 gaps of 5 % found", gap.claims);
        let same = compare(300, 0.02, 1.0);
        assert!(same.equivalent >= 285, "{} of 300 equal disks equivalent", same.equivalent);
    }
}
