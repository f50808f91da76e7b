//! Ops of programs.

use crate::op::{Operation, Seek};
use plumb_workload::OpKind;

/// One call of a program, with its seeks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallOp {
    pub(crate) kind: OpKind,
    pub(crate) call: Call,
    /// Whether limits of ops count it.
    pub(crate) counts: bool,
    /// Whether it is the last op of its transfer.
    pub(crate) is_last: bool,
    /// Whether it is a single read or write with nothing but its seeks.
    pub(crate) is_bare: bool,
    /// Its part in the work on its record.
    pub(crate) part: RecordPart,
    pub(crate) handle: u16,
    /// Number of the step's own rules.
    pub(crate) rules: u16,
    /// Number of the file: for `rename` the old name, for `link` and `symlink` the target file. In a file set, for
    /// `readdir` the number of a leaf, for `mkdir` and `rmdir` a packed
    /// [`ExtraDirectory`](crate::tree::ExtraDirectory). For numbered files a packed [`FileInDirectory`].
    pub(crate) file: u64,
    /// For `rename`, `link` and `symlink` the new name; for `chmod` and `mkdir` the mode; for calls on
    /// a copy in another set [`CallOp::ON_COPY`].
    pub(crate) other: u64,
    /// Offset in the file, bytes.
    pub(crate) offset: u64,
    /// Length in bytes, the new length of a file, or the ns of a pause.
    pub(crate) length: u64,
    pub(crate) seek_before: Seek,
    pub(crate) seek_after: Seek,
}

/// A file among several directories, packed into [`CallOp::file`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileInDirectory {
    /// Number of the file among all names of its target.
    pub(crate) place: u32,
    /// Number of its directory among those with numbered files.
    pub(crate) directory: u32,
}

impl From<FileInDirectory> for u64 {
    #[inline]
    fn from(FileInDirectory { place, directory }: FileInDirectory) -> u64 {
        u64::from(directory) << 32 | u64::from(place)
    }
}

impl From<u64> for FileInDirectory {
    #[inline]
    fn from(packed: u64) -> FileInDirectory {
        FileInDirectory { place: packed as u32, directory: (packed >> 32) as u32 }
    }
}

/// A part of the work on one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum RecordPart {
    /// The record takes a single op.
    #[default]
    Whole,
    First,
    Inner,
    Last,
}

/// The call of an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Open,
    Close,
    Msync,
    Fsync,
    Fdatasync,
    Flush,
    Sync,
    /// A command line of the shell.
    Command,
    Seek,
    /// Queries the current position.
    Tell,
    Truncate,
    Fallocate,
    Map,
    Unmap,
    Lock,
    Stat,
    Access,
    Utimens,
    Chmod,
    Rename,
    Link,
    Symlink,
    Readlink,
    Unlink,
    UnlinkIfThere,
    MkdirIfMissing,
    Mkdir,
    Rmdir,
    Readdir,
    OfFile,
    List,
    EndList,
    HoldDirectories,
    Pause,
    Read,
    Write,
    ReadAt,
    WriteAt,
    StreamRead,
    StreamWrite,
    ReadBytes,
    WriteBytes,
    GetCharacters,
    PutCharacters,
    GetCharactersUnlocked,
    PutCharactersUnlocked,
    Load,
    Store,
    AioRead,
    AioWrite,
    /// A request to the kernel that is prepared, and submitted together with others.
    KernelAioRead,
    KernelAioWrite,
    MpiRead,
    MpiWrite,
    ReadWhole,
    WriteWhole,
    /// A read of a copied file, and a write of the data read.
    CopyRead,
    CopyWrite,
    /// All work on an entry of a tree.
    Tree,
}

impl CallOp {
    /// See [`CallOp::is_on_copy`].
    pub(crate) const ON_COPY: u64 = 1;

    /// Returns `true` if the op is on the copy of a file in another set.
    #[inline]
    pub(crate) fn is_on_copy(&self) -> bool {
        let may_be = matches!(self.kind, OpKind::Create | OpKind::Write | OpKind::Close | OpKind::Unlink);
        may_be && self.other == CallOp::ON_COPY
    }

    /// Creates a call with default settings. Limits count ops that move bytes.
    pub(crate) fn new(kind: OpKind, call: Call) -> CallOp {
        CallOp {
            kind,
            call,
            counts: kind.moves_bytes(),
            is_last: false,
            is_bare: false,
            part: RecordPart::Whole,
            handle: 0,
            rules: 0,
            file: 0,
            other: 0,
            offset: 0,
            length: 0,
            seek_before: Seek::None,
            seek_after: Seek::None,
        }
    }
}

impl Operation for CallOp {
    #[inline(always)]
    fn kind(&self) -> OpKind {
        self.kind
    }
    #[inline(always)]
    fn offset(&self) -> u64 {
        self.offset
    }
    #[inline(always)]
    fn length(&self) -> u64 {
        self.length
    }
    #[inline(always)]
    fn counts(&self) -> bool {
        self.counts
    }
    #[inline(always)]
    fn file(&self) -> u32 {
        self.file as u32
    }
}
