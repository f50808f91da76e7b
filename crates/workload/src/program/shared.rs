//! Steps over file sets that all workers share.
//!
//! Over a [tree](crate::TreeTarget) each worker owns a part of the files, so that equal seeds give equal ops. Here every
//! worker may use every file: which file a step works on depends on what the others have done, and workers can wait for
//! each other. It is what Filebench's language needs.

use super::amount::Amount;
use crate::content::Content;
use crate::op::OpKind;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A file set that all workers share: a random tree of directories, with files in its leaves.
///
/// Directories and files are called `00000001`, `00000002` … in each directory. Each directory draws how deep the tree is
/// below the root at its place, and how many entries it has; one at that depth holds files, and others hold directories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SharedTree {
    /// The root of the tree; a relative path begins at the working directory. What is in it is test data, and stays.
    pub path: PathBuf,
    /// Most files that it holds.
    #[serde(default)]
    pub files: u64,
    /// Most empty directories that it holds, for steps that make and remove directories.
    #[serde(default)]
    pub leaf_directories: u64,
    /// Size of each file as it is made, bytes; drawn once for each.
    pub size: Amount,
    /// Entries of a directory: a mean that `spread` varies, or a variable; 0 puts everything into one directory.
    pub width: Amount,
    /// Depth of the tree; what the number of files and the width make likely when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<Amount>,
    /// Shape of the gamma distributions of depth and width; 0 makes both constant.
    #[serde(default = "usual_spread")]
    pub spread: f64,
    /// Chance of each file and empty directory to exist before the first phase, percent.
    #[serde(default)]
    pub preallocated_percent: u32,
    /// Threads that make the files.
    #[serde(default = "one")]
    pub layout_threads: u32,
    /// What happens to a tree that is there already.
    #[serde(default)]
    pub existing: ExistingTree,
    /// Files are dropped from the page cache once they are there, as far as they are on the device already
    /// (`POSIX_FADV_DONTNEED`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncached: bool,
    /// How its files are opened.
    #[serde(default)]
    pub access: TreeAccess,
    /// What is written into them.
    #[serde(default)]
    pub content: Content,
}

fn usual_spread() -> f64 {
    1.5
}

fn one() -> u32 {
    1
}

/// What happens to a tree that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExistingTree {
    /// It is removed, and made again.
    #[default]
    Remove,
    /// It is kept: files that are too long are cut, and those that are too short are written again.
    Reuse,
    /// It is assumed complete; not checked.
    Trust,
}

/// How the files of a tree are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TreeAccess {
    /// For reading and writing.
    #[default]
    ReadWrite,
    /// For reading.
    Read,
    /// For writing.
    Write,
}

/// What the workers of programs over shared file sets have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Together {
    /// Events a second, for all workers of the phase together; steps that take events wait for none when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events_per_second: Option<u64>,
    /// This many workers of the group, one after another, count their ops together, as the threads of a process.
    pub members: u32,
    /// Number of the first of these parties in the phase: groups with equal numbers count together.
    pub first_party: u32,
}

impl Default for Together {
    fn default() -> Together {
        Together { events_per_second: None, members: 1, first_party: 0 }
    }
}

/// A named step over shared file sets. It has statistics of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SharedStep {
    /// What its statistics, and steps that mean it, call it.
    pub name: String,
    /// What is done.
    pub does: SharedWork,
    /// The file that it is done to.
    #[serde(default, skip_serializing_if = "SharedFile::is_default")]
    pub file: SharedFile,
    /// How often, before the next step.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: Amount,
}

fn once() -> Amount {
    Amount::Fixed(1)
}

fn is_once(times: &Amount) -> bool {
    times.is(1)
}

/// The file of a step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SharedFile {
    /// The target that it is of; the one that the handle holds when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// The handle that it is known by.
    pub handle: u16,
    /// Which one, where the handle holds none.
    #[serde(skip_serializing_if = "SharedPick::is_next")]
    pub pick: SharedPick,
    /// Opened around the page cache (`O_DIRECT`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
    /// Opened so that each write returns when it is durable (`O_SYNC`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sync: bool,
    /// The kernel is told not to read ahead (`POSIX_FADV_RANDOM`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_read_ahead: bool,
}

impl SharedFile {
    /// Whether it says nothing.
    pub fn is_default(&self) -> bool {
        *self == SharedFile::default()
    }
}

/// Which entry of a file set.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum SharedPick {
    /// The next one behind the last that any worker took.
    #[default]
    Next,
    /// The next one behind the last that this worker took, through the next of its handles.
    Turn,
    /// The first one from this number on, modulo the number of entries.
    Indexed(Amount),
}

impl SharedPick {
    /// Whether it is the next one.
    pub fn is_next(&self) -> bool {
        *self == SharedPick::Next
    }
}

/// Handles that [`SharedPick::Turn`] goes over.
pub const TURN_HANDLES: u16 = 128;

