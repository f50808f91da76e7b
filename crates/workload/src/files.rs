//! Named files: their names, and rules for creating, opening, flushing and keeping them.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Files and devices with names of their own, created and used as fio does. They stay after the run unless the job
/// says otherwise. Relative paths start at the working directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct JobFiles {
    /// Names or name pattern of the files.
    pub names: Names,
    /// Length that each file is laid out to. The last entry also applies to all further files. Empty for devices, and
    /// for files that are used in their current length.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lengths: Vec<Bytes>,
    /// Directories that the user named and that contain the files. Symbolic links on the way to them are followed
    /// once, and none below them. When empty, the parent directories of the files are used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub typed: Vec<PathBuf>,
    /// Existing directory below which missing parent directories are created; empty for the working directory. When
    /// absent, a missing directory is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub make_below: Option<PathBuf>,
}

impl JobFiles {
    /// Returns the length that a file is laid out to.
    pub fn length(&self, number: usize) -> Option<Bytes> {
        self.lengths.get(number).or(self.lengths.last()).copied()
    }
}

/// Names of a job's files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Names {
    /// Paths typed by the user. Existing files are overwritten under the same rules as numbered ones.
    #[serde(rename = "said")]
    Given(Vec<PathBuf>),
    /// Numbered paths: `{}` in the path stands for the file's number. An existing file is overwritten only if Plumb
    /// created it and left it unchanged, if it is empty, or with permission.
    Numbered {
        /// Path template of the files.
        path: PathBuf,
        /// Number of files, which are numbered from 0.
        count: u32,
        /// Number of files per directory. `{dir}` then stands for the number of the directory, and `{}` for
        /// the file's number in it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        per_directory: Option<u32>,
    },
    /// Paths made up by another tool's rules. Existing files are overwritten under the same rules as numbered ones.
    Made(Vec<PathBuf>),
    /// Names of a PostMark run: its subdirectories, then its files. Existing files belong to the user.
    Postmark(Box<crate::program::Postmark>),
    /// Names in regular trees of directories, by number.
    Trees(Box<crate::program::TreeNames>),
}

impl Names {
    /// Returns the number of names.
    pub fn count(&self) -> usize {
        match self {
            Names::Given(paths) | Names::Made(paths) => paths.len(),
            Names::Numbered { count, .. } => *count as usize,
            Names::Postmark(run) => run.count(),
            Names::Trees(names) => names.count().map_or(usize::MAX, |count| count as usize),
        }
    }

    /// Returns the path of a file; `None` if the number is out of range.
    pub fn path(&self, number: usize) -> Option<PathBuf> {
        match self {
            Names::Given(paths) | Names::Made(paths) => paths.get(number).cloned(),
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

/// Rules for creating, opening and keeping a job's files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FileRules {
    /// Preparation of the files before the job.
    pub prepare: PrepareFiles,
    /// Bypass the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Durability that each write provides by itself.
    pub open_mode: OpenMode,
    /// Drop the files' pages from the page cache before the first loop, before each further
    /// loop, and before reading back.
    pub drop_cached: bool,
    /// Read all files into the page cache before the job.
    pub read_first: bool,
    /// Advice to the kernel about the access pattern.
    pub hint: AccessHint,
    /// Further advice to the kernel about each file. Unlike for `hint`, a refusal is an error.
    #[serde(skip_serializing_if = "Advices::is_nothing")]
    pub advice: Advices,
    /// Expected lifetime of written data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_life: Option<WriteLife>,
    /// Locks on whole files.
    pub lock: FileLock,
    /// Record locks held during reads and writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_lock: Option<RecordLock>,
    /// Create and open a file on its first op instead of before the start.
    pub create_on_open: bool,
    /// Lay out the files and do nothing else.
    pub create_only: bool,
    /// Write after the current end of the file.
    pub append: bool,
    /// Permission to write to a mounted device.
    pub allow_mounted: bool,
    /// Remove the files at the end of the job.
    pub unlink: bool,
    /// Remove the files between loops and keep those of the last loop.
    pub unlink_each_loop: bool,
    /// Make writes that a crash cannot tear (`RWF_ATOMIC`).
    pub atomic_writes: bool,
    /// Further actions whenever a file is opened.
    #[serde(skip_serializing_if = "AtOpen::is_nothing")]
    pub at_open: AtOpen,
    /// Permissions of new files and directories.
    #[serde(skip_serializing_if = "NewModes::is_default")]
    pub new: NewModes,
}

/// Permissions of new files and directories, before the umask is applied. The defaults are fio's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct NewModes {
    /// Mode of files laid out before the job; default 0o644.
    pub laid_out: u32,
    /// Mode of files that a worker creates on opening; default 0o600.
    pub opened: u32,
    /// Mode of new directories; default 0o700.
    pub directory: u32,
}

impl Default for NewModes {
    fn default() -> NewModes {
        NewModes { laid_out: 0o644, opened: 0o600, directory: 0o700 }
    }
}

impl NewModes {
    pub fn is_default(&self) -> bool {
        *self == NewModes::default()
    }

