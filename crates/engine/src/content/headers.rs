//! Plumb's own stamps on written blocks, and their verification.
//!
//! # Position of stamps
//!
//! A stamp is a header of 64 bytes at every file offset that is a multiple of the *interval*. The block's content
//! follows, up to the next stamp. The interval of a target is the greatest common divisor of the
//! [`verify_interval_bytes`](crate::source::plumb::PlumbPlan::verify_interval_bytes) of all plans that write or
//! verify it. Every read and write therefore begins at a stamp. A block at the end of a range may be shorter. A block
//! of less than 64 bytes has no room for a stamp and is not verified. A read that starts or ends inside a block
//! verifies the whole blocks in between.
//!
//! # The header, little-endian
//!
//! | bytes | field |
//! |---|---|
//! | 0–7 | `PLUMBBLK` |
//! | 8–9 | version, 1 |
//! | 10 | checksum of the payload: 1 CRC-32C, 2 XXH3 |
//! | 11 | 0 |
//! | 12–15 | number of the file within the target |
//! | 16–23 | offset in the file, in bytes |
//! | 24–31 | length of the block with this header, in bytes |
//! | 32–39 | sequence: rises with each write of a worker |
//! | 40–47 | seed |
//! | 48–55 | checksum of the payload: all bytes after the header |
//! | 56–63 | XXH3 of bytes 0–55 |

use plumb_workload::verify::VerifyMethod;
use std::fmt;
use xxhash_rust::xxh3::xxh3_64;

/// Length of a block's header in bytes.
pub const HEADER_BYTES: usize = 64;

const MAGIC: [u8; 8] = *b"PLUMBBLK";
const VERSION: u16 = 1;

/// Checksum method of a block with a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksum {
    /// CRC-32C (Castagnoli), hardware-accelerated if available.
    Crc32c,
    Xxh3,
}

impl Checksum {
    /// Returns the checksum of a method; `None` for methods without a header format.
    pub fn for_method(method: VerifyMethod) -> Option<Checksum> {
        match method {
            VerifyMethod::Crc32c => Some(Checksum::Crc32c),
            VerifyMethod::XxHash => Some(Checksum::Xxh3),
            _ => None,
        }
    }
}

/// Fields that identify a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockIdentity {
    pub file: u32,
    /// Offset of the block in the file, in bytes.
    pub offset: u64,
    /// Increases with each write of a worker.
    pub sequence: u64,
    /// Identifies the run: blocks with another seed are from an earlier run.
    pub seed: u64,
}

/// Fields that a block is checked against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedBlock {
    pub file: u32,
    /// Offset of the read in the file, in bytes.
    pub offset: u64,
    /// Seed of the run; `None` accepts any seed.
    pub seed: Option<u64>,
    /// Sequence of the last acknowledged write; `None` accepts any. A lower sequence is stale.
    pub sequence_min: Option<u64>,
}

/// A block that differs from the expected one, with its location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("file {file}, offset {offset}, {length} bytes: {difference}")]
pub struct HeaderMismatch {
    pub file: u32,
    /// Offset of the read in the file, in bytes.
    pub offset: u64,
    /// Length of the block in bytes.
    pub length: usize,
    pub difference: HeaderDifference,
}

/// Difference between a block and the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderDifference {
    NeverWritten,
    /// The block has no header.
    Garbage {
        /// The first eight bytes.
        found: [u8; 8],
    },
    /// The header was changed after it was written.
    DamagedHeader {
        /// The checksum stored in the header.
        expected: u64,
        /// The checksum computed from the header.
        found: u64,
    },
    /// The header has another version.
    OtherVersion {
        found: u16,
    },
    /// The block belongs to another file.
    OtherFile {
        /// Number of the file that it belongs to.
        found: u32,
        /// Its offset in that file.
        found_offset: u64,
    },
    /// The block belongs to another offset in this file.
    OtherOffset {
        /// The offset that it belongs to.
        found: u64,
    },
    /// The block was written with another length.
    OtherLength {
        /// The length with which it was written, in bytes.
        found: u64,
    },
    /// The block is from an earlier run: this run's write was lost.
    OtherSeed {
        expected: u64,
        /// Seed of the run that wrote it.
        found: u64,
    },
    /// The block is from this run, but a later write was lost.
    Stale {
        /// Sequence of the expected write.
        expected: u64,
        /// Sequence of the write found.
        found: u64,
    },
    /// The header is intact, but the content does not match its checksum.
    Torn {
        /// The checksum stored in the header.
        expected: u64,
        /// The checksum computed from the content.
        found: u64,
    },
}

