//! The limits of claims from runs that never happened to be slow.
//!
//! A side that is slow in one of ten runs shows no slow run in 43 of 100 samples of eight. Such samples are faster
//! than its mean, so the side appears faster than another of the same mean. No estimator helps: if the distribution
//! may have any rare mode, no number of values supports a claim about its mean (Bahadur and Savage, "The nonexistence
//! of certain statistical procedures in nonparametric problems", Annals of Mathematical Statistics 27, 1956).
//!
//! Two numbers can be reported: the frequency above which a mode would have shown itself, and the slowness that an
//! unseen one needs to undo the claim.

/// Chance with which a mode of a larger share would have shown itself.
pub const SEEN: f64 = 0.95;

/// A slow mode that no run showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnseenMode {
    /// Upper limit of its share of all runs.
    pub share: f64,
    /// The claim fails if its runs are slower by this share or more: 0.4 is 60 % of the speed.
    pub slower: f64,
}

/// Returns the largest share of a mode that this many runs miss with a chance of 5 %: 1 − 0.05^(1/n), nearly 3/n; 1
/// without runs. Source: Hanley and Lippman-Hand, "If nothing goes wrong, is everything all right?", Journal of the
/// American Medical Association 249, 1983.
pub fn unseen_share(runs: u32) -> f64 {
    1.0 - (1.0 - SEEN).powf(1.0 / f64::from(runs))
}

/// Returns the mode that would undo a claim over this many runs a side. `log_distance` is the distance of the
/// claim from being false, a logarithm: a difference from 1, an equivalence from the margin. A mode in a
/// share *u* of the runs, each at *v* of the speed, moves the mean of logarithms by *u* ln *v*, so the claim
/// holds while *v* > exp(−distance/*u*).
pub fn undoing_mode(log_distance: f64, runs: u32) -> UnseenMode {
    let share = unseen_share(runs);
    UnseenMode { share, slower: -(-log_distance.max(0.0) / share).exp_m1() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shares_are_the_exact_limits_of_the_binomial() {
        // The limit of Clopper and Pearson without hits: Python, 1 - 0.05 ** (1 / n).
        for (runs, share) in [(6, 0.393_037_769), (8, 0.312_343_978), (30, 0.095_033_853), (60, 0.048_702_913)] {
            assert!((unseen_share(runs) - share).abs() < 1e-9, "{runs}: {}", unseen_share(runs));
        }
        assert_eq!(unseen_share(0), 1.0);
    }

    proptest! {
        // Protects: the returned mode does undo the claim, and a slightly faster one does not.
        #[test]
        fn the_mode_moves_the_mean_by_just_the_distance(distance in 0.001..0.1f64, runs in 6u32..100) {
            let mode = undoing_mode(distance, runs);
            let moved = -mode.share * (-mode.slower).ln_1p();
            prop_assert!((moved / distance - 1.0).abs() < 1e-6, "{mode:?}");
            prop_assert!((0.0..=1.0).contains(&mode.slower));
            prop_assert!(undoing_mode(distance, runs + 1).slower >= mode.slower);
        }
    }
}
