//! What every backend of block I/O with several ops in flight has in common, apart from io_uring: files, memory, content,
//! and the ops that the calling thread does by itself. The backends themselves are the calls in between.

use crate::backend::payload::Payload;
use crate::backend::psync::execute_common;
use crate::backend::{BlockFiles, Completion, QueuedBackend, Slot, Wait};
use crate::job::content::Concluded;
use crate::op::BlockOp;
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;

/// An op that has come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) slot: Slot,
    pub(crate) completion: Completion,
}

/// The calls of a backend.
pub(crate) trait QueueCalls {
    /// Makes an op ready. `memory` holds at least the largest op that the source yields, belongs to this op alone until
    /// it has come to its end, and does not move.
    fn submit(&mut self, files: &mut BlockFiles, memory: *mut u8, op: &BlockOp, slot: Slot);

    /// Starts what was made ready and waits as asked.
    fn enter(&mut self, files: &mut BlockFiles, wait: Wait) -> io::Result<()>;

    /// The next op that has come to its end.
    fn completed(&mut self) -> Option<Done>;

    /// What fails where `enter` fails.
    fn name(&self) -> &'static str;
}

/// A backend of block I/O with several ops in flight.
pub(crate) struct QueuedBlocks {
    // Before the memory that it points to.
    calls: Box<dyn QueueCalls>,
    payload: Payload,
    files: BlockFiles,
}

impl QueuedBlocks {
    pub(crate) fn new(files: BlockFiles, payload: Payload, calls: Box<dyn QueueCalls>) -> QueuedBlocks {
        QueuedBlocks { calls, payload, files }
    }
}

impl QueuedBackend for QueuedBlocks {
    type Op = BlockOp;

    #[inline(always)]
    fn before(&mut self, op: &BlockOp, slot: Slot) {
        self.payload.before(op, slot);
    }

    #[inline(always)]
    fn after(&mut self, op: &BlockOp, slot: Slot, moved: u64) -> Result<(), String> {
        self.payload.after(op, slot, moved)
    }

    #[inline(always)]
    fn submit(&mut self, op: &BlockOp, slot: Slot) {
        self.calls.submit(&mut self.files, self.payload.pointer(slot), op, slot);
    }

    #[inline(always)]
    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        self.calls.enter(&mut self.files, wait)
    }

    #[inline(always)]
    fn reap(&mut self, done: &mut impl FnMut(&mut QueuedBlocks, Slot, Completion)) {
        while let Some(Done { slot, completion }) = self.calls.completed() {
            done(self, slot, completion);
        }
    }

    fn conclude(&mut self) -> Concluded {
        self.payload.finish()
    }

    fn path_of(&self, op: &BlockOp) -> PathBuf {
        self.files.path_of(op)
    }

    fn name(&self) -> &'static str {
        self.calls.name()
    }
}

/// Ops that the calling thread does by itself when it enters: those that a queue has no call for. They are done in
/// [`run`](Inline::run) rather than as they are submitted, so that their time is theirs.
#[derive(Debug)]
pub(crate) struct Inline {
    waiting: Vec<(Slot, BlockOp)>,
    done: VecDeque<Done>,
}

impl Inline {
    /// Room for so many ops in flight.
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

/// How many completions are still to be waited for, with so many at hand; and for how long, ns.
pub(crate) fn still_to_wait(wait: Wait, ready: usize) -> (u32, Option<u64>) {
    match wait {
        Wait::For(wanted) => (wanted.saturating_sub(ready as u32), None),
        Wait::Timeout(ns) if ready == 0 => (1, Some(ns)),
        Wait::Timeout(_) => (0, None),
    }
}
