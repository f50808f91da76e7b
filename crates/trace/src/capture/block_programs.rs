//! What runs in the kernel at each request to a block device. Where the kernel describes its types, the programs read its own structures: to
//! make the event of a tracepoint, which others read, takes longer than all that a program does with it. Then one record has the
//! whole request, because to take room in the ring is what is left of the cost.

use super::Event;
use super::asm::{Helper, Program, R0, R1, R2, R3, R6, R7, R8, R9};
use super::btf::Types;
use super::programs::{
    ARGUMENTS_AT, BEGIN_AT, BIO, BIO_BEGAN, BIO_ENDED, BLOCK_RECORD_BYTES, COMPLETED, Maps, NUMBER_AT, QUEUED,
    RESULT_AT, THREAD_AT, TOOK_AT, end, reserve, submit,
};
use std::io;

/// The events. Of devices with request queues, bios have no length any more when they are complete; of others, there are no requests.
pub(super) const EVENTS: [(&str, u32); 3] =
    [("block_bio_queue", QUEUED), ("block_rq_complete", COMPLETED), ("block_bio_complete", COMPLETED)];

/// Bits of a request's operation and flags, as the kernel numbers them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RequestBits {
    flush: u32,
    durable: u32,
    ahead: u32,
    metadata: u32,
}

impl RequestBits {
    /// On this machine.
    pub(super) fn new(types: &Types) -> io::Result<RequestBits> {
        let bit = |name| types.value("req_flag_bits", name).map(|place| 1_u32.checked_shl(place).unwrap_or(0));
        Ok(RequestBits {
            flush: bit("__REQ_PREFLUSH")?,
            durable: bit("__REQ_FUA")?,
            ahead: bit("__REQ_RAHEAD")?,
            metadata: bit("__REQ_META")?,
        })
    }

    /// The letters that the kernel's events have for it. Source: linux/blk_types.h and blk_fill_rwbs() of Linux.
    pub(super) fn letters(self, operation: u32) -> String {
        let is = |bit: u32| operation & bit != 0;
        let mut letters = if is(self.flush) { String::from("F") } else { String::new() };
        letters.push(match operation & 0xff {
            0 => 'R',
            1 => 'W',
            2 => 'F',
            3 | 5 => 'D',
            _ => 'N',
        });
        for (bit, letter) in [(self.durable, 'F'), (self.ahead, 'A'), (self.metadata, 'M')] {
            if is(bit) {
                letters.push(letter);
            }
        }
        letters
    }
}

/// The number of the error for a status of the block layer. Source: blk_errors of block/blk-core.c of Linux.
pub(super) fn error_of_status(status: u32) -> i64 {
    let numbers = [0, 95, 110, 28, 67, 121, 52, 61, 84, 12];
    numbers.get(status as usize).copied().unwrap_or(5)
}

/// What is kept of a request until it is complete, by the place of its bio: a power of two of entries, and of bytes of each.
const KEPT_MAX: u32 = 1 << 16;
const KEPT_BITS: i32 = 6;
pub(super) const KEPT_BYTES: u32 = KEPT_MAX << KEPT_BITS;

/// Places in an entry, which begins with the bio.
const KEPT_BEGIN: i16 = 8;
const KEPT_THREAD: i16 = 16;
const KEPT_SECTOR: i16 = 24;
const KEPT_LENGTH: i16 = 32;
const KEPT_OPERATION: i16 = 36;
const KEPT_DEVICE: i16 = 40;

/// Where a bio has what a record needs. It is complete when all that it was split into is, so that its beginning and its end are all
/// there is to see.
pub(super) struct BioFields {
    /// To its block device, and from there to the disk, whose partition it may be.
    device: i16,
    disk: i16,
    major: i16,
    minor: i16,
    sector: i16,
    length: i16,
    operation: i16,
    status: i16,
}

impl BioFields {
    /// On this machine.
    pub(super) fn new(types: &Types) -> io::Result<BioFields> {
        let bio = |path: &[&str]| types.place("bio", path);
        Ok(BioFields {
            device: bio(&["bi_bdev"])?,
            disk: types.place("block_device", &["bd_disk"])?,
            major: types.place("gendisk", &["major"])?,
            minor: types.place("gendisk", &["first_minor"])?,
            sector: bio(&["bi_iter", "bi_sector"])?,
            length: bio(&["bi_iter", "bi_size"])?,
            operation: bio(&["bi_opf"])?,
            status: bio(&["bi_status"])?,
        })
    }
}

