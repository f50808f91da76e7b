//! `aio_read` and `aio_write` of the C library, which keeps threads of its own for them. Source: aio(7).
#![allow(unsafe_code)]

use crate::backend::queued::{Done, Inline, QueueCalls, still_to_wait};
use crate::backend::{BlockFiles, Errno, Slot, Wait};
use crate::op::BlockOp;
use plumb_workload::OpKind;
use std::io;

/// Control blocks by slot, and which of them are in flight.
pub(crate) struct PosixAio {
    /// The C library keeps their addresses until their completion.
    blocks: Box<[libc::aiocb]>,
    ready: Vec<(Slot, OpKind)>,
    flying: Vec<Slot>,
    /// The blocks in flight, as `aio_suspend` wants them.
    watched: Vec<*const libc::aiocb>,
    inline: Inline,
}

impl PosixAio {
    /// Room for so many ops in flight.
    pub(crate) fn new(depth: u32) -> PosixAio {
        let depth = depth as usize;
        PosixAio {
            // SAFETY: aiocb is plain data, valid when zeroed.
            blocks: (0..depth).map(|_| unsafe { std::mem::zeroed() }).collect(),
            ready: Vec::with_capacity(depth),
            flying: Vec::with_capacity(depth),
            watched: Vec::with_capacity(depth),
            inline: Inline::new(depth),
        }
    }

    fn hand_over(&mut self) {
        while let Some(&(slot, kind)) = self.ready.first() {
            let block = &raw mut self.blocks[usize::from(slot)];
            // SAFETY: the block and its buffer live, and stay where they are, until the op's completion.
            let started = unsafe {
                match kind {
                    OpKind::Read => libc::aio_read(block),
                    OpKind::Write => libc::aio_write(block),
                    OpKind::Fdatasync => libc::aio_fsync(libc::O_DSYNC, block),
                    _ => libc::aio_fsync(libc::O_SYNC, block),
                }
            };
            match if started == 0 { Ok(()) } else { Err(Errno::last()) } {
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
            let block = &raw mut blocks[usize::from(slot)];
            // SAFETY: a block that was handed over and not taken back.
            let error = unsafe { libc::aio_error(block) };
            if error == libc::EINPROGRESS {
                return true;
            }
            // SAFETY: as above, and complete; this takes it back.
            let moved = unsafe { libc::aio_return(block) };
            inline.finish(slot, if error == 0 { Ok(moved as u64) } else { Err(Errno(error)) });
            false
        });
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

impl PosixAio {
    /// Waits until one op has come to its end, a signal comes, or so many ns are over.
    fn wait(&mut self, timeout_ns: Option<u64>) {
        self.watched.clear();
        self.watched.extend(self.flying.iter().map(|&slot| &raw const self.blocks[usize::from(slot)]));
        let timeout = timeout_ns.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (ns % 1_000_000_000) as _,
        });
        // SAFETY: blocks in flight; a timeout that lives through the call, or none. Why it returned shows in the blocks.
        unsafe {
            libc::aio_suspend(
                self.watched.as_ptr(),
                self.watched.len() as libc::c_int,
                timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
            )
        };
    }
}

impl QueueCalls for PosixAio {
    fn submit(&mut self, files: &mut BlockFiles, memory: *mut u8, op: &BlockOp, slot: Slot) {
        if !matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Fsync | OpKind::Fdatasync) {
            return self.inline.push(slot, op);
        }
        let block = &mut self.blocks[usize::from(slot)];
        // SAFETY: aiocb is plain data, valid when zeroed; this one is not in flight.
        *block = unsafe { std::mem::zeroed() };
        block.aio_fildes = files.fd(op);
        block.aio_buf = memory.cast();
        block.aio_nbytes = op.length as usize;
        block.aio_offset = op.offset as libc::off_t;
        block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        self.ready.push((slot, op.kind));
    }

    fn enter(&mut self, files: &mut BlockFiles, wait: Wait) -> io::Result<()> {
        let hands_over = !self.ready.is_empty();
        self.hand_over();
        self.inline.run(files);
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
