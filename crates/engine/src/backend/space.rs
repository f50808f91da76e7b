//! Space allocation without data: `fallocate` and `ftruncate`. No data moves, but bytes are counted as if
//! it did. Sources: fallocate(2), ftruncate(2).

use crate::backend::psync::execute_common;
use crate::backend::{BlockContext, Completion, Errno, SyncBackend, has_context};
use crate::op::BlockOp;
use crate::os::{self, Space};
use plumb_workload::OpKind;

/// A write reserves its range, a read reserves it without extending the file, and a trim punches a hole.
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

/// A write truncates or extends the file to its offset. No other op is supported.
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
