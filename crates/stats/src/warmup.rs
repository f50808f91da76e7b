//! Detects the end of a run's warm-up.

use crate::StatsError;
use crate::summary::finite;

/// Number of values in one batch.
const BATCH: usize = 5;

/// Fewer values than this show no warm-up.
pub const VALUES_MIN: usize = 10;

/// The end of a warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmupCut {
    /// Index of the first value of the steady part.
    pub at: usize,
    /// Whether the cut may be used; it may not past the middle. Then the rest is too short to show that it is steady,
    /// and on a slowly decaying series the cut does go there (it reduces the bias from 60 % to 9 %, not to 0).
    pub accepted: bool,
}

/// Applies MSER-5 to values over equal lengths of time, such as one-second means. Of all cuts between batches of
/// five, it chooses the one after which the mean is known best (least sum of squares over the square of the number of
/// remaining batches). It never cuts into the last five batches, if there are that many, since a few values agree by
/// chance. It ignores a last incomplete batch. Needs at least [`VALUES_MIN`] values.
///
/// Source: White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69, 1997;
/// White, Cobb and Spratt, "A comparison of five steady-state truncation heuristics for simulation", 2000.
pub(crate) fn mser5(values: &[f64]) -> Result<WarmupCut, StatsError> {
    finite(values)?;
    if values.len() < VALUES_MIN {
        return Err(StatsError::TooFew { needed: VALUES_MIN, found: values.len() });
    }
    let batches: Vec<f64> = values.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    // Squares of distances from the overall mean, so that a small spread around a large mean keeps its digits.
    let mean = batches.iter().sum::<f64>() / batches.len() as f64;
    let last_cut = batches.len().saturating_sub(BATCH).max(batches.len() / 2);
    let (mut sum, mut squares, mut left) = (0.0, 0.0, 0.0);
    let (mut best, mut at) = (f64::INFINITY, 0);
    for cut in (0..batches.len()).rev() {
        let value = batches[cut] - mean;
        (sum, squares, left) = (sum + value, squares + value * value, left + 1.0);
        // In a tie the earlier cut wins: it discards less.
        let error = (squares - sum * sum / left).max(0.0) / (left * left);
        if cut <= last_cut && error <= best {
            (best, at) = (error, cut);
        }
    }
    Ok(WarmupCut { at: at * BATCH, accepted: at * BATCH * 2 <= values.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;
    use proptest::prelude::*;

    #[test]
    fn the_cut_agrees_with_a_direct_computation() {
        // numpy: b = x.reshape(-1, 5).mean(1); d = argmin([b[d:].var() / (len(b) - d) for d in range(len(b) - 4)])
        let values: Vec<f64> =
            (0..100).map(|i| 100.0 + 80.0 * (-f64::from(i) / 6.0).exp() + f64::from(i * i * 37 % 11)).collect();
        assert_eq!(mser5(&values).unwrap(), WarmupCut { at: 30, accepted: true });
    }

    #[test]
    fn a_decaying_start_is_cut_and_its_bias_goes() {
        // Amplitude 1, time constant 40 of 300 seconds: the mean is 13 % too high.
        let values: Vec<f64> = {
            let mut noise = SplitMix::new(1);
            (0..300).map(|i| 100.0 * (1.0 + (-f64::from(i) / 40.0).exp() + 0.05 * noise.normal())).collect()
        };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let cut = mser5(&values).unwrap();
        assert!(mean(&values) > 112.0);
        assert!(cut.accepted && mean(&values[cut.at..]) < 102.0, "{cut:?}");
    }

    #[test]
    fn a_start_that_never_ends_is_not_accepted() {
        let values: Vec<f64> = (0..100).map(|i| 1000.0 - f64::from(i * i) / 20.0).collect();
        assert!(!mser5(&values).unwrap().accepted);
    }

    #[test]
    fn silence_is_not_cut() {
        assert_eq!(mser5(&[7.0; 40]).unwrap(), WarmupCut { at: 0, accepted: true });
        assert_eq!(mser5(&[7.0; 9]), Err(StatsError::TooFew { needed: 10, found: 9 }));
        assert!(mser5(&[f64::NAN; 20]).is_err());
    }

    proptest! {
        #[test]
        fn unit_and_zero_point_do_not_matter(values in prop::collection::vec(0..1000i32, 10..80)) {
            let plain: Vec<f64> = values.iter().copied().map(f64::from).collect();
            let other: Vec<f64> = plain.iter().map(|value| value * 4.0 + 1024.0).collect();
            let (a, b) = (mser5(&plain).unwrap(), mser5(&other).unwrap());
            prop_assert_eq!(a, b);
            prop_assert!(a.at < plain.len() && a.at % 5 == 0);
        }
    }
}
