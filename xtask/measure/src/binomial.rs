//! Confidence intervals of rates from counts.

/// z of a two-sided 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// A 95 % interval of a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    /// Lower end, from 0 to 1.
    pub lo: f64,
    /// Upper end, from 0 to 1.
    pub hi: f64,
}

/// Returns Wilson's 95 % interval of a rate with `hits` hits in `of` trials. Source: E. B. Wilson, "Probable inference,
/// the law of succession, and statistical inference", Journal of the American Statistical Association 22, 1927.
pub(crate) fn interval(hits: u64, of: u64) -> Interval {
    if of == 0 {
        return Interval { lo: 0.0, hi: 1.0 };
    }
    let (n, p) = (of as f64, hits as f64 / of as f64);
    let centre = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    // Rounding must not exclude an observed rate of 0 or 1 from its own interval.
    Interval { lo: (centre - half).max(0.0).min(p), hi: (centre + half).min(1.0).max(p) }
}

/// Returns the exact 95 % interval of a rate with `hits` hits in `of` trials. At its lower end, this many hits or more
/// have a probability of 2.5 %; at its upper end, this many or fewer. Source: C. J. Clopper and E. S. Pearson, "The use
/// of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26, 1934.
pub(crate) fn exact_interval(hits: u64, of: u64) -> Interval {
    const TAIL: f64 = 0.025;
    // For rates between 0 and 1.
    let at_most = |most: u64, rate: f64| masses(rate, of).take(most as usize + 1).sum::<f64>();
    let lo = if hits == 0 { 0.0 } else { end_of(|rate| 1.0 - at_most(hits - 1, rate) < TAIL) };
    let hi = if hits >= of { 1.0 } else { end_of(|rate| at_most(hits, rate) > TAIL) };
    Interval { lo, hi }
}

/// Returns the point between 0 and 1 where `holds`, which is true from 0 on, becomes false.
fn end_of(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    // Bisects until the ends are printed the same.
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if holds(middle) { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Returns the largest count in `of` trials that a true rate of `rate` exceeds with a probability below `chance`.
pub(crate) fn largest_plausible(rate: f64, of: u64, chance: f64) -> u64 {
    if rate <= 0.0 {
        return 0;
    }
    if rate >= 1.0 {
        return of;
    }
    let mut below = 0.0;
    let counts = masses(rate, of).map(|mass| {
        below += mass;
        below
    });
    counts.take_while(|below| 1.0 - below >= chance).count() as u64
}

/// Returns the probabilities of 0, 1, … `of` hits at a rate between 0 and 1.
fn masses(rate: f64, of: u64) -> impl Iterator<Item = f64> {
    // ln C(n, k) + k ln p + (n − k) ln (1 − p), from k to k + 1.
    let mut log_mass = of as f64 * (-rate).ln_1p();
    (0..=of).map(move |count| {
        let mass = log_mass.exp();
        log_mass += ((of - count) as f64 / (count + 1) as f64).ln() + (rate / (1.0 - rate)).ln();
        mass
    })
}

/// Returns the smallest count in `of` trials that a true rate of `rate` falls below with a probability below `chance`.
pub(crate) fn smallest_plausible(rate: f64, of: u64, chance: f64) -> u64 {
    of - largest_plausible(1.0 - rate, of, chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_wilsons() {
        // The formula, evaluated in Python.
        let five = interval(5, 100);
        assert!((five.lo - 0.021_543_679).abs() < 1e-6 && (five.hi - 0.111_750_469).abs() < 1e-6, "{five:?}");
        assert_eq!(interval(0, 50).lo, 0.0);
        assert_eq!(interval(50, 50).hi, 1.0);
        assert_eq!(interval(0, 0), Interval { lo: 0.0, hi: 1.0 });
    }

    #[test]
    fn exact_intervals_are_clopper_and_pearsons() {
        // 5 of 100: 1.643 % to 11.283 %, as in R: binom.test(5, 100). The others have closed forms.
        let five = exact_interval(5, 100);
        assert!((five.lo - 0.016_431_88).abs() < 1e-7 && (five.hi - 0.112_834_91).abs() < 1e-7, "{five:?}");
        let none = exact_interval(0, 60);
        assert!(none.lo == 0.0 && (none.hi - (1.0 - 0.025_f64.powf(1.0 / 60.0))).abs() < 1e-12, "{none:?}");
        let all = exact_interval(60, 60);
        assert!(all.hi == 1.0 && (all.lo - 0.025_f64.powf(1.0 / 60.0)).abs() < 1e-12, "{all:?}");
        assert_eq!(exact_interval(0, 0), Interval { lo: 0.0, hi: 1.0 });
        // The limits of `cargo xtask aa`: 10 of 100 may still be 5 %, 11 may not; of 60, 7 and 8.
        let lowest = |hits, of| exact_interval(hits, of).lo;
        assert!(lowest(10, 100) <= 0.05 && lowest(11, 100) > 0.05);
        assert!(lowest(7, 60) <= 0.05 && lowest(8, 60) > 0.05);
    }

    #[test]
    fn plausible_counts_are_quantiles_of_the_binomial() {
        // Summed exactly, in Python: next(k for k in range(n + 1) if sum(comb(n, i) * p**i * (1 - p)**(n - i) for i in
        // range(k + 1)) >= 1 - Fraction(1, 1000)), with p = Fraction(1, 20) and Fraction(9, 10).
        assert_eq!(largest_plausible(0.05, 100, 0.001), 13);
        assert_eq!(largest_plausible(0.9, 1000, 0.001), 928);
        assert_eq!(smallest_plausible(0.95, 100, 0.001), 87);
        // Bars of never and always leave no room for chance.
        assert_eq!((largest_plausible(0.0, 100, 0.001), smallest_plausible(1.0, 100, 0.001)), (0, 100));
    }
}
