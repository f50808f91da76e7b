//! The memory of a program's transfers: its content, and the check of data read back.

use crate::backend::payload::median_ns;
use crate::backend::region::Region;
use crate::content::packets::{self, PacketId};
use crate::content::trailers::Trailers;
use crate::content::{Filler, Mismatch, Pool, Premade};
use crate::rng::{Purpose, StreamId};
use crate::worker_error::WorkerError;
use plumb_workload::process::BufferRules;
use plumb_workload::program::{Packets, ProgramContent, ProgramMemory};
use plumb_workload::{Bytes, Content};

const WORD_BYTES: usize = 8;

/// Memory for the current op.
pub(super) struct RecordMemory {
    region: Region,
    content: HeldContent,
    /// Start of the op's piece.
    at: usize,
    /// Size of the memory that pieces are spread over; 0 puts all in one place.
    spread_bytes: usize,
    purge_line: Option<usize>,
    /// Number of bytes incremented so far.
    counted: usize,
    /// Length of the largest op.
    largest_bytes: usize,
    changes: bool,
}

/// Alignment that suffices for direct I/O everywhere.
const SMALLEST_ALIGN_BYTES: usize = 4096;

/// Returns the alignment of records, and of pieces in a pool.
fn align_bytes(rules: ProgramMemory) -> usize {
    (rules.align.0 as usize).max(SMALLEST_ALIGN_BYTES)
}

/// Number of words that are compared in less time than a clock reading takes.
const FEW_WORDS: usize = 4;

enum HeldContent {
    Zeros,
    Words {
        word: u64,
        every: usize,
    },
    Positional {
        seed: u64,
    },
    Counted,
    Ascending,
    /// Random: writes cycle through a pool, and all other ops use the memory after it.
    Premade {
        premade: Box<Premade>,
        pool: Pool,
        /// Bytes so far, each write rounded up: programs write their files one after another.
        written: u64,
    },
    Filled(Box<Filler>),
    Trailers(Trailers),
    Packets {
        packets: Packets,
        /// Worker and length of the packet in the memory, if it is the same for all items of a worker.
        held: Option<(u32, u64)>,
    },
}

impl RecordMemory {
    /// Allocates memory for ops of up to `largest_bytes`.
    pub(super) fn new(
        rules: ProgramMemory,
        content: &ProgramContent,
        largest_bytes: usize,
        stream: StreamId,
    ) -> Result<RecordMemory, WorkerError> {
        let filled = match *content {
            ProgramContent::Random => Some(Content::Random),
            ProgramContent::Reducible { compress_percent, duplicate_percent } => {
                Some(Content::Reducible { compress_percent, duplicate_percent })
            }
            _ => None,
        };
        if let Some(filled) = filled {
            return RecordMemory::with_content(rules, filled, largest_bytes, stream);
        }
        let memory = RecordMemory::zeros(rules, largest_bytes, 0)?;
        let mut region = memory.region;
        let content = match content {
            ProgramContent::Words { byte, every } => {
                let word = u64::from_ne_bytes([*byte; WORD_BYTES]);
                let every = (every.0 as usize).min(largest_bytes.max(WORD_BYTES));
                for place in region.as_mut_slice().chunks_mut(every) {
                    if let Some(first) = place.first_chunk_mut() {
                        *first = word.to_ne_bytes();
                    }
                }
                HeldContent::Words { word, every }
            }
            ProgramContent::UniqueWords { seed } => HeldContent::Positional { seed: *seed },
            ProgramContent::Sysbench { block } => {
                HeldContent::Trailers(Trailers::new(block.0, stream.rng(Purpose::Content).next_u64()))
            }
            ProgramContent::Counted => HeldContent::Counted,
            ProgramContent::Packets(packets) => {
                let of = PacketId { worker: packets.worker, item: 0 };
                packets::fill(*packets, of, &mut region.as_mut_slice()[..largest_bytes]);
                HeldContent::Packets { packets: *packets, held: None }
            }
            ProgramContent::Ascending => {
                for (number, byte) in (0usize..).zip(region.as_mut_slice()) {
                    *byte = (number % 128) as u8;
                }
                HeldContent::Ascending
            }
            ProgramContent::Zeros | ProgramContent::Random | ProgramContent::Reducible { .. } => HeldContent::Zeros,
        };
        let changes = memory.changes || !content.is_constant();
        Ok(RecordMemory { region, content, changes, ..memory })
    }

