//! Detects the steady state of a device (the round rule of SNIA), and of a run.
//!
//! Source of the round rule: SNIA, Solid State Storage Performance Test Specification 2.0.1, definition of steady
//! state: over a window of five rounds, max − min is at most 20 % of the average, and the fitted line's largest minus
//! smallest value at most 10 %.

use crate::StatsError;
use crate::summary::{finite, median};
use crate::trend::{Trend, TrendLine, mann_kendall_inflated, theil_sen};
use crate::warmup::{WarmupCut, mser5};

/// Settings of the round rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundRule {
    /// Number of rounds in a window; at least 2.
    pub window: u32,
    /// Largest allowed (max − min) / mean.
    pub range: f64,
    /// Largest allowed rise or fall of the fitted line over the window, relative to the mean.
    pub slope: f64,
    /// Number of rounds after which a device counts as never steady.
    pub rounds_max: u32,
}

impl Default for RoundRule {
    fn default() -> RoundRule {
        RoundRule { window: 5, range: 0.20, slope: 0.10, rounds_max: 25 }
    }
}

/// The rounds that met the rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyWindow {
    /// First round of the window, from 0.
    pub first: usize,
    /// Last round of the window: the measurement may end here.
    pub last: usize,
    pub mean: f64,
    /// (max − min) / mean.
    pub range: f64,
    /// Rise of the fitted line over the window, relative to the mean; negative if it falls.
    pub excursion: f64,
}

/// Returns the earliest window of rounds that meets the rule, among the first `rounds_max`. `None` means not steady
/// so far, and with `rounds_max` rounds or more, never. Windows with a value that is not finite, or a mean that is
/// not above 0, are not steady.
pub fn snia(rounds: &[f64], rule: &RoundRule) -> Option<SteadyWindow> {
    let window = rule.window.max(2) as usize;
    let rounds = &rounds[..rounds.len().min(rule.rounds_max as usize)];
    rounds.windows(window).enumerate().find_map(|(first, values)| {
        let fit = fit(values)?;
        (fit.range <= rule.range && fit.excursion.abs() <= rule.slope).then_some(SteadyWindow {
            first,
            last: first + window - 1,
            ..fit
        })
    })
}

/// Fits a least-squares line to equally spaced rounds.
fn fit(values: &[f64]) -> Option<SteadyWindow> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if !mean.is_finite() || mean <= 0.0 {
        return None;
    }
    let middle = (n - 1.0) / 2.0;
    let distances = || (0..values.len()).map(|i| i as f64 - middle);
    let slope =
        distances().zip(values).map(|(x, y)| x * (y - mean)).sum::<f64>() / distances().map(|x| x * x).sum::<f64>();
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    Some(SteadyWindow {
        first: 0,
        last: values.len() - 1,
        mean,
        range: (max - min) / mean,
        excursion: slope * (n - 1.0) / mean,
    })
}

/// A drift needs p below this …
pub(crate) const DRIFT_P: f64 = 0.01;

/// … and more than this, relative to the median, from first to last.
pub const DRIFT: f64 = 0.05;

/// State of a run, from its series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// The series after the cut neither rises nor falls.
    Steady,
    /// It rises or falls after the cut.
    Drifting,
    /// It rises or falls, and the warm-up does not end within the first half.
    WarmingUp,
}

/// Outcome of [`within_run`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WithinRun {
    pub state: RunState,
    /// End of the warm-up, see [`mser5`].
    pub cut: WarmupCut,
    /// First value of the part that was tested for drift: the cut if it was accepted, else 0.
    pub from: usize,
    /// Rise of the Theil–Sen line over that part, relative to its median; negative if it falls.
    pub drift: f64,
    /// The trend test over that part.
    pub trend: Trend,
}

/// Tests whether a run was in a steady state, from its one-second means. [`mser5`] cuts off the warm-up, and
/// the rest must not drift. It drifts if the Mann–Kendall p is below [`DRIFT_P`] *and* the Theil–Sen line moves
/// by more than [`DRIFT`]. A cut that is not accepted proves nothing by itself, since noise moves it too; then
/// the whole series is tested.
///
/// Neighbouring seconds are correlated, which looks like a trend. The variance of the test is therefore multiplied by
/// (1 + r) / (1 − r), where r is the correlation of neighbours around the line, if positive (Hamed and Rao, "A
/// modified Mann-Kendall trend test for autocorrelated data", Journal of Hydrology 204, 1998, reduced to r alone).
///
/// Errors: fewer than [`crate::warmup::VALUES_MIN`] values, one that is not finite, a median that is not above 0.
pub fn within_run(values: &[f64]) -> Result<WithinRun, StatsError> {
    finite(values)?;
    let cut = mser5(values)?;
    let from = if cut.accepted { cut.at } else { 0 };
    let rest = &values[from..];
    let level = median(rest)
        .filter(|&level| level > 0.0)
        .ok_or(StatsError::NotPositive { index: from, value: values[from] })?;
    let line = theil_sen(rest)?;
    let drift = line.slope * (rest.len() - 1) as f64 / level;
    let trend = mann_kendall_inflated(rest, inflation(rest, line))?;
    let state = match (trend.p < DRIFT_P && drift.abs() > DRIFT, cut.accepted) {
        (false, _) => RunState::Steady,
        (true, true) => RunState::Drifting,
        (true, false) => RunState::WarmingUp,
    };
    Ok(WithinRun { state, cut, from, drift, trend })
}