/// Goes on only for bios of these devices: `R7` is the bio, `R8` becomes the device.
fn only_bios(program: &mut Program, fields: &BioFields, devices: &[u32]) {
    program.load(R1, R7, fields.device).load(R1, R1, fields.disk).load_word(R8, R1, fields.major);
    program.shift_left(R8, 20).load_word(R1, R1, fields.minor).add_register(R8, R1);
    only(program, devices);
}

/// `R1` is a number for the bio in `R7`, and `R2` the place of its entry, or of another's. Pointers may be subtracted and not shifted, and the
/// table always has the same address.
fn entry(program: &mut Program, maps: &Maps) {
    program.map_value(R2, maps.kept.number()).copy(R1, R7).subtract(R1, R2);
    program.copy(R3, R1).shift_right(R3, KEPT_BITS).mask(R3, KEPT_MAX as i32 - 1).shift_left(R3, KEPT_BITS);
    program.add_register(R2, R3);
}

/// At `block_bio_queue`: keeps what the request is. Where the place is taken, a record says so instead.
pub(super) fn bio_begins(maps: &Maps, devices: &[u32], fields: &BioFields) -> Vec<u8> {
    let mut program = Program::default();
    program.copy(R6, R1).load(R7, R6, 0);
    only_bios(&mut program, fields, devices);
    program.call(Helper::Thread).copy(R9, R0).call(Helper::Time);
    entry(&mut program, maps);
    program.load(R3, R2, 0).jump_if(R3, 0, "free").subtract(R3, R1).jump_if(R3, 0, "free").jump("taken");
    program.label("free").store(R2, 0, R1).store(R2, KEPT_BEGIN, R0).store(R2, KEPT_THREAD, R9);
    program.store_word(R2, KEPT_DEVICE, R8).load(R1, R7, fields.sector).store(R2, KEPT_SECTOR, R1);
    for (field, place) in [(fields.length, KEPT_LENGTH), (fields.operation, KEPT_OPERATION)] {
        program.load_word(R1, R7, field).store_word(R2, place, R1);
    }
    program.jump("out").label("taken");
    head(&mut program, maps, BIO_BEGAN);
    program.load(R1, R7, fields.sector).store(R9, ARGUMENTS_AT, R1);
    for (field, place) in [(fields.length, 8), (fields.operation, 12)] {
        program.load_word(R1, R7, field).store_word(R9, ARGUMENTS_AT + place, R1);
    }
    bio_number(&mut program, maps);
    program.set(R1, 0).store(R9, TOOK_AT, R1);
    submit(&mut program);
    end(&mut program, maps);
    program.bytes()
}

/// The number of the bio in the place of the result.
fn bio_number(program: &mut Program, maps: &Maps) {
    program.map_value(R2, maps.kept.number()).copy(R1, R7).subtract(R1, R2).store(R9, RESULT_AT, R1);
}

/// At `block_bio_complete`: makes a record of the whole request, with its sector, length and operation behind the status.
pub(super) fn bio_ends(maps: &Maps, devices: &[u32], fields: &BioFields) -> Vec<u8> {
    let mut program = Program::default();
    program.copy(R6, R1).load(R7, R6, 8);
    entry(&mut program, maps);
    program.load(R3, R2, 0).subtract(R3, R1).jump_if(R3, 0, "whole");
    only_bios(&mut program, fields, devices);
    head(&mut program, maps, BIO_ENDED);
    bio_number(&mut program, maps);
    program.load_byte(R1, R7, fields.status).store(R9, TOOK_AT, R1).set(R1, 0);
    program.store(R9, ARGUMENTS_AT, R1).store(R9, ARGUMENTS_AT + 8, R1);
    submit(&mut program);
    program.label("whole").load_byte(R8, R7, fields.status).copy(R7, R2).set(R1, 0).store(R7, 0, R1);
    reserve(&mut program, maps, BLOCK_RECORD_BYTES);
    program.store_number(R9, 0, BIO as i32).load_word(R1, R7, KEPT_DEVICE).store_word(R9, NUMBER_AT, R1);
    program.call(Helper::Time).load(R1, R7, KEPT_BEGIN).store(R9, BEGIN_AT, R1).subtract(R0, R1).store(R9, TOOK_AT, R0);
    for (from, to) in [(KEPT_THREAD, THREAD_AT), (KEPT_SECTOR, ARGUMENTS_AT), (KEPT_LENGTH, ARGUMENTS_AT + 8)] {
        program.load(R1, R7, from).store(R9, to, R1);
    }
    program.store(R9, RESULT_AT, R8);
    submit(&mut program);
    end(&mut program, maps);
    program.bytes()
}