impl fmt::Display for HeaderDifference {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            HeaderDifference::NeverWritten => {
                write!(f, "expected a stamped block, found zeros: never written, or its write was lost")
            }
            HeaderDifference::Garbage { found } => {
                write!(f, "expected a stamped block, found other data that begins with {}", found.escape_ascii())
            }
            HeaderDifference::DamagedHeader { expected, found } => {
                write!(f, "damaged header: expected checksum {expected:016x}, found {found:016x}")
            }
            HeaderDifference::OtherVersion { found } => {
                write!(
                    f,
                    "expected a header of version {VERSION}, found version {found}: another version of Plumb wrote it"
                )
            }
            HeaderDifference::OtherFile { found, found_offset } => {
                write!(f, "misplaced: found the block of file {found}, offset {found_offset}")
            }
            HeaderDifference::OtherOffset { found } => write!(f, "misplaced: found the block of offset {found}"),
            HeaderDifference::OtherLength { found } => write!(f, "found a block written with {found} bytes"),
            HeaderDifference::OtherSeed { expected, found } => {
                write!(f, "stale: expected seed {expected}, found seed {found} of an earlier run")
            }
            HeaderDifference::Stale { expected, found } => {
                write!(f, "stale: expected write {expected} or later, found write {found}")
            }
            HeaderDifference::Torn { expected, found } => {
                write!(f, "torn or damaged: expected content with checksum {expected:016x}, found {found:016x}")
            }
        }
    }
}

fn checksum_of(payload: &[u8], checksum: Checksum) -> u64 {
    match checksum {
        Checksum::Crc32c => u64::from(crc32c::crc32c(payload)),
        Checksum::Xxh3 => xxh3_64(payload),
    }
}

fn u64_at(block: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&block[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// Writes a header over the first [`HEADER_BYTES`] of `block`, which is already filled.
/// Shorter blocks are left unchanged.
pub fn stamp(block: &mut [u8], identity: &BlockIdentity, checksum: Checksum) {
    let length = block.len() as u64;
    let Some((header, payload)) = block.split_first_chunk_mut::<HEADER_BYTES>() else { return };
    let code = match checksum {
        Checksum::Crc32c => 1,
        Checksum::Xxh3 => 2,
    };
    header[..8].copy_from_slice(&MAGIC);
    header[8..10].copy_from_slice(&VERSION.to_le_bytes());
    header[10] = code;
    header[11] = 0;
    header[12..16].copy_from_slice(&identity.file.to_le_bytes());
    header[16..24].copy_from_slice(&identity.offset.to_le_bytes());
    header[24..32].copy_from_slice(&length.to_le_bytes());
    header[32..40].copy_from_slice(&identity.sequence.to_le_bytes());
    header[40..48].copy_from_slice(&identity.seed.to_le_bytes());
    header[48..56].copy_from_slice(&checksum_of(payload, checksum).to_le_bytes());
    let own = xxh3_64(&header[..56]);
    header[56..].copy_from_slice(&own.to_le_bytes());
}

/// Returns the file number and the block length of a header, without checking it; `None` if the bytes have no header.
pub(super) fn parse_header(bytes: &[u8]) -> Option<(u32, u64)> {
    let header = bytes.first_chunk::<HEADER_BYTES>().filter(|header| header[..8] == MAGIC)?;
    Some((u32::from_le_bytes([header[12], header[13], header[14], header[15]]), u64_at(header, 24)))
}

/// Checks a block. A block shorter than [`HEADER_BYTES`] has no header and passes.
///
/// # Errors
/// [`HeaderMismatch`] with the most informative difference: for a misplaced block, its location and not its content.
pub fn check(block: &[u8], expected: &ExpectedBlock) -> Result<(), HeaderMismatch> {
    difference(block, expected).map_or(Ok(()), |difference| {
        Err(HeaderMismatch { file: expected.file, offset: expected.offset, length: block.len(), difference })
    })
}

fn difference(block: &[u8], expected: &ExpectedBlock) -> Option<HeaderDifference> {
    let (header, payload) = block.split_first_chunk::<HEADER_BYTES>()?;
    let own = u64_at(header, 56);
    let found_own = xxh3_64(&header[..56]);
    if header[..8] != MAGIC {
        if block.iter().all(|&byte| byte == 0) {
            return Some(HeaderDifference::NeverWritten);
        }
        let mut found = [0; 8];
        found.copy_from_slice(&header[..8]);
        return Some(HeaderDifference::Garbage { found });
    }
    if own != found_own {
        return Some(HeaderDifference::DamagedHeader { expected: own, found: found_own });
    }
    let version = u16::from_le_bytes([header[8], header[9]]);
    let checksum = match (version, header[10]) {
        (VERSION, 1) => Checksum::Crc32c,
        (VERSION, 2) => Checksum::Xxh3,
        _ => return Some(HeaderDifference::OtherVersion { found: version }),
    };
    let file = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
    let (offset, length) = (u64_at(header, 16), u64_at(header, 24));
    let (sequence, seed) = (u64_at(header, 32), u64_at(header, 40));
    if file != expected.file {
        return Some(HeaderDifference::OtherFile { found: file, found_offset: offset });
    }
    if offset != expected.offset {
        return Some(HeaderDifference::OtherOffset { found: offset });
    }
    if let Some(expected) = expected.seed.filter(|&expected| expected != seed) {
        return Some(HeaderDifference::OtherSeed { expected, found: seed });
    }
    if let Some(expected) = expected.sequence_min.filter(|&least| sequence < least) {
        return Some(HeaderDifference::Stale { expected, found: sequence });
    }
    if length != block.len() as u64 {
        return Some(HeaderDifference::OtherLength { found: length });
    }
    let (expected, found) = (u64_at(header, 48), checksum_of(payload, checksum));
    (expected != found).then_some(HeaderDifference::Torn { expected, found })
}

/// Error for an interval too small to hold a stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "`verify` needs blocks of 128 bytes or more, but block sizes, `align`, `offset` and other distances have only \
     {interval} bytes in common: make them multiples of 512"
)]
pub struct IntervalError {
    /// Greatest common divisor of all sizes and offsets, in bytes.
    pub interval: u64,
}

