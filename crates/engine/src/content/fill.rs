//! Generators of write content.

use crate::rng::{Purpose, Rng, StreamId, splitmix64};
use plumb_workload::Content;

/// Block size of reducible content, which is the unit of deduplication in file systems and devices.
const BLOCK_BYTES: usize = 4096;

/// Fills buffers with the content of a workload, without allocating.
///
/// The bytes depend only on the stream and on the fills before: a worker that fills the same sequence of lengths writes
/// the same bytes. Different streams never produce equal bytes, so no two workers or phases write duplicates.
#[derive(Debug, Clone)]
pub struct Filler {
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Constant(u8),
    Random(Lanes),
    Reducible(Reducible),
}

impl Filler {
    /// Creates a filler for `content`.
    pub fn new(content: Content, stream: StreamId) -> Filler {
        let mut rng = stream.rng(Purpose::Content);
        let kind = match content {
            Content::Zero => Kind::Constant(0),
            Content::Byte(byte) => Kind::Constant(byte),
            Content::Random | Content::Reducible { compress_percent: 0, duplicate_percent: 0 } => {
                Kind::Random(Lanes::new(&mut rng))
            }
            Content::Reducible { compress_percent, duplicate_percent } => Kind::Reducible(Reducible {
                random_percent: 100 - usize::from(compress_percent.min(100)),
                duplicate_percent: u64::from(duplicate_percent),
                key: rng.next_u64(),
                blocks: 0,
                rng,
            }),
        };
        Filler { kind }
    }

    /// Creates a filler of random content that depends only on a key and a number, so that it can be reproduced later.
    pub(crate) fn for_block(key: u64, number: u64) -> Filler {
        Filler { kind: Kind::Random(Lanes::for_block(key, number)) }
    }

    /// Returns `true` if every fill is the same, so that a buffer used only by writes needs one fill.
    pub fn is_constant(&self) -> bool {
        matches!(self.kind, Kind::Constant(_))
    }

    /// Returns `true` for content that can neither be compressed nor deduplicated.
    pub(super) fn is_random(&self) -> bool {
        matches!(self.kind, Kind::Random(_))
    }

    /// Overwrites the whole buffer.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        match &mut self.kind {
            Kind::Constant(byte) => buffer.fill(*byte),
            Kind::Random(lanes) => lanes.fill(buffer),
            Kind::Reducible(reducible) => reducible.fill(buffer),
        }
    }

    /// Refills `buffer`, which this filler filled before and only a [`Stamper`](super::Stamper) has changed since.
    /// Constant content needs no work. A buffer that reads use too must be [filled](Filler::fill).
    #[inline]
    pub fn refill(&mut self, buffer: &mut [u8]) {
        if !self.is_constant() {
            self.fill(buffer);
        }
    }
}

/// Parallel generators, which the compiler vectorizes: xorshift128+ in each lane, with the shifts 23, 18, 5. Source:
/// Vigna, "Further scramblings of Marsaglia's xorshift generators", 2017. The weak statistics of the lowest bit do not
/// help a compressor. The state fits into the registers of every x86-64 and arm64 CPU.
#[derive(Debug, Clone, Copy)]
struct Lanes {
    older: [u64; LANES],
    newer: [u64; LANES],
}

const LANES: usize = 8;
const STRIDE: usize = LANES * 8;

impl Lanes {
    fn new(rng: &mut Rng) -> Lanes {
        Lanes::from_words(|| rng.next_u64())
    }

    /// Returns the generators of block `number`.
    fn for_block(key: u64, number: u64) -> Lanes {
        let mut counter = splitmix64(key ^ splitmix64(number));
        Lanes::from_words(|| {
            counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
            splitmix64(counter)
        })
    }

    fn from_words(mut word: impl FnMut() -> u64) -> Lanes {
        let older = std::array::from_fn(|_| word());
        // A lane with two zero words would produce only zeros.
        let newer = std::array::from_fn(|_| word() | 1);
        Lanes { older, newer }
    }

    #[inline(always)]
    fn next(&mut self) -> [[u8; 8]; LANES] {
        let mut words = [[0; 8]; LANES];
        for (lane, word) in words.iter_mut().enumerate() {
            let (mut mixed, newer) = (self.older[lane], self.newer[lane]);
            mixed ^= mixed << 23;
            mixed ^= mixed >> 18;
            mixed ^= newer ^ (newer >> 5);
            self.older[lane] = newer;
            self.newer[lane] = mixed;
            *word = mixed.wrapping_add(newer).to_le_bytes();
        }
        words
    }

    fn fill(&mut self, buffer: &mut [u8]) {
        // Work on a copy: the compiler cannot keep state in registers that might alias the buffer.
        let mut lanes = *self;
        let (strides, rest) = buffer.as_chunks_mut::<STRIDE>();
        for stride in strides {
            let (words, _) = stride.as_chunks_mut::<8>();
            words.copy_from_slice(&lanes.next());
        }
        if !rest.is_empty() {
            rest.copy_from_slice(&lanes.next().as_flattened()[..rest.len()]);
        }
        *self = lanes;
    }
}

/// Each 4 KiB of a buffer starts with random bytes and ends with zeros, in the ratio that a compressor can remove. The
/// configured share of blocks are copies of earlier blocks, reproduced from their numbers, so no old blocks are stored.
#[derive(Debug, Clone)]
struct Reducible {
    random_percent: usize,
    duplicate_percent: u64,
    key: u64,
    /// Number of distinct blocks made so far.
    blocks: u64,
    rng: Rng,
}

