//! Parses the kernel's device counters: a generation and an array of `struct devstat`, version 6, of a 64-bit
//! machine. Source: FreeBSD's sys/sys/devicestat.h and sys/kern/subr_devstat.c.

use crate::error::ProbeError;
use plumb_result::observe::DeviceCounters;

/// The only supported version of the structure.
const VERSION: i32 = 6;

/// Source of the counters, for errors.
const PLACE: &str = "kern.devstat.all";

/// Bytes before the first record: the generation, a `long`.
const GENERATION_BYTES: usize = 8;

/// Bytes of one record, with its padding.
pub(super) const RECORD_BYTES: usize = 288;

/// Byte offsets of fields in a record. `system` compares them with the C library's.
pub(super) mod at {
    pub(in super::super) const ALLOCATED: usize = 4;
    pub(in super::super) const START_COUNT: usize = 8;
    pub(in super::super) const END_COUNT: usize = 12;
    pub(in super::super) const DEVICE_NAME: usize = 44;
    pub(in super::super) const UNIT_NUMBER: usize = 60;
    pub(in super::super) const BYTES: usize = 64;
    pub(in super::super) const OPERATIONS: usize = 96;
    pub(in super::super) const DURATION: usize = 128;
    pub(in super::super) const BUSY_TIME: usize = 192;
}

/// Bytes of a device's name without its unit.
const NAME_BYTES: usize = 16;

/// Kinds of transactions, in the order of the arrays.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Flushes, for disk devices.
    NoData,
    Read,
    Write,
    /// Deletes: trims.
    Free,
}

/// A device's name with its unit, such as `ada0`, and its counters.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NamedCounters {
    pub(super) name: String,
    pub(super) counters: DeviceCounters,
}

/// Checks the bytes of `kern.devstat.version`: another version's structure has other fields.
pub(super) fn check_version(bytes: &[u8]) -> Result<(), ProbeError> {
    match bytes.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes)) {
        Some(VERSION) => Ok(()),
        found => Err(ProbeError::form("kern.devstat.version", &format!("{found:?}"), VERSION.to_string())),
    }
}

/// Reads the counters of all devices.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<NamedCounters>, ProbeError> {
    let records = bytes.get(GENERATION_BYTES..).ok_or_else(|| ProbeError::lacks(PLACE, "generation"))?;
    if records.len() % RECORD_BYTES != 0 {
        let found = format!("{} bytes", records.len());
        return Err(ProbeError::form(PLACE, &found, format!("records of {RECORD_BYTES} bytes")));
    }
    records.chunks_exact(RECORD_BYTES).map(Record).filter(Record::is_allocated).map(|record| record.read()).collect()
}

/// The bytes of one `struct devstat`.
struct Record<'a>(&'a [u8]);