    /// Returns each mode with its key.
    pub fn all(&self) -> [(&'static str, u32); 3] {
        [("laid-out", self.laid_out), ("opened", self.opened), ("directory", self.directory)]
    }
}

/// Further actions on opening a file, in this order. Devices are left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AtOpen {
    /// Truncate the file to length 0 if it is opened for writing.
    pub empty: bool,
    /// Set the file to the target's length with `ftruncate` if it is opened for writing.
    pub to_length: bool,
    /// Reserve blocks for that length with `posix_fallocate` if the file is opened for writing.
    pub allocate: bool,
    /// Call `fstat` on the file.
    pub stat: bool,
}

impl AtOpen {
    /// Returns `true` if no action is enabled.
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
    pub fn is_default(&self) -> bool {
        *self == FileRules::default()
    }

    /// Returns the advice to the kernel about a file mapping, in this order.
    pub fn mapping_advice(&self) -> Vec<MappingAdvice> {
        let hint = match self.hint {
            AccessHint::Sequential => Some(MappingAdvice::Sequential),
            AccessHint::Random => Some(MappingAdvice::Random),
            // madvise(2) has no equivalent for mappings.
            AccessHint::None | AccessHint::NoReuse => None,
        };
        hint.into_iter().chain(self.advice.mapping.iter().copied()).collect()
    }
}

/// Allocation of a job's files before the job starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PrepareFiles {
    /// Create missing files. Otherwise a missing file is an error.
    pub create: bool,
    /// Write files in full if they are too short, or if an op reads them.
    pub write: bool,
    /// System call that reserves space.
    pub allocation: Allocation,
    /// Flush each file after laying it out.
    pub flush: bool,
    /// Lay out the files of one job at a time.
    pub one_at_a_time: bool,
    /// Leave missing files to an earlier phase, or to the ops themselves.
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

/// Method of reserving space for a new file. Source: fallocate(2), posix_fallocate(3), ftruncate(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Allocation {
    /// Reserve no space in advance.
    None,
    /// Call `fallocate` if the file system supports it.
    #[default]
    Native,
    /// Call `posix_fallocate`, which may write zeros.
    Posix,
    /// Call `fallocate` with `FALLOC_FL_KEEP_SIZE`.
    Keep,
    /// Call `ftruncate`, which makes a sparse file.
    Truncate,
}

/// Durability that each write provides by itself. Source: open(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OpenMode {
    /// None: data may stay in the page cache.
    #[default]
    Plain,
    /// Open with `O_SYNC`: data and metadata are durable.
    Sync,
    /// Open with `O_DSYNC`: the data is durable.
    Dsync,
}

/// Advice to the kernel given as soon as a file is open, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Advices {
    /// Advice about the file, posix_fadvise(2).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub file: Vec<FileAdvice>,
    /// Advice about its mapping, if the backend maps the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mapping: Vec<MappingAdvice>,
}

impl Advices {
    /// Returns `true` if there is no advice.
    pub fn is_nothing(&self) -> bool {
        self.file.is_empty() && self.mapping.is_empty()
    }
}

