//! Loads and stores in anonymous memory. Measures the kernel's page faults on first access.
#![allow(unsafe_code)]

use crate::backend::psync::execute_common;
use crate::backend::{BlockContext, Completion, Errno, SyncBackend, has_context};
use crate::op::BlockOp;
use crate::syscall::mapping::Mapping;
use plumb_workload::OpKind;
use std::io;

/// Anonymous memory that replaces a file.
pub(crate) struct PageFault {
    context: BlockContext,
    memory: Mapping,
}

impl PageFault {
    /// Maps memory of the file's length, without touching it.
    ///
    /// # Errors
    /// There are several files, or the machine has less memory than requested.
    pub(crate) fn new(context: BlockContext) -> io::Result<PageFault> {
        let [bytes] = context.files.lengths[..] else {
            return Err(io::Error::other("memory stands for one file; use one file (fio's nrfiles=1)"));
        };
        let ram_bytes = crate::os::ram_bytes();
        if bytes > ram_bytes {
            return Err(io::Error::other(format!(
                "{bytes} bytes are more memory than the machine has ({ram_bytes}); use fewer"
            )));
        }
        Ok(PageFault { memory: Mapping::anonymous(bytes)?, context })
    }
}

impl SyncBackend for PageFault {
    type Op = BlockOp;

    has_context!();

    #[inline]
    fn execute(&mut self, op: &BlockOp) -> Completion {
        let (files, buffer) = self.context.parts(0);
        match op.kind {
            OpKind::Read | OpKind::Write => {
                // SAFETY: `buffer` holds at least this many bytes, which only this op uses.
                let buffer = unsafe { std::slice::from_raw_parts_mut(buffer, op.length as usize) };
                match op.kind {
                    OpKind::Read => self.memory.load(op.offset, buffer),
                    _ => self.memory.store(op.offset, buffer),
                }
            }
            OpKind::Fsync | OpKind::EndFsync | OpKind::Fdatasync | OpKind::SyncRange | OpKind::Syncfs => Ok(0),
            OpKind::Trim => Err(Errno(libc::EINVAL)),
            _ => execute_common(files, op),
        }
    }
}
