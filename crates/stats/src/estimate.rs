//! Geometric means and their ratios, with t intervals on the log scale.
//!
//! Intervals by t on logarithms keep their coverage from n = 3 on. The percentile bootstrap covers 75 % there, and
//! calls two equal systems different in 20 % of comparisons.

use crate::StatsError;
use crate::summary::{Moments, logs};
use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

/// A number with an interval around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfidenceInterval {
    /// Geometric mean, or ratio of geometric means.
    pub value: f64,
    pub lo: f64,
    /// Upper end; infinite if the spread is large enough.
    pub hi: f64,
    /// Coverage, 0–1.
    pub confidence: f64,
}

/// An [`ConfidenceInterval`] of a ratio.
pub type Ratio = ConfidenceInterval;

impl ConfidenceInterval {
    /// Returns `true` if a value lies inside, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.lo <= value && value <= self.hi
    }
}

/// An estimate on the log scale, which gives intervals of any coverage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub log_mean: f64,
    /// Its standard error.
    pub log_error: f64,
    /// Degrees of freedom of the error; not whole for [`welch`].
    pub freedom: f64,
}

impl Estimate {
    /// Returns the estimate: a geometric mean or a ratio.
    pub fn value(&self) -> f64 {
        self.log_mean.exp()
    }

    /// Returns the interval of a coverage strictly between 0 and 1.
    pub fn interval(&self, confidence: f64) -> Result<ConfidenceInterval, StatsError> {
        let half = self.log_half_width(confidence)?;
        Ok(ConfidenceInterval {
            value: self.value(),
            lo: (self.log_mean - half).exp(),
            hi: (self.log_mean + half).exp(),
            confidence,
        })
    }

    /// Returns the distance from the estimate to either end of the interval, in logarithms.
    pub fn log_half_width(&self, confidence: f64) -> Result<f64, StatsError> {
        if !(confidence > 0.0 && confidence < 1.0) {
            let allowed = "0 to 1, both excluded";
            return Err(StatsError::Setting { name: "confidence", value: confidence, allowed });
        }
        // Without spread the interval is a point, whatever the degrees of freedom.
        if self.log_error == 0.0 {
            return Ok(0.0);
        }
        Ok(t_quantile(0.5 + confidence / 2.0, self.freedom) * self.log_error)
    }

    /// Returns the two-sided p of Student's t that the true value is 1 (a ratio without a difference). Without any
    /// spread it is 0, or 1 if the estimate is exactly 1.
    pub fn p(&self) -> f64 {
        if self.log_error == 0.0 {
            return if self.log_mean == 0.0 { 1.0 } else { 0.0 };
        }
        t_two_sided(self.log_mean / self.log_error, self.freedom)
    }

    /// Returns the half-width of the interval relative to the estimate: 0.05 is "± 5 %" (exactly: × or ÷ 1.05).
    pub fn half_width(&self, confidence: f64) -> Result<f64, StatsError> {
        Ok(self.log_half_width(confidence)?.exp_m1())
    }
}

/// Recovers the standard deviation of units from the t interval of their mean, on the log scale: the
/// spread from block to block beneath a [`paired`] estimate. `None` with fewer than two units, or if the
/// numbers are not an interval.
pub fn spread_of_interval(lo: f64, hi: f64, confidence: f64, units: u32) -> Option<f64> {
    let half = (hi / lo).ln() / 2.0;
    if units < 2 || !half.is_finite() || half < 0.0 || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    Some(half / t_quantile(0.5 + confidence / 2.0, f64::from(units - 1)) * f64::from(units).sqrt())
}

/// Returns a quantile of Student's t; `freedom` must be positive.
pub fn t_quantile(probability: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).expect("degrees of freedom are positive").inverse_cdf(probability)
}

/// Returns the probability that Student's t is above `t`; `freedom` must be positive.
pub(crate) fn t_above(t: f64, freedom: f64) -> f64 {
    if t.is_nan() {
        return 1.0;
    }
    StudentsT::new(0.0, 1.0, freedom).expect("degrees of freedom are positive").sf(t)
}

/// Returns the probability that Student's t is at least as far from 0 as `t`.
pub(crate) fn t_two_sided(t: f64, freedom: f64) -> f64 {
    (2.0 * t_above(t.abs(), freedom)).min(1.0)
}

/// Returns the probability that F is above the ratio of two mean squares: 1 if both are 0, 0 if only the lower one
/// is. Degrees of freedom must be positive.
pub(crate) fn f_above(above: f64, below: f64, freedom_above: f64, freedom_below: f64) -> f64 {
    if below == 0.0 {
        return if above == 0.0 { 1.0 } else { 0.0 };
    }
    FisherSnedecor::new(freedom_above, freedom_below).expect("degrees of freedom are positive").sf(above / below)
}

