//! The steps of a program.

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

/// A step of a program. Handles are numbers of open files that the program chooses itself; most need only 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// `open(O_CREAT|O_EXCL)` of a file of the set that does not exist; it becomes the handle's file.
    Create {
        /// Handle that it opens.
        #[serde(default)]
        handle: u16,
    },
    /// `open`, `creat` or `fopen`; of a file set, of a file that exists.
    Open(OpenStep),
    /// `close` or `fclose`.
    Close {
        /// Of what.
        #[serde(default)]
        handle: u16,
    },
    /// Records of an open file.
    Transfer(Transfer),
    /// Reads the whole file, in requests of `request` bytes.
    ReadWhole {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// Size of each `pread`.
        #[serde(default = "request_bytes")]
        request: Bytes,
    },
    /// One `pread` at a random offset within the file.
    ReadRandom {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// Bytes.
        size: Distribution,
    },
    /// One `pread` at a given offset.
    ReadAt {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// Where.
        offset: Bytes,
        /// Bytes.
        size: Distribution,
    },
    /// Writes the whole file at its own size, in requests of `request` bytes.
    WriteWhole {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// Size of each `pwrite`.
        #[serde(default = "request_bytes")]
        request: Bytes,
    },
    /// One `pwrite` at a random offset within the file.
    WriteRandom {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// Bytes.
        size: Distribution,
    },
    /// One `pwrite` at a given offset.
    WriteAt {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// Where.
        offset: Bytes,
        /// Bytes.
        size: Distribution,
    },
    /// One `pwrite` at the end of the file.
    Append {
        /// Which handle.
        #[serde(default)]
        handle: u16,
        /// Bytes.
        size: Distribution,
    },
    /// `fsync`; of a stream, behind `fflush`.
    Fsync {
        /// Of what.
        #[serde(default)]
        handle: u16,
    },
    /// `fdatasync`.
    Fdatasync {
        /// Of what.
        #[serde(default)]
        handle: u16,
    },
    /// `msync` with `MS_SYNC`, of the whole mapping.
    Msync {
        /// Of what.
        #[serde(default)]
        handle: u16,
    },
    /// `fflush`.
    Flush {
        /// Of what.
        #[serde(default)]
        handle: u16,
    },
    /// `sync`, of the whole machine.
    Sync {},
    /// A command line of the shell, whose exit code means nothing.
    Command {
        /// What is run.
        line: String,
    },
    /// `lseek` to a place, or `fseek`.
    Seek {
        /// Of what.
        #[serde(default)]
        handle: u16,
        /// Bytes from the beginning.
        to: Bytes,
    },
    /// `ftruncate`.
    Truncate {
        /// Of what.
        #[serde(default)]
        handle: u16,
        /// The new length.
        #[serde(alias = "length")]
        size: Distribution,
    },
    /// `fallocate` of an open file from its start.
    Fallocate {
        /// Of what.
        #[serde(default)]
        handle: u16,
        /// Length.
        size: Distribution,
    },
    /// Waits as `meet` does, and ends the program where verification found anything wrong in any worker's reads since the run began.
    EndIfWrong {},
    /// `mmap`, shared.
    Map(MapStep),
    /// `munmap`.
    Unmap {
        /// Of what.
        #[serde(default)]
        handle: u16,
    },
    /// `fcntl` with `F_SETLKW`, of the whole file.
    Lock {
        /// Of what.
        #[serde(default)]
        handle: u16,
        /// How.
        kind: LockKind,
    },
    /// `stat`.
    Stat {
        /// Which file.
        #[serde(default)]
        file: Pick,
    },
    /// `access`: of a named file with `F_OK`, of a file of a set with `R_OK`.
    Access {
        /// Which file.
        #[serde(default)]
        file: Pick,
    },
    /// `utimensat`, to now.
    Utimens {
        /// Which file.
        #[serde(default)]
        file: Pick,
    },
    /// `chmod`, alternating between 0644 and 0600.
    Chmod {
        /// Which file.
        #[serde(default)]
        file: Pick,
    },
    /// `rename` of an existing file to a name that does not exist.
    Rename {
        /// Which file.
        #[serde(default)]
        file: Pick,
    },
    /// Copies a file into another file set, to the name of the same number; a copy that is there already is removed first.
    Copy(CopyStep),
    /// `link`.
    Link {
        /// The file of the set that gets a name that does not exist; of named files, the new name.
        #[serde(default)]
        file: Pick,
        /// The named file that it leads to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Pick>,
    },
    /// `symlink`.
    Symlink {
        /// The file of the set that a name points at which does not exist; of named files, the new link.
        #[serde(default)]
        file: Pick,
        /// What it points to, by its name in the directory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Pick>,
    },
    /// `readlink`; a file that is no symbolic link is an error of the op.
    Readlink {
        /// Which file.
        #[serde(default)]
        file: Pick,
    },
    /// `unlink`.
    Unlink {
        /// Which file.
        #[serde(default)]
        file: Pick,
        /// What a missing one means.
        #[serde(default)]
        missing: MissingFile,
    },
    /// `mkdir`; in a file set, of a further directory.
    Mkdir {
        /// Which name.
        #[serde(default)]
        file: Pick,
        /// Permissions, before the umask; 0777 when absent, and 0755 in a file set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
        /// That it is there already is no error; of named files alone.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_exist: bool,
    },
    /// `rmdir`; in a file set, of a directory that this program made, or that was made beforehand.
    Rmdir {
        /// Which name.
        #[serde(default)]
        file: Pick,
    },
    /// Reads one directory of the file set to its end.
    Readdir {},
    /// `opendir`: from here on, steps may go to the files that it names, in its order.
    List {
        /// Which directory.
        #[serde(default)]
        file: Pick,
    },
    /// The last `readdir`, and `closedir`.
    EndList {},
    /// Opens directories, so that they can be flushed.
    HoldDirectories(Held),
    /// One file as one op.
    OfFile(FileStep),
    /// A part of PostMark's run. The target's names are those of the run.
    Postmark(Box<PostmarkStep>),
    /// What is done with trees of directories and their numbered items. The target's names are trees.
    Trees(Box<TreeStep>),
    /// A client that does what a load file says.
    LoadFile(Box<LoadFileStep>),
    /// Waits until all workers of the phase are at this step, outside every op's time.
    Meet {},
    /// Waits, outside every op's time.
    #[serde(alias = "pause")]
    Delay {
        /// How long.
        time: Nanos,
    },
    /// The same for each of several named files.
    Each(Each),
    /// Steps this many times over.
    Loop {
        /// How often.
        times: u64,
        /// What.
        steps: Vec<Step>,
    },
    /// A named step over file sets that all workers share.
    Shared(Box<SharedStep>),
    /// One of several lists of steps, by weight.
    Mix {
        /// The choices.
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
    /// What happens when it is chosen.
    pub steps: Vec<Step>,
}

