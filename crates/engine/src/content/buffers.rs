//! Content of writes that nothing verifies.
//!
//! There are three ways to produce it. A buffer is filled once and written repeatedly, with small
//! changes before each write. Or it is refilled for each write. Or writes take turns through a pool that
//! was filled before the clock started ([`super::premade`]). Content made while the clock runs comes
//! from the vectorised generators of [`super::fill`].

use super::error::ContentError;
use super::fill::Filler;
use super::pattern::FillPattern;
use super::premade::Premade;
use super::random::repeat;
use crate::clock::Clock;
use crate::op::BlockOp;
use crate::rng::{Purpose, Rng, StreamId, splitmix64};
use plumb_workload::content::DedupeMode;
use plumb_workload::{BufferContent, Content};
use std::path::Path;

/// Properties that make a worker's blocks differ from those of others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferRequest<'a> {
    pub(crate) content: &'a BufferContent,
    /// Differs in every run.
    pub(crate) stream: StreamId,
    /// Size of the smallest write in bytes.
    pub(crate) smallest: u32,
    /// Total size of the worker's files in bytes.
    pub(crate) total_bytes: u64,
    /// Base of relative pattern paths.
    pub(crate) base: &'a Path,
}

#[derive(Debug)]
pub(crate) struct Buffers {
    kind: Kind,
    /// Generate new content for each write.
    refills: bool,
    scramble: Option<Scramble>,
}

#[derive(Debug)]
enum Kind {
    Zero,
    Pattern(FillPattern),
    Random(Filler),
    /// Random content from its own pool.
    Premade(Premade),
    /// Random for this percentage of the buffer from its start, then one repeated word.
    RandomStart(Filler, u8),
    Reducible(Reducible),
}

impl Buffers {
    /// Prepares the content of a target. Random bytes come from a pool; other changing content
    /// is generated for each write.
    pub(crate) fn for_target(content: Content, stream: StreamId) -> Buffers {
        match Premade::new(content, stream) {
            Some(premade) => Buffers { kind: Kind::Premade(premade), refills: false, scramble: None },
            None => {
                let filler = Filler::new(content, stream);
                Buffers { refills: !filler.is_constant(), kind: Kind::Random(filler), scramble: None }
            }
        }
    }

    /// Prepares buffers that are filled like fio's.
    pub(crate) fn new(request: &BufferRequest<'_>) -> Result<Buffers, ContentError> {
        let BufferRequest { content, stream, .. } = *request;
        let pattern = FillPattern::new(&content.pattern, None, request.base)?;
        let kind = if content.compress_percent > 0 || content.dedupe_percent > 0 {
            Kind::Reducible(Reducible::new(request, pattern.map_or(Vec::new(), |pattern| pattern.bytes().to_vec())))
        } else if let Some(pattern) = pattern {
            Kind::Pattern(pattern)
        } else if content.zero {
            Kind::Zero
        } else {
            let filler = Filler::new(Content::Random, stream);
            match content.refill_percent {
                percent @ ..100 if content.refill => Kind::RandomStart(filler, percent),
                _ => Kind::Random(filler),
            }
        };
        let refills = match &kind {
            Kind::Zero => false,
            Kind::Pattern(pattern) => !pattern.is_constant(),
            Kind::Random(_) | Kind::Premade(_) => content.refill,
            Kind::RandomStart(..) | Kind::Reducible(_) => true,
        };
        let scrambles = content.scramble && matches!(kind, Kind::Random(_)) && !refills;
        Ok(Buffers { kind, refills, scramble: scrambles.then(Scramble::new) })
    }

    /// Returns `true` if each write needs work on its buffer.
    pub(super) fn works_each_op(&self) -> bool {
        self.refills || self.scramble.is_some() || self.uses_pool()
    }

    /// Returns `true` if writes take turns through a pool, which reads must not overwrite.
    pub(super) fn uses_pool(&self) -> bool {
        matches!(self.kind, Kind::Premade(_))
    }

    /// Returns `true` if each write gets entirely new content, so that the old content of its buffer does not matter.
    pub(super) fn refills_whole_writes(&self) -> bool {
        self.refills
    }

    /// Produces the content of a write in a buffer with arbitrary content.
    pub(super) fn fill_for(&mut self, op: &BlockOp, buffer: &mut [u8]) {
        if !self.refills {
            self.fill(buffer);
        }
        if !self.uses_pool() {
            self.before_write(op, buffer);
        }
    }

