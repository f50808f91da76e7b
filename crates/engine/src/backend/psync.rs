//! `pread`, `pwrite`, `fsync`, `fdatasync`, and discard through `fallocate` or `BLKDISCARD`.
#![allow(unsafe_code)]

use crate::backend::{
    BlockContext, BlockFiles, Completion, Errno, FileKind, NOT_OPEN, SyncBackend, SyncRangeFlags, completion, done,
    has_context,
};
use crate::files::calls::{WRITTEN_OUT_MAX, drop_pages, write_out};
use crate::op::{BlockOp, Role};
use plumb_workload::OpKind;
#[cfg(target_os = "linux")]
use rustix::fs::FallocateFlags;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `_IO(0x12, 119)`. Source: linux/fs.h.
#[cfg(target_os = "linux")]
const BLKDISCARD: u64 = 0x1277;

impl BlockFiles {
    /// Returns an open file by its number.
    pub(in crate::backend) fn file_at(&self, number: usize) -> Result<BorrowedFd<'_>, Errno> {
        match self.fds[number] {
            NOT_OPEN => Err(Errno(libc::EBADF)),
            // SAFETY: descriptors in `fds` stay open until they are closed through `self`, which is borrowed here.
            fd => Ok(unsafe { BorrowedFd::borrow_raw(fd) }),
        }
    }

    /// Returns the open file of an op.
    pub(in crate::backend) fn file(&self, op: &BlockOp) -> Result<BorrowedFd<'_>, Errno> {
        self.file_at(op.file as usize)
    }
}

/// Discards a range. Source: fallocate(2), block/ioctl.c.
#[cfg(target_os = "linux")]
fn discard(file: BorrowedFd<'_>, kind: FileKind, offset: u64, length: u64) -> Completion {
    match kind {
        FileKind::Regular => {
            let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            rustix::fs::fallocate(file, mode, offset, length)?;
        }
        FileKind::Device => {
            let range = [offset, length];
            // SAFETY: BLKDISCARD reads two u64 from `range`, which outlives the call.
            completion(unsafe { libc::ioctl(file.as_raw_fd(), BLKDISCARD as _, range.as_ptr()) } as isize)?;
        }
    }
    Ok(length)
}

/// Fails: there is no portable way to discard.
#[cfg(not(target_os = "linux"))]
fn discard(_file: BorrowedFd<'_>, _kind: FileKind, _offset: u64, _length: u64) -> Completion {
    Err(Errno(libc::ENOTSUP))
}

#[cfg(target_os = "linux")]
fn fdatasync(file: BorrowedFd<'_>) -> Completion {
    done(rustix::fs::fdatasync(file))
}

#[cfg(not(target_os = "linux"))]
fn fdatasync(file: BorrowedFd<'_>) -> Completion {
    done(rustix::fs::fsync(file))
}

#[cfg(target_os = "linux")]
fn sync_range(file: BorrowedFd<'_>, op: &BlockOp, flags: SyncRangeFlags) -> Completion {
    let (offset, length) = (op.offset as libc::off64_t, i64::from(op.length));
    // SAFETY: no memory is passed.
    completion(unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags.0) } as isize)
}

/// Flushes the whole file, because the range alone cannot be flushed here.
#[cfg(not(target_os = "linux"))]
fn sync_range(file: BorrowedFd<'_>, _op: &BlockOp, _flags: SyncRangeFlags) -> Completion {
    fdatasync(file)
}

#[cfg(target_os = "linux")]
fn syncfs(file: BorrowedFd<'_>) -> Completion {
    done(rustix::fs::syncfs(file))
}

#[cfg(not(target_os = "linux"))]
fn syncfs(_file: BorrowedFd<'_>) -> Completion {
    Err(Errno(libc::ENOTSUP))
}

/// Drops a file's pages from the page cache. Before a read-back it writes out dirty pages and drops all; otherwise it
/// drops only clean pages. A file that is not open has nothing to drop.
#[cold]
fn evict(files: &BlockFiles, op: &BlockOp) -> Completion {
    let Ok(file) = files.file(op) else { return Ok(0) };
    let failed = |error: io::Error| Errno(error.raw_os_error().unwrap_or(libc::EIO));
    match op.role {
        Role::Load | Role::LoadVerified => {}
        _ if files.fds.len() <= WRITTEN_OUT_MAX => write_out(file).map_err(failed)?,
        // Each flush would wait for the device. Clean pages are enough to drop them.
        _ => {
            sync_range(file, op, SyncRangeFlags::ALL)?;
        }
    }
    drop_pages(file, files.kind == FileKind::Device).map(|()| 0).map_err(failed)
}

/// Executes the ops that all backends share, in the calling thread.
#[inline]
pub(crate) fn execute_common(files: &mut BlockFiles, op: &BlockOp) -> Completion {
    match op.kind {
        OpKind::Trim => discard(files.file(op)?, files.kind, op.offset, u64::from(op.length)),
        OpKind::Fsync | OpKind::EndFsync => done(rustix::fs::fsync(files.file(op)?)),
        OpKind::Fdatasync => fdatasync(files.file(op)?),
        OpKind::SyncRange => sync_range(files.file(op)?, op, files.sync_range),
        OpKind::Syncfs => syncfs(files.file(op)?),
        OpKind::Evict => evict(files, op),
        OpKind::Open => files.open(op.file),
        OpKind::Close => files.close(op.file),
        OpKind::Unlink => files.remove(op.file),
        _ => Err(Errno(libc::ENOSYS)),
    }
}

pub(crate) struct Psync {
    pub(crate) context: BlockContext,
}

impl SyncBackend for Psync {
    type Op = BlockOp;

    has_context!();

    #[inline(always)]
    fn execute(&mut self, op: &BlockOp) -> Completion {
        let (files, memory) = self.context.parts(0);
        let fd = files.fd(op);
        let (length, offset) = (op.length as usize, op.offset as libc::off_t);
        match op.kind {
            // SAFETY: `memory` holds at least `length` bytes, which only this op uses.
            OpKind::Read => completion(unsafe { libc::pread(fd, memory.cast(), length, offset) }),
            // SAFETY: as above.
            OpKind::Write => completion(unsafe { libc::pwrite(fd, memory.cast(), length, offset) }),
            _ => execute_common(files, op),
        }
    }
}