/// What a step does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum SharedWork {
    /// Further steps, which are named behind this one: `outer.inner`.
    Steps(Vec<SharedStep>),
    /// `open` of an existing file.
    Open,
    /// `open` with `O_CREAT` of one that does not exist.
    Create,
    /// `close`.
    Close,
    /// `unlink` of the handle's file, or of an existing one that nobody has open.
    Remove,
    /// `fstat` of the handle's file, or `stat` of an existing one.
    Stat,
    /// One `read` where the file stands, from its beginning again behind its end; or one `pread`.
    Read(SharedTransfer),
    /// One `write` where the file stands, or one `pwrite`.
    Write(SharedTransfer),
    /// The whole file, from its beginning.
    ReadWhole {
        /// Bytes of each `read`.
        request: Amount,
    },
    /// As many bytes as a file has, from where the file stands.
    WriteWhole {
        /// Bytes of each `write`.
        request: Amount,
        /// The handle whose file has the length; the own file's size where it holds none.
        like: u16,
        /// The length where the handle holds none; the own file's size when 0.
        #[serde(default)]
        bytes: u64,
    },
    /// One `write` at the end of the file.
    Append {
        /// Bytes.
        size: Amount,
        /// Any number below that, uniformly.
        up_to: bool,
    },
    /// `fsync`.
    Fsync,
    /// `fsync` of each of the worker's open files of the set; each is an op.
    FsyncSet,
    /// `mkdir` of a leaf directory that does not exist.
    MakeDirectory,
    /// `rmdir` of one that does.
    RemoveDirectory,
    /// Reads a directory to its end.
    List,
    /// `aio_write` at a random place, not waited for.
    StartWrite(SharedTransfer),
    /// Waits for half of the writes in flight, at least one.
    AwaitWrites,
    /// Waits until a step wakes it; one that did so since it waited last counts.
    Sleep,
    /// Wakes all workers that wait, or are about to wait, at this step.
    Wake {
        /// The step's full name; it must sleep.
        step: String,
    },
    /// Takes credit, and waits for it.
    Take {
        /// How much.
        credit: Amount,
        /// How far those who give it without having to wait may be ahead.
        ahead: u64,
    },
    /// Gives each worker credit at a step.
    Give {
        /// The step's full name; it must take credit.
        step: String,
        /// How much.
        credit: Amount,
        /// Waits while it is too far ahead.
        #[serde(default)]
        waits: bool,
    },
    /// Stores a byte this many times, and uses the processor for nothing.
    Spin {
        /// How often.
        times: Amount,
    },
    /// Waits.
    Delay {
        /// Seconds.
        seconds: Amount,
    },
    /// Takes an event.
    TakeEvent,
    /// Takes an event for each unit of what was done since it was here last.
    TakeEvents {
        /// The unit.
        unit: EventUnit,
        /// By this step of the worker, by its full name; by all of its party when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
    },
    /// Ends the worker when enough is done.
    Finish {
        /// How much.
        after: Amount,
        /// The unit.
        unit: FinishUnit,
        /// By this step of the worker, by its full name; by all of its party when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
    },
    /// Nothing but being counted: what it prints is its dialect's.
    Note {
        /// What is to be printed.
        text: String,
    },
    /// Draws a number, and uses it for nothing.
    Sample {
        /// The number.
        value: Amount,
    },
}

/// One read or write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SharedTransfer {
    /// Bytes; drawn without a limit, at most 16 MiB, or 16 times their mean where that is more.
    pub size: Amount,
    /// At a random multiple of the size, rather than where the file stands.
    #[serde(default)]
    pub random: bool,
    /// Places lie within the first `within` bytes; in all of the file when 0.
    #[serde(default)]
    pub within: u64,
    /// With `random`: at one of these offsets instead, each as likely as the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Bytes>,
}

/// What [`SharedWork::TakeEvents`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EventUnit {
    /// Ops.
    Ops,
    /// Reads and writes.
    Transfers,
    /// MiB that reads and writes moved, and one more.
    Mebibytes,
}

/// What [`SharedWork::Finish`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FinishUnit {
    /// Ops: at least this many.
    Ops,
    /// Bytes: more than this many.
    Bytes,
}

impl SharedWork {
    /// The kind of op that it makes; none for what only waits, counts or decides.
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

    /// Whether it needs a file set: nothing that a handle holds tells it which one.
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

    /// How many bytes a call moves.
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

/// Steps and those inside of them, each before what is inside of it.
pub fn walk_shared<'a>(step: &'a SharedStep, to: &mut dyn FnMut(&'a SharedStep)) {
    to(step);
    if let SharedWork::Steps(steps) = &step.does {
        steps.iter().for_each(|step| walk_shared(step, to));
    }
}

/// The full name of a step within another; `outer` is empty where it is in none.
pub fn shared_name(outer: &str, name: &str) -> String {
    if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") }
}

/// A step and those inside of it with their full names, each before what is inside of it.
pub(super) fn add_named<'a>(step: &'a SharedStep, outer: &str, to: &mut Vec<(String, &'a SharedStep)>) {
    let name = shared_name(outer, &step.name);
    to.push((name.clone(), step));
    if let SharedWork::Steps(steps) = &step.does {
        steps.iter().for_each(|step| add_named(step, &name, to));
    }
}

impl SharedStep {
    /// Whether it makes what was written durable, or opens a file so that each write does.
    pub fn flushes(&self) -> bool {
        self.file.sync || matches!(self.does, SharedWork::Fsync | SharedWork::FsyncSet)
    }

    /// Whether it opens its file where its handle holds none.
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

/// Whether each write is flushed before its handle is closed or given another file, and before the steps begin again.
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
