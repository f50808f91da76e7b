//! A file as a stream.

use super::sequential::SequentialStream;
use crate::backend::{Completion, Errno};
use crate::op::Seek;
use crate::syscall::stream::LibraryStream;
use plumb_workload::program::{Moves, OpenStep, Program, RecordOrder, Step, StreamLocks, Transfer, Via};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// An open stream.
pub(super) enum StdioStream {
    /// A stream of the C library.
    Library(LibraryStream),
    /// A stream that is read or written only once, in order.
    Sequential(SequentialStream),
}

/// Creates the streams of a program.
pub(super) struct Streams {
    sequential: bool,
    /// The buffer of a closed stream, for reuse.
    spare: Vec<u8>,
}

impl Streams {
    /// Chooses the streams of a program. If it goes through its streams once, in order, the result does not
    /// depend on the linked C library. If it measures the library's single character calls, or seeks within
    /// buffered data, it uses the library's streams.
    pub(super) fn for_program(program: &Program) -> Streams {
        let in_order = |transfer: &Transfer| {
            transfer.order == RecordOrder::Forward && transfer.does != Moves::Rewrite && transfer.detours.is_none()
        };
        let sequential = program.all_steps().all(|step| match step {
            Step::Transfer(transfer) => match transfer.via {
                Via::Characters | Via::UnlockedCharacters => false,
                Via::Stdio => in_order(transfer),
                _ => true,
            },
            Step::Open(open) => open.stream.is_none() || open.read != open.write,
            Step::Seek { .. } => false,
            _ => true,
        });
        Streams { sequential, spare: Vec::new() }
    }

    /// For programs without streams.
    pub(super) fn none() -> Streams {
        Streams { sequential: true, spare: Vec::new() }
    }

    /// Creates a stream from an open file.
    pub(super) fn open(&mut self, file: OwnedFd, open: &OpenStep) -> Result<StdioStream, Errno> {
        if self.sequential {
            let spare = std::mem::take(&mut self.spare);
            return SequentialStream::new(file, open, spare).map(StdioStream::Sequential);
        }
        let opened = library_stream(file, open);
        opened.map(StdioStream::Library).map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EIO)))
    }

    /// Closes a stream, which may report an error of buffered data.
    pub(super) fn close(&mut self, stream: StdioStream) -> Completion {
        match stream {
            StdioStream::Library(stream) => stream.close(),
            StdioStream::Sequential(stream) => {
                let (closed, buffer) = stream.close();
                self.spare = buffer;
                closed
            }
        }
    }
}

/// Creates the C library's stream for a step.
pub(super) fn library_stream(file: OwnedFd, open: &OpenStep) -> io::Result<LibraryStream> {
    let mode = match (open.read, open.write, open.append) {
        (true, true, true) => c"a+",
        (false, true, true) => c"a",
        (true, true, false) => c"r+",
        (false, true, false) => c"w",
        (_, false, _) => c"r",
    };
    let mut stream = LibraryStream::new(file, mode)?;
    if open.stream.is_some_and(|stream| stream.locks == StreamLocks::None) {
        stream.leave_out_locks();
    }
    match open.stream.and_then(|stream| stream.bytes) {
        Some(bytes) if bytes.0 > 0 => stream.set_buffer(bytes.0 as usize)?,
        _ => {}
    }
    Ok(stream)
}

impl StdioStream {
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            StdioStream::Library(stream) => stream.fd(),
            StdioStream::Sequential(stream) => stream.fd(),
        }
    }

    #[inline]
    pub(super) fn read(&mut self, memory: &mut [u8]) -> Completion {
        match self {
            StdioStream::Library(stream) => stream.read(memory),
            StdioStream::Sequential(stream) => stream.read(memory),
        }
    }

    #[inline]
    pub(super) fn write(&mut self, memory: &[u8]) -> Completion {
        match self {
            StdioStream::Library(stream) => stream.write(memory),
            StdioStream::Sequential(stream) => stream.write(memory),
        }
    }

    pub(super) fn flush(&mut self) -> Completion {
        match self {
            StdioStream::Library(stream) => stream.flush(),
            StdioStream::Sequential(stream) => stream.flush(),
        }
    }

    pub(super) fn seek(&mut self, seek: Seek) -> Completion {
        match self {
            _ if seek == Seek::None => Ok(0),
            StdioStream::Library(stream) => match seek {
                Seek::None => Ok(0),
                Seek::To(offset) => stream.seek(offset as i64, libc::SEEK_SET),
                Seek::By(distance) => stream.seek(distance, libc::SEEK_CUR),
                Seek::FromEnd(distance) => stream.seek(distance, libc::SEEK_END),
            },
            StdioStream::Sequential(_) => Err(Errno(libc::ESPIPE)),
        }
    }

    /// Returns the C library's stream, for calls that measure the library itself.
    pub(super) fn library(&mut self) -> Result<&mut LibraryStream, Errno> {
        match self {
            StdioStream::Library(stream) => Ok(stream),
            StdioStream::Sequential(_) => Err(Errno(libc::EBADF)),
        }
    }
}
