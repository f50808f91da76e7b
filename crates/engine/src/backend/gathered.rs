//! Calls `lseek`, then `readv` or `writev` for adjacent ops. One call covers as many ops as
//! were submitted together. Source: readv(2).
#![allow(unsafe_code)]

use crate::backend::queued::Inline;
use crate::backend::{BlockContext, Done, QueuedBackend, Slot, Wait, completion, has_context};
use crate::op::BlockOp;
use plumb_workload::OpKind;
use rustix::fs::SeekFrom;
use std::io;

/// `IOV_MAX`. Source: limits.h, readv(2).
const MOST_VECTORS: usize = 1024;

/// Queues ops until their neighbours arrive. Each worker needs its own descriptors, because
/// a descriptor has one position.
pub(crate) struct Gathered {
    ops: Vec<(Slot, BlockOp)>,
    vectors: Vec<libc::iovec>,
    done: Inline,
    context: BlockContext,
}

impl Gathered {
    /// Makes room for `depth` ops.
    pub(crate) fn new(depth: u32, context: BlockContext) -> Gathered {
        let depth = depth as usize;
        let (ops, vectors) = (Vec::with_capacity(depth), Vec::with_capacity(depth));
        Gathered { ops, vectors, done: Inline::new(depth), context }
    }

    /// Returns how many ops, starting at `first`, one call can cover.
    fn run_length(&self, first: usize) -> usize {
        let moves = |op: &BlockOp| matches!(op.kind, OpKind::Read | OpKind::Write);
        let mut last = &self.ops[first].1;
        if !moves(last) {
            return 1;
        }
        let mut length = 1;
        for (_, op) in self.ops[first + 1..].iter().take(MOST_VECTORS - 1) {
            let follows =
                op.kind == last.kind && op.file == last.file && op.offset == last.offset + u64::from(last.length);
            if !follows {
                break;
            }
            length += 1;
            last = op;
        }
        length
    }

    /// Reads or writes a run of ops, and divides the bytes moved among them.
    fn transfer(&mut self, first: usize, length: usize) {
        let run = &self.ops[first..first + length];
        let (_, op) = run[0];
        let fd = self.context.files.fd(&op);
        let vectors = &self.vectors[first..first + length];
        let file = self.context.files.file(&op);
        let sought = file.and_then(|file| Ok(rustix::fs::seek(file, SeekFrom::Start(op.offset))?));
        let moved = if let Err(error) = sought {
            Err(error)
        } else if op.kind == OpKind::Read {
            // SAFETY: the vectors point to memory of at least their lengths, which only these ops use.
            completion(unsafe { libc::readv(fd, vectors.as_ptr(), length as libc::c_int) })
        } else {
            // SAFETY: as above.
            completion(unsafe { libc::writev(fd, vectors.as_ptr(), length as libc::c_int) })
        };
        let mut left = moved;
        for &(slot, op) in run {
            let share = left.map(|left| left.min(u64::from(op.length)));
            self.done.finish(slot, share);
            left = left.map(|left| left - left.min(u64::from(op.length)));
        }
    }
}

impl QueuedBackend for Gathered {
    has_context!();

    fn submit(&mut self, op: &BlockOp, slot: Slot) {
        let (_, memory) = self.context.parts(slot);
        self.ops.push((slot, *op));
        self.vectors.push(libc::iovec { iov_base: memory.cast(), iov_len: op.length as usize });
    }

    fn enter(&mut self, _wait: Wait) -> io::Result<()> {
        let mut first = 0;
        while first < self.ops.len() {
            let length = self.run_length(first);
            let (slot, op) = self.ops[first];
            if matches!(op.kind, OpKind::Read | OpKind::Write) {
                self.transfer(first, length);
            } else {
                self.done.push(slot, &op);
                self.done.run(&mut self.context.files);
            }
            first += length;
        }
        self.ops.clear();
        self.vectors.clear();
        Ok(())
    }

    fn completed(&mut self) -> Option<Done> {
        self.done.next()
    }

    fn name(&self) -> &'static str {
        "readv"
    }
}
