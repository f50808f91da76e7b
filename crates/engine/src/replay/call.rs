//! Recorded calls, as whoever reads recordings gives them to the engine.

use crate::op::Operation;
use crate::source::trace::ReplayError;
use plumb_result::ReplayedSum;
use plumb_workload::OpKind;
use std::collections::BTreeMap;

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallAct {
    /// `openat`: `aux` has the flags of Linux on x86, and the mode above the 32nd bit.
    Open,
    /// `close`.
    Close,
    /// `pread`.
    Read,
    /// `pwrite`.
    Write,
    /// Bytes are given back: a hole is punched.
    Trim,
    /// `fsync`.
    Fsync,
    /// `fdatasync`.
    Fdatasync,
    /// `fstat`, `fstatat`.
    Stat,
    /// `unlink`.
    Unlink,
    /// `mkdir`.
    Mkdir,
    /// `rmdir`.
    Rmdir,
    /// `rename`; `aux` is the number of the other name.
    Rename,
    /// `link`; `aux` is the number of the other name.
    Link,
    /// `symlink`; where it leads is not recorded.
    Symlink,
    /// `readlink`.
    Readlink,
    /// `truncate`, `ftruncate`.
    Truncate,
    /// `fallocate`; `aux` is its mode.
    Allocate,
    /// `getdents`.
    List,
    /// `lseek`.
    Seek,
    /// Times, mode, owner or extended attributes are changed: the times are set.
    Attribute,
    /// `sync_file_range`.
    SyncRange,
    /// `syncfs`.
    SyncAll,
}

impl CallAct {
    /// As which op it counts.
    pub const fn kind(self) -> OpKind {
        match self {
            CallAct::Open => OpKind::Open,
            CallAct::Close => OpKind::Close,
            CallAct::Read => OpKind::Read,
            CallAct::Write => OpKind::Write,
            CallAct::Trim => OpKind::Trim,
            CallAct::Fsync => OpKind::Fsync,
            CallAct::Fdatasync => OpKind::Fdatasync,
            CallAct::Stat => OpKind::Stat,
            CallAct::Unlink => OpKind::Unlink,
            CallAct::Mkdir => OpKind::Mkdir,
            CallAct::Rmdir => OpKind::Rmdir,
            CallAct::Rename => OpKind::Rename,
            CallAct::Link => OpKind::Link,
            CallAct::Symlink => OpKind::Symlink,
            CallAct::Readlink => OpKind::Readlink,
            CallAct::Truncate => OpKind::Truncate,
            CallAct::Allocate => OpKind::Fallocate,
            CallAct::List => OpKind::Readdir,
            CallAct::Seek => OpKind::Seek,
            CallAct::Attribute => OpKind::Utimens,
            CallAct::SyncRange => OpKind::SyncRange,
            CallAct::SyncAll => OpKind::Syncfs,
        }
    }

    /// Whether its `aux` is the number of another name.
    pub(super) const fn has_other(self) -> bool {
        matches!(self, CallAct::Rename | CallAct::Link)
    }

    /// Whether it may change what names there are.
    pub(super) const fn changes_names(self) -> bool {
        matches!(
            self,
            CallAct::Unlink | CallAct::Mkdir | CallAct::Rmdir | CallAct::Rename | CallAct::Link | CallAct::Symlink
        )
    }
}

/// A duration that the recording does not say.
pub(super) const UNKNOWN_NS: u64 = u64::MAX;

/// A recorded call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedCall {
    /// When it began, from the beginning of the first, ns.
    pub at_ns: u64,
    /// How long it took, ns; [`UNKNOWN_NS`] if the recording does not say.
    pub took_ns: u64,
    /// Where in the file, bytes.
    pub offset: u64,
    /// How much was asked for, bytes.
    pub length: u64,
    /// What it returned: bytes, 0, or the negative number of an error.
    pub result: i64,
    /// See [`CallAct`].
    pub aux: u64,
    /// Number of the file in [`CallSurvey::paths`].
    pub file: u32,
    /// Number of the thread in [`CallSurvey::lanes`].
    pub task: u32,
    /// The descriptor, plus 1; 0 where there is none.
    pub handle: u32,
    /// What.
    pub act: CallAct,
}

