//! The checksums in fio's stamps, bit for bit.
//!
//! The facts are from blocks written by fio, and the tests check them against fio:
//!
//! | method | bytes | what |
//! |---|---|---|
//! | `md5`, `sha3-*` | 16, 28, 32, 48, 64 | the digest |
//! | `sha1` | 20 | the digest, each word of 32 bits with its least significant byte first |
//! | `sha256` | 64 | the lowest byte of each of the state's eight words, then bytes 8–63 of the last padded block. The length in the padding is little-endian, unlike SHA-256's |
//! | `sha512` | 128 | the digest, then bytes 64–127 of the last padded block |
//! | `sha512` before fio 3.39 | 128 | not a digest: the bytes after the last whole 128 of the data, and the rest of its first 128 |
//! | `crc64` | 8 | polynomial 0xad93d23594c935a9 reflected, begins with 0 |
//! | `crc32` | 4 | polynomial 0x04c11db7 not reflected, begins with 0, no length, not inverted |
//! | `crc32c` | 4 | Castagnoli's, not inverted at the end |
//! | `crc16` | 2 | CRC-16/ARC |
//! | `crc7` | 1 | CRC-7/MMC |
//! | `xxhash` | 4 | XXH32 with the seed 1 |
//!
//! Numbers are little-endian.

use crc::{Algorithm, CRC_7_MMC, CRC_16_ARC, Crc, Table};
use md5::{Digest, Md5};
use plumb_workload::verify::VerifyMethod;
use sha1::Sha1;
use sha2::Sha512;
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};
use std::fmt;

/// Length of the longest checksum.
const BYTES_MAX: usize = 128;

static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&Algorithm {
    width: 64,
    poly: 0xad93_d235_94c9_35a9,
    init: 0,
    refin: true,
    refout: true,
    xorout: 0,
    check: 0xe9c6_d914_c4b8_d9ca,
    residue: 0,
});
static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&Algorithm {
    width: 32,
    poly: 0x04c1_1db7,
    init: 0,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0x89a1_897f,
    residue: 0,
});
static CRC16: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_ARC);
static CRC7: Crc<u8, Table<16>> = Crc::<u8, Table<16>>::new(&CRC_7_MMC);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ChecksumBytes {
    bytes: [u8; BYTES_MAX],
    length: usize,
}

impl ChecksumBytes {
    fn from_bytes(bytes: &[u8]) -> ChecksumBytes {
        let mut sum = ChecksumBytes { bytes: [0; BYTES_MAX], length: bytes.len() };
        sum.bytes[..bytes.len()].copy_from_slice(bytes);
        sum
    }

    /// Returns the bytes in the order in which they follow the header.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Wraps a checksum found in a stamp, cut to the maximum length.
    pub(super) fn found(bytes: &[u8]) -> ChecksumBytes {
        ChecksumBytes::from_bytes(&bytes[..bytes.len().min(BYTES_MAX)])
    }
}

impl fmt::Display for ChecksumBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChecksumBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// CRC-32C as fio computes it: not inverted at the end.
#[inline]
pub(super) fn crc32c(data: &[u8]) -> u32 {
    !crc32c::crc32c(data)
}

/// Returns the length of a method's checksum in bytes.
pub(super) const fn sum_bytes(method: VerifyMethod) -> usize {
    match method {
        VerifyMethod::Md5 => 16,
        VerifyMethod::Crc64 => 8,
        VerifyMethod::Crc32 | VerifyMethod::Crc32c | VerifyMethod::XxHash => 4,
        VerifyMethod::Crc16 => 2,
        VerifyMethod::Crc7 => 1,
        VerifyMethod::Sha1 => 20,
        VerifyMethod::Sha256 | VerifyMethod::Sha3_512 => 64,
        VerifyMethod::Sha512 => 128,
        VerifyMethod::Sha3_224 => 28,
        VerifyMethod::Sha3_256 => 32,
        VerifyMethod::Sha3_384 => 48,
        VerifyMethod::Meta | VerifyMethod::Pattern | VerifyMethod::PatternHeader | VerifyMethod::Null => 0,
    }
}

/// Computes the checksum of `data` like verification does, and discards it. For benchmarks of the methods.
pub fn compute(method: VerifyMethod, data: &[u8]) {
    std::hint::black_box(sum(method, std::hint::black_box(data)));
}

/// Initializes the tables of a method, so that the first op does not wait for them.
pub(super) fn prepare(method: VerifyMethod) {
    sum(method, &[]);
}

/// Returns the checksum of `data`; empty for methods without one.
pub(super) fn sum(method: VerifyMethod, data: &[u8]) -> ChecksumBytes {
    match method {
        VerifyMethod::Md5 => ChecksumBytes::from_bytes(&Md5::digest(data)),
        VerifyMethod::Crc64 => ChecksumBytes::from_bytes(&CRC64.checksum(data).to_le_bytes()),
        VerifyMethod::Crc32 => ChecksumBytes::from_bytes(&CRC32.checksum(data).to_le_bytes()),
        VerifyMethod::Crc32c => ChecksumBytes::from_bytes(&crc32c(data).to_le_bytes()),
        VerifyMethod::Crc16 => ChecksumBytes::from_bytes(&CRC16.checksum(data).to_le_bytes()),
        VerifyMethod::Crc7 => ChecksumBytes::from_bytes(&[CRC7.checksum(data)]),
        VerifyMethod::XxHash => ChecksumBytes::from_bytes(&xxhash_rust::xxh32::xxh32(data, 1).to_le_bytes()),
        VerifyMethod::Sha1 => {
            let mut digest = Sha1::digest(data);
            digest.as_chunks_mut::<4>().0.iter_mut().for_each(|word| word.reverse());
            ChecksumBytes::from_bytes(&digest)
        }
        VerifyMethod::Sha256 => sha256(data),
        VerifyMethod::Sha512 => sha512(data),
        VerifyMethod::Sha3_224 => ChecksumBytes::from_bytes(&Sha3_224::digest(data)),
        VerifyMethod::Sha3_256 => ChecksumBytes::from_bytes(&Sha3_256::digest(data)),
        VerifyMethod::Sha3_384 => ChecksumBytes::from_bytes(&Sha3_384::digest(data)),
        VerifyMethod::Sha3_512 => ChecksumBytes::from_bytes(&Sha3_512::digest(data)),
        VerifyMethod::Meta | VerifyMethod::Pattern | VerifyMethod::PatternHeader | VerifyMethod::Null => {
            ChecksumBytes::from_bytes(&[])
        }
    }
}

