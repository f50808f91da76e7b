//! The memory that block ops move: one page-aligned region of equal slots, filled before writes, verified after reads.
#![allow(unsafe_code)]

use crate::backend::Slot;
use crate::backend::region::{Region, SLOT_ALIGN_BYTES, align_bytes};
use crate::content::{Filler, Stamper, Verifier};
use crate::job::content::{Concluded, JobBytes};
use crate::op::BlockOp;
use plumb_workload::OpKind;
use plumb_workload::job::BufferRules;
use std::io;

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
    /// Content that does not change from op to op is made once, at the start.
    fills_each_op: bool,
    /// Whether completed ops are looked at.
    looks_after: bool,
    /// Whether flushes are taken note of.
    notes_flushes: bool,
    making: Making,
    /// Locked while the payload lives, beside the slots.
    _locked: Option<Region>,
}

/// Who makes and verifies the content.
enum Making {
    Blocks(Filler, Option<Checking>),
    Job(Box<JobMaking>),
}

struct JobMaking {
    bytes: JobBytes,
    /// Slots that a read filled since they were last filled for a write.
    read_into: Vec<bool>,
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
        let slot_bytes = slot_bytes.next_multiple_of(SLOT_ALIGN_BYTES);
        let mut region = Region::new(slots * slot_bytes)?;
        let fills_each_op = !filler.is_constant() || checking.is_some() || sharing == SlotUse::ReadsAndWrites;
        region.as_mut_slice().chunks_mut(slot_bytes).for_each(|slot| filler.fill(slot));
        let looks_after = checking.is_some();
        let making = Making::Blocks(filler, checking);
        Ok(Payload { region, slot_bytes, fills_each_op, looks_after, notes_flushes: false, making, _locked: None })
    }

    /// `slots` slots of at least `slot_bytes` bytes each for a job, in the memory that its rules ask for.
    pub(crate) fn for_job(
        slots: usize,
        slot_bytes: usize,
        mut bytes: JobBytes,
        rules: &BufferRules,
    ) -> io::Result<Payload> {
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
        let (fills_each_op, looks_after) = (bytes.works_each_op(), bytes.looks_after());
        region.as_mut_slice().chunks_exact_mut(slot_bytes).for_each(|slot| bytes.fill_slot(slot));
        let making = Making::Job(Box::new(JobMaking { bytes, read_into: vec![false; slots] }));
        Ok(Payload {
            region,
            slot_bytes,
            fills_each_op,
            looks_after,
            notes_flushes: looks_after,
            making,
            _locked: locked,
        })
    }

    /// Ends the work on content, when all ops are done: waits for what is still being verified, and returns what no call
    /// of [`after`](Payload::after) could tell. Nothing for anything but a job.
    pub(crate) fn finish(&mut self) -> Concluded {
        match &mut self.making {
            Making::Blocks(..) => Concluded::default(),
            Making::Job(making) => making.bytes.finish(),
        }
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
        match &mut self.making {
            Making::Blocks(filler, checking) => {
                let slice = &mut self.region.as_mut_slice()[start..start + op.length as usize];
                filler.fill(slice);
                if let Some(checking) = checking {
                    checking.stamper.stamp(op.file, op.offset, slice);
                }
            }
            Making::Job(making) => {
                let memory = &mut self.region.as_mut_slice()[start..start + self.slot_bytes];
                let length = if op.kind == OpKind::Write { op.length as usize } else { 0 };
                if length > 0 && std::mem::take(&mut making.read_into[usize::from(slot)]) {
                    making.bytes.fill_slot(memory);
                }
                making.bytes.before(op, usize::from(slot), &mut memory[..length]);
            }
        }
    }

    /// Verifies what was read, where that was asked for.
    #[inline(always)]
    pub(crate) fn after(&mut self, op: &BlockOp, slot: Slot, moved: u64) -> Result<(), String> {
        if self.looks_after { self.look_at(op, slot, moved) } else { Ok(()) }
    }

    #[inline(never)]
    fn look_at(&mut self, op: &BlockOp, slot: Slot, moved: u64) -> Result<(), String> {
        let start = usize::from(slot) * self.slot_bytes;
        // A trim is not bound by the slots.
        let length = if op.kind == OpKind::Read { u64::from(op.length).min(moved) as usize } else { 0 };
        let read = &self.region.as_mut_slice()[start..start + length];
        match &mut self.making {
            Making::Blocks(_, Some(checking)) if op.kind == OpKind::Read => {
                checking.verifier.check(op.file, op.offset, read, None).map_err(|mismatch| mismatch.to_string())
            }
            Making::Blocks(..) => Ok(()),
            Making::Job(making) => {
                making.read_into[usize::from(slot)] |= op.kind == OpKind::Read;
                making.bytes.after(op, usize::from(slot), read)
            }
        }
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
