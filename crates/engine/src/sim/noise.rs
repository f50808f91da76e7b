//! Random variation of the simulated device.
//!
//! Tables and per-run factors are computed with [`crate::math`] and rounded to 2^-32, so that a simulated run
//! is the same on every machine.

use crate::math::{exp, ln};
use crate::rng::Rng;

/// Entries of a [`Jitter`] table, a power of two.
const ENTRIES: usize = 1024;

/// Rounds to a multiple of 2^-32.
pub(super) fn rounded(value: f64) -> f64 {
    const STEPS: f64 = 4_294_967_296.0;
    (value * STEPS).round() / STEPS
}

/// Returns the quantile of the standard normal distribution for 0 < `p` < 1; relative error below 1.2e-9. Source: P. J.
/// Acklam, "An algorithm for computing the inverse normal cumulative distribution function", 2003.
fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 6] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 5] = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1.0];
    const TAIL: f64 = 0.02425;
    let polynomial = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    let tail = |p: f64| {
        let q = (-2.0 * ln(p)).sqrt();
        polynomial(&C, q) / polynomial(&D, q)
    };
    if p < TAIL {
        tail(p)
    } else if p > 1.0 - TAIL {
        -tail(1.0 - p)
    } else {
        let q = p - 0.5;
        polynomial(&A, q * q) * q / polynomial(&B, q * q)
    }
}

/// Returns σ of the logarithm of a log-normal variable with this coefficient of variation.
pub(super) fn sigma(cv: f64) -> f64 {
    ln(1.0 + cv * cv).sqrt()
}

/// Draws from the standard normal distribution.
pub(super) fn normal(rng: &mut Rng) -> f64 {
    // Add half a step, so that the quantile of 0 is never computed.
    let p = rng.unit() + 0.5 / (1u64 << 53) as f64;
    normal_quantile(p.min(1.0 - f64::EPSILON))
}

/// Draws from the log-normal distribution with mean 1 and this coefficient of variation.
pub(super) fn log_normal(cv: f64, rng: &mut Rng) -> f64 {
    let sigma = sigma(cv);
    rounded(exp(sigma * normal(rng) - sigma * sigma / 2.0))
}

/// Per-op factors: log-normal with mean exactly 1. They come from a table, because computing an exponential per op
/// would cost more than the rest of the op.
#[derive(Debug, Clone)]
pub(super) struct Jitter {
    table: Box<[f64]>,
    rng: Rng,
}

impl Jitter {
    /// Creates factors with this coefficient of variation.
    pub(super) fn new(cv: f64, rng: Rng) -> Jitter {
        let sigma = sigma(cv);
        let quantile = |i: usize| (i as f64 + 0.5) / ENTRIES as f64;
        let raw: Vec<f64> = (0..ENTRIES).map(|i| rounded(exp(sigma * normal_quantile(quantile(i))))).collect();
        let mean = raw.iter().sum::<f64>() / ENTRIES as f64;
        Jitter { table: raw.iter().map(|value| value / mean).collect(), rng }
    }

    /// Draws the next factor from the table.
    #[inline]
    pub(super) fn next(&mut self) -> f64 {
        self.table[(self.rng.next_u64() >> 54) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_the_normal_distribution() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959963984540054), (0.001, -3.090232306167814), (0.9, 1.2815515655446004)] {
            assert!((normal_quantile(p) - z).abs() < 1e-8, "{p}: {}", normal_quantile(p));
        }
    }

    #[test]
    fn jitter_does_not_move_the_mean() {
        let mut jitter = Jitter::new(0.15, Rng::new(1));
        assert!((jitter.table.iter().sum::<f64>() / ENTRIES as f64 - 1.0).abs() < 1e-12);
        let draws: Vec<f64> = (0..10_000).map(|_| jitter.next()).collect();
        assert!((draws.iter().sum::<f64>() / 10_000.0 - 1.0).abs() < 0.01);
        assert!(draws.iter().all(|&factor| factor > 0.5 && factor < 2.0));
    }

    #[test]
    fn run_factors_have_the_configured_mean_and_spread() {
        let mut rng = Rng::new(3);
        let draws: Vec<f64> = (0..20_000).map(|_| log_normal(0.10, &mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / 20_000.0;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 19_999.0;
        assert!((mean - 1.0).abs() < 0.005, "{mean}");
        assert!((variance.sqrt() / mean - 0.10).abs() < 0.005, "{variance}");
    }
}
