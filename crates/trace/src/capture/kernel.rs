//! The system calls of BPF and the ring that it writes to. `unsafe` because they take addresses.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Commands of bpf(2). Source: linux/bpf.h, `enum bpf_cmd`.
const MAP_CREATE: i64 = 0;
const MAP_LOOKUP: i64 = 1;
const PROG_LOAD: i64 = 5;
const RAW_TRACEPOINT_OPEN: i64 = 17;

/// Kinds of maps. Source: linux/bpf.h, `enum bpf_map_type`.
#[derive(Clone, Copy)]
pub(super) enum MapKind {
    Array = 2,
    LeastRecentlyUsed = 9,
    Ring = 27,
}

/// Kinds of programs. Source: linux/bpf.h, `enum bpf_prog_type`.
#[derive(Clone, Copy)]
pub(super) enum ProgramKind {
    Tracepoint = 5,
    RawTracepoint = 17,
    /// At a raw tracepoint as well; the kernel knows the types of its arguments, and lets them be read as they are.
    Typed = 26,
}

/// What a program of this kind is attached to. Source: linux/bpf.h, BPF_TRACE_RAW_TP.
const TYPED_RAW_TRACEPOINT: u32 = 23;

/// A map can be mapped. Source: linux/bpf.h, BPF_F_MMAPABLE.
const MAPPABLE: u32 = 1 << 10;

/// Ioctls of perf_event_open(2) on x86-64. Source: linux/perf_event.h.
const PERF_IOC_SET_BPF: u64 = 0x4004_2408;
const PERF_IOC_ENABLE: u64 = 0x2400;
const PERF_TYPE_TRACEPOINT: u32 = 2;
const PERF_FLAG_FD_CLOEXEC: u64 = 8;

/// Calls bpf(2).
fn bpf(command: i64, attributes: &mut [u8]) -> io::Result<i64> {
    // SAFETY: the kernel reads and writes at most `attributes.len()` bytes of the attributes. What pointers within them lead to is
    // alive and as large as the command says: each caller holds it in a local until this returns.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_mut_ptr(), attributes.len()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn owned(result: i64) -> OwnedFd {
    // SAFETY: the kernel has just returned this descriptor, and nobody else has it.
    unsafe { OwnedFd::from_raw_fd(result as i32) }
}

/// Puts fields of 32 and 64 bits at their places.
fn attributes<const N: usize>(words: &[(usize, u32)], longs: &[(usize, u64)]) -> [u8; N] {
    let mut bytes = [0; N];
    words.iter().for_each(|(place, word)| bytes[*place..place + 4].copy_from_slice(&word.to_ne_bytes()));
    longs.iter().for_each(|(place, long)| bytes[*place..place + 8].copy_from_slice(&long.to_ne_bytes()));
    bytes
}

/// A map of the kernel.
pub(super) struct Map {
    descriptor: OwnedFd,
    value_bytes: usize,
}

impl Map {
    /// Makes a map of so many entries; of a ring, that is its bytes.
    pub(super) fn new(kind: MapKind, key_bytes: u32, value_bytes: u32, entries: u32) -> io::Result<Map> {
        let words = [(0, kind as u32), (4, key_bytes), (8, value_bytes), (12, entries)];
        let descriptor = owned(bpf(MAP_CREATE, &mut attributes::<72>(&words, &[]))?);
        Ok(Map { descriptor, value_bytes: value_bytes as usize })
    }

    /// Its descriptor, for programs.
    pub(super) fn number(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// Makes a map of one value of so many bytes.
    pub(super) fn of_bytes(bytes: u32, flags: u32) -> io::Result<Map> {
        let words = [(0, MapKind::Array as u32), (4, 4), (8, bytes), (12, 1), (16, flags)];
        let descriptor = owned(bpf(MAP_CREATE, &mut attributes::<72>(&words, &[]))?);
        Ok(Map { descriptor, value_bytes: bytes as usize })
    }

    fn access(&self, command: i64, key: u32, value: &mut [u8]) -> io::Result<()> {
        let key = key.to_ne_bytes();
        // The kernel copies as many bytes as the map's values have.
        assert_eq!(value.len(), self.value_bytes, "a value has the size that its map was made with");
        let longs = [(8, key.as_ptr() as u64), (16, value.as_mut_ptr() as u64)];
        bpf(command, &mut attributes::<32>(&[(0, self.number() as u32)], &longs)).map(drop)
    }

    /// The value of a map with one entry.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut value = vec![0; self.value_bytes];
        let _ = self.access(MAP_LOOKUP, 0, &mut value);
        value
    }

