//! `fread` and `fwrite` of the C library, with its own buffer between Plumb and the kernel.
#![allow(unsafe_code)]

use crate::backend::blocks::BlockCalls;
use crate::backend::psync::execute_common;
use crate::backend::{BlockFiles, Completion, Errno, FileAccess, Unfinished};
use crate::guard::{Access, IoMode, open_again};
use crate::op::BlockOp;
use plumb_workload::OpKind;
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd};

struct Stream {
    file: *mut libc::FILE,
    /// Where the stream stands; `None` after a change of direction or an error. Seeking drops the library's buffer, so
    /// a sequential stream must not seek.
    position: Option<u64>,
    last: OpKind,
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: opened by `Stdio::new` and closed only here.
        unsafe { libc::fclose(self.file) };
    }
}

/// A stream for each file of a target.
pub(crate) struct Stdio {
    streams: Vec<Stream>,
}

impl Stdio {
    pub(crate) fn new(files: &BlockFiles, access: FileAccess) -> io::Result<Stdio> {
        let (mode, access) = match access {
            FileAccess::Read => (c"r", Access::Read),
            FileAccess::ReadWrite => (c"r+", Access::ReadWrite),
        };
        let mut streams = Vec::with_capacity(files.fds.len());
        for (&fd, path) in files.fds.iter().zip(&files.paths) {
            // SAFETY: the target's descriptors outlive the phase.
            let target = unsafe { BorrowedFd::borrow_raw(fd) };
            // Opened once more rather than duplicated: duplicates share one offset, and each worker's stream moves its
            // own.
            let own = open_again(target, path, access, IoMode::Buffered).map_err(io::Error::other)?.into_raw_fd();
            // SAFETY: an open descriptor and a NUL-terminated mode.
            let file = unsafe { libc::fdopen(own, mode.as_ptr()) };
            if file.is_null() {
                let error = io::Error::last_os_error();
                // SAFETY: `own` is ours and no stream took it over.
                unsafe { libc::close(own) };
                return Err(error);
            }
            streams.push(Stream { file, position: None, last: OpKind::Read });
        }
        Ok(Stdio { streams })
    }
}

impl BlockCalls for Stdio {
    #[inline]
    fn execute(&mut self, files: &mut BlockFiles, memory: *mut u8, op: &BlockOp) -> Completion {
        let stream = &mut self.streams[op.file as usize];
        match op.kind {
            OpKind::Read | OpKind::Write => {
                // C wants a seek between reading and writing.
                if stream.position != Some(op.offset) || stream.last != op.kind {
                    // SAFETY: an open stream.
                    if unsafe { libc::fseeko(stream.file, op.offset as libc::off_t, libc::SEEK_SET) } != 0 {
                        return Err(Errno::last());
                    }
                }
                let length = op.length as usize;
                let moved = if op.kind == OpKind::Read {
                    // SAFETY: `memory` holds at least `length` bytes and is this op's alone.
                    unsafe { libc::fread(memory.cast(), 1, length, stream.file) }
                } else {
                    // SAFETY: as above.
                    unsafe { libc::fwrite(memory.cast(), 1, length, stream.file) }
                };
                stream.last = op.kind;
                stream.position = Some(op.offset + moved as u64);
                // SAFETY: an open stream.
                if moved < length && unsafe { libc::ferror(stream.file) } != 0 {
                    let errno = Errno::last();
                    stream.position = None;
                    // SAFETY: an open stream.
                    unsafe { libc::clearerr(stream.file) };
                    return Err(errno);
                }
                Ok(moved as u64)
            }
            OpKind::Fsync | OpKind::EndFsync | OpKind::Fdatasync | OpKind::Evict => {
                // SAFETY: an open stream.
                if unsafe { libc::fflush(stream.file) } != 0 {
                    return Err(Errno::last());
                }
                execute_common(files, op)
            }
            _ => execute_common(files, op),
        }
    }

    fn finish(&mut self, files: &BlockFiles) -> Result<(), Unfinished> {
        for (stream, path) in self.streams.iter().zip(&files.paths) {
            // SAFETY: an open stream.
            if unsafe { libc::fflush(stream.file) } != 0 {
                return Err(Unfinished { op: OpKind::Write, path: path.clone(), errno: Errno::last() });
            }
        }
        Ok(())
    }
}
