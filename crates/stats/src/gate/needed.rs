//! Estimates how much more a gate must measure to decide.

use super::{DECIDED, Design, GateEvidence, GateRule, Looks, SESSIONS_MIN};
use crate::estimate::t_quantile;
use crate::verdict::BLOCKS_NEEDED_MAX;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

/// Number of equally likely parts, over whose middles uncertain quantities are averaged.
const PARTS: usize = 9;

/// More sessions than this are not a realistic plan.
const SESSIONS_NEEDED_MAX: u32 = 30;

/// Returns the smallest number of units that decides with the chance [`DECIDED`]. It must do so both at
/// the observed ratio and without any change, because most gates are asked about unchanged systems,
/// whatever the first blocks show.
///
/// Ratio and spread are uncertain after few units, so the chance is averaged over their posterior distributions under
/// a flat prior. A plan from the point estimate would promise more than it delivers.
pub(super) fn units_needed(evidence: &GateEvidence, family: usize, rule: &GateRule) -> Option<u32> {
    let estimate = evidence.estimate?;
    let (step, least, most) = match evidence.design {
        Design::Blocks => (2, rule.blocks_min.next_multiple_of(2), BLOCKS_NEEDED_MAX),
        Design::Sessions { candidate, .. } => (1, candidate.max(1), SESSIONS_NEEDED_MAX),
        Design::Plots => return None,
    };
    if let Design::Sessions { baseline, .. } = evidence.design
        && baseline < SESSIONS_MIN
    {
        return None;
    }
    // The error of a design in which each unit has the spread 1.
    let relative_error = |units: u32| match evidence.design {
        Design::Sessions { baseline, .. } => (1.0 / f64::from(baseline) + 1.0 / f64::from(units)).sqrt(),
        Design::Blocks | Design::Plots => 1.0 / f64::from(units).sqrt(),
    };
    let now = match evidence.design {
        Design::Sessions { candidate, .. } => candidate.max(1),
        Design::Blocks | Design::Plots => evidence.units,
    };
    let spread = estimate.log_error / relative_error(now);
    let seen = possible(estimate.log_mean, estimate.log_error, spread, estimate.freedom);
    let unchanged = possible(0.0, 0.0, spread, estimate.freedom);
    let chance = |units: u32| {
        let (looks, freedom) = match evidence.design {
            Design::Sessions { baseline, .. } => (1, baseline + units - 2),
            Design::Blocks | Design::Plots => (Looks::within(rule.blocks_min, units).count(), units - 1),
        };
        let level = rule.alpha / f64::from(looks);
        let test = Test {
            margin: rule.margin.ln_1p(),
            beyond: t_quantile(1.0 - level, f64::from(freedom)),
            worse: t_quantile(1.0 - level / family as f64, f64::from(freedom)),
            freedom: f64::from(freedom),
            relative_error: relative_error(units),
        };
        let mean = |possible: &[(f64, f64)]| {
            possible.iter().map(|&(log, spread)| test.decision_chance(log, spread)).sum::<f64>() / possible.len() as f64
        };
        mean(&seen).min(mean(&unchanged))
    };
    // One more look may cost more than two more units bring, so the chance does not rise with every step.
    let mut units = least;
    while units <= most {
        if chance(units) >= DECIDED {
            return Some(units);
        }
        units = (units + units / 20).max(units + step).next_multiple_of(step);
    }
    None
}

/// Returns equally likely pairs of logarithm and spread.
fn possible(log: f64, error: f64, spread: f64, freedom: f64) -> Vec<(f64, f64)> {
    let middle = |part: usize| (part as f64 + 0.5) / PARTS as f64;
    let (normal, chi) = (Normal::standard(), ChiSquared::new(freedom));
    let Ok(chi) = chi else { return vec![(log, spread)] };
    let of_part = |part: usize| {
        // The true spread over the estimated one.
        let factor = (freedom / chi.inverse_cdf(middle(part))).sqrt();
        let shift = move |other: usize| error * factor * normal.inverse_cdf(middle(other));
        (0..PARTS).map(move |other| (log + shift(other), spread * factor))
    };
    (0..PARTS).flat_map(of_part).collect()
}

/// The two tests at one look.
struct Test {
    margin: f64,
    beyond: f64,
    worse: f64,
    freedom: f64,
    relative_error: f64,
}

impl Test {
    /// Returns the chance of either answer if these are the true values.
    fn decision_chance(&self, log: f64, spread: f64) -> f64 {
        let error = spread * self.relative_error;
        let passes = self.exceeds(self.beyond, (log + self.margin) / error);
        let fails = self.exceeds(self.worse, -log / error);
        (passes + fails).min(1.0)
    }

    /// Returns the chance that a noncentral t exceeds a quantile, by a normal approximation (Johnson and Welch,
    /// "Applications of the non-central t-distribution", Biometrika 31, 1940).
    fn exceeds(&self, quantile: f64, shift: f64) -> f64 {
        let centre = quantile * (1.0 - 1.0 / (4.0 * self.freedom));
        let width = (1.0 + quantile * quantile / (2.0 * self.freedom)).sqrt();
        Normal::standard().cdf((shift - centre) / width)
    }
}