    /// Allocates memory for ops whose writes have generated content.
    pub(super) fn with_content(
        rules: ProgramMemory,
        content: Content,
        largest_bytes: usize,
        stream: StreamId,
    ) -> Result<RecordMemory, WorkerError> {
        // Memory with another order of pieces has its own content in each place.
        let has_pool = rules.spread.is_none() && rules.purge_line.is_none();
        let Some(mut premade) = Premade::new(content, stream).filter(|_| has_pool) else {
            let memory = RecordMemory::zeros(rules, largest_bytes, 0)?;
            let content = HeldContent::Filled(Box::new(Filler::new(content, stream)));
            return Ok(RecordMemory { content, changes: true, ..memory });
        };
        let pool = Pool::new(largest_bytes, 1, align_bytes(rules));
        let pool_bytes = pool.bytes();
        let mut memory = RecordMemory::zeros(rules, largest_bytes, pool_bytes)?;
        premade.fill(&mut memory.region.as_mut_slice()[..pool_bytes]);
        let content = HeldContent::Premade { premade: Box::new(premade), pool, written: 0 };
        Ok(RecordMemory { content, at: pool_bytes, changes: true, ..memory })
    }

    /// Allocates zeros for ops of up to `largest_bytes`, after a pool of `pool_bytes`.
    fn zeros(rules: ProgramMemory, largest_bytes: usize, pool_bytes: usize) -> Result<RecordMemory, WorkerError> {
        let spread_bytes = rules.spread.map_or(0, |bytes| bytes.0 as usize).max(largest_bytes);
        let spread_bytes = if rules.spread.is_some() { spread_bytes } else { 0 };
        let bytes = pool_bytes + spread_bytes.max(largest_bytes).max(WORD_BYTES);
        let align = Some(Bytes(align_bytes(rules) as u64));
        let buffers = BufferRules { align, ..BufferRules::default() };
        let mut region = Region::with_rules(bytes, &buffers).map_err(|source| WorkerError::Memory { bytes, source })?;
        let purge_line = rules.purge_line.map(|line| line.0 as usize);
        if let Some(line) = purge_line {
            purge(region.as_mut_slice(), line)?;
        }
        let changes = spread_bytes > 0 || purge_line.is_some();
        let content = HeldContent::Zeros;
        Ok(RecordMemory { region, content, at: 0, spread_bytes, purge_line, counted: 0, largest_bytes, changes })
    }

    /// Returns `true` if the memory must be prepared before each op.
    #[inline(always)]
    pub(super) fn changes(&self) -> bool {
        self.changes
    }

    /// Returns `true` if checking the data read takes less time than a clock reading.
    pub(super) fn checks_few_words(&self) -> bool {
        matches!(self.content, HeldContent::Words { every, .. } if self.largest_bytes.div_ceil(every) <= FEW_WORDS)
    }

    /// Returns `true` if writes may share the memory while they are in flight.
    pub(super) fn is_constant(&self) -> bool {
        self.content.is_constant()
    }

    /// Returns the op's own piece.
    #[inline(always)]
    pub(super) fn piece(&mut self, bytes: u64) -> &mut [u8] {
        &mut self.region.as_mut_slice()[self.at..self.at + bytes as usize]
    }

    /// Leaves the data of the last write alone, for ops that write nothing.
    #[inline]
    pub(super) fn rest(&mut self) {
        if let HeldContent::Premade { pool, .. } = &self.content {
            self.at = pool.bytes();
        }
    }