/// Accepts an interval that holds at least as much content as header.
fn usable(interval: u64) -> Result<u64, IntervalError> {
    if interval >= 2 * HEADER_BYTES as u64 { Ok(interval) } else { Err(IntervalError { interval }) }
}

/// Returns the distance in bytes from `offset` to the next larger multiple of `interval`.
fn to_next(offset: u64, interval: u64) -> u64 {
    interval - offset % interval
}

/// Stamps a worker's writes.
#[derive(Debug, Clone)]
pub struct Stamper {
    checksum: Checksum,
    interval: u64,
    seed: u64,
    sequence: u64,
}

impl Stamper {
    /// Creates a stamper for every `interval` bytes, with sequences from `first_sequence`.
    ///
    /// # Errors
    /// [`IntervalError`] if the interval has no room for a header and content.
    pub fn new(checksum: Checksum, interval: u64, seed: u64, first_sequence: u64) -> Result<Stamper, IntervalError> {
        Ok(Stamper { checksum, interval: usable(interval)?, seed, sequence: first_sequence })
    }

    /// Stamps every block of a filled buffer that will be written to `file` at `offset`. Returns their sequence.
    pub fn stamp(&mut self, file: u32, offset: u64, buffer: &mut [u8]) -> u64 {
        let sequence = self.sequence;
        self.sequence += 1;
        let (mut rest, mut offset) = (buffer, offset);
        // Bytes before the first multiple belong to a block that starts earlier.
        if !offset.is_multiple_of(self.interval) {
            let skipped = to_next(offset, self.interval);
            rest = rest.get_mut(skipped as usize..).unwrap_or_default();
            offset += skipped;
        }
        for block in rest.chunks_mut(self.interval as usize) {
            let identity = BlockIdentity { file, offset, sequence, seed: self.seed };
            stamp(block, &identity, self.checksum);
            offset += self.interval;
        }
        sequence
    }
}

/// Verifies a worker's reads.
#[derive(Debug, Clone)]
pub struct Verifier {
    interval: u64,
    seed: Option<u64>,
}

impl Verifier {
    /// Creates a verifier for blocks of `interval` bytes. With a `seed`, blocks of other runs are stale.
    ///
    /// # Errors
    /// [`IntervalError`] if the interval has no room for a header and content.
    pub fn new(interval: u64, seed: Option<u64>) -> Result<Verifier, IntervalError> {
        Ok(Verifier { interval: usable(interval)?, seed })
    }

