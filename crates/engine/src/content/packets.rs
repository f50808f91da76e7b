//! Data packets of IOR and mdtest. Source: files written by IOR 4.1.0+dev.

use super::Mismatch;
use plumb_workload::library_random::rand_r;
use plumb_workload::program::{PacketKind, Packets};

const WORD_BYTES: usize = 8;
/// Words per 4 KiB. The first word of each page identifies the item.
const WORDS_PER_PAGE: usize = 512;
/// Multiplier of the `random` packets.
const GOLDEN: u64 = 0x9e37_ffff_fffc_0001;

/// Identifies a packet: the worker and item that it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PacketId {
    /// Number of the worker that the data is for.
    pub(crate) worker: u32,
    /// Number of the item, or file offset.
    pub(crate) item: u64,
}

/// Iterator over the words of a packet.
struct Words {
    packets: Packets,
    of: PacketId,
    number: usize,
    /// The repeated word, or the last word of `random`.
    word: u64,
}

impl Words {
    fn new(packets: Packets, of: PacketId) -> Words {
        let mut seed = (packets.seed as u32).wrapping_add(of.worker);
        let word = match packets.kind {
            PacketKind::Random => u64::from(rand_r(&mut seed.wrapping_add(of.item as u32))),
            PacketKind::Incompressible => {
                // Both halves are drawn from the same seed, one after the other.
                let high = rand_r(&mut seed);
                u64::from(high) << 32 | u64::from(rand_r(&mut seed))
            }
            PacketKind::Timestamp | PacketKind::Offset => 0,
        };
        Words { packets, of, number: 0, word }
    }
}

impl Iterator for Words {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let number = self.number;
        self.number += 1;
        let worker = u64::from(self.of.worker) << 32;
        Some(match self.packets.kind {
            PacketKind::Random => {
                self.word = self.word.wrapping_mul(GOLDEN) >> 3;
                self.word
            }
            PacketKind::Offset | PacketKind::Incompressible if number.is_multiple_of(WORDS_PER_PAGE) => {
                let page = (number / WORDS_PER_PAGE + 1) as u32;
                u64::from((self.of.item as u32).wrapping_mul(page)) | worker
            }
            PacketKind::Incompressible => self.word,
            // C adds the signed seed and the count before the `or`.
            PacketKind::Timestamp | PacketKind::Offset => {
                worker | i64::from(self.packets.seed).wrapping_add(number as i64).cast_unsigned()
            }
        })
    }
}

/// Returns `true` if the packet is the same for all items of a worker.
pub(crate) fn is_constant(packets: &Packets) -> bool {
    packets.kind == PacketKind::Timestamp
}

pub(crate) fn fill(packets: Packets, of: PacketId, memory: &mut [u8]) {
    let mut words = memory.chunks_exact_mut(WORD_BYTES);
    for (place, word) in words.by_ref().zip(Words::new(packets, of)) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    let whole = memory.len() / WORD_BYTES * WORD_BYTES;
    for (number, byte) in (0usize..).zip(memory.iter_mut()).skip(whole) {
        *byte = number as u8;
    }
}

/// Compares read data with a packet.
///
/// # Errors
/// The first word that differs. `offset` is the file offset of the first byte.
pub(crate) fn check(packets: Packets, of: PacketId, read: &[u8], offset: u64) -> Result<(), Box<Mismatch>> {
    let mut mismatch = None;
    // Compare all words even after a mismatch, so that the cost does not depend on the result.
    for (number, (place, expected)) in read.chunks_exact(WORD_BYTES).zip(Words::new(packets, of)).enumerate() {
        let found = place.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word));
        if found != expected && mismatch.is_none() {
            mismatch = Some(Mismatch::Word { at: offset + (number * WORD_BYTES) as u64, expected, found });
        }
    }
    let whole = read.len() / WORD_BYTES * WORD_BYTES;
    for (number, &found) in (0usize..).zip(read).skip(whole) {
        if found != number as u8 && mismatch.is_none() {
            let (expected, found) = (u64::from(number as u8), found.into());
            mismatch = Some(Mismatch::Word { at: offset + number as u64, expected, found });
        }
    }
    mismatch.map_or(Ok(()), |mismatch| Err(Box::new(mismatch)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: PacketId = PacketId { worker: 2, item: 7 };

    fn words(kind: PacketKind, count: usize) -> Vec<u64> {
        Words::new(Packets { kind, seed: 3, worker: 2 }, OF).take(count).collect()
    }

    // Protects compatibility: IOR and mdtest verify each other's packets by these words.
    #[test]
    fn packets_hold_the_words_of_their_kind() {
        let worker = 2u64 << 32;
        assert_eq!(words(PacketKind::Timestamp, 2), [worker | 3, worker | 4]);
        let offset = words(PacketKind::Offset, 514);
        assert_eq!([offset[0], offset[1], offset[512]], [worker | 7, worker | 4, worker | 14]);
        let random = words(PacketKind::Random, 2);
        let first = u64::from(rand_r(&mut (3 + 2 + 7))).wrapping_mul(GOLDEN) >> 3;
        assert_eq!(random, [first, first.wrapping_mul(GOLDEN) >> 3]);
        let same = words(PacketKind::Incompressible, 3);
        assert_eq!(same[1], same[2]);
        assert_eq!(same[0], worker | 7);
    }

    // Protects verification: written data passes, and a single changed byte fails.
    #[test]
    fn changed_bytes_are_found() {
        for kind in [PacketKind::Timestamp, PacketKind::Offset, PacketKind::Incompressible, PacketKind::Random] {
            let packets = Packets { kind, seed: -1, worker: 2 };
            let mut memory = vec![0; 4099];
            fill(packets, OF, &mut memory);
            assert!(check(packets, OF, &memory, 0).is_ok());
            for at in [0, 4000, 4098] {
                memory[at] ^= 1;
                assert!(check(packets, OF, &memory, 0).is_err(), "{kind:?} {at}");
                memory[at] ^= 1;
            }
        }
    }
}
