//! Blocks with sysbench's trailer. After the random bytes follow their CRC-32 as in zlib, 4 bytes, and the block's
//! offset in its file, 8 bytes, both little-endian.
//!
//! The facts are from files written by `sysbench fileio --validate`, and the command line tests check them against it.

use super::mismatch::Mismatch;
use super::random;
use crc::{CRC_32_ISO_HDLC, Crc, Table};
use std::sync::LazyLock;

// Built on first use and boxed, like the tables of the other checksums.
static CRC32: LazyLock<Box<Crc<u32, Table<16>>>> =
    LazyLock::new(|| Box::new(Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC)));

/// Length of the checksum in bytes.
const SUM_BYTES: usize = 4;
const TRAILER_BYTES: usize = 12;

#[derive(Debug)]
pub(crate) struct Trailers {
    /// Length of a block in bytes.
    block: usize,
    /// Seed of the next content.
    seed: u64,
}

/// A block whose trailer does not match it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TrailerMismatch {
    /// The content has another checksum.
    #[error("the block at offset {offset} has the checksum 0x{calculated:08x}, but 0x{stored:08x} is stored after it")]
    Checksum {
        /// Offset of the block in its file.
        offset: u64,
        calculated: u32,
        stored: u32,
    },
    /// The block was written to another offset.
    #[error("the block at offset {offset} was written for offset {stored}")]
    Offset {
        /// Offset of the block in its file.
        offset: u64,
        /// Offset in the trailer.
        stored: u64,
    },
}

/// Splits a block into content, checksum and offset; `None` if it is too short for a trailer.
fn split_trailer(block: &[u8]) -> Option<(&[u8], u32, u64)> {
    let (content, trailer) = block.split_at(block.len().checked_sub(TRAILER_BYTES)?);
    let (sum, offset) = trailer.split_at(SUM_BYTES);
    Some((content, u32::from_le_bytes(sum.try_into().ok()?), u64::from_le_bytes(offset.try_into().ok()?)))
}

impl Trailers {
    /// Creates blocks of `block` bytes, with content from `seed`.
    pub(crate) fn new(block: u64, seed: u64) -> Trailers {
        LazyLock::force(&CRC32);
        Trailers { block: usize::try_from(block).unwrap_or(usize::MAX).max(1), seed }
    }

    /// Fills the memory of a write at `offset`.
    pub(crate) fn fill(&mut self, offset: u64, memory: &mut [u8]) {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        random::fill(self.seed | 1, memory);
        for (number, block) in (0..).zip(memory.chunks_mut(self.block)) {
            let Some(end) = block.len().checked_sub(TRAILER_BYTES) else { continue };
            let sum = CRC32.checksum(&block[..end]);
            block[end..end + SUM_BYTES].copy_from_slice(&sum.to_le_bytes());
            let at = offset + number * self.block as u64;
            block[end + SUM_BYTES..].copy_from_slice(&at.to_le_bytes());
        }
    }

    /// Checks that data read at `offset` was written there. Partial blocks are not checked.
    pub(crate) fn check(&self, offset: u64, read: &[u8]) -> Result<(), Box<Mismatch>> {
        for (number, block) in (0..).zip(read.chunks_exact(self.block)) {
            let offset = offset + number * self.block as u64;
            let Some((content, stored, stored_offset)) = split_trailer(block) else { continue };
            let calculated = CRC32.checksum(content);
            let mismatch = match () {
                () if calculated != stored => TrailerMismatch::Checksum { offset, calculated, stored },
                () if stored_offset != offset => TrailerMismatch::Offset { offset, stored: stored_offset },
                () => continue,
            };
            return Err(Box::new(Mismatch::Trailer(mismatch)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_pass_where_they_were_written_and_nowhere_else() {
        let mut trailers = Trailers::new(512, 7);
        let mut memory = vec![0; 1024];
        trailers.fill(8192, &mut memory);
        // The trailer of each block ends with its offset.
        assert_eq!(memory[504..512], 8192u64.to_le_bytes());
        assert_eq!(memory[1016..], (8192u64 + 512).to_le_bytes());
        assert!(trailers.check(8192, &memory).is_ok());
        // A partial block is not checked.
        assert!(trailers.check(8192, &memory[..700]).is_ok());
        let mismatch = |offset: u64, memory: &[u8]| trailers.check(offset, memory).unwrap_err().to_string();
        assert_eq!(mismatch(0, &memory), "the block at offset 0 was written for offset 8192");
        for bit in (0..500 * 8).chain(500 * 8..504 * 8) {
            let mut changed = memory.clone();
            changed[512 + bit / 8] ^= 1 << (bit % 8);
            assert!(mismatch(8192, &changed).starts_with("the block at offset 8704 has the checksum 0x"), "{bit}");
        }
        let mut next = vec![0; 1024];
        trailers.fill(8192, &mut next);
        assert_ne!(next, memory, "each write has its own content");
    }

    // Uses zlib's check value, and blocks without room for a trailer.
    #[test]
    fn the_checksum_matches_zlib() {
        assert_eq!(CRC32.checksum(b"123456789"), 0xcbf4_3926);
        let mut small = vec![0; 20];
        let mut trailers = Trailers::new(10, 1);
        trailers.fill(0, &mut small);
        assert!(trailers.check(0, &small).is_ok());
    }
}
