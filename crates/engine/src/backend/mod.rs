//! Backends execute ops. A sync backend executes one op at a time in the calling thread; a queued one keeps several in
//! flight. A new backend needs one file here and one arm in [`crate::bound`].

pub(crate) mod aio_slots;
pub(crate) mod gathered;
#[cfg(target_os = "linux")]
pub(crate) mod io_uring;
#[cfg(target_os = "linux")]
pub(crate) mod libaio;
pub(crate) mod mmap;
pub(crate) mod move_extents;
#[cfg(not(target_os = "linux"))]
mod not_linux;
pub(crate) mod null;
pub(crate) mod page_fault;
pub(crate) mod payload;
pub(crate) mod posix_aio;
pub(crate) mod preadv2;
pub(crate) mod priorities;
pub(crate) mod psync;
pub(crate) mod queue_modes;
pub(crate) mod queued;
pub(crate) mod record_locks;
pub(crate) mod region;
pub(crate) mod seek;
pub(crate) mod socket;
pub(crate) mod space;
#[cfg(target_os = "linux")]
pub(crate) mod splice;
pub(crate) mod stdio;
pub(crate) mod whole;

#[cfg(not(target_os = "linux"))]
pub(crate) use not_linux::{io_uring, libaio, splice};

use crate::backend::payload::Payload;
use crate::content::{Concluded, Mismatch};
use crate::guard::Roots;
pub(crate) use crate::op::Slot;
use crate::op::{BlockOp, Operation};
use plumb_workload::OpKind;
use plumb_workload::files::{NewModes, SyncRange};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;

/// Outcome of an op: bytes moved (0 for ops that move none), or the system's error number.
pub(crate) type Completion = Result<u64, Errno>;

/// An error number of the system, `errno(3)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// No error: the other side has ended, so the worker is done.
    pub(crate) const ENDED: Errno = Errno(0);

    /// Returns the calling thread's `errno`. Call it right after a failed call.
    pub(crate) fn last() -> Errno {
        Errno(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    }

    /// Returns the system's description of the error.
    pub fn text(self) -> String {
        io::Error::from_raw_os_error(self.0).to_string()
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Errno {
        Errno(error.raw_os_error())
    }
}

/// Converts the result of a call that moves no bytes.
pub(crate) fn done(result: rustix::io::Result<()>) -> Completion {
    Ok(result.map(|()| 0)?)
}

/// Converts the return value of a system call that returns a count or -1.
#[inline(always)]
pub(crate) fn completion(returned: isize) -> Completion {
    if returned < 0 { Err(Errno::last()) } else { Ok(returned as u64) }
}

/// Executes ops one at a time, in the calling thread: depth 1.
///
/// A block I/O backend has a [context](BlockContext), and the default methods handle its content and files. A backend
/// without one implements those methods itself.
pub(crate) trait SyncBackend {
    type Op: Operation;

    /// Returns the files and memory of block I/O; `None` if the backend has neither, or keeps them itself.
    #[inline(always)]
    fn context(&self) -> Option<&BlockContext> {
        None
    }

    /// Mutable version of [`context`](SyncBackend::context).
    #[inline(always)]
    fn context_mut(&mut self) -> Option<&mut BlockContext> {
        None
    }

    /// Returns `true` if ops that take little longer than a clock reading may share one, because the emulated tool
    /// times whole passes. Only with a [closed](crate::pacer::Closed) load.
    #[inline(always)]
    fn samples(&self) -> bool {
        false
    }

    /// Executes one op to completion. Does only the I/O, because the clock is read just before and after.
    fn execute(&mut self, op: &Self::Op) -> Completion;

    /// Does setup that may have to wait for another worker. Called after the barrier and before the first op; the time
    /// counts for the worker but for no op.
    fn begin(&mut self) -> Result<Begun, NotBegun> {
        Ok(Begun::AtOnce)
    }

    /// Prepares content and paths, before the clock is read.
    #[inline(always)]
    fn before(&mut self, op: &Self::Op) {
        if let (Some(context), Some(op)) = (self.context_mut(), op.as_block()) {
            context.payload.before(op, 0);
        }
    }

    /// Returns `true` if [`before`](SyncBackend::before) or [`after`](SyncBackend::after) do enough work to keep out of
    /// an op's time. Otherwise the loop reads the clock once per op: the end of one op is the start of the next.
    #[inline(always)]
    fn works_between_ops(&self) -> bool {
        self.context().is_none_or(|context| context.payload.works_each_op())
    }

    /// Verifies the data of a read, after the clock was read.
    #[inline(always)]
    fn after(&mut self, op: &Self::Op, moved: u64) -> Result<(), Box<Mismatch>> {
        match (self.context_mut(), op.as_block()) {
            (Some(context), Some(op)) => context.payload.after(op, 0, moved),
            _ => Ok(()),
        }
    }

    /// Called after the last op: flushes data that the backend itself buffers (a C
    /// library's buffer) and closes handles.
    fn finish(&mut self) -> Result<(), Unfinished> {
        Ok(())
    }

    /// Called after the clock has stopped: waits for pending verification and returns the mismatches.
    fn conclude(&mut self) -> Concluded {
        self.context_mut().map(|context| context.payload.finish()).unwrap_or_default()
    }

    /// Describes the failure of the last op.
    #[cold]
    fn explain(&mut self, errno: Errno) -> String {
        errno.text()
    }

    /// Returns the path of an op's file, for error messages.
    fn path_of(&self, op: &Self::Op) -> PathBuf {
        match (self.context(), op.as_block()) {
            (Some(context), Some(op)) => context.files.path_of(op),
            _ => PathBuf::new(),
        }
    }
}

/// How a backend's time begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begun {
    /// The worker's time runs from the barrier.
    AtOnce,
    /// The backend had to wait for another worker: the wait counts toward no rate, and the worker's time begins now.
    AfterOther,
}

