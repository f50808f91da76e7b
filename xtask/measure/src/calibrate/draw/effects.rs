//! The table of effects: a factor that is hard to change, an easy one, and their interaction.

use super::super::scenario::Counted;
use super::super::trial::Outcome;
use anyhow::{Result, bail};
use plumb_stats::effects::{PlotValues, contrast};
use plumb_stats::random::SplitMix;

/// Levels of the easy factor.
const EASY: usize = 3;

/// Effect of the hard factor's second level, on the log scale.
const HARD_DOES: f64 = 0.2;
/// Effect of the easy factor's last level, on the log scale.
const EASY_DOES: f64 = -0.3;
/// Their interaction, on the log scale.
const TOGETHER_DO: f64 = 0.1;

/// One line of the table of effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The hard factor's second level against its first.
    Hard,
    /// The easy factor's last level against its first.
    Easy,
    /// Difference of the easy factor's effect between the hard one's levels.
    Interaction,
}

/// A factorial study: two levels that need a provisioning, and three that do not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DrawnEffects {
    /// Plots of each level of the hard factor.
    pub plots: [u32; 2],
    /// Share of rejected runs.
    pub rejected: f64,
    pub of_plots: f64,
    /// Spread of the easy factor's effect between plots.
    pub of_effects: f64,
    /// Spread of a value within a plot.
    pub of_runs: f64,
}

/// Draws a study, and returns whether the interval of each effect contains the true one.
pub(crate) fn cover<'a>(
    drawn: &DrawnEffects,
    seed: u64,
    counted: impl Iterator<Item = &'a Counted>,
) -> Result<Vec<Outcome>> {
    let plots = drawn.draw(seed);
    counted
        .map(|counted| match counted {
            Counted::EffectCovered(effect) => Ok(effect.covered(&plots)),
            other => bail!("effects have no {other:?}"),
        })
        .collect()
}

impl DrawnEffects {
    fn draw(&self, seed: u64) -> Vec<PlotValues> {
        let mut random = SplitMix::new(seed);
        let mut plots = Vec::new();
        for (whole, count) in self.plots.into_iter().enumerate() {
            for _ in 0..count {
                let level = self.of_plots * random.normal();
                let mut value = |easy: usize| {
                    let is_last = easy == EASY - 1;
                    let hard = if whole == 1 { HARD_DOES } else { 0.0 };
                    let easy = if is_last { EASY_DOES } else { 0.0 };
                    let together = if is_last && whole == 1 { TOGETHER_DO } else { 0.0 };
                    let noise = self.of_effects * random.normal() + self.of_runs * random.normal();
                    (random.unit() >= self.rejected).then_some(level + hard + easy + together + noise)
                };
                plots.push(PlotValues { whole, logs: (0..EASY).map(&mut value).collect() });
            }
        }
        plots
    }
}

impl Effect {
    /// An effect that cannot be estimated, because too many runs were rejected, does not count.
    fn covered(self, plots: &[PlotValues]) -> Outcome {
        let each = 1.0 / EASY as f64;
        let (whole, sub, truth) = match self {
            Effect::Hard => ([-1.0, 1.0], [each; EASY], HARD_DOES + TOGETHER_DO * each),
            Effect::Easy => ([0.5, 0.5], [-1.0, 0.0, 1.0], EASY_DOES + TOGETHER_DO * 0.5),
            Effect::Interaction => ([-1.0, 1.0], [-1.0, 0.0, 1.0], TOGETHER_DO),
        };
        let found = contrast(plots, &whole, &sub).ok();
        let interval = found.and_then(|estimate| estimate.interval(0.95).ok());
        interval.map_or(Outcome::NotCounted, |interval| Outcome::from_hit(interval.contains(truth.exp())))
    }
}
