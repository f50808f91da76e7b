//! Keeps a part of a file system free while its files grow.

use crate::backend::Errno;
use crate::guard::space::Space;
use crate::program::descriptor::errno;
use std::os::fd::{AsFd, BorrowedFd};

/// All workers together write at most this much between two checks, bytes.
const CHECK_BYTES_MAX: u64 = 64 << 20;

/// On a small file system, all workers together write at most 1 / `CHECK_PART` of its size between two checks. This is
/// a fifth of the 5 % that stay free.
const CHECK_PART: u64 = 100;

/// One worker writes at least this much between two checks, bytes, because a check costs about a microsecond.
const CHECK_BYTES_MIN: u64 = 64 << 10;

/// Free space policy of one file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    /// Bytes that all workers together write between two checks; `None` if the file system may
    /// be filled, or has no size.
    check_bytes: Option<u64>,
}

impl Room {
    /// Creates the policy for the file system of a directory.
    pub(super) fn for_directory(directory: BorrowedFd<'_>, may_be_filled: bool) -> rustix::io::Result<Room> {
        let space = if may_be_filled { None } else { Space::read(directory)? };
        Ok(Room { check_bytes: space.map(|space| (space.size_bytes / CHECK_PART).min(CHECK_BYTES_MAX)) })
    }

    /// Returns `true` if one of `workers` must check after writing this many bytes.
    #[inline]
    pub(super) fn is_checked_after(self, written: u64, workers: u32) -> bool {
        let each = |all: u64| (all / u64::from(workers.max(1))).max(CHECK_BYTES_MIN);
        self.check_bytes.is_some_and(|all| written >= each(all))
    }

    /// Checks that more may be written.
    ///
    /// # Errors
    /// `ENOSPC` if only the reserve is left.
    pub(super) fn check(self, directory: impl AsFd) -> Result<(), Errno> {
        match Space::read(directory).map_err(errno)? {
            Some(space) if space.headroom_bytes() == 0 => Err(Errno(libc::ENOSPC)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects: more workers check more often; a file system that may be filled is never checked.
    #[test]
    fn workers_check_together() {
        let room = Room { check_bytes: Some(64 << 20) };
        assert!(!room.is_checked_after((64 << 20) - 1, 1) && room.is_checked_after(64 << 20, 1));
        assert!(room.is_checked_after(1 << 20, 64) && !room.is_checked_after((1 << 20) - 1, 64));
        assert!(!room.is_checked_after(CHECK_BYTES_MIN - 1, u32::MAX));
        let directory = tempfile::tempdir().unwrap();
        let fd = std::fs::File::open(directory.path()).unwrap();
        assert!(!Room::for_directory(fd.as_fd(), true).unwrap().is_checked_after(u64::MAX, 1));
        assert!(Room::for_directory(fd.as_fd(), false).unwrap().is_checked_after(u64::MAX, 1));
    }
}
