//! Zipf's law at any exponent and size, in constant memory and without start-up cost.
//!
//! Source: Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3), 1996. The sum that other generators need (ζ) is replaced by an integral, and
//! fewer than a tenth of the draws are rejected.

use crate::math::{exp, exp_m1, ln, ln_1p};
use crate::rng::Rng;

/// Draws ranks `0..count`, rank `r` with a probability in proportion to (r + 1)^-θ.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Zipf {
    theta: f64,
    count: f64,
    integral_first: f64,
    integral_last: f64,
    shift: f64,
}

/// Returns (e^x - 1) / x.
fn exp_m1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { exp_m1(x) / x } else { 1.0 + x * 0.5 }
}

/// Returns ln(1 + x) / x.
fn ln_1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { ln_1p(x) / x } else { 1.0 - x * 0.5 }
}

impl Zipf {
    /// Creates a generator. `theta` must be finite and at least 0, where all ranks are equally likely;
    /// `count` must be at least 1.
    pub(crate) fn new(theta: f64, count: u64) -> Zipf {
        let mut zipf = Zipf { theta, count: count as f64, integral_first: 0.0, integral_last: 0.0, shift: 0.0 };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_last = zipf.integral(zipf.count + 0.5);
        zipf.shift = 2.0 - zipf.inverse_integral(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// Returns x^-θ.
    fn weight(&self, x: f64) -> f64 {
        exp(-self.theta * ln(x))
    }

    /// Returns ∫ from 1 to x of t^-θ dt: the logarithm for θ = 1, and continuous around it.
    fn integral(&self, x: f64) -> f64 {
        let log = ln(x);
        exp_m1_over((1.0 - self.theta) * log) * log
    }

    fn inverse_integral(&self, y: f64) -> f64 {
        // Rounding may carry the product below -1, where the logarithm ends.
        let t = (y * (1.0 - self.theta)).max(-1.0);
        exp(ln_1p_over(t) * y)
    }

    #[inline]
    pub(crate) fn next(&self, rng: &mut Rng) -> u64 {
        loop {
            let y = self.integral_last + rng.unit() * (self.integral_first - self.integral_last);
            let x = self.inverse_integral(y);
            let nearest = (x + 0.5).floor().clamp(1.0, self.count);
            if nearest - x <= self.shift || y >= self.integral(nearest + 0.5) - self.weight(nearest) {
                return nearest as u64 - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_match_the_law() {
        for theta in [0.0, 0.01, 0.5, 0.99, 1.0, 1.0 + 1e-12, 1.2, 2.5, 50.0] {
            for count in [1u64, 2, 10, 300] {
                let zipf = Zipf::new(theta, count);
                let mut rng = Rng::new(11);
                let draws = 200_000u32;
                let mut counts = vec![0u32; count as usize];
                (0..draws).for_each(|_| counts[zipf.next(&mut rng) as usize] += 1);
                let weights: Vec<f64> = (1..=count).map(|rank| (rank as f64).powf(-theta)).collect();
                let sum: f64 = weights.iter().sum();
                // Ranks too rare to test alone are tested together.
                let (mut chi, mut freedom, mut rare_expected, mut rare_found) = (0.0, -1.0, 0.0, 0.0);
                for (weight, &found) in weights.iter().zip(&counts) {
                    rare_expected += weight / sum * f64::from(draws);
                    rare_found += f64::from(found);
                    if rare_expected >= 10.0 {
                        chi += (rare_found - rare_expected).powi(2) / rare_expected;
                        freedom += 1.0;
                        (rare_expected, rare_found) = (0.0, 0.0);
                    }
                }
                let limit = freedom + 5.0 * (2.0 * f64::max(freedom, 1.0)).sqrt();
                assert!(chi <= limit, "theta {theta}, {count} ranks: chi-square {chi} of {freedom}");
                assert!(rare_found < 20.0, "theta {theta}, {count} ranks: {rare_found} of the rarest");
            }
        }
    }

    #[test]
    fn the_head_of_a_huge_range_has_its_share() {
        // ζ(n, 1) is ln n + γ to within 1/2n.
        let count = 1u64 << 34;
        let zipf = Zipf::new(1.0, count);
        let mut rng = Rng::new(3);
        let first = (0..400_000).filter(|_| zipf.next(&mut rng) == 0).count() as f64 / 400_000.0;
        let expected = 1.0 / ((count as f64).ln() + 0.577_215_664_9);
        assert!((first - expected).abs() < 0.0012, "{first} against {expected}");
        assert!((0..10_000).any(|_| zipf.next(&mut rng) > count / 2), "ranks reach the far end");
    }
}
