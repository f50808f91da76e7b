//! Steps over file sets that all workers share.
//!
//! Over a [tree](crate::TreeTarget), each worker owns a part of the files, so that equal seeds give equal ops. Here,
//! every worker may use every file. A step's file depends on what the other workers have done, and workers can wait
//! for each other. Filebench's language needs this.

use super::amount::Amount;
use crate::content::Content;
use crate::op::OpKind;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A file set that all workers share: a random tree of directories with files in its leaves.
///
/// Directories and files are named `00000001`, `00000002` … in each directory. Each directory draws its
/// number of entries and the depth of the tree at its place below the root. A directory at that depth holds
/// files, all others hold directories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SharedTree {
    /// Root of the tree; relative paths start at the working directory. Its contents are test data, and stay after the run.
    pub path: PathBuf,
    /// Maximum number of files.
    #[serde(default)]
    pub files: u64,
    /// Maximum number of empty directories, for steps that make and remove directories.
    #[serde(default)]
    pub leaf_directories: u64,
    /// Size of new files in bytes, drawn once per file.
    pub size: Amount,
    /// Entries per directory: a mean that `spread` varies, or a variable. 0 puts everything into one directory.
    pub width: Amount,
    /// Depth of the tree; derived from the number of files and the width when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<Amount>,
    /// Shape of the gamma distributions of depth and width; 0 makes both constant.
    #[serde(default = "usual_spread")]
    pub spread: f64,
    /// Percentage chance that a file or an empty directory exists before the first phase.
    #[serde(default)]
    pub preallocated_percent: u32,
    /// Number of threads that create the files.
    #[serde(default = "one")]
    pub layout_threads: u32,
    /// Treatment of an existing tree.
    #[serde(default)]
    pub existing: ExistingTree,
    /// Drop files from the page cache (`POSIX_FADV_DONTNEED`) after creating them, as far as they
    /// are already on the device.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncached: bool,
    /// Access mode for opening files.
    #[serde(default)]
    pub access: TreeAccess,
    /// Data written to new files.
    #[serde(default)]
    pub content: Content,
}

fn usual_spread() -> f64 {
    1.5
}

fn one() -> u32 {
    1
}

/// Treatment of an existing tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExistingTree {
    /// Remove it and create it again.
    #[default]
    Remove,
    /// Keep it. Truncate files that are too long and rewrite those that are too short.
    Reuse,
    /// Assume that it is complete, without checking.
    Trust,
}

/// Access mode for opening files of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TreeAccess {
    /// Open for reading and writing.
    #[default]
    ReadWrite,
    /// Open files for reading only.
    Read,
    /// Open files for writing only.
    Write,
}

/// State that workers of programs over shared file sets have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Together {
    /// Events per second for all workers of the phase together. When absent, steps that take events do not wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events_per_second: Option<u64>,
    /// Number of successive workers of the group that count their ops together, like the threads of a process.
    pub members: u32,
    /// Number of this group's first party in the phase. Groups with equal numbers count together.
    pub first_party: u32,
}

impl Default for Together {
    fn default() -> Together {
        Together { events_per_second: None, members: 1, first_party: 0 }
    }
}

/// A named step over shared file sets, with statistics of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SharedStep {
    /// Name for the statistics, and for steps that refer to this one.
    pub name: String,
    /// Action of the step.
    pub does: SharedWork,
    /// File that the action applies to.
    #[serde(default, skip_serializing_if = "SharedFile::is_default")]
    pub file: SharedFile,
    /// Number of repetitions before the next step.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: Amount,
}

fn once() -> Amount {
    Amount::Fixed(1)
}

fn is_once(times: &Amount) -> bool {
    times.is(1)
}

/// File of a step over shared file sets.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SharedFile {
    /// Target that the file belongs to; defaults to that of the handle's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// Handle of the file; defaults to 0.
    pub handle: u16,
    /// Selects a file if the handle holds none.
    #[serde(skip_serializing_if = "SharedPick::is_next")]
    pub pick: SharedPick,
    /// Open with `O_DIRECT`, bypassing the page cache.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// Open with `O_SYNC`, so that each write is durable.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sync: bool,
    /// Disable read-ahead in the kernel (`POSIX_FADV_RANDOM`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_read_ahead: bool,
}

impl SharedFile {
    /// Returns `true` if all fields have their defaults.
    pub fn is_default(&self) -> bool {
        *self == SharedFile::default()
    }
}

/// Selects an entry of a file set.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum SharedPick {
    /// The entry after the last one that any worker took.
    #[default]
    Next,
    /// The entry after the last one that this worker took, using the worker's handles in turn.
    Turn,
    /// The first suitable entry from this number on, modulo the number of entries.
    Indexed(Amount),
}

