//! Positions along a curve: Zipf's, Pareto's, normal.
//!
//! By default, the positions deliberately differ from fio's. fio scatters the ranks of a curve over a file by a hash
//! that is a bijection only if the number of blocks is a power of two. For other numbers, it maps many ranks to one
//! block and leaves up to two thirds of the blocks without a rank (its issue 1991). Here each block has its own rank: a
//! keyed bijection, shared by all workers of a seed, scatters the ranks. With a given center, the ranks are next to
//! each other from the center on. A stream can also request fio's draws.

use super::fio_curve::{FioCurve, Scatter};
use super::parts::Part;
use super::script::{Kind, OffsetOrder, PlannedDistribution, Random, Script};
use crate::math::ln;
use crate::rng::{Rng, splitmix64};
use crate::source::curve::{Curved, Ranks, Spread};
use crate::source::zipf::Zipf;
use plumb_workload::blocks::fio::{AsFio, AsFioWhen, Curve, Seeding};

/// Draws blocks of one file.
#[derive(Debug, Clone)]
pub(super) enum PlaceCurve {
    /// Each block has a rank.
    Own(Box<Curved>),
    /// The same draws as fio's.
    Fio(FioCurve),
}

impl PlaceCurve {
    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        match self {
            PlaceCurve::Own(curved) => curved.next(),
            PlaceCurve::Fio(curve) => curve.next(),
        }
    }
}

/// Creates the curve of a file; `None` if the stream has no curve, or the file no blocks.
pub(super) fn build_curve(script: &Script, part: &Part, file: usize) -> Option<PlaceCurve> {
    let OffsetOrder::Random(Random { distribution: PlannedDistribution::Curved { curve, center, as_fio }, .. }) =
        &script.offset_order
    else {
        return None;
    };
    let kinds = Kind::ALL.into_iter().filter(|kind| script.mix.has(*kind));
    let count = kinds.map(|kind| part.blocks[kind as usize]).min().filter(|count| *count > 0)?;
    if let Some(as_fio) = as_fio
        && let Some(drawn) = fio_curve(script, part, file, FioDraws { curve: *curve, center: *center, as_fio, count })
    {
        return Some(PlaceCurve::Fio(drawn));
    }
    let ranks = match *curve {
        Curve::Zipf { theta } => Ranks::Zipf(Zipf::new(theta, count)),
        // u^k falls below h with probability 1-h for k = ln h / ln(1-h), and so on inside that share.
        Curve::Pareto { h } => Ranks::Pareto { exponent: ln(h) / ln(1.0 - h) },
        Curve::Normal { deviation } => Ranks::Normal { center: center.unwrap_or(0.5), deviation: deviation / 100.0 },
    };
    let spread = match (curve, center) {
        (Curve::Normal { .. }, _) => Spread::From(0),
        (_, Some(center)) => Spread::From((center * count as f64) as u64),
        (_, None) => Spread::scattered(count, script.seeding.seed),
    };
    let rng = Rng::new(splitmix64(script.seeding.seeds.offset) ^ splitmix64(file as u64 + 1));
    Some(PlaceCurve::Own(Box::new(Curved { ranks, count, spread, rng })))
}

/// Parameters of fio's draws.
#[derive(Clone, Copy)]
struct FioDraws<'a> {
    curve: Curve,
    center: Option<f64>,
    as_fio: &'a AsFio,
    /// Number of blocks with room for a whole op.
    count: u64,
}

/// Returns fio's own draws; `None` if they were not requested, or fio has no law for these parameters.
fn fio_curve(script: &Script, part: &Part, file: usize, asked: FioDraws<'_>) -> Option<FioCurve> {
    let FioDraws { curve, center, as_fio, count } = asked;
    // fio counts blocks of the smaller size of reads and writes, whichever of them the job does.
    let smallest = [Kind::Read, Kind::Write].map(|kind| script.sizes[kind as usize].smallest);
    let smallest = smallest.into_iter().min().filter(|smallest| *smallest > 0)?;
    let places = part.length.min(part.file_length).div_ceil(smallest);
    let has_law = match curve {
        Curve::Zipf { theta } => theta != 1.0 && places > 0,
        Curve::Pareto { .. } | Curve::Normal { .. } => places > 0,
    };
    let reaches_all = matches!(curve, Curve::Zipf { .. } | Curve::Pareto { .. })
        && center.is_none()
        && places == count
        && places.is_power_of_two();
    let wanted = match as_fio.when {
        AsFioWhen::Always => true,
        AsFioWhen::EveryBlockReached => reaches_all,
    };
    if !has_law || !wanted {
        return None;
    }
    let name_hash = as_fio.name_hashes.get(file).or(as_fio.name_hashes.last())?;
    let of_worker = u64::from(*name_hash).wrapping_mul(script.seeding.worker_number.into());
    let seed = match script.seeding.scheme {
        Seeding::All => of_worker.wrapping_mul(script.seeding.seeds.offset),
        // As in fio 3.33.
        Seeding::AllButOffsets => of_worker,
        Seeding::None => script.seeding.seeds.offset,
    };
    // fio keeps 32 bits of the seed.
    Some(FioCurve::new(curve, center, places, seed & u64::from(u32::MAX), Scatter::Hash))
}
