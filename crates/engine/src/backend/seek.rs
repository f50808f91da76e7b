//! `lseek`, then `read` or `write`. Without `lseek` where the file stands there already. Source: lseek(2).
#![allow(unsafe_code)]

use crate::backend::psync::execute_common;
use crate::backend::{BlockContext, Completion, Errno, SyncBackend, completion, has_context};
use crate::op::BlockOp;
use plumb_workload::OpKind;
use std::os::fd::RawFd;

/// Where each file stands; `None` where that is not known. Each worker needs descriptors of its own: a descriptor has one
/// position.
pub(crate) struct Seek {
    context: BlockContext,
    positions: Vec<Option<u64>>,
}

fn position(fd: RawFd) -> Option<u64> {
    // SAFETY: no memory is passed.
    u64::try_from(unsafe { libc::lseek(fd, 0, libc::SEEK_CUR) }).ok()
}

impl Seek {
    /// Asks every file where it stands.
    pub(crate) fn new(context: BlockContext) -> Seek {
        Seek { positions: context.files.fds.iter().map(|&fd| position(fd)).collect(), context }
    }
}

impl SyncBackend for Seek {
    type Op = BlockOp;

    has_context!();

    fn execute(&mut self, op: &BlockOp) -> Completion {
        let (files, memory) = self.context.parts(0);
        let stands = &mut self.positions[op.file as usize];
        if !matches!(op.kind, OpKind::Read | OpKind::Write) {
            if matches!(op.kind, OpKind::Open | OpKind::Close) {
                *stands = None;
            }
            return execute_common(files, op);
        }
        let fd = files.fd(op);
        if *stands != Some(op.offset) {
            // SAFETY: no memory is passed.
            if unsafe { libc::lseek(fd, op.offset as libc::off_t, libc::SEEK_SET) } < 0 {
                *stands = None;
                return Err(Errno::last());
            }
        }
        let length = op.length as usize;
        let moved = if op.kind == OpKind::Read {
            // SAFETY: `memory` holds at least `length` bytes and is this op's alone.
            completion(unsafe { libc::read(fd, memory.cast(), length) })
        } else {
            // SAFETY: as above.
            completion(unsafe { libc::write(fd, memory.cast(), length) })
        };
        *stands = moved.ok().map(|moved| op.offset + moved);
        moved
    }
}
