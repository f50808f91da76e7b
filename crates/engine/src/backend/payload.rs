//! The memory that block ops move: one page-aligned region of equal slots, filled before writes, verified after reads.
#![allow(unsafe_code)]

use crate::backend::Slot;
use crate::content::{Filler, Stamper, Verifier};
use crate::op::BlockOp;
use plumb_workload::OpKind;
use std::io;
use std::ptr::NonNull;

/// A page-aligned region of memory.
pub(crate) struct Region {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the region is owned memory without interior sharing.
unsafe impl Send for Region {}

impl Region {
    /// Maps a region of zeros and touches every page, so that no op pays for a page fault.
    pub(crate) fn new(bytes: usize) -> io::Result<Region> {
        let bytes = bytes.max(1).next_multiple_of(4096);
        // SAFETY: a fresh anonymous mapping, no address asked for.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>()).expect("mmap without MAP_FIXED never returns null");
        let mut region = Region { start, bytes };
        region.as_mut_slice().iter_mut().step_by(4096).for_each(|byte| {
            // SAFETY: a valid reference; volatile only so that the store is not optimised away.
            unsafe { std::ptr::write_volatile(byte, 0) };
        });
        Ok(region)
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: `start` maps `bytes` initialised bytes, borrowed for as long as `self` is.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with exactly this length; no reference outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// How a worker's blocks are stamped and verified.
pub(crate) struct Checking {
    pub(crate) stamper: Stamper,
    pub(crate) verifier: Verifier,
}

/// What the slots are used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotUse {
    /// Only one of reads and writes: constant content, once made, stays.
    OneDirection,
    /// Both: what was read lies where the next write's content should be.
    ReadsAndWrites,
}

/// Slots of memory for block ops, and what goes into them.
pub(crate) struct Payload {
    region: Region,
    slot_bytes: usize,
    filler: Filler,
    /// Content that does not change from op to op is made once, at the start.
    fills_each_op: bool,
    checking: Option<Checking>,
}

impl Payload {
    /// `slots` slots of at least `slot_bytes` bytes each, every one already filled once.
    pub(crate) fn new(
        slots: usize,
        slot_bytes: usize,
        mut filler: Filler,
        checking: Option<Checking>,
        sharing: SlotUse,
    ) -> io::Result<Payload> {
        // The multiple keeps every slot aligned for O_DIRECT.
        let slot_bytes = slot_bytes.next_multiple_of(4096);
        let mut region = Region::new(slots * slot_bytes)?;
        let fills_each_op = !filler.is_constant() || checking.is_some() || sharing == SlotUse::ReadsAndWrites;
        region.as_mut_slice().chunks_mut(slot_bytes).for_each(|slot| filler.fill(slot));
        Ok(Payload { region, slot_bytes, filler, fills_each_op, checking })
    }

    /// Where a slot begins.
    #[inline(always)]
    pub(crate) fn pointer(&self, slot: Slot) -> *mut u8 {
        debug_assert!((usize::from(slot) + 1) * self.slot_bytes <= self.region.bytes());
        // SAFETY: slots are numbered below the count that the region was made for.
        unsafe { self.region.pointer().add(usize::from(slot) * self.slot_bytes) }
    }

    /// Whether an op's content is made or checked at all.
    pub(crate) fn works_each_op(&self) -> bool {
        self.fills_each_op
    }

    /// The whole region, for registering it with a ring.
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// Makes the content of a write. Everything else needs nothing.
    #[inline(always)]
    pub(crate) fn before(&mut self, op: &BlockOp, slot: Slot) {
        if op.kind == OpKind::Write && self.fills_each_op {
            self.fill(op, slot);
        }
    }

    #[inline(never)]
    fn fill(&mut self, op: &BlockOp, slot: Slot) {
        let start = usize::from(slot) * self.slot_bytes;
        let slice = &mut self.region.as_mut_slice()[start..start + op.length as usize];
        self.filler.fill(slice);
        if let Some(checking) = &mut self.checking {
            checking.stamper.stamp(op.file, op.offset, slice);
        }
    }

    /// Verifies what was read, where that was asked for.
    #[inline(always)]
    pub(crate) fn after(&mut self, op: &BlockOp, slot: Slot, moved: u64) -> Result<(), String> {
        if op.kind != OpKind::Read || self.checking.is_none() {
            return Ok(());
        }
        self.verify(op, slot, moved)
    }

    #[inline(never)]
    fn verify(&mut self, op: &BlockOp, slot: Slot, moved: u64) -> Result<(), String> {
        let Some(checking) = &self.checking else { return Ok(()) };
        let start = usize::from(slot) * self.slot_bytes;
        let length = u64::from(op.length).min(moved) as usize;
        let read = &self.region.as_mut_slice()[start..start + length];
        checking.verifier.check(op.file, op.offset, read, None).map_err(|mismatch| mismatch.to_string())
    }

    /// What making and verifying the content of ops of this size costs.
    pub(crate) fn costs(&mut self, length: u32) -> PayloadCosts {
        let write = BlockOp::load(OpKind::Write, 0, 0, length);
        let read = BlockOp { kind: OpKind::Read, ..write };
        PayloadCosts {
            fill_ns: median_ns(|| self.before(&write, 0)),
            // A mismatch costs no less than a match, and what is measured here is discarded.
            check_ns: median_ns(|| drop(self.after(&read, 0, u64::from(length)))),
        }
    }
}

/// What content costs, a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PayloadCosts {
    /// Making it, ns.
    pub(crate) fill_ns: u64,
    /// Verifying it, ns.
    pub(crate) check_ns: u64,
}

/// Time of something short, ns: the median of a few.
fn median_ns(mut work: impl FnMut()) -> u64 {
    let clock = crate::clock::Clock::best();
    let mut times: Vec<u64> = (0..9)
        .map(|_| {
            let start = clock.now();
            work();
            clock.ns_between(start, clock.now())
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}
