//! Steps of a program.

use super::files::{FileStep, Held, Pick};
use super::load_file::LoadFileStep;
use super::mpi::MpiOpen;
use super::postmark::PostmarkStep;
use super::shared::SharedStep;
use super::transfer::Transfer;
use super::trees::TreeStep;
use crate::target::Distribution;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// A step of a program. Handles are numbers for open files, chosen by the program; most programs only need 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// `open(O_CREAT|O_EXCL)` of a file of the set that does not exist. The handle then refers to it.
    Create {
        /// Handle for the new file.
        #[serde(default)]
        handle: u16,
    },
    /// `open`, `creat` or `fopen`. In a file set, opens an existing file.
    Open(OpenStep),
    /// `close` or `fclose` of a handle.
    Close {
        /// Handle to close; defaults to 0.
        #[serde(default)]
        handle: u16,
    },
    /// Moves records of an open file.
    Transfer(Transfer),
    /// Reads the whole file, in requests of `request` bytes.
    ReadWhole {
        /// Handle of the file; defaults to 0.
        #[serde(default)]
        handle: u16,
        /// Bytes requested per `pread` call.
        #[serde(default = "request_bytes")]
        request: Bytes,
    },
    /// One `pread` at a random offset within the file.
    ReadRandom {
        /// Handle of the file; defaults to 0.
        #[serde(default)]
        handle: u16,
        /// Bytes to read.
        size: Distribution,
    },
    /// One `pread` at a given offset.
    ReadAt {
        /// Handle of the file; defaults to 0.
        #[serde(default)]
        handle: u16,
        /// Offset in the file, in bytes.
        offset: Bytes,
        /// Bytes to read.
        size: Distribution,
    },
    /// Writes the whole file in its current size, in requests of `request` bytes.
    WriteWhole {
        /// Handle of the file; defaults to 0.
        #[serde(default)]
        handle: u16,
        /// Bytes passed to each `pwrite` call.
        #[serde(default = "request_bytes")]
        request: Bytes,
    },
    /// One `pwrite` at a random offset within the file.
    WriteRandom {
        /// Handle of the file; defaults to 0.
        #[serde(default)]
        handle: u16,
        /// Bytes to write.
        size: Distribution,
    },
    /// One `pwrite` at a given offset.
    WriteAt {
        /// Handle of the file; defaults to 0.
        #[serde(default)]
        handle: u16,
        /// Offset in the file, in bytes.
        offset: Bytes,
        /// Bytes to write.
        size: Distribution,
    },
    /// One `pwrite` at the end of the file.
    Append {
        /// Handle of the file; defaults to 0.
        #[serde(default)]
        handle: u16,
        /// Bytes to append.
        size: Distribution,
    },
    /// `fsync` of a handle; preceded by `fflush` for a stream.
    Fsync {
        /// Handle of the file; defaults to 0.
        #[serde(default)]
        handle: u16,
    },
    /// `fdatasync` of an open file.
    Fdatasync {
        /// Handle of the file; defaults to 0.
        #[serde(default)]
        handle: u16,
    },
    /// `msync` with `MS_SYNC` of the whole mapping.
    Msync {
        /// Handle of the mapped file; defaults to 0.
        #[serde(default)]
        handle: u16,
    },
    /// `fflush` of a stream.
    Flush {
        /// Handle of the stream; defaults to 0.
        #[serde(default)]
        handle: u16,
    },
    /// `sync` of all file systems of the machine.
    Sync {},
    /// Runs a shell command line and ignores its exit code.
    Command {
        /// Command line for the shell.
        line: String,
    },
    /// `lseek` or `fseek` to an offset.
    Seek {
        /// Handle of the file; defaults to 0.
        #[serde(default)]
        handle: u16,
        /// Offset from the beginning, in bytes.
        to: Bytes,
    },
    /// `ftruncate` of an open file to a given length.
    Truncate {
        /// Handle of the file; defaults to 0.
        #[serde(default)]
        handle: u16,
        /// New length of the file.
        #[serde(alias = "length")]
        size: Distribution,
    },
    /// `fallocate` of an open file from its start.
    Fallocate {
        /// Handle of the file; defaults to 0.
        #[serde(default)]
        handle: u16,
        /// Bytes to allocate.
        size: Distribution,
    },
    /// Waits like `meet`, then ends the program if any worker has read data that failed
    /// verification since the run began.
    EndIfWrong {},
    /// Shared `mmap` of an open file.
    Map(MapStep),
    /// `munmap` of a mapping made by `map`.
    Unmap {
        /// Handle of the mapped file; defaults to 0.
        #[serde(default)]
        handle: u16,
    },
    /// `fcntl` with `F_SETLKW` on the whole file.
    Lock {
        /// Handle of the file; defaults to 0.
        #[serde(default)]
        handle: u16,
        /// Kind of lock to set.
        kind: LockKind,
    },
    /// `stat` of a file by path.
    Stat {
        /// File to work on; defaults to `usual`.
        #[serde(default)]
        file: Pick,
    },
    /// `access` of a file by path, with `F_OK` for named files and `R_OK` for a file set.
    Access {
        /// File to work on; defaults to `usual`.
        #[serde(default)]
        file: Pick,
    },
    /// `utimensat` that sets the times to now.
    Utimens {
        /// File to work on; defaults to `usual`.
        #[serde(default)]
        file: Pick,
    },
    /// `chmod` of a file, alternating between 0644 and 0600.
    Chmod {
        /// File to work on; defaults to `usual`.
        #[serde(default)]
        file: Pick,
    },
    /// `rename` of an existing file to a name that does not exist.
    Rename {
        /// File to rename; defaults to `usual`.
        #[serde(default)]
        file: Pick,
    },
    /// Copies a file into another file set, to the name with the same number. An existing copy is removed first.
    Copy(CopyStep),
    /// `link`, which creates a hard link.
    Link {
        /// In a file set, the existing file to link to; the new name is one that does not exist. For
        /// named files, the new name.
        #[serde(default)]
        file: Pick,
        /// For named files, the existing file to link to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Pick>,
    },
    /// `symlink`, which creates a symbolic link.
    Symlink {
        /// In a file set, the existing file that the new link points to. For named files, the new link.
        #[serde(default)]
        file: Pick,
        /// For named files, the target of the link, by its name in the directory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Pick>,
    },
    /// `readlink` of a file. The op fails if the file is not a symbolic link.
    Readlink {
        /// File to work on; defaults to `usual`.
        #[serde(default)]
        file: Pick,
    },
    /// `unlink` of a file or a link.
    Unlink {
        /// File to remove; defaults to `usual`.
        #[serde(default)]
        file: Pick,
        /// Whether a missing file is an error.
        #[serde(default)]
        missing: MissingFile,
    },
    /// `mkdir`; in a file set, of an additional directory.
    Mkdir {
        /// Name to create; defaults to `usual`.
        #[serde(default)]
        file: Pick,
        /// Permissions before the umask; 0777 when absent, and 0755 in a file set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
        /// For named files: an existing directory is not an error.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_exist: bool,
    },
    /// `rmdir`; in a file set, of a directory made by this program or beforehand.
    Rmdir {
        /// Directory to remove; defaults to `usual`.
        #[serde(default)]
        file: Pick,
    },
    /// Reads one directory of the file set to its end.
    Readdir {},
    /// `opendir`. Later steps can work on the directory's files in the order of its entries.
    List {
        /// Directory to open; defaults to `usual`.
        #[serde(default)]
        file: Pick,
    },
    /// The last `readdir` of an opened directory, and `closedir`.
    EndList {},
    /// Opens directories and keeps them open so that they can be flushed.
    HoldDirectories(Held),
    /// Makes all calls on one file as one op.
    OfFile(FileStep),
    /// Runs a part of PostMark. The target's names must be those of the run.
    Postmark(Box<PostmarkStep>),
    /// Works on trees of directories and their numbered items. The target's names must be trees.
    Trees(Box<TreeStep>),
    /// Acts as a client that runs a load file.
    LoadFile(Box<LoadFileStep>),
    /// Waits until all workers of the phase have reached this step. Not part of any op's time.
    Meet {},
    /// Waits for a fixed time. Not part of any op's time.
    #[serde(alias = "pause")]
    Delay {
        /// Time to wait.
        time: Nanos,
    },
    /// Runs the same steps for each of several named files.
    Each(Each),
    /// Runs steps a number of times.
    Loop {
        /// Number of repetitions.
        times: u64,
        /// Steps to repeat.
        steps: Vec<Step>,
    },
    /// Runs a named step over file sets that all workers share.
    Shared(Box<SharedStep>),
    /// Runs one of several lists of steps, chosen by weight.
    Mix {
        /// Lists to choose from.
        choices: Vec<Choice>,
    },
}

