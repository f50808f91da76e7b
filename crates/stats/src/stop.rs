//! When to stop adding blocks: when the answer is precise, never when it is pleasant.
//!
//! Stopping at the first significant result makes significance of noise. This rule looks at the width of the interval
//! alone; begun at six blocks, with two looks running, its intervals cover 93–95 % (87 % when begun at two).

use crate::StatsError;
use crate::estimate::Estimate;

/// What kind of number is estimated; rare events need more patience.
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
    /// The relative half-width that is precise enough: 5 %, 10 %, 25 %.
    pub const fn wanted_half_width(self) -> f64 {
        match self {
            Statistic::Rate => 0.05,
            Statistic::P99 => 0.10,
            Statistic::P999 => 0.25,
        }
    }
}

/// How precise one number is, and how precise it should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// Relative half-width of its interval.
    pub half_width: f64,
    /// It should be below this.
    pub wanted: f64,
}

impl Precision {
    /// Of an estimate, at a coverage strictly between 0 and 1.
    pub fn of(estimate: &Estimate, confidence: f64, statistic: Statistic) -> Result<Precision, StatsError> {
        Ok(Precision { half_width: estimate.half_width(confidence)?, wanted: statistic.wanted_half_width() })
    }

    /// Whether it is precise enough.
    pub fn is_met(&self) -> bool {
        self.half_width < self.wanted
    }
}

/// The numbers of the stop rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopRule {
    /// Blocks before the first look.
    pub blocks_min: u32,
    /// Blocks between looks.
    pub step: u32,
    /// Looks running at which the precision must be met.
    pub looks: u32,
    /// Blocks at which it ends in any case.
    pub blocks_max: u32,
}

impl Default for StopRule {
    fn default() -> StopRule {
        StopRule { blocks_min: 6, step: 2, looks: 2, blocks_max: 30 }
    }
}

/// Whether time and wear allow a further step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// They do.
    Left,
    /// They do not.
    Spent,
}

/// Why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Every number is precise enough, at so many looks running as the rule asks.
    Precise,
    /// The most blocks that the rule allows.
    BlocksMax,
    /// The budget is spent.
    Budget,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Run so many more blocks, then look again.
    Run {
        /// How many; at least 1.
        blocks: u32,
    },
    /// End.
    Stop(StopReason),
}

/// The stop rule in action: ask [`Stopper::look`] before the first block and after each step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopper {
    rule: StopRule,
    met_running: u32,
}

impl Stopper {
    /// Nothing has been looked at.
    pub fn new(rule: StopRule) -> Stopper {
        Stopper { rule, met_running: 0 }
    }

    /// One look after `done` blocks. `precisions` are those of all numbers that the comparison is about; with none, or
    /// below the least number of blocks, nothing is precise.
    pub fn look(&mut self, done: u32, precisions: &[Precision], budget: Budget) -> Decision {
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
        if budget == Budget::Spent {
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

    const SHARP: Precision = Precision { half_width: 0.01, wanted: 0.05 };
    const BLUNT: Precision = Precision { half_width: 0.20, wanted: 0.05 };

    fn stopper() -> Stopper {
        Stopper::new(StopRule::default())
    }

    #[test]
    fn six_blocks_then_two_more_then_precise() {
        let mut stopper = stopper();
        assert_eq!(stopper.look(0, &[], Budget::Left), Decision::Run { blocks: 6 });
        assert_eq!(stopper.look(6, &[SHARP], Budget::Left), Decision::Run { blocks: 2 });
        assert_eq!(stopper.look(8, &[SHARP], Budget::Left), Decision::Stop(StopReason::Precise));
    }

    #[test]
    fn one_lucky_look_is_not_enough() {
        let mut stopper = stopper();
        stopper.look(6, &[SHARP], Budget::Left);
        assert_eq!(stopper.look(8, &[BLUNT], Budget::Left), Decision::Run { blocks: 2 });
        assert_eq!(stopper.look(10, &[SHARP], Budget::Left), Decision::Run { blocks: 2 });
        assert_eq!(stopper.look(12, &[SHARP], Budget::Left), Decision::Stop(StopReason::Precise));
    }

    #[test]
    fn the_least_precise_number_decides() {
        let mut stopper = stopper();
        stopper.look(6, &[SHARP, BLUNT], Budget::Left);
        assert_eq!(stopper.look(8, &[SHARP, BLUNT], Budget::Left), Decision::Run { blocks: 2 });
    }

    #[test]
    fn looks_below_six_blocks_do_not_count() {
        let mut stopper = stopper();
        stopper.look(2, &[SHARP], Budget::Left);
        stopper.look(4, &[SHARP], Budget::Left);
        assert_eq!(stopper.look(6, &[SHARP], Budget::Left), Decision::Run { blocks: 2 });
    }

    #[test]
    fn noise_ends_at_the_most_blocks_and_never_passes_them() {
        let mut stopper = Stopper::new(StopRule { blocks_max: 7, ..StopRule::default() });
        assert_eq!(stopper.look(6, &[BLUNT], Budget::Left), Decision::Run { blocks: 1 });
        assert_eq!(stopper.look(7, &[BLUNT], Budget::Left), Decision::Stop(StopReason::BlocksMax));
    }

    #[test]
    fn a_spent_budget_ends_it_unless_it_is_precise_anyway() {
        assert_eq!(stopper().look(4, &[BLUNT], Budget::Spent), Decision::Stop(StopReason::Budget));
        let mut done = stopper();
        done.look(6, &[SHARP], Budget::Left);
        assert_eq!(done.look(8, &[SHARP], Budget::Spent), Decision::Stop(StopReason::Precise));
    }

    #[test]
    fn a_tail_may_be_wider_than_a_rate() {
        let widths = [Statistic::Rate, Statistic::P99, Statistic::P999].map(Statistic::wanted_half_width);
        assert_eq!(widths, [0.05, 0.10, 0.25]);
    }

    #[test]
    fn stopping_by_precision_keeps_the_coverage_of_the_intervals() {
        // Paired runs of two equal disks with a spread of 5 %: the interval at which it stopped should hold 1 in about
        // 95 % of comparisons, although the data decided when to stop.
        const DRAWS: u64 = 1000;
        let mut held = 0;
        for draw in 0..DRAWS {
            let mut noise = SplitMix::new(draw);
            let (mut a, mut b) = (Vec::new(), Vec::new());
            let mut stopper = stopper();
            let mut precision = Vec::new();
            while let Decision::Run { blocks } = stopper.look(a.len() as u32, &precision, Budget::Left) {
                for _ in 0..blocks {
                    a.push((0.05 * noise.normal()).exp());
                    b.push((0.05 * noise.normal()).exp());
                }
                precision = vec![Precision::of(&paired(&a, &b).unwrap(), 0.95, Statistic::Rate).unwrap()];
            }
            held += u32::from(paired(&a, &b).unwrap().interval(0.95).unwrap().contains(1.0));
        }
        let coverage = f64::from(held) / DRAWS as f64;
        assert!((0.92..=0.97).contains(&coverage), "{coverage}");
    }
}
