//! What has passed the guard: open files and directories, which from then on go by their descriptors alone.

use super::Refusal;
use super::os;
use super::path_resolution::Identity;
use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Through the page cache or around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IoMode {
    /// Through it.
    #[default]
    Buffered,
    /// Around it: `O_DIRECT`.
    Direct,
}

/// For what a descriptor is opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Reading and writing.
    ReadWrite,
}

/// Why the guard let a file pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassReason {
    /// It was made just now.
    Made,
    /// Plumb made it earlier.
    TestData,
    /// Somebody else made it, and it held nothing when this run took it.
    Blank,
    /// The user named it, or a directory that it lies in.
    Allowed,
    /// A block device, named by its serial, or a loop device that held nothing.
    Device,
    /// A device of the system that forgets what is written, such as `/dev/null`.
    Sink,
}

/// An open file or device that passed the guard, readable and writable.
#[derive(Debug)]
pub struct GuardedFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) origin: PassReason,
    pub(super) identity: Identity,
    /// The directory in which it lies and its name there, for removal; none for a device.
    pub(super) entry: Option<DirectoryEntry>,
}

#[derive(Debug)]
pub(super) struct DirectoryEntry {
    pub(super) dir: OwnedFd,
    pub(super) name: OsString,
}

/// A directory inside a test directory, in which everything is test data: a flow makes and removes files in it by names
/// relative to the descriptor, never through symbolic links (`O_NOFOLLOW`), and needs to ask the guard no more.
#[derive(Debug)]
pub struct GuardedDir {
    pub(super) fd: OwnedFd,
    pub(super) path: PathBuf,
}

impl GuardedFile {
    /// The file; its offset is its own, and position-less calls are best.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why it was let pass.
    pub fn origin(&self) -> PassReason {
        self.origin
    }

    /// Switches between the page cache and `O_DIRECT`, for this descriptor.
    ///
    /// # Errors
    /// [`Refusal::NoDirect`] where the file system has no `O_DIRECT`.
    pub fn set_mode(&self, mode: IoMode) -> Result<(), Refusal> {
        set_mode(self.file.as_fd(), &self.path, mode)
    }

    /// Opens the same file once more, with an offset and a read-ahead of its own. It goes by the open file, not by its
    /// name, so that it cannot be another one.
    ///
    /// # Errors
    /// [`Refusal::NoDirect`], or [`Refusal::Io`], as without /proc on Linux.
    pub fn again(&self, access: Access, mode: IoMode) -> Result<File, Refusal> {
        open_again(self.file.as_fd(), &self.path, access, mode)
    }

    /// Removes the file if it is test data, and if its name still means it. What the user named stays, as do devices.
    ///
    /// # Errors
    /// [`Refusal::Swapped`] if something else bears its name now; [`Refusal::Io`].
    pub fn remove(&self) -> Result<(), Refusal> {
        let Some(entry) =
            self.entry.as_ref().filter(|_| matches!(self.origin, PassReason::Made | PassReason::TestData))
        else {
            return Ok(());
        };
        match rustix::fs::statat(&entry.dir, &entry.name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(Refusal::io(&self.path, "look at it")(error)),
            Ok(stat) if Identity::of(&stat) != self.identity => {
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
    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for GuardedDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Sets whether an open file's reads and writes go around the page cache.
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

/// Opens an open file once more.
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

/// Opens an open file once more, with flags that have to be given when it is opened.
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
