//! The kernel's binary record of block I/O, as `blktrace` writes it and the `blk` tracer of tracefs prints it: what was
//! queued (`Q`), in order. Source: linux/blktrace_api.h, versions 7 (48 bytes) and 8 (64 bytes); the magic number gives
//! the byte order.

use crate::error::TraceError;
use crate::record::{FileName, Record, RecordedAct};
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The upper 24 bits of a magic number; the lower 8 are the version.
const MAGIC: u32 = 0x6561_7400;

/// Bytes of a sector, whatever the device's.
const SECTOR_BYTES: u64 = 512;

/// Bits of an action that say which step of a request's life it is; `Q`, queued, is 1.
const STEP: u64 = 0xff;
const QUEUED: u64 = 1;

/// Categories of an action, above its 16th bit.
const WRITE: u64 = 1 << 17;
const DISCARD: u64 = 1 << 29;
const NOTIFY: u64 = 1 << 26;
const FLUSH: u64 = 1 << 18;

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
    /// From the first bytes of a file; `None` if they are not a magic number.
    pub(crate) fn of(path: &Path, first: [u8; 4]) -> Option<Result<RecordLayout, TraceError>> {
        let orders = [(Endianness::Little, u32::from_le_bytes(first)), (Endianness::Big, u32::from_be_bytes(first))];
        let (order, magic) = orders.into_iter().find(|(_, magic)| magic & 0xffff_ff00 == MAGIC)?;
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

    fn header_bytes(self) -> usize {
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

    fn event(self, header: &[u8]) -> TraceEvent {
        let (action, device, behind) = match self.version {
            7 => (self.action_of(self.u32(header, 28)), self.u32(header, 36), self.u16(header, 46)),
            _ => (self.u64(header, 32), self.u32(header, 40), self.u16(header, 50)),
        };
        TraceEvent {
            magic: self.u32(header, 0),
            time_ns: self.u64(header, 8),
            sector: self.u64(header, 16),
            bytes: self.u32(header, 24),
            action,
            device,
            behind: usize::from(behind),
        }
    }

    /// Version 7 has its categories in the upper 16 of 32 bits, where version 8 has them in the same place of 64.
    fn action_of(self, action: u32) -> u64 {
        u64::from(action)
    }
}

/// A record of the file.
struct TraceEvent {
    magic: u32,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    device: u32,
    /// Bytes that follow.
    behind: usize,
}

/// Reads the queued ops of a blktrace.
pub struct Blktrace<R> {
    input: R,
    path: PathBuf,
    layout: RecordLayout,
    at: u64,
    first_ns: Option<u64>,
    numbers: HashMap<u32, u32>,
    files: Vec<FileName>,
    header: Vec<u8>,
}

impl<R: Read> Blktrace<R> {
    /// From the start of the file.
    pub(crate) fn new(input: R, path: &Path, layout: RecordLayout) -> Blktrace<R> {
        Blktrace {
            input,
            path: path.to_owned(),
            layout,
            at: 0,
            first_ns: None,
            numbers: HashMap::new(),
            files: Vec::new(),
            header: vec![0; layout.header_bytes()],
        }
    }

    /// The devices that were met so far.
    pub(crate) fn files(&self) -> &[FileName] {
        &self.files
    }

    fn wrong(&self, reason: impl Into<String>) -> TraceError {
        TraceError::Bytes { path: self.path.clone(), at: self.at, reason: reason.into() }
    }

    /// The next op that was queued; `None` at the end. A record that is cut off at the end is an error: the recording
    /// is not whole.
    pub(crate) fn next(&mut self) -> Option<Result<Record, TraceError>> {
        loop {
            match self.event() {
                Ok(None) => return None,
                Ok(Some(event)) => {
                    if let Some(record) = self.record(&event) {
                        return Some(Ok(record));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn event(&mut self) -> Result<Option<TraceEvent>, TraceError> {
        match read_whole(&mut self.input, &mut self.header) {
            Ok(0) => return Ok(None),
            Ok(read) if read == self.header.len() => {}
            Ok(_) => return Err(self.wrong("the recording ends within a record")),
            Err(source) => return Err(TraceError::Io { path: self.path.clone(), source }),
        }
        let event = self.layout.event(&self.header);
        if event.magic & 0xffff_ff00 != MAGIC {
            return Err(self.wrong(format!("{:#010x} is not the magic number of a record", event.magic)));
        }
        let mut behind = vec![0; event.behind];
        match read_whole(&mut self.input, &mut behind) {
            Ok(read) if read == behind.len() => {}
            Ok(_) => return Err(self.wrong("the recording is truncated after a record")),
            Err(source) => return Err(TraceError::Io { path: self.path.clone(), source }),
        }
        self.at += (self.header.len() + event.behind) as u64;
        Ok(Some(event))
    }

    fn record(&mut self, event: &TraceEvent) -> Option<Record> {
        if event.action & NOTIFY != 0 || event.action & STEP != QUEUED {
            return None;
        }
        let act = match event.action {
            action if action & DISCARD != 0 => RecordedAct::Trim,
            action if action & FLUSH != 0 && event.bytes == 0 => RecordedAct::Sync,
            action if action & WRITE != 0 => RecordedAct::Write,
            _ => RecordedAct::Read,
        };
        if event.bytes == 0 && act != RecordedAct::Sync {
            return None;
        }
        let next = self.files.len() as u32;
        let file = *self.numbers.entry(event.device).or_insert(next);
        if file == next {
            // Twenty bits of minor numbers. Source: linux/kdev_t.h.
            self.files.push(FileName::Device { major: event.device >> 20, minor: event.device & 0xf_ffff });
        }
        let first = *self.first_ns.get_or_insert(event.time_ns);
        let at_ns = event.time_ns.saturating_sub(first);
        let (offset, length) = match act {
            RecordedAct::Sync => (0, 0),
            _ => (event.sector.saturating_mul(SECTOR_BYTES), u64::from(event.bytes)),
        };
        Some(Record { at_ns, file, act, offset, length })
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