impl SharedPick {
    /// Returns `true` for [`SharedPick::Next`].
    pub fn is_next(&self) -> bool {
        *self == SharedPick::Next
    }
}

/// Number of handles that [`SharedPick::Turn`] cycles through.
pub const TURN_HANDLES: u16 = 128;

/// Action of a step over shared file sets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum SharedWork {
    /// Runs nested steps, which are named `outer.inner`.
    Steps(Vec<SharedStep>),
    /// `open` of an existing file.
    Open,
    /// `open` with `O_CREAT` of a file that does not exist.
    Create,
    /// `close` of the handle's file.
    Close,
    /// `unlink` of the handle's file, or of an existing file, preferably one that no worker has open.
    Remove,
    /// `fstat` of the handle's file, or `stat` of an existing one.
    Stat,
    /// One `read` at the file position, which returns to the start after the end; or one `pread`.
    Read(SharedTransfer),
    /// One `write` at the file position, or one `pwrite`.
    Write(SharedTransfer),
    /// Reads the whole file from its start.
    ReadWhole {
        /// Bytes requested per `read` call.
        request: Amount,
    },
    /// Writes a whole file's length from the file position.
    WriteWhole {
        /// Bytes passed to each `write` call.
        request: Amount,
        /// Handle of the file whose length is written. Without such a file, `bytes` applies.
        like: u16,
        /// Length if the handle `like` holds no file; 0 means the size of the written file.
        #[serde(default)]
        bytes: u64,
    },
    /// One `write` at the end of the file.
    Append {
        /// Bytes to append.
        size: Amount,
        /// Append a uniformly random number of bytes below `size` instead.
        up_to: bool,
    },
    /// `fsync` of the handle's file.
    Fsync,
    /// `fsync` of each of the worker's open files of the set. Each is an op.
    FsyncSet,
    /// `mkdir` of a leaf directory that does not exist.
    MakeDirectory,
    /// `rmdir` of an existing leaf directory.
    RemoveDirectory,
    /// Reads a directory to its end.
    List,
    /// `aio_write` at a random offset, without waiting for it.
    StartWrite(SharedTransfer),
    /// Waits for half of the writes in flight, and at least one.
    AwaitWrites,
    /// Waits until a step wakes it. A wake-up since the last wait counts.
    Sleep,
    /// Wakes all workers that wait, or are about to wait, at the named step.
    Wake {
        /// Full name of a `sleep` step.
        step: String,
    },
    /// Takes credit, and waits until there is enough.
    Take {
        /// Amount of credit to take.
        credit: Amount,
        /// Maximum credit that may build up before workers that give it must wait, if their step has `waits`.
        ahead: u64,
    },
    /// Gives each worker credit at the named step.
    Give {
        /// Full name of a `take` step.
        step: String,
        /// Amount of credit to give.
        credit: Amount,
        /// Wait while this worker is too far ahead.
        #[serde(default)]
        waits: bool,
    },
    /// Keeps the CPU busy by storing a byte this many times.
    Spin {
        /// Number of stores to make.
        times: Amount,
    },
    /// Waits for a fixed or random time.
    Delay {
        /// Time to wait, in seconds.
        seconds: Amount,
    },
    /// Takes one event.
    TakeEvent,
    /// Takes one event per unit of work done since the last time here.
    TakeEvents {
        /// Unit of work to count.
        unit: EventUnit,
        /// Full name of the worker's step to count; defaults to all steps of its party.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
    },
    /// Ends the worker when enough work is done.
    Finish {
        /// Amount of work after which to end.
        after: Amount,
        /// Unit of work to count.
        unit: FinishUnit,
        /// Full name of the worker's step to count; defaults to all steps of its party.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
    },
    /// Does nothing but count. The dialect defines what is printed.
    Note {
        /// Text to print.
        text: String,
    },
    /// Draws a number and discards it.
    Sample {
        /// Number to draw.
        value: Amount,
    },
}

/// One read or write of a shared file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SharedTransfer {
    /// Bytes to move. Draws without a limit are cut at 16 MiB, or at 16 times their mean if that is more.
    pub size: Amount,
    /// Use a random multiple of the size as the offset, instead of the file position.
    #[serde(default)]
    pub random: bool,
    /// Length of the part of the file that offsets lie in; 0 means the whole file.
    #[serde(default)]
    pub within: u64,
    /// With `random`, draw uniformly from these offsets instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Bytes>,
}

/// Unit that [`SharedWork::TakeEvents`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EventUnit {
    /// Ops of any kind.
    Ops,
    /// Reads and writes only.
    Transfers,
    /// MiB moved by reads and writes, plus one.
    Mebibytes,
}

/// Unit that [`SharedWork::Finish`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FinishUnit {
    /// Ops; ends after at least this many.
    Ops,
    /// Bytes; ends after more than this many.
    Bytes,
}

