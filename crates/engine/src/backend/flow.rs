//! Executes the ops of a flow, each as the system call that a program would make, relative to the root of the tree.
//!
//! Paths are written and content is made before the clock starts; between its two readings there is the system call.
//! Nothing outside the tree is touched: every path is relative to the directory given at the start, no last component
//! is followed where it is a symbolic link, and files come into existence by `O_CREAT|O_EXCL` and
//! `RENAME_NOREPLACE`, so that nothing that exists is ever replaced or truncated.
//!
//! Flows go through the page cache: `O_DIRECT` is for block I/O, where offsets and sizes are aligned. A read or write
//! that moves fewer bytes than asked for is reported as what it moved; after a short write (a full file system) the source
//! believes the file longer than it is, and a later append leaves a hole.

#![allow(unsafe_code)]

use super::{Completion, Errno, SyncBackend, Unfinished};
use crate::source::flow::{Access, FileMode, FlowOp, Program};
use crate::tree::{ExtraDirectory, PathBuffer, PathWriter, TreeShape};
use plumb_workload::OpKind;
use rustix::fd::{AsFd, IntoRawFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::sync::Arc;

/// Room for the entries of a directory, as the C library's `readdir` has it.
const ENTRIES_BYTES: usize = 32 << 10;
/// Longest content of a symbolic link that is read.
const LINK_BYTES: usize = 4096;

/// Executes [`FlowOp`]s. `F` makes the content of each write; it is told the op, and given the bytes that it will write.
pub(crate) struct FlowBackend<F> {
    root: OwnedFd,
    /// Path of the root, for messages.
    place: PathBuf,
    shape: Arc<TreeShape>,
    handles: Vec<Option<OwnedFd>>,
    path: PathWriter,
    other: PathWriter,
    content: F,
    write_buffer: Box<[u8]>,
    read_buffer: Box<[u8]>,
    entries: Box<[MaybeUninit<u8>]>,
    rename: Rename,
}

/// How files are renamed: not every file system knows the flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rename {
    NoReplace,
    Plain,
}

impl<F: FnMut(&FlowOp, &mut [u8])> FlowBackend<F> {
    /// A backend for one worker that runs `program` over the tree whose root directory is `root`.
    pub(crate) fn new(root: OwnedFd, shape: Arc<TreeShape>, program: &Program, content: F) -> FlowBackend<F> {
        let request = program.max_request() as usize;
        FlowBackend {
            root,
            path: PathWriter::new(shape.clone()),
            other: PathWriter::new(shape.clone()),
            place: PathBuf::new(),
            shape,
            handles: (0..program.handles()).map(|_| None).collect(),
            content,
            write_buffer: vec![0; request].into_boxed_slice(),
            // At least what `readlink` reads.
            read_buffer: vec![0; request.max(LINK_BYTES)].into_boxed_slice(),
            entries: vec![MaybeUninit::uninit(); ENTRIES_BYTES].into_boxed_slice(),
            rename: if cfg!(target_os = "linux") { Rename::NoReplace } else { Rename::Plain },
        }
    }

    /// With the path of its root, which messages begin with.
    pub(crate) fn at(self, place: PathBuf) -> FlowBackend<F> {
        FlowBackend { place, ..self }
    }

    /// Closes every handle, at the end of a phase; the first error of any `close` is returned.
    fn close_all(&mut self) -> Completion {
        let mut done = Ok(0);
        for handle in &mut self.handles {
            if let Some(file) = handle.take() {
                done = done.and(close(file));
            }
        }
        done
    }

    #[inline]
    fn opened(&mut self, op: &FlowOp, opened: rustix::io::Result<OwnedFd>) -> Completion {
        match opened {
            Ok(file) => {
                self.handles[usize::from(op.handle)] = Some(file);
                Ok(0)
            }
            Err(error) => Err(errno(error)),
        }
    }

    #[inline]
    fn file(&self, op: &FlowOp) -> Result<&OwnedFd, Errno> {
        self.handles.get(usize::from(op.handle)).and_then(Option::as_ref).ok_or(Errno(libc::EBADF))
    }

