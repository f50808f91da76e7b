//! Corrections for many comparisons: of twenty contrasts between equal systems, one is expected to have p < 0.05.
//!
//! Use Holm for contrasts that are named and read one by one: the chance of *any* false claim stays at the
//! level. Use Benjamini–Hochberg for grids with hundreds of cells: the *share* of false claims among the
//! claims stays at the level.

use crate::StatsError;
use crate::summary::order_of;

/// Returns the adjusted p of Holm's step-down procedure, in the given order. The i-th smallest of m is
/// multiplied by m − i + 1, then raised to its predecessor if below it, and limited to 1. Valid under
/// any dependence between the tests.
///
/// Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
/// Journal of Statistics 6, 1979.
///
/// Errors: a p outside 0 to 1, or NaN. An empty slice gives an empty result.
pub fn holm(p: &[f64]) -> Result<Vec<f64>, StatsError> {
    let order = ascending(p)?;
    let mut adjusted = vec![0.0; p.len()];
    let mut floor = 0.0f64;
    for (rank, &index) in order.iter().enumerate() {
        floor = floor.max(p[index] * (p.len() - rank) as f64).min(1.0);
        adjusted[index] = floor;
    }
    Ok(adjusted)
}

/// Returns the adjusted p of the step-up procedure of Benjamini and Hochberg, in the given order. The i-th smallest
/// of m is multiplied by m / i, then lowered to its successor if above it. Controls the false discovery rate if tests
/// are independent or positively dependent.
///
/// Source: Benjamini and Hochberg, "Controlling the false discovery rate", Journal of the Royal
/// Statistical Society B 57, 1995.
///
/// Errors: a p outside 0 to 1, or NaN. An empty slice gives an empty result.
pub fn benjamini_hochberg(p: &[f64]) -> Result<Vec<f64>, StatsError> {
    let order = ascending(p)?;
    let mut adjusted = vec![0.0; p.len()];
    let mut ceiling = 1.0f64;
    for (rank, &index) in order.iter().enumerate().rev() {
        ceiling = ceiling.min(p[index] * (p.len() as f64 / (rank + 1) as f64));
        adjusted[index] = ceiling;
    }
    Ok(adjusted)
}

/// Checks that all values are probabilities, and returns their positions from the smallest to the largest.
fn ascending(p: &[f64]) -> Result<Vec<usize>, StatsError> {
    if let Some(&value) = p.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        return Err(StatsError::Setting { name: "p", value, allowed: "0 to 1" });
    }
    Ok(order_of(p))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assert_close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        }
    }

    const P: [f64; 6] = [0.04, 0.001, 0.2, 0.013, 0.013, 0.9];

    #[test]
    fn adjusted_p_agree_with_r() {
        // R: p.adjust(c(0.04, 0.001, 0.2, 0.013, 0.013, 0.9), "holm"), and "BH"
        assert_close(&holm(&P).unwrap(), &[0.12, 0.006, 0.4, 0.065, 0.065, 0.9]);
        assert_close(&benjamini_hochberg(&P).unwrap(), &[0.06, 0.006, 0.24, 0.026, 0.026, 0.9]);
    }

    #[test]
    fn values_outside_0_to_1_are_refused_and_no_values_give_none() {
        assert!(holm(&[0.5, f64::NAN]).is_err());
        assert!(benjamini_hochberg(&[1.5]).is_err());
        assert_eq!(holm(&[]).unwrap(), Vec::<f64>::new());
    }

    proptest! {
        #[test]
        fn adjusting_never_helps_and_keeps_the_order(p in prop::collection::vec(0.0..=1.0f64, 1..30)) {
            let (holm, bh) = (holm(&p).unwrap(), benjamini_hochberg(&p).unwrap());
            for i in 0..p.len() {
                prop_assert!(p[i] <= bh[i] && bh[i] <= holm[i] + 1e-15 && holm[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || (holm[i] <= holm[j] && bh[i] <= bh[j]));
                }
            }
        }

        #[test]
        fn the_order_of_the_tests_does_not_matter(p in prop::collection::vec(0.0..=1.0f64, 1..20)) {
            let reversed: Vec<f64> = p.iter().rev().copied().collect();
            let back: Vec<f64> = holm(&reversed).unwrap().into_iter().rev().collect();
            prop_assert_eq!(back, holm(&p).unwrap());
        }

        #[test]
        fn one_test_needs_no_correction(p in 0.0..=1.0f64) {
            prop_assert_eq!(holm(&[p]).unwrap(), vec![p]);
            prop_assert_eq!(benjamini_hochberg(&[p]).unwrap(), vec![p]);
        }
    }
}