    /// The 64-bit value of a key of 32 bits; 0 if there is none.
    pub(super) fn long(&self, key: u32) -> u64 {
        let mut value = [0; 8];
        let _ = self.access(MAP_LOOKUP, key, &mut value);
        u64::from_ne_bytes(value)
    }
}

/// A table of bytes that programs read and this process writes.
pub(super) struct Table {
    map: Map,
    bytes: *mut u8,
}

// SAFETY: the memory belongs to this value alone on this side, and bytes are written as atomics.
unsafe impl Send for Table {}

impl Table {
    /// Makes a table of so many bytes, all 0.
    pub(super) fn new(bytes: u32) -> io::Result<Table> {
        let map = Map::of_bytes(bytes, MAPPABLE)?;
        let (length, access) = (bytes as usize, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: a new mapping at a place of the kernel's choice overlaps nothing.
        let place = unsafe { libc::mmap(std::ptr::null_mut(), length, access, libc::MAP_SHARED, map.number(), 0) };
        if place == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Table { map, bytes: place.cast() }) }
    }

    /// Its descriptor, for programs.
    pub(super) fn number(&self) -> i32 {
        self.map.number()
    }

    /// Sets a byte. What is behind the table's end is left out.
    pub(super) fn set(&self, place: u32, value: u8) {
        if (place as usize) < self.map.value_bytes {
            // SAFETY: within the mapping; programs and this process change single bytes.
            unsafe { &*self.bytes.add(place as usize).cast::<AtomicU8>() }.store(value, Ordering::Relaxed);
        }
    }
}

/// Records of one size, in a table that goes round: to take a place in it is one instruction, where the kernel's ring takes a lock.
pub(super) struct Slots {
    table: Table,
    taken: u64,
}

/// How many there are, a power of two, and the bytes of each, the last eight of which are one more than the record's number; before them, a
/// page with the number of the next that will be written and, further on, of the next that will be read.
pub(super) const SLOTS: u64 = 1 << 18;
pub(super) const SLOT_BITS: i32 = 6;
pub(super) const SLOTS_AT: i32 = 4096;
pub(super) const SLOT_NUMBER_AT: i16 = 56;
pub(super) const SLOT_TO_READ_AT: i16 = 64;

/// Places that are kept free, because several processors may look for one at once.
pub(super) const SLOTS_SPARE: u64 = 1 << 12;

impl Slots {
    /// Makes a table, or one without room where nobody writes.
    pub(super) fn new(is_used: bool) -> io::Result<Slots> {
        let bytes = if is_used { (SLOTS as u32) << SLOT_BITS } else { 0 };
        Ok(Slots { table: Table::new(SLOTS_AT as u32 + bytes)?, taken: 0 })
    }

    /// Its descriptor, for programs.
    pub(super) fn number(&self) -> i32 {
        self.table.number()
    }

    fn word(&self, place: usize) -> &AtomicU64 {
        // SAFETY: places are multiples of eight within the mapping, which lives as long as this value.
        unsafe { &*self.table.bytes.add(place).cast::<AtomicU64>() }
    }

    /// Hands on every record that is complete; how many.
    pub(super) fn drain(&mut self, take: &mut dyn FnMut(&[u8])) -> u64 {
        let before = self.taken;
        let taken = loop {
            let place = SLOTS_AT as usize + ((self.taken & (SLOTS - 1)) as usize) * (1 << SLOT_BITS);
            if place >= self.table.map.value_bytes
                || self.word(place + SLOT_NUMBER_AT as usize).load(Ordering::Acquire) != self.taken + 1
            {
                break self.taken - before;
            }
            let word = |number: usize| self.word(place + 8 * number).load(Ordering::Relaxed).to_ne_bytes();
            let record: [[u8; 8]; SLOT_NUMBER_AT as usize / 8] = std::array::from_fn(word);
            take(record.as_flattened());
            self.taken += 1;
            // Not each time: the processors that write look at it.
            if self.taken.is_multiple_of(SLOTS_SPARE) {
                self.word(SLOT_TO_READ_AT as usize).store(self.taken, Ordering::Release);
            }
        };
        if taken > 0 {
            self.word(SLOT_TO_READ_AT as usize).store(self.taken, Ordering::Release);
        }
        taken
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: it was mapped in `new` with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.bytes.cast(), self.map.value_bytes) };
    }
}

