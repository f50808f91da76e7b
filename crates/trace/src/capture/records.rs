//! Constants shared by the kernel's programs (`bpf/record.h`) and this process: record layouts, and the tables
//! that select the recorded calls.

/// Bytes of a record without paths, and of a path.
pub(super) const RECORD_BYTES: usize = 88;
pub(super) const PATH_BYTES: usize = 256;

/// Bytes of the record of a block request.
pub(super) const BLOCK_RECORD_BYTES: usize = 56;

/// Kinds of records: their first word.
pub(super) const FORK: u32 = 1;
pub(super) const CALL: u32 = 2;
pub(super) const QUEUED: u32 = 3;
pub(super) const COMPLETED: u32 = 4;
/// The submission and the end of an asynchronous op. The call number gives the interface: 0 is io_uring.
pub(super) const SUBMITTED: u32 = 5;
pub(super) const ENDED: u32 = 6;
pub(super) const LIBAIO: u32 = 1;
/// Something was registered with a ring of io_uring.
pub(super) const REGISTERED: u32 = 7;
/// A whole block request. If there was no room to store it, its two ends, with the same number.
pub(super) const BIO: u32 = 8;
pub(super) const BIO_BEGAN: u32 = 9;
pub(super) const BIO_ENDED: u32 = 10;
/// Name of the program that a thread runs.
pub(super) const NAMED: u32 = 11;
/// Bits of this kernel's operations. The recorder makes this record from the programs' tables.
pub(super) const BITS: u32 = 12;

/// The record of a request has the kernel's own operation and status instead of an event's.
pub(super) const FROM_STRUCTURES: u32 = 1 << 31;

/// Path arguments of a call, in the programs' numbering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Paths {
    None = 1,
    First = 2,
    Second = 3,
    FirstAndSecond = 4,
    SecondAndFourth = 5,
    Third = 6,
    /// No path: submits ops of libaio.
    Submits = 7,
    /// No path: reports which ops have ended.
    Reaps = 8,
    /// No path: registers files with io_uring.
    Registers = 9,
    /// No path: executes a program, whose name takes the place of a path.
    Command = 10,
}

/// Upper bound of call numbers.
pub(super) const CALLS_MAX: usize = 512;

/// Upper bound of process numbers.
pub(super) const PROCESSES_MAX: usize = 1 << 22;

/// Size of the call tables, and the positions of the process flags and of the count of lost records.
pub(super) const CALL_TABLES_BYTES: usize = 12_582_920;
pub(super) const PROCESSES_AT: usize = 1 << 23;
pub(super) const CALLS_LOST_AT: usize = 12_582_912;

/// Maximum number of devices recorded at once.
pub(super) const DEVICES_MAX: usize = 1024;

/// Size of the request tables, and the positions of the count of lost records, the bits of
/// operations and the pending bios.
pub(super) const REQUEST_TABLES_BYTES: usize = 21_004_480;
pub(super) const REQUESTS_LOST_AT: usize = 128;
pub(super) const BITS_AT: usize = 136;
pub(super) const KEPT_AT: usize = 32_960;
pub(super) const KEPT_MAX: usize = 1 << 16;
pub(super) const KEPT_BYTES: usize = 64;

/// Slots for records of whole requests in the same tables: the number of the next one to read, the slots, and the
/// bytes of each. The last eight bytes of a slot are the record's number plus one.
pub(super) const TO_READ_AT: usize = 64;
pub(super) const SLOTS_AT: usize = 4_227_264;
pub(super) const SLOTS_MAX: usize = 1 << 18;
pub(super) const SLOT_BYTES: usize = 64;
pub(super) const SLOT_NUMBER_AT: usize = 56;
pub(super) const SLOTS_SPARE: u64 = 1 << 12;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The programs are built from the header, and this crate from the constants above.
    #[test]
    fn the_programs_have_the_same_constants() {
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let defined: BTreeMap<&str, u64> = include_str!("../../bpf/record.h")
            .lines()
            .filter_map(|line| line.strip_prefix("#define ")?.split_once(' '))
            .filter_map(|(name, text)| Some((name, number(text)?)))
            .collect();
        let known = [
            ("FORK", u64::from(FORK)),
            ("CALL", CALL.into()),
            ("QUEUED", QUEUED.into()),
            ("COMPLETED", COMPLETED.into()),
            ("SUBMITTED", SUBMITTED.into()),
            ("ENDED", ENDED.into()),
            ("LIBAIO", LIBAIO.into()),
            ("REGISTERED", REGISTERED.into()),
            ("BIO", BIO.into()),
            ("BIO_BEGAN", BIO_BEGAN.into()),
            ("BIO_ENDED", BIO_ENDED.into()),
            ("NAMED", NAMED.into()),
            ("BITS", BITS.into()),
            ("BITS_AT", BITS_AT as u64),
            ("FROM_STRUCTURES", FROM_STRUCTURES.into()),
            ("NO_PATH", Paths::None as u64),
            ("FIRST", Paths::First as u64),
            ("SECOND", Paths::Second as u64),
            ("FIRST_AND_SECOND", Paths::FirstAndSecond as u64),
            ("SECOND_AND_FOURTH", Paths::SecondAndFourth as u64),
            ("THIRD", Paths::Third as u64),
            ("SUBMITS", Paths::Submits as u64),
            ("REAPS", Paths::Reaps as u64),
            ("REGISTERS", Paths::Registers as u64),
            ("COMMAND", Paths::Command as u64),
            ("RECORD_BYTES", RECORD_BYTES as u64),
            ("PATH_BYTES", PATH_BYTES as u64),
            ("BLOCK_RECORD_BYTES", BLOCK_RECORD_BYTES as u64),
            ("CALLS_MAX", CALLS_MAX as u64),
            ("PROCESSES_MAX", PROCESSES_MAX as u64),
            ("CALL_TABLES_BYTES", CALL_TABLES_BYTES as u64),
            ("PROCESSES_AT", PROCESSES_AT as u64),
            ("CALLS_LOST_AT", CALLS_LOST_AT as u64),
            ("DEVICES_MAX", DEVICES_MAX as u64),
            ("REQUEST_TABLES_BYTES", REQUEST_TABLES_BYTES as u64),
            ("REQUESTS_LOST_AT", REQUESTS_LOST_AT as u64),
            ("KEPT_AT", KEPT_AT as u64),
            ("KEPT_MAX", KEPT_MAX as u64),
            ("KEPT_BYTES", KEPT_BYTES as u64),
            ("TO_READ_AT", TO_READ_AT as u64),
            ("SLOTS_AT", SLOTS_AT as u64),
            ("SLOTS_MAX", SLOTS_MAX as u64),
            ("SLOT_BYTES", SLOT_BYTES as u64),
            ("SLOT_NUMBER_AT", SLOT_NUMBER_AT as u64),
            ("SLOTS_SPARE", SLOTS_SPARE),
        ];
        let differing: Vec<_> = known.iter().filter(|(name, number)| defined.get(name) != Some(number)).collect();
        assert!(differing.is_empty(), "{differing:?}; the header has {defined:?}");
    }
}
