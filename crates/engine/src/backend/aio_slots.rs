//! Kernel AIO requests by slot, each with its own control block and memory. This is a safe layer over [`KernelQueue`]:
//! it keeps everything that the kernel uses alive until the queue has ended.
#![allow(unsafe_code)]

use super::libaio::{IoControlBlock, IoEvent, KernelQueue};
use super::region::{Region, SLOT_ALIGN_BYTES};
use crate::syscall::aio::AioRange;
use crate::worker_error::WorkerError;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AioMove {
    Read,
    Write,
}

/// Control blocks and memory of a queue's requests.
pub(crate) struct AioSlots {
    // Dropped first: this waits for the requests in flight, which use the rest.
    queue: KernelQueue,
    blocks: Box<[IoControlBlock]>,
    /// Whether the kernel has the slot: it took the block, and its event was not reaped yet.
    is_in_flight: Box<[bool]>,
    /// Scratch space for the block addresses of one call.
    addresses: Vec<*mut IoControlBlock>,
    events: Box<[IoEvent]>,
    memory: Region,
    slot_bytes: usize,
}

impl AioSlots {
    /// Allocates slots of up to `record_bytes` for a queue of `depth` requests. One call reaps up to `events` events.
    pub(crate) fn new(
        queue: KernelQueue,
        depth: usize,
        record_bytes: u64,
        events: usize,
    ) -> Result<AioSlots, WorkerError> {
        let slot_bytes = (record_bytes.max(1) as usize).next_multiple_of(SLOT_ALIGN_BYTES);
        let bytes = slot_bytes.saturating_mul(depth);
        let memory = match isize::try_from(bytes) {
            Ok(_) => Region::new(bytes),
            Err(_) => Err(io::ErrorKind::OutOfMemory.into()),
        };
        Ok(AioSlots {
            queue,
            blocks: vec![IoControlBlock::default(); depth].into(),
            is_in_flight: vec![false; depth].into(),
            addresses: Vec::with_capacity(depth),
            events: vec![IoEvent::default(); events.max(1)].into(),
            memory: memory.map_err(|source| WorkerError::Memory { bytes, source })?,
            slot_bytes,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the maximum number of events that one call reaps.
    pub(crate) fn events_max(&self) -> usize {
        self.events.len()
    }

    /// Returns the memory of a slot that is not in flight.
    pub(crate) fn memory(&mut self, slot: usize, bytes: usize) -> &mut [u8] {
        let start = self.start(slot, bytes);
        // SAFETY: the range is inside the region, which `self` owns; the kernel does not use the slot.
        unsafe { std::slice::from_raw_parts_mut(start, bytes) }
    }

    /// Prepares a request in a slot that is not in flight.
    pub(crate) fn prepare(&mut self, slot: usize, moves: AioMove, fd: BorrowedFd<'_>, offset: u64, bytes: usize) {
        let range = AioRange { fd: fd.as_raw_fd(), offset, memory: self.start(slot, bytes), bytes };
        self.blocks[slot] = match moves {
            AioMove::Read => IoControlBlock::reading(range, slot as u64),
            AioMove::Write => IoControlBlock::writing(range, slot as u64),
        };
    }

    /// Submits prepared requests in one call, and returns how many the kernel took: at least one.
    ///
    /// # Errors
    /// The kernel rejected the first request.
    pub(crate) fn submit(&mut self, slots: &[usize]) -> io::Result<usize> {
        self.addresses.clear();
        for &slot in slots {
            assert!(!std::mem::replace(&mut self.is_in_flight[slot], true), "slot {slot} is in flight");
            self.addresses.push(&raw mut self.blocks[slot]);
        }
        // SAFETY: blocks and memory are owned, are not touched while in flight, and outlive the queue.
        let taken = unsafe { self.queue.submit(&mut self.addresses) };
        for &slot in &slots[*taken.as_ref().unwrap_or(&0)..] {
            self.is_in_flight[slot] = false;
        }
        taken
    }

    /// Reaps up to `most` events in one call and returns their number: at least `wanted`, unless a signal interrupts.
    pub(crate) fn take(&mut self, wanted: usize, most: usize) -> io::Result<usize> {
        let count = self.queue.take(wanted, &mut self.events[..most], None)?;
        for event in &self.events[..count] {
            self.is_in_flight[event.data as usize] = false;
        }
        Ok(count)
    }

    /// Returns an event of the last call. Its `data` is the slot.
    pub(crate) fn event(&self, number: usize) -> IoEvent {
        self.events[number]
    }

    /// Returns the start of a slot's memory. The slot must not be in flight.
    fn start(&self, slot: usize, bytes: usize) -> *mut u8 {
        assert!(!self.is_in_flight[slot] && bytes <= self.slot_bytes, "{bytes} bytes of slot {slot}");
        // In bounds: there are as many memory slots as blocks, and indexing `is_in_flight` checked the slot.
        self.memory.pointer().wrapping_add(slot * self.slot_bytes)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    fn slots_in_flight() -> AioSlots {
        let mut slots = AioSlots::new(KernelQueue::new(2).unwrap(), 2, 4096, 2).unwrap();
        let file = tempfile::tempfile().unwrap();
        slots.prepare(0, AioMove::Write, file.as_fd(), 0, 4096);
        assert_eq!(slots.submit(&[0]).unwrap(), 1);
        slots
    }

    // Protects memory: the kernel may still read or write it, so nobody else may borrow it.
    #[test]
    #[should_panic(expected = "4096 bytes of slot 0")]
    fn the_memory_of_a_slot_in_flight_is_not_given_out() {
        slots_in_flight().memory(0, 4096);
    }

    #[test]
    #[should_panic(expected = "slot 0 is in flight")]
    fn a_slot_is_in_flight_once() {
        let _ = slots_in_flight().submit(&[0]);
    }

    #[test]
    #[should_panic(expected = "4097 bytes of slot 1")]
    fn a_request_does_not_reach_into_the_next_slot() {
        slots_in_flight().memory(1, 4097);
    }

    #[test]
    fn a_slot_is_free_once_its_event_was_taken() {
        let mut slots = slots_in_flight();
        assert_eq!(slots.take(1, 2).unwrap(), 1);
        assert_eq!((slots.event(0).data, slots.event(0).result), (0, 4096));
        slots.memory(0, 4096);
    }
}
