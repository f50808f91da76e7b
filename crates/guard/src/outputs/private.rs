//! Files and directories of state: for their owner alone, whatever the umask.

use rustix::fs::{FileType, Mode, OFlags};
use std::fs::DirBuilder;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Permission bits of others than the owner.
const OTHERS: Mode = Mode::RWXG.union(Mode::RWXO);

/// Makes a directory of state, with its parents, mode 0700. An existing one that belongs to this user is closed to others: earlier
/// versions made it by the umask.
///
/// # Errors
/// The system's own.
pub fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    make_private(open_to_read(path, OFlags::DIRECTORY)?)
}

/// Takes the permissions of others off an opened file or directory that belongs to this user. Those of another user stay.
///
/// # Errors
/// The system's own.
pub fn make_private(file: impl AsFd) -> io::Result<()> {
    let stat = rustix::fs::fstat(&file)?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    let is_own = stat.st_uid == rustix::process::geteuid().as_raw();
    // With a hostile umask the owner's own bits are missing too.
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