    fn renamed(&mut self) -> Completion {
        #[cfg(target_os = "linux")]
        if self.rename == Rename::NoReplace {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            let (from, to) = (self.path.as_c_str(), self.other.as_c_str());
            match rustix::fs::renameat_with(&self.root, from, &self.root, to, flags) {
                // What a file system that does not know the flag says, rename(2).
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => self.rename = Rename::Plain,
                done => return nothing_moved(done),
            }
        }
        nothing_moved(rustix::fs::renameat(&self.root, self.path.as_c_str(), &self.root, self.other.as_c_str()))
    }

    #[cfg(target_os = "linux")]
    fn read_directory(&mut self) -> Completion {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(&self.root, self.path.as_c_str(), flags, Mode::empty()).map_err(errno)?;
        let mut entries = rustix::fs::RawDir::new(directory.as_fd(), &mut self.entries);
        while let Some(entry) = entries.next() {
            entry.map_err(errno)?;
        }
        close(directory)
    }

    #[cfg(not(target_os = "linux"))]
    fn read_directory(&mut self) -> Completion {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(&self.root, self.path.as_c_str(), flags, Mode::empty()).map_err(errno)?;
        for entry in rustix::fs::Dir::new(directory).map_err(errno)? {
            entry.map_err(errno)?;
        }
        Ok(0)
    }
}

impl<F: FnMut(&FlowOp, &mut [u8])> SyncBackend for FlowBackend<F> {
    type Op = FlowOp;

    fn path_of(&self, op: &FlowOp) -> PathBuf {
        let mut path = PathBuffer::new();
        write_path(&self.shape, op, &mut path);
        self.place.join(path.as_path())
    }

    fn finish(&mut self) -> Result<(), Unfinished> {
        let closed = self.close_all();
        closed.map(drop).map_err(|errno| Unfinished { op: OpKind::Close, path: self.place.clone(), errno })
    }

    #[inline]
    fn before(&mut self, op: &FlowOp) {
        match op.kind {
            OpKind::Write => (self.content)(op, &mut self.write_buffer[..op.length as usize]),
            OpKind::Read
            | OpKind::Close
            | OpKind::Fsync
            | OpKind::Fdatasync
            | OpKind::Truncate
            | OpKind::Fallocate
            | OpKind::SyncRange
            | OpKind::Syncfs
            | OpKind::EndFsync
            | OpKind::Evict
            | OpKind::Delay => {}
            OpKind::Create | OpKind::Open => {
                // A handle that is still open is closed here, outside the clock.
                self.handles[usize::from(op.handle)] = None;
                self.path.write_file(op.file);
            }
            OpKind::Symlink => {
                self.path.write(|shape, path| shape.write_link(op.file, path));
                self.other.write_file(op.other);
            }
            OpKind::Rename | OpKind::Link => {
                self.path.write_file(op.file);
                self.other.write_file(op.other);
            }
            OpKind::Readdir | OpKind::Mkdir | OpKind::Rmdir => {
                self.path.write(|shape, path| write_path(shape, op, path));
            }
            _ => self.path.write_file(op.file),
        }
    }