/// Reason that a backend could not begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotBegun {
    /// The worker was asked to stop.
    Stopped,
    /// The reason in words, with the system's error number if there is one.
    Failed { errno: Option<i32>, reason: String },
}

/// Buffered data that a backend could not flush.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfinished {
    pub(crate) op: OpKind,
    pub(crate) path: PathBuf,
    pub(crate) errno: Errno,
}

pub(crate) trait QueuedBackend {
    /// Returns its files and its memory by slot; `None` if it has neither.
    #[inline(always)]
    fn context(&self) -> Option<&BlockContext> {
        None
    }

    /// Mutable version of [`context`](QueuedBackend::context).
    #[inline(always)]
    fn context_mut(&mut self) -> Option<&mut BlockContext> {
        None
    }

    /// Prepares an op in a free slot. It starts with the next [`enter`](QueuedBackend::enter).
    fn submit(&mut self, op: &BlockOp, slot: Slot);

    /// Prepares the content of an op, before [`submit`](QueuedBackend::submit).
    #[inline(always)]
    fn before(&mut self, op: &BlockOp, slot: Slot) {
        if let Some(context) = self.context_mut() {
            context.payload.before(op, slot);
        }
    }

    /// Verifies the data of a read, after completion.
    #[inline(always)]
    fn after(&mut self, op: &BlockOp, slot: Slot, moved: u64) -> Result<(), Box<Mismatch>> {
        self.context_mut().map_or(Ok(()), |context| context.payload.after(op, slot, moved))
    }

    /// Returns the priority class of the op submitted in a slot; `None` if it has none.
    fn priority_class(&self, _slot: Slot) -> Option<usize> {
        None
    }

    /// Starts the submitted ops and waits as requested, in one system call.
    fn enter(&mut self, wait: Wait) -> io::Result<()>;

    /// Returns the next completed op among those that the last [`enter`](QueuedBackend::enter) found.
    fn completed(&mut self) -> Option<Done>;

    /// Called after the clock has stopped: waits for pending verification and returns the mismatches.
    fn conclude(&mut self) -> Concluded {
        self.context_mut().map(|context| context.payload.finish()).unwrap_or_default()
    }

    /// Returns the path of an op's file, for error messages.
    fn path_of(&self, op: &BlockOp) -> PathBuf {
        self.context().map(|context| context.files.path_of(op)).unwrap_or_default()
    }

    /// Returns the name used in the error message when [`enter`](QueuedBackend::enter) fails.
    fn name(&self) -> &'static str;

    /// Returns the CPU time so far, in ns, of helper threads that no process accounts for.
    fn helpers_cpu_ns(&self) -> u64 {
        0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) slot: Slot,
    pub(crate) completion: Completion,
}

/// State shared by all block I/O backends: files, memory and content.
pub(crate) struct BlockContext {
    pub(crate) files: BlockFiles,
    pub(crate) payload: Payload,
}

impl BlockContext {
    /// Returns the files and the memory of a slot. The memory holds at least the largest op that the source yields. It
    /// belongs to the op in that slot until the op completes, and it does not move.
    #[inline(always)]
    pub(crate) fn parts(&mut self, slot: Slot) -> (&mut BlockFiles, *mut u8) {
        let memory = self.payload.pointer(slot);
        (&mut self.files, memory)
    }
}

/// Implements `context` and `context_mut` of either trait with the field `context`.
macro_rules! has_context {
    () => {
        #[inline(always)]
        fn context(&self) -> Option<&crate::backend::BlockContext> {
            Some(&self.context)
        }

        #[inline(always)]
        fn context_mut(&mut self) -> Option<&mut crate::backend::BlockContext> {
            Some(&mut self.context)
        }
    };
}
pub(crate) use has_context;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// At least this many completions.
    For(u32),
    /// One completion, or a timeout in ns.
    Timeout(u64),
}

