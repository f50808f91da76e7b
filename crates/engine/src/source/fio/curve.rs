//! Places along a curve: Zipf's, Pareto's, normal.
//!
//! Here the job is not drawn as fio draws it, on purpose. fio spreads the ranks of a curve over a file by a hash that
//! maps many ranks to one block and leaves a third of the blocks without any (its issue 1991), and ends the job when a
//! place behind the end comes up. Here each block has a rank of its own: ranks are scattered by a keyed bijection that
//! all workers of a seed share, or lie side by side from the centre on where one is given.

use super::parts::Part;
use super::script::{Kind, PlannedDistribution, Random, Script, Way};
use crate::math::ln;
use crate::rng::{Rng, splitmix64};
use crate::source::curve::{Curved, Ranks, Spread};
use crate::source::zipf::Zipf;
use plumb_workload::blocks::fio::Curve;

/// Draws blocks of one file; `None` where the stream has no curve, or the file no block.
pub(super) fn of(script: &Script, part: &Part, file: usize) -> Option<Curved> {
    let Way::Random(Random { distribution: PlannedDistribution::Curved { curve, center }, .. }) = &script.way else {
        return None;
    };
    let kinds = Kind::ALL.into_iter().filter(|kind| script.mix.has(*kind));
    let count = kinds.map(|kind| part.blocks[kind as usize]).min().filter(|count| *count > 0)?;
    let ranks = match *curve {
        Curve::Zipf { theta } => Ranks::Zipf(Zipf::new(theta, count)),
        // u^k falls below h with probability 1-h for k = ln h / ln(1-h), and so on inside that share.
        Curve::Pareto { h } => Ranks::Pareto { exponent: ln(h) / ln(1.0 - h) },
        Curve::Normal { deviation } => Ranks::Normal { center: center.unwrap_or(0.5), deviation: deviation / 100.0 },
    };
    let spread = match (curve, center) {
        (Curve::Normal { .. }, _) => Spread::From(0),
        (_, Some(center)) => Spread::From((center * count as f64) as u64),
        (_, None) => Spread::scattered(count, script.seed),
    };
    let rng = Rng::new(splitmix64(script.seeds.offset) ^ splitmix64(file as u64 + 1));
    Some(Curved { ranks, count, spread, rng })
}
