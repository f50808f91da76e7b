//! Descriptions of one sample.

use crate::StatsError;

/// Returns the natural logarithms of values, which must all be positive and finite.
pub(crate) fn logs(values: &[f64]) -> Result<Vec<f64>, StatsError> {
    values
        .iter()
        .enumerate()
        .map(|(index, &value)| {
            if value.is_finite() && value > 0.0 {
                Ok(value.ln())
            } else {
                Err(StatsError::NotPositive { index, value })
            }
        })
        .collect()
}

/// Checks that every value is finite.
pub(crate) fn finite(values: &[f64]) -> Result<(), StatsError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(StatsError::NotFinite { index, value: values[index] }),
        None => Ok(()),
    }
}

/// Mean and unbiased variance (n − 1) of at least two values.
pub(crate) struct Moments {
    pub(crate) mean: f64,
    pub(crate) variance: f64,
}

impl Moments {
    /// Uses two passes, so that a small spread around a large mean keeps its digits.
    pub(crate) fn from_values(values: &[f64]) -> Result<Moments, StatsError> {
        if values.len() < 2 {
            return Err(StatsError::TooFew { needed: 2, found: values.len() });
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        // Equal values leave a rounding error in the mean, which is not a spread.
        let variance = if values.iter().all(|&value| value == values[0]) { 0.0 } else { squares / (n - 1.0) };
        Ok(Moments { mean, variance })
    }
}

/// Returns the positions of the values from the smallest to the largest; equal ones keep their order.
pub(crate) fn order_of(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    order
}

/// Returns exp of the mean logarithm: the only mean that makes ratios of means equal to means of ratios. Needs at
/// least one value; all above 0.
pub fn geometric_mean(values: &[f64]) -> Result<f64, StatsError> {
    let logs = logs(values)?;
    if logs.is_empty() {
        return Err(StatsError::TooFew { needed: 1, found: 0 });
    }
    Ok((logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// Returns the standard deviation (n − 1) over the mean: 0.05 is a spread of 5 %. Needs at least
/// two values; all above 0.
pub fn coefficient_of_variation(values: &[f64]) -> Result<f64, StatsError> {
    logs(values)?;
    let moments = Moments::from_values(values)?;
    Ok(moments.variance.sqrt() / moments.mean)
}

/// Returns the middle value, or the mean of the two middle values; `None` when empty or when a value is NaN.
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    Some(if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 })
}

/// Returns the median distance from the median, not scaled to a standard deviation; `None` if [`median`] is.
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_agree_with_scipy() {
        let values = [102.0, 98.5, 105.2, 99.9, 101.3, 97.7, 103.8];
        // scipy.stats.gmean(x); scipy.stats.variation(x, ddof=1); numpy.median(x); scipy.stats.median_abs_deviation(x)
        assert_close(geometric_mean(&values).unwrap(), 101.16856046131436);
        assert_close(coefficient_of_variation(&values).unwrap(), 0.026952928254912748);
        assert_close(median(&values).unwrap(), 101.3);
        assert_close(median_absolute_deviation(&values).unwrap(), 2.5);
    }

    fn assert_close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn a_median_of_an_even_number_is_between_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn values_without_logarithm_are_reported_by_position() {
        assert_eq!(geometric_mean(&[1.0, 0.0]), Err(StatsError::NotPositive { index: 1, value: 0.0 }));
        assert!(matches!(geometric_mean(&[f64::INFINITY]), Err(StatsError::NotPositive { index: 0, .. })));
        assert!(matches!(coefficient_of_variation(&[-1.0, 1.0]), Err(StatsError::NotPositive { index: 0, .. })));
        assert_eq!(geometric_mean(&[]), Err(StatsError::TooFew { needed: 1, found: 0 }));
    }

    #[test]
    fn equal_values_have_exactly_no_spread() {
        assert_eq!(coefficient_of_variation(&[0.1; 7]).unwrap(), 0.0);
    }
}
