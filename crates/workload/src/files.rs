//! Files under their own names: which they are, how they are made, opened, flushed and left.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Files and devices under their own names, as fio makes and uses them. They stay when the run is over, unless the job
/// says otherwise. A relative path begins at the working directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct JobFiles {
    /// What they are called.
    pub names: Names,
    /// Length to which each is laid out; the last one holds for all further files. Nothing for devices, and for files
    /// that are taken as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lengths: Vec<Bytes>,
    /// Directories that the user named, in which the files lie: links on the way to them are followed once, and none below them.
    /// Without any, those are the directories of the files themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub typed: Vec<PathBuf>,
    /// Missing directories of the files are made below this one, which is there; empty for the working directory. Without
    /// it, a missing directory is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub make_below: Option<PathBuf>,
}

impl JobFiles {
    /// Length to which a file is laid out.
    pub fn length(&self, number: usize) -> Option<Bytes> {
        self.lengths.get(number).or(self.lengths.last()).copied()
    }
}

/// What files are called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Names {
    /// Typed by the user, one by one, and overwritten as numbered ones are.
    Said(Vec<PathBuf>),
    /// Made from a number: `{}` in the path stands for the number of the file. What is there already is overwritten only where Plumb
    /// made it and left it as it is, where it holds nothing, or with permission.
    Numbered {
        /// The path of each.
        path: PathBuf,
        /// How many.
        count: u32,
        /// This many files of a directory: `{dir}` then stands for the number of the directory, and `{}` for that of the
        /// file in it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        per_directory: Option<u32>,
    },
    /// Made up by another tool's rules, one by one, and overwritten as numbered ones are.
    Made(Vec<PathBuf>),
    /// Those of a run of PostMark: its subdirectories, then its files. What is there already is the user's.
    Postmark(Box<crate::program::Postmark>),
    /// Those of regular trees, by number.
    Trees(Box<crate::program::TreeNames>),
}

impl Names {
    /// How many files.
    pub fn count(&self) -> usize {
        match self {
            Names::Said(paths) | Names::Made(paths) => paths.len(),
            Names::Numbered { count, .. } => *count as usize,
            Names::Postmark(run) => run.count(),
            Names::Trees(names) => names.count().map_or(usize::MAX, |count| count as usize),
        }
    }

    /// The path of a file.
    pub fn path(&self, number: usize) -> Option<PathBuf> {
        match self {
            Names::Said(paths) | Names::Made(paths) => paths.get(number).cloned(),
            Names::Numbered { path, count, per_directory } if number < *count as usize => {
                let path = path.to_string_lossy();
                Some(PathBuf::from(match per_directory {
                    None => path.replace("{}", &number.to_string()),
                    Some(each) => {
                        let each = (*each).max(1) as usize;
                        path.replace("{dir}", &(number / each).to_string()).replace("{}", &(number % each).to_string())
                    }
                }))
            }
            Names::Numbered { .. } => None,
            Names::Postmark(run) => run.path(u32::try_from(number).ok()?),
            Names::Trees(names) => (number < self.count()).then(|| names.path(names.name(number as u64))),
        }
    }
}

/// How a job's files are made, opened and left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FileRules {
    /// What happens to them before the job.
    pub prepare: PrepareFiles,
    /// Open around the page cache (`O_DIRECT`).
    pub direct: bool,
    /// With which promise each write returns.
    pub open_mode: OpenMode,
    /// Drop their pages from the page cache first, before each further loop, and before what was written is read back.
    pub drop_cached: bool,
    /// Read all of them into the page cache first.
    pub read_first: bool,
    /// Advice to the kernel about the pattern.
    pub hint: AccessHint,
    /// Advice to the kernel about each file beside that, where being refused is an error.
    #[serde(skip_serializing_if = "Advices::is_nothing")]
    pub advice: Advices,
    /// How long written data is expected to live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_life: Option<WriteLife>,
    /// How they are locked.
    pub lock: FileLock,
    /// Which record locks its reads and writes hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_lock: Option<RecordLock>,
    /// A file is made and opened when its first op comes, not before the start.
    pub create_on_open: bool,
    /// Only lay them out, and do nothing else.
    pub create_only: bool,
    /// Write behind the present end.
    pub append: bool,
    /// Permission to write to a mounted device.
    pub allow_mounted: bool,
    /// Remove them at the end.
    pub unlink: bool,
    /// Remove them between loops; those of the last one stay.
    pub unlink_each_loop: bool,
    /// Writes that no crash tears (`RWF_ATOMIC`).
    pub atomic_writes: bool,
    /// What else is done to a file as it is opened.
    #[serde(skip_serializing_if = "AtOpen::is_nothing")]
    pub at_open: AtOpen,
    /// Modes of what is made.
    #[serde(skip_serializing_if = "NewModes::is_default")]
    pub new: NewModes,
}

