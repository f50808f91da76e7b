//! Ops of scripts.

use crate::op::Operation;
use plumb_workload::OpKind;

/// One call of a script, with the seeks that belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallOp {
    pub(crate) kind: OpKind,
    pub(crate) call: Call,
    pub(crate) handle: u8,
    /// The last one of its transfer.
    pub(crate) is_last: bool,
    /// It is one read or write, and nothing but its seeks beside.
    pub(crate) is_bare: bool,
    /// Number of the step's own rules.
    pub(crate) rules: u16,
    /// Number of the file, for calls on names.
    pub(crate) file: u32,
    /// Number of the other file, of links.
    pub(crate) other: u32,
    /// Where, or the new length of a file.
    pub(crate) offset: u64,
    /// Bytes, or ns of a pause.
    pub(crate) length: u64,
    pub(crate) seek_before: Seek,
    pub(crate) seek_after: Seek,
    /// Which part it is of what is done to its record.
    pub(crate) part: Part,
}

/// A part of what is done to one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Part {
    /// All of it.
    #[default]
    Whole,
    First,
    Inner,
    Last,
}

/// A seek that belongs to an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Seek {
    #[default]
    None,
    To(u64),
    /// One that would leave the file is made, and fails, as the tools have it behind the last record.
    By(i64),
    FromEnd(i64),
}

/// Which call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Open,
    Close,
    Msync,
    Fsync,
    Fdatasync,
    Flush,
    Sync,
    Seek,
    /// Where it stands.
    Tell,
    Truncate,
    Map,
    Unmap,
    Lock,
    Unlink,
    UnlinkIfThere,
    Stat,
    Access,
    Link,
    Symlink,
    Mkdir,
    OfFile,
    List,
    EndList,
    HoldDirectories,
    Rmdir,
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
    ReadWhole,
    WriteWhole,
}

impl CallOp {
    /// A call that is no transfer.
    pub(crate) fn of(kind: OpKind, call: Call) -> CallOp {
        CallOp {
            kind,
            call,
            handle: 0,
            is_last: false,
            is_bare: false,
            rules: 0,
            file: 0,
            other: 0,
            offset: 0,
            length: 0,
            seek_before: Seek::None,
            seek_after: Seek::None,
            part: Part::Whole,
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
        self.kind.moves_bytes()
    }
    #[inline(always)]
    fn file(&self) -> u32 {
        self.file
    }
}
