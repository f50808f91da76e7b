//! The calls' view of a file set: paths below its root, and operations that only file sets have.
//!
//! Nothing outside the tree is touched: every directory is opened beneath the root given at the start, and
//! symbolic links are not followed. Files are created with `O_CREAT|O_EXCL` and `RENAME_NOREPLACE`, so that
//! existing files are never replaced or truncated.
//!
//! File sets use the page cache: `O_DIRECT` is for block I/O, where offsets and sizes are aligned. A read or write that
//! moves fewer bytes than requested reports the number moved. After a short write (a full file system), the source
//! assumes that the file is longer than it is, and a later append leaves a hole.

use crate::backend::{Completion, Errno};
use crate::open_dirs::{DirAndName, OpenDirs};
use crate::program::descriptor::{close, errno};
use crate::program::op::CallOp;
use crate::tree::{ExtraDirectory, FileId, PathBuffer, PathWriter, TreeShape};
use plumb_workload::OpKind;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::sync::Arc;

/// Buffer size for directory entries, the same as that of the C library's `readdir`.
const ENTRIES_BYTES: usize = 32 << 10;

/// Maximum number of directories that are kept open for second names.
const OTHER_DIRECTORIES: u64 = 64;

/// The root of a file set, and the paths of the current op below it.
pub(in crate::program) struct SetPlace {
    /// Open directories below the root, and below the root of the set that files are copied to.
    dirs: OpenDirs,
    /// Open directories for the second name of an op.
    others: OpenDirs,
    /// Path of the root, for messages.
    pub(in crate::program) place: PathBuf,
    /// Path of the root of the set that files are copied to.
    copies: Option<PathBuf>,
    /// Whether the current op is on a copy.
    is_on_copy: bool,
    shape: Arc<TreeShape>,
    path: PathWriter,
    other: PathWriter,
    entries: Box<[MaybeUninit<u8>]>,
    rename: Rename,
}

/// Call that renames files: not every file system supports `RENAME_NOREPLACE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rename {
    NoReplace,
    Plain,
}

impl SetPlace {
    pub(in crate::program) fn new(
        root: OwnedFd,
        place: PathBuf,
        copies: Option<(OwnedFd, PathBuf)>,
        shape: Arc<TreeShape>,
    ) -> std::io::Result<SetPlace> {
        let (there, copies) = copies.unzip();
        let roots: Vec<OwnedFd> = std::iter::once(root).chain(there).collect();
        let again = roots.iter().map(OwnedFd::try_clone).collect::<Result<Vec<_>, _>>()?;
        Ok(SetPlace {
            dirs: OpenDirs::below(roots, shape.leaves()),
            others: OpenDirs::below(again, shape.leaves().min(OTHER_DIRECTORIES)),
            place,
            copies,
            is_on_copy: false,
            path: PathWriter::new(shape.clone()),
            other: PathWriter::new(shape.clone()),
            shape,
            entries: vec![MaybeUninit::uninit(); ENTRIES_BYTES].into_boxed_slice(),
            rename: if cfg!(target_os = "linux") { Rename::NoReplace } else { Rename::Plain },
        })
    }

    /// Writes the paths of an op, before the clock is read.
    #[inline]
    pub(in crate::program) fn write_paths(&mut self, op: &CallOp) {
        self.is_on_copy = op.is_on_copy();
        match op.kind {
            OpKind::Read
            | OpKind::Write
            | OpKind::Close
            | OpKind::Fsync
            | OpKind::Fdatasync
            | OpKind::Truncate
            | OpKind::Fallocate
            | OpKind::Delay => return,
            OpKind::Symlink => {
                self.path.write(|shape, path| shape.write_link(FileId(op.file), path));
                self.other.write_file(FileId(op.other));
            }
            OpKind::Rename | OpKind::Link => {
                self.path.write_file(FileId(op.file));
                self.other.write_file(FileId(op.other));
            }
            OpKind::Readdir | OpKind::Mkdir | OpKind::Rmdir => {
                self.path.write(|shape, path| write_path(shape, op, path));
            }
            _ => self.path.write_file(FileId(op.file)),
        }
        let base = self.base();
        match op.kind {
            // The first path is the content of the link.
            OpKind::Symlink => {}
            _ => self.dirs.warm(base, self.path.as_c_str()),
        }
        if matches!(op.kind, OpKind::Symlink | OpKind::Rename | OpKind::Link) {
            self.others.warm(base, self.other.as_c_str());
        }
    }