/// Modes of new files and directories, from which the umask is taken. The defaults are fio's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct NewModes {
    /// Of a file that is laid out before the job; 0o644.
    pub laid_out: u32,
    /// Of a file that a worker makes as it opens it; 0o600.
    pub opened: u32,
    /// Of a directory; 0o700.
    pub directory: u32,
}

impl Default for NewModes {
    fn default() -> NewModes {
        NewModes { laid_out: 0o644, opened: 0o600, directory: 0o700 }
    }
}

impl NewModes {
    /// Whether they are the defaults.
    pub fn is_default(&self) -> bool {
        *self == NewModes::default()
    }

    /// Each with its key.
    pub fn all(&self) -> [(&'static str, u32); 3] {
        [("laid-out", self.laid_out), ("opened", self.opened), ("directory", self.directory)]
    }
}

/// What else is done to a file as it is opened, in this order; to a device, nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AtOpen {
    /// It loses its content, where it is opened to be written to.
    pub empty: bool,
    /// It gets the target's length (`ftruncate`), where it is opened to be written to.
    pub to_length: bool,
    /// Blocks for that length are reserved (`posix_fallocate`), where it is opened to be written to.
    pub allocate: bool,
    /// It is asked about (`fstat`).
    pub stat: bool,
}

impl AtOpen {
    /// Whether nothing is done.
    pub fn is_nothing(&self) -> bool {
        *self == AtOpen::default()
    }
}

impl Default for FileRules {
    fn default() -> FileRules {
        FileRules {
            prepare: PrepareFiles::default(),
            direct: false,
            open_mode: OpenMode::default(),
            drop_cached: true,
            read_first: false,
            hint: AccessHint::default(),
            advice: Advices::default(),
            write_life: None,
            lock: FileLock::default(),
            record_lock: None,
            create_on_open: false,
            create_only: false,
            append: false,
            allow_mounted: false,
            unlink: false,
            unlink_each_loop: false,
            atomic_writes: false,
            at_open: AtOpen::default(),
            new: NewModes::default(),
        }
    }
}

impl FileRules {
    /// Whether nothing is asked for.
    pub fn is_default(&self) -> bool {
        *self == FileRules::default()
    }

    /// Advice to the kernel about a mapping of a file, in this order.
    pub fn mapping_advice(&self) -> Vec<MappingAdvice> {
        let hint = match self.hint {
            AccessHint::Sequential => Some(MappingAdvice::Sequential),
            AccessHint::Random => Some(MappingAdvice::Random),
            // There is no such word for mappings.
            AccessHint::None | AccessHint::NoReuse => None,
        };
        hint.into_iter().chain(self.advice.mapping.iter().copied()).collect()
    }
}

/// How files get their blocks before the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PrepareFiles {
    /// Make files that are missing; without it, a missing file is an error.
    pub create: bool,
    /// Write them in full, where they are shorter than they should be or something reads them.
    pub write: bool,
    /// How space is reserved.
    pub allocation: Allocation,
    /// Flush each after it was laid out.
    pub flush: bool,
    /// Lay out the files of one job at a time.
    pub one_at_a_time: bool,
    /// What is missing is left to an earlier phase, or to the ops themselves.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub later: bool,
}

impl Default for PrepareFiles {
    fn default() -> PrepareFiles {
        PrepareFiles {
            create: true,
            write: false,
            allocation: Allocation::default(),
            flush: true,
            one_at_a_time: true,
            later: false,
        }
    }
}

