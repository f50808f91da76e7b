//! Random content that costs next to nothing while the clock runs.
//!
//! A pool of random bytes is filled before the clock starts. Each write takes a stretch of it ([`Pool`]), and
//! each 512 bytes of that stretch get a stamp that no other sector of the run has ([`Premade`]). So no two blocks are
//! equal, and a compressor finds a repeat only if it looks back further than the pool is long.

use super::fill::Filler;
use crate::op::Slot;
use crate::rng::{Purpose, StreamId, splitmix64};
use plumb_workload::Content;

/// Length of a worker's pool, unless its ops in flight need more. File systems compress at most 128 KiB together (btrfs,
/// ZFS by default), so that repeats at this distance gain them nothing; and it still fits into a processor's own cache.
const POOL_BYTES: usize = 512 << 10;

/// Places of this length or less are cheap to have more of.
const FEW_BYTES: usize = 64 << 10;

/// Each of these gets a stamp: the smallest block that anything deduplicates.
const SECTOR_BYTES: usize = 512;

/// Shorter writes are generated anew: aligned, too few of them are in a pool, and they cost little.
const SHORTEST_BYTES: usize = 4096;

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

/// Which stretch of a pool a write takes.
///
/// The pool is divided into places, each long enough for the largest write. A write takes the place that its position says,
/// so that whatever lies close together in a file comes from different parts of the pool, in whichever order it is written.
/// Where another slot of the queue has that place, it takes one far away: memory that is in flight is never changed.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    /// By place: the slot that has it.
    owners: Box<[Option<Slot>]>,
    /// By slot: its place.
    places: Box<[usize]>,
    place_bytes: usize,
    align: usize,
}

impl Pool {
    /// One for this many slots with writes of up to `largest` bytes. All writes begin at multiples of `align`.
    pub(crate) fn new(largest: usize, slots: usize, align: usize) -> Pool {
        let place_bytes = largest.max(1).next_multiple_of(align);
        // With twice as many as slots, a free place is never far; large ones would take too much memory for that.
        let places = POOL_BYTES.div_ceil(place_bytes);
        let places =
            if place_bytes <= FEW_BYTES { places.max(2 * slots).next_power_of_two() } else { places.max(slots) };
        let mut owners = vec![None; places].into_boxed_slice();
        for slot in 0..slots {
            owners[slot] = Some(slot as Slot);
        }
        Pool { owners, places: (0..slots).collect(), place_bytes, align }
    }

    /// Its length.
    pub(crate) fn bytes(&self) -> usize {
        self.owners.len() * self.place_bytes
    }

    /// A free place far from this one, and far from what other writes nearby find in the same way: nearby places belong to
    /// what lies nearby.
    fn free_away_from(&self, taken: usize) -> usize {
        let count = self.owners.len();
        // An odd stride goes through all of a power of two; one and two of these are far from the start, in either direction.
        let stride = if count.is_power_of_two() { (count * 9 / 32) | 1 } else { 1 };
        let mut place = taken;
        // There is a free one: the place that this slot has just given back.
        while self.owners[place].is_some() {
            place = (place + stride) % count;
        }
        place
    }

    /// Where a slot's next write begins: of this length, to this position in its file.
    #[inline]
    pub(crate) fn take(&mut self, slot: Slot, position: u64, length: usize) -> usize {
        self.owners[self.places[usize::from(slot)]] = None;
        // Writes of one odd length lie side by side in a file, and one aligned length after another in the pool.
        let (align, bytes) = (self.align as u64, length.max(1) as u64);
        let spread = if bytes.is_multiple_of(align) {
            position / align * align
        } else {
            (position / bytes).wrapping_mul(bytes.next_multiple_of(align))
        };
        let block = spread / self.place_bytes as u64;
        let mut place = (block % self.owners.len() as u64) as usize;
        if self.owners[place].is_some() {
            place = self.free_away_from(place);
        }
        self.owners[place] = Some(slot);
        self.places[usize::from(slot)] = place;
        let room = self.place_bytes - length.min(self.place_bytes);
        let within = (spread % self.place_bytes as u64) as usize;
        // What does not fit at the end goes where nothing nearby comes from.
        let within = if within <= room { within } else { room / 2 };
        place * self.place_bytes + within / self.align * self.align
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
        let mut position = 0;
        lengths
            .map(|length| {
                let start = pool.take(0, position, length);
                position += length as u64;
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
        let lengths = (0..4000).map(|number| [4096, 700, 40_960, 12_288, 3][number % 5]);
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
            let mut in_flight = vec![0..0; slots];
            let mut rng = crate::rng::Rng::new(3);
            for _ in 0..5000 {
                let slot = rng.below(slots as u64) as usize;
                let length = 1 + rng.below(largest as u64) as usize;
                let start = pool.take(slot as Slot, rng.below(1 << 30), length);
                in_flight[slot] = 0..0;
                assert!(start.is_multiple_of(align) && start + length <= pool.bytes());
                assert!(in_flight.iter().all(|other| start + length <= other.start || other.end <= start));
                in_flight[slot] = start..start + length;
            }
        }
    }

    /// Protects random writes: what lies side by side is compressed together, however far apart in time it was written.
    #[test]
    fn neighbours_come_from_different_parts_of_the_pool() {
        let mut pool = Pool::new(4096, 1, 4096);
        let mut rng = crate::rng::Rng::new(9);
        let blocks = 4096usize;
        let mut starts = vec![None; blocks];
        for _ in 0..100_000 {
            let block = rng.below(blocks as u64) as usize;
            starts[block] = Some(pool.take(0, block as u64 * 4096, 4096));
        }
        for near in starts.windows((128 << 10) / 4096) {
            assert_eq!(near.iter().flatten().collect::<HashSet<_>>().len(), near.iter().flatten().count());
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