fn request_bytes() -> Bytes {
    Bytes(1 << 20)
}

/// One choice of [`Step::Mix`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Choice {
    /// Weight relative to the other choices.
    pub weight: f64,
    /// Steps to run when it is chosen.
    pub steps: Vec<Step>,
}

/// Options for opening a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct OpenStep {
    /// File to open.
    pub file: Pick,
    /// Handle for the open file.
    #[serde(skip_serializing_if = "is_first")]
    pub handle: u16,
    /// Open for reading. Files of a file set are always readable.
    pub read: bool,
    /// Open for writing.
    pub write: bool,
    /// Create the file if missing (`O_CREAT`).
    pub create: bool,
    /// Fail if the file exists (`O_EXCL`).
    pub exclusive: bool,
    /// Truncate the file to length 0 (`O_TRUNC`).
    pub truncate: bool,
    /// Append to the file (`O_APPEND`).
    pub append: bool,
    /// Bypass the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Durability that each write provides by itself.
    pub promise: OpenPromise,
    /// Permissions of a new file, before the umask.
    pub mode: u32,
    /// Open as a stream of the C library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<StdioBuffer>,
    /// Open with MPI-IO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpi: Option<Box<MpiOpen>>,
}

fn is_first(handle: &u16) -> bool {
    *handle == 0
}

