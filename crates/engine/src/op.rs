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

    /// Whether limits of ops count it. The flushes that a pattern puts behind its writes do not.
    #[inline(always)]
    fn counts(&self) -> bool {
        true
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
        self.kind.moves_bytes()
    }
}
