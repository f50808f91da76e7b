//! Patterns that draw each op's position from the equal steps of the range.

use super::permute::Shuffle;
use super::shape::{OpRange, Piece};
use crate::math::ln;
use crate::rng::Rng;
use crate::source::curve::{Curved, Ranks, Spread};
use crate::source::zipf::Zipf;
use plumb_workload::OpKind;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A distribution by which positions are drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OffsetDistribution {
    Uniform,
    Permutation,
    Zipf { theta: f64 },
    Latest { theta: f64, newest: Newest },
    Pareto { h: f64 },
    Normal { center: f64, deviation: f64 },
    Zoned(Box<[PlannedZone]>),
}

/// Number of writes to the block after the newest, shared by the workers of a group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Newest(Arc<AtomicU64>);

impl PartialEq for Newest {
    fn eq(&self, other: &Newest) -> bool {
        self.0.load(Relaxed) == other.0.load(Relaxed)
    }
}

/// A zone, measured in positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlannedZone {
    /// Cumulative share of accesses up to and including this zone, of 2^64.
    pub(crate) upto: u64,
    /// Its first position.
    pub(crate) first: u64,
    /// Number of positions.
    pub(crate) count: u64,
}

/// Draws positions `0..count` by a distribution.
#[derive(Debug, Clone)]
pub(crate) enum Draw {
    Uniform { count: u64, rng: Rng },
    Permutation(Shuffle),
    Curved(Box<Curved>),
    Latest { ages: Box<Zipf>, count: u64, newest: Newest, rng: Rng },
    Zoned { zones: Box<[PlannedZone]>, rng: Rng },
}

impl Draw {
    pub(crate) fn new(distribution: &OffsetDistribution, count: u64, seed: u64, rng: Rng) -> Draw {
        let curved = |ranks, spread, rng| Draw::Curved(Box::new(Curved { ranks, count, spread, rng }));
        match distribution {
            OffsetDistribution::Uniform => Draw::Uniform { count, rng },
            OffsetDistribution::Permutation => Draw::Permutation(Shuffle::new(count, rng)),
            OffsetDistribution::Zipf { theta } => {
                curved(Ranks::Zipf(Zipf::new(*theta, count)), Spread::scattered(count, seed), rng)
            }
            OffsetDistribution::Latest { theta, newest } => {
                Draw::Latest { ages: Box::new(Zipf::new(*theta, count)), count, newest: newest.clone(), rng }
            }
            OffsetDistribution::Pareto { h } => {
                // u^k falls below 1-h with probability h for k = ln(1-h) / ln h, and so on inside that share.
                curved(Ranks::Pareto { exponent: ln(1.0 - h) / ln(*h) }, Spread::scattered(count, seed), rng)
            }
            OffsetDistribution::Normal { center, deviation } => {
                curved(Ranks::Normal { center: *center, deviation: *deviation }, Spread::From(0), rng)
            }
            OffsetDistribution::Zoned(zones) => Draw::Zoned { zones: zones.clone(), rng },
        }
    }

    #[inline]
    pub(crate) fn next(&mut self, kind: OpKind) -> u64 {
        match self {
            Draw::Uniform { count, rng } => rng.below(*count),
            Draw::Permutation(shuffle) => shuffle.next(),
            Draw::Curved(curved) => curved.next(),
            Draw::Latest { ages, count, newest: Newest(written), rng } => {
                // Before the first write, the last block is the newest.
                let (written, age) = match kind {
                    OpKind::Write => (written.fetch_add(1, Relaxed) + 1, 0),
                    _ => (written.load(Relaxed), ages.next(rng)),
                };
                (written % *count + 2 * *count - 1 - age) % *count
            }
            Draw::Zoned { zones, rng } => {
                let bits = rng.next_u64();
                let zone = zones[zones.partition_point(|zone| zone.upto < bits).min(zones.len() - 1)];
                zone.first + rng.below(zone.count)
            }
        }
    }
}

/// The positions of all pieces, one after another: the possible starts of ops.
#[derive(Debug, Clone)]
pub(crate) struct Positions {
    pieces: Box<[Positioned]>,
    step: u64,
    overrun: Overrun,
}

#[derive(Debug, Clone, Copy)]
struct Positioned {
    piece: Piece,
    first: u64,
}

/// Treatment of an op that would exceed the end of its piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overrun {
    /// It starts at the last position from which it fits.
    MoveBack,
    /// It stays and is shortened, because each position must be used.
    Shorten,
}

/// Returns the number of positions in a piece, `step` apart, with room for `smallest` bytes after each.
pub(crate) fn positions_in(piece: &Piece, step: u64, smallest: u32) -> u64 {
    piece.length.checked_sub(u64::from(smallest)).map_or(0, |room| room / step + 1)
}