    /// Moves on to the next piece.
    pub(super) fn turn(&mut self, bytes: u64) {
        let bytes = bytes as usize;
        if self.spread_bytes > 0 {
            self.at = if self.at + 2 * bytes <= self.spread_bytes { self.at + bytes } else { 0 };
        }
        if let Some(line) = self.purge_line {
            // The first purge, when the memory was created, has shown that it is supported.
            let _ = purge(&self.region.as_mut_slice()[self.at..self.at + bytes], line);
        }
    }

    /// Generates the data of the next write.
    pub(super) fn fill(&mut self, offset: u64, bytes: u64) {
        let RecordMemory { region, content, at, counted, .. } = self;
        if let HeldContent::Premade { premade, pool, written } = content {
            let room = (bytes as usize).next_multiple_of(SMALLEST_ALIGN_BYTES);
            *at = pool.take(0, *written, room);
            *written = written.wrapping_add(room as u64);
            return premade.stamp(&mut region.as_mut_slice()[*at..*at + bytes as usize]);
        }
        let piece = &mut region.as_mut_slice()[*at..*at + bytes as usize];
        match content {
            HeldContent::Zeros | HeldContent::Words { .. } | HeldContent::Ascending | HeldContent::Premade { .. } => {}
            HeldContent::Positional { seed } => {
                for (number, word) in (0u64..).zip(piece.chunks_mut(WORD_BYTES)) {
                    let bytes = positional_word(*seed, offset, number).to_ne_bytes();
                    word.copy_from_slice(&bytes[..word.len()]);
                }
            }
            HeldContent::Trailers(trailers) => trailers.fill(offset, piece),
            HeldContent::Counted => {
                if let Some(byte) = piece.get_mut(*counted) {
                    *byte = byte.wrapping_add(1);
                }
                *counted = (*counted + 1) % piece.len().max(1);
            }
            HeldContent::Filled(filler) => filler.fill(piece),
            HeldContent::Packets { packets, .. } => {
                packets::fill(*packets, PacketId { worker: packets.worker, item: offset }, piece);
            }
        }
    }

    /// Generates the packet that is written into an item, if the content is packets.
    pub(super) fn fill_packet(&mut self, of: PacketId, bytes: u64) {
        let RecordMemory { region, content: HeldContent::Packets { packets, held }, at, .. } = self else { return };
        let holds = Some((of.worker, bytes));
        if *held != holds {
            packets::fill(*packets, of, &mut region.as_mut_slice()[*at..*at + bytes as usize]);
            *held = holds.filter(|_| packets::is_constant(packets));
        }
    }

    /// Notes that a read overwrites the packet in the memory.
    #[inline]
    pub(super) fn forget_packet(&mut self) {
        if let HeldContent::Packets { held, .. } = &mut self.content {
            *held = None;
        }
    }

    /// Checks that the data read from an item is its packet.
    pub(super) fn check_packet(&mut self, of: PacketId, bytes: u64) -> Result<(), Box<Mismatch>> {
        let RecordMemory { region, content: HeldContent::Packets { packets, .. }, at, .. } = self else {
            return Ok(());
        };
        packets::check(*packets, of, &region.as_mut_slice()[*at..*at + bytes as usize], 0)
    }

    /// Measures the cost of filling a write of the largest length, ns.
    pub(super) fn fill_cost_ns(&mut self) -> u64 {
        let bytes = self.largest_bytes as u64;
        median_ns(|| self.fill(0, bytes))
    }

    /// Checks that the op's own piece holds the data that was written.
    #[inline(always)]
    pub(super) fn check_piece(&mut self, bytes: u64, offset: u64) -> Result<(), Box<Mismatch>> {
        let RecordMemory { region, content, at, .. } = self;
        content.check(&region.as_mut_slice()[*at..*at + bytes as usize], offset)
    }

    /// Checks that data read into other memory is the data that was written.
    pub(super) fn check(&self, read: &[u8], offset: u64) -> Result<(), Box<Mismatch>> {
        self.content.check(read, offset)
    }
}

