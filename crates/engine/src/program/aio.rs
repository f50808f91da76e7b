//! `aio_read` and `aio_write` of the C library for a script's transfers: writes continue while there is room, and reads
//! are started ahead of their turn. Source: aio(7).
//!
//! The queued backend of block I/O tracks ops that complete in any order. Here, the loop waits for one op at a time,
//! and does not see the other ops in flight.
#![allow(unsafe_code)]

use crate::backend::region::Region;
use crate::backend::{Completion, Errno};
use crate::syscall::aio::{AioBlocks, AioCall, AioRange};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// Range to read ahead of an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ahead {
    /// Distance from one op to the next, bytes; 0 if the next one is unknown.
    pub(super) step: i64,
    /// The end of the range that is read.
    pub(super) end: u64,
}

/// Ops in flight on one file.
pub(super) struct Aio {
    blocks: AioBlocks,
    flights: Vec<AioSlot>,
    memory: Region,
    slot_bytes: usize,
    /// Slot that holds the data of the last read, if it was not copied.
    last: Option<usize>,
    copies: bool,
    turn: usize,
}

/// The op in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AioSlot {
    None,
    Write {
        /// The descriptor that it writes to.
        fd: RawFd,
        /// Length in bytes.
        asked: u64,
    },
    /// A read at this offset.
    Read(u64),
}

/// An asynchronous write that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FailedWrite {
    pub(super) fd: RawFd,
    pub(super) errno: Errno,
}

impl Aio {
    /// Allocates `depth` slots for ops of up to `slot_bytes`.
    pub(super) fn new(depth: u32, slot_bytes: usize, copies: bool) -> io::Result<Aio> {
        let depth = depth as usize;
        let slot_bytes = slot_bytes.next_multiple_of(crate::backend::region::SLOT_ALIGN_BYTES);
        Ok(Aio {
            blocks: AioBlocks::new(depth),
            flights: vec![AioSlot::None; depth],
            memory: Region::new(slot_bytes * depth)?,
            slot_bytes,
            last: None,
            copies,
            turn: 0,
        })
    }

    fn slot_memory(&mut self, slot: usize, bytes: usize) -> &mut [u8] {
        let start = slot * self.slot_bytes;
        &mut self.memory.as_mut_slice()[start..start + bytes]
    }

    /// Returns the data of the last read, if it was not copied.
    pub(super) fn last(&mut self, bytes: usize) -> Option<&[u8]> {
        let slot = self.last?;
        Some(self.slot_memory(slot, bytes))
    }

    fn start(
        &mut self,
        fd: BorrowedFd<'_>,
        slot: usize,
        offset: u64,
        data: *mut u8,
        bytes: usize,
        flight: AioSlot,
    ) -> Completion {
        self.blocks.prepare(slot, AioRange { fd: fd.as_raw_fd(), offset, memory: data, bytes });
        let call = match flight {
            AioSlot::Read(_) => AioCall::Read,
            AioSlot::Write { .. } | AioSlot::None => AioCall::Write,
        };
        // SAFETY: the memory stays alive and in place until the op completes, which is
        // awaited before the memory is freed.
        unsafe { self.blocks.start(slot, call) }?;
        self.flights[slot] = flight;
        Ok(0)
    }

    /// Waits for the op in a slot.
    fn wait(&mut self, slot: usize) -> Completion {
        loop {
            if let Some(completion) = self.blocks.outcome(slot) {
                self.flights[slot] = AioSlot::None;
                return completion;
            }
            self.blocks.suspend(std::iter::once(slot), None);
        }
    }

    /// Frees a slot, and returns the error of a write in it.
    fn free(&mut self, slot: usize) -> Result<(), Errno> {
        match self.flights[slot] {
            AioSlot::None => Ok(()),
            AioSlot::Read(_) => self.wait(slot).map(drop),
            AioSlot::Write { asked, .. } => match self.wait(slot)? {
                moved if moved < asked => Err(Errno(libc::EIO)),
                _ => Ok(()),
            },
        }
    }

    /// Submits a write, once there is room.
    pub(super) fn write(&mut self, fd: BorrowedFd<'_>, offset: u64, data: &mut [u8]) -> Completion {
        let slot = self.turn;
        self.turn = (slot + 1) % self.flights.len();
        self.free(slot)?;
        let bytes = data.len();
        let from = if self.copies {
            let memory = self.slot_memory(slot, bytes);
            memory.copy_from_slice(data);
            memory.as_mut_ptr()
        } else {
            data.as_mut_ptr()
        };
        let flight = AioSlot::Write { fd: fd.as_raw_fd(), asked: bytes as u64 };
        self.start(fd, slot, offset, from, bytes, flight)?;
        Ok(bytes as u64)
    }

