//! Places along a curve: Zipf's, Pareto's, normal.
//!
//! Here the job is not drawn as fio draws it, on purpose. fio spreads the ranks of a curve over a file by a hash that
//! maps many ranks to one block and leaves a third of the blocks without any (its issue 1991), and ends the job when a
//! place behind the end comes up. Here each block has a rank of its own: ranks are scattered by a keyed bijection that
//! all workers of a seed share, or lie side by side from the centre on where one is given.

use super::parts::Part;
use super::script::{Kind, PlannedDistribution, Random, Script, Way};
use crate::math::{exp, ln, normal};
use crate::rng::{Rng, splitmix64};
use crate::source::blocks::permute::Permutation;
use crate::source::zipf::Zipf;
use plumb_workload::job::Curve;

/// Draws blocks of one file along a curve.
#[derive(Debug, Clone)]
pub(super) struct Peaked {
    law: Ranks,
    count: u64,
    spread: Spread,
    rng: Rng,
}

#[derive(Debug, Clone)]
enum Ranks {
    Zipf(Zipf),
    Pareto { exponent: f64 },
    Normal { center: f64, deviation: f64 },
}

#[derive(Debug, Clone)]
enum Spread {
    Scattered(Permutation),
    From(u64),
}

/// Keeps the scatter apart from other uses of the seed.
const SCATTER: u64 = 0x5ca7_7e12_ed0f_b10c;

impl Peaked {
    /// `None` where the job has no curve, or the file no block.
    pub(super) fn of(script: &Script, part: &Part, file: usize) -> Option<Peaked> {
        let Way::Random(Random { law: PlannedDistribution::Curved { curve, center }, .. }) = &script.way else {
            return None;
        };
        let kinds = Kind::ALL.into_iter().filter(|kind| script.mix.has(*kind));
        let count = kinds.map(|kind| part.blocks[kind as usize]).min().filter(|count| *count > 0)?;
        let law = match *curve {
            Curve::Zipf { theta } => Ranks::Zipf(Zipf::new(theta, count)),
            // u^k falls below h with probability 1-h for k = ln h / ln(1-h), and so on inside that share.
            Curve::Pareto { h } => Ranks::Pareto { exponent: ln(h) / ln(1.0 - h) },
            Curve::Normal { deviation } => {
                Ranks::Normal { center: center.unwrap_or(0.5), deviation: deviation / 100.0 }
            }
        };
        let spread = match (curve, center) {
            (Curve::Normal { .. }, _) => Spread::From(0),
            (_, Some(center)) => Spread::From((center * count as f64) as u64),
            (_, None) => Spread::Scattered(Permutation::new(count, &mut Rng::new(splitmix64(script.seed ^ SCATTER)))),
        };
        let rng = Rng::new(splitmix64(script.seeds.offset) ^ splitmix64(file as u64 + 1));
        Some(Peaked { law, count, spread, rng })
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        let rank = match &self.law {
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
            Spread::Scattered(permutation) => permutation.of(rank),
            Spread::From(first) => (rank + first) % self.count,
        }
    }
}