/// Estimates the geometric mean of one sample. Needs at least two values, all above 0.
pub fn sample(values: &[f64]) -> Result<Estimate, StatsError> {
    let moments = Moments::from_values(&logs(values)?)?;
    let n = values.len() as f64;
    Ok(Estimate { log_mean: moments.mean, log_error: (moments.variance / n).sqrt(), freedom: n - 1.0 })
}

/// Estimates the ratio candidate / baseline of two independent samples with different spreads. Needs at least two
/// values each, all above 0. Degrees of freedom by Welch and Satterthwaite (Welch, "The generalization of Student's
/// problem when several different population variances are involved", Biometrika 34, 1947).
///
/// It ignores the order of the runs, and so takes drift for a difference. If both sides
/// ran in blocks, use [`paired`].
pub fn welch(baseline: &[f64], candidate: &[f64]) -> Result<Estimate, StatsError> {
    let (a, b) = (Moments::from_values(&logs(baseline)?)?, Moments::from_values(&logs(candidate)?)?);
    let (n_a, n_b) = (baseline.len() as f64, candidate.len() as f64);
    let (part_a, part_b) = (a.variance / n_a, b.variance / n_b);
    let both = part_a + part_b;
    let freedom = if both == 0.0 {
        n_a + n_b - 2.0
    } else {
        both.powi(2) / (part_a.powi(2) / (n_a - 1.0) + part_b.powi(2) / (n_b - 1.0))
    };
    Ok(Estimate { log_mean: b.mean - a.mean, log_error: both.sqrt(), freedom })
}

/// Estimates the ratio candidate / baseline of runs in blocks: `baseline[i]` and `candidate[i]` belong to block
/// `i`. Conditions that a block's two runs share (a drifting disk, a warm room) cancel. Needs at least two
/// blocks, all values above 0.
pub fn paired(baseline: &[f64], candidate: &[f64]) -> Result<Estimate, StatsError> {
    let differences = log_ratios(baseline, candidate)?;
    let moments = Moments::from_values(&differences)?;
    let n = differences.len() as f64;
    Ok(Estimate { log_mean: moments.mean, log_error: (moments.variance / n).sqrt(), freedom: n - 1.0 })
}

