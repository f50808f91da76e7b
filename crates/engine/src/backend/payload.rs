//! The memory of block ops: one page-aligned region, filled before writes and verified after reads.
//!
//! Each slot of the queue has its own memory. If content comes from a pool, each write of a slot takes another part of
//! the pool. Reads then have their own memory after the pool.
#![allow(unsafe_code)]

use crate::backend::region::{Region, align_bytes};
use crate::content::{BlockBytes, Concluded, Mismatch, Pool};
use crate::op::{BlockOp, Slot};
use plumb_workload::OpKind;
use plumb_workload::process::BufferRules;
use std::io;

/// Memory slots for block ops, and the generator of their content.
pub(crate) struct Payload {
    region: Region,
    slot_bytes: usize,
    /// Offset in the region of each slot's memory.
    starts: Box<[usize]>,
    pool: Option<SlotPool>,
    /// Content changes from op to op. If not, it is made once at the start.
    fills_each_op: bool,
    /// Completed ops are verified.
    checks_completions: bool,
    /// Flushes are reported to the content generator.
    notes_flushes: bool,
    bytes: BlockBytes,
    /// Slots that a read filled since their last fill for a write; empty if nothing depends on it.
    read_into: Vec<bool>,
    /// Additional memory, locked while the payload lives.
    _locked: Option<Region>,
}

/// Equal offsets of two files take their content from parts of the pool this far apart, as a power of two.
const FILE_SHIFT: u32 = 14;

/// A pool for the content of writes, and the location of read buffers.
struct SlotPool {
    pool: Pool,
    /// Offset in the region where the read buffers begin; `None` if nothing reads.
    reads_at: Option<usize>,
}

impl Payload {
    /// Allocates `slots` slots of at least `slot_bytes` bytes each, with the memory kind of
    /// `rules`, and fills each once.
    pub(crate) fn new(
        slots: usize,
        slot_bytes: usize,
        mut bytes: BlockBytes,
        rules: &BufferRules,
    ) -> io::Result<Payload> {
        // The multiple keeps every slot aligned for `O_DIRECT`.
        let align = align_bytes(rules)?;
        let slot_bytes = slot_bytes.max(1).next_multiple_of(align);
        let pool = bytes.uses_pool().then(|| {
            let pool = Pool::new(slot_bytes, slots, align);
            let reads_at = bytes.reads().then_some(pool.bytes());
            SlotPool { pool, reads_at }
        });
        let to_fill = pool.as_ref().map_or(slots * slot_bytes, |of_slots| of_slots.pool.bytes());
        let has_reads = pool.as_ref().is_some_and(|of_slots| of_slots.reads_at.is_some());
        let for_reads = if has_reads { slots * slot_bytes } else { 0 };
        let mut region = Region::with_rules(to_fill + for_reads, rules)?;
        let locked = match rules.lock {
            Some(lock) if lock.0 > 0 => {
                let locked = Region::new(usize::try_from(lock.0).unwrap_or(usize::MAX / 2))?;
                locked.lock()?;
                Some(locked)
            }
            _ => None,
        };
        region.as_mut_slice()[..to_fill].chunks_exact_mut(slot_bytes).for_each(|slot| bytes.fill_slot(slot));
        Ok(Payload {
            region,
            slot_bytes,
            starts: (0..slots).map(|slot| slot * slot_bytes).collect(),
            pool,
            fills_each_op: bytes.works_each_op(),
            checks_completions: bytes.checks_completions(),
            notes_flushes: bytes.notes_flushes(),
            read_into: if bytes.keeps_slots() { vec![false; slots] } else { Vec::new() },
            bytes,
            _locked: locked,
        })
    }

    /// Ends the work on content after all ops: waits for pending verification and returns the mismatches that
    /// no call of [`after`](Payload::after) returned.
    pub(crate) fn finish(&mut self) -> Concluded {
        self.bytes.finish()
    }

    /// Returns the start of a slot's memory. It changes only when the slot's next op is [prepared](Payload::before).
    #[inline(always)]
    pub(crate) fn pointer(&self, slot: Slot) -> *mut u8 {
        let start = self.starts[usize::from(slot)];
        debug_assert!(start < self.region.bytes());
        // SAFETY: starts are inside the region. They are multiples of the slot length for as many slots as the region
        // has, or positions in the pool, which is part of the region.
        unsafe { self.region.pointer().add(start) }
    }

