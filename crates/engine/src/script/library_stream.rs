//! A file as a stream of the C library.
#![allow(unsafe_code)]

use super::op::Seek;
use crate::backend::{Completion, Errno};
use plumb_workload::script::{OpenStep, StreamLocks};
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd};

// What the crate of the C library leaves out. Sources: stdio_ext(3), unlocked_stdio(3).
unsafe extern "C" {
    fn __fsetlocking(file: *mut libc::FILE, kind: libc::c_int) -> libc::c_int;
    fn getc_unlocked(file: *mut libc::FILE) -> libc::c_int;
    fn putc_unlocked(byte: libc::c_int, file: *mut libc::FILE) -> libc::c_int;
}
/// `FSETLOCKING_BYCALLER`, stdio_ext.h.
const BY_CALLER: libc::c_int = 2;

/// An open stream.
pub(super) struct LibraryStream {
    file: *mut libc::FILE,
    /// What `setvbuf` was given, for as long as the stream lives.
    _buffer: Vec<u8>,
}

// SAFETY: the stream is used by one thread at a time: whoever holds it.
unsafe impl Send for LibraryStream {}

impl Drop for LibraryStream {
    fn drop(&mut self) {
        if !self.file.is_null() {
            // SAFETY: opened by `LibraryStream::new`; `close` makes it null.
            unsafe { libc::fclose(self.file) };
        }
    }
}

impl LibraryStream {
    /// Makes a stream of an open file.
    pub(super) fn new(fd: OwnedFd, open: &OpenStep) -> io::Result<LibraryStream> {
        let mode = match (open.read, open.write, open.append) {
            (true, true, true) => c"a+",
            (false, true, true) => c"a",
            (true, true, false) => c"r+",
            (false, true, false) => c"w",
            (_, false, _) => c"r",
        };
        let fd = fd.into_raw_fd();
        // SAFETY: an open descriptor that the stream takes over, and a NUL-terminated mode.
        let file = unsafe { libc::fdopen(fd, mode.as_ptr()) };
        if file.is_null() {
            let error = io::Error::last_os_error();
            // SAFETY: no stream took the descriptor over.
            unsafe { libc::close(fd) };
            return Err(error);
        }
        let bytes = open.stream.and_then(|stream| stream.bytes).map_or(0, |bytes| bytes.0 as usize);
        let mut stream = LibraryStream { file, _buffer: vec![0; bytes] };
        if open.stream.is_some_and(|stream| stream.locks == StreamLocks::None) {
            // SAFETY: an open stream; one thread at a time uses it.
            unsafe { __fsetlocking(file, BY_CALLER) };
        }
        if bytes > 0 {
            let buffer = stream._buffer.as_mut_ptr().cast();
            // SAFETY: nothing was read or written yet; the buffer lives as long as the stream, and does not move.
            if unsafe { libc::setvbuf(file, buffer, libc::_IOFBF, bytes) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(stream)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the stream is open, and so is its descriptor for as long as the stream is borrowed.
        unsafe { BorrowedFd::borrow_raw(libc::fileno(self.file)) }
    }

    /// What was moved, or why less than all.
    fn settled(&self, moved: usize, asked: usize) -> Completion {
        // SAFETY: an open stream.
        if moved < asked && unsafe { libc::ferror(self.file) } != 0 {
            let errno = Errno::last();
            // SAFETY: an open stream.
            unsafe { libc::clearerr(self.file) };
            return Err(errno);
        }
        Ok(moved as u64)
    }

    pub(super) fn read(&mut self, memory: &mut [u8]) -> Completion {
        // SAFETY: an open stream and memory of that length.
        let moved = unsafe { libc::fread(memory.as_mut_ptr().cast(), 1, memory.len(), self.file) };
        self.settled(moved, memory.len())
    }

    pub(super) fn write(&mut self, memory: &[u8]) -> Completion {
        // SAFETY: an open stream and memory of that length.
        let moved = unsafe { libc::fwrite(memory.as_ptr().cast(), 1, memory.len(), self.file) };
        self.settled(moved, memory.len())
    }

    pub(super) fn get_characters(&mut self, memory: &mut [u8]) -> Completion {
        for (number, byte) in memory.iter_mut().enumerate() {
            // SAFETY: an open stream.
            let found = unsafe { libc::fgetc(self.file) };
            let Ok(found) = u8::try_from(found) else { return self.settled(number, usize::MAX) };
            *byte = found;
        }
        Ok(memory.len() as u64)
    }

    pub(super) fn put_characters(&mut self, memory: &[u8]) -> Completion {
        for (number, &byte) in memory.iter().enumerate() {
            // SAFETY: an open stream.
            if unsafe { libc::fputc(byte.into(), self.file) } == libc::EOF {
                return self.settled(number, usize::MAX);
            }
        }
        Ok(memory.len() as u64)
    }

    pub(super) fn get_characters_unlocked(&mut self, memory: &mut [u8]) -> Completion {
        for (number, byte) in memory.iter_mut().enumerate() {
            // SAFETY: an open stream, which no other thread uses meanwhile.
            let found = unsafe { getc_unlocked(self.file) };
            let Ok(found) = u8::try_from(found) else { return self.settled(number, usize::MAX) };
            *byte = found;
        }
        Ok(memory.len() as u64)
    }

    pub(super) fn put_characters_unlocked(&mut self, memory: &[u8]) -> Completion {
        for (number, &byte) in memory.iter().enumerate() {
            // SAFETY: an open stream, which no other thread uses meanwhile.
            if unsafe { putc_unlocked(byte.into(), self.file) } == libc::EOF {
                return self.settled(number, usize::MAX);
            }
        }
        Ok(memory.len() as u64)
    }

    pub(super) fn flush(&mut self) -> Completion {
        // SAFETY: an open stream.
        if unsafe { libc::fflush(self.file) } == 0 { Ok(0) } else { Err(Errno::last()) }
    }

    pub(super) fn seek(&mut self, seek: Seek) -> Completion {
        let (offset, whence) = match seek {
            Seek::None => return Ok(0),
            Seek::To(offset) => (offset as libc::off_t, libc::SEEK_SET),
            Seek::By(distance) => (distance as libc::off_t, libc::SEEK_CUR),
            Seek::FromEnd(distance) => (distance as libc::off_t, libc::SEEK_END),
        };
        // SAFETY: an open stream.
        if unsafe { libc::fseeko(self.file, offset, whence) } == 0 { Ok(0) } else { Err(Errno::last()) }
    }

    pub(super) fn close(mut self) -> Completion {
        let file = std::mem::replace(&mut self.file, std::ptr::null_mut());
        // SAFETY: an open stream, which nothing uses from here on.
        if unsafe { libc::fclose(file) } == 0 { Ok(0) } else { Err(Errno::last()) }
    }
}
