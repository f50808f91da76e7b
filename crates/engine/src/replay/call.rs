//! Recorded calls, in the form in which readers of recordings pass them to the engine.

use crate::op::Operation;
use crate::source::trace::ReplayError;
use plumb_result::ReplayedSum;
use plumb_workload::OpKind;
use std::collections::BTreeMap;

/// The operation of a recorded call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallAct {
    /// `openat`: `aux` holds the flags of Linux on x86, and the mode from bit 32 on.
    Open,
    Close,
    /// `pread`.
    Read,
    /// `pwrite`.
    Write,
    /// Punches a hole.
    Trim,
    Fsync,
    Fdatasync,
    /// `fstat`, `fstatat`.
    Stat,
    Unlink,
    Mkdir,
    Rmdir,
    /// `rename`; `aux` is the number of the other name.
    Rename,
    /// `link`; `aux` is the number of the other name.
    Link,
    /// `symlink`; its target is not recorded.
    Symlink,
    Readlink,
    /// `truncate`, `ftruncate`.
    Truncate,
    /// `fallocate`; `aux` is its mode.
    Allocate,
    /// `getdents`.
    List,
    /// `lseek`.
    Seek,
    /// Changes times, mode, owner or extended attributes. The replay always sets the times.
    Attribute,
    /// `sync_file_range`.
    SyncRange,
    /// `syncfs`.
    SyncAll,
}

impl CallAct {
    /// Returns the kind of op that the call counts as.
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

    /// Returns `true` if `aux` is the number of another name.
    pub(super) const fn has_other(self) -> bool {
        matches!(self, CallAct::Rename | CallAct::Link)
    }

    /// Returns `true` if the call may create, remove or rename a name.
    pub(super) const fn changes_names(self) -> bool {
        matches!(
            self,
            CallAct::Unlink | CallAct::Mkdir | CallAct::Rmdir | CallAct::Rename | CallAct::Link | CallAct::Symlink
        )
    }
}

/// Marks a duration that the recording does not contain.
pub(super) const UNKNOWN_NS: u64 = u64::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedCall {
    /// Start time, relative to the start of the first call, ns.
    pub at_ns: u64,
    /// Duration, ns; [`UNKNOWN_NS`] if the recording does not contain it.
    pub took_ns: u64,
    /// Offset in the file, bytes.
    pub offset: u64,
    /// Requested length, bytes.
    pub length: u64,
    /// Return value: bytes, 0, or a negative error number.
    pub result: i64,
    /// See [`CallAct`].
    pub aux: u64,
    /// Number of the file in [`CallSurvey::paths`].
    pub file: u32,
    /// Number of the thread in [`CallSurvey::lanes`].
    pub task: u32,
    /// The descriptor, plus 1; 0 if there is none.
    pub handle: u32,
    pub act: CallAct,
}

impl RecordedCall {
    /// Returns the end of the call, or its start if the duration is unknown.
    pub(super) fn end_ns(&self) -> u64 {
        match self.took_ns {
            UNKNOWN_NS => self.at_ns,
            took_ns => self.at_ns.saturating_add(took_ns),
        }
    }
}

/// The calls of a recording, in the order of their starts.
pub type RecordedCalls = Box<dyn Iterator<Item = Result<RecordedCall, ReplayError>> + Send>;

/// Kind of a file that exists before a recording begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitialFileKind {
    Directory,
    /// A regular file with this many bytes.
    File {
        bytes: u64,
    },
    /// A dangling symbolic link.
    Link,
}

/// A file, directory or link that must exist before a recording begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitialFile {
    /// Number of the file in [`CallSurvey::paths`].
    pub file: u32,
    pub kind: InitialFileKind,
}

/// Facts about a recording of calls that the replay needs before it begins.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallSurvey {
    /// The paths of its files as recorded, by number.
    pub paths: Vec<String>,
    /// Files that must exist. Directories that contain one of them are not listed.
    pub initial: Vec<InitialFile>,
    /// Names that must not exist: the recording creates them, or finds them absent.
    pub absent: Vec<u32>,
    /// Upper bound for the bytes in all of its files together.
    pub reach_bytes: u64,
    /// Highest byte offset that calls reach in each file.
    pub reaches: Vec<u64>,
    /// The process of each thread.
    pub processes: Vec<u32>,
    /// The lane of each thread, numbered for the minimum number of lanes.
    pub lanes: Vec<u32>,
    /// Minimum number of lanes.
    pub lane_count: u32,
    /// By thread: whether this process replays its calls; empty if it replays all of
    /// them. Other processes replay the rest.
    pub own: Vec<bool>,
    /// Recorded operations by kind, including failed ones.
    pub ops: BTreeMap<OpKind, ReplayedSum>,
    /// Time from the start of the first call to the start of the last, ns.
    pub length_ns: u64,
    /// Durations of all calls, ns; `None` if some are unknown.
    pub busy_ns: Option<u64>,
    /// Whether the recording has descriptors and open flags.
    pub has_handles: bool,
    /// Bytes of the largest read.
    pub largest_read: u64,
    /// Bytes of the largest write.
    pub largest_write: u64,
    /// Names of the records that are not replayed, with their counts.
    pub left_out: Vec<(String, u64)>,
}

/// Marks a call without a descriptor.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// A recorded call with its dependencies, ready to be replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DealtCall {
    pub(super) call: RecordedCall,
    /// Number in the recording; all its dependencies have lower numbers.
    pub(super) number: u64,
    /// Slot of its descriptor, or [`NO_SLOT`].
    pub(super) slot: u32,
    /// Number of its entries in its batch's `waits`.
    pub(super) waits: u32,
    /// Recorded time from the end of its last dependency to its start, ns.
    pub(super) think_ns: u64,
    /// Number of calls in flight when it was recorded.
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
    /// The recorded byte count, so that a read at the end of a file is not short.
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
