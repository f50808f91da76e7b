//! The sign-flip permutation test over blocks: a check of the t interval that assumes only that the two sides of a
//! block could have been swapped.

use crate::StatsError;
use crate::random::SplitMix;

/// Up to this many blocks, all 2^n assignments of signs are counted.
pub(crate) const ENUMERATED_BLOCKS: usize = 16;

/// Number of random assignments for more blocks.
pub const DRAWS: u32 = 20_000;

/// Outcome of [`sign_flip`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignFlip {
    /// Two-sided p, in (0, 1].
    pub p: f64,
    /// The smallest p that this number of blocks can give: 2 / 2^n if enumerated, else 1 / (draws + 1). Below six
    /// blocks it is above 0.05, so that nothing can be significant.
    pub p_min: f64,
    /// Whether all assignments were counted, instead of a sample.
    pub exact: bool,
}

/// Tests with random signs whether the differences (logarithms of a block's ratio) are centred on 0: p is the
/// two-sided share of assignments of signs whose sum is at least as far from 0. Random assignments come from
/// `seed`. Then p is (hits + 1) / (draws + 1), which is never 0 (Phipson and Smyth, "Permutation p-values
/// should never be zero", 2010).
///
/// Errors: no difference at all, or one that is not finite.
pub fn sign_flip(differences: &[f64], seed: u64) -> Result<SignFlip, StatsError> {
    if differences.is_empty() {
        return Err(StatsError::TooFew { needed: 1, found: 0 });
    }
    if let Some(index) = differences.iter().position(|difference| !difference.is_finite()) {
        return Err(StatsError::Setting {
            name: "difference",
            value: differences[index],
            allowed: "the finite numbers",
        });
    }
    // The same sum in another order differs in its last bits; such a tie counts as reached.
    let slack = 1e-12 * differences.iter().map(|difference| difference.abs()).sum::<f64>();
    let reach = differences.iter().sum::<f64>().abs() - slack;
    let tables = SignedSums::new(differences);
    if differences.len() <= ENUMERATED_BLOCKS {
        // The last sign stays fixed: the other half of the assignments mirrors this one.
        let half = 1u64 << (differences.len() - 1);
        let hits = (0..half).filter(|&signs| tables.sum(|| signs).abs() >= reach).count();
        return Ok(SignFlip { p: hits as f64 / half as f64, p_min: 1.0 / half as f64, exact: true });
    }
    let mut stream = SplitMix::new(seed);
    let mut hits = 0u32;
    for _ in 0..DRAWS {
        let sum = tables.sum(|| stream.next());
        hits += u32::from(sum.abs() >= reach);
    }
    let all = f64::from(DRAWS + 1);
    Ok(SignFlip { p: f64::from(hits + 1) / all, p_min: 1.0 / all, exact: false })
}

/// Sums of each eight differences under each of their 256 assignments of signs, so that an assignment of all signs
/// takes one lookup per byte.
struct SignedSums {
    tables: Vec<[f64; 256]>,
}

impl SignedSums {
    fn new(differences: &[f64]) -> SignedSums {
        let table = |eight: &[f64]| {
            std::array::from_fn(|signs| {
                let signed =
                    |(i, difference): (usize, &f64)| if signs >> i & 1 == 1 { -difference } else { *difference };
                eight.iter().enumerate().map(signed).sum()
            })
        };
        SignedSums { tables: differences.chunks(8).map(table).collect() }
    }

    /// Returns the sum under the signs that `word` returns, 64 at a time.
    fn sum(&self, mut word: impl FnMut() -> u64) -> f64 {
        let mut sum = 0.0;
        for tables in self.tables.chunks(8) {
            let signs = word().to_le_bytes();
            for (table, byte) in tables.iter().zip(signs) {
                sum += table[usize::from(byte)];
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn exact_p_agrees_with_scipy() {
        // scipy.stats.permutation_test((d,), numpy.mean, permutation_type='samples', n_resamples=numpy.inf).pvalue
        let mixed = [0.021, -0.004, 0.037, 0.012, -0.009, 0.028, 0.019, 0.003];
        assert!((sign_flip(&mixed, 0).unwrap().p - 0.0625).abs() < 1e-12);
        let centred = [0.05, -0.02, 0.01, -0.045, 0.03, -0.015, -0.01];
        assert!((sign_flip(&centred, 0).unwrap().p - 1.0).abs() < 1e-12);
    }

    #[test]
    fn drawn_p_is_near_the_exact_one_and_repeats_with_its_seed() {
        // 17 differences: exact p by SciPy as above (2^17 assignments) is this.
        const EXACT: f64 = 0.15045166015625;
        let differences = [
            0.02, -0.01, 0.03, 0.015, -0.02, 0.01, 0.005, -0.015, 0.025, 0.01, -0.005, 0.02, -0.01, 0.015, 0.01, -0.02,
            0.03,
        ];
        let drawn = sign_flip(&differences, 7).unwrap();
        assert!(!drawn.exact);
        // 20 000 draws: a standard error of sqrt(p (1 − p) / 20 000); four of them.
        let error = (EXACT * (1.0 - EXACT) / f64::from(DRAWS)).sqrt();
        assert!((drawn.p - EXACT).abs() < 4.0 * error, "{}", drawn.p);
        assert_eq!(sign_flip(&differences, 7).unwrap(), drawn);
    }

    #[test]
    fn five_blocks_can_never_be_significant_and_six_can() {
        assert_eq!(sign_flip(&[1.0; 5], 0).unwrap().p, 2.0 / 32.0);
        assert_eq!(sign_flip(&[1.0; 6], 0).unwrap().p, 2.0 / 64.0);
    }

    #[test]
    fn no_difference_at_all_has_p_1() {
        assert_eq!(sign_flip(&[0.0; 8], 0).unwrap().p, 1.0);
        assert_eq!(sign_flip(&[0.0; 20], 0).unwrap().p, 1.0);
    }

    #[test]
    fn nothing_and_nan_are_refused() {
        assert_eq!(sign_flip(&[], 0), Err(StatsError::TooFew { needed: 1, found: 0 }));
        assert!(sign_flip(&[0.1, f64::NAN], 0).is_err());
    }

    #[test]
    fn more_blocks_than_bits_of_a_draw_are_all_flipped() {
        // 100 differences of the same sign: no draw reaches their sum. If blocks past the 64th kept their signs, many
        // would reach the sum of those alone.
        assert_eq!(sign_flip(&[0.01; 100], 3).unwrap().p, 1.0 / f64::from(DRAWS + 1));
        let late: Vec<f64> = (0..100).map(|i| if i < 64 { 0.0 } else { 0.01 }).collect();
        assert_eq!(sign_flip(&late, 3).unwrap().p, 1.0 / f64::from(DRAWS + 1));
    }

    proptest! {
        #[test]
        fn p_lies_between_its_minimum_and_1(differences in prop::collection::vec(-1.0..1.0f64, 1..20), seed: u64) {
            let test = sign_flip(&differences, seed).unwrap();
            prop_assert!(test.p >= test.p_min && test.p_min > 0.0 && test.p <= 1.0);
            if test.exact {
                prop_assert_eq!(test.p_min, 2.0 / 2f64.powi(differences.len() as i32));
            }
        }

        #[test]
        fn direction_and_scale_do_not_matter(differences in prop::collection::vec(-1.0..1.0f64, 1..12), scale in 0.01..100.0f64) {
            let other: Vec<f64> = differences.iter().map(|difference| -difference * scale).collect();
            prop_assert_eq!(sign_flip(&differences, 0).unwrap().p, sign_flip(&other, 0).unwrap().p);
        }
    }
}
