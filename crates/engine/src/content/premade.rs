//! Random content that costs next to nothing while the clock runs.
//!
//! A pool of random bytes is filled before the clock starts. Each write takes the next stretch of it ([`Pool`]), and
//! each 512 bytes of that stretch get a stamp that no other sector of the run has ([`Premade`]). So no two blocks are
//! equal, and a compressor finds a repeat only if it looks back further than the pool is long.

use super::fill::Filler;
use crate::rng::{Purpose, StreamId, splitmix64};
use plumb_workload::Content;
use std::collections::VecDeque;
use std::ops::Range;

/// Length of a worker's pool, unless its ops in flight need more. File systems compress at most 128 KiB together (btrfs,
/// ZFS by default), so that repeats at this distance gain them nothing; and it still fits into a processor's own cache.
const POOL_BYTES: usize = 512 << 10;

/// Each of these gets a stamp: the smallest block that anything deduplicates.
const SECTOR_BYTES: usize = 512;

/// Shorter writes are generated anew: there are too few of them in a pool, and they cost little.
const SHORTEST_BYTES: usize = 2048;

/// What stamps are apart: odd, so that a counter that it is added to returns after 2^64 stamps; the golden ratio's part, so
/// that consecutive stamps have nothing in common for a compressor.
const STAMP_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Makes the bytes of a pool, and the stamps of what is written from it.
#[derive(Debug, Clone)]
pub(crate) struct Premade {
    filler: Filler,
    stamp: u64,
}

impl Premade {
    /// For content that can neither be compressed nor deduplicated; `None` for any other.
    pub(crate) fn new(content: Content, stream: StreamId) -> Option<Premade> {
        let filler = Filler::new(content, stream);
        let stamp = splitmix64(stream.rng(Purpose::Content).next_u64());
        filler.is_random().then_some(Premade { filler, stamp })
    }

    /// Fills memory with random bytes that were never there before.
    pub(crate) fn fill(&mut self, memory: &mut [u8]) {
        self.filler.fill(memory);
    }

    /// Makes a write of a stretch of the pool: after this it has no sector in common with any write before it.
    #[inline]
    pub(crate) fn stamp(&mut self, write: &mut [u8]) {
        if write.len() < SHORTEST_BYTES {
            return self.filler.fill(write);
        }
        let mut stamp = self.stamp;
        let (sectors, rest) = write.as_chunks_mut::<SECTOR_BYTES>();
        for sector in sectors {
            sector[..8].copy_from_slice(&stamp.to_le_bytes());
            stamp = stamp.wrapping_add(STAMP_STEP);
        }
        let length = rest.len().min(8);
        rest[..length].copy_from_slice(&splitmix64(stamp).to_le_bytes()[..length]);
        self.stamp = stamp.wrapping_add(STAMP_STEP);
    }
}

/// Which stretch of a pool the next write takes.
///
/// The pool is divided into places, each long enough for the largest write. A slot of the queue keeps its place until its
/// writes have gone through it, and then takes the one that has been free for longest: repeats are as far apart as the pool
/// is long, however few ops are in flight, and memory that is in flight is never changed.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    /// Where free places begin. It never holds more than it was made for.
    free: VecDeque<usize>,
    /// By slot.
    taken: Box<[Taken]>,
    place_bytes: usize,
    bytes: usize,
    align: usize,
}

/// What a slot has of a pool.
#[derive(Debug, Clone, Copy)]
struct Taken {
    start: usize,
    used: usize,
}

impl Pool {
    /// One for this many slots with writes of up to `largest` bytes. All writes begin at multiples of `align`.
    pub(crate) fn new(largest: usize, slots: usize, align: usize) -> Pool {
        let place_bytes = largest.max(1).next_multiple_of(align);
        let places = POOL_BYTES.div_ceil(place_bytes).max(slots);
        let starts = |range: Range<usize>| range.map(move |place| place * place_bytes);
        let mut free = VecDeque::with_capacity(places);
        free.extend(starts(slots..places));
        let taken = starts(0..slots).map(|start| Taken { start, used: 0 }).collect();
        Pool { free, taken, place_bytes, bytes: places * place_bytes, align }
    }

    /// Its length.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where a slot's next write, of this length, begins.
    #[inline]
    pub(crate) fn take(&mut self, slot: usize, length: usize) -> usize {
        let taken = &mut self.taken[slot];
        if taken.used + length > self.place_bytes {
            self.free.push_back(taken.start);
            let start = self.free.pop_front().unwrap_or(taken.start);
            *taken = Taken { start, used: 0 };
        }
        let start = taken.start + taken.used;
        taken.used += length.next_multiple_of(self.align);
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::io::Write;

    const STREAM: StreamId = StreamId { seed: 42, phase: 0, worker: 0 };

    /// The bytes of writes of these lengths, one after another in one slot of this many.
    fn written_of(
        slots: usize,
        lengths: impl Iterator<Item = usize>,
        largest: usize,
        stream: StreamId,
    ) -> Vec<Vec<u8>> {
        let mut premade = Premade::new(Content::Random, stream).unwrap();
        let mut pool = Pool::new(largest, slots, 4096);
        let mut memory = vec![0; pool.bytes()];
        premade.fill(&mut memory);
        lengths
            .map(|length| {
                let start = pool.take(0, length);
                premade.stamp(&mut memory[start..start + length]);
                memory[start..start + length].to_vec()
            })
            .collect()
    }

    fn written(lengths: impl Iterator<Item = usize>, largest: usize, stream: StreamId) -> Vec<Vec<u8>> {
        written_of(1, lengths, largest, stream)
    }

    /// How much of its length is left of each 128 KiB, compressed with all that is in it.
    fn compressed(writes: &[Vec<u8>]) -> f64 {
        let bytes = writes.concat();
        let parts = bytes.chunks(128 << 10).map(|part| {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(9));
            encoder.write_all(part).unwrap();
            encoder.finish().unwrap().len()
        });
        parts.sum::<usize>() as f64 / bytes.len() as f64
    }

