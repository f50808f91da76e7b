//! Space in place of data: `fallocate` and `ftruncate`. Nothing is moved, and bytes are counted as if they were. Sources:
//! fallocate(2), ftruncate(2).

use crate::backend::psync::execute_common;
use crate::backend::{BlockContext, Completion, Errno, SyncBackend, has_context};
use crate::op::BlockOp;
use crate::os::{self, Space};
use plumb_workload::OpKind;

/// A write reserves its range, a read reserves it without making the file longer, a trim punches a hole.
pub(crate) struct Fallocate {
    pub(crate) context: BlockContext,
}

impl SyncBackend for Fallocate {
    type Op = BlockOp;

    has_context!();

    fn execute(&mut self, op: &BlockOp) -> Completion {
        let files = &mut self.context.files;
        let mode = match op.kind {
            OpKind::Write => Space::Grow,
            OpKind::Read => Space::Keep,
            OpKind::Trim => Space::Punch,
            _ => return execute_common(files, op),
        };
        os::take_space(files.file(op)?, mode, op.offset, u64::from(op.length))?;
        Ok(u64::from(op.length))
    }
}

/// A write cuts or stretches the file to its offset. There is no other op.
pub(crate) struct Truncate {
    pub(crate) context: BlockContext,
}

impl SyncBackend for Truncate {
    type Op = BlockOp;

    has_context!();

    fn execute(&mut self, op: &BlockOp) -> Completion {
        let files = &mut self.context.files;
        match op.kind {
            OpKind::Write => {
                rustix::fs::ftruncate(files.file(op)?, op.offset)?;
                Ok(u64::from(op.length))
            }
            OpKind::Read | OpKind::Trim => Err(Errno(libc::EINVAL)),
            _ => execute_common(files, op),
        }
    }
}
