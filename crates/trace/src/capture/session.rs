//! Converts the kernel's events to records, ordered by start time, using the tracked state of each process.

use super::bio::{PendingBio, RequestBits, error_of_status};
use super::records::{
    BIO, BIO_BEGAN, BIO_ENDED, BITS, BLOCK_RECORD_BYTES, CALL, CALLS_MAX, COMPLETED, ENDED, FORK, FROM_STRUCTURES,
    LIBAIO, NAMED, PATH_BYTES, QUEUED, RECORD_BYTES, REGISTERED, SUBMITTED,
};
use super::rings::{InFlightOp, Rings};
use crate::blocks::{Blocks, Step};
use crate::calls::{Argument, Call};
use crate::names::Names;
use crate::own::OwnWriter;
use crate::pending::Pending;
use crate::record::{Record, RecordedAct, UNKNOWN_NS};
use crate::world::{Returned, Value, World};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};

/// Records held back to sort them by start time. The ring has them in the order of their ends.
pub(super) const HELD_MAX: usize = 1 << 15;

/// Numbers of the calls on this machine.
#[rustfmt::skip]
pub(super) const NUMBERS: &[(i64, &str)] = &[
    (libc::SYS_read, "read"), (libc::SYS_pread64, "pread64"), (libc::SYS_readv, "readv"), (libc::SYS_preadv, "preadv"),
    (libc::SYS_preadv2, "preadv2"), (libc::SYS_write, "write"), (libc::SYS_pwrite64, "pwrite64"), (libc::SYS_writev, "writev"),
    (libc::SYS_pwritev, "pwritev"), (libc::SYS_pwritev2, "pwritev2"), (libc::SYS_open, "open"), (libc::SYS_openat, "openat"),
    (libc::SYS_openat2, "openat2"), (libc::SYS_creat, "creat"), (libc::SYS_close, "close"), (libc::SYS_fsync, "fsync"),
    (libc::SYS_fdatasync, "fdatasync"), (libc::SYS_sync_file_range, "sync_file_range"), (libc::SYS_sync, "sync"),
    (libc::SYS_syncfs, "syncfs"), (libc::SYS_stat, "stat"), (libc::SYS_lstat, "lstat"), (libc::SYS_fstat, "fstat"),
    (libc::SYS_newfstatat, "newfstatat"), (libc::SYS_statx, "statx"), (libc::SYS_access, "access"),
    (libc::SYS_faccessat, "faccessat"), (libc::SYS_faccessat2, "faccessat2"), (libc::SYS_unlink, "unlink"),
    (libc::SYS_unlinkat, "unlinkat"), (libc::SYS_mkdir, "mkdir"), (libc::SYS_mkdirat, "mkdirat"), (libc::SYS_rmdir, "rmdir"),
    (libc::SYS_rename, "rename"), (libc::SYS_renameat, "renameat"), (libc::SYS_renameat2, "renameat2"), (libc::SYS_link, "link"),
    (libc::SYS_linkat, "linkat"), (libc::SYS_symlink, "symlink"), (libc::SYS_symlinkat, "symlinkat"),
    (libc::SYS_readlink, "readlink"), (libc::SYS_readlinkat, "readlinkat"), (libc::SYS_truncate, "truncate"),
    (libc::SYS_ftruncate, "ftruncate"), (libc::SYS_fallocate, "fallocate"), (libc::SYS_getdents64, "getdents64"),
    (libc::SYS_lseek, "lseek"), (libc::SYS_mmap, "mmap"), (libc::SYS_chmod, "chmod"), (libc::SYS_fchmod, "fchmod"),
    (libc::SYS_fchmodat, "fchmodat"), (libc::SYS_chown, "chown"), (libc::SYS_fchown, "fchown"), (libc::SYS_lchown, "lchown"),
    (libc::SYS_fchownat, "fchownat"), (libc::SYS_utimensat, "utimensat"), (libc::SYS_dup, "dup"), (libc::SYS_dup2, "dup2"),
    (libc::SYS_dup3, "dup3"), (libc::SYS_chdir, "chdir"), (libc::SYS_fchdir, "fchdir"), (libc::SYS_execve, "execve"),
    (libc::SYS_execveat, "execveat"),
];

