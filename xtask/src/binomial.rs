//! What a count says of the rate behind it.

/// z of a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// A 95 % interval of a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end, 0–1.
    pub lo: f64,
    /// Upper end, 0–1.
    pub hi: f64,
}

/// Wilson's 95 % interval of a rate, seen `hits` times of `of`. Source: E. B. Wilson, "Probable inference, the law of
/// succession, and statistical inference", Journal of the American Statistical Association 22, 1927.
pub fn interval(hits: u64, of: u64) -> Interval {
    if of == 0 {
        return Interval { lo: 0.0, hi: 1.0 };
    }
    let (n, p) = (of as f64, hits as f64 / of as f64);
    let centre = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    // Rounding must not leave a seen rate of 0 or 1 out of its own interval.
    Interval { lo: (centre - half).max(0.0).min(p), hi: (centre + half).min(1.0).max(p) }
}

/// The largest count of `of` that a true rate of `rate` exceeds with a probability below `chance`.
pub fn largest_plausible(rate: f64, of: u64, chance: f64) -> u64 {
    if rate <= 0.0 {
        return 0;
    }
    if rate >= 1.0 {
        return of;
    }
    // ln C(n, k) + k ln p + (n − k) ln (1 − p), from k to k + 1.
    let mut log_mass = of as f64 * (1.0 - rate).ln();
    let mut below = log_mass.exp();
    let mut count = 0;
    while count < of && 1.0 - below >= chance {
        log_mass += ((of - count) as f64 / (count + 1) as f64).ln() + (rate / (1.0 - rate)).ln();
        count += 1;
        below += log_mass.exp();
    }
    count
}

/// The smallest count of `of` that a true rate of `rate` falls below with a probability below `chance`.
pub fn smallest_plausible(rate: f64, of: u64, chance: f64) -> u64 {
    of - largest_plausible(1.0 - rate, of, chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_wilsons() {
        // The formula, worked out in Python.
        let five = interval(5, 100);
        assert!((five.lo - 0.021_543_679).abs() < 1e-6 && (five.hi - 0.111_750_469).abs() < 1e-6, "{five:?}");
        assert_eq!(interval(0, 50).lo, 0.0);
        assert_eq!(interval(50, 50).hi, 1.0);
        assert_eq!(interval(0, 0), Interval { lo: 0.0, hi: 1.0 });
    }

    #[test]
    fn plausible_counts_are_quantiles_of_the_binomial() {
        // Summed exactly, in Python: next(k for k in range(n + 1) if sum(comb(n, i) * p**i * (1 - p)**(n - i) for i in
        // range(k + 1)) >= 1 - Fraction(1, 1000)), with p = Fraction(1, 20) and Fraction(9, 10).
        assert_eq!(largest_plausible(0.05, 100, 0.001), 13);
        assert_eq!(largest_plausible(0.9, 1000, 0.001), 928);
        assert_eq!(smallest_plausible(0.95, 100, 0.001), 87);
        // Bars of never and always leave nothing to chance.
        assert_eq!((largest_plausible(0.0, 100, 0.001), smallest_plausible(1.0, 100, 0.001)), (0, 100));
    }
}
