//! The memory that block ops move: one page-aligned region of equal slots, filled before writes, verified after reads.
#![allow(unsafe_code)]

use crate::backend::Slot;
use crate::backend::region::{Region, align_bytes};
use crate::content::{BlockBytes, Concluded, Mismatch};
use crate::op::BlockOp;
use plumb_workload::OpKind;
use plumb_workload::process::BufferRules;
use std::io;

/// Slots of memory for block ops, and what goes into them.
pub(crate) struct Payload {
    region: Region,
    slot_bytes: usize,
    /// Content that does not change from op to op is made once, at the start.
    fills_each_op: bool,
    /// Whether completed ops are looked at.
    looks_after: bool,
    /// Whether flushes are taken note of.
    notes_flushes: bool,
    bytes: BlockBytes,
    /// Slots that a read filled since they were last filled for a write; none where that is no matter.
    read_into: Vec<bool>,
    /// Locked while the payload lives, beside the slots.
    _locked: Option<Region>,
}

impl Payload {
    /// `slots` slots of at least `slot_bytes` bytes each, in the memory that the rules ask for, every one already filled
    /// once.
    pub(crate) fn new(
        slots: usize,
        slot_bytes: usize,
        mut bytes: BlockBytes,
        rules: &BufferRules,
    ) -> io::Result<Payload> {
        // The multiple keeps every slot aligned for O_DIRECT.
        let slot_bytes = slot_bytes.max(1).next_multiple_of(align_bytes(rules)?);
        let mut region = Region::with_rules(slots * slot_bytes, rules)?;
        let locked = match rules.lock {
            Some(lock) if lock.0 > 0 => {
                let locked = Region::new(usize::try_from(lock.0).unwrap_or(usize::MAX / 2))?;
                locked.lock()?;
                Some(locked)
            }
            _ => None,
        };
        region.as_mut_slice().chunks_exact_mut(slot_bytes).for_each(|slot| bytes.fill_slot(slot));
        Ok(Payload {
            region,
            slot_bytes,
            fills_each_op: bytes.works_each_op(),
            looks_after: bytes.looks_after(),
            notes_flushes: bytes.notes_flushes(),
            read_into: if bytes.keeps_slots() { vec![false; slots] } else { Vec::new() },
            bytes,
            _locked: locked,
        })
    }

    /// Ends the work on content, when all ops are done: waits for what is still being verified, and returns what no call
    /// of [`after`](Payload::after) returned.
    pub(crate) fn finish(&mut self) -> Concluded {
        self.bytes.finish()
    }

    /// Where a slot begins.
    #[inline(always)]
    pub(crate) fn pointer(&self, slot: Slot) -> *mut u8 {
        debug_assert!((usize::from(slot) + 1) * self.slot_bytes <= self.region.bytes());
        // SAFETY: slots are numbered below the count that the region was made for.
        unsafe { self.region.pointer().add(usize::from(slot) * self.slot_bytes) }
    }

    /// The memory of a slot.
    #[cfg(test)]
    pub(crate) fn memory(&mut self, slot: usize) -> &mut [u8] {
        &mut self.region.as_mut_slice()[slot * self.slot_bytes..][..self.slot_bytes]
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
        if self.fills_each_op && (op.kind == OpKind::Write || (self.notes_flushes && !op.kind.moves_bytes())) {
            self.fill(op, slot);
        }
    }

    #[inline(never)]
    fn fill(&mut self, op: &BlockOp, slot: Slot) {
        let start = usize::from(slot) * self.slot_bytes;
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

    /// Verifies what was read, where that was asked for.
    #[inline(always)]
    pub(crate) fn after(&mut self, op: &BlockOp, slot: Slot, moved: u64) -> Result<(), Box<Mismatch>> {
        if self.looks_after { self.look_at(op, slot, moved) } else { Ok(()) }
    }

    #[inline(never)]
    fn look_at(&mut self, op: &BlockOp, slot: Slot, moved: u64) -> Result<(), Box<Mismatch>> {
        let start = usize::from(slot) * self.slot_bytes;
        // A trim is not bound by the slots.
        let length = if op.kind == OpKind::Read { u64::from(op.length).min(moved) as usize } else { 0 };
        let read = &self.region.as_mut_slice()[start..start + length];
        if let Some(read_into) = self.read_into.get_mut(usize::from(slot)) {
            *read_into |= op.kind == OpKind::Read;
        }
        self.bytes.after(op, usize::from(slot), read)
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
