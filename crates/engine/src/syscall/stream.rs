//! A file as a stream of the C library.
#![allow(unsafe_code)]

use crate::backend::{Completion, Errno};
use std::ffi::CStr;
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd};

// Functions that the libc crate lacks. Sources: stdio_ext(3), unlocked_stdio(3).
unsafe extern "C" {
    fn __fsetlocking(file: *mut libc::FILE, kind: libc::c_int) -> libc::c_int;
    fn getc_unlocked(file: *mut libc::FILE) -> libc::c_int;
    fn putc_unlocked(byte: libc::c_int, file: *mut libc::FILE) -> libc::c_int;
}
/// `FSETLOCKING_BYCALLER`, stdio_ext.h.
const BY_CALLER: libc::c_int = 2;

pub(crate) struct LibraryStream {
    file: *mut libc::FILE,
    /// Buffer passed to `setvbuf`, kept alive as long as the stream.
    _buffer: Vec<u8>,
}

// SAFETY: only the thread that owns the value uses the stream.
unsafe impl Send for LibraryStream {}

impl Drop for LibraryStream {
    fn drop(&mut self) {
        if !self.file.is_null() {
            // SAFETY: opened by `LibraryStream::new`; `close` sets it to null.
            unsafe { libc::fclose(self.file) };
        }
    }
}

impl LibraryStream {
    /// Creates a stream from an open file, with a `mode` as for fopen(3).
    pub(crate) fn new(fd: OwnedFd, mode: &CStr) -> io::Result<LibraryStream> {
        let fd = fd.into_raw_fd();
        // SAFETY: an open descriptor, which the stream takes over, and a NUL-terminated mode.
        let file = unsafe { libc::fdopen(fd, mode.as_ptr()) };
        if file.is_null() {
            let error = io::Error::last_os_error();
            // SAFETY: no stream took over the descriptor.
            unsafe { libc::close(fd) };
            return Err(error);
        }
        Ok(LibraryStream { file, _buffer: Vec::new() })
    }

    /// Disables the library's locking, since only one thread at a time uses a stream.
    pub(crate) fn leave_out_locks(&mut self) {
        // SAFETY: an open stream; one thread at a time uses it.
        unsafe { __fsetlocking(self.file, BY_CALLER) };
    }

    /// Sets a buffer of this size. Call it before any read or write.
    pub(crate) fn set_buffer(&mut self, bytes: usize) -> io::Result<()> {
        let mut memory = vec![0u8; bytes];
        // SAFETY: nothing was read or written yet; the buffer lives as long as the stream, and does not move.
        if unsafe { libc::setvbuf(self.file, memory.as_mut_ptr().cast(), libc::_IOFBF, bytes) } != 0 {
            return Err(io::Error::last_os_error());
        }
        self._buffer = memory;
        Ok(())
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the stream is open, and so is its descriptor for as long as the stream is borrowed.
        unsafe { BorrowedFd::borrow_raw(libc::fileno(self.file)) }
    }

    /// Returns the number of bytes moved, or the error that stopped the transfer.
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

    pub(crate) fn read(&mut self, memory: &mut [u8]) -> Completion {
        // SAFETY: an open stream and memory of that length.
        let moved = unsafe { libc::fread(memory.as_mut_ptr().cast(), 1, memory.len(), self.file) };
        self.settled(moved, memory.len())
    }

    pub(crate) fn write(&mut self, memory: &[u8]) -> Completion {
        // SAFETY: an open stream and memory of that length.
        let moved = unsafe { libc::fwrite(memory.as_ptr().cast(), 1, memory.len(), self.file) };
        self.settled(moved, memory.len())
    }

    pub(crate) fn get_characters(&mut self, memory: &mut [u8]) -> Completion {
        for (number, byte) in memory.iter_mut().enumerate() {
            // SAFETY: an open stream.
            let found = unsafe { libc::fgetc(self.file) };
            let Ok(found) = u8::try_from(found) else { return self.settled(number, usize::MAX) };
            *byte = found;
        }
        Ok(memory.len() as u64)
    }

    pub(crate) fn put_characters(&mut self, memory: &[u8]) -> Completion {
        for (number, &byte) in memory.iter().enumerate() {
            // SAFETY: an open stream.
            if unsafe { libc::fputc(byte.into(), self.file) } == libc::EOF {
                return self.settled(number, usize::MAX);
            }
        }
        Ok(memory.len() as u64)
    }

    pub(crate) fn get_characters_unlocked(&mut self, memory: &mut [u8]) -> Completion {
        for (number, byte) in memory.iter_mut().enumerate() {
            // SAFETY: an open stream, which no other thread uses during the call.
            let found = unsafe { getc_unlocked(self.file) };
            let Ok(found) = u8::try_from(found) else { return self.settled(number, usize::MAX) };
            *byte = found;
        }
        Ok(memory.len() as u64)
    }

    pub(crate) fn put_characters_unlocked(&mut self, memory: &[u8]) -> Completion {
        for (number, &byte) in memory.iter().enumerate() {
            // SAFETY: an open stream, which no other thread uses during the call.
            if unsafe { putc_unlocked(byte.into(), self.file) } == libc::EOF {
                return self.settled(number, usize::MAX);
            }
        }
        Ok(memory.len() as u64)
    }

    pub(crate) fn flush(&mut self) -> Completion {
        // SAFETY: an open stream.
        if unsafe { libc::fflush(self.file) } == 0 { Ok(0) } else { Err(Errno::last()) }
    }

    /// Seeks; `whence` is that of lseek(2).
    pub(crate) fn seek(&mut self, offset: i64, whence: i32) -> Completion {
        // SAFETY: an open stream.
        if unsafe { libc::fseeko(self.file, offset as libc::off_t, whence) } == 0 { Ok(0) } else { Err(Errno::last()) }
    }

    pub(crate) fn close(mut self) -> Completion {
        let file = std::mem::replace(&mut self.file, std::ptr::null_mut());
        // SAFETY: an open stream, which is not used after this call.
        if unsafe { libc::fclose(file) } == 0 { Ok(0) } else { Err(Errno::last()) }
    }
}
