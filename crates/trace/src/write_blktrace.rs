//! Writes blktrace's format, version 7: queued requests and their completions. Source: linux/blktrace_api.h.

use crate::error::TraceError;
use crate::record::{Record, RecordedAct, Task, UNKNOWN_NS, flag};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::io::{self, Write};
use std::path::Path;

/// Categories and steps of an action of version 7. Source: linux/blktrace_api.h.
const QUEUED: u32 = 1 | 0x10 << 16;
const COMPLETED: u32 = 8 | 0x80 << 16;
const READ: u32 = 1 << 16;
const WRITE: u32 = 2 << 16;
const FLUSH: u32 = 4 << 16;
const DISCARD: u32 = 0x2000 << 16;
const NOTIFY: u32 = 0x400 << 16;
const FLAGS: [(u8, u32); 3] = [(flag::SYNC, 0x8000 << 16), (flag::METADATA, 0x1000 << 16), (flag::AHEAD, 0x800 << 16)];

/// Bytes of a program's name. Source: linux/sched.h, TASK_COMM_LEN.
const COMMAND_BYTES: usize = 16;

/// One record of version 7, ordered by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BlktraceRecord {
    at_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    process: u32,
    device: u32,
    error: u16,
}

/// Writes requests, and known completions, in time order.
pub(crate) struct BlktraceWriter<'a> {
    pub(crate) out: &'a mut dyn Write,
    sequence: u32,
    /// Pending completions, the earliest first.
    completions: BinaryHeap<Reverse<BlktraceRecord>>,
    /// Threads whose program was named already.
    pub(crate) named: BTreeSet<u32>,
}

/// Reason why a request was not written.
pub(crate) enum RequestError {
    TooLong(u64),
    Io(io::Error),
}

impl RequestError {
    pub(crate) fn at(self, path: &Path) -> TraceError {
        match self {
            RequestError::TooLong(bytes) => TraceError::TooLong { bytes },
            RequestError::Io(source) => TraceError::Io { path: path.to_owned(), source },
        }
    }
}

impl<'a> BlktraceWriter<'a> {
    pub(crate) fn new(out: &'a mut dyn Write) -> BlktraceWriter<'a> {
        BlktraceWriter { out, sequence: 0, completions: BinaryHeap::new(), named: BTreeSet::new() }
    }

    /// Writes a request. Returns `false` if the record is not one.
    pub(crate) fn request(&mut self, record: &Record, device: u32, process: u32) -> Result<bool, RequestError> {
        let action = match record.act {
            RecordedAct::Read => READ,
            RecordedAct::Write => WRITE,
            RecordedAct::Trim => WRITE | DISCARD,
            RecordedAct::Sync | RecordedAct::Datasync => WRITE | FLUSH,
            _ => return Ok(false),
        };
        // A flush's flags only mark it as a flush.
        let flags = FLAGS.iter().filter(|(bit, _)| record.flags & bit != 0 && action & FLUSH == 0);
        let action = flags.fold(action, |action, (_, bit)| action | bit);
        let bytes = u32::try_from(record.length).map_err(|_| RequestError::TooLong(record.length))?;
        self.complete(record.at_ns).map_err(RequestError::Io)?;
        let queued = BlktraceRecord {
            at_ns: record.at_ns,
            sector: record.offset / 512,
            bytes,
            action: QUEUED | action,
            process,
            device,
            error: 0,
        };
        self.put(&queued, &[]).map_err(RequestError::Io)?;
        if record.took_ns != UNKNOWN_NS {
            self.completions.push(Reverse(BlktraceRecord {
                at_ns: record.at_ns.saturating_add(record.took_ns),
                action: COMPLETED | action,
                process: 0,
                error: if record.result < 0 { record.result.unsigned_abs() as u16 } else { 0 },
                ..queued
            }));
        }
        Ok(true)
    }

    /// Writes the completions before a time.
    pub(crate) fn complete(&mut self, before_ns: u64) -> io::Result<()> {
        while let Some(Reverse(done)) = self.completions.peek().copied().filter(|done| done.0.at_ns < before_ns) {
            self.completions.pop();
            self.put(&done, &[])?;
        }
        Ok(())
    }

    /// Names the program of a process.
    pub(crate) fn name(&mut self, at_ns: u64, task: &Task) -> io::Result<()> {
        self.complete(at_ns)?;
        let mut name = [0; COMMAND_BYTES];
        let bytes = task.command.as_bytes();
        let length = bytes.len().min(COMMAND_BYTES - 1);
        name[..length].copy_from_slice(&bytes[..length]);
        let (process, action) = (task.process, NOTIFY);
        self.put(&BlktraceRecord { at_ns, sector: 0, bytes: 0, action, process, device: 0, error: 0 }, &name)
    }

    /// Writes a record in this machine's byte order.
    fn put(&mut self, record: &BlktraceRecord, extra: &[u8]) -> io::Result<()> {
        let BlktraceRecord { at_ns, sector, bytes, action, process, device, error } = *record;
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = Vec::with_capacity(48);
        header.extend_from_slice(&0x6561_7407_u32.to_ne_bytes());
        header.extend_from_slice(&self.sequence.to_ne_bytes());
        header.extend_from_slice(&at_ns.to_ne_bytes());
        header.extend_from_slice(&sector.to_ne_bytes());
        // The processor is unknown.
        for field in [bytes, action, process, device, 0] {
            header.extend_from_slice(&field.to_ne_bytes());
        }
        header.extend_from_slice(&error.to_ne_bytes());
        header.extend_from_slice(&(extra.len() as u16).to_ne_bytes());
        header.extend_from_slice(extra);
        self.out.write_all(&header)
    }
}