impl RecordedCall {
    /// When it had ended, as far as that is known.
    pub(super) fn end_ns(&self) -> u64 {
        match self.took_ns {
            UNKNOWN_NS => self.at_ns,
            took_ns => self.at_ns.saturating_add(took_ns),
        }
    }
}

/// The calls of a recording, in the order in which they began.
pub type RecordedCalls = Box<dyn Iterator<Item = Result<RecordedCall, ReplayError>> + Send>;

/// What is there before a recording begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitialFileKind {
    /// A directory.
    Directory,
    /// A file of so many bytes.
    File {
        /// Bytes.
        bytes: u64,
    },
    /// A symbolic link that leads nowhere.
    Link,
}

/// Something that must be there before a recording begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitialFile {
    /// Number of the file in [`CallSurvey::paths`].
    pub file: u32,
    /// What it is.
    pub kind: InitialFileKind,
}

/// What must be known of a recording of calls before it is replayed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallSurvey {
    /// The paths of its files as recorded, by number.
    pub paths: Vec<String>,
    /// What must be there; directories in which something lies are not mentioned.
    pub initial: Vec<InitialFile>,
    /// Names that are not there before: the recording makes them, or finds them absent.
    pub absent: Vec<u32>,
    /// Bytes that its files hold at most, all of them together.
    pub reach_bytes: u64,
    /// How far calls reach in each file, bytes.
    pub reaches: Vec<u64>,
    /// The process of each thread.
    pub processes: Vec<u32>,
    /// The lane of each thread, as if there were as many as there have to be.
    pub lanes: Vec<u32>,
    /// How many lanes there have to be.
    pub lane_count: u32,
    /// By thread, whether its calls are replayed here; empty if all are. Those of others are another process's.
    pub own: Vec<bool>,
    /// What it does, by kind, failures among them.
    pub ops: BTreeMap<OpKind, ReplayedSum>,
    /// From the beginning of the first call to that of the last, ns.
    pub length_ns: u64,
    /// Durations of all calls, ns; `None` if some are unknown.
    pub busy_ns: Option<u64>,
    /// Whether it has descriptors, and flags of opens.
    pub has_handles: bool,
    /// Bytes of the largest read.
    pub largest_read: u64,
    /// Bytes of the largest write.
    pub largest_write: u64,
    /// Records that are not replayed, by what they are called, with how many there are.
    pub left_out: Vec<(String, u64)>,
}

/// No descriptor.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// A call, dealt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DealtCall {
    pub(super) call: RecordedCall,
    /// Its number in the recording; all that it waits for have lower ones.
    pub(super) number: u64,
    /// Where its descriptor lies, or [`NO_SLOT`].
    pub(super) slot: u32,
    /// How many entries of its batch's `waits` are its own.
    pub(super) waits: u32,
    /// How long after what it waits for it began, ns.
    pub(super) think_ns: u64,
    /// Calls that were in flight when it began.
    pub(super) in_flight: u32,
}

impl Operation for DealtCall {
    #[inline(always)]
    fn kind(&self) -> OpKind {
        self.call.act.kind()
    }
    #[inline(always)]
    fn offset(&self) -> u64 {
        self.call.offset
    }
    /// What it moved when it was recorded: a read at the end of a file is not short.
    #[inline(always)]
    fn length(&self) -> u64 {
        match self.call.act {
            CallAct::Read | CallAct::Write => self.call.length.min(u64::try_from(self.call.result).unwrap_or(0)),
            _ => self.call.length,
        }
    }
    #[inline(always)]
    fn file(&self) -> u32 {
        self.call.file
    }
}
