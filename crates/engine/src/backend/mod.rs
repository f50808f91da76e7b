//! Backends execute ops. A sync backend executes one at a time in the calling thread; a queued one keeps several in
//! flight. A new backend is one file here and one arm in [`crate::bound`].

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

/// What became of an op: bytes moved (0 for ops that move none), or the system's error number.
pub(crate) type Completion = Result<u64, Errno>;

/// An error number of the system, `errno(3)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// No error: there is nothing more to do, because the other side has ended. The worker is done.
    pub(crate) const ENDED: Errno = Errno(0);

    /// The calling thread's error number, right after a failed call.
    pub(crate) fn last() -> Errno {
        Errno(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    }

    /// In words.
    pub fn text(self) -> String {
        io::Error::from_raw_os_error(self.0).to_string()
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Errno {
        Errno(error.raw_os_error())
    }
}

/// The outcome of a call that moves nothing.
pub(crate) fn done(result: rustix::io::Result<()>) -> Completion {
    Ok(result.map(|()| 0)?)
}

/// The result of a system call that returns a count or -1.
#[inline(always)]
pub(crate) fn completion(returned: isize) -> Completion {
    if returned < 0 { Err(Errno::last()) } else { Ok(returned as u64) }
}

/// Executes ops one at a time, in the calling thread: depth 1.
///
/// A backend of block I/O has a [context](BlockContext) and nothing to say of its own about content and files. Whoever
/// has none says it all.
pub(crate) trait SyncBackend {
    /// The kind of op that it executes.
    type Op: Operation;

    /// Files and memory of block I/O; `None` where it has neither, or keeps them itself.
    #[inline(always)]
    fn context(&self) -> Option<&BlockContext> {
        None
    }

    /// The same, to be worked with.
    #[inline(always)]
    fn context_mut(&mut self) -> Option<&mut BlockContext> {
        None
    }

    /// Whether ops that are hardly longer than a reading of the clock may share one: where the tool in whose place this
    /// runs times whole passes. Only with a [closed](crate::pacer::Closed) load.
    #[inline(always)]
    fn samples(&self) -> bool {
        false
    }

    /// Executes one op to its end. Between the two readings of the clock: nothing but the I/O.
    fn execute(&mut self, op: &Self::Op) -> Completion;

    /// Behind the barrier and before the first op, in the worker's time and in no op's: what may have to wait for another
    /// worker.
    fn begin(&mut self) -> Result<Begun, NotBegun> {
        Ok(Begun::AtOnce)
    }

    /// Before the clock is read: content and paths are made here.
    #[inline(always)]
    fn before(&mut self, op: &Self::Op) {
        if let (Some(context), Some(op)) = (self.context_mut(), op.as_block()) {
            context.payload.before(op, 0);
        }
    }

    /// Whether [`before`](SyncBackend::before) or [`after`](SyncBackend::after) do anything worth keeping out of an op's
    /// time. Where they do not, the loop reads the clock once an op: one op's end is the next one's start.
    #[inline(always)]
    fn works_between_ops(&self) -> bool {
        self.context().is_none_or(|context| context.payload.works_each_op())
    }

    /// After the clock was read: what was read is verified here.
    #[inline(always)]
    fn after(&mut self, op: &Self::Op, moved: u64) -> Result<(), Box<Mismatch>> {
        match (self.context_mut(), op.as_block()) {
            (Some(context), Some(op)) => context.payload.after(op, 0, moved),
            _ => Ok(()),
        }
    }

    /// After the last op: writes out what the backend itself holds back (a C library's buffer), closes handles.
    fn finish(&mut self) -> Result<(), Unfinished> {
        Ok(())
    }

    /// After the clock has stopped: waits for what is still being verified. What is wrong.
    fn conclude(&mut self) -> Concluded {
        self.context_mut().map(|context| context.payload.finish()).unwrap_or_default()
    }

    /// What is wrong where an op has just failed, in words.
    #[cold]
    fn explain(&mut self, errno: Errno) -> String {
        errno.text()
    }

    /// The file of an op, for error messages.
    fn path_of(&self, op: &Self::Op) -> PathBuf {
        match (self.context(), op.as_block()) {
            (Some(context), Some(op)) => context.files.path_of(op),
            _ => PathBuf::new(),
        }
    }
}

/// How a backend began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begun {
    /// Its worker's time runs since the barrier.
    AtOnce,
    /// Somebody else had to come first: what was waited belongs to no rate, and the worker's time begins now.
    BehindOther,
}

