//! Requests to block devices, for all formats that record them.

use crate::names::Names;
use crate::pending::{InFlight, Pending};
use crate::record::{Record, RecordedAct, flag};

/// Bytes of a sector, regardless of the device's own.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// Step in the life of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A program or file system requests it.
    Queued,
    /// The device gets it, perhaps merged or split.
    Issued,
    /// It completes with this error, or 0.
    Completed(i64),
}

/// A step of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockEvent {
    pub(crate) step: Step,
    pub(crate) at_ns: u64,
    pub(crate) device: (u32, u32),
    pub(crate) act: RecordedAct,
    pub(crate) flags: u8,
    /// Offset and length in bytes.
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) task: u32,
}

/// Makes records from events. A record begins when the request is queued, or when it is issued if the
/// recording has no queue events.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    in_flight: InFlight,
    /// Step at which records begin: the first one seen.
    begins: Option<Step>,
}

impl Blocks {
    /// Handles an event.
    pub(crate) fn event(&mut self, event: &BlockEvent, names: &mut Names, pending: &mut Pending) {
        let (major, minor) = event.device;
        // Packed like the kernel's device numbers.
        let device = major << 20 | minor;
        let end = event.offset.saturating_add(event.length);
        match event.step {
            Step::Completed(error) => {
                self.in_flight.end(device, event.offset, end, event.at_ns, error, pending);
            }
            step => {
                // A request without bytes that is not a flush is a marker of the kernel.
                let is_mark = event.length == 0 && event.act != RecordedAct::Sync;
                if step != *self.begins.get_or_insert(step) || is_mark {
                    return;
                }
                let file = names.device(major, minor);
                let range = Record::ranged(event.at_ns, file, event.act, event.offset, event.length);
                let record = Record { task: event.task, flags: event.flags, ..range };
                if event.act == RecordedAct::Sync {
                    // A flush without bytes has no position by which to find its completion.
                    return pending.whole(Record { offset: 0, length: 0, result: 0, ..record });
                }
                let ticket = pending.begun(record);
                self.in_flight.begin(device, event.offset, end, ticket);
            }
        }
    }
}

/// Parses the kernel's letters for a request into act and flags. Source: blkparse(1), "RWBS
/// DESCRIPTION", and blk_fill_rwbs() of Linux.
pub(crate) fn letters(rwbs: &str, length: u64) -> Option<(RecordedAct, u8)> {
    let (flushes, rest) = match rwbs.strip_prefix('F') {
        Some(rest) => (true, rest),
        None => (false, rwbs),
    };
    let mut flags = if flushes { flag::SYNC } else { 0 };
    for letter in rest.chars().skip(1) {
        flags |= match letter {
            'F' => flag::SYNC,
            'M' => flag::METADATA,
            'A' => flag::AHEAD,
            _ => 0,
        };
    }
    let act = match rest.chars().next() {
        _ if flushes && length == 0 => RecordedAct::Sync,
        Some('R') => RecordedAct::Read,
        Some('W') => RecordedAct::Write,
        Some('D') => RecordedAct::Trim,
        _ => return None,
    };
    Some((act, flags))
}
