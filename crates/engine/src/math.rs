//! Logarithm, exponential and a normal variate. They use only `+ - * /`, square root and `floor`, which IEEE 754
//! defines to the last bit.
//!
//! The `ln` and `exp` of the standard library come from the system's C library, and differ in the last bit between
//! glibc, musl and macOS. One such bit can move an offset, which would break the promise that the same seed gives the
//! same ops on any machine, in every version. These functions are accurate to a few units in the last place, a
//! difference that a benchmark's distributions never show.

use crate::rng::Rng;
use std::f64::consts::{LN_2, LOG2_E, SQRT_2};

/// Returns the greatest common divisor. For a number and 0, that is the number.
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// ln 2 with its low 21 bits cleared, so that its product with an exponent is exact.
const LN_2_HIGH: f64 = f64::from_bits(LN_2.to_bits() & !0x1f_ffff);
/// The difference between ln 2 and [`LN_2_HIGH`]. The second summand is ln 2 minus its nearest `f64`.
const LN_2_LOW: f64 = (LN_2 - LN_2_HIGH) + 2.319_046_813_846_299_6e-17;

/// 1/23, 1/21 … 1/3: coefficients of the inverse hyperbolic tangent, smallest first.
const ODD_RECIPROCALS: [f64; 11] = {
    let mut reciprocals = [0.0; 11];
    let mut i = 0;
    while i < 11 {
        reciprocals[i] = 1.0 / (23 - 2 * i) as f64;
        i += 1;
    }
    reciprocals
};

/// 1/14, 1/13 … 1: factors of the exponential series.
const RECIPROCALS: [f64; 14] = {
    let mut reciprocals = [0.0; 14];
    let mut i = 0;
    while i < 14 {
        reciprocals[i] = 1.0 / (14 - i) as f64;
        i += 1;
    }
    reciprocals
};

/// Returns the natural logarithm of a normal, positive number; minus infinity for 0 and below.
pub fn ln(x: f64) -> f64 {
    if x <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if x == f64::INFINITY {
        return x;
    }
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if mantissa > SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    // ln m = 2 artanh((m - 1) / (m + 1)); |f| <= 0.172, so the first omitted term is below 2^-57.
    let f = (mantissa - 1.0) / (mantissa + 1.0);
    let square = f * f;
    let mut series = 0.0;
    for odd_reciprocal in ODD_RECIPROCALS {
        series = (series + odd_reciprocal) * square;
    }
    let exponent = exponent as f64;
    exponent * LN_2_HIGH + (2.0 * f + (2.0 * f * series + exponent * LN_2_LOW))
}

/// Returns e to the power of `x`; 0 below -708 and infinity above 709.
pub fn exp(x: f64) -> f64 {
    if x < -708.0 {
        return 0.0;
    }
    if x > 709.0 {
        return f64::INFINITY;
    }
    let twos = (x * LOG2_E + 0.5).floor();
    let rest = (x - twos * LN_2_HIGH) - twos * LN_2_LOW;
    // Taylor series; |rest| <= 0.347, so the first omitted term is below 2^-57.
    let mut series = 1.0;
    for reciprocal in RECIPROCALS {
        series = 1.0 + series * rest * reciprocal;
    }
    series * f64::from_bits(((twos as i64 + 1023) as u64) << 52)
}

/// Returns ln(1 + x), exact for small `x`. Source: Kahan's correction, in Goldberg, "What every computer scientist
/// should know about floating-point arithmetic", 1991, theorem 4.
pub fn ln_1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    if sum == 1.0 {
        x
    } else if sum <= 0.0 || sum == f64::INFINITY {
        ln(sum)
    } else {
        ln(sum) * (x / (sum - 1.0))
    }
}

/// Returns e^x - 1, exact for small `x`. Source: Kahan's correction, in Higham, "Accuracy and stability of
/// numerical algorithms", 2002, section 1.14.1.
pub fn exp_m1(x: f64) -> f64 {
    let power = exp(x);
    let less_one = power - 1.0;
    if power == 1.0 {
        x
    } else if less_one == -1.0 || power == f64::INFINITY {
        less_one
    } else {
        less_one * (x / ln(power))
    }
}

/// Draws a normal variate with mean 0 and deviation 1. Source: Marsaglia's polar method, 1964.
pub fn normal(rng: &mut Rng) -> f64 {
    loop {
        let a = 2.0 * rng.unit() - 1.0;
        let b = 2.0 * rng.unit() - 1.0;
        let square = a * a + b * b;
        if square > 0.0 && square < 1.0 {
            return a * (-2.0 * ln(square) / square).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(ours: f64, theirs: f64) -> bool {
        ours == theirs || (ours - theirs).abs() <= 1e-14 * theirs.abs().max(1e-300)
    }

    #[test]
    fn results_agree_with_the_standard_library() {
        let mut rng = Rng::new(1);
        for _ in 0..20_000 {
            let x = std::hint::black_box((rng.unit() - 0.5) * 1400.0);
            assert!(close(exp(x), x.exp()), "exp {x}");
            let positive = x.exp();
            assert!(close(ln(positive), positive.ln()), "ln {positive}");
            let small = rng.unit() * x.exp().min(1.0);
            assert!(close(ln_1p(small), small.ln_1p()), "ln_1p {small}");
            assert!(close(exp_m1(small), small.exp_m1()), "exp_m1 {small}");
            assert!(close(exp_m1(-small), (-small).exp_m1()), "exp_m1 {small}");
        }
    }

    #[test]
    fn special_values_are_right() {
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert_eq!(exp(f64::INFINITY), f64::INFINITY);
        assert_eq!(ln_1p(-1.0), f64::NEG_INFINITY);
        assert_eq!(exp_m1(f64::NEG_INFINITY), -1.0);
    }

    #[test]
    fn the_last_bit_is_the_same_everywhere() {
        // These bits are a promise: on a platform with other bits, the same seed would yield other ops.
        let bits = [ln(3.0), ln(1e-9), exp(1.5), exp(-20.25), ln_1p(1e-7), exp_m1(-0.3)].map(f64::to_bits);
        let promised = [
            4607626529066517259,
            13849898335305727928,
            4616731951734179137,
            4475333236920666683,
            4502148214110557146,
            13821712660631717878,
        ];
        assert_eq!(bits, promised);
    }

    #[test]
    fn the_normal_variate_has_mean_0_and_deviation_1() {
        let mut rng = Rng::new(5);
        let draws: Vec<f64> = (0..100_000).map(|_| normal(&mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|z| z * z).sum::<f64>() / 1e5;
        let inside = draws.iter().filter(|z| z.abs() < 1.959_964).count();
        assert!(mean.abs() < 0.015, "{mean}");
        assert!((variance - 1.0).abs() < 0.02, "{variance}");
        assert!((94_700..95_300).contains(&inside), "{inside}");
    }
}
