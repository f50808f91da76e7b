//! `splice` between a file and a pipe, `vmsplice` between the pipe and memory. Sources: splice(2), vmsplice(2).
#![allow(unsafe_code)]

use crate::backend::psync::execute_common;
use crate::backend::{BlockContext, Completion, Errno, SyncBackend, has_context};
use crate::op::BlockOp;
use plumb_workload::OpKind;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, SpliceFlags, splice};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// Default capacity of a pipe. Source: pipe(7).
const PIPE_BYTES: usize = 64 << 10;

/// Moves data between files and memory through a pipe.
pub(crate) struct Splice {
    context: BlockContext,
    pipe: Pipe,
}

impl Splice {
    pub(crate) fn new(context: BlockContext) -> io::Result<Splice> {
        Ok(Splice { context, pipe: Pipe::new()? })
    }
}

struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
}

/// Converts the return value of a system call. Call it right after the call, because it reads `errno`.
fn count(returned: isize) -> Result<usize, Errno> {
    if returned < 0 { Err(Errno::last()) } else { Ok(returned as usize) }
}

impl Pipe {
    fn new() -> io::Result<Pipe> {
        let (out, into) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Pipe { out, into })
    }

    /// Replaces a pipe that may still hold bytes of a failed op.
    fn renew(&mut self) {
        if let Ok(pipe) = Pipe::new() {
            *self = pipe;
        }
    }

    /// Moves file → pipe → memory.
    fn read(&self, file: BorrowedFd<'_>, memory: *mut u8, length: usize, offset: u64) -> Result<usize, Errno> {
        let mut at = offset;
        let mut done = 0;
        while done < length {
            let piece = (length - done).min(PIPE_BYTES);
            let flags = if length - done > piece { SpliceFlags::MORE } else { SpliceFlags::empty() };
            let got = splice(file, Some(&mut at), &self.into, None, piece, flags)?;
            if got == 0 {
                break;
            }
            let mut taken = 0;
            while taken < got {
                // SAFETY: `memory` holds at least `length` bytes; the rest begins at `done + taken`.
                let base = unsafe { memory.add(done + taken) };
                let vector = libc::iovec { iov_base: base.cast(), iov_len: got - taken };
                // SAFETY: the single vector points to memory that only this op uses.
                let moved = unsafe { libc::vmsplice(self.out.as_raw_fd(), &raw const vector, 1, libc::SPLICE_F_MOVE) };
                taken += match count(moved)? {
                    0 => return Err(Errno(libc::ENODATA)),
                    moved => moved,
                };
            }
            done += got;
        }
        Ok(done)
    }

    /// Moves memory → pipe → file.
    fn write(&self, file: BorrowedFd<'_>, memory: *mut u8, length: usize, offset: u64) -> Result<usize, Errno> {
        let mut at = offset;
        let mut done = 0;
        while done < length {
            poll(&mut [PollFd::new(&self.into, PollFlags::OUT)], None)?;
            // SAFETY: `memory` holds at least `length` bytes; the rest begins at `done`.
            let base = unsafe { memory.add(done) };
            let vector = libc::iovec { iov_base: base.cast(), iov_len: length - done };
            // SAFETY: the single vector points to memory that stays unchanged until the file has taken it.
            let lent = unsafe { libc::vmsplice(self.into.as_raw_fd(), &raw const vector, 1, libc::SPLICE_F_NONBLOCK) };
            let mut left = count(lent)?;
            while left > 0 {
                let moved = splice(&self.out, None, file, Some(&mut at), left, SpliceFlags::empty())?;
                if moved == 0 {
                    return Err(Errno(libc::EIO));
                }
                left -= moved;
                done += moved;
            }
        }
        Ok(done)
    }
}

impl SyncBackend for Splice {
    type Op = BlockOp;

    has_context!();

    fn execute(&mut self, op: &BlockOp) -> Completion {
        let (files, memory) = self.context.parts(0);
        let length = op.length as usize;
        let done = match op.kind {
            OpKind::Read => self.pipe.read(files.file(op)?, memory, length, op.offset),
            OpKind::Write => self.pipe.write(files.file(op)?, memory, length, op.offset),
            _ => return execute_common(files, op),
        };
        if done.is_err() {
            self.pipe.renew();
        }
        done.map(|done| done as u64)
    }
}
