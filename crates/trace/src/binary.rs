//! Reads small binary formats of fixed records: CloudPhysics's vSCSI traces and btrecord's. Sources: libCacheSim's
//! reader of the former, btrecord.h of blktrace for the latter.

use crate::blocks::SECTOR_BYTES;
use crate::error::TraceError;
use crate::format_reader::{FormatReader, Input};
use crate::names::Names;
use crate::record::{Record, RecordedAct, UNKNOWN_NS};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Records of 32 bytes, without durations.
    Vscsi1,
    /// Records of 40 bytes, with durations.
    Vscsi2,
    /// Bunches of packets.
    Btrecord,
}

/// Version of btrecord's files, at their start.
const BTRECORD_VERSION: u64 = 0x1_0000;

/// Maximum packets in a bunch. Source: btrecord(1), `--max-pkts`, at most 512.
const PACKETS_MAX: u64 = 512;

impl Layout {
    /// Detects the format from the first bytes of a file.
    pub(crate) fn from_header(head: &[u8]) -> Option<Layout> {
        let word = |place: usize| head.get(place..)?.first_chunk().map(|word| u16::from_le_bytes(*word));
        let long = |place: usize| head.get(place..)?.first_chunk().map(|word| u64::from_le_bytes(*word));
        // SCSI commands for reads and writes; the serial numbers start low.
        let is_command = |command: u16| matches!(command, 0x08 | 0x0a | 0x28 | 0x2a | 0x88 | 0x8a | 0xa8 | 0xaa);
        if long(0)? == BTRECORD_VERSION && head.len() >= 32 {
            return Some(Layout::Btrecord);
        }
        if word(14)? >> 8 == 1 && is_command(word(12)?) {
            return Some(Layout::Vscsi1);
        }
        (word(2)? >> 8 == 2 && is_command(word(0)?)).then_some(Layout::Vscsi2)
    }

    fn record_bytes(self) -> usize {
        match self {
            Layout::Vscsi1 => 32,
            Layout::Vscsi2 => 40,
            Layout::Btrecord => 24,
        }
    }
}

/// Reads a recording in one of these formats.
pub(crate) struct Binary {
    input: Input,
    path: PathBuf,
    layout: Layout,
    names: Names,
    at: u64,
    first_ns: Option<u64>,
    /// Remaining packets of the bunch, and their time.
    packets: u64,
    bunch_ns: u64,
}

impl Binary {
    pub(crate) fn new(input: Input, path: &Path, layout: Layout) -> Binary {
        let mut names = Names::default();
        names.path("device");
        Binary { input, path: path.to_owned(), layout, names, at: 0, first_ns: None, packets: 0, bunch_ns: 0 }
    }

    /// Reads this many bytes; `None` at the end of the file.
    fn bytes(&mut self, count: usize) -> Result<Option<[u8; 40]>, TraceError> {
        let (mut bytes, mut read) = ([0; 40], 0);
        while read < count {
            match self.input.read(&mut bytes[read..count]) {
                Ok(0) if read == 0 => return Ok(None),
                Ok(0) => return Err(self.malformed("the recording ends within a record")),
                Ok(more) => read += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(TraceError::Io { path: self.path.clone(), source }),
            }
        }
        self.at += count as u64;
        Ok(Some(bytes))
    }

    fn malformed(&self, reason: &str) -> TraceError {
        TraceError::Bytes { path: self.path.clone(), at: self.at, reason: reason.to_owned() }
    }

    fn record(&mut self) -> Result<Option<Record>, TraceError> {
        if self.layout == Layout::Btrecord {
            if self.at == 0 {
                self.bytes(32)?;
            }
            // The header's counts omit the last bunch, so read to the end of the file.
            while self.packets == 0 {
                let Some(bunch) = self.bytes(16)? else { return Ok(None) };
                (self.packets, self.bunch_ns) = (long(&bunch, 0), long(&bunch, 8));
                if self.packets > PACKETS_MAX {
                    return Err(self.malformed("a bunch has more than 512 packets"));
                }
            }
            self.packets -= 1;
        }
        let begin = self.at;
        let Some(bytes) = self.bytes(self.layout.record_bytes())? else { return Ok(None) };
        let (at_ns, took_ns, act, offset, length) = match self.layout {
            Layout::Btrecord => {
                // The format stores discards as writes, with no difference between them. A flush has no bytes.
                let (length, is_read) = (long(&bytes, 8), word(&bytes, 16) != 0);
                let act = match (length, is_read) {
                    (0, _) => RecordedAct::Sync,
                    (_, true) => RecordedAct::Read,
                    _ => RecordedAct::Write,
                };
                (self.bunch_ns, UNKNOWN_NS, act, long(&bytes, 0).saturating_mul(SECTOR_BYTES), length)
            }
            Layout::Vscsi1 => {
                let act = self.command(bytes[12], begin)?;
                (long(&bytes, 24).saturating_mul(1_000), UNKNOWN_NS, act, long(&bytes, 16), word(&bytes, 4).into())
            }
            Layout::Vscsi2 => {
                let act = self.command(bytes[0], begin)?;
                let took_ns = long(&bytes, 32).saturating_mul(1_000);
                (long(&bytes, 24).saturating_mul(1_000), took_ns, act, long(&bytes, 16), word(&bytes, 8).into())
            }
        };
        let offset = if self.layout == Layout::Btrecord { offset } else { offset.saturating_mul(SECTOR_BYTES) };
        let at_ns = at_ns.saturating_sub(*self.first_ns.get_or_insert(at_ns));
        Ok(Some(Record { took_ns, ..Record::ranged(at_ns, 0, act, offset, length) }))
    }

    fn command(&self, command: u8, at: u64) -> Result<RecordedAct, TraceError> {
        match command {
            0x08 | 0x28 | 0x88 | 0xa8 => Ok(RecordedAct::Read),
            0x0a | 0x2a | 0x8a | 0xaa => Ok(RecordedAct::Write),
            0x35 | 0x91 => Ok(RecordedAct::Sync),
            0x42 => Ok(RecordedAct::Trim),
            other => {
                let reason = format!("{other:#04x} is not a SCSI command that reads, writes, flushes or discards");
                Err(TraceError::Bytes { path: self.path.clone(), at, reason })
            }
        }
    }
}

fn long(bytes: &[u8; 40], place: usize) -> u64 {
    u64::from(word(bytes, place)) | u64::from(word(bytes, place + 4)) << 32
}

fn word(bytes: &[u8; 40], place: usize) -> u32 {
    u32::from_le_bytes([bytes[place], bytes[place + 1], bytes[place + 2], bytes[place + 3]])
}

impl FormatReader for Binary {
    fn next(&mut self) -> Option<Result<Record, TraceError>> {
        self.record().transpose()
    }

    fn names(&self) -> &Names {
        &self.names
    }
}
