//! Resolves the path of an output to a descriptor, a stream, or a name in an opened directory.

use crate::raw_open;
use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The origin of an output's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameOrigin {
    /// A name that the user typed.
    Typed,
    /// A name that Plumb or a tool made up, and that other users can predict.
    MadeUp,
}

/// Flags of fstatat(2) that do not follow a link.
pub(super) const OF_NAME: AtFlags = AtFlags::SYMLINK_NOFOLLOW;

/// Maximum number of links that are followed one after another, as in the kernel. Source: path_resolution(7).
const LINKS_MAX: u32 = 40;

/// The place of an output.
pub(super) enum Place {
    /// A descriptor that this process inherited, such as `/dev/stdout`.
    Descriptor(i32),
    /// A pipe, a terminal, or a device that stores nothing.
    Stream(Stat),
    /// A name in a directory.
    Entry(Entry),
}

/// A name in an opened directory.
pub(super) struct Entry {
    dir: OwnedFd,
    pub(super) name: OsString,
}

impl Place {
    /// Resolves a typed path once. For a made-up path, only links to its directory are followed.
    pub(super) fn resolve(path: &Path, origin: NameOrigin) -> Result<Place, Errno> {
        if path.as_os_str().as_bytes().ends_with(b"/") {
            return Err(Errno::ISDIR);
        }
        let real = match origin {
            NameOrigin::MadeUp => path.to_owned(),
            NameOrigin::Typed => {
                if let Some(number) = descriptor(path) {
                    return Ok(Place::Descriptor(number));
                }
                if let Ok(stat) = rustix::fs::stat(path)
                    && let FileType::Fifo | FileType::Socket | FileType::CharacterDevice =
                        FileType::from_raw_mode(stat.st_mode)
                {
                    return Ok(Place::Stream(stat));
                }
                followed(path)?
            }
        };
        let name = real.file_name().ok_or(Errno::ISDIR)?.to_owned();
        let dir = open_directory(parent(&real))?;
        Ok(Place::Entry(Entry { dir, name }))
    }
}

/// Returns the directory of a path; `.` if the path is a bare name.
pub(super) fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the path with all symbolic links resolved. A missing file keeps its name in the resolved directory.
pub(super) fn followed(path: &Path) -> Result<PathBuf, Errno> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let errno = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        match path.canonicalize() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            found => return found.map_err(errno),
        }
        let name = path.file_name().ok_or(Errno::ISDIR)?;
        let real = parent(&path).canonicalize().map_err(errno)?.join(name);
        match rustix::fs::readlink(&real, Vec::new()) {
            Ok(target) => path = parent(&real).join(OsStr::from_bytes(target.as_bytes())),
            Err(_) => return Ok(real),
        }
    }
    Err(Errno::LOOP)
}

/// Returns the number in `/dev/stdout`, `/dev/stderr`, `/dev/fd/N` and `/proc/self/fd/N`.
fn descriptor(path: &Path) -> Option<i32> {
    match path.to_str()? {
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        text => {
            let number = text.strip_prefix("/dev/fd/").or_else(|| text.strip_prefix("/proc/self/fd/"))?;
            number.bytes().all(|byte| byte.is_ascii_digit()).then(|| number.parse().ok())?
        }
    }
}

fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    raw_open::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a pipe, a terminal or a sink; the caller checks the descriptor.
pub(super) fn open_stream(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    raw_open::open(path, flags, Mode::empty())
}

/// Opens a channel for reading and writing; the caller checks the descriptor.
pub(super) fn open_both_ways(path: &Path) -> Result<OwnedFd, Errno> {
    raw_open::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a kernel setting for writing; the caller checks the descriptor.
pub(super) fn open_setting(path: &Path) -> Result<OwnedFd, Errno> {
    raw_open::open(path, OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())
}

impl Entry {
    /// Returns the metadata of the entry; a link is not followed.
    pub(super) fn stat(&self) -> Result<Stat, Errno> {
        rustix::fs::statat(&self.dir, &self.name, OF_NAME)
    }

    /// Opens the file without following a link or truncating it.
    pub(super) fn open(&self, flags: OFlags) -> Result<File, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        raw_open::openat(&self.dir, &self.name, flags, Mode::empty()).map(File::from)
    }

    /// Creates the file for writing; fails with `EEXIST` if the name is taken, even by a link.
    pub(super) fn make(&self, mode: Mode) -> Result<File, Errno> {
        self.make_beside(&self.name, mode)
    }

    /// Creates a file under another name in the same directory.
    pub(super) fn make_beside(&self, name: &OsStr, mode: Mode) -> Result<File, Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        raw_open::openat(&self.dir, name, flags, mode).map(File::from)
    }

    /// Renames a file of the same directory to this name.
    pub(super) fn take_over(&self, name: &OsStr) -> Result<(), Errno> {
        rustix::fs::renameat(&self.dir, name, &self.dir, &self.name)
    }

    /// Removes another file of the same directory.
    pub(super) fn remove_beside(&self, name: &OsStr) {
        let _ = rustix::fs::unlinkat(&self.dir, name, AtFlags::empty());
    }

    /// Checks that a file could be created in the directory.
    pub(super) fn can_be_made(&self) -> Result<(), Errno> {
        rustix::fs::accessat(&self.dir, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
    }
}
