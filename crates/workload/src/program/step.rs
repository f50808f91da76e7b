//! The steps of a program.

use super::files::{FileStep, FileWork, Held, Pick};
use super::postmark::PostmarkStep;
use super::transfer::{Moves, Transfer};
use crate::op::OpKind;
use crate::target::Distribution;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// A step of a program. Handles are numbers of open files that the program chooses itself; most need only 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "=", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Step"))]
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
    /// `access` with `F_OK`.
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
    },
    /// `rmdir`; in a file set, of a directory that this program made.
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
    /// Waits, outside every op's time.
    #[serde(alias = "pause")]
    Delay {
        /// How long.
        time: Nanos,
    },
    /// The same for each of several named files.
    Each(Each),
    /// Steps so many times over.
    Loop {
        /// How often.
        times: u64,
        /// What.
        steps: Vec<Step>,
    },
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
        }
    }
}

impl OpenStep {
    /// Whether it, or what is made by it, may change the file.
    pub fn changes(&self) -> bool {
        self.write || self.create || self.truncate
    }

    /// Whether it says nothing but which file, as which handle, and whether it is written to.
    fn is_simple(&self) -> bool {
        let OpenStep { file, handle, write, .. } = *self;
        *self == OpenStep { file, handle, write, ..OpenStep::default() }
    }
}

/// The buffer of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StdioBuffer {
    /// `setvbuf` with a full buffer of so many bytes; the library's own when absent.
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
    pub fn is_library(&self) -> bool {
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
    /// What the kernel is told about the pattern.
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

/// What a step can be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Either.
    Files,
    /// A file set.
    FileSet,
    /// Files under their own names.
    Names,
}

