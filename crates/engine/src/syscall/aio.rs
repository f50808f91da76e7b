//! Asynchronous I/O of the C library, which uses threads of its own. Source: aio(7).
#![allow(unsafe_code)]

use crate::backend::{Completion, Errno};
use std::os::fd::RawFd;

/// Control blocks by slot. The C library keeps their addresses until they complete.
pub(crate) struct AioBlocks {
    blocks: Box<[libc::aiocb]>,
    /// Blocks in flight, in the form that `aio_suspend` takes.
    watched: Vec<*const libc::aiocb>,
}

// SAFETY: control blocks are owned, and used by one thread at a time; the library's threads only access the memory that
// the blocks point to, until completion.
unsafe impl Send for AioBlocks {}

/// Operation that a block starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AioCall {
    Read,
    Write,
    Sync,
    SyncData,
}

/// The file range and memory of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AioRange {
    pub(crate) fd: RawFd,
    pub(crate) offset: u64,
    pub(crate) memory: *mut u8,
    pub(crate) bytes: usize,
}

impl AioBlocks {
    /// Allocates blocks for `count` ops in flight.
    pub(crate) fn new(count: usize) -> AioBlocks {
        // SAFETY: aiocb is plain data, valid when zeroed.
        let blocks = (0..count).map(|_| unsafe { std::mem::zeroed() }).collect();
        AioBlocks { blocks, watched: Vec::with_capacity(count) }
    }

    /// Initializes a block, which must not be in flight.
    pub(crate) fn prepare(&mut self, slot: usize, range: AioRange) {
        let block = &mut self.blocks[slot];
        // SAFETY: aiocb is plain data, valid when zeroed; this one is not in flight.
        *block = unsafe { std::mem::zeroed() };
        block.aio_fildes = range.fd;
        block.aio_buf = range.memory.cast();
        block.aio_nbytes = range.bytes;
        block.aio_offset = range.offset as libc::off_t;
        block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
    }

    /// Submits a prepared block.
    ///
    /// # Safety
    /// The block's memory must stay alive, in place and otherwise unused until [`outcome`](AioBlocks::outcome) reports
    /// its completion.
    pub(crate) unsafe fn start(&mut self, slot: usize, call: AioCall) -> Result<(), Errno> {
        let block = &raw mut self.blocks[slot];
        // SAFETY: the block is on the heap, and the caller promises the same lifetime for its memory.
        let started = unsafe {
            match call {
                AioCall::Read => libc::aio_read(block),
                AioCall::Write => libc::aio_write(block),
                AioCall::SyncData => libc::aio_fsync(libc::O_DSYNC, block),
                AioCall::Sync => libc::aio_fsync(libc::O_SYNC, block),
            }
        };
        if started == 0 { Ok(()) } else { Err(Errno::last()) }
    }

    /// Returns the result of a submitted block, once; `None` while it is in flight.
    pub(crate) fn outcome(&mut self, slot: usize) -> Option<Completion> {
        let block = &raw mut self.blocks[slot];
        // SAFETY: the block was submitted and not collected yet.
        let error = unsafe { libc::aio_error(block) };
        if error == libc::EINPROGRESS {
            return None;
        }
        // SAFETY: as above, and complete; this call collects it.
        let moved = unsafe { libc::aio_return(block) };
        Some(if error == 0 { Ok(moved as u64) } else { Err(Errno(error)) })
    }

    /// Waits until a block completes, a signal arrives, or the timeout (ns) expires. The caller
    /// checks the blocks to see which.
    pub(crate) fn suspend(&mut self, slots: impl Iterator<Item = usize>, timeout_ns: Option<u64>) {
        self.watched.clear();
        self.watched.extend(slots.map(|slot| &raw const self.blocks[slot]));
        let timeout = timeout_ns
            .map(|ns| libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ });
        // SAFETY: blocks in flight, and a timeout that outlives the call, or null.
        unsafe {
            libc::aio_suspend(
                self.watched.as_ptr(),
                self.watched.len() as libc::c_int,
                timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
            )
        };
    }
}
