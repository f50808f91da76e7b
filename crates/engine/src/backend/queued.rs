//! What backends with several ops in flight have in common: the ops that the calling thread does by itself.

use crate::backend::psync::execute_common;
use crate::backend::{BlockFiles, Completion, Done, Slot, Wait};
use crate::op::BlockOp;
use std::collections::VecDeque;

/// Ops that the calling thread does by itself when it enters: those that a queue has no call for. They are done in
/// [`run`](Inline::run) rather than as they are submitted, so that their time is theirs.
#[derive(Debug)]
pub(crate) struct Inline {
    waiting: Vec<(Slot, BlockOp)>,
    done: VecDeque<Done>,
}

impl Inline {
    /// Room for this many ops in flight.
    pub(crate) fn new(depth: usize) -> Inline {
        Inline { waiting: Vec::with_capacity(depth), done: VecDeque::with_capacity(depth) }
    }

    /// An op to do with the next `run`.
    pub(crate) fn push(&mut self, slot: Slot, op: &BlockOp) {
        self.waiting.push((slot, *op));
    }

    /// Does them.
    pub(crate) fn run(&mut self, files: &mut BlockFiles) {
        self.run_by(|op| execute_common(files, op));
    }

    /// Does them in another way.
    pub(crate) fn run_by(&mut self, mut execute: impl FnMut(&BlockOp) -> Completion) {
        for (slot, op) in self.waiting.drain(..) {
            self.done.push_back(Done { slot, completion: execute(&op) });
        }
    }

    /// Keeps what became of an op.
    pub(crate) fn finish(&mut self, slot: Slot, completion: Completion) {
        self.done.push_back(Done { slot, completion });
    }

    /// Whether there is anything to do or to hand over.
    #[inline(always)]
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.done.is_empty()
    }

    /// How many have come to their end and are not handed over.
    pub(crate) fn ready(&self) -> usize {
        self.done.len()
    }

    /// The next one that has come to its end.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Done> {
        self.done.pop_front()
    }
}

/// How many completions are still to be waited for, with this many at hand; and for how long, ns.
pub(crate) fn still_to_wait(wait: Wait, ready: usize) -> (u32, Option<u64>) {
    match wait {
        Wait::For(wanted) => (wanted.saturating_sub(ready as u32), None),
        Wait::Timeout(ns) if ready == 0 => (1, Some(ns)),
        Wait::Timeout(_) => (0, None),
    }
}
