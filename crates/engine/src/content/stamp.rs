//! The header of a stamp in fio's layout.
//!
//! The facts are from blocks written by fio, and the tests check them against fio. Numbers are little-endian.
//!
//! | since fio 3.41 | before | field |
//! |---|---|---|
//! | 0–1 | 0–1 | 0xacca |
//! | 2 | – | version, 0x81 |
//! | 3 | 2–3 | the method |
//! | 4–7 | 4–7 | length of the block with its stamp, bytes |
//! | 8–15 | 8–15 | seed of the content |
//! | 16–23 | 16–23 | offset in the file, bytes |
//! | 24–27 | 24–27 | time of issue: seconds |
//! | 28–31 | 28–31 | and nanoseconds |
//! | 32–39 | 34–35 | number of the write among its worker's, from 0 |
//! | 40–41 | 32–33 | the worker's number, from 1 |
//! | 44–47 | 36–39 | CRC-32C, not inverted, of the bytes before it |
//!
//! The highest bit of byte 2 is never set in the older layout, which makes the layouts distinguishable.
//! The checksum follows the header.

use super::checksum::crc32c;
use plumb_workload::verify::VerifyMethod;

const MAGIC: u16 = 0xacca;
const VERSION: u8 = 0x81;

/// Length of the longer layout.
pub(super) const BYTES_MAX: usize = 48;

/// Versions of fio's stamp layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderLayout {
    /// Layout of fio 3.41 and later.
    Versioned,
    /// Layout of fio before 3.41.
    Unversioned,
}

/// Returns the header length of a layout in bytes.
pub(super) const fn header_bytes(layout: HeaderLayout) -> usize {
    match layout {
        HeaderLayout::Versioned => 48,
        HeaderLayout::Unversioned => 40,
    }
}

/// The fields of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) layout: HeaderLayout,
    /// Code of the method, which may be unknown.
    pub(super) method: u16,
    pub(super) length: u32,
    pub(super) seed: u64,
    pub(super) offset: u64,
    pub(super) seconds: u32,
    pub(super) nanoseconds: u32,
    pub(super) number: u64,
    pub(super) worker: u16,
}

/// Reason that a header cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnreadableHeader {
    /// The magic number is missing.
    NoMagic { found: u16 },
    /// The version is unknown.
    Version { found: u8 },
    /// The header was changed after it was written.
    Damaged { expected: u32, found: u32 },
}

/// Returns the code of a method. Hardware CRC-32C has another code with the same meaning.
pub(super) const fn code(method: VerifyMethod) -> u16 {
    match method {
        VerifyMethod::Meta => 1,
        VerifyMethod::Md5 => 2,
        VerifyMethod::Crc64 => 3,
        VerifyMethod::Crc32 => 4,
        VerifyMethod::Crc32c => 5,
        VerifyMethod::Crc16 => 7,
        VerifyMethod::Crc7 => 8,
        VerifyMethod::Sha256 => 9,
        VerifyMethod::Sha512 => 10,
        VerifyMethod::Sha3_224 => 11,
        VerifyMethod::Sha3_256 => 12,
        VerifyMethod::Sha3_384 => 13,
        VerifyMethod::Sha3_512 => 14,
        VerifyMethod::XxHash => 15,
        VerifyMethod::Sha1 => 16,
        VerifyMethod::PatternHeader => 17,
        VerifyMethod::Pattern => 18,
        VerifyMethod::Null => 19,
    }
}

/// Returns `true` if a header's code stands for this method.
pub(super) const fn means(found: u16, method: VerifyMethod) -> bool {
    found == code(method) || (found == 6 && matches!(method, VerifyMethod::Crc32c))
}

/// Returns the method of a code; `None` if it is unknown.
pub(super) fn method(code: u16) -> Option<VerifyMethod> {
    const ALL: [VerifyMethod; 18] = [
        VerifyMethod::Meta,
        VerifyMethod::Md5,
        VerifyMethod::Crc64,
        VerifyMethod::Crc32,
        VerifyMethod::Crc32c,
        VerifyMethod::Crc16,
        VerifyMethod::Crc7,
        VerifyMethod::Sha256,
        VerifyMethod::Sha512,
        VerifyMethod::Sha3_224,
        VerifyMethod::Sha3_256,
        VerifyMethod::Sha3_384,
        VerifyMethod::Sha3_512,
        VerifyMethod::XxHash,
        VerifyMethod::Sha1,
        VerifyMethod::PatternHeader,
        VerifyMethod::Pattern,
        VerifyMethod::Null,
    ];
    ALL.into_iter().find(|&method| means(code, method))
}

/// Returns the name of a method by its code.
pub(super) fn name(code: u16) -> &'static str {
    const NAMES: [&str; 20] = [
        "none",
        "meta",
        "md5",
        "crc64",
        "crc32",
        "crc32c",
        "crc32c-intel",
        "crc16",
        "crc7",
        "sha256",
        "sha512",
        "sha3-224",
        "sha3-256",
        "sha3-384",
        "sha3-512",
        "xxhash",
        "sha1",
        "pattern_hdr",
        "pattern",
        "null",
    ];
    NAMES.get(usize::from(code)).copied().unwrap_or("unknown")
}

fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&value);
}

fn get<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut value = [0; N];
    value.copy_from_slice(&bytes[at..at + N]);
    value
}

