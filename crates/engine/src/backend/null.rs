//! Ops complete at once. It measures Plumb itself: the ceiling that no device can show a number above.

use crate::backend::{Completion, QueuedBackend, Slot, SyncBackend, Wait};
use crate::job::content::Concluded;
use crate::op::BlockOp;
use std::io;
use std::path::PathBuf;

pub(crate) struct Null;

impl SyncBackend for Null {
    type Op = BlockOp;

    #[inline(always)]
    fn execute(&mut self, op: &BlockOp) -> Completion {
        // The op must be made in full, or the source would be measured as less than it is.
        let op = std::hint::black_box(op);
        Ok(u64::from(op.length))
    }

    fn works_between_ops(&self) -> bool {
        false
    }

    fn path_of(&self, _op: &BlockOp) -> PathBuf {
        PathBuf::from("null")
    }
}

/// Ops that were submitted complete with the next enter.
pub(crate) struct NullQueue {
    /// Slots with what their ops move.
    submitted: Vec<(Slot, u32)>,
    /// How many of them the last enter started.
    started: usize,
}

impl NullQueue {
    /// Room for so many ops in flight.
    pub(crate) fn new(depth: u32) -> NullQueue {
        NullQueue { submitted: Vec::with_capacity(depth as usize), started: 0 }
    }
}

impl QueuedBackend for NullQueue {
    type Op = BlockOp;

    #[inline(always)]
    fn before(&mut self, _op: &BlockOp, _slot: Slot) {}

    #[inline(always)]
    fn after(&mut self, _op: &BlockOp, _slot: Slot, _moved: u64) -> Result<(), String> {
        Ok(())
    }

    #[inline(always)]
    fn submit(&mut self, op: &BlockOp, slot: Slot) {
        let op = std::hint::black_box(op);
        self.submitted.push((slot, op.length));
    }

    #[inline(always)]
    fn enter(&mut self, _wait: Wait) -> io::Result<()> {
        self.started = self.submitted.len();
        Ok(())
    }

    #[inline(always)]
    fn reap(&mut self, done: &mut impl FnMut(&mut NullQueue, Slot, Completion)) {
        for number in 0..self.started {
            let (slot, moved) = self.submitted[number];
            done(self, slot, Ok(u64::from(moved)));
        }
        self.submitted.drain(..self.started);
        self.started = 0;
    }

    fn conclude(&mut self) -> Concluded {
        Concluded::default()
    }

    fn path_of(&self, _op: &BlockOp) -> PathBuf {
        PathBuf::from("null")
    }

    fn name(&self) -> &'static str {
        "null"
    }
}