/// Advice about a whole file. Source: posix_fadvise(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileAdvice {
    /// `POSIX_FADV_DONTNEED`: drop the file's pages from the cache.
    DontNeed,
    /// `POSIX_FADV_NOREUSE`: the data is accessed only once.
    NoReuse,
    /// `POSIX_FADV_SEQUENTIAL`: expect sequential reads in ascending order.
    Sequential,
    /// `POSIX_FADV_RANDOM`: expect reads in random order.
    Random,
    /// `POSIX_FADV_WILLNEED`: start to read the file into the cache.
    WillNeed,
}

/// Advice about a whole mapping. Source: posix_madvise(3), madvise(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MappingAdvice {
    /// `POSIX_MADV_DONTNEED`, which C libraries on Linux accept but ignore.
    DontNeed,
    /// `POSIX_MADV_SEQUENTIAL`: expect sequential access in ascending order.
    Sequential,
    /// `POSIX_MADV_RANDOM`: expect access in random order.
    Random,
    /// `POSIX_MADV_WILLNEED`: start to read the pages.
    WillNeed,
    /// `MADV_HUGEPAGE`: use transparent huge pages.
    HugePage,
    /// `MADV_NOHUGEPAGE`: do not use transparent huge pages.
    NoHugePage,
}

/// Advice to the kernel about the access pattern. Source: posix_fadvise(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AccessHint {
    /// Give no advice to the kernel.
    #[default]
    None,
    /// `POSIX_FADV_SEQUENTIAL`: expect sequential reads in ascending order.
    Sequential,
    /// `POSIX_FADV_RANDOM`: expect reads in random order.
    Random,
    /// `POSIX_FADV_NOREUSE`: the data is accessed only once.
    NoReuse,
}

/// Expected lifetime of written data. Source: fcntl(2), `F_SET_RW_HINT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WriteLife {
    /// No expectation (`RWH_WRITE_LIFE_NONE`).
    None,
    /// Short lifetime (`RWH_WRITE_LIFE_SHORT`).
    Short,
    /// Medium lifetime (`RWH_WRITE_LIFE_MEDIUM`).
    Medium,
    /// Long lifetime (`RWH_WRITE_LIFE_LONG`).
    Long,
    /// Very long lifetime (`RWH_WRITE_LIFE_EXTREME`).
    Extreme,
}

/// Locking of a file during an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileLock {
    /// Ops take no lock on the file.
    #[default]
    None,
    /// One op at a time per file.
    Exclusive,
    /// Many reads or one write at a time per file.
    ReadWrite,
}

/// A record lock during each op, shared for reads and exclusive for writes. It excludes other processes but not other
/// threads of the same process. Source: fcntl(2), "Advisory record locking".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RecordLock {
    /// Lock the bytes of the op.
    OpRange,
    /// Lock all bytes of the file.
    WholeFile,
}

/// Flushes between ops and at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Syncs {
    /// Call `fsync` after every N writes; 0 means never.
    #[serde(default)]
    pub fsync_every: u32,
    /// Call `fdatasync` after every N writes; 0 means never.
    #[serde(default)]
    pub fdatasync_every: u32,
    /// Call `sync_file_range` after every N writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<SyncRange>,
    /// Call `fsync` on every file at the end, within the job's time.
    #[serde(default)]
    pub at_end: bool,
    /// Call `fsync` whenever a file is closed.
    #[serde(default)]
    pub at_close: bool,
    /// Call `syncfs` at the end, within the job's time.
    #[serde(default)]
    pub file_system_at_end: bool,
}

impl Syncs {
    /// Returns `true` if there are no flushes.
    pub fn is_none(&self) -> bool {
        *self == Syncs::default()
    }
}

/// Frequency and flags of `sync_file_range`. Source: sync_file_range(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SyncRange {
    /// Call it after every N writes, for the bytes written since the last call.
    pub every: u32,
    /// Wait for writeback that is already under way.
    #[serde(default)]
    pub wait_before: bool,
    /// Start writeback of the range.
    #[serde(default)]
    pub write: bool,
    /// Wait until writeback of the range ends.
    #[serde(default)]
    pub wait_after: bool,
}
