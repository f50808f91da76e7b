//! Whether a device has reached its steady state: the round rule of SNIA.
//!
//! Source: SNIA, Solid State Storage Performance Test Specification 2.0.1, definition of steady state: over a window of
//! five rounds, max − min is at most 20 % of the average, and the fitted line's largest minus smallest value at most 10 %.

/// The numbers of the rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Rounds looked at together; at least 2.
    pub window: u32,
    /// Largest allowed (max − min) / mean.
    pub range: f64,
    /// Largest allowed rise or fall of the fitted line over the window, relative to the mean.
    pub slope: f64,
    /// Rounds after which a device counts as never steady.
    pub rounds_max: u32,
}

impl Default for Rule {
    fn default() -> Rule {
        Rule { window: 5, range: 0.20, slope: 0.10, rounds_max: 25 }
    }
}

/// The rounds that met the rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyWindow {
    /// First round of the window, from 0.
    pub first: usize,
    /// Last round of the window: the measurement may end here.
    pub last: usize,
    /// Mean of the window.
    pub mean: f64,
    /// (max − min) / mean.
    pub range: f64,
    /// Rise of the fitted line over the window, relative to the mean; negative where it falls.
    pub excursion: f64,
}

/// The earliest window of rounds that meets the rule, among the first `rounds_max`. `None`: not steady so far, and
/// with `rounds_max` rounds or more, not at all. Rounds that are not finite, or a mean that is not above 0, are not
/// steady.
pub fn snia(rounds: &[f64], rule: &Rule) -> Option<SteadyWindow> {
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

/// Least-squares line over equally spaced rounds.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decaying_drive_is_steady_once_it_has_decayed() {
        let rounds = [300.0, 210.0, 150.0, 118.0, 104.0, 101.0, 99.0, 102.0, 100.0];
        let steady = snia(&rounds, &Rule::default()).unwrap();
        // Rounds 3–7 (118 … 102) range 18.1 % but fall 14.1 %; 4–8 do not.
        assert_eq!((steady.first, steady.last), (4, 8));
        // numpy.polyfit(range(5), [104, 101, 99, 102, 100], 1)[0] * 4 / numpy.mean([104, 101, 99, 102, 100])
        assert!((steady.excursion - -0.027667984189723556).abs() < 1e-12, "{}", steady.excursion);
        assert!((steady.range - 5.0 / 101.2).abs() < 1e-12);
        assert_eq!(snia(&rounds[..8], &Rule::default()), None);
    }

    #[test]
    fn a_small_range_with_a_steep_line_is_not_steady() {
        // 100 to 118 in even steps: range 16.5 % is allowed, but the line rises as much.
        let rising = [100.0, 104.5, 109.0, 113.5, 118.0];
        assert_eq!(snia(&rising, &Rule::default()), None);
        assert!(snia(&rising, &Rule { slope: 0.17, ..Rule::default() }).is_some());
    }

    #[test]
    fn a_flat_line_with_a_wide_range_is_not_steady() {
        let bouncing = [100.0, 125.0, 100.0, 125.0, 100.0];
        assert_eq!(snia(&bouncing, &Rule::default()), None);
    }

    #[test]
    fn too_few_rounds_silence_and_nan_are_not_steady() {
        assert_eq!(snia(&[100.0; 4], &Rule::default()), None);
        assert_eq!(snia(&[0.0; 5], &Rule::default()), None);
        assert_eq!(snia(&[100.0, f64::NAN, 100.0, 100.0, 100.0], &Rule::default()), None);
    }

    #[test]
    fn after_the_last_round_it_gives_up() {
        let mut rounds: Vec<f64> = (0..25).map(|i| if i % 2 == 0 { 100.0 } else { 150.0 }).collect();
        rounds.extend([100.0; 5]);
        assert_eq!(snia(&rounds, &Rule::default()), None);
        assert!(snia(&rounds, &Rule { rounds_max: 30, ..Rule::default() }).is_some());
    }
}
