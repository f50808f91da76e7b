//! Two one-sided tests that a difference is within a margin.

use crate::StatsError;
use crate::estimate::{Estimate, t_above};

/// Outcome of [`tost`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tost {
    /// One-sided p that the ratio is not above the lower end of the margin.
    pub p_lower: f64,
    /// One-sided p that the ratio is not below its upper end.
    pub p_upper: f64,
    /// The larger of the two. Below 0.05 the sides are equivalent; the 90 % interval then
    /// lies wholly within the margin.
    pub p: f64,
}

/// Runs two one-sided t tests that a ratio lies between 1 / (1 + margin) and 1 + margin (Schuirmann, "A
/// comparison of the two one-sided tests procedure and the power approach for assessing the equivalence of
/// average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15, 1987). Errors: a margin
/// that is not above 0.
pub(crate) fn tost(ratio: &Estimate, margin: f64) -> Result<Tost, StatsError> {
    if !(margin > 0.0 && margin.is_finite()) {
        return Err(StatsError::Setting { name: "margin", value: margin, allowed: "the numbers above 0" });
    }
    let one_sided = |distance: f64| {
        if ratio.log_error > 0.0 {
            t_above(distance / ratio.log_error, ratio.freedom)
        } else if distance > 0.0 {
            0.0
        } else {
            1.0
        }
    };
    let (p_lower, p_upper) = (one_sided(margin.ln_1p() + ratio.log_mean), one_sided(margin.ln_1p() - ratio.log_mean));
    Ok(Tost { p_lower, p_upper, p: p_lower.max(p_upper) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::paired;
    use proptest::prelude::*;

    const A: [f64; 8] = [212.1, 205.4, 219.8, 208.3, 215.0, 201.7, 210.9, 207.2];
    const B: [f64; 8] = [214.9, 203.5, 222.1, 212.6, 213.8, 205.2, 209.4, 211.0];

    #[test]
    fn both_p_agree_with_scipy() {
        let found = tost(&paired(&A, &B).unwrap(), 0.05).unwrap();
        // d = numpy.log(B / A); scipy.stats.ttest_1samp(d, -numpy.log(1.05), alternative='greater').pvalue
        assert!((found.p_lower / 2.139257403580381e-06 - 1.0).abs() < 1e-8, "{}", found.p_lower);
        // scipy.stats.ttest_1samp(d, numpy.log(1.05), alternative='less').pvalue
        assert!((found.p_upper / 1.5310082260918557e-05 - 1.0).abs() < 1e-8, "{}", found.p_upper);
        assert_eq!(found.p, found.p_upper);
    }

    #[test]
    fn without_spread_the_answer_is_certain() {
        let exact = |ratio: f64| tost(&paired(&[100.0; 6], &[100.0 * ratio; 6]).unwrap(), 0.05).unwrap().p;
        assert_eq!((exact(1.0), exact(1.2)), (0.0, 1.0));
        assert!(tost(&paired(&A, &B).unwrap(), 0.0).is_err());
    }

    proptest! {
        #[test]
        fn equivalence_is_the_narrow_interval_within_the_margin(
            pairs in prop::collection::vec((1.0..1.3f64, 1.0..1.3f64), 3..15), margin in 0.01..0.3f64
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let ratio = paired(&a, &b).unwrap();
            let narrow = ratio.interval(0.90).unwrap();
            let within = narrow.lo > 1.0 / (1.0 + margin) && narrow.hi < 1.0 + margin;
            prop_assert_eq!(tost(&ratio, margin).unwrap().p < 0.05, within);
        }
    }
}