    /// Fills a whole buffer.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) {
        match &mut self.kind {
            Kind::Zero => buffer.fill(0),
            Kind::Pattern(pattern) => repeat(pattern.bytes(), buffer),
            Kind::Random(filler) => filler.fill(buffer),
            Kind::Premade(premade) => premade.fill(buffer),
            Kind::RandomStart(filler, percent) => fill_start(filler, *percent, buffer),
            Kind::Reducible(reducible) => reducible.fill_outside_series(buffer),
        }
    }

    /// Prepares the content of a write in a buffer filled before.
    #[inline]
    pub(super) fn before_write(&mut self, op: &BlockOp, buffer: &mut [u8]) {
        if let Some(scramble) = &mut self.scramble {
            return scramble.change(op.offset, buffer);
        }
        match &mut self.kind {
            Kind::Zero => {}
            Kind::Pattern(pattern) if self.refills => pattern.fill(op.offset, buffer),
            Kind::Pattern(_) => {}
            Kind::Random(filler) if self.refills => filler.fill(buffer),
            Kind::Random(_) => {}
            Kind::Premade(premade) => premade.stamp(buffer),
            Kind::RandomStart(filler, percent) => fill_start(filler, *percent, buffer),
            Kind::Reducible(reducible) => reducible.fill(buffer),
        }
    }
}

/// Fills the first `percent` of a buffer and repeats one word after it, so that the ends of two blocks differ as well.
fn fill_start(filler: &mut Filler, percent: u8, buffer: &mut [u8]) {
    let random_bytes = buffer.len() as u64 * u64::from(percent) / 100;
    let (random, rest) = buffer.split_at_mut(random_bytes as usize);
    filler.fill(random);
    let mut word = [0; 8];
    filler.fill(&mut word);
    repeat(&word, rest);
}

/// Scrambling changes every unit of this many bytes.
const SECTOR_BYTES: usize = 512;

/// Small changes in each 512 bytes, so that no two blocks are alike. The offset goes to the first word of one of the
/// eight 64-byte lines, and the time to the last two words of the first line. fio changes the same words.
#[derive(Debug)]
struct Scramble {
    clock: Clock,
    /// Write counter, so that two writes to one offset at the same clock reading differ, too.
    count: u64,
}

impl Scramble {
    fn new() -> Scramble {
        Scramble { clock: Clock::best(), count: 0 }
    }

    #[inline]
    fn change(&mut self, offset: u64, buffer: &mut [u8]) {
        self.count += 1;
        let (now, count) = (self.clock.now(), self.count);
        let line = ((now ^ offset) & 7) as usize * 64;
        let (sectors, _) = buffer.as_chunks_mut::<SECTOR_BYTES>();
        for (number, sector) in sectors.iter_mut().enumerate() {
            let place = offset + (number * SECTOR_BYTES) as u64;
            sector[line..line + 8].copy_from_slice(&place.to_le_bytes());
            sector[48..56].copy_from_slice(&count.to_le_bytes());
            sector[56..64].copy_from_slice(&now.to_le_bytes());
        }
    }
}

/// Content that is compressible or repetitive to a given degree.
///
/// Each buffer has a number in a series and depends only on that number. A shorter buffer is the start of a longer one.
/// The first bytes of each chunk are random, and the rest is a pattern or zeros.
#[derive(Debug)]
struct Reducible {
    chunk: usize,
    /// Number of random bytes per chunk.
    random: usize,
    tail: Vec<u8>,
    repeats_percent: u64,
    set: Option<Set>,
    /// Makes the series of this worker unique.
    key: u64,
    /// Buffers of the series made so far.
    made: u64,
    picks: Rng,
}

/// A fixed set of buffers that are repeated.
#[derive(Debug, Clone, Copy)]
struct Set {
    key: u64,
    count: u64,
}

impl Reducible {
    fn new(request: &BufferRequest<'_>, tail: Vec<u8>) -> Reducible {
        let BufferRequest { content, stream, smallest, total_bytes, .. } = *request;
        let smallest = smallest.max(1) as usize;
        let chunk = match usize::try_from(content.compress_chunk.0).unwrap_or(usize::MAX) {
            0 => smallest,
            chunk => chunk.min(smallest),
        };
        let key = stream.rng(Purpose::Content).next_u64();
        let set = (content.dedupe_mode == DedupeMode::WorkingSet).then(|| Set {
            key: if content.dedupe_globally { splitmix64(stream.seed) } else { key },
            count: (total_bytes / smallest as u64 * u64::from(content.dedupe_set_percent) / 100).max(1),
        });
        Reducible {
            chunk,
            random: chunk * (100 - usize::from(content.compress_percent.min(100))) / 100,
            tail,
            repeats_percent: u64::from(content.dedupe_percent.min(100)),
            set,
            key,
            made: 0,
            picks: stream.rng(Purpose::Mix),
        }
    }