impl Header {
    /// Writes the header to the start of `bytes`, which must hold the length of its layout.
    #[inline]
    pub(super) fn write(&self, bytes: &mut [u8]) {
        put(bytes, 0, MAGIC.to_le_bytes());
        put(bytes, 4, self.length.to_le_bytes());
        put(bytes, 8, self.seed.to_le_bytes());
        put(bytes, 16, self.offset.to_le_bytes());
        put(bytes, 24, self.seconds.to_le_bytes());
        put(bytes, 28, self.nanoseconds.to_le_bytes());
        let end = match self.layout {
            HeaderLayout::Versioned => {
                put(bytes, 2, [VERSION, self.method as u8]);
                put(bytes, 32, self.number.to_le_bytes());
                put(bytes, 40, self.worker.to_le_bytes());
                put(bytes, 42, [0, 0]);
                44
            }
            HeaderLayout::Unversioned => {
                put(bytes, 2, self.method.to_le_bytes());
                put(bytes, 32, self.worker.to_le_bytes());
                put(bytes, 34, (self.number as u16).to_le_bytes());
                36
            }
        };
        let sum = crc32c(&bytes[..end]);
        put(bytes, end, sum.to_le_bytes());
    }

    /// Reads a header from the start of `bytes`, which must have [`BYTES_MAX`] bytes, or the
    /// length of the older layout.
    #[inline]
    pub(super) fn read(bytes: &[u8]) -> Result<Header, UnreadableHeader> {
        let found = u16::from_le_bytes(get(bytes, 0));
        if found != MAGIC {
            return Err(UnreadableHeader::NoMagic { found });
        }
        let layout = if bytes[2] & 0x80 != 0 { HeaderLayout::Versioned } else { HeaderLayout::Unversioned };
        if layout == HeaderLayout::Versioned && (bytes[2] != VERSION || bytes.len() < BYTES_MAX) {
            return Err(UnreadableHeader::Version { found: bytes[2] });
        }
        let end = header_bytes(layout) - 4;
        let (expected, found) = (u32::from_le_bytes(get(bytes, end)), crc32c(&bytes[..end]));
        if expected != found {
            return Err(UnreadableHeader::Damaged { expected, found });
        }
        let (method, number, worker) = match layout {
            HeaderLayout::Versioned => {
                (u16::from(bytes[3]), u64::from_le_bytes(get(bytes, 32)), u16::from_le_bytes(get(bytes, 40)))
            }
            HeaderLayout::Unversioned => {
                let number = u64::from(u16::from_le_bytes(get(bytes, 34)));
                (u16::from_le_bytes(get(bytes, 2)), number, u16::from_le_bytes(get(bytes, 32)))
            }
        };
        Ok(Header {
            layout,
            method,
            length: u32::from_le_bytes(get(bytes, 4)),
            seed: u64::from_le_bytes(get(bytes, 8)),
            offset: u64::from_le_bytes(get(bytes, 16)),
            seconds: u32::from_le_bytes(get(bytes, 24)),
            nanoseconds: u32::from_le_bytes(get(bytes, 28)),
            number,
            worker,
        })
    }

    /// Returns how many writes after write `number` of the same worker this one was issued; negative if before.
    /// Compares only as many bits as the layout stores.
    pub(super) fn writes_after(&self, number: u32) -> i64 {
        match self.layout {
            HeaderLayout::Versioned => i64::from((self.number as u32).wrapping_sub(number) as i32),
            HeaderLayout::Unversioned => i64::from((self.number as u16).wrapping_sub(number as u16) as i16),
        }
    }

    /// Returns the time of issue, in ns of the clock that counts from boot.
    pub(super) fn issued_ns(&self) -> u64 {
        u64::from(self.seconds) * 1_000_000_000 + u64::from(self.nanoseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header {
        layout: HeaderLayout::Versioned,
        method: 5,
        length: 4096,
        seed: 0x1122_3344_5566_7788,
        offset: 0x1_0000_0000,
        seconds: 7,
        nanoseconds: 8,
        number: 70_000,
        worker: 3,
    };

    #[test]
    fn the_layout_never_changes() {
        let mut bytes = [0xee; 48];
        HEADER.write(&mut bytes);
        assert_eq!(bytes[..4], [0xca, 0xac, 0x81, 5]);
        assert_eq!(bytes[4..24], [0, 16, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(bytes[32..44], [0x70, 0x11, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(Header::read(&bytes), Ok(HEADER));
    }

    #[test]
    fn the_older_layout_is_distinguishable_and_keeps_16_bits_of_the_number() {
        let older = Header { layout: HeaderLayout::Unversioned, number: 70_000, ..HEADER };
        let mut bytes = [0; 40];
        older.write(&mut bytes);
        assert_eq!(Header::read(&bytes), Ok(Header { number: 70_000 & 0xffff, ..older }));
        assert_eq!(Header::read(&bytes).unwrap().writes_after(70_000), 0);
        assert_eq!(Header::read(&bytes).unwrap().writes_after(69_000), 1000);
    }

    #[test]
    fn any_changed_bit_is_found() {
        for (layout, length) in [(HeaderLayout::Versioned, 48), (HeaderLayout::Unversioned, 40)] {
            let mut bytes = vec![0; length];
            Header { layout, number: 9, ..HEADER }.write(&mut bytes);
            let read = Header::read(&bytes);
            for bit in 0..length * 8 {
                let mut changed = bytes.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(Header::read(&changed).is_err(), "{layout:?}, bit {bit}: {read:?}");
            }
        }
    }

    #[test]
    fn every_code_has_the_name_that_users_type() {
        for (method, expected) in [
            (VerifyMethod::Meta, "meta"),
            (VerifyMethod::Sha3_384, "sha3-384"),
            (VerifyMethod::PatternHeader, "pattern_hdr"),
        ] {
            assert_eq!(name(code(method)), expected);
        }
        assert!(means(6, VerifyMethod::Crc32c) && !means(6, VerifyMethod::Crc32));
    }
}