impl Reducible {
    fn fill(&mut self, buffer: &mut [u8]) {
        for block in buffer.chunks_mut(BLOCK_BYTES) {
            let copies = self.rng.below(100) < self.duplicate_percent && self.blocks > 0;
            let number = if copies { self.rng.below(self.blocks) } else { self.blocks };
            self.blocks += u64::from(!copies);
            let random = block.len() * self.random_percent / 100;
            let (random, zeros) = block.split_at_mut(random);
            Lanes::for_block(self.key, number).fill(random);
            zeros.fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const STREAM: StreamId = StreamId { seed: 42, phase: 0, worker: 0 };

    fn filled(content: Content, length: usize) -> Vec<u8> {
        let mut buffer = vec![0xee; length];
        Filler::new(content, STREAM).fill(&mut buffer);
        buffer
    }

    fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
        bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()))
    }

    #[test]
    fn the_first_bytes_never_change() {
        assert_eq!(
            words(&filled(Content::Random, 40)).collect::<Vec<_>>(),
            [12382122021785509295, 946125517646837462, 9180110102605723957, 12172708179148783914, 8533299085330630819]
        );
        let reducible = Content::Reducible { compress_percent: 50, duplicate_percent: 10 };
        assert_eq!(
            words(&filled(reducible, 64)).collect::<Vec<_>>(),
            [4591847842301254506, 13146764373086107971, 8645684018534930673, 8772375847100976682, 0, 0, 0, 0]
        );
    }

    #[test]
    fn random_content_has_no_repeats_for_a_compressor_or_a_deduplicator() {
        let bytes = filled(Content::Random, 16 << 20);
        let mut seen = HashSet::new();
        // Any repeat of 8 bytes at a multiple of 8 would be found. By chance, 1 in 10^7 such tests finds one.
        assert!(words(&bytes).all(|word| seen.insert(word)));
        // Also no repeats of 4 bytes anywhere within 64 KiB. By chance, such a window has half a pair.
        let repeats: usize = (0..16)
            .map(|window| {
                let mut seen = HashSet::new();
                bytes[window << 20..][..1 << 16].windows(4).filter(|four| !seen.insert(*four)).count()
            })
            .sum();
        assert!(repeats < 40, "{repeats} repeats of 4 bytes");
    }

    #[test]
    fn random_bytes_are_equally_frequent_in_every_lane() {
        let bytes = filled(Content::Random, 8 << 20);
        for lane in 0..STRIDE {
            let mut counts = [0u32; 256];
            bytes.iter().skip(lane).step_by(STRIDE).for_each(|&byte| counts[usize::from(byte)] += 1);
            let expected = (8 << 20) as f64 / STRIDE as f64 / 256.0;
            let chi: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
            assert!((150.0..380.0).contains(&chi), "lane {lane}: chi-square {chi} of 255");
        }
    }

    #[test]
    fn no_two_streams_or_fills_agree() {
        let mut seen = HashSet::new();
        for stream in [STREAM, StreamId { worker: 1, ..STREAM }, StreamId { phase: 1, ..STREAM }] {
            for content in [Content::Random, Content::Reducible { compress_percent: 10, duplicate_percent: 0 }] {
                let mut filler = Filler::new(content, stream);
                for _ in 0..10 {
                    let mut buffer = vec![0; 4096];
                    filler.refill(&mut buffer);
                    assert!(seen.insert(buffer));
                }
            }
        }
    }

    #[test]
    fn constants_are_constant() {
        assert!(filled(Content::Zero, 1000).iter().all(|&byte| byte == 0));
        assert!(filled(Content::Byte(0xa5), 1000).iter().all(|&byte| byte == 0xa5));
        let mut filler = Filler::new(Content::Byte(7), STREAM);
        let mut buffer = [1; 8];
        filler.refill(&mut buffer);
        assert_eq!(buffer, [1; 8], "a constant costs nothing an op");
    }

    #[test]
    fn each_4_kib_compresses_by_its_share() {
        for percent in [0, 1, 30, 50, 99, 100] {
            let bytes = filled(Content::Reducible { compress_percent: percent, duplicate_percent: 5 }, 1 << 20);
            for block in bytes.chunks(4096) {
                let zeros = block.iter().rev().take_while(|&&byte| byte == 0).count();
                let expected = 4096 * usize::from(percent) / 100;
                assert!(zeros.abs_diff(expected) <= 3, "{zeros} zeros for {percent} %");
            }
        }
    }

    #[test]
    fn duplicates_have_their_share() {
        for percent in [0u8, 20, 50, 90] {
            let bytes = filled(Content::Reducible { compress_percent: 10, duplicate_percent: percent }, 40 << 20);
            let distinct: HashSet<&[u8]> = bytes.chunks(4096).collect();
            let share = 1.0 - distinct.len() as f64 / (bytes.len() / 4096) as f64;
            assert!((share - f64::from(percent) / 100.0).abs() < 0.015, "{share} for {percent} %");
        }
    }

    #[test]
    fn odd_lengths_are_filled_to_the_end() {
        for content in [Content::Random, Content::Reducible { compress_percent: 0, duplicate_percent: 50 }] {
            for length in [0, 1, 31, 33, 4095, 4097, 10_000] {
                let mut filler = Filler::new(content, STREAM);
                let mut touched = vec![false; length];
                for _ in 0..20 {
                    let mut buffer = vec![0; length];
                    filler.fill(&mut buffer);
                    touched.iter_mut().zip(&buffer).for_each(|(touched, &byte)| *touched |= byte != 0);
                }
                assert!(touched.into_iter().all(|touched| touched), "{content:?}, {length} bytes");
            }
        }
    }
}