/// Whether a worker writes to its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileAccess {
    Read,
    /// Writes, and may also read.
    ReadWrite,
}

/// Opens and removes files during the run.
pub(crate) trait Opener: Send + Sync {
    /// Opens a file by its number, with all options that the job sets for open files.
    fn open(&self, file: u32) -> io::Result<OwnedFd>;

    /// Removes a closed file by its number.
    fn remove(&self, file: u32) -> io::Result<()>;

    fn path(&self, file: u32) -> PathBuf;
}

/// The descriptor of a file that is not open. The kernel rejects it with `EBADF`.
pub(crate) const NOT_OPEN: RawFd = -1;

/// The open files of a block target, as one worker uses them.
#[derive(Default)]
pub(crate) struct BlockFiles {
    /// By file number; [`NOT_OPEN`] for files that are not open yet.
    pub(crate) fds: Vec<RawFd>,
    pub(crate) paths: Vec<PathBuf>,
    /// Directories that path-based calls start at; `None` means the directories of the files themselves.
    pub(crate) roots: Option<Arc<Roots>>,
    /// File lengths. For jobs, set only if the files are mapped.
    pub(crate) lengths: Vec<u64>,
    pub(crate) kind: FileKind,
    /// Flags for `OpKind::SyncRange`, see sync_file_range(2).
    pub(crate) sync_range: SyncRangeFlags,
    /// Executes `OpKind::Open`.
    pub(crate) opener: Option<Arc<dyn Opener>>,
    /// Keeps the descriptors open if they belong to the worker; otherwise they belong to the target.
    pub(crate) _owned: Arc<[File]>,
    /// Call `fsync` on a file before closing it during the run.
    pub(crate) flush_at_close: bool,
    /// Error number that path-based calls ignore.
    pub(crate) passes_over_errno: Option<i32>,
    /// Create missing parent directories along with a new directory.
    pub(crate) makes_parents: bool,
    /// Modes of files and directories that path-based calls create.
    pub(crate) new: NewModes,
    /// Descriptors opened by the opener, by file number.
    pub(crate) lent: Vec<Option<OwnedFd>>,
}

/// Flags of sync_file_range(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SyncRangeFlags(pub(crate) u32);

impl SyncRangeFlags {
    /// Writes out the range and waits for it.
    pub(crate) const ALL: SyncRangeFlags = SyncRangeFlags(7);

    /// Converts the steps that a job asks for. Source: sync_file_range(2).
    pub(crate) fn from_range(range: &SyncRange) -> SyncRangeFlags {
        let bit = |wanted: bool, bit: u32| if wanted { bit } else { 0 };
        SyncRangeFlags(bit(range.wait_before, 1) | bit(range.write, 2) | bit(range.wait_after, 4))
    }
}

impl BlockFiles {
    /// Returns the descriptor of an op's file.
    #[inline(always)]
    pub(crate) fn fd(&self, op: &BlockOp) -> RawFd {
        self.fds[op.file as usize]
    }

    /// Returns the path of an op's file, for messages.
    pub(crate) fn path_of(&self, op: &BlockOp) -> PathBuf {
        match (self.paths.get(op.file as usize), &self.opener) {
            (Some(path), _) => path.clone(),
            (None, Some(opener)) => opener.path(op.file),
            (None, None) => PathBuf::new(),
        }
    }

    /// Opens a file by number. Does nothing if it is already open.
    pub(crate) fn open(&mut self, file: u32) -> Completion {
        let number = file as usize;
        let opener = self.opener.as_ref().ok_or(Errno(libc::EBADF))?;
        if self.fds[number] != NOT_OPEN {
            return Ok(0);
        }
        let opened = opener.open(file).map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EIO)))?;
        self.fds[number] = opened.as_raw_fd();
        if self.lent.len() < self.fds.len() {
            self.lent.resize_with(self.fds.len(), || None);
        }
        self.lent[number] = Some(opened);
        Ok(0)
    }

    /// Removes a closed file.
    pub(crate) fn remove(&mut self, file: u32) -> Completion {
        let opener = self.opener.as_ref().ok_or(Errno(libc::EBADF))?;
        opener.remove(file).map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EIO)))?;
        Ok(0)
    }

    /// Closes a file that [`open`](BlockFiles::open) opened. Files that were open from the start are left
    /// alone: the target owns them.
    pub(crate) fn close(&mut self, file: u32) -> Completion {
        let number = file as usize;
        let Some(opened) = self.lent.get_mut(number).and_then(Option::take) else { return Ok(0) };
        self.fds[number] = NOT_OPEN;
        if self.flush_at_close {
            rustix::io::retry_on_intr(|| rustix::fs::fsync(&opened)).map_err(|error| Errno(error.raw_os_error()))?;
        }
        drop(opened);
        Ok(0)
    }
}

/// Kind of a block target's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FileKind {
    #[default]
    Regular,
    Device,
}

#[cfg(test)]
pub(crate) mod tests;
