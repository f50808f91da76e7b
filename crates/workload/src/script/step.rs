//! The steps of a script.

use super::files::{FileStep, FileWork, Held, Which};
use super::postmark::PostmarkStep;
use super::transfer::{Moves, Transfer};
use crate::op::OpKind;
use crate::short_form::short_form;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A step of a script. Handles are numbers that the script chooses itself, counted from 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields, remote = "Self")]
#[schemars(rename = "ScriptStep")]
pub enum ScriptStep {
    /// `open`, `creat` or `fopen`.
    Open(OpenStep),
    /// `close` or `fclose`.
    Close {
        /// Of what.
        #[serde(default)]
        handle: u8,
    },
    /// `msync` with `MS_SYNC`, of the whole mapping.
    Msync {
        /// Of what.
        #[serde(default)]
        handle: u8,
    },
    /// `fsync`; of a stream, behind `fflush`.
    Fsync {
        /// Of what.
        #[serde(default)]
        handle: u8,
    },
    /// `fdatasync`.
    Fdatasync {
        /// Of what.
        #[serde(default)]
        handle: u8,
    },
    /// `fflush`.
    Flush {
        /// Of what.
        #[serde(default)]
        handle: u8,
    },
    /// `sync`, of the whole machine.
    Sync {},
    /// `lseek` to a place, or `fseek`.
    Seek {
        /// Of what.
        #[serde(default)]
        handle: u8,
        /// Bytes from the beginning.
        to: Bytes,
    },
    /// `ftruncate`.
    Truncate {
        /// Of what.
        #[serde(default)]
        handle: u8,
        /// The new length.
        length: Bytes,
    },
    /// `mmap`, shared.
    Map(MapStep),
    /// `munmap`.
    Unmap {
        /// Of what.
        #[serde(default)]
        handle: u8,
    },
    /// `fcntl` with `F_SETLKW`, of the whole file.
    Lock {
        /// Of what.
        #[serde(default)]
        handle: u8,
        /// How.
        kind: LockKind,
    },
    /// `unlink`.
    Unlink {
        /// Which file.
        #[serde(default)]
        file: Which,
        /// What a missing one means.
        #[serde(default)]
        missing: MissingFile,
    },
    /// `stat`.
    Stat {
        /// Which file.
        #[serde(default)]
        file: Which,
    },
    /// `access` with `F_OK`.
    Access {
        /// Which file.
        #[serde(default)]
        file: Which,
    },
    /// `link`.
    Link {
        /// The file.
        to: Which,
        /// Its new name.
        #[serde(default)]
        file: Which,
    },
    /// `symlink`.
    Symlink {
        /// What it points to, by its name in the directory.
        to: Which,
        /// The new link.
        #[serde(default)]
        file: Which,
    },
    /// `mkdir`.
    Mkdir {
        /// Which name.
        #[serde(default)]
        file: Which,
        /// Permissions, before the umask.
        #[serde(default = "all_permissions")]
        mode: u32,
    },
    /// `rmdir`.
    Rmdir {
        /// Which name.
        #[serde(default)]
        file: Which,
    },
    /// Records of an open file.
    Transfer(Transfer),
    /// The same for each of several files.
    Each(Each),
    /// A part of PostMark's run. The target's names are those of the run.
    Postmark(Box<PostmarkStep>),
    /// One file as one op.
    OfFile(FileStep),
    /// `opendir`: from here on, steps may go to the files that it names, in its order.
    List {
        /// Which directory.
        #[serde(default)]
        file: Which,
    },
    /// The last `readdir`, and `closedir`.
    EndList {},
    /// Opens directories, so that they can be flushed.
    HoldDirectories(Held),
    /// Nothing for so long.
    Pause {
        /// How long.
        time: Nanos,
    },
}

short_form!(ScriptStep);

fn all_permissions() -> u32 {
    0o777
}

/// How a file is opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct OpenStep {
    /// Which file.
    pub file: Which,
    /// What it is known by from here on.
    #[serde(skip_serializing_if = "is_first")]
    pub handle: u8,
    /// It is read from.
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

fn is_first(handle: &u8) -> bool {
    *handle == 0
}