impl Default for OpenStep {
    fn default() -> OpenStep {
        OpenStep {
            file: Pick::Usual,
            handle: 0,
            read: false,
            write: false,
            create: false,
            exclusive: false,
            truncate: false,
            append: false,
            direct: false,
            promise: OpenPromise::Plain,
            mode: 0o666,
            stream: None,
            mpi: None,
        }
    }
}

impl OpenStep {
    /// Returns `true` if the step, or a write through its handle, may change the file.
    pub fn changes(&self) -> bool {
        self.write || self.create || self.truncate
    }

    /// Returns `true` if only the file, the handle and `write` may differ from the defaults.
    pub(super) fn is_simple(&self) -> bool {
        let OpenStep { file, handle, write, .. } = *self;
        *self == OpenStep { file, handle, write, ..OpenStep::default() }
    }
}

/// A copy of a file into another file set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CopyStep {
    /// File to copy.
    #[serde(default)]
    pub file: Pick,
    /// Target to copy to: a file set with the same number of files and directories, initially without files.
    pub to: String,
    /// Bytes per `pread` and `pwrite` call.
    #[serde(default = "request_bytes")]
    pub request: Bytes,
    /// Remove the file after copying it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moves: bool,
}

/// Buffering and locking of a C library stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StdioBuffer {
    /// Size of the buffer set with `setvbuf` (fully buffered); the library's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Whether the C library locks the stream.
    #[serde(default, skip_serializing_if = "StreamLocks::is_library")]
    pub locks: StreamLocks,
}

/// Protection of a stream against other threads. Source: `__fsetlocking`(3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StreamLocks {
    /// The C library locks the stream in each call.
    #[default]
    Library,
    /// No locks: calls cost as much as in a program without threads.
    None,
}

impl StreamLocks {
    /// Returns `true` if the C library locks the stream.
    pub(crate) fn is_library(&self) -> bool {
        *self == StreamLocks::Library
    }
}

/// Durability that each write provides by itself. Source: open(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OpenPromise {
    /// None: data may stay in the page cache.
    #[default]
    Plain,
    /// Open with `O_SYNC`: data and metadata are durable.
    Sync,
    /// Open with `O_DSYNC`: the data is durable.
    Dsync,
    /// Open with `O_RSYNC`, which Linux treats as `O_SYNC`.
    Rsync,
}

/// Options for mapping a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MapStep {
    /// Handle of the file; defaults to 0.
    #[serde(default)]
    pub handle: u16,
    /// Bytes to map, from the start of the file.
    pub length: Bytes,
    /// Map for stores too. The file is first extended to this length if it is shorter.
    #[serde(default)]
    pub write: bool,
    /// Advice to the kernel about the access pattern.
    #[serde(default)]
    pub advice: Advice,
}

/// Advice to the kernel about a mapping. Source: madvise(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// Give no advice to the kernel.
    #[default]
    None,
    /// `MADV_NORMAL`: no special treatment.
    Normal,
    /// `MADV_RANDOM`: expect access in random order.
    Random,
    /// `MADV_SEQUENTIAL`: expect sequential access in ascending order.
    Sequential,
    /// `MADV_WILLNEED`: start to read the pages.
    WillNeed,
    /// `MADV_DONTNEED`: the pages are not needed soon.
    DontNeed,
}

/// A lock on a whole file. Source: fcntl(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    /// A shared lock for reading (`F_RDLCK`).
    Read,
    /// An exclusive lock for writing (`F_WRLCK`).
    Write,
    /// Release the lock (`F_UNLCK`).
    None,
}

/// Whether a missing file is an error for a call that removes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MissingFile {
    /// It is an error.
    #[default]
    Fails,
    /// It counts as removed already.
    Passes,
}

/// The same steps for each of several files, which [`Pick::Own`] then selects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Each {
    /// Number of the first file.
    #[serde(default)]
    pub first: u32,
    /// Number of files to visit, from `first` on.
    pub count: u32,
    /// Order in which files are visited.
    #[serde(default)]
    pub order: FileOrder,
    /// Steps to run for each file.
    pub steps: Vec<Step>,
}

/// Order of the files in [`Each`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileOrder {
    /// In ascending order of their numbers.
    #[default]
    Forward,
    /// In descending order of their numbers.
    Backward,
    /// In the listed order; `first` and `count` are ignored.
    Listed(Vec<u32>),
}