/// Loads a program.
///
/// # Errors
/// Of the kernel, with the end of what its verifier says.
pub(super) fn load(kind: ProgramKind, program: &[u8]) -> io::Result<OwnedFd> {
    load_for(kind, 0, program)
}

/// As [`load`], for the tracepoint whose type has this number in the kernel's description of its types.
pub(super) fn load_typed(tracepoint: u32, program: &[u8]) -> io::Result<OwnedFd> {
    load_for(ProgramKind::Typed, tracepoint, program)
}

fn load_for(kind: ProgramKind, tracepoint: u32, program: &[u8]) -> io::Result<OwnedFd> {
    // Some of the kernel's functions are for programs of its own license only.
    let license = c"GPL";
    let attempt = |log: &mut [u8]| {
        let words = [
            (0, kind as u32),
            (4, (program.len() / 8) as u32),
            (24, u32::from(!log.is_empty())),
            (28, log.len() as u32),
            (68, if tracepoint == 0 { 0 } else { TYPED_RAW_TRACEPOINT }),
            (108, tracepoint),
        ];
        let at = if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 };
        let longs = [(8, program.as_ptr() as u64), (16, license.as_ptr() as u64), (32, at)];
        bpf(PROG_LOAD, &mut attributes::<128>(&words, &longs)).map(owned)
    };
    // What the verifier says of a long program has no room, which would be an error as well.
    attempt(&mut []).map_err(|error| {
        let mut log = vec![0_u8; 1 << 20];
        let error = attempt(&mut log).err().unwrap_or(error);
        let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
        let text = String::from_utf8_lossy(&log[..end]).trim().to_owned();
        let last = text.lines().rev().take(3).collect::<Vec<_>>().join("; ");
        io::Error::new(error.kind(), format!("{error}{}{last}", if last.is_empty() { "" } else { ": " }))
    })
}

/// Runs a program at a raw tracepoint for as long as what is returned lives.
pub(super) fn attach_raw(name: &str, program: &OwnedFd) -> io::Result<OwnedFd> {
    let name = CString::new(name)?;
    let words = [(8, program.as_raw_fd() as u32)];
    bpf(RAW_TRACEPOINT_OPEN, &mut attributes::<24>(&words, &[(0, name.as_ptr() as u64)])).map(owned)
}

/// Runs a program that knows types at its tracepoint for as long as what is returned lives.
pub(super) fn attach_typed(program: &OwnedFd) -> io::Result<OwnedFd> {
    bpf(RAW_TRACEPOINT_OPEN, &mut attributes::<24>(&[(8, program.as_raw_fd() as u32)], &[])).map(owned)
}

