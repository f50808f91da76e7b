//! Memory for the reads and writes of steps over shared file sets. Pages are only allocated when an op touches them.

use crate::backend::region::Region;
use crate::content::Filler;
use crate::rng::{Rng, StreamId};
use crate::worker_error::WorkerError;
use plumb_workload::Content;

/// Alignment that suffices for direct I/O everywhere.
const ALIGN_BYTES: u64 = 4096;

/// Block size at which file systems and devices look for duplicates.
const BLOCK_BYTES: usize = 4096;

fn region(bytes: u64) -> Result<Region, WorkerError> {
    let bytes = bytes.max(ALIGN_BYTES) as usize;
    Region::new(bytes).map_err(|source| WorkerError::Memory { bytes, source })
}

/// Memory that reads go to.
pub(super) struct ReadMemory {
    region: Region,
}

impl ReadMemory {
    /// Allocates memory for reads of up to `largest` bytes, spread over `spread` bytes.
    pub(super) fn new(largest: u64, spread: u64) -> Result<ReadMemory, WorkerError> {
        Ok(ReadMemory { region: region(largest.max(spread))? })
    }

    /// Returns memory for a read at a random position, so that it is no more cached than a program's own memory would
    /// be. Positions are multiples of the length, rounded up to 4096 bytes, as in Filebench. Shorter reads touch only the
    /// beginning of each place.
    #[inline]
    pub(super) fn piece(&mut self, bytes: u64, rng: &mut Rng) -> &mut [u8] {
        let apart = bytes.next_multiple_of(ALIGN_BYTES).max(ALIGN_BYTES);
        let places = (self.region.bytes() as u64 - bytes) / apart + 1;
        let at = (rng.below(places) * apart) as usize;
        &mut self.region.as_mut_slice()[at..at + bytes as usize]
    }
}

/// Memory that writes come from. With random content, each block of each write differs from all others.
pub(super) struct WriteMemory {
    region: Region,
    filler: Filler,
    content: Content,
    /// Number of bytes that hold content.
    filled: usize,
    /// Number of the last marked block. Its upper bits are the worker's.
    number: u64,
    /// Bytes prepared for the first piece of the current write; 0 once that piece was handed out.
    ready: usize,
}

impl WriteMemory {
    /// Allocates memory for writes of up to `largest` bytes.
    pub(super) fn new(largest: u64, content: Content, stream: StreamId) -> Result<WriteMemory, WorkerError> {
        let number = (u64::from(stream.worker) << 40) ^ stream.seed.rotate_left(32);
        let filler = Filler::new(content, stream);
        Ok(WriteMemory { region: region(largest)?, filler, content, filled: 0, number, ready: 0 })
    }

    /// Prepares the first piece of the next write, before the clock starts. The write comes in pieces
    /// of up to this many bytes.
    pub(super) fn renew(&mut self, bytes: u64) {
        let bytes = bytes as usize;
        self.fill(bytes);
        match self.content {
            Content::Random => self.mark(bytes),
            Content::Reducible { .. } => self.filler.fill(&mut self.region.as_mut_slice()[..bytes]),
            Content::Zero | Content::Byte(_) => {}
        }
        self.ready = bytes;
    }

    /// Returns a piece of the current write. For pieces after the first, the clock is already running: random content
    /// gets new numbers, and reducible content is reused.
    #[inline]
    pub(super) fn piece(&mut self, bytes: u64) -> &mut [u8] {
        let bytes = bytes as usize;
        if bytes > self.ready {
            self.fill(bytes);
            if self.content == Content::Random {
                self.mark(bytes);
            }
        }
        self.ready = 0;
        &mut self.region.as_mut_slice()[..bytes]
    }

    /// Fills memory that has no content yet.
    fn fill(&mut self, bytes: usize) {
        if bytes > self.filled {
            self.filler.fill(&mut self.region.as_mut_slice()[self.filled..bytes]);
            self.filled = bytes;
        }
    }

    /// Gives each block a new number.
    fn mark(&mut self, bytes: usize) {
        for block in self.region.as_mut_slice()[..bytes].chunks_mut(BLOCK_BYTES) {
            self.number = self.number.wrapping_add(1);
            if let Some(first) = block.first_chunk_mut() {
                *first = self.number.to_le_bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Protects: deduplication finds no block twice, in one write or in several, of one worker or of two.
    #[test]
    fn no_block_is_written_twice() {
        let mut seen = BTreeSet::new();
        for worker in [3, 4] {
            let stream = StreamId { seed: 9, phase: 0, worker };
            let mut memory = WriteMemory::new(1 << 16, Content::Random, stream).unwrap();
            for bytes in [8192, 65536, 100, 65536] {
                memory.renew(bytes);
                for block in memory.piece(bytes).chunks(BLOCK_BYTES) {
                    assert!(seen.insert(block.to_vec()), "worker {worker}, a write of {bytes}");
                }
            }
        }
    }

    /// Protects: reads use all of their memory, and never more; two reads use the same place or do not overlap.
    #[test]
    fn reads_are_spread() {
        let mut memory = ReadMemory::new(8192, 1 << 20).unwrap();
        let mut rng = Rng::new(5);
        let places: BTreeSet<usize> = (0..1000).map(|_| memory.piece(8192, &mut rng).as_ptr() as usize).collect();
        let first = memory.region.as_mut_slice().as_ptr() as usize;
        assert_eq!(places.len(), 128);
        assert!(places.iter().all(|place| (place - first).is_multiple_of(8192) && place.is_multiple_of(4096)));
        assert_eq!(ReadMemory::new(100, 0).unwrap().piece(100, &mut rng).len(), 100);
    }
}
