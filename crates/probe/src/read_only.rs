//! Opens files and directories for reading only.

use rustix::fs::{Mode, OFlags};
use rustix::io::Result;
use std::os::fd::{AsFd, OwnedFd};

/// Flags that allow writing to a file or creating it.
const WRITING: OFlags = OFlags::WRONLY
    .union(OFlags::RDWR)
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::TRUNC)
    .union(OFlags::APPEND);

fn reading(flags: OFlags) -> OFlags {
    (flags - WRITING) | OFlags::CLOEXEC
}

/// Opens a path for reading, with further `flags` of open(2); flags for writing are dropped.
///
/// # Errors
/// Returns the error of open(2).
#[expect(clippy::disallowed_methods, reason = "without any flag for writing")]
pub fn open(path: impl rustix::path::Arg, flags: OFlags) -> Result<OwnedFd> {
    rustix::fs::open(path, reading(flags), Mode::empty())
}

/// Opens a path relative to a directory for reading, like [`open`].
///
/// # Errors
/// Returns the error of openat(2).
#[expect(clippy::disallowed_methods, reason = "without any flag for writing")]
pub fn openat(directory: impl AsFd, path: impl rustix::path::Arg, flags: OFlags) -> Result<OwnedFd> {
    rustix::fs::openat(directory, path, reading(flags), Mode::empty())
}
