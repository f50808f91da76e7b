//! Random content that costs almost nothing while the clock runs.
//!
//! A pool of random bytes is filled before the clock starts. Each write takes a part of it ([`Pool`]), and each 512
//! bytes of that part get a stamp that is unique in the run ([`Premade`]). So no two blocks are equal, and a compressor
//! finds a repeat only if it looks back further than the pool's length.

use super::fill::Filler;
use crate::op::Slot;
use crate::rng::{Purpose, StreamId, splitmix64};
use plumb_workload::Content;

/// Minimum length of a worker's pool; many large ops in flight need more. File systems compress at most 128
/// KiB together (btrfs, ZFS by default), so repeats at this distance do not help them. The pool still fits
/// into a CPU's own cache.
const POOL_BYTES: usize = 512 << 10;

/// Pool parts up to this length are small enough to have twice as many as slots.
const FEW_BYTES: usize = 64 << 10;

/// Length of the unit that gets a stamp: the smallest block that any storage deduplicates.
const SECTOR_BYTES: usize = 512;

/// Shorter writes are generated instead: a pool has too few aligned positions for them, and generating them is cheap.
const SHORTEST_BYTES: usize = 4096;

/// Step between stamps. It is odd, so that the counter repeats only after 2^64 stamps. It is derived from the golden
/// ratio, so that a compressor finds nothing in common between consecutive stamps.
const STAMP_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Generates the bytes of a pool, and stamps the writes taken from it.
#[derive(Debug, Clone)]
pub(crate) struct Premade {
    filler: Filler,
    stamp: u64,
}

impl Premade {
    /// Creates a generator for content that can neither be compressed nor deduplicated; `None` for other content.
    pub(crate) fn new(content: Content, stream: StreamId) -> Option<Premade> {
        let filler = Filler::new(content, stream);
        let stamp = splitmix64(stream.rng(Purpose::Content).next_u64());
        filler.is_random().then_some(Premade { filler, stamp })
    }

    /// Fills memory with new random bytes.
    pub(crate) fn fill(&mut self, memory: &mut [u8]) {
        self.filler.fill(memory);
    }

    /// Stamps a write taken from the pool. Afterwards it has no sector in common with any earlier write.
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

/// Allocates parts of a pool to writes.
///
/// The pool is divided into places, each long enough for the largest write. The file offset of a write
/// determines its place, so that neighbouring blocks in a file come from different parts of the pool, in
/// whatever order they are written. If another slot of the queue holds that place, the write takes a distant
/// one: memory in flight is never changed.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    /// By place: the slot that holds it.
    owners: Box<[Option<Slot>]>,
    /// By slot: the place that it holds.
    places: Box<[usize]>,
    place_bytes: usize,
    align: usize,
}

impl Pool {
    /// Creates a pool for `slots` slots with writes of up to `largest` bytes. All writes begin at multiples of `align`.
    pub(crate) fn new(largest: usize, slots: usize, align: usize) -> Pool {
        let place_bytes = largest.max(1).next_multiple_of(align);
        // With twice as many places as slots, a free one is always close. For large places that
        // would take too much memory.
        let places = POOL_BYTES.div_ceil(place_bytes);
        let places =
            if place_bytes <= FEW_BYTES { places.max(2 * slots).next_power_of_two() } else { places.max(slots) };
        let mut owners = vec![None; places].into_boxed_slice();
        for slot in 0..slots {
            owners[slot] = Some(slot as Slot);
        }
        Pool { owners, places: (0..slots).collect(), place_bytes, align }
    }

    /// Returns the length of the pool in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.owners.len() * self.place_bytes
    }

    /// Returns a free place that is far from `taken`, and far from the places that this search finds for nearby writes:
    /// adjacent places belong to adjacent file offsets.
    fn free_away_from(&self, taken: usize) -> usize {
        let count = self.owners.len();
        // An odd stride visits all places of a power of two. One or two such strides lead far from
        // the start, in either direction.
        let stride = if count.is_power_of_two() { (count * 9 / 32) | 1 } else { 1 };
        let mut place = taken;
        // At least one place is free: the one that this slot just released.
        while self.owners[place].is_some() {
            place = (place + stride) % count;
        }
        place
    }

    /// Returns the pool offset for a slot's next write, of `length` bytes at file offset `position`.
    #[inline]
    pub(crate) fn take(&mut self, slot: Slot, position: u64, length: usize) -> usize {
        self.owners[self.places[usize::from(slot)]] = None;
        // Writes of the same unaligned length are adjacent in the file, and get consecutive
        // aligned positions in the pool.
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
        // A write too long for the end of its place goes to a position that no neighbour uses.
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

    /// Returns the content of writes with these lengths, issued one after another in one of `slots` slots.
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

    /// Returns the compressed size of the writes relative to their length, in units of 128 KiB.
    fn compressed(writes: &[Vec<u8>]) -> f64 {
        let bytes = writes.concat();
        let parts = bytes.chunks(128 << 10).map(|part| {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(9));
            encoder.write_all(part).unwrap();
            encoder.finish().unwrap().len()
        });
        parts.sum::<usize>() as f64 / bytes.len() as f64
    }

    /// Counts 8-byte words, at multiples of 8, that repeat within `distance`.
    fn repeats_within(writes: &[Vec<u8>], distance: usize) -> usize {
        let bytes = writes.concat();
        let mut last = std::collections::HashMap::new();
        let words = bytes.chunks_exact(8).enumerate();
        words.filter(|(at, word)| last.insert(*word, *at).is_some_and(|before| (at - before) * 8 < distance)).count()
    }

    // Protects the content: storage that deduplicates or compresses saves nothing, for any write size.
    #[test]
    fn no_sector_repeats_and_nothing_compresses() {
        for length in [512, 2048, 4096, 5000, 16 << 10, 128 << 10, 1 << 20] {
            let writes = written(std::iter::repeat_n(length, (8 << 20) / length), length, STREAM);
            let mut seen = HashSet::new();
            assert!(writes.iter().flat_map(|write| write.chunks(512)).all(|sector| seen.insert(sector)), "{length}");
            assert!(compressed(&writes) > 0.999, "{length}: {}", compressed(&writes));
            assert_eq!(repeats_within(&writes, 128 << 10), 0, "{length}");
        }
        // A deep queue with few ops in flight reuses the same few slots.
        let writes = written_of(64, std::iter::repeat_n(4096, 500), 4096, STREAM);
        assert_eq!(repeats_within(&writes, 128 << 10), 0);
        // Writes of alternating sizes use the same pool.
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

    /// A seed promises the same stamps in every version.
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
    fn writes_begin_aligned_and_never_touch_memory_in_flight() {
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

    /// Protects random writes: adjacent blocks are compressed together, even if they were written at different times.
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
