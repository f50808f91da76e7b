//! Calls `fread` and `fwrite`. The C library's own buffer is between Plumb and the kernel.
#![allow(unsafe_code)]

use crate::backend::psync::execute_common;
use crate::backend::{BlockContext, Completion, FileAccess, SyncBackend, Unfinished, has_context};
use crate::guard::{Access, IoMode, open_again};
use crate::op::BlockOp;
use crate::syscall::stream::LibraryStream;
use plumb_workload::OpKind;
use std::io;

struct CStream {
    library: LibraryStream,
    /// Current position of the stream; `None` after a change of direction or an error. Seeking drops the library's
    /// buffer, so a sequential stream must not seek.
    position: Option<u64>,
    last: OpKind,
}

/// One C stream for each file of a target.
pub(crate) struct Stdio {
    context: BlockContext,
    streams: Vec<CStream>,
}

impl Stdio {
    pub(crate) fn new(context: BlockContext, access: FileAccess) -> io::Result<Stdio> {
        let (mode, access) = match access {
            FileAccess::Read => (c"r", Access::Read),
            FileAccess::ReadWrite => (c"r+", Access::ReadWrite),
        };
        let files = &context.files;
        let mut streams = Vec::with_capacity(files.fds.len());
        for (number, path) in files.paths.iter().enumerate().take(files.fds.len()) {
            let target = files.file_at(number).map_err(|error| io::Error::from_raw_os_error(error.0))?;
            // Opened again instead of duplicated: duplicates share one offset, but each worker's stream needs its own.
            let own = open_again(target, path, access, IoMode::Buffered).map_err(io::Error::other)?;
            streams.push(CStream {
                library: LibraryStream::new(own.into(), mode)?,
                position: None,
                last: OpKind::Read,
            });
        }
        Ok(Stdio { context, streams })
    }
}

impl SyncBackend for Stdio {
    type Op = BlockOp;

    has_context!();

    #[inline]
    fn execute(&mut self, op: &BlockOp) -> Completion {
        let (files, memory) = self.context.parts(0);
        let stream = &mut self.streams[op.file as usize];
        match op.kind {
            OpKind::Read | OpKind::Write => {
                // C requires a seek between a read and a write.
                if stream.position != Some(op.offset) || stream.last != op.kind {
                    stream.library.seek(op.offset as i64, libc::SEEK_SET)?;
                }
                // SAFETY: `memory` holds at least this many bytes, which only this op uses.
                let memory = unsafe { std::slice::from_raw_parts_mut(memory, op.length as usize) };
                let moved = match op.kind {
                    OpKind::Read => stream.library.read(memory),
                    _ => stream.library.write(memory),
                };
                stream.last = op.kind;
                stream.position = moved.ok().map(|moved| op.offset + moved);
                moved
            }
            OpKind::Fsync | OpKind::EndFsync | OpKind::Fdatasync | OpKind::Evict => {
                stream.library.flush()?;
                execute_common(files, op)
            }
            _ => execute_common(files, op),
        }
    }

    fn finish(&mut self) -> Result<(), Unfinished> {
        for (stream, path) in self.streams.iter_mut().zip(&self.context.files.paths) {
            let flushed = stream.library.flush();
            flushed.map_err(|errno| Unfinished { op: OpKind::Write, path: path.clone(), errno })?;
        }
        Ok(())
    }
}
