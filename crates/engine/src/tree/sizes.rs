//! Draws sizes from a distribution.

use crate::math::{exp, ln, normal};
use crate::rng::Rng;
use plumb_workload::Distribution;

/// Error from an invalid size distribution.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SizesError {
    /// `uniform` with `min` above `max`.
    #[error("sizes uniform from {min} to {max} bytes: `min` is above `max`; swap them")]
    UniformBounds { min: u64, max: u64 },
    /// `gamma` whose shape is not a positive number.
    #[error("gamma sizes of shape {shape}: the shape must be a number above 0; 1.5 is usual")]
    GammaShape { shape: f64 },
    /// `weighted` without entries, with a weight below 0, or with only zero weights.
    #[error("weighted sizes need at least one weight above 0 and none below; found a total of {total}")]
    Weights {
        /// Sum of the given weights.
        total: f64,
    },
}

/// A validated distribution of sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSizes {
    max: u64,
    drawn: SizeDistribution,
}

#[derive(Debug, Clone, PartialEq)]
enum SizeDistribution {
    Fixed(u64),
    /// `min`, and the number of values less one.
    Uniform {
        min: u64,
        spread: u64,
    },
    Gamma {
        shape: f64,
        scale: f64,
    },
    /// Sizes with their cumulative weights.
    Weighted {
        table: Vec<(f64, u64)>,
        total: f64,
    },
}

impl TreeSizes {
    /// Validates a distribution.
    pub fn new(distribution: &Distribution) -> Result<TreeSizes, SizesError> {
        let drawn = match distribution {
            Distribution::Fixed(size) => SizeDistribution::Fixed(size.0),
            Distribution::Uniform { min, max } => match max.0.checked_sub(min.0) {
                Some(spread) => SizeDistribution::Uniform { min: min.0, spread },
                None => return Err(SizesError::UniformBounds { min: min.0, max: max.0 }),
            },
            Distribution::Gamma { mean, shape } => {
                if !(shape.is_finite() && *shape > 0.0) {
                    return Err(SizesError::GammaShape { shape: *shape });
                }
                SizeDistribution::Gamma { shape: *shape, scale: mean.0 as f64 / shape }
            }
            Distribution::Weighted(entries) => {
                let total: f64 = entries.iter().map(|entry| entry.weight).sum();
                let below = entries.iter().any(|entry| entry.weight.is_nan() || entry.weight < 0.0);
                if below || !total.is_finite() || total <= 0.0 {
                    return Err(SizesError::Weights { total });
                }
                let mut sum = 0.0;
                let table = entries.iter().filter(|entry| entry.weight > 0.0).map(|entry| {
                    sum += entry.weight;
                    (sum, entry.size.0)
                });
                SizeDistribution::Weighted { table: table.collect(), total }
            }
        };
        Ok(TreeSizes { max: distribution.max().0.max(1), drawn })
    }

    /// Returns the largest possible size, bytes; at least 1.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Draws one size, bytes.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        match &self.drawn {
            SizeDistribution::Fixed(size) => *size,
            SizeDistribution::Uniform { min, spread } => match spread.checked_add(1) {
                Some(values) => min + rng.below(values),
                None => rng.next_u64(),
            },
            SizeDistribution::Gamma { shape, scale } => {
                ((gamma(*shape, rng) * scale).round() as u64).clamp(1, self.max)
            }
            SizeDistribution::Weighted { table, total } => {
                let point = rng.unit() * total;
                let chosen = table.iter().find(|(sum, _)| point < *sum).or(table.last());
                chosen.expect("a validated table is not empty").1
            }
        }
    }
}

/// Draws from a gamma distribution with scale 1. Source: Marsaglia and Tsang, "A simple method for generating gamma
/// variables", ACM TOMS 26 (2000); for shapes below 1, their note in section 6: a draw of shape + 1 times U^(1/shape).
pub(crate) fn gamma(shape: f64, rng: &mut Rng) -> f64 {
    if shape < 1.0 {
        let boost = exp(ln(1.0 - rng.unit()) / shape);
        return gamma(shape + 1.0, rng) * boost;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let root = 1.0 + c * x;
        let v = root * root * root;
        if v <= 0.0 {
            continue;
        }
        if ln(1.0 - rng.unit()) < 0.5 * x * x + d - d * v + d * ln(v) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::Bytes;
    use plumb_workload::blocks::WeightedSize;

    fn draws(distribution: Distribution, count: usize) -> Vec<u64> {
        let sizes = TreeSizes::new(&distribution).unwrap();
        let mut rng = Rng::new(3);
        (0..count).map(|_| sizes.draw(&mut rng)).collect()
    }

    fn mean_and_variance(values: &[u64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().map(|v| *v as f64).sum::<f64>() / n;
        (mean, values.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / n)
    }

    #[test]
    fn gamma_has_its_mean_and_variance_for_shapes_on_both_sides_of_one() {
        for shape in [0.5, 1.5, 4.0] {
            let mean = 1e6;
            let (found, variance) =
                mean_and_variance(&draws(Distribution::Gamma { mean: Bytes(1_000_000), shape }, 200_000));
            // Five standard errors of the mean; the variance of gamma is mean² / shape.
            let error = mean / (shape * 200_000.0f64).sqrt();
            assert!((found - mean).abs() < 5.0 * error, "shape {shape}: mean {found}");
            assert!((variance / (mean * mean / shape) - 1.0).abs() < 0.05, "shape {shape}: variance {variance}");
        }
    }

    #[test]
    fn gamma_stays_within_its_bounds() {
        let values = draws(Distribution::Gamma { mean: Bytes(2), shape: 0.1 }, 10_000);
        assert!(values.iter().all(|v| (1..=24).contains(v)));
    }

    #[test]
    fn uniform_reaches_both_bounds_and_nothing_else() {
        let values = draws(Distribution::Uniform { min: Bytes(3), max: Bytes(5) }, 1000);
        assert!((3..=5).all(|v| values.contains(&v)));
        assert!(values.iter().all(|v| (3..=5).contains(v)));
        draws(Distribution::Uniform { min: Bytes(0), max: Bytes(u64::MAX) }, 10);
    }

    #[test]
    fn weights_are_kept() {
        let entry = |size, weight| WeightedSize { size: Bytes(size), weight };
        let values = draws(Distribution::Weighted(vec![entry(1, 1.0), entry(2, 0.0), entry(3, 3.0)]), 40_000);
        let share = values.iter().filter(|v| **v == 3).count() as f64 / 40_000.0;
        assert!((share - 0.75).abs() < 0.02, "{share}");
        assert!(!values.contains(&2));
    }

    #[test]
    fn invalid_distributions_are_refused() {
        let entry = |weight| WeightedSize { size: Bytes(1), weight };
        for bad in [
            Distribution::Uniform { min: Bytes(2), max: Bytes(1) },
            Distribution::Gamma { mean: Bytes(1), shape: 0.0 },
            Distribution::Gamma { mean: Bytes(1), shape: f64::NAN },
            Distribution::Weighted(vec![]),
            Distribution::Weighted(vec![entry(0.0)]),
            Distribution::Weighted(vec![entry(2.0), entry(-1.0)]),
            Distribution::Weighted(vec![entry(f64::NAN)]),
        ] {
            assert!(TreeSizes::new(&bad).is_err(), "{bad:?}");
        }
    }
}
