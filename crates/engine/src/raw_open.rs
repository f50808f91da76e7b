//! Calls of open(2) on targets, after the write guard has admitted the directory or file. Private to this crate.

use rustix::fs::{Mode, OFlags};
use rustix::io::Result;
use rustix::path::Arg;
use std::os::fd::{AsFd, OwnedFd};

#[expect(clippy::disallowed_methods, reason = "opens targets that the write guard admitted")]
pub(crate) fn open(path: impl Arg, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    rustix::fs::open(path, flags, mode)
}

#[expect(clippy::disallowed_methods, reason = "opens targets that the write guard admitted")]
pub(crate) fn openat(directory: impl AsFd, path: impl Arg, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    rustix::fs::openat(directory, path, flags, mode)
}
