//! Intervals for medians, and for percentiles of runs.

use crate::StatsError;
use crate::estimate::ConfidenceInterval;
use crate::summary::{finite, median};

/// Returns the interval of the median between two order statistics, without any assumption about the
/// distribution: the narrowest symmetric one whose coverage is at least `confidence`. Its own `confidence` is
/// the coverage that it has, which comes in steps. A hidden slow mode, which invalidates t below ten runs,
/// does not invalidate this interval.
///
/// Source: Thompson, "On confidence ranges for the median", Annals of Mathematical Statistics 7, 1936; Conover,
/// "Practical nonparametric statistics", 1999, §3.2.
///
/// Errors: a value that is not finite, a confidence outside 0 to 1, fewer values than any interval of that coverage
/// needs (six for 95 %).
pub fn median_interval(values: &[f64], confidence: f64) -> Result<ConfidenceInterval, StatsError> {
    finite(values)?;
    if !(confidence > 0.0 && confidence < 1.0) {
        let allowed = "0 to 1, both excluded";
        return Err(StatsError::Setting { name: "confidence", value: confidence, allowed });
    }
    let n = values.len();
    // The interval from the (k+1)-th smallest to the (k+1)-th largest misses if at most k values lie on one side of
    // the true median: twice the lower tail of a fair coin's binomial.
    let mut tail = 0.5f64.powf(n as f64);
    let (mut term, mut best) = (tail, None);
    for k in 0..n.div_ceil(2) {
        if k > 0 {
            term *= (n - k + 1) as f64 / k as f64;
            tail += term;
        }
        if 1.0 - 2.0 * tail < confidence {
            break;
        }
        best = Some((k, 1.0 - 2.0 * tail));
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match (best, median(values)) {
        (Some((k, confidence)), Some(value)) => {
            Ok(ConfidenceInterval { value, lo: sorted[k], hi: sorted[n - 1 - k], confidence })
        }
        // 1 − 2 · 2⁻ⁿ must reach the confidence.
        _ => Err(StatsError::TooFew { needed: (1.0 - (1.0 - confidence).log2()).ceil() as usize, found: n }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;
    use proptest::prelude::*;

    #[test]
    fn positions_and_coverage_agree_with_the_binomial() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        // R: k <- qbinom(0.025, 20, 0.5); c(k, 21 - k, 1 - 2 * pbinom(k - 1, 20, 0.5))
        let interval = median_interval(&values, 0.95).unwrap();
        assert_eq!((interval.value, interval.lo, interval.hi), (10.5, 6.0, 15.0));
        assert!((interval.confidence - 0.9586105346679688).abs() < 1e-12);
        let six = median_interval(&values[..6], 0.95).unwrap();
        assert_eq!((six.lo, six.hi), (1.0, 6.0));
        assert!((six.confidence - 0.96875).abs() < 1e-12);
    }

    #[test]
    fn five_values_have_no_interval_and_the_error_names_the_number_needed() {
        assert_eq!(median_interval(&[1.0; 5], 0.95), Err(StatsError::TooFew { needed: 6, found: 5 }));
        assert_eq!(median_interval(&[1.0; 7], 0.99), Err(StatsError::TooFew { needed: 8, found: 7 }));
        assert_eq!(median_interval(&[], 0.5), Err(StatsError::TooFew { needed: 2, found: 0 }));
        assert!(median_interval(&[1.0; 8], 0.99).is_ok());
        assert!(median_interval(&[1.0; 9], 1.0).is_err());
        assert!(median_interval(&[f64::NAN; 9], 0.9).is_err());
    }

    #[test]
    fn a_hidden_slow_mode_does_not_ruin_its_coverage() {
        let mut noise = SplitMix::new(3);
        let held = (0..2000).filter(|_| {
            let runs: Vec<f64> =
                (0..8).map(|_| if noise.below(5) == 0 { 0.75 } else { 1.0 } * (0.02 * noise.normal()).exp()).collect();
            // The median of the whole is at the 3/8 quantile of the fast four fifths.
            median_interval(&runs, 0.95).unwrap().contains((0.02f64 * -0.318_639).exp())
        });
        assert!(held.count() >= 1880);
    }

    proptest! {
        #[test]
        fn order_does_not_matter_and_ends_are_values(values in prop::collection::vec(-1e6..1e6f64, 6..40)) {
            let found = median_interval(&values, 0.95).unwrap();
            let back: Vec<f64> = values.iter().rev().copied().collect();
            prop_assert_eq!(median_interval(&back, 0.95).unwrap(), found);
            prop_assert!(values.contains(&found.lo) && values.contains(&found.hi));
            prop_assert!(found.contains(found.value) && found.confidence >= 0.95);
        }
    }
}