/// The calls of libaio that submit ops, and those that return ended ones.
pub(super) const SUBMITS: [i64; 1] = [libc::SYS_io_submit];
pub(super) const REAPS: [i64; 2] = [libc::SYS_io_getevents, IO_PGETEVENTS];

/// The libc crate has no name for it. Source: arch/x86/entry/syscalls/syscall_64.tbl of Linux.
const IO_PGETEVENTS: i64 = 333;

/// Results within the kernel of a call that will restart. Source: linux/errno.h,
/// ERESTARTSYS to ERESTART_RESTARTBLOCK.
const INTERRUPTED: std::ops::RangeInclusive<i64> = -516..=-512;

/// The call that sets up io_uring.
pub(super) const IO_URING_SETUP: i64 = libc::SYS_io_uring_setup;

/// The call that registers files with io_uring.
pub(super) const IO_URING_REGISTER: i64 = libc::SYS_io_uring_register;

/// Makes records and writes them.
pub(super) struct Session<W> {
    pub(super) world: World,
    pub(super) names: Names,
    writer: OwnWriter<W>,
    /// The recorded calls, by number.
    calls: Vec<Option<&'static Call>>,
    /// Records held back, by start time and sequence.
    pub(super) held: BTreeMap<(u64, u64), Record>,
    /// Ops in flight, by process (0 for io_uring) and address.
    pub(super) in_flight: HashMap<(u32, u64), InFlightOp>,
    pub(super) rings: Rings,
    /// Bits of operations read from the kernel's structures.
    pub(super) bits: RequestBits,
    /// Block requests that arrived in two parts, by the number of their bio.
    begun_bios: HashMap<u64, PendingBio>,
    pub(super) records: u64,
    pub(super) uses_io_uring: bool,
    pub(super) maps_files: bool,
    first_ns: Option<u64>,
    known: HashSet<u32>,
    pub(super) blocks: Blocks,
    pub(super) pending: Pending,
    values: Vec<Value>,
}

impl<W: Write> Session<W> {
    pub(super) fn new(writer: OwnWriter<W>) -> Session<W> {
        let mut calls = vec![None; CALLS_MAX];
        NUMBERS.iter().for_each(|(number, name)| calls[*number as usize] = Call::named(name));
        Session {
            calls,
            world: World::complete(),
            names: Names::default(),
            writer,
            held: BTreeMap::new(),
            in_flight: HashMap::new(),
            rings: Rings::default(),
            bits: RequestBits::default(),
            begun_bios: HashMap::new(),
            records: 0,
            uses_io_uring: false,
            maps_files: false,
            first_ns: None,
            known: HashSet::new(),
            blocks: Blocks::default(),
            pending: Pending::default(),
            values: Vec::new(),
        }
    }