/// Returns ln(candidate / baseline) of each block.
pub(crate) fn log_ratios(baseline: &[f64], candidate: &[f64]) -> Result<Vec<f64>, StatsError> {
    if baseline.len() != candidate.len() {
        return Err(StatsError::Unpaired { baseline: baseline.len(), candidate: candidate.len() });
    }
    let (a, b) = (logs(baseline)?, logs(candidate)?);
    Ok(a.iter().zip(&b).map(|(a, b)| b - a).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: [f64; 8] = [212.1, 205.4, 219.8, 208.3, 215.0, 201.7, 210.9, 207.2];
    const B: [f64; 8] = [231.9, 219.5, 240.1, 226.6, 228.8, 224.2, 229.4, 231.0];

    fn assert_close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
    }

    fn assert_interval(estimate: Estimate, confidence: f64, expected: [f64; 3]) {
        let interval = estimate.interval(confidence).unwrap();
        for (found, expected) in [interval.value, interval.lo, interval.hi].into_iter().zip(expected) {
            assert_close(found, expected);
        }
    }

    /// All expected numbers are from SciPy 1.17.1, with la, lb = numpy.log(A), numpy.log(B).
    #[test]
    fn intervals_agree_with_scipy() {
        // r = scipy.stats.ttest_1samp(la, 0); exp(la.mean()), exp(r.confidence_interval(0.95))
        assert_interval(sample(&A).unwrap(), 0.95, [209.98273804064524, 205.29088828330384, 214.78181834450308]);
        // r = scipy.stats.ttest_ind(lb, la, equal_var=False); exp(lb.mean() - la.mean()), exp(r.confidence_interval(c))
        let welch = welch(&A, &B[..6]).unwrap();
        assert_interval(welch, 0.95, [1.0878346806151722, 1.0503190274461016, 1.1266903306765432]);
        assert_interval(welch, 0.90, [1.0878346806151722, 1.057211311312467, 1.1193450918341101]);
        assert_close(welch.freedom, 10.068935524234647);
        // r = scipy.stats.ttest_rel(lb, la); exp((lb - la).mean()), exp(r.confidence_interval(c))
        let paired = paired(&A, &B).unwrap();
        assert_interval(paired, 0.95, [1.0899383927298645, 1.0751059139297248, 1.1049755047893937]);
        assert_interval(paired, 0.90, [1.0899383927298645, 1.0780381873630593, 1.1019699616136878]);
    }

    #[test]
    fn quantiles_of_t_agree_with_scipy_far_out_and_for_few_degrees_of_freedom() {
        // scipy.stats.t.ppf(p, df)
        for (probability, freedom, expected) in [
            (0.975, 1.0, 12.706204736174694),
            (0.975, 5.0, 2.5705818356363146),
            (0.95, 7.3, 1.8829300179564308),
            (0.995, 2.5, 7.163728138948783),
            (0.975, 29.0, 2.045229642132703),
            (0.8, 5.0, 0.9195437802408271),
            (0.9, 11.0, 1.3634303180205407),
        ] {
            assert_close(t_quantile(probability, freedom), expected);
        }
    }

    #[test]
    fn a_deterministic_device_gives_a_point_not_a_nan() {
        let estimate = paired(&[100.0; 6], &[95.0; 6]).unwrap();
        let interval = estimate.interval(0.95).unwrap();
        assert_close(interval.value, 0.95);
        assert_eq!((interval.lo, interval.hi), (interval.value, interval.value));
        assert_eq!(welch(&[100.0; 3], &[95.0; 3]).unwrap().half_width(0.95).unwrap(), 0.0);
    }

    #[test]
    fn errors_explain_a_missing_estimate() {
        assert_eq!(sample(&[1.0]), Err(StatsError::TooFew { needed: 2, found: 1 }));
        assert_eq!(paired(&[1.0, 2.0], &[1.0]), Err(StatsError::Unpaired { baseline: 2, candidate: 1 }));
        assert_eq!(paired(&[1.0, 2.0], &[1.0, 0.0]), Err(StatsError::NotPositive { index: 1, value: 0.0 }));
        assert!(sample(&A).unwrap().interval(1.0).is_err());
        assert!(sample(&A).unwrap().interval(f64::NAN).is_err());
    }

    #[test]
    fn two_values_with_a_wild_spread_do_not_overflow_into_nan() {
        let interval = sample(&[1e-300, 1e300]).unwrap().interval(0.999).unwrap();
        assert_eq!((interval.lo, interval.hi), (0.0, f64::INFINITY));
    }

    fn blocks() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
        prop::collection::vec((1.0..1e9f64, 1.0..1e9f64), 2..20).prop_map(|pairs| pairs.into_iter().unzip())
    }

    proptest! {
        #[test]
        fn an_interval_gives_back_its_spread((a, b) in blocks(), confidence in 0.5..0.999f64) {
            let estimate = paired(&a, &b).unwrap();
            let interval = estimate.interval(confidence).unwrap();
            let spread = estimate.log_error * (a.len() as f64).sqrt();
            if let Some(found) = spread_of_interval(interval.lo, interval.hi, confidence, a.len() as u32) {
                prop_assert!((found - spread).abs() <= 1e-6 * spread, "{found} is not {spread}");
            }
        }

        #[test]
        fn the_unit_does_not_matter((a, b) in blocks(), scale in 1e-6..1e6f64) {
            let scaled = |values: &[f64]| values.iter().map(|value| value * scale).collect::<Vec<_>>();
            for (plain, other) in [
                (paired(&a, &b).unwrap(), paired(&scaled(&a), &scaled(&b)).unwrap()),
                (welch(&a, &b).unwrap(), welch(&scaled(&a), &scaled(&b)).unwrap()),
            ] {
                prop_assert!((plain.log_mean - other.log_mean).abs() < 1e-9);
                prop_assert!((plain.log_error - other.log_error).abs() < 1e-9);
            }
        }

        #[test]
        fn swapping_the_sides_inverts_the_interval((a, b) in blocks()) {
            for (there, back) in [
                (paired(&a, &b).unwrap(), paired(&b, &a).unwrap()),
                (welch(&a, &b).unwrap(), welch(&b, &a).unwrap()),
            ] {
                prop_assert!((there.log_mean + back.log_mean).abs() < 1e-9);
                prop_assert!((there.log_error - back.log_error).abs() < 1e-9);
                prop_assert!((there.freedom - back.freedom).abs() < 1e-6 * there.freedom);
            }
        }

        #[test]
        fn an_interval_holds_its_estimate_and_widens_with_confidence((a, b) in blocks()) {
            let estimate = paired(&a, &b).unwrap();
            let (narrow, wide) = (estimate.interval(0.90).unwrap(), estimate.interval(0.95).unwrap());
            prop_assert!(narrow.contains(narrow.value));
            prop_assert!(wide.lo <= narrow.lo && narrow.hi <= wide.hi);
        }
    }
}
