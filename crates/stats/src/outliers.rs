//! Outliers: flagged with the events at their time, never dropped.

use crate::StatsError;
use crate::summary::{logs, median, median_absolute_deviation};

/// Distance from the median beyond which a value is flagged, in median absolute deviations: ten standard deviations
/// of a normal distribution, as in hyperfine (`OUTLIER_THRESHOLD`). 1 / Φ⁻¹(3/4) = 1.4826 is Hampel's factor ("The
/// influence curve and its role in robust estimation", 1974).
pub(crate) const DISTANCE_MAX: f64 = 14.8;

/// Values within this factor of the median are never flagged, however tight the rest.
const FACTOR_MIN: f64 = 0.01;

/// A value far from the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// Its position in the slice.
    pub index: usize,
    pub value: f64,
    /// Distance of its logarithm from the median one in median absolute deviations, negative below it; infinite
    /// if most values are equal.
    pub distance: f64,
}

/// Returns the values further than [`DISTANCE_MAX`] from the median, on the log scale. A result is shown both with
/// and without them. Errors: a value not above 0. Fewer than three values have no outliers.
pub fn outliers(values: &[f64]) -> Result<Vec<Outlier>, StatsError> {
    let logs = logs(values)?;
    let (Some(middle), Some(deviation)) = (median(&logs), median_absolute_deviation(&logs)) else {
        return Ok(Vec::new());
    };
    if values.len() < 3 {
        return Ok(Vec::new());
    }
    let far = |(index, log): (usize, &f64)| {
        let apart = log - middle;
        (apart.abs() > FACTOR_MIN.ln_1p() && apart.abs() > DISTANCE_MAX * deviation).then(|| Outlier {
            index,
            value: values[index],
            distance: apart / deviation,
        })
    };
    Ok(logs.iter().enumerate().filter_map(far).collect())
}

/// Returns the values without the outliers, for the second result.
pub fn without(values: &[f64], outliers: &[Outlier]) -> Vec<f64> {
    let is_out = |index: usize| outliers.iter().any(|outlier| outlier.index == index);
    values.iter().enumerate().filter(|(index, _)| !is_out(*index)).map(|(_, value)| *value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CALM: [f64; 9] = [100.0, 101.0, 99.0, 100.5, 99.5, 102.0, 98.0, 100.2, 99.8];

    #[test]
    fn a_wild_run_is_flagged_with_its_distance_and_can_be_left_out() {
        let mut values = CALM.to_vec();
        values.insert(4, 55.0);
        let found = outliers(&values).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].index, found[0].value), (4, 55.0));
        // l = numpy.log(x); (l[4] - numpy.median(l)) / scipy.stats.median_abs_deviation(l)
        assert!((found[0].distance - -79.37769207077442).abs() < 1e-9, "{}", found[0].distance);
        assert_eq!(without(&values, &found), CALM);
    }

    #[test]
    fn noise_and_a_run_among_equal_ones_have_no_outliers() {
        assert_eq!(outliers(&CALM).unwrap(), []);
        assert_eq!(outliers(&[100.0, 100.0, 100.0, 100.5]).unwrap(), []);
        let beside_equal = outliers(&[100.0, 100.0, 100.0, 70.0]).unwrap();
        assert_eq!((beside_equal.len(), beside_equal[0].distance), (1, f64::NEG_INFINITY));
        assert_eq!(outliers(&[1.0, 100.0]).unwrap(), []);
        assert!(outliers(&[0.0, 1.0, 2.0]).is_err());
    }

    proptest! {
        #[test]
        fn the_unit_does_not_matter_and_never_half_of_the_values_are_out(
            values in prop::collection::vec(1.0..1e4f64, 3..40), scale in 1e-3..1e3f64
        ) {
            let found = outliers(&values).unwrap();
            let scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
            let indices = |found: &[Outlier]| found.iter().map(|outlier| outlier.index).collect::<Vec<_>>();
            prop_assert_eq!(indices(&found), indices(&outliers(&scaled).unwrap()));
            prop_assert!(found.len() * 2 < values.len());
            prop_assert_eq!(without(&values, &found).len() + found.len(), values.len());
        }
    }
}