impl Default for OpenStep {
    fn default() -> OpenStep {
        OpenStep {
            file: Which::Own,
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

/// The buffer of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MapStep {
    /// Of what.
    #[serde(default)]
    pub handle: u8,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MissingFile {
    /// An error.
    #[default]
    Fails,
    /// That it is removed already.
    Passes,
}

/// The same steps for each of several files: [`Which::Own`] is then that file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    pub steps: Vec<ScriptStep>,
}

/// The order of files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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

impl ScriptStep {
    /// What is inside of it.
    pub fn inside(&self) -> &[ScriptStep] {
        match self {
            ScriptStep::Each(each) => &each.steps,
            _ => &[],
        }
    }

    /// The kinds of op that it makes itself.
    pub fn kinds(&self) -> &'static [OpKind] {
        match self {
            ScriptStep::Open(open) if open.create => &[OpKind::Create],
            ScriptStep::Open(_) => &[OpKind::Open],
            ScriptStep::Close { .. } => &[OpKind::Close],
            ScriptStep::Fsync { .. } | ScriptStep::Msync { .. } => &[OpKind::Fsync],
            ScriptStep::Fdatasync { .. } => &[OpKind::Fdatasync],
            ScriptStep::Flush { .. } => &[OpKind::Flush],
            ScriptStep::Sync {} => &[OpKind::Sync],
            ScriptStep::Seek { .. } => &[OpKind::Seek],
            ScriptStep::Truncate { .. } => &[OpKind::Truncate],
            ScriptStep::Map(_) => &[OpKind::Map],
            ScriptStep::Unmap { .. } => &[OpKind::Unmap],
            ScriptStep::Lock { .. } => &[OpKind::Lock],
            ScriptStep::Unlink { .. } => &[OpKind::Unlink],
            ScriptStep::Stat { .. } => &[OpKind::Stat],
            ScriptStep::Access { .. } => &[OpKind::Access],
            ScriptStep::Link { .. } => &[OpKind::Link],
            ScriptStep::Symlink { .. } => &[OpKind::Symlink],
            ScriptStep::Mkdir { .. } => &[OpKind::Mkdir],
            ScriptStep::Rmdir { .. } => &[OpKind::Rmdir],
            ScriptStep::Transfer(transfer) => match transfer.does {
                _ if transfer.detours.is_some() => &[OpKind::Read, OpKind::Seek],
                _ if transfer.reads() && transfer.writes() => &[OpKind::Read, OpKind::Write],
                Moves::Read | Moves::Rewrite => &[OpKind::Read],
                Moves::Write => &[OpKind::Write],
            },
            ScriptStep::Postmark(step) => step.part.kinds(&step.run),
            ScriptStep::OfFile(file) => match file.does {
                FileWork::Make => &[OpKind::Create],
                FileWork::Link => &[OpKind::Link],
                FileWork::Symlink => &[OpKind::Symlink],
                FileWork::Look => &[OpKind::Stat],
                FileWork::Remove => &[OpKind::Unlink],
            },
            ScriptStep::List { .. } | ScriptStep::EndList {} => &[OpKind::Readdir],
            ScriptStep::HoldDirectories(_) => &[OpKind::Open],
            ScriptStep::Each(_) | ScriptStep::Pause { .. } => &[],
        }
    }

    /// Whether it changes a file or a directory by itself.
    pub fn changes(&self) -> bool {
        match self {
            ScriptStep::Open(open) => open.write || open.create || open.truncate,
            ScriptStep::Map(map) => map.write,
            ScriptStep::Truncate { .. }
            | ScriptStep::Unlink { .. }
            | ScriptStep::Link { .. }
            | ScriptStep::Symlink { .. }
            | ScriptStep::Mkdir { .. }
            | ScriptStep::Rmdir { .. }
            | ScriptStep::Postmark(_) => true,
            ScriptStep::Transfer(transfer) => transfer.writes(),
            ScriptStep::OfFile(file) => file.does != FileWork::Look,
            _ => false,
        }
    }

    /// The names that it goes to.
    pub fn files(&self) -> impl Iterator<Item = Which> {
        let (first, second) = match self {
            ScriptStep::Open(open) => (Some(open.file), None),
            ScriptStep::Unlink { file, .. }
            | ScriptStep::Stat { file }
            | ScriptStep::Access { file }
            | ScriptStep::Mkdir { file, .. }
            | ScriptStep::List { file }
            | ScriptStep::Rmdir { file } => (Some(*file), None),
            ScriptStep::OfFile(step) if step.listed => (None, None),
            ScriptStep::OfFile(step) => (Some(step.file), step.to.map(Which::Nth)),
            ScriptStep::HoldDirectories(held) => (Some(Which::Nth(held.first + held.count.saturating_sub(1))), None),
            ScriptStep::Link { to, file } | ScriptStep::Symlink { to, file } => (Some(*file), Some(*to)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The handle that it goes to.
    pub fn handle(&self) -> Option<u8> {
        match self {
            ScriptStep::Open(open) => Some(open.handle),
            ScriptStep::Map(map) => Some(map.handle),
            ScriptStep::Transfer(transfer) => Some(transfer.handle),
            ScriptStep::Close { handle }
            | ScriptStep::Fsync { handle }
            | ScriptStep::Msync { handle }
            | ScriptStep::Fdatasync { handle }
            | ScriptStep::Flush { handle }
            | ScriptStep::Seek { handle, .. }
            | ScriptStep::Truncate { handle, .. }
            | ScriptStep::Unmap { handle }
            | ScriptStep::Lock { handle, .. } => Some(*handle),
            _ => None,
        }
    }
}
