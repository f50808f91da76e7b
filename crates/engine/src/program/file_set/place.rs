//! A file set as calls see it: paths below its root, and what only file sets know.
//!
//! Nothing outside the tree is touched: every path is relative to the directory given at the start, no last component
//! is followed where it is a symbolic link, and files come into existence by `O_CREAT|O_EXCL` and
//! `RENAME_NOREPLACE`, so that nothing that exists is ever replaced or truncated.
//!
//! File sets go through the page cache: `O_DIRECT` is for block I/O, where offsets and sizes are aligned. A read or write
//! that moves fewer bytes than asked for is reported as what it moved; after a short write (a full file system) the source
//! believes the file longer than it is, and a later append leaves a hole.

use crate::backend::Completion;
use crate::program::descriptor::{close, errno, nothing};
use crate::program::op::CallOp;
use crate::tree::{ExtraDirectory, FileId, PathBuffer, PathWriter, TreeShape};
use plumb_workload::OpKind;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::sync::Arc;

/// Room for the entries of a directory, as the C library's `readdir` has it.
const ENTRIES_BYTES: usize = 32 << 10;

/// The root of a file set, and the paths of the op at hand below it.
pub(in crate::program) struct SetPlace {
    root: OwnedFd,
    /// Path of the root, for messages.
    pub(in crate::program) place: PathBuf,
    /// The root of the set that files are copied to.
    copies: Option<(OwnedFd, PathBuf)>,
    /// The op at hand is on a copy.
    is_there: bool,
    shape: Arc<TreeShape>,
    path: PathWriter,
    other: PathWriter,
    entries: Box<[MaybeUninit<u8>]>,
    rename: Rename,
}

/// How files are renamed: not every file system knows the flag.
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
    ) -> SetPlace {
        SetPlace {
            root,
            place,
            copies,
            is_there: false,
            path: PathWriter::new(shape.clone()),
            other: PathWriter::new(shape.clone()),
            shape,
            entries: vec![MaybeUninit::uninit(); ENTRIES_BYTES].into_boxed_slice(),
            rename: if cfg!(target_os = "linux") { Rename::NoReplace } else { Rename::Plain },
        }
    }

    /// Writes the paths of an op, before the clock is read.
    #[inline]
    pub(in crate::program) fn write_paths(&mut self, op: &CallOp) {
        self.is_there = op.is_there();
        match op.kind {
            OpKind::Read
            | OpKind::Write
            | OpKind::Close
            | OpKind::Fsync
            | OpKind::Fdatasync
            | OpKind::Truncate
            | OpKind::Fallocate
            | OpKind::Delay => {}
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
    }

    /// The root that the path of the op at hand begins at.
    #[inline]
    pub(in crate::program) fn root(&self) -> BorrowedFd<'_> {
        match &self.copies {
            Some((root, _)) if self.is_there => root.as_fd(),
            _ => self.root.as_fd(),
        }
    }

    /// The path of the op at hand.
    #[inline]
    pub(in crate::program) fn path(&self) -> &CStr {
        self.path.as_c_str()
    }

    /// Its new name, where it has one.
    #[inline]
    pub(in crate::program) fn other(&self) -> &CStr {
        self.other.as_c_str()
    }

    /// The path of any op, for messages.
    pub(in crate::program) fn path_of(&self, op: &CallOp) -> PathBuf {
        let mut path = PathBuffer::new();
        write_path(&self.shape, op, &mut path);
        let place = match &self.copies {
            Some((_, place)) if op.is_there() => place,
            _ => &self.place,
        };
        place.join(path.as_path())
    }

    pub(in crate::program) fn renamed(&mut self) -> Completion {
        #[cfg(target_os = "linux")]
        if self.rename == Rename::NoReplace {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            let (from, to) = (self.path.as_c_str(), self.other.as_c_str());
            match rustix::fs::renameat_with(&self.root, from, &self.root, to, flags) {
                // What a file system that does not know the flag says, rename(2).
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => self.rename = Rename::Plain,
                done => return nothing(done),
            }
        }
        nothing(rustix::fs::renameat(&self.root, self.path.as_c_str(), &self.root, self.other.as_c_str()))
    }

    #[cfg(target_os = "linux")]
    pub(in crate::program) fn read_directory(&mut self) -> Completion {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory =
            crate::raw_open::openat(&self.root, self.path.as_c_str(), flags, Mode::empty()).map_err(errno)?;
        let mut entries = rustix::fs::RawDir::new(directory.as_fd(), &mut self.entries);
        while let Some(entry) = entries.next() {
            entry.map_err(errno)?;
        }
        close(directory)
    }

    #[cfg(not(target_os = "linux"))]
    pub(in crate::program) fn read_directory(&mut self) -> Completion {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory =
            crate::raw_open::openat(&self.root, self.path.as_c_str(), flags, Mode::empty()).map_err(errno)?;
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
