//! Operations on an open file by its descriptor, for which our libraries return no result.
#![allow(unsafe_code)]

use crate::backend::{Completion, Errno};
use plumb_workload::program::LockKind;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};

/// Closes a file and returns the result: close(2) may report an error of an earlier write.
pub(crate) fn close(fd: OwnedFd) -> Completion {
    // SAFETY: the descriptor was owned, and is given up here.
    if unsafe { libc::close(fd.into_raw_fd()) } == 0 { Ok(0) } else { Err(Errno::last()) }
}

/// Locks or unlocks a range of a file; length 0 means everything from `start` on. Source: fcntl(2), `F_SETLKW`.
pub(super) fn lock(fd: BorrowedFd<'_>, kind: LockKind, start: u64, length: u64) -> Completion {
    // SAFETY: flock is plain data, valid when zeroed.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = match kind {
        LockKind::Read => libc::F_RDLCK,
        LockKind::Write => libc::F_WRLCK,
        LockKind::None => libc::F_UNLCK,
    } as _;
    lock.l_whence = libc::SEEK_SET as _;
    lock.l_start = start as libc::off_t;
    lock.l_len = length as libc::off_t;
    // SAFETY: an open descriptor and a live lock.
    if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETLKW, &raw const lock) } == 0 {
        Ok(0)
    } else {
        Err(Errno::last())
    }
}

pub(super) fn errno(error: rustix::io::Errno) -> Errno {
    Errno(error.raw_os_error())
}

pub(super) fn system(error: std::io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(libc::EIO))
}

/// Writes `length` bytes at the current position, in pieces of the memory's length. A short write means a full disk.
pub(super) fn write_whole(file: &OwnedFd, memory: &[u8], length: u64) -> Completion {
    let mut done = 0;
    while done < length {
        let piece = (length - done).min(memory.len() as u64) as usize;
        let written = rustix::io::write(file, &memory[..piece]).map_err(errno)?;
        if written < piece {
            return Err(Errno(libc::ENOSPC));
        }
        done += written as u64;
    }
    Ok(done)
}

/// Reads until the memory is full or the file ends.
pub(super) fn read_up_to(file: &OwnedFd, memory: &mut [u8]) -> Completion {
    let mut done = 0;
    while done < memory.len() {
        match rustix::io::read(file, &mut memory[done..]).map_err(errno)? {
            0 => break,
            read => done += read,
        }
    }
    Ok(done as u64)
}

#[inline(always)]
pub(super) fn zero_bytes(done: rustix::io::Result<()>) -> Completion {
    done.map(|()| 0).map_err(errno)
}

#[inline(always)]
pub(super) fn moved(done: rustix::io::Result<usize>) -> Completion {
    done.map(|bytes| bytes as u64).map_err(errno)
}
