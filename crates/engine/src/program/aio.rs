//! `aio_read` and `aio_write` of the C library as a script's transfers use them: writes go on while there is room, and
//! reads are made ahead of their turn. Source: aio(7).
//!
//! The queued backend of block I/O keeps ops apart that complete in any order; here one op at a time is waited for, and
//! what is in flight beside it is not the loop's.
#![allow(unsafe_code)]

use crate::backend::region::Region;
use crate::backend::{Completion, Errno};
use crate::syscall::aio::{AioBlocks, AioCall, AioRange};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// What is read ahead of an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ahead {
    /// From one op to the next, bytes; 0 where nobody knows the next.
    pub(super) step: i64,
    /// The end of what is read.
    pub(super) end: u64,
}

/// Ops in flight on one file.
pub(super) struct Aio {
    blocks: AioBlocks,
    flights: Vec<AioSlot>,
    memory: Region,
    slot_bytes: usize,
    /// Where what was read last lies, where it was not copied.
    last: Option<usize>,
    copies: bool,
    turn: usize,
}

/// What a slot does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AioSlot {
    None,
    /// Of this many bytes.
    Write(u64),
    /// At this place.
    Read(u64),
}

impl Aio {
    /// Room for this many ops of up to this many bytes.
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

    /// What was read last, where it was not copied.
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
            AioSlot::Write(_) | AioSlot::None => AioCall::Write,
        };
        // SAFETY: the memory lives, and stays where it is, until the op's completion, which is waited for before it goes.
        unsafe { self.blocks.start(slot, call) }?;
        self.flights[slot] = flight;
        Ok(0)
    }

    /// Waits for one op.
    fn wait(&mut self, slot: usize) -> Completion {
        loop {
            if let Some(completion) = self.blocks.outcome(slot) {
                self.flights[slot] = AioSlot::None;
                return completion;
            }
            self.blocks.suspend(std::iter::once(slot), None);
        }
    }

    /// Frees a slot; what a write in it came to shows here.
    fn free(&mut self, slot: usize) -> Result<(), Errno> {
        match self.flights[slot] {
            AioSlot::None => Ok(()),
            AioSlot::Read(_) => self.wait(slot).map(drop),
            AioSlot::Write(asked) => match self.wait(slot)? {
                moved if moved < asked => Err(Errno(libc::EIO)),
                _ => Ok(()),
            },
        }
    }

    /// Hands a write over, once there is room.
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
        self.start(fd, slot, offset, from, bytes, AioSlot::Write(bytes as u64))?;
        Ok(bytes as u64)
    }

    /// Reads, and starts the reads that come next.
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

    /// Starts a read in a slot that is free, or whose read nobody waits for.
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

    /// Waits for half of the ops in flight, at least one, the oldest first. How they ended shows when their places are
    /// needed.
    pub(super) fn drain_half(&mut self) {
        let count = self.flights.iter().filter(|flight| **flight != AioSlot::None).count();
        let slots = (0..self.flights.len()).map(|slot| (self.turn + slot) % self.flights.len());
        let oldest: Vec<usize> = slots.filter(|&slot| self.flights[slot] != AioSlot::None).collect();
        for &slot in oldest.iter().take(count.div_ceil(2)) {
            let _ = self.free(slot);
        }
    }

    /// Waits for all.
    pub(super) fn drain(&mut self) -> Result<(), Errno> {
        let all = (0..self.flights.len()).map(|slot| self.free(slot)).collect::<Vec<_>>();
        all.into_iter().collect()
    }
}

impl Drop for Aio {
    /// The library's threads use memory that is about to go.
    fn drop(&mut self) {
        let _ = self.drain();
    }
}