    /// Returns the number of the root for the current op.
    #[inline]
    fn base(&self) -> u32 {
        u32::from(self.is_on_copy && self.copies.is_some())
    }

    /// Runs `call` on the directory and the name of the current op.
    #[inline]
    pub(in crate::program) fn call<T>(
        &mut self,
        call: impl FnMut(BorrowedFd<'_>, &CStr) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        self.dirs.call(self.base(), self.path.as_c_str(), call)
    }

    /// Creates a symbolic link under the op's second name; its content is the first path.
    pub(in crate::program) fn symlink(&mut self) -> Result<(), Errno> {
        let base = self.base();
        let content = self.path.as_c_str();
        self.others.call(base, self.other.as_c_str(), |dir, name| rustix::fs::symlinkat(content, dir, name))
    }

    /// Runs `call` on both names of the current op.
    pub(in crate::program) fn call_two<T>(
        &mut self,
        call: impl Fn(DirAndName<'_>, DirAndName<'_>) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        let base = self.base();
        let SetPlace { dirs, others, path, other, .. } = self;
        dirs.call(base, path.as_c_str(), |dir, name| match others.at(base, other.as_c_str()) {
            Ok(place) => call((dir, name), (place.dir, place.name)),
            Err(error) => Err(rustix::io::Errno::from_raw_os_error(error.0)),
        })
    }

    /// Returns the path of any op, for messages.
    pub(in crate::program) fn path_of(&self, op: &CallOp) -> PathBuf {
        let mut path = PathBuffer::new();
        write_path(&self.shape, op, &mut path);
        let place = match &self.copies {
            Some(place) if op.is_on_copy() => place,
            _ => &self.place,
        };
        place.join(path.as_path())
    }

    pub(in crate::program) fn renamed(&mut self) -> Completion {
        #[cfg(target_os = "linux")]
        if self.rename == Rename::NoReplace {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            let renamed = self.call_two(|(from, old), (to, new)| rustix::fs::renameat_with(from, old, to, new, flags));
            match renamed {
                // The file system does not support the flag, rename(2).
                Err(Errno(libc::EINVAL | libc::ENOSYS)) => self.rename = Rename::Plain,
                done => return done.map(|()| 0),
            }
        }
        self.call_two(|(from, old), (to, new)| rustix::fs::renameat(from, old, to, new)).map(|()| 0)
    }

    #[cfg(target_os = "linux")]
    pub(in crate::program) fn read_directory(&mut self) -> Completion {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = self.call(|dir, name| crate::raw_open::openat(dir, name, flags, Mode::empty()))?;
        let mut entries = rustix::fs::RawDir::new(directory.as_fd(), &mut self.entries);
        while let Some(entry) = entries.next() {
            entry.map_err(errno)?;
        }
        close(directory)
    }

    #[cfg(not(target_os = "linux"))]
    pub(in crate::program) fn read_directory(&mut self) -> Completion {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = self.call(|dir, name| crate::raw_open::openat(dir, name, flags, Mode::empty()))?;
        for entry in rustix::fs::Dir::new(directory).map_err(errno)? {
            entry.map_err(errno)?;
        }
        Ok(0)
    }
}

fn write_path(shape: &TreeShape, op: &CallOp, path: &mut PathBuffer) {
    match op.kind {
        OpKind::Readdir => shape.write_leaf(op.file, path),
        OpKind::Mkdir | OpKind::Rmdir => shape.write_extra(ExtraDirectory::unpack(FileId(op.file)), path),
        _ => shape.write_path(FileId(op.file), path),
    }
}