    /// 8 bytes that come a second time at a multiple of 8, within this distance.
    fn repeats_within(writes: &[Vec<u8>], distance: usize) -> usize {
        let bytes = writes.concat();
        let mut last = std::collections::HashMap::new();
        let words = bytes.chunks_exact(8).enumerate();
        words.filter(|(at, word)| last.insert(*word, *at).is_some_and(|before| (at - before) * 8 < distance)).count()
    }

    // Protects: storage that deduplicates or compresses can save nothing, whatever the size of the writes.
    #[test]
    fn no_sector_comes_twice_and_nothing_compresses() {
        for length in [512, 2048, 4096, 5000, 16 << 10, 128 << 10, 1 << 20] {
            let writes = written(std::iter::repeat_n(length, (8 << 20) / length), length, STREAM);
            let mut seen = HashSet::new();
            assert!(writes.iter().flat_map(|write| write.chunks(512)).all(|sector| seen.insert(sector)), "{length}");
            assert!(compressed(&writes) > 0.999, "{length}: {}", compressed(&writes));
            assert_eq!(repeats_within(&writes, 128 << 10), 0, "{length}");
        }
        // A deep queue with hardly anything in flight takes its slots from the same few.
        let writes = written_of(64, std::iter::repeat_n(4096, 500), 4096, STREAM);
        assert_eq!(repeats_within(&writes, 128 << 10), 0);
        // Sizes that change from write to write go through the same pool.
        let mut seen = HashSet::new();
        let lengths = (0..4000).map(|number| [4096, 700, 40_000, 12_288, 3][number % 5]);
        let writes = written(lengths, 1 << 20, STREAM);
        assert!(writes.iter().flat_map(|write| write.chunks_exact(512)).all(|sector| seen.insert(sector)));
        assert!(compressed(&writes) > 0.999);
    }

    #[test]
    fn the_same_stream_writes_the_same_and_no_two_streams_agree() {
        let of = |stream| written(std::iter::repeat_n(4096, 300), 4096, stream).concat();
        assert!(of(STREAM) == of(STREAM));
        let mut seen: HashSet<Vec<u8>> = of(STREAM).chunks(512).map(<[u8]>::to_vec).collect();
        for stream in
            [StreamId { seed: 43, ..STREAM }, StreamId { worker: 1, ..STREAM }, StreamId { phase: 1, ..STREAM }]
        {
            assert!(of(stream).chunks(512).all(|sector| seen.insert(sector.to_vec())));
        }
    }

    /// They are part of what a seed promises.
    #[test]
    fn the_first_stamps_never_change() {
        let writes = written([4096, 4096].into_iter(), 4096, STREAM);
        let word = |write: usize, at: usize| u64::from_le_bytes(writes[write][at..at + 8].try_into().unwrap());
        assert_eq!(
            [word(0, 0), word(0, 512), word(0, 8), word(1, 0)],
            [15209323839306212533, 8163294584919859402, 946125517646837462, 7135292770957689202]
        );
    }

    #[test]
    fn writes_begin_aligned_and_never_touch_what_another_slot_has_in_flight() {
        for (largest, slots, align) in [(4096, 1, 4096), (100, 32, 4096), (1 << 20, 4, 1 << 16), (700_000, 1, 4096)] {
            let mut pool = Pool::new(largest, slots, align);
            assert!(pool.bytes() >= POOL_BYTES.max(largest * slots));
            let room = pool.free.capacity();
            let mut in_flight = vec![0..0; slots];
            let mut rng = crate::rng::Rng::new(3);
            for _ in 0..5000 {
                let slot = rng.below(slots as u64) as usize;
                let length = 1 + rng.below(largest as u64) as usize;
                let start = pool.take(slot, length);
                in_flight[slot] = 0..0;
                assert!(start.is_multiple_of(align) && start + length <= pool.bytes());
                assert!(in_flight.iter().all(|other| start + length <= other.start || other.end <= start));
                in_flight[slot] = start..start + length;
            }
            assert_eq!(pool.free.capacity(), room, "nothing is allocated in the hot loop");
        }
    }

    #[test]
    fn content_that_can_be_reduced_is_not_premade() {
        let reducible = Content::Reducible { compress_percent: 1, duplicate_percent: 0 };
        for content in [Content::Zero, Content::Byte(1), reducible] {
            assert!(Premade::new(content, STREAM).is_none());
        }
        assert!(Premade::new(Content::Reducible { compress_percent: 0, duplicate_percent: 0 }, STREAM).is_some());
    }
}
