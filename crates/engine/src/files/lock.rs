//! File locks around ops: a backend wrapper that locks the file while an op executes.

use crate::backend::{Begun, BlockContext, Completion, Errno, NotBegun, SyncBackend, Unfinished};
use crate::content::Mismatch;
use crate::op::BlockOp;
use plumb_workload::OpKind;
use plumb_workload::files::FileLock;
use rustix::fs::FlockOperation;
use std::fs::File;
use std::sync::Arc;

/// Locks the file of each op while it executes. This excludes all other workers that lock
/// it, threads and processes alike.
pub(crate) struct Locked<'a> {
    inner: Box<dyn SyncBackend<Op = BlockOp> + 'a>,
    rule: FileLock,
    /// By file number. Each worker needs its own descriptors, because a lock belongs to the open file.
    files: Arc<[File]>,
}

impl<'a> Locked<'a> {
    pub(crate) fn new(
        inner: Box<dyn SyncBackend<Op = BlockOp> + 'a>,
        rule: FileLock,
        files: Arc<[File]>,
    ) -> Locked<'a> {
        Locked { inner, rule, files }
    }

    fn flock(&self, op: &BlockOp, operation: FlockOperation) -> Result<(), Errno> {
        let Some(file) = self.files.get(op.file as usize) else { return Ok(()) };
        rustix::io::retry_on_intr(|| rustix::fs::flock(file, operation)).map_err(|error| Errno(error.raw_os_error()))
    }
}

impl SyncBackend for Locked<'_> {
    type Op = BlockOp;

    fn context(&self) -> Option<&BlockContext> {
        self.inner.context()
    }

    fn context_mut(&mut self) -> Option<&mut BlockContext> {
        self.inner.context_mut()
    }

    fn execute(&mut self, op: &BlockOp) -> Completion {
        let shared = self.rule == FileLock::ReadWrite && op.kind == OpKind::Read;
        self.flock(op, if shared { FlockOperation::LockShared } else { FlockOperation::LockExclusive })?;
        let done = self.inner.execute(op);
        self.flock(op, FlockOperation::Unlock)?;
        done
    }

    fn begin(&mut self) -> Result<Begun, NotBegun> {
        self.inner.begin()
    }

    fn works_between_ops(&self) -> bool {
        self.inner.works_between_ops()
    }

    fn after(&mut self, op: &BlockOp, moved: u64) -> Result<(), Box<Mismatch>> {
        self.inner.after(op, moved)
    }

    fn finish(&mut self) -> Result<(), Unfinished> {
        self.inner.finish()
    }
}
