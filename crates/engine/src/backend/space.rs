//! Space in place of data: `fallocate` and `ftruncate`. Nothing is moved, and bytes are counted as if they were. Sources:
//! fallocate(2), ftruncate(2).
#![allow(unsafe_code)]

use crate::backend::psync::execute_common;
use crate::backend::{BlockContext, Completion, Errno, SyncBackend, has_context};
use crate::op::BlockOp;
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
            OpKind::Write => 0,
            OpKind::Read => libc::FALLOC_FL_KEEP_SIZE,
            OpKind::Trim => libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE,
            _ => return execute_common(files, op),
        };
        let (offset, length) = (op.offset as libc::off_t, libc::off_t::from(op.length));
        // SAFETY: no memory is passed; a bad descriptor or range is an error.
        let returned = unsafe { libc::fallocate(files.fd(op), mode, offset, length) };
        if returned == 0 { Ok(u64::from(op.length)) } else { Err(Errno::last()) }
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
                // SAFETY: no memory is passed.
                let returned = unsafe { libc::ftruncate(files.fd(op), op.offset as libc::off_t) };
                if returned == 0 { Ok(u64::from(op.length)) } else { Err(Errno::last()) }
            }
            OpKind::Read | OpKind::Trim => Err(Errno(libc::EINVAL)),
            _ => execute_common(files, op),
        }
    }
}