    #[inline]
    fn execute(&mut self, op: &FlowOp) -> Completion {
        let root = &self.root;
        match op.kind {
            OpKind::Create => {
                let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let opened = rustix::fs::openat(root, self.path.as_c_str(), flags, mode(op.mode));
                self.opened(op, opened)
            }
            OpKind::Open => {
                let access = match op.access {
                    Access::Read => OFlags::RDONLY,
                    Access::ReadWrite => OFlags::RDWR,
                };
                let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let opened = rustix::fs::openat(root, self.path.as_c_str(), flags, Mode::empty());
                self.opened(op, opened)
            }
            OpKind::Close => match self.handles.get_mut(usize::from(op.handle)).and_then(Option::take) {
                Some(file) => close(file),
                None => Err(Errno(libc::EBADF)),
            },
            OpKind::Read => {
                let file = self.handles.get(usize::from(op.handle)).and_then(Option::as_ref);
                let file = file.ok_or(Errno(libc::EBADF))?;
                moved(rustix::io::pread(file, &mut self.read_buffer[..op.length as usize], op.offset))
            }
            OpKind::Write => {
                moved(rustix::io::pwrite(self.file(op)?, &self.write_buffer[..op.length as usize], op.offset))
            }
            OpKind::Fsync => nothing_moved(rustix::fs::fsync(self.file(op)?)),
            OpKind::Fdatasync => nothing_moved(rustix::fs::fdatasync(self.file(op)?)),
            OpKind::Truncate => nothing_moved(rustix::fs::ftruncate(self.file(op)?, op.length)),
            OpKind::Fallocate => {
                let flags = rustix::fs::FallocateFlags::empty();
                nothing_moved(rustix::fs::fallocate(self.file(op)?, flags, op.offset, op.length))
            }
            OpKind::Stat => {
                let done = rustix::fs::statat(root, self.path.as_c_str(), AtFlags::SYMLINK_NOFOLLOW);
                nothing_moved(done.map(|_| ()))
            }
            OpKind::Utimens => {
                let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
                let times = Timestamps { last_access: now, last_modification: now };
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                nothing_moved(rustix::fs::utimensat(root, self.path.as_c_str(), &times, flags))
            }
            OpKind::Chmod => {
                nothing_moved(rustix::fs::chmodat(root, self.path.as_c_str(), mode(op.mode), AtFlags::empty()))
            }
            OpKind::Rename => self.renamed(),
            OpKind::Link => {
                let (from, to) = (self.path.as_c_str(), self.other.as_c_str());
                nothing_moved(rustix::fs::linkat(root, from, root, to, AtFlags::empty()))
            }
            OpKind::Symlink => nothing_moved(rustix::fs::symlinkat(self.path.as_c_str(), root, self.other.as_c_str())),
            OpKind::Readlink => {
                let done = rustix::fs::readlinkat_raw(root, self.path.as_c_str(), &mut self.read_buffer[..LINK_BYTES]);
                nothing_moved(done.map(|_| ()))
            }
            OpKind::Unlink => nothing_moved(rustix::fs::unlinkat(root, self.path.as_c_str(), AtFlags::empty())),
            OpKind::Mkdir => nothing_moved(rustix::fs::mkdirat(root, self.path.as_c_str(), Mode::from_raw_mode(0o755))),
            OpKind::Rmdir => nothing_moved(rustix::fs::unlinkat(root, self.path.as_c_str(), AtFlags::REMOVEDIR)),
            OpKind::Readdir => self.read_directory(),
            // The worker's loop waits; there is nothing to execute.
            OpKind::Delay => Ok(0),
            // Flows have no step for them.
            OpKind::SyncRange
            | OpKind::Syncfs
            | OpKind::EndFsync
            | OpKind::Evict
            | OpKind::Seek
            | OpKind::Access
            | OpKind::Lock
            | OpKind::Flush
            | OpKind::Sync
            | OpKind::Map
            | OpKind::Unmap => Err(Errno(libc::ENOSYS)),
            OpKind::Trim => Err(Errno(libc::EOPNOTSUPP)),
        }
    }
}

fn write_path(shape: &TreeShape, op: &FlowOp, path: &mut PathBuffer) {
    match op.kind {
        OpKind::Readdir => shape.write_leaf(op.file.0, path),
        OpKind::Mkdir | OpKind::Rmdir => shape.write_extra(ExtraDirectory::unpack(op.file), path),
        _ => shape.write_path(op.file, path),
    }
}

fn mode(mode: FileMode) -> Mode {
    Mode::from_raw_mode(match mode {
        FileMode::Public => 0o644,
        FileMode::Private => 0o600,
    })
}

/// Closes a file, and says how that went: an error of an earlier write may surface here, close(2).
#[inline]
fn close(file: OwnedFd) -> Completion {
    // SAFETY: the descriptor was owned by `file`, which gave it up, so nothing else uses or closes it.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(0),
        _ => Err(Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))),
    }
}

#[inline(always)]
fn errno(error: rustix::io::Errno) -> Errno {
    Errno(error.raw_os_error())
}

#[inline(always)]
fn nothing_moved(done: rustix::io::Result<()>) -> Completion {
    done.map(|()| 0).map_err(errno)
}

#[inline(always)]
fn moved(done: rustix::io::Result<usize>) -> Completion {
    done.map(|bytes| bytes as u64).map_err(errno)
}

#[cfg(test)]
mod tests;
