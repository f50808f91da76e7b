//! Zipf's law over the names of a share, in constant memory.
//!
//! Ranks are drawn by rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from
//! monotone discrete distributions", ACM TOMACS 6, 1996) and scattered over the names by an affine permutation, so that
//! the popular files do not all lie in the first directory. A name keeps its popularity for as long as it exists; that
//! of a name that does not exist goes to the next one that does.

use crate::rng::Rng;

/// Draws names by Zipf's law.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Zipf {
    theta: f64,
    names: u64,
    multiplier: u64,
    offset: u64,
    integral_first: f64,
    integral_last: f64,
    shortcut: f64,
}

impl Zipf {
    /// Over `names` names with exponent `theta`, at least 0 and finite. `scatter` chooses the permutation.
    pub(super) fn new(theta: f64, names: u32, scatter: u64) -> Zipf {
        let names = u64::from(names);
        let mut zipf = Zipf {
            theta,
            names,
            multiplier: coprime_near_golden(names),
            offset: if names == 0 { 0 } else { scatter % names },
            integral_first: 0.0,
            integral_last: 0.0,
            shortcut: 0.0,
        };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_last = zipf.integral(names as f64 + 0.5);
        zipf.shortcut = 2.0 - zipf.integral_inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// A name; 0 where there are none.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u32 {
        if self.names == 0 {
            return 0;
        }
        let rank = self.rank(rng) - 1;
        ((rank * self.multiplier + self.offset) % self.names) as u32
    }

    /// A rank from 1 to `names`.
    fn rank(&self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.integral_last + rng.unit() * (self.integral_first - self.integral_last);
            let x = self.integral_inverse(u);
            let rank = x.round().clamp(1.0, self.names as f64);
            if rank - x <= self.shortcut || u >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }

    /// x^-θ.
    fn density(&self, x: f64) -> f64 {
        (-self.theta * x.ln()).exp()
    }

    /// (x^(1-θ) - 1) / (1 - θ), and ln x for θ = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let y = (1.0 - self.theta) * log;
        // expm1(y) / y without loss near 0.
        let ratio = if y.abs() > 1e-8 { y.exp_m1() / y } else { 1.0 + y / 2.0 };
        ratio * log
    }

    fn integral_inverse(&self, x: f64) -> f64 {
        let y = (x * (1.0 - self.theta)).max(-1.0);
        // ln(1 + y) / y without loss near 0.
        let ratio = if y.abs() > 1e-8 { y.ln_1p() / y } else { 1.0 - y / 2.0 };
        (ratio * x).exp()
    }
}

/// A multiplier without common divisor with `names`, near the golden section of it: neighbouring ranks end far apart.
fn coprime_near_golden(names: u64) -> u64 {
    let mut multiplier = ((names as f64 * 0.618_033_988_749_894_9) as u64).max(1);
    while gcd(multiplier, names) > 1 {
        multiplier += 1;
    }
    multiplier
}

fn gcd(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => gcd(b, a % b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_follow_the_law() {
        for theta in [0.0, 0.5, 0.99, 1.0, 1.5, 3.0] {
            let names = 50;
            let zipf = Zipf::new(theta, names, 7);
            let mut rng = Rng::new(1);
            let draws = 200_000;
            let mut counts = vec![0u32; names as usize + 1];
            for _ in 0..draws {
                counts[zipf.rank(&mut rng) as usize] += 1;
            }
            let total: f64 = (1..=names).map(|k| f64::from(k).powf(-theta)).sum();
            let mut chi_square = 0.0;
            for k in 1..=names {
                let expected = f64::from(draws) * f64::from(k).powf(-theta) / total;
                chi_square += (f64::from(counts[k as usize]) - expected).powi(2) / expected;
            }
            // 49 degrees of freedom: above 100 lies less than 1 in 40 000.
            assert!(chi_square < 100.0, "theta {theta}: {chi_square}");
        }
    }

    #[test]
    fn every_rank_has_a_name_of_its_own() {
        for names in [1u32, 2, 3, 10, 97, 100, 4096] {
            let zipf = Zipf::new(1.0, names, 12345);
            let mut seen = vec![false; names as usize];
            for rank in 0..u64::from(names) {
                seen[((rank * zipf.multiplier + zipf.offset) % zipf.names) as usize] = true;
            }
            assert!(seen.iter().all(|seen| *seen), "{names}");
        }
    }

    #[test]
    fn a_share_of_none_or_one_is_no_trap() {
        let mut rng = Rng::new(1);
        assert_eq!(Zipf::new(1.2, 0, 5).draw(&mut rng), 0);
        assert_eq!(Zipf::new(1.2, 1, 5).draw(&mut rng), 0);
        assert_eq!(Zipf::new(200.0, 10, 0).draw(&mut rng), 0);
    }
}
