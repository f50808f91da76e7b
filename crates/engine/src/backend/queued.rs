//! Helpers shared by all queued backends: ops that run in the calling thread.

use crate::backend::psync::execute_common;
use crate::backend::{BlockFiles, Completion, Done, Slot, Wait};
use crate::op::BlockOp;
use std::collections::VecDeque;

/// Ops that run in the calling thread because the queue has no call for them. They run in [`run`](Inline::run) and not
/// at submission, so that their time is measured as theirs.
#[derive(Debug)]
pub(crate) struct Inline {
    waiting: Vec<(Slot, BlockOp)>,
    done: VecDeque<Done>,
}

impl Inline {
    /// Makes room for `depth` ops in flight.
    pub(crate) fn new(depth: usize) -> Inline {
        Inline { waiting: Vec::with_capacity(depth), done: VecDeque::with_capacity(depth) }
    }

    /// Queues an op for the next `run`.
    pub(crate) fn push(&mut self, slot: Slot, op: &BlockOp) {
        self.waiting.push((slot, *op));
    }

    /// Executes the queued ops.
    pub(crate) fn run(&mut self, files: &mut BlockFiles) {
        self.run_by(|op| execute_common(files, op));
    }

    /// Executes the queued ops with `execute`.
    pub(crate) fn run_by(&mut self, mut execute: impl FnMut(&BlockOp) -> Completion) {
        for (slot, op) in self.waiting.drain(..) {
            self.done.push_back(Done { slot, completion: execute(&op) });
        }
    }

    /// Stores the completion of an op.
    pub(crate) fn finish(&mut self, slot: Slot, completion: Completion) {
        self.done.push_back(Done { slot, completion });
    }

    /// Returns `true` if no op waits for execution and no completion waits to be returned.
    #[inline(always)]
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.done.is_empty()
    }

    /// Returns the number of completions not returned yet.
    pub(crate) fn ready(&self) -> usize {
        self.done.len()
    }

    /// Returns the next completion.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Done> {
        self.done.pop_front()
    }
}

/// Returns how many completions to wait for, with `ready` of them available, and the timeout in ns.
pub(crate) fn still_to_wait(wait: Wait, ready: usize) -> (u32, Option<u64>) {
    match wait {
        Wait::For(wanted) => (wanted.saturating_sub(ready as u32), None),
        Wait::Timeout(ns) if ready == 0 => (1, Some(ns)),
        Wait::Timeout(_) => (0, None),
    }
}