impl Positions {
    /// Creates the positions. Pieces without room for the smallest op are left out.
    pub(crate) fn new(pieces: &[Piece], step: u64, smallest: u32, overrun: Overrun) -> Positions {
        let mut first = 0;
        let mut positioned = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let count = positions_in(piece, step, smallest);
            if count > 0 {
                positioned.push(Positioned { piece: *piece, first });
                first += count;
            }
        }
        Positions { pieces: positioned.into(), step, overrun }
    }

    #[inline]
    pub(crate) fn range(&self, position: u64, length: u32) -> OpRange {
        let Positioned { piece, first } = match &*self.pieces {
            [only] => *only,
            pieces => pieces[pieces.partition_point(|piece| piece.first <= position) - 1],
        };
        let mut begin = (position - first) * self.step;
        let mut wanted = u64::from(length);
        if wanted > piece.length - begin {
            match self.overrun {
                Overrun::MoveBack => {
                    begin = piece.length.saturating_sub(wanted) / self.step * self.step;
                    wanted = wanted.min(piece.length - begin);
                }
                Overrun::Shorten => wanted = piece.length - begin,
            }
        }
        OpRange { file: piece.file, offset: piece.start + begin, length: wanted as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 200_000;

    fn counts(distribution: OffsetDistribution, count: u64) -> Vec<usize> {
        let mut draw = Draw::new(&distribution, count, 42, Rng::new(7));
        let mut counts = vec![0; count as usize];
        (0..DRAWS).for_each(|_| counts[draw.next(OpKind::Read) as usize] += 1);
        counts
    }

    /// Returns the share of all draws that the `hottest` most drawn positions have.
    fn share_of_hottest(mut counts: Vec<usize>, hottest: usize) -> f64 {
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts[..hottest].iter().sum::<usize>() as f64 / DRAWS as f64
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 0.01, "{found}, expected {expected}");
    }

    #[test]
    fn pareto_is_self_similar() {
        let counts = counts(OffsetDistribution::Pareto { h: 0.8 }, 1000);
        near(share_of_hottest(counts.clone(), 200), 0.8);
        near(share_of_hottest(counts, 40), 0.64);
    }

    #[test]
    fn zipf_is_scattered_and_reaches_every_block() {
        let counts = counts(OffsetDistribution::Zipf { theta: 0.5 }, 1000);
        assert!(counts.iter().all(|&count| count > 0), "a block was never drawn");
        let mut order: Vec<usize> = (0..1000).collect();
        order.sort_unstable_by_key(|&position| std::cmp::Reverse(counts[position]));
        let neighbours = order[..20].windows(2).filter(|pair| pair[0].abs_diff(pair[1]) == 1).count();
        assert!(neighbours <= 1, "hot blocks are adjacent");
        assert!(order[..20].iter().any(|&p| p < 500) && order[..20].iter().any(|&p| p >= 500));
    }

    // Protects: the most recent writes are read most, by all workers of the group, and the oldest block is dropped.
    #[test]
    fn the_latest_is_read_most() {
        let distribution = OffsetDistribution::Latest { theta: 0.99, newest: Newest::default() };
        let [mut writer, mut reader] = [7, 8].map(|seed| Draw::new(&distribution, 1000, 42, Rng::new(seed)));
        let most_read = |reader: &mut Draw| {
            let mut counts = vec![0; 1000];
            (0..20_000).for_each(|_| counts[reader.next(OpKind::Read) as usize] += 1);
            let mut order: Vec<usize> = (0..1000).collect();
            order.sort_by_key(|&at| std::cmp::Reverse(counts[at]));
            // Zipf's law over 1,000 ages: the newest has 1 / 7.5 of all reads.
            near(counts[order[0]] as f64 / 20_000.0, 0.1294);
            (order[0], order[1])
        };
        assert_eq!(most_read(&mut reader), (999, 998));
        let written: Vec<u64> = (0..1500).map(|_| writer.next(OpKind::Write)).collect();
        assert_eq!((written[0], written[1], written[999], written[1000]), (0, 1, 999, 0));
        assert_eq!(most_read(&mut reader), (499, 498));
    }

    #[test]
    fn all_workers_share_the_hot_blocks() {
        let distribution = OffsetDistribution::Zipf { theta: 1.2 };
        let hottest = |rng_seed| {
            let mut draw = Draw::new(&distribution, 1 << 30, 42, Rng::new(rng_seed));
            let mut seen = std::collections::HashMap::new();
            (0..20_000).for_each(|_| *seen.entry(draw.next(OpKind::Read)).or_insert(0) += 1);
            seen.into_iter().max_by_key(|(_, count)| *count).map(|(position, _)| position)
        };
        assert_eq!(hottest(1), hottest(2));
    }

    #[test]
    fn normal_is_centered() {
        let counts = counts(OffsetDistribution::Normal { center: 0.25, deviation: 0.05 }, 1000);
        let within = |from: usize, to: usize| counts[from..to].iter().sum::<usize>() as f64 / DRAWS as f64;
        near(within(200, 300), 0.6827);
        near(within(150, 350), 0.9545);
        near(within(0, 250), 0.5);
    }

    #[test]
    fn a_wide_normal_is_clipped_by_redrawing() {
        let counts = counts(OffsetDistribution::Normal { center: 0.0, deviation: 0.5 }, 100);
        // Φ(1)-Φ(0) over Φ(2)-Φ(0).
        near(counts[..50].iter().sum::<usize>() as f64 / DRAWS as f64, 0.341_345 / 0.477_250);
    }

    #[test]
    fn positions_are_within_their_pieces() {
        let pieces = [(0, 100, 40), (1, 0, 3), (2, 0, 15)].map(|(file, start, length)| Piece { file, start, length });
        let positions = Positions::new(&pieces, 8, 8, Overrun::MoveBack);
        let ranges: Vec<_> = (0..6).map(|p| positions.range(p, 8)).map(|s| (s.file, s.offset)).collect();
        assert_eq!(ranges, [(0, 100), (0, 108), (0, 116), (0, 124), (0, 132), (2, 0)]);
        assert_eq!(positions.range(4, 24), OpRange { file: 0, offset: 116, length: 24 });
        assert_eq!(positions.range(5, 24), OpRange { file: 2, offset: 0, length: 15 });
        let positions = Positions::new(&pieces, 8, 8, Overrun::Shorten);
        assert_eq!(positions.range(4, 24), OpRange { file: 0, offset: 132, length: 8 });
    }
}
