//! A stream that is only read or only written, from beginning to end. It makes the same system calls as the GNU C
//! library, even if another C library is linked, because others have other buffers.
//!
//! Sources: fopen(3), setvbuf(3), fread(3); sizes as `strace` shows them of programs with glibc 2.36.

use super::descriptor::close;
use super::descriptor::errno;
use crate::backend::{Completion, Errno};
use plumb_workload::program::OpenStep;
use rustix::fs::SeekFrom;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Largest default buffer: `BUFSIZ`, stdio.h.
const LARGEST_OWN: usize = 8192;
/// With a smaller buffer, the library does not round transfers to blocks.
const SMALLEST_BLOCK: usize = 128;

/// An open stream.
pub(super) struct SequentialStream {
    file: OwnedFd,
    /// At least as long as `block`.
    buffer: Vec<u8>,
    /// Length of the buffer; 0 until the first transfer.
    block: usize,
    /// Requested length of the buffer.
    asked: Option<usize>,
    writes: bool,
    /// Range of the buffer that is not read or written out yet.
    at: usize,
    end: usize,
    /// Whether the end of the file was reached.
    is_over: bool,
}

impl SequentialStream {
    /// Creates a stream of an open file. `buffer` is the memory of a previous stream.
    ///
    /// # Errors
    /// The system's error from seeking to the end, for a stream that appends.
    pub(super) fn new(file: OwnedFd, open: &OpenStep, buffer: Vec<u8>) -> Result<SequentialStream, Errno> {
        if open.append {
            rustix::fs::seek(&file, SeekFrom::End(0)).map_err(errno)?;
        }
        let asked =
            open.stream.and_then(|stream| stream.bytes).map(|bytes| bytes.0 as usize).filter(|&bytes| bytes > 0);
        Ok(SequentialStream { file, buffer, block: 0, asked, writes: open.write, at: 0, end: 0, is_over: false })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Returns the length of the buffer, which is allocated on first use.
    #[inline]
    fn block(&mut self) -> Result<usize, Errno> {
        if self.block == 0 {
            let bytes = match self.asked {
                Some(bytes) => bytes,
                None => match usize::try_from(rustix::fs::fstat(&self.file).map_err(errno)?.st_blksize) {
                    Ok(block) if (1..LARGEST_OWN).contains(&block) => block,
                    _ => LARGEST_OWN,
                },
            };
            // Reuse a previous stream's memory without clearing it: clearing would take
            // longer than writing a small file.
            if self.buffer.len() < bytes {
                self.buffer.resize(bytes, 0);
            }
            self.block = bytes;
        }
        Ok(self.block)
    }

    /// Returns how much of `left` bypasses the buffer.
    #[inline]
    fn whole_blocks(left: usize, block: usize) -> usize {
        if block >= SMALLEST_BLOCK { left - left % block } else { left }
    }

    pub(super) fn read(&mut self, memory: &mut [u8]) -> Completion {
        let block = self.block()?;
        let mut moved = 0;
        while moved < memory.len() {
            let left = memory.len() - moved;
            let held = left.min(self.end - self.at);
            memory[moved..moved + held].copy_from_slice(&self.buffer[self.at..self.at + held]);
            self.at += held;
            moved += held;
            let left = left - held;
            if left == 0 || (left < block && self.is_over) {
                break;
            }
            let got = if left < block {
                (self.at, self.end) = (0, 0);
                self.end = rustix::io::read(&self.file, &mut self.buffer[..block]).map_err(errno)?;
                self.end
            } else {
                let whole = Self::whole_blocks(left, block);
                let got = rustix::io::read(&self.file, &mut memory[moved..moved + whole]).map_err(errno)?;
                moved += got;
                got
            };
            if got == 0 {
                self.is_over = true;
                break;
            }
        }
        Ok(moved as u64)
    }

    pub(super) fn write(&mut self, memory: &[u8]) -> Completion {
        let fits = memory.len().min(self.block - self.end);
        self.hold(&memory[..fits]);
        let left = &memory[fits..];
        if !left.is_empty() {
            self.write_out()?;
            let (whole, rest) = left.split_at(Self::whole_blocks(left.len(), self.block()?));
            self.write_through(whole)?;
            self.hold(rest);
        }
        Ok(memory.len() as u64)
    }

    #[inline]
    fn hold(&mut self, piece: &[u8]) {
        self.buffer[self.end..self.end + piece.len()].copy_from_slice(piece);
        self.end += piece.len();
    }

    fn write_through(&self, mut left: &[u8]) -> Result<(), Errno> {
        while !left.is_empty() {
            let moved = rustix::io::write(&self.file, left).map_err(errno)?;
            left = &left[moved..];
        }
        Ok(())
    }

    /// Writes the buffer out. Data that cannot be written is lost, as in the C library.
    fn write_out(&mut self) -> Result<(), Errno> {
        let end = std::mem::take(&mut self.end);
        self.write_through(&self.buffer[..end])
    }

    pub(super) fn flush(&mut self) -> Completion {
        if self.writes {
            self.write_out()?;
        } else if self.at < self.end {
            let unread = (self.end - self.at) as i64;
            rustix::fs::seek(&self.file, SeekFrom::Current(-unread)).map_err(errno)?;
            (self.at, self.end) = (0, 0);
        }
        Ok(0)
    }

    /// Writes out and closes. Returns the buffer's memory.
    pub(super) fn close(mut self) -> (Completion, Vec<u8>) {
        let written = if self.writes { self.write_out() } else { Ok(()) };
        let buffer = std::mem::take(&mut self.buffer);
        let closed = close(self.file);
        (written.and(closed), buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::stream::library_stream;
    use plumb_workload::Bytes;
    use plumb_workload::program::StdioBuffer;
    use proptest::prelude::*;
    use std::fs::File;

    /// Returns the system's position in a file, which shows how much was requested so far.
    fn system_at(fd: BorrowedFd<'_>) -> u64 {
        rustix::fs::seek(fd, SeekFrom::Current(0)).unwrap()
    }

    fn opened(open: &OpenStep, file: &File) -> SequentialStream {
        SequentialStream::new(file.try_clone().unwrap().into(), open, vec![1; 77]).unwrap()
    }

    fn open_step(write: bool, buffer: Option<u64>) -> OpenStep {
        let stream = Some(StdioBuffer { bytes: buffer.map(Bytes), ..StdioBuffer::default() });
        OpenStep { read: !write, write, stream, ..OpenStep::default() }
    }

    fn text(length: usize) -> Vec<u8> {
        (0..length).map(|number| (number % 251) as u8).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        // Protects: after each piece, this stream has requested as much from the system as the C library does, and
        // reads or writes the same data in total.
        #[test]
        #[cfg(target_env = "gnu")]
        fn it_makes_the_system_calls_of_the_library(
            pieces in proptest::collection::vec(1usize..20_000, 1..12),
            buffer in proptest::option::of(128u64..20_000),
            length in 0usize..60_000,
        ) {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("f");
            std::fs::write(&path, text(length)).unwrap();
            let read = open_step(false, buffer);
            let (own_file, library_file) = (File::open(&path).unwrap(), File::open(&path).unwrap());
            let mut own = opened(&read, &own_file);
            let mut library = library_stream(library_file.into(), &read).unwrap();
            for piece in &pieces {
                let (mut got, mut expected) = (vec![0; *piece], vec![0; *piece]);
                prop_assert_eq!(own.read(&mut got), library.read(&mut expected));
                prop_assert_eq!(got, expected);
                prop_assert_eq!(system_at(own.fd()), system_at(library.fd()));
            }
            prop_assert_eq!(own.flush(), library.flush());
            prop_assert_eq!(system_at(own.fd()), system_at(library.fd()));

            let write = open_step(true, buffer);
            let paths = ["own", "library"].map(|name| place.path().join(name));
            let [own_file, library_file] = paths.each_ref().map(|path| File::create(path).unwrap());
            let mut own = opened(&write, &own_file);
            let mut library = library_stream(library_file.into(), &write).unwrap();
            for piece in &pieces {
                prop_assert_eq!(own.write(&text(*piece)), library.write(&text(*piece)));
                prop_assert_eq!(system_at(own.fd()), system_at(library.fd()));
            }
            prop_assert_eq!(own.close().0, library.close());
            let [own, library] = paths.map(|path| std::fs::read(path).unwrap());
            prop_assert_eq!(own, library);
        }
    }

    // Protects: appended data goes to the end, and data that does not fit on the device is an
    // error instead of being lost silently.
    #[test]
    fn appending_and_a_full_device() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("f");
        std::fs::write(&path, "before").unwrap();
        let append = OpenStep { append: true, ..open_step(true, None) };
        let mut stream = opened(&append, &File::options().append(true).open(&path).unwrap());
        assert_eq!((system_at(stream.fd()), stream.write(b" and after")), (6, Ok(11)));
        assert_eq!(
            std::fs::read(&path).unwrap(),
            b"before",
            "data is buffered until the block is full or the stream ends"
        );
        assert_eq!(stream.close().0, Ok(0));
        assert_eq!(std::fs::read(&path).unwrap(), b"before and after");
        let full = || opened(&open_step(true, None), &File::options().write(true).open("/dev/full").unwrap());
        assert_eq!(full().write(&[0; 10_000]), Err(Errno(libc::ENOSPC)));
        let mut held = full();
        assert_eq!(held.write(&[0; 10]), Ok(10));
        assert_eq!(held.close().0, Err(Errno(libc::ENOSPC)));
    }
}
