//! Ops complete at once. It measures Plumb itself: the ceiling that no device can show a number above.

use crate::backend::{Completion, Done, QueuedBackend, Slot, SyncBackend, Wait};
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

    #[inline(always)]
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
    /// How many of those were handed back.
    taken: usize,
}

impl NullQueue {
    /// Room for this many ops in flight.
    pub(crate) fn new(depth: u32) -> NullQueue {
        NullQueue { submitted: Vec::with_capacity(depth as usize), started: 0, taken: 0 }
    }
}

impl QueuedBackend for NullQueue {
    #[inline(always)]
    fn submit(&mut self, op: &BlockOp, slot: Slot) {
        let op = std::hint::black_box(op);
        self.submitted.push((slot, op.length));
    }

    #[inline(always)]
    fn enter(&mut self, _wait: Wait) -> io::Result<()> {
        self.submitted.drain(..std::mem::take(&mut self.taken));
        self.started = self.submitted.len();
        Ok(())
    }

    #[inline(always)]
    fn completed(&mut self) -> Option<Done> {
        if self.taken == self.started {
            return None;
        }
        let (slot, moved) = self.submitted[self.taken];
        self.taken += 1;
        Some(Done { slot, completion: Ok(u64::from(moved)) })
    }

    fn path_of(&self, _op: &BlockOp) -> PathBuf {
        PathBuf::from("null")
    }

    fn name(&self) -> &'static str {
        "null"
    }
}
