//! `aio_read` and `aio_write` of the C library, with several ops in flight. Source: aio(7).
#![allow(unsafe_code)]

use crate::backend::queued::{Inline, still_to_wait};
use crate::backend::{BlockContext, Done, Errno, QueuedBackend, Slot, Wait, has_context};
use crate::op::BlockOp;
use crate::syscall::aio::{AioBlocks, AioCall, AioRange};
use plumb_workload::OpKind;
use std::io;

/// Control blocks by slot, and the list of those in flight.
pub(crate) struct PosixAio {
    blocks: AioBlocks,
    ready: Vec<(Slot, AioCall)>,
    in_flight: Vec<Slot>,
    inline: Inline,
    context: BlockContext,
}

impl PosixAio {
    /// Makes room for `depth` ops in flight.
    pub(crate) fn new(depth: u32, context: BlockContext) -> PosixAio {
        let depth = depth as usize;
        PosixAio {
            blocks: AioBlocks::new(depth),
            ready: Vec::with_capacity(depth),
            in_flight: Vec::with_capacity(depth),
            inline: Inline::new(depth),
            context,
        }
    }

    fn hand_over(&mut self) {
        while let Some(&(slot, call)) = self.ready.first() {
            // SAFETY: the memory is a slot of the context that is unused until the op completes; drop waits for it.
            match unsafe { self.blocks.start(usize::from(slot), call) } {
                Ok(()) => self.in_flight.push(slot),
                // The library is full: completions of ops in flight make room.
                Err(Errno(libc::EAGAIN)) if !self.in_flight.is_empty() => return,
                Err(errno) => self.inline.finish(slot, Err(errno)),
            }
            self.ready.remove(0);
        }
    }

    /// Collects completed ops.
    fn collect(&mut self) {
        let PosixAio { blocks, in_flight, inline, .. } = self;
        in_flight.retain(|&slot| {
            let outcome = blocks.outcome(usize::from(slot));
            if let Some(completion) = outcome {
                inline.finish(slot, completion);
            }
            outcome.is_none()
        });
    }

    /// Waits until one op has completed, a signal arrives, or `timeout_ns` have passed.
    fn wait(&mut self, timeout_ns: Option<u64>) {
        self.blocks.suspend(self.in_flight.iter().map(|&slot| usize::from(slot)), timeout_ns);
    }
}

impl Drop for PosixAio {
    /// Waits for the ops in flight: the library's threads still write into buffers that are about to be freed.
    fn drop(&mut self) {
        while !self.in_flight.is_empty() {
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
        while wanted > 0 && !self.in_flight.is_empty() {
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