impl Step {
    /// The lists of steps inside of it. What a mix never chooses is not among them.
    pub fn inside(&self) -> Vec<&[Step]> {
        match self {
            Step::Each(each) => vec![&each.steps],
            Step::Loop { steps, .. } => vec![steps],
            Step::Mix { choices } => {
                choices.iter().filter(|choice| choice.weight > 0.0).map(|choice| choice.steps.as_slice()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The key that chooses it.
    pub fn key(&self) -> &'static str {
        match self {
            Step::Create { .. } => "create",
            Step::Open(_) => "open",
            Step::Close { .. } => "close",
            Step::Transfer(_) => "transfer",
            Step::ReadWhole { .. } => "read-whole",
            Step::ReadRandom { .. } => "read-random",
            Step::ReadAt { .. } => "read-at",
            Step::WriteWhole { .. } => "write-whole",
            Step::WriteRandom { .. } => "write-random",
            Step::WriteAt { .. } => "write-at",
            Step::Append { .. } => "append",
            Step::Fsync { .. } => "fsync",
            Step::Fdatasync { .. } => "fdatasync",
            Step::Msync { .. } => "msync",
            Step::Flush { .. } => "flush",
            Step::Sync {} => "sync",
            Step::Seek { .. } => "seek",
            Step::Truncate { .. } => "truncate",
            Step::Fallocate { .. } => "fallocate",
            Step::Map(_) => "map",
            Step::Unmap { .. } => "unmap",
            Step::Lock { .. } => "lock",
            Step::Stat { .. } => "stat",
            Step::Access { .. } => "access",
            Step::Utimens { .. } => "utimens",
            Step::Chmod { .. } => "chmod",
            Step::Rename { .. } => "rename",
            Step::Link { .. } => "link",
            Step::Symlink { .. } => "symlink",
            Step::Readlink { .. } => "readlink",
            Step::Unlink { .. } => "unlink",
            Step::Mkdir { .. } => "mkdir",
            Step::Rmdir { .. } => "rmdir",
            Step::Readdir {} => "readdir",
            Step::List { .. } => "list",
            Step::EndList {} => "end-list",
            Step::HoldDirectories(_) => "hold-directories",
            Step::OfFile(_) => "of-file",
            Step::Postmark(_) => "postmark",
            Step::Delay { .. } => "delay",
            Step::Each(_) => "each",
            Step::Loop { .. } => "loop",
            Step::Mix { .. } => "mix",
        }
    }

    /// What its target must be for it to mean anything.
    pub fn needs(&self) -> Needs {
        match self {
            Step::Create { .. }
            | Step::ReadWhole { .. }
            | Step::ReadRandom { .. }
            | Step::ReadAt { .. }
            | Step::WriteWhole { .. }
            | Step::WriteRandom { .. }
            | Step::WriteAt { .. }
            | Step::Append { .. }
            | Step::Fallocate { .. }
            | Step::Utimens { .. }
            | Step::Chmod { .. }
            | Step::Rename { .. }
            | Step::Readlink { .. }
            | Step::Readdir {} => Needs::FileSet,
            Step::Transfer(_)
            | Step::Msync { .. }
            | Step::Flush { .. }
            | Step::Sync {}
            | Step::Seek { .. }
            | Step::Map(_)
            | Step::Unmap { .. }
            | Step::Lock { .. }
            | Step::Access { .. }
            | Step::List { .. }
            | Step::EndList {}
            | Step::HoldDirectories(_)
            | Step::OfFile(_)
            | Step::Postmark(_)
            | Step::Each(_)
            | Step::Link { to: Some(_), .. }
            | Step::Symlink { to: Some(_), .. }
            | Step::Mkdir { mode: Some(_), .. }
            | Step::Unlink { missing: MissingFile::Passes, .. } => Needs::Names,
            Step::Link { to: None, .. } | Step::Symlink { to: None, .. } => Needs::FileSet,
            Step::Open(open) if !open.is_simple() => Needs::Names,
            Step::Open(_)
            | Step::Close { .. }
            | Step::Fsync { .. }
            | Step::Fdatasync { .. }
            | Step::Truncate { .. }
            | Step::Stat { .. }
            | Step::Unlink { .. }
            | Step::Mkdir { .. }
            | Step::Rmdir { .. }
            | Step::Delay { .. }
            | Step::Loop { .. }
            | Step::Mix { .. } => match self.file() {
                Some(Pick::Own | Pick::Nth(_)) => Needs::Names,
                Some(Pick::Usual) | None => Needs::Files,
                Some(_) => Needs::FileSet,
            },
        }
    }

    /// The kinds of op that it makes itself.
    pub fn kinds(&self) -> &'static [OpKind] {
        match self {
            Step::Create { .. } => &[OpKind::Create],
            Step::Open(open) if open.create => &[OpKind::Create],
            Step::Open(_) | Step::HoldDirectories(_) => &[OpKind::Open],
            Step::Close { .. } => &[OpKind::Close],
            Step::ReadWhole { .. } | Step::ReadRandom { .. } | Step::ReadAt { .. } => &[OpKind::Read],
            Step::WriteWhole { .. } | Step::WriteRandom { .. } | Step::WriteAt { .. } | Step::Append { .. } => {
                &[OpKind::Write]
            }
            Step::Fsync { .. } | Step::Msync { .. } => &[OpKind::Fsync],
            Step::Fdatasync { .. } => &[OpKind::Fdatasync],
            Step::Flush { .. } => &[OpKind::Flush],
            Step::Sync {} => &[OpKind::Sync],
            Step::Seek { .. } => &[OpKind::Seek],
            Step::Truncate { .. } => &[OpKind::Truncate],
            Step::Fallocate { .. } => &[OpKind::Fallocate],
            Step::Map(_) => &[OpKind::Map],
            Step::Unmap { .. } => &[OpKind::Unmap],
            Step::Lock { .. } => &[OpKind::Lock],
            Step::Unlink { .. } => &[OpKind::Unlink],
            Step::Stat { .. } => &[OpKind::Stat],
            Step::Access { .. } => &[OpKind::Access],
            Step::Utimens { .. } => &[OpKind::Utimens],
            Step::Chmod { .. } => &[OpKind::Chmod],
            Step::Rename { .. } => &[OpKind::Rename],
            Step::Link { .. } => &[OpKind::Link],
            Step::Symlink { .. } => &[OpKind::Symlink],
            Step::Readlink { .. } => &[OpKind::Readlink],
            Step::Mkdir { .. } => &[OpKind::Mkdir],
            Step::Rmdir { .. } => &[OpKind::Rmdir],
            Step::Readdir {} | Step::List { .. } | Step::EndList {} => &[OpKind::Readdir],
            Step::Transfer(transfer) => match transfer.does {
                _ if transfer.detours.is_some() => &[OpKind::Read, OpKind::Seek],
                _ if transfer.reads() && transfer.writes() => &[OpKind::Read, OpKind::Write],
                Moves::Read | Moves::Rewrite => &[OpKind::Read],
                Moves::Write => &[OpKind::Write],
            },
            Step::Postmark(step) => step.part.kinds(&step.run),
            Step::OfFile(file) => match file.does {
                FileWork::Make => &[OpKind::Create],
                FileWork::Link => &[OpKind::Link],
                FileWork::Symlink => &[OpKind::Symlink],
                FileWork::Look => &[OpKind::Stat],
                FileWork::Remove => &[OpKind::Unlink],
            },
            Step::Each(_) | Step::Loop { .. } | Step::Mix { .. } | Step::Delay { .. } => &[],
        }
    }

    /// Whether it changes a file or a directory by itself.
    pub fn changes(&self) -> bool {
        match self {
            Step::Open(open) => open.changes(),
            Step::Map(map) => map.write,
            Step::Transfer(transfer) => transfer.writes(),
            Step::OfFile(file) => file.does != FileWork::Look,
            Step::Postmark(_) => true,
            Step::HoldDirectories(_) => false,
            step => step.kinds().iter().any(|kind| {
                matches!(
                    kind,
                    OpKind::Create
                        | OpKind::Write
                        | OpKind::Truncate
                        | OpKind::Fallocate
                        | OpKind::Utimens
                        | OpKind::Chmod
                        | OpKind::Rename
                        | OpKind::Link
                        | OpKind::Symlink
                        | OpKind::Unlink
                        | OpKind::Mkdir
                        | OpKind::Rmdir
                )
            }),
        }
    }

    /// Whether it moves data of a file set.
    pub fn moves_bytes_of_set(&self) -> bool {
        self.needs() == Needs::FileSet && self.kinds().iter().any(|kind| kind.moves_bytes())
    }

    /// The file that it goes to, or makes a name for.
    pub fn file(&self) -> Option<Pick> {
        match self {
            Step::Open(open) => Some(open.file),
            Step::OfFile(step) => (!step.listed).then_some(step.file),
            Step::HoldDirectories(held) => Some(Pick::Nth(held.first + held.count.saturating_sub(1))),
            Step::Stat { file }
            | Step::Access { file }
            | Step::Utimens { file }
            | Step::Chmod { file }
            | Step::Rename { file }
            | Step::Link { file, .. }
            | Step::Symlink { file, .. }
            | Step::Readlink { file }
            | Step::Unlink { file, .. }
            | Step::Mkdir { file, .. }
            | Step::Rmdir { file }
            | Step::List { file } => Some(*file),
            _ => None,
        }
    }

    /// The file that a link leads to.
    pub fn led_to(&self) -> Option<Pick> {
        match self {
            Step::OfFile(step) if !step.listed => step.to.map(Pick::Nth),
            Step::Link { to, .. } | Step::Symlink { to, .. } => *to,
            _ => None,
        }
    }

    /// The handle that it goes to.
    pub fn handle(&self) -> Option<u16> {
        match self {
            Step::Open(open) => Some(open.handle),
            Step::Map(map) => Some(map.handle),
            Step::Transfer(transfer) => Some(transfer.handle),
            Step::Create { handle }
            | Step::Close { handle }
            | Step::ReadWhole { handle, .. }
            | Step::ReadRandom { handle, .. }
            | Step::ReadAt { handle, .. }
            | Step::WriteWhole { handle, .. }
            | Step::WriteRandom { handle, .. }
            | Step::WriteAt { handle, .. }
            | Step::Append { handle, .. }
            | Step::Fsync { handle }
            | Step::Fdatasync { handle }
            | Step::Msync { handle }
            | Step::Flush { handle }
            | Step::Seek { handle, .. }
            | Step::Truncate { handle, .. }
            | Step::Fallocate { handle, .. }
            | Step::Unmap { handle }
            | Step::Lock { handle, .. } => Some(*handle),
            _ => None,
        }
    }
}
