//! Asynchronous I/O of the C library, which keeps threads of its own for it. Source: aio(7).
#![allow(unsafe_code)]

use crate::backend::{Completion, Errno};
use std::os::fd::RawFd;

/// Control blocks by slot. The C library keeps their addresses until their completion.
pub(crate) struct AioBlocks {
    blocks: Box<[libc::aiocb]>,
    /// Blocks in flight, as `aio_suspend` wants them.
    watched: Vec<*const libc::aiocb>,
}

// SAFETY: control blocks are owned, and used by one thread at a time; the library's own threads only fill what they point
// to until completion.
unsafe impl Send for AioBlocks {}

/// What a block starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AioCall {
    Read,
    Write,
    /// `fsync`.
    Sync,
    /// `fdatasync`.
    SyncData,
}

/// What a block is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AioRange {
    pub(crate) fd: RawFd,
    pub(crate) offset: u64,
    pub(crate) memory: *mut u8,
    pub(crate) bytes: usize,
}

impl AioBlocks {
    /// Room for this many ops in flight.
    pub(crate) fn new(count: usize) -> AioBlocks {
        // SAFETY: aiocb is plain data, valid when zeroed.
        let blocks = (0..count).map(|_| unsafe { std::mem::zeroed() }).collect();
        AioBlocks { blocks, watched: Vec::with_capacity(count) }
    }

    /// Makes a block ready. It must not be in flight.
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

    /// Hands a block over that was made ready.
    ///
    /// # Safety
    /// Its memory lives, stays where it is, and is nobody else's until [`outcome`](AioBlocks::outcome) tells its end.
    pub(crate) unsafe fn start(&mut self, slot: usize, call: AioCall) -> Result<(), Errno> {
        let block = &raw mut self.blocks[slot];
        // SAFETY: the block lives in the heap, and so does its memory, as the caller promises.
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

    /// What became of a block that was handed over, once; `None` while it is in flight.
    pub(crate) fn outcome(&mut self, slot: usize) -> Option<Completion> {
        let block = &raw mut self.blocks[slot];
        // SAFETY: a block that was handed over and not taken back.
        let error = unsafe { libc::aio_error(block) };
        if error == libc::EINPROGRESS {
            return None;
        }
        // SAFETY: as above, and complete; this takes it back.
        let moved = unsafe { libc::aio_return(block) };
        Some(if error == 0 { Ok(moved as u64) } else { Err(Errno(error)) })
    }

    /// Waits until one of these has come to its end, a signal comes, or this many ns are over. Which it was shows in what
    /// became of them.
    pub(crate) fn suspend(&mut self, slots: impl Iterator<Item = usize>, timeout_ns: Option<u64>) {
        self.watched.clear();
        self.watched.extend(slots.map(|slot| &raw const self.blocks[slot]));
        let timeout = timeout_ns
            .map(|ns| libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ });
        // SAFETY: blocks in flight; a timeout that lives through the call, or none.
        unsafe {
            libc::aio_suspend(
                self.watched.as_ptr(),
                self.watched.len() as libc::c_int,
                timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
            )
        };
    }
}