    fn fill(&mut self, buffer: &mut [u8]) {
        // The first buffer has nothing to repeat, unless a set exists from the start.
        let repeats = self.repeats_percent > 0
            && (self.made > 0 || self.set.is_some())
            && self.picks.below(100) < self.repeats_percent;
        let (key, number) = match (repeats, self.set) {
            (true, Some(set)) => (set.key, self.picks.below(set.count)),
            (true, None) => (self.key, self.made - 1),
            (false, _) => {
                self.made += 1;
                (self.key, self.made - 1)
            }
        };
        self.make(key, number, buffer);
    }

    /// Fills a buffer with content outside the series.
    fn fill_outside_series(&mut self, buffer: &mut [u8]) {
        let number = self.picks.next_u64();
        self.make(splitmix64(self.key), number, buffer);
    }

    fn make(&self, key: u64, number: u64, buffer: &mut [u8]) {
        if self.random == self.chunk {
            return Filler::for_block(key, number).fill(buffer);
        }
        let mut filler = Filler::for_block(key, number);
        for chunk in buffer.chunks_mut(self.chunk) {
            let (random, rest) = chunk.split_at_mut(self.random.min(chunk.len()));
            filler.fill(random);
            repeat(&self.tail, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::content::PatternPiece;
    use plumb_workload::{Bytes, OpKind};
    use std::collections::HashSet;
    use std::io::Write;

    const BLOCK: u32 = 4096;

    fn request(content: &BufferContent) -> BufferRequest<'_> {
        let stream = StreamId { seed: 7, phase: 0, worker: 1 };
        BufferRequest { content, stream, smallest: BLOCK, total_bytes: 64 << 20, base: Path::new("") }
    }

    /// Returns the content of `count` consecutive writes.
    fn written(buffers: &mut Buffers, count: u64) -> Vec<Vec<u8>> {
        let mut slot = vec![0xee; BLOCK as usize];
        buffers.fill(&mut slot);
        (0..count)
            .map(|number| {
                let op = BlockOp::load(OpKind::Write, 0, number * u64::from(BLOCK), BLOCK);
                buffers.before_write(&op, &mut slot);
                slot.clone()
            })
            .collect()
    }

    fn fill_all(content: BufferContent, count: u64) -> Vec<Vec<u8>> {
        written(&mut Buffers::new(&request(&content)).unwrap(), count)
    }

    fn compressed(bytes: &[u8]) -> f64 {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(6));
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().len() as f64 / bytes.len() as f64
    }

    #[test]
    fn zeros_and_patterns_stay_and_cost_nothing() {
        let zero = BufferContent { zero: true, ..BufferContent::default() };
        assert!(!Buffers::new(&request(&zero)).unwrap().works_each_op());
        assert!(fill_all(zero, 3).iter().flatten().all(|&byte| byte == 0));
        let pattern = BufferContent { pattern: vec![PatternPiece::Hex("a1b2c3".into())], ..BufferContent::default() };
        assert!(!Buffers::new(&request(&pattern)).unwrap().works_each_op());
        assert!(
            fill_all(pattern, 3)
                .iter()
                .all(|block| block.chunks(3).all(|three| *three == [0xa1, 0xb2, 0xc3][..three.len()]))
        );
    }

    #[test]
    fn a_pattern_with_offsets_follows_each_write() {
        let content = BufferContent { pattern: vec![PatternPiece::Offset], ..BufferContent::default() };
        let blocks = fill_all(content, 3);
        assert_eq!(blocks[2][..16], [0, 32, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn scrambling_changes_every_sector_of_every_write_and_little_else() {
        let blocks = fill_all(BufferContent::default(), 200);
        let sectors: HashSet<&[u8]> = blocks.iter().flat_map(|block| block.chunks(512)).collect();
        assert_eq!(sectors.len(), 200 * 8);
        let changed = blocks[0].iter().zip(&blocks[1]).filter(|(a, b)| a != b).count();
        assert!(changed <= 8 * 48, "{changed} bytes changed");
        let still = fill_all(BufferContent { scramble: false, ..BufferContent::default() }, 3);
        assert_eq!(still[0], still[2]);
    }

    #[test]
    fn refilled_content_never_repeats_and_does_not_compress() {
        let blocks = fill_all(BufferContent { refill: true, ..BufferContent::default() }, 200);
        assert_eq!(blocks.iter().collect::<HashSet<_>>().len(), 200);
        assert!(compressed(&blocks.concat()) > 0.99);
    }

    /// Protects compression and deduplication tests: blocks are exactly as similar as configured.
    #[test]
    fn a_refilled_start_is_random_and_the_rest_repeats_one_unique_word() {
        for percent in [0, 1, 30, 99] {
            let blocks =
                fill_all(BufferContent { refill: true, refill_percent: percent, ..BufferContent::default() }, 50);
            let start = BLOCK as usize * usize::from(percent) / 100;
            let words: HashSet<&[u8]> = blocks.iter().map(|block| &block[start..start + 8]).collect();
            assert_eq!(words.len(), 50, "{percent} %: a word repeats in other blocks");
            for block in &blocks {
                assert!(block[start..].chunks(8).all(|word| *word == block[start..][..word.len()]), "{percent} %");
            }
            if percent == 30 {
                let starts: HashSet<&[u8]> = blocks.iter().flat_map(|block| block[..start].chunks_exact(8)).collect();
                assert_eq!(starts.len(), 50 * (start / 8));
            }
        }
        let still = fill_all(BufferContent { refill_percent: 50, scramble: false, ..BufferContent::default() }, 3);
        assert_eq!(still[0], still[2], "without refill the buffer stays the same");
    }

    #[test]
    fn content_compresses_by_its_share() {
        for percent in [10, 30, 50, 75, 90, 100] {
            for chunk in [512, 4096, 0] {
                let content = BufferContent {
                    compress_percent: percent,
                    compress_chunk: Bytes(chunk),
                    ..BufferContent::default()
                };
                let size = compressed(&fill_all(content, 256).concat());
                let expected = 1.0 - f64::from(percent) / 100.0;
                assert!((size - expected).abs() < 0.02, "{percent} % in chunks of {chunk}: compressed to {size}");
            }
        }
    }

    #[test]
    fn a_tail_is_the_pattern() {
        let content = BufferContent {
            compress_percent: 50,
            pattern: vec![PatternPiece::Hex("aabb".into())],
            ..BufferContent::default()
        };
        let block = &fill_all(content, 1)[0];
        assert!(block.chunks(512).all(|chunk| chunk[256..].chunks(2).all(|two| two == [0xaa, 0xbb])));
    }

    #[test]
    fn buffers_repeat_in_their_share() {
        for percent in [0, 20, 60, 90] {
            let content = BufferContent { dedupe_percent: percent, ..BufferContent::default() };
            let blocks = fill_all(BufferContent { refill: true, ..content }, 4000);
            let distinct = blocks.iter().collect::<HashSet<_>>().len() as f64 / 4000.0;
            assert!((1.0 - distinct - f64::from(percent) / 100.0).abs() < 0.03, "{distinct} distinct of {percent} %");
        }
        let same = fill_all(BufferContent { dedupe_percent: 100, ..BufferContent::default() }, 50);
        assert_eq!(same.iter().collect::<HashSet<_>>().len(), 1);
    }

    #[test]
    fn a_working_set_holds_what_repeats() {
        let content = BufferContent {
            dedupe_percent: 80,
            dedupe_mode: DedupeMode::WorkingSet,
            dedupe_set_percent: 1,
            ..BufferContent::default()
        };
        // The set has 1 % of 16,384 blocks.
        let blocks = fill_all(content.clone(), 8000);
        let mut counts = std::collections::HashMap::new();
        blocks.iter().for_each(|block| *counts.entry(block).or_insert(0) += 1);
        let repeated = counts.values().filter(|&&count| count > 1).count();
        assert!((150..=163).contains(&repeated), "{repeated} of 163 repeat");
        let distinct = counts.len() as f64 / 8000.0;
        assert!((0.18..0.24).contains(&distinct), "{distinct} distinct");

        let global = BufferContent { dedupe_globally: true, dedupe_percent: 100, ..content };
        let of_worker = |worker| {
            let request = BufferRequest { stream: StreamId { seed: 7, phase: 0, worker }, ..request(&global) };
            written(&mut Buffers::new(&request).unwrap(), 2000).into_iter().collect::<HashSet<_>>()
        };
        let (one, other) = (of_worker(1), of_worker(2));
        assert_eq!(one, other, "all workers repeat the same set");
    }

    #[test]
    fn no_two_workers_or_runs_write_the_same() {
        let content = BufferContent { refill: true, ..BufferContent::default() };
        let mut seen = HashSet::new();
        for (seed, worker) in [(7, 1), (7, 2), (8, 1)] {
            let request = BufferRequest { stream: StreamId { seed, phase: 0, worker }, ..request(&content) };
            assert!(written(&mut Buffers::new(&request).unwrap(), 20).into_iter().all(|block| seen.insert(block)));
        }
    }
}