    /// Handles a record of the kernel.
    pub(super) fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (head, paths) = bytes.split_at_checked(RECORD_BYTES).unwrap_or((bytes, &[]));
        if head.len() < BLOCK_RECORD_BYTES {
            return Ok(());
        }
        let word = |place: usize| u32::from_ne_bytes([head[place], head[place + 1], head[place + 2], head[place + 3]]);
        let long = |place: usize| head[place..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        let (begin_ns, took_ns, thread) = (long(8), long(16), long(24));
        let (process, thread) = ((thread >> 32) as u32, thread as u32);
        match word(0) {
            CALL | FORK | SUBMITTED | ENDED | REGISTERED if head.len() < RECORD_BYTES => return Ok(()),
            FORK => {
                let child = took_ns as u32;
                self.world.inherit(process, child);
                self.world.set_program(child, &self.world.command(thread));
                self.known.remove(&child);
                return Ok(());
            }
            SUBMITTED => {
                self.submitted(word(4) == LIBAIO, head, paths, (process, thread));
                return Ok(());
            }
            REGISTERED => {
                self.rings.registers(thread, long(32));
                return Ok(());
            }
            ENDED => {
                let owner = if word(4) == LIBAIO { process } else { 0 };
                return self.ended((owner, long(32)), begin_ns, word(40) as i32);
            }
            CALL => {}
            kind @ (QUEUED | COMPLETED) => {
                let (error, is_from_structures) = (word(32), word(52) & FROM_STRUCTURES != 0);
                let letters = match (kind, is_from_structures) {
                    (COMPLETED, _) => String::new(),
                    (_, true) => self.bits.letters(word(48)),
                    _ => text_of(&head[48..BLOCK_RECORD_BYTES]),
                };
                let step = match (kind, is_from_structures) {
                    (QUEUED, _) => Step::Queued,
                    (_, true) => Step::Completed(error_of_status(error)),
                    _ => Step::Completed(i64::from(error.cast_signed())),
                };
                let range = (took_ns, long(40));
                return self.request(step, begin_ns, word(4), range, &letters, (process, thread));
            }
            kind @ (BIO | BIO_BEGAN) => {
                let known = PendingBio {
                    begin_ns,
                    task: long(24),
                    sector: long(40),
                    length: word(48),
                    operation: word(52),
                    device: word(4),
                };
                return match kind {
                    BIO => self.bio(known, took_ns, word(32)),
                    _ => {
                        self.begun_bios.insert(long(32), known);
                        Ok(())
                    }
                };
            }
            NAMED => {
                self.known.insert(thread);
                self.world.set_process(thread, process, text_of(&head[40..BLOCK_RECORD_BYTES]).trim_end());
                return Ok(());
            }
            BITS => {
                self.bits = RequestBits::new(begin_ns, took_ns);
                return Ok(());
            }
            BIO_ENDED => {
                let Some(known) = self.begun_bios.remove(&long(32)) else { return Ok(()) };
                return self.bio(known, begin_ns.saturating_sub(known.begin_ns), took_ns as u32);
            }
            _ => return Ok(()),
        }
        let number = i64::from(word(4));
        if number == IO_URING_SETUP {
            self.uses_io_uring = true;
            return Ok(());
        }
        if number == IO_URING_REGISTER {
            self.registered(head, paths, process, thread);
            return Ok(());
        }
        // A signal interrupted it before it did anything, and it restarts.
        if INTERRUPTED.contains(&(long(32) as i64)) {
            return Ok(());
        }
        let Some(call) = self.calls.get(number as usize).copied().flatten() else { return Ok(()) };
        let is_exec = call.effect == crate::calls::Effect::Execs;
        match paths.get(..PATH_BYTES).filter(|_| is_exec).map(text_of) {
            // The process may be gone by now.
            Some(command) => {
                self.known.insert(thread);
                self.world.set_process(thread, process, command.trim_end());
            }
            None => self.note_program(process, thread, is_exec),
        }
        let mut values = std::mem::take(&mut self.values);
        values_of(call, head, paths, &mut values);
        let returned = Returned {
            call,
            arguments: &values,
            result: long(32) as i64,
            result_path: None,
            thread,
            at_ns: begin_ns,
            took_ns,
            is_thread: false,
        };
        let record = self.world.record(&returned, &mut self.names);
        self.values = values;
        self.hold(record)
    }

    /// Notes a thread's program. Looks it up once, and again if `has_changed`.
    pub(super) fn note_program(&mut self, process: u32, thread: u32, has_changed: bool) {
        if self.known.insert(thread) || has_changed {
            let command = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/comm"));
            // A thread that is gone has the name of its creator.
            let command = command.unwrap_or_else(|_| self.world.command(thread));
            self.world.set_process(thread, process, command.trim_end());
        }
    }

    /// Holds a record back until it is ready to be written.
    pub(super) fn hold(&mut self, record: Option<Record>) -> io::Result<()> {
        let Some(record) = record else { return Ok(()) };
        self.maps_files |= record.act == RecordedAct::Map;
        self.held.insert((record.at_ns, self.records), record);
        self.records += 1;
        if self.held.len() > HELD_MAX { self.pass_on() } else { Ok(()) }
    }

    /// Ends the input: ops still in flight are written without their end.
    pub(super) fn close(&mut self) -> io::Result<()> {
        for (_, known) in std::mem::take(&mut self.begun_bios) {
            self.bio(known, UNKNOWN_NS, 0)?;
        }
        self.pending.close();
        self.requests()
    }

