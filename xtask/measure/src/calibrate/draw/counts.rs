//! Device counts without a difference: numbers such as 8 and 9 flushes, which a timer decides.

use super::super::scenario::Counted;
use super::super::trial::Outcome;
use anyhow::{Result, bail};
use plumb_stats::counts::{CountedBy, EqualCounts, equal_counts, granularity};
use plumb_stats::random::SplitMix;
use plumb_stats::{Better, Compared, Family, Sides, Verdict, VerdictRule, assess_family};

/// The units between which a count can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Varying {
    Runs,
    /// Between plots; the runs of a plot have the same count.
    Plots,
}

/// Counts of two equal sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DrawnCounts {
    pub plots: u32,
    pub runs: u32,
    /// The count, or one more.
    pub count: f64,
    /// Probability of one more.
    pub chance: f64,
    pub varying: Varying,
}

/// The verdict on one number.
enum CountVerdict {
    Exactly { differs: bool },
    Judged(Verdict),
    Nothing,
}

/// Draws a study of one number, judges it, and returns each line's outcome.
pub(crate) fn count<'a>(
    drawn: &DrawnCounts,
    seed: u64,
    counted: impl Iterator<Item = &'a Counted>,
) -> Result<Vec<Outcome>> {
    let verdict = drawn.judge(seed)?;
    let is_exact = matches!(verdict, CountVerdict::Exactly { differs: true });
    let is_judged = matches!(verdict, CountVerdict::Judged(Verdict::Faster(_) | Verdict::Slower(_)));
    counted
        .map(|counted| match counted {
            Counted::Exact => Ok(Outcome::from_hit(is_exact)),
            Counted::Claim => Ok(Outcome::from_hit(is_exact || is_judged)),
            other => bail!("counts have no {other:?}"),
        })
        .collect()
}

impl DrawnCounts {
    fn judge(&self, seed: u64) -> Result<CountVerdict> {
        let mut random = SplitMix::new(seed);
        let mut one = || self.count + f64::from(u8::from(random.unit() < self.chance));
        let mut plot = || match self.varying {
            Varying::Runs => (0..self.runs).map(|_| one()).collect(),
            Varying::Plots => vec![one(); self.runs as usize],
        };
        let mut side = || (0..self.plots).map(|_| plot()).collect::<Vec<Vec<f64>>>();
        let (baseline, candidate) = (side(), side());
        let all = [baseline.concat(), candidate.concat()];
        match equal_counts(all.iter().map(Vec::as_slice), self.plots, CountedBy::Timers) {
            EqualCounts::Exact => return Ok(CountVerdict::Exactly { differs: all[0][0] != all[1][0] }),
            EqualCounts::TooFew { .. } => return Ok(CountVerdict::Nothing),
            EqualCounts::Vary => {}
        }
        let sides = Sides::Plots { baseline: &baseline, candidate: &candidate };
        let granularity = granularity(all.into_iter().flatten());
        let compared = Compared { granularity, ..Compared::measured(sides, Better::Lower) };
        let found = assess_family(&[compared], &VerdictRule::default(), Family::Holm)?;
        Ok(found.first().map_or(CountVerdict::Nothing, |one| CountVerdict::Judged(one.verdict)))
    }
}
