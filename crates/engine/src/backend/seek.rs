//! Calls `lseek`, then `read` or `write`. Skips `lseek` if the file is already at the offset. Source: lseek(2).
#![allow(unsafe_code)]

use crate::backend::psync::execute_common;
use crate::backend::{BlockContext, Completion, SyncBackend, completion, has_context};
use crate::op::BlockOp;
use plumb_workload::OpKind;
use rustix::fs::SeekFrom;

/// Tracks the position of each file; `None` if unknown. Each worker needs its own descriptors, because
/// a descriptor has one position.
pub(crate) struct Seek {
    context: BlockContext,
    positions: Vec<Option<u64>>,
}

impl Seek {
    /// Reads the current position of every file.
    pub(crate) fn new(context: BlockContext) -> Seek {
        let files = &context.files;
        let position = |number| rustix::fs::tell(files.file_at(number).ok()?).ok();
        Seek { positions: (0..files.fds.len()).map(position).collect(), context }
    }
}

impl SyncBackend for Seek {
    type Op = BlockOp;

    has_context!();

    fn execute(&mut self, op: &BlockOp) -> Completion {
        let (files, memory) = self.context.parts(0);
        let position = &mut self.positions[op.file as usize];
        if !matches!(op.kind, OpKind::Read | OpKind::Write) {
            if matches!(op.kind, OpKind::Open | OpKind::Close) {
                *position = None;
            }
            return execute_common(files, op);
        }
        let fd = files.fd(op);
        if *position != Some(op.offset) {
            let sought = files.file(op).and_then(|file| Ok(rustix::fs::seek(file, SeekFrom::Start(op.offset))?));
            if let Err(error) = sought {
                *position = None;
                return Err(error);
            }
        }
        let length = op.length as usize;
        let moved = if op.kind == OpKind::Read {
            // SAFETY: `memory` holds at least `length` bytes, which only this op uses.
            completion(unsafe { libc::read(fd, memory.cast(), length) })
        } else {
            // SAFETY: as above.
            completion(unsafe { libc::write(fd, memory.cast(), length) })
        };
        *position = moved.ok().map(|moved| op.offset + moved);
        moved
    }
}
