//! Makes records of block requests, from the kernel's events or from whole bios.

use super::bio::{PendingBio, error_of_status};
use super::session::{HELD_MAX, Session};
use crate::blocks::{BlockEvent, SECTOR_BYTES, Step, letters};
use crate::record::{Record, RecordedAct, Task, UNKNOWN_NS, flag};
use std::io::{self, Write};

impl<W: Write> Session<W> {
    /// Handles an event of a request. The range is in sectors.
    pub(super) fn request(
        &mut self,
        step: Step,
        at_ns: u64,
        device: u32,
        (sector, sectors): (u64, u64),
        rwbs: &str,
        (process, thread): (u32, u32),
    ) -> io::Result<()> {
        let length = sectors.saturating_mul(SECTOR_BYTES);
        let known = match step {
            Step::Completed(_) => Some((RecordedAct::Other, 0)),
            _ => letters(rwbs, length),
        };
        let Some((act, flags)) = known else { return Ok(()) };
        if step == Step::Queued {
            self.note_program(process, thread, false);
        }
        let task = match step {
            Step::Queued => self.names.task(Task { process, thread, command: self.world.command(thread) }),
            _ => 0,
        };
        let event = BlockEvent {
            step,
            at_ns,
            device: (device >> 20, device & 0xf_ffff),
            act,
            flags,
            offset: if length == 0 { 0 } else { sector.saturating_mul(SECTOR_BYTES) },
            length,
            task,
        };
        self.blocks.event(&event, &mut self.names, &mut self.pending);
        self.requests()
    }

    /// Handles a whole request.
    pub(super) fn bio(&mut self, known: PendingBio, took_ns: u64, status: u32) -> io::Result<()> {
        let PendingBio { begin_ns, task, sector, length, operation, device } = known;
        let length = u64::from(length);
        let Some((act, flags)) = letters(&self.bits.letters(operation), length) else { return Ok(()) };
        // A request without bytes that is not a flush is a marker of the kernel.
        if length == 0 && act != RecordedAct::Sync {
            return Ok(());
        }
        let (process, thread) = ((task >> 32) as u32, task as u32);
        self.note_program(process, thread, false);
        let task = self.names.task(Task { process, thread, command: self.world.command(thread) });
        let file = self.names.device(device >> 20, device & 0xf_ffff);
        let offset = if length == 0 { 0 } else { sector.saturating_mul(SECTOR_BYTES) };
        let flags = if took_ns == UNKNOWN_NS { flags | flag::UNFINISHED } else { flags };
        let mut record = Record { task, flags, took_ns, ..Record::ranged(begin_ns, file, act, offset, length) };
        if status != 0 {
            record.result = -error_of_status(status);
        }
        self.hold(Some(record))
    }

    /// Handles a request that was not complete when recording ended.
    pub(super) fn unfinished_bio(&mut self, known: PendingBio) -> io::Result<()> {
        self.bio(known, UNKNOWN_NS, 0)
    }

    /// Writes the requests that are ready.
    pub(super) fn requests(&mut self) -> io::Result<()> {
        while let Some(record) = self.pending.next() {
            self.held.insert((record.at_ns, self.records), record);
            self.records += 1;
            if self.held.len() > HELD_MAX {
                self.pass_on()?;
            }
        }
        Ok(())
    }
}
