//! `pread`, `pwrite`, `fsync`, `fdatasync`, and discarding by `fallocate` or `BLKDISCARD`.
#![allow(unsafe_code)]

use crate::backend::{
    BlockContext, BlockFiles, Completion, Errno, FileKind, NOT_OPEN, SyncBackend, SyncRangeFlags, completion,
    has_context,
};
use crate::job::files::open::{WRITTEN_OUT_MAX, drop_pages, write_out};
use crate::op::{BlockOp, Role};
use plumb_workload::OpKind;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};

/// `_IO(0x12, 119)`. Source: linux/fs.h.
#[cfg(target_os = "linux")]
const BLKDISCARD: u64 = 0x1277;

/// Discards a range. Source: fallocate(2), block/ioctl.c.
#[cfg(target_os = "linux")]
pub(crate) fn discard(fd: RawFd, kind: FileKind, offset: u64, length: u64) -> Completion {
    let returned = match kind {
        FileKind::Regular => {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: no memory is passed; a bad descriptor or range is an error.
            unsafe { libc::fallocate(fd, mode, offset as libc::off_t, length as libc::off_t) }
        }
        FileKind::Device => {
            let range = [offset, length];
            // SAFETY: BLKDISCARD reads two u64 from `range`, which outlives the call.
            unsafe { libc::ioctl(fd, BLKDISCARD as _, range.as_ptr()) }
        }
    };
    if returned == 0 { Ok(length) } else { Err(Errno::last()) }
}

/// Discarding has no portable form.
#[cfg(not(target_os = "linux"))]
pub(crate) fn discard(_fd: RawFd, _kind: FileKind, _offset: u64, _length: u64) -> Completion {
    Err(Errno(libc::ENOTSUP))
}

#[cfg(target_os = "linux")]
pub(crate) fn fdatasync(fd: RawFd) -> Completion {
    // SAFETY: no memory is passed.
    completion(unsafe { libc::fdatasync(fd) } as isize)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn fdatasync(fd: RawFd) -> Completion {
    // SAFETY: no memory is passed.
    completion(unsafe { libc::fsync(fd) } as isize)
}

#[cfg(target_os = "linux")]
fn sync_range(fd: RawFd, op: &BlockOp, flags: SyncRangeFlags) -> Completion {
    let (offset, length) = (op.offset as libc::off64_t, i64::from(op.length));
    // SAFETY: no memory is passed.
    completion(unsafe { libc::sync_file_range(fd, offset, length, flags.0) } as isize)
}

/// The range alone cannot be flushed here, so the file is.
#[cfg(not(target_os = "linux"))]
fn sync_range(fd: RawFd, _op: &BlockOp, _flags: SyncRangeFlags) -> Completion {
    fdatasync(fd)
}

#[cfg(target_os = "linux")]
fn syncfs(fd: RawFd) -> Completion {
    // SAFETY: no memory is passed.
    completion(unsafe { libc::syncfs(fd) } as isize)
}

#[cfg(not(target_os = "linux"))]
fn syncfs(_fd: RawFd) -> Completion {
    Err(Errno(libc::ENOTSUP))
}

/// Drops a file's pages from the page cache: before it is read back, all of them, which are written out first; else those
/// that are clean. A file that is not open has none to drop.
#[cold]
fn evict(files: &BlockFiles, op: &BlockOp) -> Completion {
    let fd = files.fd(op);
    if fd == NOT_OPEN {
        return Ok(0);
    }
    // SAFETY: what is in `fds` is open until it is closed through `files`, which is borrowed here.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    let failed = |error: io::Error| Errno(error.raw_os_error().unwrap_or(libc::EIO));
    match op.role {
        Role::Load | Role::LoadVerified => {}
        _ if files.fds.len() <= WRITTEN_OUT_MAX => write_out(file).map_err(failed)?,
        // Each flush would wait for the device; clean pages are all that dropping them needs.
        _ => {
            sync_range(fd, op, SyncRangeFlags::ALL)?;
        }
    }
    drop_pages(file, files.kind == FileKind::Device).map(|()| 0).map_err(failed)
}

/// The ops that every backend does alike, in the calling thread.
#[inline]
pub(crate) fn execute_common(files: &mut BlockFiles, op: &BlockOp) -> Completion {
    let fd = files.fd(op);
    match op.kind {
        OpKind::Trim => discard(fd, files.kind, op.offset, u64::from(op.length)),
        // SAFETY: no memory is passed.
        OpKind::Fsync | OpKind::EndFsync => completion(unsafe { libc::fsync(fd) } as isize),
        OpKind::Fdatasync => fdatasync(fd),
        OpKind::SyncRange => sync_range(fd, op, files.sync_range),
        OpKind::Syncfs => syncfs(fd),
        OpKind::Evict => evict(files, op),
        OpKind::Open => files.open(op.file),
        OpKind::Close => files.close(op.file),
        OpKind::Unlink => files.remove(op.file),
        _ => Err(Errno(libc::ENOSYS)),
    }
}

/// `pread` and `pwrite`.
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
            // SAFETY: `memory` holds at least `length` bytes and is this op's alone.
            OpKind::Read => completion(unsafe { libc::pread(fd, memory.cast(), length, offset) }),
            // SAFETY: as above.
            OpKind::Write => completion(unsafe { libc::pwrite(fd, memory.cast(), length, offset) }),
            _ => execute_common(files, op),
        }
    }
}
