//! Operations of the hot loop: small, `Copy`, and without paths.

use plumb_workload::OpKind;

/// Properties of any op that the loop, the recorder and the simulated device need.
pub trait Operation: Copy {
    fn kind(&self) -> OpKind;
    /// Returns the offset in bytes; 0 if not applicable.
    fn offset(&self) -> u64;
    /// Returns the length in bytes; 0 if not applicable.
    fn length(&self) -> u64;

    /// Returns `true` if op limits count it. They do not count flushes that a pattern adds
    /// after its writes, nor read-backs.
    #[inline(always)]
    fn counts(&self) -> bool {
        true
    }

    /// Returns `true` if it starts only when no other op of its worker is in flight.
    #[inline(always)]
    fn after_all(&self) -> bool {
        false
    }

    /// Returns `true` if a job's rates and pauses apply to it: to ops that move data and are part of the load.
    #[inline(always)]
    fn paced(&self) -> bool {
        self.kind().moves_bytes()
    }

    /// Returns the number of the file within the target; 0 if not applicable.
    #[inline(always)]
    fn file(&self) -> u32 {
        0
    }

    /// Returns the purpose of the op.
    #[inline(always)]
    fn role(&self) -> Role {
        Role::Load
    }

    /// Returns it as a block op; `None` for other ops.
    #[inline(always)]
    fn as_block(&self) -> Option<&BlockOp> {
        None
    }

    /// Returns the number of bytes that byte limits count.
    #[inline(always)]
    fn moves(&self) -> u64 {
        if self.kind().moves_bytes() { self.length() } else { 0 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockOp {
    /// Read, write, trim, fsync or fdatasync.
    pub kind: OpKind,
    /// Number of the file within the target.
    pub file: u32,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
    pub role: Role,
    /// Whether it starts only when no other op of its worker is in flight.
    pub after_all: bool,
    /// Number of the write among its worker's writes, or of the write that it reads back. Starts at 0 and wraps; 0 if
    /// the source does not number writes.
    pub number: u32,
}

/// Index of a place in the queue, below the depth.
pub(crate) type Slot = u16;

/// Purpose of an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Role {
    /// Part of the load.
    #[default]
    Load,
    /// Part of the load; its data is verified.
    LoadVerified,
    /// Reads back written data to verify it.
    ReadBack,
    /// Reads back a trimmed range, which must be zeros.
    ReadTrimmed,
    /// Flushes a file that is about to be closed.
    AtClose,
    /// Not executed, because its file is always open. A log shows where the job opens or closes it.
    Note,
}

impl Role {
    /// Returns `true` for the load itself, `false` for ops that only verify it.
    #[inline(always)]
    pub const fn is_load(self) -> bool {
        matches!(self, Role::Load | Role::LoadVerified)
    }
}

impl BlockOp {
    /// Creates an op of the load.
    #[inline(always)]
    pub const fn load(kind: OpKind, file: u32, offset: u64, length: u32) -> BlockOp {
        BlockOp { kind, file, offset, length, role: Role::Load, after_all: false, number: 0 }
    }
}

impl Operation for BlockOp {
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
        u64::from(self.length)
    }
    #[inline(always)]
    fn counts(&self) -> bool {
        self.kind.moves_bytes() && self.role.is_load()
    }
    #[inline(always)]
    fn after_all(&self) -> bool {
        self.after_all
    }
    #[inline(always)]
    fn paced(&self) -> bool {
        self.kind.moves_bytes() && self.role.is_load()
    }
    #[inline(always)]
    fn file(&self) -> u32 {
        self.file
    }
    #[inline(always)]
    fn role(&self) -> Role {
        self.role
    }
    #[inline(always)]
    fn as_block(&self) -> Option<&BlockOp> {
        Some(self)
    }
}

/// A seek that belongs to an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Seek {
    #[default]
    None,
    To(u64),
    /// A seek that would leave the file is executed and fails. The tools do the same after the last record.
    By(i64),
    FromEnd(i64),
}
