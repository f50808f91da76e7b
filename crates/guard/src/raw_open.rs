//! The guard's own calls of open(2); the guard checks the descriptors. Other crates cannot use them.

use rustix::fs::{Mode, OFlags};
use rustix::io::Result;
use rustix::path::Arg;
use std::os::fd::{AsFd, OwnedFd};

#[expect(clippy::disallowed_methods, reason = "the guard judges the descriptor before anything is written")]
pub(crate) fn open(path: impl Arg, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    rustix::fs::open(path, flags, mode)
}

#[expect(clippy::disallowed_methods, reason = "the guard judges the descriptor before anything is written")]
pub(crate) fn openat(directory: impl AsFd, path: impl Arg, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    rustix::fs::openat(directory, path, flags, mode)
}

#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the guard judges the descriptor before anything is written")]
pub(crate) fn openat2(
    directory: impl AsFd,
    path: impl Arg,
    flags: OFlags,
    mode: Mode,
    resolve: rustix::fs::ResolveFlags,
) -> Result<OwnedFd> {
    rustix::fs::openat2(directory, path, flags, mode, resolve)
}