impl SharedWork {
    /// Returns the kind of op, or `None` for actions that only wait, count or decide.
    pub fn kind(&self) -> Option<OpKind> {
        Some(match self {
            SharedWork::Open => OpKind::Open,
            SharedWork::Create => OpKind::Create,
            SharedWork::Close => OpKind::Close,
            SharedWork::Remove => OpKind::Unlink,
            SharedWork::Stat => OpKind::Stat,
            SharedWork::Read(_) | SharedWork::ReadWhole { .. } => OpKind::Read,
            SharedWork::Write(_)
            | SharedWork::WriteWhole { .. }
            | SharedWork::Append { .. }
            | SharedWork::StartWrite(_) => OpKind::Write,
            SharedWork::Fsync | SharedWork::FsyncSet => OpKind::Fsync,
            SharedWork::MakeDirectory => OpKind::Mkdir,
            SharedWork::RemoveDirectory => OpKind::Rmdir,
            SharedWork::List => OpKind::Readdir,
            SharedWork::Steps(_)
            | SharedWork::AwaitWrites
            | SharedWork::Sleep
            | SharedWork::Wake { .. }
            | SharedWork::Take { .. }
            | SharedWork::Give { .. }
            | SharedWork::Spin { .. }
            | SharedWork::Delay { .. }
            | SharedWork::TakeEvent
            | SharedWork::TakeEvents { .. }
            | SharedWork::Finish { .. }
            | SharedWork::Note { .. }
            | SharedWork::Sample { .. } => return None,
        })
    }

    /// Returns `true` if the action must name its file set, because no handle determines it.
    pub fn needs_set(&self) -> bool {
        matches!(
            self,
            SharedWork::Open
                | SharedWork::Create
                | SharedWork::MakeDirectory
                | SharedWork::RemoveDirectory
                | SharedWork::List
                | SharedWork::FsyncSet
        )
    }

    /// Returns the number of bytes that one call moves.
    pub fn request(&self) -> Option<&Amount> {
        match self {
            SharedWork::Read(transfer) | SharedWork::Write(transfer) | SharedWork::StartWrite(transfer) => {
                Some(&transfer.size)
            }
            SharedWork::ReadWhole { request } | SharedWork::WriteWhole { request, .. } => Some(request),
            SharedWork::Append { size, .. } => Some(size),
            _ => None,
        }
    }
}

/// Visits a step and its nested steps, each step before those nested in it.
pub fn walk_shared<'a>(step: &'a SharedStep, to: &mut dyn FnMut(&'a SharedStep)) {
    to(step);
    if let SharedWork::Steps(steps) = &step.does {
        steps.iter().for_each(|step| walk_shared(step, to));
    }
}

/// Returns the full name of a step; `outer` is empty at the top level.
pub fn shared_name(outer: &str, name: &str) -> String {
    if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") }
}

/// Collects a step and its nested steps with their full names, each step before those nested in it.
pub(super) fn add_named<'a>(step: &'a SharedStep, outer: &str, to: &mut Vec<(String, &'a SharedStep)>) {
    let name = shared_name(outer, &step.name);
    to.push((name.clone(), step));
    if let SharedWork::Steps(steps) = &step.does {
        steps.iter().for_each(|step| add_named(step, &name, to));
    }
}

impl SharedStep {
    /// Returns `true` if the step flushes writes, or opens a file so that each write is durable.
    pub fn flushes(&self) -> bool {
        self.file.sync || matches!(self.does, SharedWork::Fsync | SharedWork::FsyncSet)
    }

    /// Returns `true` if the step may open its file when the handle holds none.
    pub(crate) fn may_open(&self) -> bool {
        matches!(
            self.does,
            SharedWork::Open
                | SharedWork::Create
                | SharedWork::Read(_)
                | SharedWork::Write(_)
                | SharedWork::ReadWhole { .. }
                | SharedWork::WriteWhole { .. }
                | SharedWork::Append { .. }
                | SharedWork::StartWrite(_)
                | SharedWork::Fsync
        )
    }
}

/// Returns `true` if each write is flushed before its handle is closed or reused, and before the steps start over.
pub(super) fn flushes_all(steps: &[&SharedStep]) -> bool {
    let (mut dirty, mut writes) = (BTreeSet::new(), false);
    for step in steps {
        let handle = step.file.handle;
        match &step.does {
            SharedWork::Fsync => _ = dirty.remove(&handle),
            SharedWork::FsyncSet => dirty.clear(),
            SharedWork::Open | SharedWork::Create | SharedWork::Close if dirty.contains(&handle) => return false,
            work if work.kind() == Some(OpKind::Write) => {
                writes = true;
                if !step.file.sync {
                    dirty.insert(handle);
                }
            }
            _ => {}
        }
    }
    writes && dirty.is_empty()
}