    /// Reads a record, and starts the next reads ahead.
    pub(super) fn read(&mut self, fd: BorrowedFd<'_>, offset: u64, data: &mut [u8], ahead: Ahead) -> Completion {
        let bytes = data.len();
        let there = self.flights.iter().position(|flight| *flight == AioSlot::Read(offset));
        let slot = match there {
            Some(slot) => slot,
            None => self.begin_read(fd, offset, bytes, None)?,
        };
        let mut next = offset;
        for _ in 1..self.flights.len() {
            let Some(place) = next.checked_add_signed(ahead.step).filter(|place| place + bytes as u64 <= ahead.end)
            else {
                break;
            };
            if ahead.step == 0 {
                break;
            }
            next = place;
            if !self.flights.contains(&AioSlot::Read(next)) {
                self.begin_read(fd, next, bytes, Some(slot))?;
            }
        }
        let moved = self.wait(slot)?;
        self.last = (!self.copies).then_some(slot);
        if self.copies {
            let from = self.slot_memory(slot, bytes);
            data.copy_from_slice(from);
        }
        Ok(moved)
    }

    /// Starts a read in a free slot, or in a slot whose read-ahead is no longer needed.
    fn begin_read(
        &mut self,
        fd: BorrowedFd<'_>,
        offset: u64,
        bytes: usize,
        but: Option<usize>,
    ) -> Result<usize, Errno> {
        let free = (0..self.flights.len()).find(|&slot| self.flights[slot] == AioSlot::None);
        let slot = free.or_else(|| (0..self.flights.len()).find(|&slot| Some(slot) != but)).unwrap_or(0);
        self.free(slot)?;
        let memory = self.slot_memory(slot, bytes).as_mut_ptr();
        self.start(fd, slot, offset, memory, bytes, AioSlot::Read(offset))?;
        Ok(slot)
    }

    /// Waits for half of the ops in flight, at least one, the oldest first.
    ///
    /// # Errors
    /// The first write among them that failed; all of them are waited for.
    pub(super) fn drain_half(&mut self) -> Result<(), FailedWrite> {
        let slots = (0..self.flights.len()).map(|slot| (self.turn + slot) % self.flights.len());
        let oldest: Vec<usize> = slots.filter(|&slot| self.flights[slot] != AioSlot::None).collect();
        let mut first = Ok(());
        for &slot in &oldest[..oldest.len().div_ceil(2)] {
            let flight = self.flights[slot];
            if let (Err(errno), AioSlot::Write { fd, .. }) = (self.free(slot), flight) {
                first = first.and(Err(FailedWrite { fd, errno }));
            }
        }
        first
    }

    /// Waits for all writes to one descriptor, which may then be closed. The library's threads only know a file by its
    /// descriptor number, which the next opened file may reuse.
    ///
    /// # Errors
    /// The error of the first failed write among them; all of them are waited for.
    pub(super) fn drain_file(&mut self, file: BorrowedFd<'_>) -> Result<(), Errno> {
        let mut first = Ok(());
        for slot in 0..self.flights.len() {
            if matches!(self.flights[slot], AioSlot::Write { fd, .. } if fd == file.as_raw_fd()) {
                first = first.and(self.free(slot));
            }
        }
        first
    }

    /// Waits for all ops.
    pub(super) fn drain(&mut self) -> Result<(), Errno> {
        let all = (0..self.flights.len()).map(|slot| self.free(slot)).collect::<Vec<_>>();
        all.into_iter().collect()
    }
}

impl Drop for Aio {
    /// Waits for all ops, because the library's threads use the memory that is about to be freed.
    fn drop(&mut self) {
        let _ = self.drain();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    /// Protects: asynchronous writes report their errors. A wait returns the first failed write among those that it
    /// waited for, with its descriptor. A file is done once its own writes are, even if others are in flight.
    #[test]
    fn failed_writes_are_reported() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        std::fs::write(&path, [0; 8192]).unwrap();
        let (written, read) = (File::options().write(true).open(&path).unwrap(), File::open(&path).unwrap());
        let mut aio = Aio::new(8, 4096, true).unwrap();
        let write = |aio: &mut Aio, file: &File| aio.write(file.as_fd(), 0, &mut [7; 4096]).unwrap();
        for file in [&written, &read, &read, &written] {
            write(&mut aio, file);
        }
        assert_eq!(aio.drain_half(), Err(FailedWrite { fd: read.as_raw_fd(), errno: Errno(libc::EBADF) }));
        assert_eq!(aio.flights.iter().filter(|flight| **flight != AioSlot::None).count(), 2);
        assert_eq!(aio.drain_file(written.as_fd()), Ok(()));
        assert_eq!(aio.flights.iter().filter(|flight| **flight != AioSlot::None).count(), 1, "the other file's");
        assert_eq!(aio.drain_file(read.as_fd()), Err(Errno(libc::EBADF)));
        assert_eq!(aio.drain(), Ok(()));
        assert_eq!(std::fs::read(&path).unwrap()[..4096], [7; 4096]);
    }
}