/// Returns the SHA-512 field of fio before 3.39; `None` for data shorter than 128 bytes, where part of the field is
/// left over from earlier data.
pub(super) fn sha512_unfinished(data: &[u8]) -> Option<ChecksumBytes> {
    let first = data.get(..128)?;
    let mut sum = ChecksumBytes::from_bytes(first);
    let rest = &data[data.len() / 128 * 128..];
    sum.bytes[..rest.len()].copy_from_slice(rest);
    Some(sum)
}

/// The last blocks of padded data: the remainder, a 1 bit, zeros, and the length.
struct Padded<const BLOCK: usize> {
    blocks: [[u8; BLOCK]; 2],
    first: usize,
}

impl<const BLOCK: usize> Padded<BLOCK> {
    fn new(rest: &[u8], length: &[u8]) -> Padded<BLOCK> {
        // Two blocks if the data, the bit and the length do not fit into one.
        let first = usize::from(rest.len() + 1 + length.len() <= BLOCK);
        let mut padded = Padded { blocks: [[0; BLOCK]; 2], first };
        let bytes = &mut padded.blocks.as_flattened_mut()[first * BLOCK..];
        bytes[..rest.len()].copy_from_slice(rest);
        bytes[rest.len()] = 0x80;
        let end = bytes.len();
        bytes[end - length.len()..].copy_from_slice(length);
        padded
    }

    fn blocks(&self) -> &[[u8; BLOCK]] {
        &self.blocks[self.first..]
    }

    fn last(&self) -> &[u8; BLOCK] {
        &self.blocks[1]
    }
}

fn sha256(data: &[u8]) -> ChecksumBytes {
    let mut state =
        [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19u32];
    let (whole, rest) = data.as_chunks::<64>();
    let padded = Padded::<64>::new(rest, &((data.len() as u64) << 3).to_le_bytes());
    sha2::block_api::compress256(&mut state, whole);
    sha2::block_api::compress256(&mut state, padded.blocks());
    let mut sum = ChecksumBytes::from_bytes(padded.last());
    sum.bytes.iter_mut().zip(state).for_each(|(byte, word)| *byte = word as u8);
    sum
}

fn sha512(data: &[u8]) -> ChecksumBytes {
    let (_, rest) = data.as_chunks::<128>();
    let padded = Padded::<128>::new(rest, &((data.len() as u128) << 3).to_be_bytes());
    let mut sum = ChecksumBytes::from_bytes(padded.last());
    sum.bytes[..64].copy_from_slice(&Sha512::digest(data));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_match_published_check_values() {
        let hex = |method| sum(method, b"123456789").to_string();
        assert_eq!(hex(VerifyMethod::Md5), "25f9e794323b453885f5181f1b624d0b");
        assert_eq!(CRC64.checksum(b"123456789"), 0xe9c6_d914_c4b8_d9ca, "CRC-64 of Jones");
        assert_eq!(hex(VerifyMethod::Crc16), "3dbb");
        assert_eq!(hex(VerifyMethod::Crc7), "75");
        assert_eq!(CRC32.checksum(b"123456789"), 0x89a1_897f, "POSIX cksum without length and inversion");
        assert_eq!(crc32c(b"123456789"), !0xe306_9283);
        assert_eq!(hex(VerifyMethod::Sha3_224), "5795c3d628fd638c9835a4c79a55809f265068c88729a1a3fcdf8522");
    }

    #[test]
    fn padding_uses_a_second_block_only_if_needed() {
        for (rest, blocks) in [(0usize, 1usize), (55, 1), (56, 2), (63, 2)] {
            assert_eq!(Padded::<64>::new(&vec![1; rest], &[9; 8]).blocks().len(), blocks, "{rest} bytes left");
        }
    }

    #[test]
    fn every_checksum_depends_on_every_byte() {
        let data: Vec<u8> = (0..1000u32).map(|n| (n * 7 + n / 256) as u8).collect();
        for method in [
            VerifyMethod::Md5,
            VerifyMethod::Crc64,
            VerifyMethod::Crc32,
            VerifyMethod::Crc32c,
            VerifyMethod::Crc16,
            VerifyMethod::Crc7,
            VerifyMethod::Sha1,
            VerifyMethod::Sha256,
            VerifyMethod::Sha512,
            VerifyMethod::Sha3_256,
            VerifyMethod::XxHash,
        ] {
            let whole = sum(method, &data);
            for at in [0, 1, 499, 998, 999] {
                let mut changed = data.clone();
                changed[at] ^= 0x10;
                assert_ne!(sum(method, &changed), whole, "{method:?}, byte {at}");
            }
            assert_eq!(whole.bytes().len(), sum_bytes(method), "{method:?}");
        }
    }
}
