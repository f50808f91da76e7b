//! Reads the kernel's binary record of block I/O, as written by `blktrace` and by the `blk` tracer of tracefs: queued
//! requests (`Q`), in order, with their completions (`C`). Source: linux/blktrace_api.h, versions 7 (48 bytes) and 8
//! (64 bytes); the magic number gives the byte order.

use crate::blocks::{BlockEvent, Blocks, SECTOR_BYTES, Step};
use crate::error::TraceError;
use crate::format_reader::{FormatReader, Input};
use crate::names::Names;
use crate::pending::Pending;
use crate::record::{Record, RecordedAct, Task, flag};
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The upper 24 bits of a magic number; the lower 8 are the version.
const MAGIC: u32 = 0x6561_7400;

/// Bits of an action with the step of a request: `Q`, `D` or `C`.
const STEP: u64 = 0xff;
const QUEUED: u64 = 1;
const ISSUED: u64 = 7;
const COMPLETED: u64 = 8;

/// Kind of a note that names a process.
const NOTE_PROCESS: u64 = 0;

/// Categories of an action, above its 16th bit.
const WRITE: u64 = 1 << 17;
const DISCARD: u64 = 1 << 29;
const NOTIFY: u64 = 1 << 26;
const FLUSH: u64 = 1 << 18;
const AHEAD: u64 = 1 << 27;
const META: u64 = 1 << 28;
const FUA: u64 = 1 << 31;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endianness {
    Little,
    Big,
}

/// The layout of a file's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordLayout {
    order: Endianness,
    version: u32,
}

impl RecordLayout {
    fn magic(head: &[u8]) -> Option<(Endianness, u32)> {
        let first = *head.first_chunk()?;
        let orders = [(Endianness::Little, u32::from_le_bytes(first)), (Endianness::Big, u32::from_be_bytes(first))];
        orders.into_iter().find(|(_, magic)| magic & 0xffff_ff00 == MAGIC)
    }

    /// Whether the first bytes of a file are a magic number.
    pub(crate) fn is_magic(head: &[u8]) -> bool {
        RecordLayout::magic(head).is_some()
    }

    /// Detects the layout from the first bytes of a file; `None` if they are not a magic number.
    pub(crate) fn detect(path: &Path, head: &[u8]) -> Option<Result<RecordLayout, TraceError>> {
        let (order, magic) = RecordLayout::magic(head)?;
        Some(match magic & 0xff {
            version @ (7 | 8) => Ok(RecordLayout { order, version }),
            version => Err(TraceError::Version {
                path: path.to_owned(),
                format: "blktrace",
                version: version.to_string(),
                known: "7 and 8",
            }),
        })
    }

    pub(crate) fn header_bytes(self) -> usize {
        if self.version == 7 { 48 } else { 64 }
    }

    fn u16(self, header: &[u8], at: usize) -> u16 {
        let bytes = [header[at], header[at + 1]];
        if self.order == Endianness::Little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }
    }

    fn u32(self, header: &[u8], at: usize) -> u32 {
        let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
        if self.order == Endianness::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }

    fn u64(self, header: &[u8], at: usize) -> u64 {
        let halves = (u64::from(self.u32(header, at)), u64::from(self.u32(header, at + 4)));
        if self.order == Endianness::Little { halves.1 << 32 | halves.0 } else { halves.0 << 32 | halves.1 }
    }

    /// Returns a record's time and the number of bytes after its header; `None` without a magic number. A note has no
    /// time, because it belongs to the record after it. In blkparse's output its time is from another clock.
    pub(crate) fn time_and_extra_bytes(self, header: &[u8]) -> Option<(Option<u64>, usize)> {
        let event = self.event(header);
        let time_ns = (event.action & NOTIFY == 0).then_some(event.time_ns);
        (event.magic & 0xffff_ff00 == MAGIC).then_some((time_ns, event.extra_bytes))
    }

    fn event(self, header: &[u8]) -> TraceEvent {
        // Version 7 has its categories in the upper 16 of 32 bits, and version 8 in the same bits of 64.
        let (action, process, rest) = match self.version {
            7 => (u64::from(self.u32(header, 28)), self.u32(header, 32), 36),
            _ => (self.u64(header, 32), self.u32(header, 28), 40),
        };
        TraceEvent {
            magic: self.u32(header, 0),
            time_ns: self.u64(header, 8),
            sector: self.u64(header, 16),
            bytes: self.u32(header, 24),
            action,
            process,
            device: self.u32(header, rest),
            error: self.u16(header, rest + 8),
            extra_bytes: usize::from(self.u16(header, rest + 10)),
        }
    }
}

/// A record of the file.
struct TraceEvent {
    magic: u32,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    process: u32,
    device: u32,
    error: u16,
    /// Number of bytes after the header.
    extra_bytes: usize,
}