/// A bio that was kept and never completed, as its record would be: begin, thread, sector, length and operation, device.
pub(super) type Kept = (u64, u64, u64, (u32, u32), u32);

/// What a table of entries still holds.
pub(super) fn kept(table: &[u8]) -> Vec<Kept> {
    let entries = table.chunks_exact(1 << KEPT_BITS).filter(|entry| entry.iter().take(8).any(|byte| *byte != 0));
    let long =
        |entry: &[u8], place: i16| entry[place as usize..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
    let of = |entry: &[u8]| {
        let lengths = long(entry, KEPT_LENGTH);
        let device = long(entry, KEPT_DEVICE) as u32;
        let sector = long(entry, KEPT_SECTOR);
        let operation = (lengths as u32, (lengths >> 32) as u32);
        (long(entry, KEPT_BEGIN), long(entry, KEPT_THREAD), sector, operation, device)
    };
    entries.map(of).collect()
}

/// A record from a structure of the kernel says so: its operation and its status are the kernel's own.
pub(super) const FROM_STRUCTURES: u32 = 1 << 31;

/// Where a structure has what a record needs.
struct Places {
    /// The bio or request among the arguments.
    object: i16,
    /// From there to the disk, whose partition it may be about.
    pointers: Vec<i16>,
    sector: i16,
    /// In the structure, or among the arguments.
    bytes: Result<i16, i16>,
    /// Operation and flags of what is queued.
    operation: Option<i16>,
    /// The status of what is complete: in the structure, or among the arguments.
    status: Result<i16, i16>,
}

impl Places {
    fn new(types: &Types, event: &str) -> io::Result<Places> {
        let bio = |path: &[&str]| types.place("bio", path);
        let of_bio = |object| -> io::Result<Places> {
            Ok(Places {
                object,
                pointers: vec![bio(&["bi_bdev"])?, types.place("block_device", &["bd_disk"])?],
                sector: bio(&["bi_iter", "bi_sector"])?,
                bytes: Ok(bio(&["bi_iter", "bi_size"])?),
                operation: Some(bio(&["bi_opf"])?),
                status: Ok(bio(&["bi_status"])?),
            })
        };
        match event {
            "block_bio_queue" => of_bio(0),
            "block_bio_complete" => Ok(Places { operation: None, ..of_bio(8)? }),
            _ => Ok(Places {
                object: 0,
                pointers: vec![types.place("request", &["q"])?, types.place("request_queue", &["disk"])?],
                sector: types.place("request", &["__sector"])?,
                bytes: Err(16),
                operation: None,
                status: Err(8),
            }),
        }
    }
}

/// The program for an event that reads structures, and the number of its type.
pub(super) fn typed(maps: &Maps, devices: &[u32], types: &Types, event: &str) -> io::Result<(u32, Vec<u8>)> {
    let places = Places::new(types, event)?;
    let mut program = Program::default();
    program.copy(R6, R1).load(R7, R6, places.object).copy(R1, R7);
    for pointer in &places.pointers {
        program.load(R1, R1, *pointer);
    }
    let (major, minor) = (types.place("gendisk", &["major"])?, types.place("gendisk", &["first_minor"])?);
    program.load_word(R8, R1, major).shift_left(R8, 20).load_word(R1, R1, minor).add_register(R8, R1);
    only(&mut program, devices);
    head(&mut program, maps, if places.operation.is_some() { QUEUED } else { COMPLETED });
    program.load(R1, R7, places.sector).store(R9, TOOK_AT, R1);
    match places.bytes {
        Ok(place) => program.load_word(R1, R7, place),
        Err(argument) => program.load_word(R1, R6, argument),
    };
    program.shift_right(R1, 9).store(R9, ARGUMENTS_AT, R1);
    match (places.operation, places.status) {
        (Some(_), _) => program.set(R1, 0),
        (None, Ok(place)) => program.load_byte(R1, R7, place),
        (None, Err(argument)) => program.load_byte(R1, R6, argument),
    };
    program.store(R9, RESULT_AT, R1);
    match places.operation {
        Some(place) => program.load_word(R1, R7, place),
        None => program.set(R1, 0),
    };
    program.store_word(R9, ARGUMENTS_AT + 8, R1);
    program.store_number(R9, ARGUMENTS_AT + 12, FROM_STRUCTURES.cast_signed());
    submit(&mut program);
    end(&mut program, maps);
    Ok((types.tracepoint(event)?, program.bytes()))
}

/// The program that reads the event itself: with the sector in the place of the duration, and the number of sectors and the letters for what
/// it is in the place of the first arguments.
pub(super) fn of_event(maps: &Maps, devices: &[u32], kind: u32, event: &Event) -> io::Result<Vec<u8>> {
    let (sector, sectors) = (event.place("sector")?, event.place("nr_sector")?);
    let mut program = Program::default();
    program.copy(R6, R1).load_word(R8, R6, event.place("dev")?);
    only(&mut program, devices);
    head(&mut program, maps, kind);
    program.load(R1, R6, sector).store(R9, TOOK_AT, R1);
    match kind {
        QUEUED => program.set(R1, 0),
        _ => program.load_word(R1, R6, event.place("error")?),
    };
    program.store(R9, RESULT_AT, R1).load_word(R1, R6, sectors).store(R9, ARGUMENTS_AT, R1);
    if kind == QUEUED {
        // Events are read in words that begin at multiples of their size.
        let letters = event.place("rwbs")?;
        program.load_word(R1, R6, letters).store_word(R9, ARGUMENTS_AT + 8, R1);
        program.load_word(R1, R6, letters + 4).store_word(R9, ARGUMENTS_AT + 12, R1);
    } else {
        program.set(R1, 0).store(R9, ARGUMENTS_AT + 8, R1);
    }
    submit(&mut program);
    end(&mut program, maps);
    Ok(program.bytes())
}

/// Goes on only for these devices, one of which is `R8`. They are compared one by one: they are few, and to look one up in a map takes longer.
fn only(program: &mut Program, devices: &[u32]) {
    for &device in devices {
        program.jump_if_word(R8, device, "known");
    }
    program.jump("out").label("known");
}

/// Takes room for a record, and fills in what all have.
fn head(program: &mut Program, maps: &Maps, kind: u32) {
    reserve(program, maps, BLOCK_RECORD_BYTES);
    program.store_number(R9, 0, kind as i32).store_word(R9, NUMBER_AT, R8);
    program.call(Helper::Time).store(R9, BEGIN_AT, R0).call(Helper::Thread).store(R9, THREAD_AT, R0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_can_be_read() {
        let mut table = vec![0_u8; 3 << KEPT_BITS];
        let words: Vec<u8> = [5_u64, 100, 7 << 32 | 8, 2048, 1 << 32 | 4096, 9].map(u64::to_ne_bytes).concat();
        table[64..64 + words.len()].copy_from_slice(&words);
        assert_eq!(kept(&table), [(100, 7 << 32 | 8, 2048, (4096, 1), 9)]);
    }

    /// As the kernel itself writes them.
    #[test]
    fn operations_have_the_kernel_s_letters() {
        let bits = RequestBits { flush: 1 << 18, durable: 1 << 17, ahead: 1 << 19, metadata: 1 << 12 };
        let told = [0, 1, 1 | 1 << 18, 1 | 1 << 17 | 1 << 18 | 1 << 12, 3, 1 << 19, 9].map(|word| bits.letters(word));
        assert_eq!(told, ["R", "W", "FW", "FWFM", "D", "RA", "N"]);
        assert_eq!([0, 3, 10, 99].map(error_of_status), [0, 28, 5, 5]);
    }
}