    pub(super) fn pass_on(&mut self) -> io::Result<()> {
        let Some(((begin_ns, _), record)) = self.held.pop_first() else { return Ok(()) };
        let first_ns = *self.first_ns.get_or_insert(begin_ns);
        self.writer.push(Record { at_ns: begin_ns.saturating_sub(first_ns), ..record }, &self.names)
    }

    /// Writes all records that are held back.
    pub(super) fn finish(mut self, facts: &super::Facts) -> io::Result<u64> {
        while !self.held.is_empty() {
            self.pass_on()?;
        }
        self.writer.finish(&self.names, facts)
    }
}

/// Reads a text up to its zero.
fn text_of(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Extracts the arguments of a call from its record.
pub(super) fn values_of(call: &Call, head: &[u8], paths: &[u8], values: &mut Vec<Value>) {
    let mut texts = paths.chunks(PATH_BYTES).map(text_of);
    values.clear();
    for (place, argument) in call.arguments().enumerate() {
        let value = head[40 + 8 * place..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        values.push(match argument {
            Argument::Descriptor | Argument::Directory => Value::Descriptor(i64::from(value as i32), None),
            Argument::Path | Argument::OtherPath => texts.next().map_or(Value::Unknown, Value::Path),
            Argument::Ignored => Value::Unknown,
            _ => Value::Number(value as i64),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::event;
    use super::*;
    use crate::iolog::Waits;
    use crate::open::read;
    use crate::own::Facts;
    use std::io::Cursor;
    use std::path::Path;

    /// Builds a record in the programs' layout.
    fn record(kind: u32, number: i64, fields: [u64; 4], arguments: [u64; 6], paths: &[&str]) -> Vec<u8> {
        let mut bytes = [kind.to_ne_bytes(), (number as u32).to_ne_bytes()].concat();
        fields.iter().chain(&arguments).for_each(|field| bytes.extend_from_slice(&field.to_ne_bytes()));
        for path in paths {
            let mut text = path.as_bytes().to_vec();
            text.resize(PATH_BYTES, 0);
            bytes.extend_from_slice(&text);
        }
        bytes
    }

    fn format_records(events: &[Vec<u8>]) -> Vec<String> {
        let mut bytes = Vec::new();
        let mut session = Session::new(OwnWriter::new(&mut bytes, &Facts::default()).unwrap());
        session.world.set_directory(7, "/data");
        events.iter().for_each(|event| session.take(event).unwrap());
        session.close().unwrap();
        session.finish(&Facts::default()).unwrap();
        let mut reader = read(Box::new(Cursor::new(bytes)), Path::new("r"), Waits::Manual).unwrap();
        let records: Vec<Record> = reader.by_ref().map(Result::unwrap).collect();
        let line = |record: &Record| {
            let file = &reader.files()[record.file as usize];
            format!("{} {} {file} {} {}", record.at_ns, record.act.name(), record.offset, record.result)
        };
        records.iter().map(line).collect()
    }

    const CLOEXEC: u64 = 0o2_000_000;
    const AT_FDCWD: u64 = -100_i64 as u64;

    /// Protects: a child has its parent's descriptors and directory until it executes another program. An unknown
    /// descriptor counts as a pipe.
    #[test]
    fn descriptors_are_followed_through_forks_and_programs() {
        let thread = |process: u64| process << 32 | process;
        let open = |at, flags, result, name| {
            record(CALL, libc::SYS_openat, [at, 5, thread(7), result], [AT_FDCWD, 0, flags, 0, 0, 0], &[name])
        };
        let write = |at, process, descriptor| {
            record(CALL, libc::SYS_write, [at, 5, thread(process), 3], [descriptor, 0, 3, 0, 0, 0], &[])
        };
        let events = [
            open(100, 1, 3, "kept"),
            open(110, 1 | CLOEXEC, 4, "closed"),
            record(FORK, 0, [120, 8, thread(7), 0], [0; 6], &[]),
            write(130, 8, 3),
            write(140, 8, 4),
            write(145, 8, 5),
            record(CALL, libc::SYS_execve, [150, 5, thread(8), 0], [0; 6], &["program"]),
            write(160, 8, 3),
            write(170, 8, 4),
            write(180, 7, 4),
        ];
        assert_eq!(
            format_records(&events),
            [
                "0 open /data/kept 0 3",
                "10 open /data/closed 0 4",
                "30 write /data/kept 0 3",
                "40 write /data/closed 0 3",
                "60 write /data/kept 3 3",
                "80 write /data/closed 0 3"
            ]
        );
    }

    /// Protects: the program of an exited process is known, from its parent and from its execs.
    #[test]
    fn exited_programs_have_names() {
        let gone = u64::from(u32::MAX - 7);
        let thread = |thread: u64| thread << 32 | thread;
        let stat = |at, who| record(CALL, libc::SYS_stat, [at, 9, who, 0], [0; 6], &["/a"]);
        let execs = |at, who, name| record(CALL, libc::SYS_execve, [at, 9, who, 0], [0; 6], &[name]);
        let parent = thread(gone - 1);
        let events = [
            execs(10, parent, "parent"),
            record(FORK, 0, [20, gone, parent, 0], [0; 6], &[]),
            stat(30, thread(gone)),
            execs(40, thread(gone), "child"),
            stat(50, thread(gone)),
        ];
        let mut bytes = Vec::new();
        let mut session = Session::new(OwnWriter::new(&mut bytes, &Facts::default()).unwrap());
        events.iter().for_each(|event| session.take(event).unwrap());
        let commands: Vec<&str> = session.names.tasks().iter().map(|task| task.command.as_str()).collect();
        assert_eq!(commands, ["parent", "child"]);
    }

    /// Protects: if another thread reuses a descriptor before close returns, the close applies to the previous file.
    /// A pipe that replaces a file is not a file.
    #[test]
    fn descriptors_belong_to_one_file_after_another() {
        let thread = |thread: u64| 7 << 32 | thread;
        let open = |at, took, result, name| {
            record(CALL, libc::SYS_openat, [at, took, thread(8), result], [AT_FDCWD, 0, 2, 0, 0, 0], &[name])
        };
        let call = |number, at, took, result, descriptor| {
            record(CALL, number, [at, took, thread(7), result], [descriptor, result, 3, 0, 0, 0], &[])
        };
        let events = [
            open(100, 5, 3, "a"),
            open(120, 20, 3, "b"),
            call(libc::SYS_close, 110, 40, 0, 3),
            call(libc::SYS_write, 160, 5, 3, 3),
            call(libc::SYS_read, 165, 5, -512_i64 as u64, 3),
            call(libc::SYS_dup2, 170, 5, 3, 9),
            call(libc::SYS_write, 180, 5, 3, 3),
        ];
        let expected = ["0 open /data/a 0 3", "10 close /data/a 0 0", "20 open /data/b 0 3", "60 write /data/b 0 3"];
        assert_eq!(format_records(&events), expected);
    }

    /// Protects: ops of io_uring and libaio are recorded when they end, with their submission time. Opens and closes
    /// by io_uring and registered files are tracked. A file whose registration was not seen has no name.
    #[test]
    fn ops_of_rings_have_their_submission_times() {
        const FIXED: u64 = 1 << 32;
        let thread = 7 << 32 | 7;
        let op = |number, at, code, key, arguments| record(SUBMITTED, number, [at, code, thread, key], arguments, &[]);
        let end = |number, at, key, result: i32| {
            record(ENDED, number, [at, 0, thread, key], [result as u32 as u64, 0, 0, 0, 0, 0], &[])
        };
        let ring = 0x5000;
        let mut registers = record(CALL, IO_URING_REGISTER, [150, 5, thread, 0], [9, 2, 0, 2, 0, 0], &[]);
        let mut list = [(-1_i32).to_ne_bytes(), 3_i32.to_ne_bytes()].concat();
        list.resize(PATH_BYTES, 0);
        registers.extend_from_slice(&list);
        let events = [
            record(CALL, libc::SYS_openat, [100, 5, thread, 3], [AT_FDCWD, 0, 2, 0, 0, 0], &["a"]),
            op(0, 110, 23, 0xff00, [3, 0, 4096, 8192, 0, ring]),
            op(0, 120, 22 | FIXED, 0xff80, [5, 0, 512, 0, 0, ring]),
            op(0, 125, 3, 0xffc0, [3, 0, 0, 0, 1, ring]),
            op(1, 130, 0x7_0000, 0x40, [3, 0, 1024, 4096, 0, 0]),
            record(REGISTERED, 0, [0, 0, thread, ring], [0; 6], &[]),
            registers,
            op(0, 160, 22 | FIXED, 0xee00, [1, 0, 256, 0, 0, ring]),
            record(SUBMITTED, 0, [170, 18, thread, 0xee10], [AT_FDCWD, 0, 1, 0, 0, ring], &["b"]),
            record(SUBMITTED, 0, [171, 18, thread, 0xee20], [AT_FDCWD, 0, 1, 0, 5, ring], &["c"]),
            end(0, 200, 0xff80, 512),
            end(0, 210, 0xff00, -28),
            end(1, 220, 0x40, 1024),
            end(0, 230, 0xffc0, 0),
            end(0, 240, 0xffc0, 0),
            end(0, 250, 0xee00, 256),
            end(0, 251, 0xee10, 4),
            end(0, 252, 0xee20, 0),
            op(0, 260, 23 | FIXED, 0xdd00, [4, 0, 64, 0, 0, ring]),
            op(0, 270, 19, 0xdd10, [4, 0, 0, 0, 0, ring]),
            op(0, 280, 19, 0xdd20, [0, 0, 0, 0, 5, ring]),
            end(0, 300, 0xdd00, 64),
            end(0, 310, 0xdd10, 0),
            end(0, 320, 0xdd20, 0),
        ];
        assert_eq!(
            format_records(&events),
            [
                "0 open /data/a 0 3",
                "10 write /data/a 8192 -28",
                "20 read /registered-file-5 0 512",
                "25 fdatasync /data/a 0 0",
                "30 read /data/a 4096 1024",
                "60 read /data/a 0 256",
                "70 open /data/b 0 4",
                "71 open /data/c 0 1073741828",
                "160 write /data/c 0 64",
                "170 close /data/b 0 0",
                "180 close /data/c 0 0"
            ]
        );
    }

    /// Protects: requests arrive whole, or in two parts if there was no room to store them. One that never ends
    /// is recorded without its end.
    #[test]
    fn requests_arrive_in_one_or_two_records() {
        let thread = 7 << 32 | 7;
        let bio = |kind, at, took, result, arguments: [u64; 2]| {
            let whole =
                record(kind, 7 << 20 | 2, [at, took, thread, result], [arguments[0], arguments[1], 0, 0, 0, 0], &[]);
            whole[..BLOCK_RECORD_BYTES].to_vec()
        };
        let operation = |length: u64, operation: u64| operation << 32 | length;
        let events = [
            event::bits([1 << 18, 0]),
            bio(NAMED, 0, 0, 0, [u64::from_ne_bytes(*b"named\0\0\0"), 0]),
            bio(BIO, 100, 50, 0, [8, operation(4096, 1)]),
            bio(BIO_BEGAN, 110, 0, 77, [16, operation(512, 0)]),
            bio(BIO_BEGAN, 112, 0, 78, [24, operation(512, 0)]),
            bio(BIO_ENDED, 150, 10, 77, [0, 0]),
            bio(BIO_ENDED, 151, 0, 79, [0, 0]),
            bio(BIO, 160, 5, 0, [0, operation(0, 1 << 18 | 1)]),
        ];
        let expected = [
            "0 write device 7:2 4096 4096",
            "10 read device 7:2 8192 -5",
            "12 read device 7:2 12288 512",
            "60 fsync device 7:2 0 0",
        ];
        assert_eq!(format_records(&events), expected);
    }

    /// A long call is in the ring after short ones that began later.
    #[test]
    fn records_are_sorted_by_start_time() {
        let thread = 7 << 32 | 7;
        let stat = |at, name| record(CALL, libc::SYS_stat, [at, 900, thread, 0], [0; 6], &[name]);
        assert_eq!(
            format_records(&[stat(500, "/b"), stat(100, "/a"), b"short".to_vec()]),
            ["0 stat /a 0 0", "400 stat /b 0 0"]
        );
    }
}