/// Why a backend could not begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotBegun {
    /// The worker is to end.
    Stopped,
    /// In words, and the system's number where it has one.
    Failed { errno: Option<i32>, reason: String },
}

/// What a backend held back and could not bring to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfinished {
    pub(crate) op: OpKind,
    pub(crate) path: PathBuf,
    pub(crate) errno: Errno,
}

/// Keeps several ops in flight.
pub(crate) trait QueuedBackend {
    /// Its files and memory, by slot; `None` where it has neither.
    #[inline(always)]
    fn context(&self) -> Option<&BlockContext> {
        None
    }

    /// The same, to be worked with.
    #[inline(always)]
    fn context_mut(&mut self) -> Option<&mut BlockContext> {
        None
    }

    /// Makes an op ready in a free slot. It starts with the next [`enter`](QueuedBackend::enter).
    fn submit(&mut self, op: &BlockOp, slot: Slot);

    /// Before [`submit`](QueuedBackend::submit): content is made here.
    #[inline(always)]
    fn before(&mut self, op: &BlockOp, slot: Slot) {
        if let Some(context) = self.context_mut() {
            context.payload.before(op, slot);
        }
    }

    /// After completion: what was read is verified here.
    #[inline(always)]
    fn after(&mut self, op: &BlockOp, slot: Slot, moved: u64) -> Result<(), Box<Mismatch>> {
        self.context_mut().map_or(Ok(()), |context| context.payload.after(op, slot, moved))
    }

    /// The class of the op that was submitted in a slot, by its priority; `None` where it has none.
    fn priority_class(&self, _slot: Slot) -> Option<usize> {
        None
    }

    /// Starts what was submitted and waits as asked. One system call.
    fn enter(&mut self, wait: Wait) -> io::Result<()>;

    /// The next op that has come to its end, of those that the last [`enter`](QueuedBackend::enter) brought to light.
    fn completed(&mut self) -> Option<Done>;

    /// After the clock has stopped: waits for what is still being verified. What is wrong.
    fn conclude(&mut self) -> Concluded {
        self.context_mut().map(|context| context.payload.finish()).unwrap_or_default()
    }

    /// The file of an op, for error messages.
    fn path_of(&self, op: &BlockOp) -> PathBuf {
        self.context().map(|context| context.files.path_of(op)).unwrap_or_default()
    }

    /// What it is called where [`enter`](QueuedBackend::enter) fails.
    fn name(&self) -> &'static str;

    /// Processor time so far of threads that work for this backend and are counted to nobody else, ns.
    fn helpers_cpu_ns(&self) -> u64 {
        0
    }
}

/// An op that has come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) slot: Slot,
    pub(crate) completion: Completion,
}

/// What backends of block I/O have in common: files, memory, content.
pub(crate) struct BlockContext {
    pub(crate) files: BlockFiles,
    pub(crate) payload: Payload,
}

impl BlockContext {
    /// The files, and the memory of a slot. It holds at least the largest op that the source yields, belongs to the op in
    /// that slot alone until that has come to its end, and does not move.
    #[inline(always)]
    pub(crate) fn parts(&mut self, slot: Slot) -> (&mut BlockFiles, *mut u8) {
        let memory = self.payload.pointer(slot);
        (&mut self.files, memory)
    }
}

/// The two ways to the field `context`, in an implementation of either trait.
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

/// What [`QueuedBackend::enter`] waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// This many completions.
    For(u32),
    /// One completion, or this many nanoseconds.
    Timeout(u64),
}

