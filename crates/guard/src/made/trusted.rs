//! The register's directory and files: private to the user, and believed only while nobody else could have written there.

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

const PRIVATE_FILE: Mode = Mode::from_raw_mode(0o600);

/// Write permission of the group, and of others.
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// In such a directory, only the owner of an entry renames or removes it.
const STICKY: u32 = 0o1000;

/// Another run writes a few lines; one that holds the lock longer than this was stopped.
const LOCK_ATTEMPTS: u32 = 50;
const LOCK_ATTEMPT: Duration = Duration::from_millis(10);

/// Opens the register's directory for reading.
///
/// # Errors
/// It is missing, or others can write to it or to a directory above it.
pub(super) fn open(directory: &Path) -> io::Result<OwnedFd> {
    let real = fs::canonicalize(directory)?;
    let me = rustix::process::geteuid().as_raw();
    for (number, above) in real.ancestors().enumerate() {
        let meta = fs::symlink_metadata(above)?;
        if !is_safe(meta.uid(), meta.mode(), me, number == 0) {
            return Err(io::Error::other(format!("{} belongs to or can be written by others", above.display())));
        }
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(crate::raw_open::open(&real, flags, Mode::empty())?)
}

/// Whether only the user and root decide what lies in a directory. A group's directory is the user's where the user is not
/// root: many systems give each user a group.
fn is_safe(owner: u32, mode: u32, me: u32, is_last: bool) -> bool {
    let others = if me == 0 || is_last { GROUP_WRITES | OTHERS_WRITE } else { OTHERS_WRITE };
    (owner == me || owner == 0) && (mode & others == 0 || (!is_last && mode & STICKY != 0))
}

/// Opens the register's directory for writing, and makes it, with what is missing above it, for this user alone.
///
/// # Errors
/// As [`open`], and where it cannot be made.
pub(super) fn make(directory: &Path) -> io::Result<OwnedFd> {
    match open(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    // The umask takes bits away that the owner needs, and never adds any.
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
    open(directory)
}

/// Opens a file of the register for reading.
///
/// # Errors
/// It is missing, is no file, or others could have written to it.
pub(super) fn open_file(dir: BorrowedFd<'_>, name: &str) -> io::Result<(File, Stat)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    checked(crate::raw_open::openat(dir, name, flags, Mode::empty())?)
}

/// Opens a file of the register for writing, and makes it where it is missing.
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
    let is_private = (stat.st_uid == me || stat.st_uid == 0) && stat.st_mode & (GROUP_WRITES | OTHERS_WRITE) == 0;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || !is_private {
        return Err(io::Error::other("a file of the register belongs to or can be written by others"));
    }
    Ok((File::from(fd), stat))
}

/// Keeps other processes from writing to the register until the file is closed.
///
/// # Errors
/// It cannot be locked, or somebody else does not release it.
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

#[cfg(test)]
mod tests {
    use super::*;

    // Protects root from a register that another user can write, and users from that of others.
    #[test]
    fn only_directories_of_the_user_and_root_that_others_cannot_change_are_safe() {
        for (owner, mode, me, is_last, safe) in [
            (0, 0o755, 0, false, true),
            (0, 0o700, 0, true, true),
            (1000, 0o755, 0, false, false),
            (0, 0o775, 0, false, false),
            (0, 0o777, 0, false, false),
            (0, 0o1777, 0, false, true),
            (0, 0o1777, 0, true, false),
            (1000, 0o755, 1000, true, true),
            (1000, 0o775, 1000, false, true),
            (1000, 0o775, 1000, true, false),
            (0, 0o755, 1000, false, true),
            (1001, 0o755, 1000, false, false),
            (1000, 0o757, 1000, false, false),
        ] {
            assert_eq!(is_safe(owner, mode, me, is_last), safe, "{owner} {mode:o} as {me}, last: {is_last}");
        }
    }
}
