//! The register's directory and files. They are private to the user, and trusted only if no other
//! user could have written to them.

use crate::trusted_path::{TrustedDir, UntrustedPath, mode};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

const PRIVATE_FILE: Mode = Mode::from_raw_mode(0o600);

/// Write permission of group and others.
const OTHERS_WRITE: u32 = 0o022;

/// A run writes only a few lines; one that holds the lock for longer has been stopped.
const LOCK_ATTEMPTS: u32 = 50;
const LOCK_ATTEMPT: Duration = Duration::from_millis(10);

/// Opens the register's directory for reading.
///
/// # Errors
/// The directory is missing, or other users can write to it or to a directory above it.
pub(super) fn open(directory: &Path) -> io::Result<TrustedDir> {
    TrustedDir::open(directory, rustix::process::geteuid().as_raw()).map_err(untrusted)
}

/// Opens the register's directory. Missing directories are created for this user alone.
///
/// # Errors
/// As [`open`]; also if a directory cannot be created.
pub(super) fn make(directory: &Path) -> io::Result<TrustedDir> {
    TrustedDir::create_private(directory).map_err(untrusted)
}

fn untrusted(error: UntrustedPath) -> io::Error {
    io::Error::new(error.io_kind().unwrap_or(io::ErrorKind::PermissionDenied), error)
}

/// Opens a file of the register for reading.
///
/// # Errors
/// The file is missing, is not a regular file, or other users could have written to it.
pub(super) fn open_file(dir: BorrowedFd<'_>, name: &str) -> io::Result<(File, Stat)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    checked(crate::raw_open::openat(dir, name, flags, Mode::empty())?)
}

/// Opens a file of the register for writing, and creates it if it is missing.
///
/// # Errors
/// As [`open_file`].
pub(super) fn open_to_write(dir: BorrowedFd<'_>, name: &str, flags: OFlags) -> io::Result<(File, Stat)> {
    let plain = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = crate::raw_open::openat(dir, name, plain | flags, PRIVATE_FILE)?;
    checked(fd)
}

fn checked(fd: OwnedFd) -> io::Result<(File, Stat)> {
    let stat = rustix::fs::fstat(&fd)?;
    let me = rustix::process::geteuid().as_raw();
    let is_private = (stat.st_uid == me || stat.st_uid == 0) && mode(&stat) & OTHERS_WRITE == 0;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || !is_private {
        return Err(io::Error::other("a file of the register belongs to or can be written by others"));
    }
    Ok((File::from(fd), stat))
}

/// Locks the register against other processes until the returned file is closed.
///
/// # Errors
/// The file cannot be locked, or another process does not release the lock in time.
pub(super) fn lock(dir: BorrowedFd<'_>) -> io::Result<File> {
    let (file, _) = open_to_write(dir, "lock", OFlags::empty())?;
    for attempt in 0.. {
        match rustix::fs::flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::WOULDBLOCK | Errno::INTR) if attempt < LOCK_ATTEMPTS => std::thread::sleep(LOCK_ATTEMPT),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(file)
}