/// Whether a worker writes to its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileAccess {
    /// It only reads.
    Read,
    /// It writes, and may read.
    ReadWrite,
}

/// Opens files whose turn comes in the midst of the work.
pub(crate) trait Opener: Send + Sync {
    /// Opens the file of this number, with everything that the job wants of an open file.
    fn open(&self, file: u32) -> io::Result<OwnedFd>;

    /// Removes the file of this number, which is closed.
    fn remove(&self, file: u32) -> io::Result<()>;

    /// The path of the file of this number.
    fn path(&self, file: u32) -> PathBuf;
}

/// The descriptor of a file that is not open. The kernel answers `EBADF` to it.
pub(crate) const NOT_OPEN: RawFd = -1;

/// The open files of a block target, as one worker uses them.
#[derive(Default)]
pub(crate) struct BlockFiles {
    /// By number; [`NOT_OPEN`] for those whose turn has not come.
    pub(crate) fds: Vec<RawFd>,
    pub(crate) paths: Vec<PathBuf>,
    /// Directories that calls on names start at; if `None`, the directories of the files themselves.
    pub(crate) roots: Option<Arc<Roots>>,
    /// Of jobs, only where they are mapped.
    pub(crate) lengths: Vec<u64>,
    pub(crate) kind: FileKind,
    /// What `OpKind::SyncRange` asks of sync_file_range(2).
    pub(crate) sync_range: SyncRangeFlags,
    /// What `OpKind::Open` does.
    pub(crate) opener: Option<Arc<dyn Opener>>,
    /// What keeps the descriptors open where they are the worker's own; else they belong to the target.
    pub(crate) _owned: Arc<[File]>,
    /// `fsync` a file before it is closed in the midst of the work.
    pub(crate) flush_at_close: bool,
    /// An error number of calls on names that is no error.
    pub(crate) passes_over_errno: Option<i32>,
    /// A directory that is called into being brings its missing parents along.
    pub(crate) makes_parents: bool,
    /// Modes of what calls on names make.
    pub(crate) new: NewModes,
    /// What the opener has opened, by number.
    pub(crate) lent: Vec<Option<OwnedFd>>,
}

/// The steps of sync_file_range(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SyncRangeFlags(pub(crate) u32);

impl SyncRangeFlags {
    /// Writes out and waits.
    pub(crate) const ALL: SyncRangeFlags = SyncRangeFlags(7);

    /// What a job asks for. Source: sync_file_range(2).
    pub(crate) fn of(range: &SyncRange) -> SyncRangeFlags {
        let bit = |wanted: bool, bit: u32| if wanted { bit } else { 0 };
        SyncRangeFlags(bit(range.wait_before, 1) | bit(range.write, 2) | bit(range.wait_after, 4))
    }
}

impl BlockFiles {
    /// The descriptor of an op's file.
    #[inline(always)]
    pub(crate) fn fd(&self, op: &BlockOp) -> RawFd {
        self.fds[op.file as usize]
    }

    /// The path of an op's file, for messages.
    pub(crate) fn path_of(&self, op: &BlockOp) -> PathBuf {
        match (self.paths.get(op.file as usize), &self.opener) {
            (Some(path), _) => path.clone(),
            (None, Some(opener)) => opener.path(op.file),
            (None, None) => PathBuf::new(),
        }
    }

    /// Opens a file whose turn has come. One that is open stays as it is.
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

    /// Removes a file that is closed.
    pub(crate) fn remove(&mut self, file: u32) -> Completion {
        let opener = self.opener.as_ref().ok_or(Errno(libc::EBADF))?;
        opener.remove(file).map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EIO)))?;
        Ok(0)
    }

    /// Closes a file that [`open`](BlockFiles::open) opened. Those that were open from the start belong to others.
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

/// What kind of files a block target has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FileKind {
    /// Regular files.
    #[default]
    Regular,
    /// Block devices.
    Device,
}

#[cfg(test)]
pub(crate) mod tests;
