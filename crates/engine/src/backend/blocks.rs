//! What every backend of block I/O with one op at a time has in common: files, memory, content. The backends themselves
//! are the calls in between.

use crate::backend::payload::Payload;
use crate::backend::{Begun, BlockFiles, Completion, NotBegun, SyncBackend, Unfinished};
use crate::job::content::Concluded;
use crate::op::BlockOp;
use std::path::PathBuf;

/// The calls of a backend.
pub(crate) trait BlockCalls {
    /// Before the first op: see [`SyncBackend::begin`].
    fn begin(&mut self) -> Result<Begun, NotBegun> {
        Ok(Begun::AtOnce)
    }

    /// Executes one op to its end. `memory` holds at least the largest op that the source yields, and belongs to this
    /// op alone.
    fn execute(&mut self, files: &mut BlockFiles, memory: *mut u8, op: &BlockOp) -> Completion;

    /// After the clock was read: what belongs to no op's time.
    #[inline(always)]
    fn after(&mut self) {}

    /// Whether [`after`](BlockCalls::after) does anything.
    fn works_between_ops(&self) -> bool {
        false
    }

    /// After the last op: writes out what the backend itself holds back.
    fn finish(&mut self, _files: &BlockFiles) -> Result<(), Unfinished> {
        Ok(())
    }
}

impl BlockCalls for Box<dyn BlockCalls + '_> {
    fn begin(&mut self) -> Result<Begun, NotBegun> {
        (**self).begin()
    }

    fn execute(&mut self, files: &mut BlockFiles, memory: *mut u8, op: &BlockOp) -> Completion {
        (**self).execute(files, memory, op)
    }

    fn after(&mut self) {
        (**self).after();
    }

    fn works_between_ops(&self) -> bool {
        (**self).works_between_ops()
    }

    fn finish(&mut self, files: &BlockFiles) -> Result<(), Unfinished> {
        (**self).finish(files)
    }
}

/// A backend of block I/O with one op at a time.
pub(crate) struct SyncBlocks<C> {
    calls: C,
    payload: Payload,
    files: BlockFiles,
}

impl<C: BlockCalls> SyncBlocks<C> {
    pub(crate) fn new(files: BlockFiles, payload: Payload, calls: C) -> SyncBlocks<C> {
        SyncBlocks { calls, payload, files }
    }
}

impl<C: BlockCalls> SyncBackend for SyncBlocks<C> {
    type Op = BlockOp;

    fn begin(&mut self) -> Result<Begun, NotBegun> {
        self.calls.begin()
    }

    #[inline(always)]
    fn before(&mut self, op: &BlockOp) {
        self.payload.before(op, 0);
    }

    #[inline(always)]
    fn execute(&mut self, op: &BlockOp) -> Completion {
        self.calls.execute(&mut self.files, self.payload.pointer(0), op)
    }

    #[inline(always)]
    fn after(&mut self, op: &BlockOp, moved: u64) -> Result<(), String> {
        self.calls.after();
        self.payload.after(op, 0, moved)
    }

    fn works_between_ops(&self) -> bool {
        self.payload.works_each_op() || self.calls.works_between_ops()
    }

    fn finish(&mut self) -> Result<(), Unfinished> {
        self.calls.finish(&self.files)
    }

    fn conclude(&mut self) -> Concluded {
        self.payload.finish()
    }

    fn path_of(&self, op: &BlockOp) -> PathBuf {
        self.files.path_of(op)
    }
}
