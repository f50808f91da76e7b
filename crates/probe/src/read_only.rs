//! Opening files and directories for reading. Nothing opened here can be written or made.

use rustix::fs::{Mode, OFlags};
use rustix::io::Result;
use std::os::fd::{AsFd, OwnedFd};

/// Flags with which an open file could be written, or a missing one made.
const WRITING: OFlags = OFlags::WRONLY
    .union(OFlags::RDWR)
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::TRUNC)
    .union(OFlags::APPEND);

fn reading(flags: OFlags) -> OFlags {
    (flags - WRITING) | OFlags::CLOEXEC
}

/// Opens a path for reading, with further `flags` of open(2); those for writing are left out.
///
/// # Errors
/// The system's own.
#[expect(clippy::disallowed_methods, reason = "without any flag for writing")]
pub fn open(path: impl rustix::path::Arg, flags: OFlags) -> Result<OwnedFd> {
    rustix::fs::open(path, reading(flags), Mode::empty())
}

/// The same for a path below an opened directory.
///
/// # Errors
/// The system's own.
#[expect(clippy::disallowed_methods, reason = "without any flag for writing")]
pub fn openat(directory: impl AsFd, path: impl rustix::path::Arg, flags: OFlags) -> Result<OwnedFd> {
    rustix::fs::openat(directory, path, reading(flags), Mode::empty())
}
