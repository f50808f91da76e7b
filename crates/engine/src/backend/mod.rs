//! Backends execute ops. A sync backend executes one at a time in the calling thread; a queued one keeps several in
//! flight. A new backend is one file here and one arm in [`crate::worker`].

pub(crate) mod blocks;
pub(crate) mod flow;
pub(crate) mod io_uring;
pub(crate) mod mmap;
pub(crate) mod null;
pub(crate) mod payload;
pub(crate) mod preadv2;
pub(crate) mod psync;
pub(crate) mod region;
pub(crate) mod stdio;

use crate::op::{BlockOp, Operation};
use plumb_workload::OpKind;
use std::fs::File;
use std::io;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::sync::Arc;

/// What became of an op: bytes moved (0 for ops that move none), or the system's error number.
pub(crate) type Completion = Result<u64, Errno>;

/// An error number of the system, `errno(3)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// The calling thread's error number, right after a failed call.
    pub(crate) fn last() -> Errno {
        Errno(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    }

    /// In words.
    pub fn text(self) -> String {
        io::Error::from_raw_os_error(self.0).to_string()
    }
}

/// The result of a system call that returns a count or -1.
#[inline(always)]
pub(crate) fn completion(returned: isize) -> Completion {
    if returned < 0 { Err(Errno::last()) } else { Ok(returned as u64) }
}

/// Executes ops one at a time, in the calling thread: depth 1.
pub(crate) trait SyncBackend {
    /// The kind of op that it executes.
    type Op: Operation;

    /// Executes one op to its end. Between the two readings of the clock: nothing but the I/O.
    fn execute(&mut self, op: &Self::Op) -> Completion;

    /// Before the clock is read: content and paths are made here.
    #[inline(always)]
    fn before(&mut self, _op: &Self::Op) {}

    /// Whether [`before`](SyncBackend::before) or [`after`](SyncBackend::after) do anything worth keeping out of an op's
    /// time. Where they do not, the loop reads the clock once an op: one op's end is the next one's start.
    fn works_between_ops(&self) -> bool {
        true
    }

    /// After the clock was read: what was read is verified here. An error is a mismatch in words.
    #[inline(always)]
    fn after(&mut self, _op: &Self::Op, _moved: u64) -> Result<(), String> {
        Ok(())
    }

    /// After the last op: writes out what the backend itself holds back (a C library's buffer), closes handles.
    fn finish(&mut self) -> Result<(), Unfinished> {
        Ok(())
    }

    /// The file of an op, for error messages.
    fn path_of(&self, op: &Self::Op) -> PathBuf;
}

/// What a backend held back and could not bring to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfinished {
    pub(crate) op: OpKind,
    pub(crate) path: PathBuf,
    pub(crate) errno: Errno,
}

/// The number of a place in the queue, below the depth.
pub(crate) type Slot = u16;

/// Keeps several ops in flight.
pub(crate) trait QueuedBackend {
    /// The kind of op that it executes.
    type Op: Operation;

    /// Makes an op ready in a free slot. It starts with the next [`enter`](QueuedBackend::enter).
    fn submit(&mut self, op: &Self::Op, slot: Slot);

    /// Before [`submit`](QueuedBackend::submit): content is made here.
    fn before(&mut self, op: &Self::Op, slot: Slot);

    /// After completion: what was read is verified here. An error is a mismatch in words.
    fn after(&mut self, op: &Self::Op, slot: Slot, moved: u64) -> Result<(), String>;

    /// Starts what was submitted and waits as asked. One system call.
    fn enter(&mut self, wait: Wait) -> io::Result<()>;

    /// Hands over what has completed.
    fn reap(&mut self, done: &mut impl FnMut(&mut Self, Slot, Completion));

    /// The file of an op, for error messages.
    fn path_of(&self, op: &Self::Op) -> PathBuf;
}

/// What [`QueuedBackend::enter`] waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// So many completions.
    For(u32),
    /// One completion, or so many nanoseconds.
    Timeout(u64),
}

/// The open files of a block target, as one worker uses them.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockFiles {
    pub(crate) fds: Vec<RawFd>,
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) lengths: Vec<u64>,
    pub(crate) kind: FileKind,
    /// What keeps the descriptors open where they are the worker's own; else they belong to the target.
    pub(crate) _owned: Arc<[File]>,
}

impl BlockFiles {
    /// The descriptor of an op's file.
    #[inline(always)]
    pub(crate) fn fd(&self, op: &BlockOp) -> RawFd {
        self.fds[op.file as usize]
    }

    /// The path of an op's file, for messages.
    pub(crate) fn path_of(&self, op: &BlockOp) -> PathBuf {
        self.paths.get(op.file as usize).cloned().unwrap_or_default()
    }
}

/// What kind of files a block target has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FileKind {
    /// Regular files.
    #[default]
    Regular,
    /// Block devices.
    Device,
}