/// Returns the factor by which correlation of neighbours around the line inflates the variance of a sum.
fn inflation(values: &[f64], line: TrendLine) -> f64 {
    let rest: Vec<f64> =
        values.iter().enumerate().map(|(i, value)| value - line.start - line.slope * i as f64).collect();
    inflation_of(&rest)
}

/// Returns that factor for residuals around the level; exactly 1 if neighbours are not correlated.
pub(crate) fn inflation_of(residuals: &[f64]) -> f64 {
    let squares: f64 = residuals.iter().map(|value| value * value).sum();
    if squares == 0.0 {
        return 1.0;
    }
    let neighbours: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let n = residuals.len() as f64;
    // A correlation that chance gives in half of all series of independent values does not count.
    let r = neighbours / squares;
    if r <= 1.0 / n.sqrt() { 1.0 } else { (1.0 + r.min(0.95)) / (1.0 - r.min(0.95)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    fn run(seed: u64, noise: f64, resemblance: f64, level: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut stream = SplitMix::new(seed);
        let mut state = stream.normal();
        (0..60)
            .map(|i| {
                let fresh = (1.0 - resemblance * resemblance).sqrt();
                state = resemblance * state + fresh * stream.normal();
                level(f64::from(i) / 60.0) * (1.0 + noise * state)
            })
            .collect()
    }

    fn not_steady(noise: f64, resemblance: f64, level: impl Fn(f64) -> f64 + Copy) -> u32 {
        let state = |seed| within_run(&run(seed, noise, resemblance, level)).unwrap().state;
        (0..200).map(|seed| u32::from(state(seed) != RunState::Steady)).sum()
    }

    #[test]
    fn a_flat_run_is_steady_even_with_correlated_neighbours() {
        assert!(not_steady(0.05, 0.0, |_| 100.0) <= 2);
        assert!(not_steady(0.20, 0.0, |_| 100.0) <= 4);
        assert!(not_steady(0.05, 0.7, |_| 100.0) <= 6);
    }

    #[test]
    fn a_falling_run_is_not_steady_and_a_warm_up_is_cut_off() {
        assert!(not_steady(0.03, 0.0, |t| 100.0 * (1.0 - 0.15 * t)) >= 180);
        // The first sixth decays from twice the level.
        assert!(not_steady(0.02, 0.0, |t| 100.0 * (1.0 + (-t * 40.0).exp())) <= 4);
        let warming: Vec<f64> = (0..60).map(|i| 100.0 + 5.0 * f64::from(i)).collect();
        assert_ne!(within_run(&warming).unwrap().state, RunState::Steady);
    }

    #[test]
    fn a_significant_but_small_drift_is_steady() {
        let creeping: Vec<f64> = (0..60).map(|i| 100.0 + 0.05 * f64::from(i)).collect();
        let found = within_run(&creeping).unwrap();
        assert!(found.state == RunState::Steady && found.trend.p < 1e-6 && found.drift > 0.0, "{found:?}");
        assert_eq!(within_run(&[0.0; 20]), Err(StatsError::NotPositive { index: 0, value: 0.0 }));
    }

    #[test]
    fn a_decaying_drive_is_steady_once_it_has_decayed() {
        let rounds = [300.0, 210.0, 150.0, 118.0, 104.0, 101.0, 99.0, 102.0, 100.0];
        let steady = snia(&rounds, &RoundRule::default()).unwrap();
        // Rounds 3–7 (118 … 102) range 18.1 % but fall 14.1 %; 4–8 do not.
        assert_eq!((steady.first, steady.last), (4, 8));
        // numpy.polyfit(range(5), [104, 101, 99, 102, 100], 1)[0] * 4 / numpy.mean([104, 101, 99, 102, 100])
        assert!((steady.excursion - -0.027667984189723556).abs() < 1e-12, "{}", steady.excursion);
        assert!((steady.range - 5.0 / 101.2).abs() < 1e-12);
        assert_eq!(snia(&rounds[..8], &RoundRule::default()), None);
    }

    #[test]
    fn a_small_range_with_a_steep_line_is_not_steady() {
        // 100 to 118 in even steps: a range of 16.5 % is allowed, but the line rises as much.
        let rising = [100.0, 104.5, 109.0, 113.5, 118.0];
        assert_eq!(snia(&rising, &RoundRule::default()), None);
        assert!(snia(&rising, &RoundRule { slope: 0.17, ..RoundRule::default() }).is_some());
    }

    #[test]
    fn a_flat_line_with_a_wide_range_is_not_steady() {
        let bouncing = [100.0, 125.0, 100.0, 125.0, 100.0];
        assert_eq!(snia(&bouncing, &RoundRule::default()), None);
    }

    #[test]
    fn too_few_rounds_silence_and_nan_are_not_steady() {
        assert_eq!(snia(&[100.0; 4], &RoundRule::default()), None);
        assert_eq!(snia(&[0.0; 5], &RoundRule::default()), None);
        assert_eq!(snia(&[100.0, f64::NAN, 100.0, 100.0, 100.0], &RoundRule::default()), None);
    }

    #[test]
    fn after_the_last_round_it_gives_up() {
        let mut rounds: Vec<f64> = (0..25).map(|i| if i % 2 == 0 { 100.0 } else { 150.0 }).collect();
        rounds.extend([100.0; 5]);
        assert_eq!(snia(&rounds, &RoundRule::default()), None);
        assert!(snia(&rounds, &RoundRule { rounds_max: 30, ..RoundRule::default() }).is_some());
    }
}
