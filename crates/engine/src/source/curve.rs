//! Ranks along a curve: Zipf's, Pareto's, normal. Each block has its own rank.

use super::plumb::permute::Permutation;
use super::zipf::Zipf;
use crate::math::{exp, ln, normal};
use crate::rng::{Rng, splitmix64};

/// Distribution of ranks.
#[derive(Debug, Clone)]
pub(crate) enum Ranks {
    Zipf(Zipf),
    /// `u^exponent` of the blocks.
    Pareto {
        exponent: f64,
    },
    /// In shares of the blocks.
    Normal {
        center: f64,
        deviation: f64,
    },
}

/// Position of the block of a rank.
#[derive(Debug, Clone)]
pub(crate) enum Spread {
    /// Anywhere, by a keyed bijection.
    Scattered(Permutation),
    /// This many blocks after the first one.
    From(u64),
}

impl Spread {
    /// Scatters ranks by the seed alone. Hot blocks are a property of the data, so all workers and phases of
    /// a workload must agree on them.
    pub(crate) fn scattered(count: u64, seed: u64) -> Spread {
        /// Separates the scatter from other uses of the seed.
        const SCATTER: u64 = 0x5ca7_7e12_ed0f_b10c;
        Spread::Scattered(Permutation::new(count, &mut Rng::new(splitmix64(seed ^ SCATTER))))
    }
}

/// Draws blocks `0..count` along a curve.
#[derive(Debug, Clone)]
pub(crate) struct Curved {
    pub(crate) ranks: Ranks,
    pub(crate) count: u64,
    pub(crate) spread: Spread,
    pub(crate) rng: Rng,
}

impl Curved {
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        let rank = match &self.ranks {
            Ranks::Zipf(zipf) => zipf.next(&mut self.rng),
            Ranks::Pareto { exponent } => {
                let share = exp(*exponent * ln(1.0 - self.rng.unit()));
                ((share * self.count as f64) as u64).min(self.count - 1)
            }
            Ranks::Normal { center, deviation } => loop {
                let at = (*center + *deviation * normal(&mut self.rng)) * self.count as f64;
                if at >= 0.0 && at < self.count as f64 {
                    break at as u64;
                }
            },
        };
        match &self.spread {
            Spread::Scattered(permutation) => permutation.map_index(rank),
            Spread::From(0) => rank,
            Spread::From(first) => (rank + first) % self.count,
        }
    }
}