/// Reads the queued requests of a blktrace, each with its duration if its completion is in the same file.
pub(crate) struct Blktrace {
    input: Input,
    path: PathBuf,
    layout: RecordLayout,
    at: u64,
    first_ns: Option<u64>,
    names: Names,
    pending: Pending,
    blocks: Blocks,
    commands: HashMap<u32, String>,
    header: Vec<u8>,
    extra_bytes: Vec<u8>,
    /// The end or the error to report after the pending records.
    end: Option<Result<(), TraceError>>,
}

impl Blktrace {
    /// Starts reading at the beginning of the file.
    pub(crate) fn new(input: Input, path: &Path, layout: RecordLayout) -> Blktrace {
        Blktrace {
            input,
            path: path.to_owned(),
            layout,
            at: 0,
            first_ns: None,
            names: Names::default(),
            pending: Pending::default(),
            blocks: Blocks::default(),
            commands: HashMap::new(),
            header: vec![0; layout.header_bytes()],
            extra_bytes: Vec::new(),
            end: None,
        }
    }

    fn malformed(&self, reason: impl Into<String>) -> TraceError {
        TraceError::Bytes { path: self.path.clone(), at: self.at, reason: reason.into() }
    }

    /// Reads the next event; `None` at the end. A truncated record is an error: the recording is incomplete.
    fn event(&mut self) -> Result<Option<TraceEvent>, TraceError> {
        match read_whole(&mut self.input, &mut self.header) {
            Ok(0) => return Ok(None),
            Ok(read) if read == self.header.len() => {}
            Ok(_) => return Err(self.malformed("the recording ends within a record")),
            Err(source) => return Err(TraceError::Io { path: self.path.clone(), source }),
        }
        let event = self.layout.event(&self.header);
        if event.magic & 0xffff_ff00 != MAGIC {
            return Err(self.malformed(format!("{:#010x} is not the magic number of a record", event.magic)));
        }
        self.extra_bytes.resize(event.extra_bytes, 0);
        match read_whole(&mut self.input, &mut self.extra_bytes) {
            Ok(read) if read == self.extra_bytes.len() => {}
            Ok(_) => return Err(self.malformed("the recording is truncated after a record")),
            Err(source) => return Err(TraceError::Io { path: self.path.clone(), source }),
        }
        self.at += (self.header.len() + event.extra_bytes) as u64;
        Ok(Some(event))
    }

    fn take(&mut self, event: &TraceEvent) {
        if event.action & NOTIFY != 0 {
            if event.action & STEP == NOTE_PROCESS {
                let name = String::from_utf8_lossy(&self.extra_bytes);
                self.commands.insert(event.process, name.trim_end_matches('\0').to_owned());
            }
            return;
        }
        let step = match event.action & STEP {
            QUEUED => Step::Queued,
            ISSUED => Step::Issued,
            COMPLETED => Step::Completed(event.error.into()),
            _ => return,
        };
        let act = match event.action {
            action if action & DISCARD != 0 => RecordedAct::Trim,
            action if action & FLUSH != 0 && event.bytes == 0 => RecordedAct::Sync,
            action if action & WRITE != 0 => RecordedAct::Write,
            _ => RecordedAct::Read,
        };
        let bits = [(FUA | FLUSH, flag::SYNC), (META, flag::METADATA), (AHEAD, flag::AHEAD)];
        let flags = bits.iter().filter(|(bits, _)| event.action & bits != 0).fold(0, |all, (_, flag)| all | flag);
        let task = match step {
            Step::Completed(_) => 0,
            _ => {
                let command = self.commands.get(&event.process).cloned().unwrap_or_default();
                self.names.task(Task { process: event.process, thread: event.process, command })
            }
        };
        let first_ns = match step {
            Step::Queued => *self.first_ns.get_or_insert(event.time_ns),
            _ => self.first_ns.unwrap_or(event.time_ns),
        };
        let block = BlockEvent {
            step,
            at_ns: event.time_ns.saturating_sub(first_ns),
            // Minor numbers have twenty bits. Source: linux/kdev_t.h.
            device: (event.device >> 20, event.device & 0xf_ffff),
            act,
            flags,
            offset: event.sector.saturating_mul(SECTOR_BYTES),
            length: event.bytes.into(),
            task,
        };
        self.blocks.event(&block, &mut self.names, &mut self.pending);
    }
}

impl FormatReader for Blktrace {
    fn next(&mut self) -> Option<Result<Record, TraceError>> {
        loop {
            if let Some(record) = self.pending.next() {
                return Some(Ok(record));
            }
            match self.end.take() {
                Some(Ok(())) => return None,
                Some(Err(error)) => {
                    self.end = Some(Ok(()));
                    return Some(Err(error));
                }
                None => {}
            }
            match self.event() {
                Ok(Some(event)) => self.take(&event),
                other => {
                    self.pending.close();
                    self.end = Some(other.map(|_| ()));
                }
            }
        }
    }

    fn names(&self) -> &Names {
        &self.names
    }
}

/// Reads until the buffer is full or the input ends.
fn read_whole(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match input.read(&mut buffer[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
