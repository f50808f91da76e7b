//! Operations as they pass through the hot loop: small, `Copy`, and free of paths.

use plumb_workload::OpKind;

/// What the loop, the recorder and the simulated device need to know of any op.
pub trait Operation: Copy {
    /// What it does.
    fn kind(&self) -> OpKind;
    /// Where, in bytes; 0 where that means nothing.
    fn offset(&self) -> u64;
    /// How much, in bytes; 0 where that means nothing.
    fn length(&self) -> u64;

    /// Whether limits of ops count it. The flushes that a pattern puts behind its writes do not, nor what is read back.
    #[inline(always)]
    fn counts(&self) -> bool {
        true
    }

    /// Whether it starts only when nothing else of its worker is in flight.
    #[inline(always)]
    fn after_all(&self) -> bool {
        false
    }

    /// Whether rates and pauses of a job hold for it: they do for what moves data and is its load.
    #[inline(always)]
    fn paced(&self) -> bool {
        self.kind().moves_bytes()
    }

    /// Which of the target's files; 0 where that means nothing.
    #[inline(always)]
    fn file(&self) -> u32 {
        0
    }

    /// What it is for.
    #[inline(always)]
    fn role(&self) -> Role {
        Role::Load
    }

    /// The op of block I/O that it is, where it is one.
    #[inline(always)]
    fn as_block(&self) -> Option<&BlockOp> {
        None
    }

    /// Bytes that limits of bytes count.
    #[inline(always)]
    fn moves(&self) -> u64 {
        if self.kind().moves_bytes() { self.length() } else { 0 }
    }
}

/// One op of block I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockOp {
    /// Read, write, trim, fsync or fdatasync.
    pub kind: OpKind,
    /// Which of the target's files.
    pub file: u32,
    /// Where in it, in bytes.
    pub offset: u64,
    /// How much, in bytes.
    pub length: u32,
    /// What it is for.
    pub role: Role,
    /// It starts only when nothing else of its worker is in flight.
    pub after_all: bool,
    /// Which of the worker's writes it is, or reads back, counted from 0 and wrapping; 0 where nobody counts.
    pub number: u32,
}

/// The number of a place in the queue, below the depth.
pub(crate) type Slot = u16;

/// What an op is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Role {
    /// It is the load.
    #[default]
    Load,
    /// It is the load, and what it reads is verified.
    LoadVerified,
    /// It reads back what was written, to verify it.
    ReadBack,
    /// It reads back what was trimmed, where zeros are expected.
    ReadTrimmed,
    /// It flushes a file that is about to be closed.
    AtClose,
    /// It is not done: its file is open all the time, and a log shows where the job opens or closes it.
    Note,
}

impl Role {
    /// Whether it is the load, rather than what is done to verify it.
    #[inline(always)]
    pub const fn is_load(self) -> bool {
        matches!(self, Role::Load | Role::LoadVerified)
    }
}

impl BlockOp {
    /// An op of the load.
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
    /// One that would leave the file is made, and fails, as the tools have it behind the last record.
    By(i64),
    FromEnd(i64),
}