impl Record<'_> {
    fn u32(&self, at: usize) -> u32 {
        self.0[at..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    }

    fn u64(&self, at: usize) -> u64 {
        self.0[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    }

    fn is_allocated(&self) -> bool {
        self.u32(at::ALLOCATED) != 0
    }

    fn of_kind(&self, at: usize, kind: Kind) -> u64 {
        self.u64(at + 8 * kind as usize)
    }

    /// Converts a `struct bintime`, seconds and 2⁻⁶⁴ seconds, to ms; 0 for a negative one.
    fn ms(&self, at: usize) -> u64 {
        let seconds = u64::try_from(self.u64(at).cast_signed()).unwrap_or(0);
        let fraction_ms = (u128::from(self.u64(at + 8)) * 1000) >> 64;
        seconds.saturating_mul(1000).saturating_add(fraction_ms as u64)
    }

    fn duration_ms(&self, kind: Kind) -> u64 {
        self.ms(at::DURATION + 16 * kind as usize)
    }

    fn read(&self) -> Result<NamedCounters, ProbeError> {
        let name = &self.0[at::DEVICE_NAME..at::DEVICE_NAME + NAME_BYTES];
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = std::str::from_utf8(name).ok().filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| ProbeError::form(PLACE, &String::from_utf8_lossy(name), "a device's name"))?;
        let all = [Kind::NoData, Kind::Read, Kind::Write, Kind::Free];
        Ok(NamedCounters {
            name: format!("{text}{}", self.u32(at::UNIT_NUMBER).cast_signed()),
            counters: DeviceCounters {
                reads: self.of_kind(at::OPERATIONS, Kind::Read),
                read_bytes: self.of_kind(at::BYTES, Kind::Read),
                writes: self.of_kind(at::OPERATIONS, Kind::Write),
                write_bytes: self.of_kind(at::BYTES, Kind::Write),
                flushes: Some(self.of_kind(at::OPERATIONS, Kind::NoData)),
                busy_ms: self.ms(at::BUSY_TIME),
                weighted_ms: all.into_iter().map(|kind| self.duration_ms(kind)).fold(0, u64::saturating_add),
                discard_bytes: self.of_kind(at::BYTES, Kind::Free),
                // GEOM does not count merges.
                read_merges: 0,
                write_merges: 0,
                read_ms: self.duration_ms(Kind::Read),
                write_ms: self.duration_ms(Kind::Write),
                discards: self.of_kind(at::OPERATIONS, Kind::Free),
                discard_ms: self.duration_ms(Kind::Free),
                in_flight: self.u32(at::START_COUNT).wrapping_sub(self.u32(at::END_COUNT)),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a record in the kernel's layout.
    fn record(name: &str, unit: i32) -> Vec<u8> {
        let mut bytes = vec![0; RECORD_BYTES];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(at::ALLOCATED, &1u32.to_ne_bytes());
        put(at::START_COUNT, &2u32.to_ne_bytes());
        put(at::END_COUNT, &u32::MAX.to_ne_bytes());
        put(at::DEVICE_NAME, name.as_bytes());
        put(at::UNIT_NUMBER, &unit.to_ne_bytes());
        for (kind, [moved, ops]) in [[0, 7u64], [4096, 1], [1 << 20, 256], [512, 3]].into_iter().enumerate() {
            put(at::BYTES + 8 * kind, &moved.to_ne_bytes());
            put(at::OPERATIONS + 8 * kind, &ops.to_ne_bytes());
            put(at::DURATION + 16 * kind, &(kind as u64).to_ne_bytes());
            put(at::DURATION + 16 * kind + 8, &(1u64 << 63).to_ne_bytes());
        }
        put(at::BUSY_TIME, &12u64.to_ne_bytes());
        put(at::BUSY_TIME + 8, &u64::MAX.to_ne_bytes());
        bytes
    }

    fn all(records: &[Vec<u8>]) -> Vec<u8> {
        [vec![9; GENERATION_BYTES], records.concat()].concat()
    }

    // Protects: reads are not mistaken for writes, nor seconds for milliseconds; the counts of
    // started and completed operations wrap.
    #[test]
    fn counters_are_read_at_their_offsets() {
        let mut gone = record("da", 9);
        gone[at::ALLOCATED..at::ALLOCATED + 4].fill(0);
        let found = parse(&all(&[record("ada", 0), gone, record("nda", 12)])).unwrap();
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["ada0", "nda12"]);
        let counters = &found[0].counters;
        assert_eq!((counters.reads, counters.read_bytes, counters.read_ms), (1, 4096, 1500));
        assert_eq!((counters.writes, counters.write_bytes, counters.write_ms), (256, 1 << 20, 2500));
        assert_eq!((counters.discards, counters.discard_bytes, counters.discard_ms), (3, 512, 3500));
        assert_eq!((counters.flushes, counters.busy_ms, counters.weighted_ms), (Some(7), 12_999, 8000));
        assert_eq!(counters.in_flight, 3);
    }

    // Protects: another kernel's structure is an error, never a number, and no bytes cause a panic.
    #[test]
    fn other_bytes_are_refused() {
        assert_eq!(parse(&all(&[])), Ok(Vec::new()));
        assert!(check_version(&6i32.to_ne_bytes()).is_ok());
        assert!(check_version(&7i32.to_ne_bytes()).is_err() && check_version(&[6]).is_err());
        for bytes in [&[][..], &[0; 7], &[0; 9], &all(&[record("ada", 0)])[..RECORD_BYTES]] {
            assert!(parse(bytes).is_err(), "{} bytes", bytes.len());
        }
        assert!(parse(&all(&[record("", 0)])).is_err());
        let mut wild = all(&[vec![0xff; RECORD_BYTES]]);
        assert!(parse(&wild).is_err(), "no name");
        wild[GENERATION_BYTES + at::DEVICE_NAME..][..NAME_BYTES].copy_from_slice(b"sixteen-letters!");
        let found = parse(&wild).unwrap();
        assert_eq!((found[0].name.as_str(), found[0].counters.busy_ms), ("sixteen-letters!-1", 999));
    }
}