/// How a file is opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct OpenStep {
    /// Which file.
    pub file: Pick,
    /// What it is known by from here on.
    #[serde(skip_serializing_if = "is_first")]
    pub handle: u16,
    /// It is read from; those of a file set always are.
    pub read: bool,
    /// It is written to.
    pub write: bool,
    /// `O_CREAT`.
    pub create: bool,
    /// `O_EXCL`.
    pub exclusive: bool,
    /// `O_TRUNC`.
    pub truncate: bool,
    /// `O_APPEND`.
    pub append: bool,
    /// `O_DIRECT`.
    pub direct: bool,
    /// With which promise writes return.
    pub promise: OpenPromise,
    /// Permissions of a new file, before the umask.
    pub mode: u32,
    /// As a stream of the C library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<StdioBuffer>,
    /// By MPI-IO.
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
    /// Whether it, or what is made by it, may change the file.
    pub fn changes(&self) -> bool {
        self.write || self.create || self.truncate
    }

    /// Whether it says nothing but which file, as which handle, and whether it is written to.
    pub(super) fn is_simple(&self) -> bool {
        let OpenStep { file, handle, write, .. } = *self;
        *self == OpenStep { file, handle, write, ..OpenStep::default() }
    }
}

/// How a file is copied into another file set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CopyStep {
    /// Which file.
    #[serde(default)]
    pub file: Pick,
    /// The target that it goes to: a file set of as many files and directories, without files in the beginning.
    pub to: String,
    /// Size of each `pread` and `pwrite`.
    #[serde(default = "request_bytes")]
    pub request: Bytes,
    /// The file is removed behind its copy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moves: bool,
}

/// The buffer of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StdioBuffer {
    /// `setvbuf` with a full buffer of this many bytes; the library's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Who keeps other threads away from the stream.
    #[serde(default, skip_serializing_if = "StreamLocks::is_library")]
    pub locks: StreamLocks,
}

/// Who keeps other threads away from a stream. Source: `__fsetlocking`(3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StreamLocks {
    /// The C library, around each call.
    #[default]
    Library,
    /// Nobody: calls cost what they cost in a program without threads.
    None,
}

impl StreamLocks {
    /// Whether the C library does.
    pub(crate) fn is_library(&self) -> bool {
        *self == StreamLocks::Library
    }
}

/// With which promise writes return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OpenPromise {
    /// None.
    #[default]
    Plain,
    /// `O_SYNC`.
    Sync,
    /// `O_DSYNC`.
    Dsync,
    /// `O_RSYNC`, which Linux takes for `O_SYNC`.
    Rsync,
}

/// How a file is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MapStep {
    /// Of what.
    #[serde(default)]
    pub handle: u16,
    /// From the beginning.
    pub length: Bytes,
    /// For stores too; the file then gets this length first, where it is shorter.
    #[serde(default)]
    pub write: bool,
    /// Advice to the kernel about the pattern.
    #[serde(default)]
    pub advice: Advice,
}

/// Source: madvise(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// Nothing is said.
    #[default]
    None,
    /// `MADV_NORMAL`.
    Normal,
    /// `MADV_RANDOM`.
    Random,
    /// `MADV_SEQUENTIAL`.
    Sequential,
    /// `MADV_WILLNEED`.
    WillNeed,
    /// `MADV_DONTNEED`.
    DontNeed,
}

/// A lock of a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    /// `F_RDLCK`.
    Read,
    /// `F_WRLCK`.
    Write,
    /// `F_UNLCK`.
    None,
}

/// What a missing file means to a call that removes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MissingFile {
    /// An error.
    #[default]
    Fails,
    /// That it is removed already.
    Passes,
}

/// The same steps for each of several files: [`Pick::Own`] is then that file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Each {
    /// Number of the first file.
    #[serde(default)]
    pub first: u32,
    /// How many files.
    pub count: u32,
    /// In which order.
    #[serde(default)]
    pub order: FileOrder,
    /// What is done with each.
    pub steps: Vec<Step>,
}

/// The order of files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileOrder {
    /// By their numbers.
    #[default]
    Forward,
    /// The last one first.
    Backward,
    /// In this order; `first` and `count` say nothing then.
    Listed(Vec<u32>),
}
