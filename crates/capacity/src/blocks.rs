//! Creates and checks stamped blocks.

use crate::tally::Found;
use crate::{BLOCK_BYTES, TRANSFER_BYTES};
use plumb_engine::content::{Checksum, ExpectedBlock, Filler, HeaderDifference, Stamper, check};
use plumb_engine::rng::StreamId;
use plumb_workload::Content;

/// Upper bound for the memory alignment that direct I/O requires.
const ALIGNMENT: usize = 4096;

/// Transfer memory, aligned for direct I/O.
pub(crate) struct Buffer {
    memory: Vec<u8>,
    from: usize,
}

impl Buffer {
    pub(crate) fn new() -> Buffer {
        let memory = vec![0; TRANSFER_BYTES as usize + ALIGNMENT];
        let from = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Buffer { memory, from }
    }

    pub(crate) fn first(&mut self, bytes: u64) -> &mut [u8] {
        let most = self.memory.len() - self.from;
        &mut self.memory[self.from..][..(bytes as usize).min(most)]
    }
}

/// Creates and checks stamped blocks. The seed distinguishes blocks of this run from those of earlier runs.
pub(crate) struct Stamps {
    stamper: Stamper,
    filler: Filler,
    seed: u64,
}

impl Stamps {
    pub(crate) fn new(seed: u64) -> Stamps {
        let stamper = match Stamper::new(Checksum::Xxh3, BLOCK_BYTES, seed, 0) {
            Ok(stamper) => stamper,
            Err(_) => unreachable!("a block of 4 KiB has room for a stamp"),
        };
        let filler = Filler::new(Content::Random, StreamId { seed, phase: 0, worker: 0 });
        Stamps { stamper, filler, seed }
    }

    /// Fills the buffer with the blocks that belong at `offset`.
    pub(crate) fn make(&mut self, offset: u64, buffer: &mut [u8]) {
        self.filler.fill(buffer);
        self.stamper.stamp(0, offset, buffer);
    }

    /// Classifies a block that was read at `offset`.
    pub(crate) fn judge(&self, offset: u64, block: &[u8]) -> Found {
        match self.difference(offset, block) {
            None => Found::Right,
            Some(HeaderDifference::NeverWritten) => Found::Nothing,
            Some(HeaderDifference::OtherSeed { .. }) => Found::Old,
            // A block of an earlier run, or a damaged one, does not show how addresses are mapped.
            Some(HeaderDifference::OtherOffset { found }) => match self.difference(found, block) {
                None => Found::Elsewhere { belongs_at: found },
                Some(HeaderDifference::OtherSeed { .. }) => Found::Old,
                Some(_) => Found::Other,
            },
            Some(_) => Found::Other,
        }
    }

    fn difference(&self, offset: u64, block: &[u8]) -> Option<HeaderDifference> {
        let expected = ExpectedBlock { file: 0, offset, seed: Some(self.seed), sequence_min: None };
        check(block, &expected).err().map(|mismatch| mismatch.difference)
    }
}
