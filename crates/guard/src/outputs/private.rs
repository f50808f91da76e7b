//! State files and directories that only their owner can access, regardless of the umask.

use rustix::fs::{FileType, Mode, OFlags};
use std::fs::DirBuilder;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Permission bits of group and others.
const OTHERS: Mode = Mode::RWXG.union(Mode::RWXO);

/// Creates a directory for state, and its parents, with mode 0700. If it exists and belongs to this user, others lose access:
/// earlier versions left its mode to the umask.
///
/// # Errors
/// The error of mkdir(2), open(2) or fchmod(2).
pub fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    make_private(open_to_read(path, OFlags::DIRECTORY)?)
}

/// Removes the permissions of group and others from an open file or directory of this user's. Another user's is left unchanged.
///
/// # Errors
/// The error of fstat(2) or fchmod(2).
pub fn make_private(file: impl AsFd) -> io::Result<()> {
    let stat = rustix::fs::fstat(&file)?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    let is_own = stat.st_uid == rustix::process::geteuid().as_raw();
    // A umask such as 0777 removes the owner's bits too.
    let owner = if FileType::from_raw_mode(stat.st_mode).is_dir() { Mode::RWXU } else { Mode::empty() };
    let wanted = (mode - OTHERS) | owner;
    if is_own && wanted != mode {
        rustix::fs::fchmod(&file, wanted)?;
    }
    Ok(())
}

pub(super) fn open_to_read(path: &Path, flags: OFlags) -> io::Result<std::fs::File> {
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(plumb_probe::read_only::open(path, flags)?.into())
}
