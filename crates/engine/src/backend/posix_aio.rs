//! `aio_read` and `aio_write` of the C library, several in flight. Source: aio(7).
#![allow(unsafe_code)]

use crate::backend::queued::{Inline, still_to_wait};
use crate::backend::{BlockContext, Done, Errno, QueuedBackend, Slot, Wait, has_context};
use crate::op::BlockOp;
use crate::syscall::aio::{AioBlocks, AioCall, AioRange};
use plumb_workload::OpKind;
use std::io;

/// Control blocks by slot, and which of them are in flight.
pub(crate) struct PosixAio {
    blocks: AioBlocks,
    ready: Vec<(Slot, AioCall)>,
    flying: Vec<Slot>,
    inline: Inline,
    context: BlockContext,
}

impl PosixAio {
    /// Room for this many ops in flight.
    pub(crate) fn new(depth: u32, context: BlockContext) -> PosixAio {
        let depth = depth as usize;
        PosixAio {
            blocks: AioBlocks::new(depth),
            ready: Vec::with_capacity(depth),
            flying: Vec::with_capacity(depth),
            inline: Inline::new(depth),
            context,
        }
    }

    fn hand_over(&mut self) {
        while let Some(&(slot, call)) = self.ready.first() {
            // SAFETY: its memory is a slot of the context, which nobody uses until the op's completion; dropping waits.
            match unsafe { self.blocks.start(usize::from(slot), call) } {
                Ok(()) => self.flying.push(slot),
                // The library has no room: what is in flight makes some.
                Err(Errno(libc::EAGAIN)) if !self.flying.is_empty() => return,
                Err(errno) => self.inline.finish(slot, Err(errno)),
            }
            self.ready.remove(0);
        }
    }

    /// Takes what has come to its end.
    fn collect(&mut self) {
        let PosixAio { blocks, flying, inline, .. } = self;
        flying.retain(|&slot| {
            let outcome = blocks.outcome(usize::from(slot));
            if let Some(completion) = outcome {
                inline.finish(slot, completion);
            }
            outcome.is_none()
        });
    }

    /// Waits until one op has come to its end, a signal comes, or this many ns are over.
    fn wait(&mut self, timeout_ns: Option<u64>) {
        self.blocks.suspend(self.flying.iter().map(|&slot| usize::from(slot)), timeout_ns);
    }
}

impl Drop for PosixAio {
    /// The library's threads write into buffers that are about to go.
    fn drop(&mut self) {
        while !self.flying.is_empty() {
            self.wait(None);
            self.collect();
        }
    }
}

impl QueuedBackend for PosixAio {
    has_context!();

    fn submit(&mut self, op: &BlockOp, slot: Slot) {
        let call = match op.kind {
            OpKind::Read => AioCall::Read,
            OpKind::Write => AioCall::Write,
            OpKind::Fsync => AioCall::Sync,
            OpKind::Fdatasync => AioCall::SyncData,
            _ => return self.inline.push(slot, op),
        };
        let (files, memory) = self.context.parts(slot);
        let range = AioRange { fd: files.fd(op), offset: op.offset, memory, bytes: op.length as usize };
        self.blocks.prepare(usize::from(slot), range);
        self.ready.push((slot, call));
    }

    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        let hands_over = !self.ready.is_empty();
        self.hand_over();
        self.inline.run(&mut self.context.files);
        if hands_over && wait == Wait::For(0) {
            return Ok(());
        }
        self.collect();
        let at_hand = |queue: &PosixAio| still_to_wait(wait, queue.inline.ready());
        let (mut wanted, timeout_ns) = at_hand(self);
        while wanted > 0 && !self.flying.is_empty() {
            self.wait(timeout_ns);
            self.collect();
            self.hand_over();
            if timeout_ns.is_some() {
                break;
            }
            wanted = at_hand(self).0;
        }
        Ok(())
    }

    fn completed(&mut self) -> Option<Done> {
        self.inline.next()
    }

    fn name(&self) -> &'static str {
        "aio_suspend"
    }
}
