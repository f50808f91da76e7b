//! The ops of a flow.

use crate::op::Operation;
use crate::tree::FileId;
use plumb_workload::OpKind;

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Reading and writing.
    ReadWrite,
}

/// Permissions of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// 0644.
    Public,
    /// 0600.
    Private,
}

/// One op of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowOp {
    /// What it does.
    pub kind: OpKind,
    /// Of `open`: for what.
    pub access: Access,
    /// Of `create` and `chmod`: the mode.
    pub mode: FileMode,
    /// The handle, of ops that have one.
    pub handle: u16,
    /// The file that it works on: of `rename` the old name, of `link` and `symlink` the file led to. Of `readdir` the
    /// number of a leaf, of `mkdir` and `rmdir` a packed [`ExtraDirectory`](crate::tree::ExtraDirectory).
    pub file: FileId,
    /// Of `rename`, `link` and `symlink`: the new name.
    pub other: FileId,
    /// Where, bytes.
    pub offset: u64,
    /// How much, bytes; of `truncate` the new size, of `delay` nanoseconds.
    pub length: u64,
}

impl FlowOp {
    /// An op of this kind on this file, with nothing else to say.
    pub(super) fn new(kind: OpKind, file: FileId) -> FlowOp {
        FlowOp {
            kind,
            access: Access::Read,
            mode: FileMode::Public,
            handle: 0,
            file,
            other: FileId(0),
            offset: 0,
            length: 0,
        }
    }
}

impl Operation for FlowOp {
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
}