/// How space is reserved for a file that is laid out. Source: fallocate(2), posix_fallocate(3), ftruncate(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Allocation {
    /// Not at all.
    None,
    /// `fallocate`, where the file system has it.
    #[default]
    Native,
    /// `posix_fallocate`.
    Posix,
    /// `fallocate` that keeps the size.
    Keep,
    /// `ftruncate`.
    Truncate,
}

/// With which promise each write returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OpenMode {
    /// None.
    #[default]
    Plain,
    /// `O_SYNC`.
    Sync,
    /// `O_DSYNC`.
    Dsync,
}

/// Advice to the kernel about a file as soon as it is open, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Advices {
    /// About the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file: Vec<FileAdvice>,
    /// About its mapping, where the backend maps it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mapping: Vec<MappingAdvice>,
}

impl Advices {
    /// Whether nothing is told.
    pub fn is_nothing(&self) -> bool {
        self.file.is_empty() && self.mapping.is_empty()
    }
}

/// Advice about a file, all of it. Source: posix_fadvise(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileAdvice {
    /// `POSIX_FADV_DONTNEED`.
    DontNeed,
    /// `POSIX_FADV_NOREUSE`.
    NoReuse,
    /// `POSIX_FADV_SEQUENTIAL`.
    Sequential,
    /// `POSIX_FADV_RANDOM`.
    Random,
    /// `POSIX_FADV_WILLNEED`.
    WillNeed,
}

/// Advice about a mapping, all of it. Source: posix_madvise(3), madvise(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MappingAdvice {
    /// `POSIX_MADV_DONTNEED`, which C libraries on Linux take and do nothing for.
    DontNeed,
    /// `POSIX_MADV_SEQUENTIAL`.
    Sequential,
    /// `POSIX_MADV_RANDOM`.
    Random,
    /// `POSIX_MADV_WILLNEED`.
    WillNeed,
    /// `MADV_HUGEPAGE`.
    HugePage,
    /// `MADV_NOHUGEPAGE`.
    NoHugePage,
}

/// Advice to the kernel about the pattern. Source: posix_fadvise(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AccessHint {
    /// Nothing.
    #[default]
    None,
    /// `POSIX_FADV_SEQUENTIAL`.
    Sequential,
    /// `POSIX_FADV_RANDOM`.
    Random,
    /// `POSIX_FADV_NOREUSE`.
    NoReuse,
}

/// How long written data is expected to live. Source: fcntl(2), `F_SET_RW_HINT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WriteLife {
    /// Nothing is known.
    None,
    /// Short.
    Short,
    /// Medium.
    Medium,
    /// Long.
    Long,
    /// Very long.
    Extreme,
}

/// How files are locked while an op is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileLock {
    /// Not at all.
    #[default]
    None,
    /// One user at a time.
    Exclusive,
    /// Many readers or one writer.
    ReadWrite,
}

/// A record lock, shared by reads and held by one write alone. It keeps out other processes, and not other workers that are
/// threads of the same one. Source: fcntl(2), "Advisory record locking".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RecordLock {
    /// On the bytes of the op.
    OpRange,
    /// On all of the file.
    WholeFile,
}

/// Flushes between the ops and at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Syncs {
    /// `fsync` after every N writes; 0 is never.
    #[serde(default)]
    pub fsync_every: u32,
    /// `fdatasync` after every N writes; 0 is never.
    #[serde(default)]
    pub fdatasync_every: u32,
    /// `sync_file_range` after every N writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<SyncRange>,
    /// `fsync` of every file at the end, inside the job's time.
    #[serde(default)]
    pub at_end: bool,
    /// `fsync` whenever a file is closed.
    #[serde(default)]
    pub at_close: bool,
    /// `syncfs` at the end, inside the job's time.
    #[serde(default)]
    pub file_system_at_end: bool,
}

impl Syncs {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Syncs::default()
    }
}

/// When and how `sync_file_range` is called. Source: sync_file_range(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SyncRange {
    /// After every N writes, over the bytes written since.
    pub every: u32,
    /// Wait for writeback that is under way.
    #[serde(default)]
    pub wait_before: bool,
    /// Start writeback.
    #[serde(default)]
    pub write: bool,
    /// Wait for writeback to end.
    #[serde(default)]
    pub wait_after: bool,
}
