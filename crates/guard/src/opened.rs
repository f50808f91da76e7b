//! Files and directories that have passed the guard. From then on, only their descriptors are used.

use super::Refusal;
use super::os;
use super::path_resolution::Identity;
use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Use of the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IoMode {
    /// Through the page cache.
    #[default]
    Buffered,
    /// Around the page cache, with `O_DIRECT`.
    Direct,
}

/// Access for opening a descriptor again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    ReadWrite,
}

/// The reason why the guard let a file pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassReason {
    /// It was just created.
    Made,
    /// Plumb created it earlier.
    TestData,
    /// Another owner's file that was blank when this run took it.
    Blank,
    /// The user named it, or a directory that contains it.
    Allowed,
    /// A block device named by its serial, or a loop device that was blank.
    Device,
    /// A system device that discards writes, such as `/dev/null`.
    Sink,
}

/// An open file or device that passed the guard, for reading and writing.
#[derive(Debug)]
pub struct GuardedFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) origin: PassReason,
    pub(super) identity: Identity,
    /// The file's directory and its name there, for removal; `None` for a device.
    pub(super) entry: Option<DirectoryEntry>,
}

#[derive(Debug)]
pub(super) struct DirectoryEntry {
    pub(super) dir: OwnedFd,
    pub(super) name: OsString,
}

/// A directory inside a test directory, in which everything is test data. A program creates and removes
/// files in it by names relative to the descriptor, and never through symbolic links (`O_NOFOLLOW`). It does
/// not need the guard for that.
#[derive(Debug)]
pub struct GuardedDir {
    pub(super) fd: OwnedFd,
    pub(super) path: PathBuf,
}

impl GuardedFile {
    /// Returns the file. Its offset is its own; prefer calls with explicit offsets.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the path for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the reason why it passed.
    pub fn origin(&self) -> PassReason {
        self.origin
    }

    /// Switches this descriptor between the page cache and `O_DIRECT`.
    ///
    /// # Errors
    /// [`Refusal::NoDirect`] if the file system has no `O_DIRECT`.
    pub fn set_mode(&self, mode: IoMode) -> Result<(), Refusal> {
        set_mode(self.file.as_fd(), &self.path, mode)
    }

    /// Opens the same file again, with its own offset and read-ahead. Uses the descriptor instead of the name, so
    /// that it cannot be another file.
    ///
    /// # Errors
    /// [`Refusal::NoDirect`]; [`Refusal::Io`], for example without /proc on Linux.
    pub fn again(&self, access: Access, mode: IoMode) -> Result<File, Refusal> {
        open_again(self.file.as_fd(), &self.path, access, mode)
    }

    /// Removes the file if it is test data and its name still refers to it. Files that the user named
    /// stay, and so do devices.
    ///
    /// # Errors
    /// [`Refusal::Swapped`] if the name now refers to another file; [`Refusal::Io`].
    pub fn remove(&self) -> Result<(), Refusal> {
        let Some(entry) =
            self.entry.as_ref().filter(|_| matches!(self.origin, PassReason::Made | PassReason::TestData))
        else {
            return Ok(());
        };
        match rustix::fs::statat(&entry.dir, &entry.name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(Refusal::io(&self.path, "look at it")(error)),
            Ok(stat) if Identity::from_stat(&stat) != self.identity => {
                Err(Refusal::Swapped { path: self.path.clone(), found: "another file is there now".to_owned() })
            }
            Ok(_) => rustix::fs::unlinkat(&entry.dir, &entry.name, AtFlags::empty())
                .map_err(Refusal::io(&self.path, "remove it")),
        }
    }
}

impl AsFd for GuardedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl GuardedDir {
    /// Returns the path for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for GuardedDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Sets whether reads and writes of an open file bypass the page cache.
///
/// # Errors
/// [`Refusal::NoDirect`], [`Refusal::Io`].
pub fn set_mode(fd: BorrowedFd<'_>, path: &Path, mode: IoMode) -> Result<(), Refusal> {
    let flags = rustix::fs::fcntl_getfl(fd).map_err(Refusal::io(path, "read its flags"))?;
    let wanted = match mode {
        IoMode::Buffered => flags - OFlags::DIRECT,
        IoMode::Direct => flags | OFlags::DIRECT,
    };
    rustix::fs::fcntl_setfl(fd, wanted).map_err(|error| match error {
        Errno::INVAL => Refusal::NoDirect { path: path.to_owned() },
        error => Refusal::io(path, "set its flags")(error),
    })
}

/// Opens an open file again.
///
/// # Errors
/// [`Refusal::NoDirect`], [`Refusal::Io`].
pub fn open_again(fd: BorrowedFd<'_>, path: &Path, access: Access, mode: IoMode) -> Result<File, Refusal> {
    let flags = match access {
        Access::Read => OFlags::RDONLY,
        Access::ReadWrite => OFlags::RDWR,
    };
    let again = os::reopen(fd, flags).map_err(Refusal::io(path, os::REOPEN))?;
    set_mode(again.as_fd(), path, mode)?;
    Ok(File::from(again))
}

/// Opens an open file again, with flags that can only be set on opening.
///
/// # Errors
/// [`Refusal::NoDirect`], [`Refusal::Io`].
pub fn open_again_as(fd: BorrowedFd<'_>, path: &Path, access: Access, flags: OFlags) -> Result<File, Refusal> {
    let access = match access {
        Access::Read => OFlags::RDONLY,
        Access::ReadWrite => OFlags::RDWR,
    };
    os::reopen(fd, access | flags).map(File::from).map_err(|error| match error {
        Errno::INVAL if flags.contains(OFlags::DIRECT) => Refusal::NoDirect { path: path.to_owned() },
        error => Refusal::io(path, os::REOPEN)(error),
    })
}