    /// Checks every whole block of a buffer that was read from `file` at `offset`. A block that was written shorter,
    /// because a range ended there, is checked up to its end. A block cut by the end of the buffer passes.
    ///
    /// # Errors
    /// The first [`HeaderMismatch`].
    pub fn check(
        &self,
        file: u32,
        offset: u64,
        buffer: &[u8],
        sequence_min: Option<u64>,
    ) -> Result<(), HeaderMismatch> {
        let (mut rest, mut offset) = (buffer, offset);
        if !offset.is_multiple_of(self.interval) {
            let skipped = to_next(offset, self.interval);
            rest = rest.get(skipped as usize..).unwrap_or_default();
            offset += skipped;
        }
        for block in rest.chunks(self.interval as usize) {
            let expected = ExpectedBlock { file, offset, seed: self.seed, sequence_min };
            self.check_one(block, &expected)?;
            offset += self.interval;
        }
        Ok(())
    }

    /// Checks one block. Phases with other ranges may have written it longer or shorter; both are valid.
    fn check_one(&self, block: &[u8], expected: &ExpectedBlock) -> Result<(), HeaderMismatch> {
        let checked = check(block, expected);
        let Err(HeaderMismatch { difference: HeaderDifference::OtherLength { found }, .. }) = checked else {
            return checked;
        };
        let is_cut = (block.len() as u64) < self.interval && found > block.len() as u64;
        match usize::try_from(found).ok().and_then(|found| block.get(..found)) {
            Some(shorter) if shorter.len() >= HEADER_BYTES => check(shorter, expected),
            _ if is_cut => Ok(()),
            _ => checked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Filler;
    use super::*;
    use crate::rng::StreamId;
    use plumb_workload::Content;
    use proptest::prelude::*;

    const WRITTEN: BlockIdentity = BlockIdentity { file: 3, offset: 8192, sequence: 17, seed: 42 };
    const EXPECTED: ExpectedBlock = ExpectedBlock { file: 3, offset: 8192, seed: Some(42), sequence_min: Some(17) };

    fn filled(length: usize, worker: u32) -> Vec<u8> {
        let mut buffer = vec![0; length];
        Filler::new(Content::Random, StreamId { seed: 1, phase: 0, worker }).fill(&mut buffer);
        buffer
    }

    fn stamped(identity: BlockIdentity, checksum: Checksum) -> Vec<u8> {
        let mut block = filled(4096, identity.sequence as u32);
        stamp(&mut block, &identity, checksum);
        block
    }

    fn found(block: &[u8]) -> HeaderDifference {
        check(block, &EXPECTED).unwrap_err().difference
    }

    #[test]
    fn the_header_never_changes() {
        let mut block = vec![7; 512];
        stamp(&mut block, &WRITTEN, Checksum::Crc32c);
        let words: Vec<u64> = (0..8).map(|word| u64_at(&block, word * 8)).collect();
        assert_eq!(words[..6], [u64::from_le_bytes(MAGIC), (3 << 32) | (1 << 16) | 1, 8192, 512, 17, 42]);
        assert_eq!(words[6..], [3929225301, 14301756048051828804]);
        stamp(&mut block, &WRITTEN, Checksum::Xxh3);
        assert_eq!([u64_at(&block, 48), u64_at(&block, 56)], [12859941843519761701, 8818678210384297093]);
    }

    #[test]
    fn written_blocks_pass() {
        for checksum in [Checksum::Crc32c, Checksum::Xxh3] {
            assert_eq!(check(&stamped(WRITTEN, checksum), &EXPECTED), Ok(()));
            let later = BlockIdentity { sequence: 18, ..WRITTEN };
            assert_eq!(check(&stamped(later, checksum), &EXPECTED), Ok(()));
        }
    }

    #[test]
    fn each_kind_of_difference_is_reported_as_such() {
        let of = |identity| found(&stamped(identity, Checksum::Crc32c));
        assert_eq!(found(&[0; 4096]), HeaderDifference::NeverWritten);
        assert!(matches!(found(&filled(4096, 1)), HeaderDifference::Garbage { .. }));
        assert_eq!(
            of(BlockIdentity { file: 4, offset: 0, ..WRITTEN }),
            HeaderDifference::OtherFile { found: 4, found_offset: 0 }
        );
        assert_eq!(of(BlockIdentity { offset: 4096, ..WRITTEN }), HeaderDifference::OtherOffset { found: 4096 });
        assert_eq!(of(BlockIdentity { seed: 41, ..WRITTEN }), HeaderDifference::OtherSeed { expected: 42, found: 41 });
        assert_eq!(of(BlockIdentity { sequence: 16, ..WRITTEN }), HeaderDifference::Stale { expected: 17, found: 16 });
        let mut torn = stamped(WRITTEN, Checksum::Xxh3);
        let old = stamped(BlockIdentity { sequence: 9, ..WRITTEN }, Checksum::Xxh3);
        torn[2048..].copy_from_slice(&old[2048..]);
        assert!(matches!(found(&torn), HeaderDifference::Torn { .. }));
        let mut half = stamped(WRITTEN, Checksum::Xxh3);
        half[..512].fill(0);
        assert_eq!(found(&half), HeaderDifference::Garbage { found: [0; 8] });
        let mut damaged = stamped(WRITTEN, Checksum::Xxh3);
        damaged[20] ^= 1;
        assert!(matches!(found(&damaged), HeaderDifference::DamagedHeader { .. }));
        let whole = stamped(WRITTEN, Checksum::Xxh3);
        assert_eq!(found(&whole[..2048]), HeaderDifference::OtherLength { found: 4096 });
    }

    #[test]
    fn a_mismatch_names_file_offset_expected_and_found() {
        let block = stamped(BlockIdentity { offset: 4096, ..WRITTEN }, Checksum::Crc32c);
        let message = check(&block, &EXPECTED).unwrap_err().to_string();
        assert_eq!(message, "file 3, offset 8192, 4096 bytes: misplaced: found the block of offset 4096");
    }

    #[test]
    fn a_stamper_and_a_verifier_agree_at_any_cut() {
        let mut file = filled(10_100, 5);
        let mut stamper = Stamper::new(Checksum::Crc32c, 512, 42, 0).unwrap();
        assert_eq!(stamper.stamp(0, 0, &mut file), 0);
        assert_eq!(stamper.stamp(0, 1024, &mut file[1024..4096]), 1);
        let verifier = Verifier::new(512, Some(42)).unwrap();
        for (from, to) in
            [(0, 10_100), (512, 1024), (100, 10_000), (100, 200), (0, 0), (10_000, 10_100), (9728, 10_100)]
        {
            assert_eq!(verifier.check(0, from as u64, &file[from..to], None), Ok(()), "{from}..{to}");
        }
        file[10_050] ^= 1;
        let mismatch = verifier.check(0, 0, &file, None).unwrap_err();
        assert_eq!((mismatch.offset, mismatch.length), (9728, 372), "the short block at the end is verified too");
        assert_eq!(verifier.check(0, 0, &file[..10_000], None), Ok(()), "a block cut by the read is not verified");
    }

    #[test]
    fn a_block_cut_by_another_range_passes() {
        let mut file = filled(2048, 5);
        let mut stamper = Stamper::new(Checksum::Crc32c, 512, 42, 0).unwrap();
        stamper.stamp(0, 0, &mut file);
        stamper.stamp(0, 0, &mut file[..1500]);
        let verifier = Verifier::new(512, Some(42)).unwrap();
        assert_eq!(verifier.check(0, 0, &file, None), Ok(()));
        file[1499] ^= 1;
        assert_eq!(verifier.check(0, 0, &file, None).unwrap_err().offset, 1024);
        let other = Verifier::new(256, Some(42)).unwrap();
        let difference = other.check(0, 0, &file, None).unwrap_err().difference;
        assert_eq!(difference, HeaderDifference::OtherLength { found: 512 }, "another interval is named");
    }

    #[test]
    fn a_too_small_interval_is_refused() {
        let message = Stamper::new(Checksum::Xxh3, 64, 1, 0).unwrap_err().to_string();
        assert!(message.contains("only 64 bytes in common"), "{message}");
        assert!(Verifier::new(127, None).is_err());
        assert!(Verifier::new(128, None).is_ok());
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_found(bit in 0usize..4096 * 8, crc: bool) {
            let checksum = if crc { Checksum::Crc32c } else { Checksum::Xxh3 };
            let mut block = stamped(WRITTEN, checksum);
            block[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(check(&block, &EXPECTED).is_err());
        }

        #[test]
        fn any_misplaced_block_is_reported_as_misplaced(file: u32, offset: u64, sequence: u64, seed: u64) {
            let written = BlockIdentity { file, offset, sequence, seed };
            let difference = found(&stamped(written, Checksum::Crc32c));
            if file != 3 {
                prop_assert_eq!(difference, HeaderDifference::OtherFile { found: file, found_offset: offset });
            } else {
                prop_assert_eq!(difference, HeaderDifference::OtherOffset { found: offset });
            }
        }

        #[test]
        fn garbage_never_passes_or_panics(block in prop::collection::vec(any::<u8>(), 64..300)) {
            prop_assert!(check(&block, &EXPECTED).is_err());
        }
    }
}
