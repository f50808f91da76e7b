//! Requests to block devices: what recordings of them share.

use crate::names::Names;
use crate::pending::{InFlight, Pending};
use crate::record::{Record, RecordedAct, flag};

/// Bytes of a sector, whatever the device's.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// A step of a request's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A program or file system asks for it.
    Queued,
    /// The device gets it, merged or split.
    Issued,
    /// It is complete, with this error, or 0.
    Completed(i64),
}

/// An event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockEvent {
    pub(crate) step: Step,
    pub(crate) at_ns: u64,
    pub(crate) device: (u32, u32),
    pub(crate) act: RecordedAct,
    pub(crate) flags: u8,
    /// Bytes.
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) task: u32,
}

/// Makes records of events. A record begins where the request was queued; where no queue was recorded, where it was issued.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    in_flight: InFlight,
    /// The step at which records begin: the first that was seen.
    begins: Option<Step>,
}

impl Blocks {
    /// Takes an event.
    pub(crate) fn event(&mut self, event: &BlockEvent, names: &mut Names, pending: &mut Pending) {
        let (major, minor) = event.device;
        // As the kernel packs them.
        let device = major << 20 | minor;
        let end = event.offset.saturating_add(event.length);
        match event.step {
            Step::Completed(error) => {
                self.in_flight.end(device, event.offset, end, event.at_ns, error, pending);
            }
            step => {
                // What moves nothing and flushes nothing is a mark of the kernel's own.
                let is_mark = event.length == 0 && event.act != RecordedAct::Sync;
                if step != *self.begins.get_or_insert(step) || is_mark {
                    return;
                }
                let file = names.device(major, minor);
                let range = Record::ranged(event.at_ns, file, event.act, event.offset, event.length);
                let record = Record { task: event.task, flags: event.flags, ..range };
                if event.act == RecordedAct::Sync {
                    // Flushes without bytes have no place by which to find their completion.
                    return pending.whole(Record { offset: 0, length: 0, result: 0, ..record });
                }
                let ticket = pending.begun(record);
                self.in_flight.begin(device, event.offset, end, ticket);
            }
        }
    }
}

/// The kernel's letters for what a request is: act and flags. Source: blkparse(1), "RWBS DESCRIPTION", and blk_fill_rwbs() of Linux.
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
