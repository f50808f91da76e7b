//! Completes ops at once. It measures Plumb's own ceiling: no device can show a higher number.

use crate::backend::{Completion, Done, QueuedBackend, Slot, SyncBackend, Wait};
use crate::op::BlockOp;
use std::io;
use std::path::PathBuf;

pub(crate) struct Null;

impl SyncBackend for Null {
    type Op = BlockOp;

    #[inline(always)]
    fn execute(&mut self, op: &BlockOp) -> Completion {
        // Build the whole op, or the measured cost of the source would be too low.
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

/// Completes submitted ops at the next `enter`.
pub(crate) struct NullQueue {
    /// Slots with the bytes that their ops move.
    submitted: Vec<(Slot, u32)>,
    /// Number of submitted ops that the last `enter` started.
    started: usize,
    /// Number of started ops that were returned.
    taken: usize,
}

impl NullQueue {
    /// Makes room for `depth` ops in flight.
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