/// Runs a program at the tracepoint with this number, on all processors, for as long as what is returned lives.
pub(super) fn attach(tracepoint: u64, program: &OwnedFd) -> io::Result<OwnedFd> {
    let mut attributes = attributes::<128>(&[(0, PERF_TYPE_TRACEPOINT), (4, 128)], &[(8, tracepoint)]);
    // SAFETY: the kernel reads the 128 bytes that the second field says.
    let result = unsafe {
        libc::syscall(libc::SYS_perf_event_open, attributes.as_mut_ptr(), -1_i64, 0_i64, -1_i64, PERF_FLAG_FD_CLOEXEC)
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let event = owned(result);
    let ioctl = |request: u64, argument: i32| {
        // SAFETY: neither request has a pointer as its argument.
        if unsafe { libc::ioctl(event.as_raw_fd(), request as _, argument) } < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    };
    ioctl(PERF_IOC_SET_BPF, program.as_raw_fd())?;
    ioctl(PERF_IOC_ENABLE, 0)?;
    Ok(event)
}

/// Moves the calling thread into its own copy of the process's mount namespace.
pub(super) fn leave_mount_namespace() -> io::Result<()> {
    // SAFETY: no pointers; other threads keep their namespace, and this thread's descriptors stay shared.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The reader's end of a ring.
pub(super) struct Ring {
    consumed: *mut u8,
    produced: *const u8,
    page: usize,
    size: usize,
    /// Keeps the memory alive.
    _map: Map,
}

// SAFETY: the memory belongs to this value alone on this side, and is only used through `&mut self`.
unsafe impl Send for Ring {}

/// Bits of a record's head. Source: linux/bpf.h, BPF_RINGBUF_BUSY_BIT and BPF_RINGBUF_DISCARD_BIT.
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
const HEAD_BYTES: usize = 8;

impl Ring {
    /// Maps a ring of so many bytes.
    pub(super) fn new(map: Map, size: usize) -> io::Result<Ring> {
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let map_at = |length: usize, protection: i32, offset: usize| {
            // SAFETY: a new mapping at a place of the kernel's choice overlaps nothing.
            let address = unsafe {
                libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, map.number(), offset as i64)
            };
            if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address.cast::<u8>()) }
        };
        let consumed = map_at(page, libc::PROT_READ | libc::PROT_WRITE, 0)?;
        // The data are mapped twice in a row, so that no record is in two pieces.
        let produced = match map_at(page + 2 * size, libc::PROT_READ, page) {
            Ok(produced) => produced,
            Err(error) => {
                // SAFETY: it was just mapped, and nothing refers to it.
                unsafe { libc::munmap(consumed.cast(), page) };
                return Err(error);
            }
        };
        Ok(Ring { consumed, produced, page, size, _map: map })
    }

    /// Hands on every record that is complete; how many.
    pub(super) fn drain(&mut self, take: &mut dyn FnMut(&[u8])) -> u64 {
        // SAFETY: both pages begin with a counter, aligned as pages are, which the kernel changes as an atomic.
        let (consumed, produced) =
            unsafe { (&*self.consumed.cast::<AtomicU64>(), &*self.produced.cast::<AtomicU64>()) };
        let (end, mut place, mut taken) = (produced.load(Ordering::Acquire), consumed.load(Ordering::Relaxed), 0);
        while place < end {
            let offset = self.page + (place as usize & (self.size - 1));
            // SAFETY: `offset` is within the data, heads are aligned to eight bytes, and the kernel sets the head last.
            let head = unsafe { &*self.produced.add(offset).cast::<AtomicU32>() }.load(Ordering::Acquire);
            if head & BUSY != 0 {
                break;
            }
            let length = (head & !(BUSY | DISCARDED)) as usize;
            if head & DISCARDED == 0 {
                // SAFETY: the kernel wrote a record of this length, which the second mapping makes contiguous, and leaves it alone until
                // the counter says that it was consumed.
                take(unsafe { std::slice::from_raw_parts(self.produced.add(offset + HEAD_BYTES), length) });
                taken += 1;
            }
            place += (length + HEAD_BYTES).next_multiple_of(8) as u64;
            consumed.store(place, Ordering::Release);
        }
        taken
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: both were mapped in `new` with these lengths, and nothing refers to them any more.
        unsafe {
            libc::munmap(self.consumed.cast(), self.page);
            libc::munmap(self.produced.cast_mut().cast(), self.page + 2 * self.size);
        }
    }
}

/// Reads nothing so many times, with a call that is recorded; ns each, of the fastest of as many rounds. Others on this machine only
/// make calls slower.
pub(super) fn idle_calls_ns(file: &std::fs::File, calls: u32, rounds: u32) -> f64 {
    let round = |_| {
        let begun = std::time::Instant::now();
        let mut byte = [0_u8];
        for _ in 0..calls {
            // SAFETY: the buffer has a byte, and none is asked for.
            unsafe { libc::pread(file.as_raw_fd(), byte.as_mut_ptr().cast(), 0, 0) };
        }
        begun.elapsed().as_nanos() as f64 / f64::from(calls)
    };
    (0..rounds).map(round).fold(f64::INFINITY, f64::min)
}