    #[cfg(test)]
    pub(crate) fn memory(&mut self, slot: usize) -> &mut [u8] {
        &mut self.region.as_mut_slice()[self.starts[slot]..][..self.slot_bytes]
    }

    /// Returns `true` if content is made or verified for each op.
    pub(crate) fn works_each_op(&self) -> bool {
        self.fills_each_op
    }

    /// Returns the whole region, for registering it with a ring.
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// Makes the content of a write. Other ops need none.
    #[inline(always)]
    pub(crate) fn before(&mut self, op: &BlockOp, slot: Slot) {
        if self.fills_each_op {
            self.make_ready(op, slot);
        }
    }

    #[inline]
    fn make_ready(&mut self, op: &BlockOp, slot: Slot) {
        if op.kind == OpKind::Write || (self.notes_flushes && !op.kind.moves_bytes()) {
            self.fill(op, slot);
        } else if let Some(SlotPool { reads_at: Some(reads_at), .. }) = self.pool {
            self.starts[usize::from(slot)] = reads_at + usize::from(slot) * self.slot_bytes;
        }
    }

    #[inline(never)]
    fn fill(&mut self, op: &BlockOp, slot: Slot) {
        if let Some(pool) = &mut self.pool {
            let length = op.length as usize;
            let start = pool.pool.take(slot, op.offset.wrapping_add(u64::from(op.file) << FILE_SHIFT), length);
            self.starts[usize::from(slot)] = start;
            return self.bytes.before(op, usize::from(slot), &mut self.region.as_mut_slice()[start..start + length]);
        }
        let start = self.starts[usize::from(slot)];
        let memory = &mut self.region.as_mut_slice()[start..start + self.slot_bytes];
        let length = if op.kind == OpKind::Write { op.length as usize } else { 0 };
        if length > 0
            && let Some(read_into) = self.read_into.get_mut(usize::from(slot))
            && std::mem::take(read_into)
        {
            self.bytes.fill_slot(memory);
        }
        self.bytes.before(op, usize::from(slot), &mut memory[..length]);
    }

    /// Verifies the data of a read, if requested.
    #[inline(always)]
    pub(crate) fn after(&mut self, op: &BlockOp, slot: Slot, moved: u64) -> Result<(), Box<Mismatch>> {
        if self.checks_completions { self.check_completion(op, slot, moved) } else { Ok(()) }
    }

    #[inline(never)]
    fn check_completion(&mut self, op: &BlockOp, slot: Slot, moved: u64) -> Result<(), Box<Mismatch>> {
        let start = self.starts[usize::from(slot)];
        // A trim may be longer than a slot.
        let length = if op.kind == OpKind::Read { u64::from(op.length).min(moved) as usize } else { 0 };
        let read = &self.region.as_mut_slice()[start..start + length];
        if let Some(read_into) = self.read_into.get_mut(usize::from(slot)) {
            *read_into |= op.kind == OpKind::Read;
        }
        self.bytes.after(op, usize::from(slot), read)
    }

    /// Measures the cost of making and verifying the content of ops of this size.
    pub(crate) fn costs(&mut self, length: u32) -> PayloadCosts {
        let write = BlockOp::load(OpKind::Write, 0, 0, length);
        let read = BlockOp { kind: OpKind::Read, ..write };
        PayloadCosts {
            fill_ns: median_ns(|| self.before(&write, 0)),
            // A mismatch costs no less than a match, and the measured result is discarded.
            check_ns: median_ns(|| drop(self.after(&read, 0, u64::from(length)))),
        }
    }
}

/// Cost of content per block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PayloadCosts {
    /// Time to make a block, ns.
    pub(crate) fill_ns: u64,
    /// Time to verify a block, ns.
    pub(crate) check_ns: u64,
}

/// Returns the median time of nine runs of `work`, ns.
pub(crate) fn median_ns(mut work: impl FnMut()) -> u64 {
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
