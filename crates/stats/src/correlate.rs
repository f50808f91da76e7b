//! Detects two metrics that are one measurement, such as two byte counts over the same seconds.

use crate::StatsError;
use crate::summary::finite;

/// Two separate measurements never correlate this closely.
pub const ONE_MEASUREMENT: f64 = 0.999;

/// Fewest pairs for the test: six unrelated pairs reach such a correlation in less than two of a million cases.
pub const PAIRS_MIN: usize = 6;

/// Returns Pearson's correlation of two numbers of the same runs (Pearson, "Mathematical contributions to the theory
/// of evolution III", 1896); `None` if one of them does not vary. Errors: unequal lengths, fewer than two pairs, a
/// value that is not finite.
pub(crate) fn pearson(x: &[f64], y: &[f64]) -> Result<Option<f64>, StatsError> {
    if x.len() != y.len() {
        return Err(StatsError::Unpaired { baseline: x.len(), candidate: y.len() });
    }
    finite(x)?;
    finite(y)?;
    if x.len() < 2 {
        return Err(StatsError::TooFew { needed: 2, found: x.len() });
    }
    let centred = |values: &[f64]| -> Vec<f64> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        // Scaled by the largest, so that squares of large values stay finite.
        let top = values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max);
        let varies = values.iter().any(|&value| value != values[0]);
        values.iter().map(|value| if varies { (value - mean) / top } else { 0.0 }).collect()
    };
    let (x, y) = (centred(x), centred(y));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let scale = (dot(&x, &x) * dot(&y, &y)).sqrt();
    Ok((scale > 0.0).then(|| (dot(&x, &y) / scale).clamp(-1.0, 1.0)))
}

/// Returns the correlation of two metrics if it shows that they are one measurement. That takes at least
/// [`PAIRS_MIN`] runs, and a correlation above [`ONE_MEASUREMENT`] or below its negative (a rate and its time).
/// `None` otherwise, if one of them does not vary, or if a value is not finite.
pub fn one_measurement(x: &[f64], y: &[f64]) -> Option<f64> {
    let r = pearson(x, y).ok().flatten()?;
    (x.len() >= PAIRS_MIN && r.abs() > ONE_MEASUREMENT).then_some(r)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const X: [f64; 6] = [10.2, 11.9, 9.7, 12.4, 10.8, 11.1];
    const Y: [f64; 6] = [31.0, 33.5, 30.9, 36.1, 31.8, 34.0];

    #[test]
    fn correlation_agrees_with_scipy() {
        // scipy.stats.pearsonr(x, y).statistic
        assert!((pearson(&X, &Y).unwrap().unwrap() - 0.9190962759851984).abs() < 1e-12);
        assert_eq!(pearson(&X, &[4.0; 6]).unwrap(), None);
        assert!(pearson(&X, &Y[..5]).is_err());
    }

    #[test]
    fn two_byte_counts_over_the_same_seconds_are_one_measurement() {
        let seconds = [100.0, 104.0, 97.0, 110.0, 101.0, 99.0];
        let read = seconds.map(|s| 1.4e9 / s);
        let write = seconds.map(|s| 3.2e9 / s + 1.0);
        assert!(one_measurement(&read, &write).unwrap() > 0.999);
        assert!(pearson(&read, &seconds).unwrap().unwrap() < -0.99);
        assert_eq!(one_measurement(&X, &Y), None);
        assert_eq!(one_measurement(&read[..4], &write[..4]), None);
        assert_eq!(one_measurement(&[f64::NAN; 6], &Y), None);
    }

    proptest! {
        #[test]
        fn scale_and_sides_do_not_matter(pairs in prop::collection::vec((1.0..2.0f64, 1.0..2.0f64), 2..20), scale in 1e-3..1e9f64) {
            let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let scaled: Vec<f64> = x.iter().map(|value| value * scale).collect();
            let (there, back) = (pearson(&x, &y).unwrap().unwrap(), pearson(&y, &scaled).unwrap().unwrap());
            prop_assert!((there - back).abs() < 1e-9 && there.abs() <= 1.0);
        }
    }
}