impl HeldContent {
    /// Returns `true` if the content is the same for every op.
    fn is_constant(&self) -> bool {
        match self {
            HeldContent::Zeros | HeldContent::Words { .. } | HeldContent::Ascending => true,
            HeldContent::Packets { packets, .. } => packets::is_constant(packets),
            _ => false,
        }
    }

    /// Checks that the data read matches the content at this offset.
    #[inline(always)]
    fn check(&self, read: &[u8], offset: u64) -> Result<(), Box<Mismatch>> {
        // The check that the old tools make for each record, in few instructions. The error
        // is only built after a mismatch.
        if let HeldContent::Words { word, every } = self {
            let mut at = 0;
            while let Some(found) = read.get(at..).and_then(<[u8]>::first_chunk) {
                if u64::from_ne_bytes(*found) != *word {
                    return self.compare(read, offset);
                }
                at += every;
            }
            return Ok(());
        }
        self.compare(read, offset)
    }

    #[inline(never)]
    fn compare(&self, read: &[u8], offset: u64) -> Result<(), Box<Mismatch>> {
        let word_at = |at: usize| read.get(at..at + WORD_BYTES)?.first_chunk().map(|word| u64::from_ne_bytes(*word));
        let mismatch_at = |at: usize, expected: u64| {
            let found = word_at(at).unwrap_or(0);
            (found != expected).then(|| Box::new(Mismatch::Word { at: offset + at as u64, expected, found }))
        };
        if let HeldContent::Packets { packets, .. } = self {
            return packets::check(*packets, PacketId { worker: packets.worker, item: offset }, read, offset);
        }
        if let HeldContent::Trailers(trailers) = self {
            return trailers.check(offset, read);
        }
        let whole_words = read.len() / WORD_BYTES;
        let mismatch = match self {
            HeldContent::Words { word, every } => (0..read.len())
                .step_by(*every)
                .filter(|at| at + WORD_BYTES <= read.len())
                .find_map(|at| mismatch_at(at, *word)),
            HeldContent::Positional { seed } => (0..whole_words)
                .find_map(|number| mismatch_at(number * WORD_BYTES, positional_word(*seed, offset, number as u64))),
            HeldContent::Zeros => (0..whole_words).find_map(|number| mismatch_at(number * WORD_BYTES, 0)),
            // These are different every time.
            HeldContent::Counted
            | HeldContent::Ascending
            | HeldContent::Premade { .. }
            | HeldContent::Filled(_)
            | HeldContent::Trailers(_)
            | HeldContent::Packets { .. } => None,
        };
        mismatch.map_or(Ok(()), Err)
    }
}

/// Returns a word that encodes its position.
#[inline]
fn positional_word(seed: u64, offset: u64, number: u64) -> u64 {
    (offset / WORD_BYTES as u64 + number).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed)
}

/// Flushes the memory's lines from the processor's caches.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn purge(memory: &[u8], line: usize) -> Result<(), WorkerError> {
    for byte in memory.iter().step_by(line.max(1)) {
        // SAFETY: an address of live memory; the call changes no byte of it.
        unsafe { std::arch::x86_64::_mm_clflush(byte) };
    }
    Ok(())
}

#[cfg(not(target_arch = "x86_64"))]
fn purge(_memory: &[u8], _line: usize) -> Result<(), WorkerError> {
    Err(WorkerError::NoPurge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::program::PacketKind;

    // Protects files created after others were read: they contain their own packet, and not the data read.
    #[test]
    fn a_read_leaves_no_stale_packet() {
        let packets = Packets { kind: PacketKind::Timestamp, seed: 3, worker: 0 };
        let content = ProgramContent::Packets(packets);
        let stream = StreamId { seed: 1, phase: 0, worker: 0 };
        let mut memory = RecordMemory::new(ProgramMemory::default(), &content, 64, stream).unwrap();
        let of = PacketId { worker: 0, item: 0 };
        memory.fill_packet(of, 64);
        let written = memory.piece(64).to_vec();
        memory.forget_packet();
        memory.piece(64).fill(0xee);
        memory.fill_packet(of, 64);
        assert_eq!(memory.piece(64), written);
    }
}
