//! Storage under test: a range of bytes that can be written and read.

use plumb_guard::{GuardedFile, IoMode};
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

/// Storage that claims a size.
pub trait Medium {
    /// Returns the claimed size in bytes.
    fn bytes(&self) -> u64;

    /// Writes at an offset. Offset and length are multiples of [`crate::BLOCK_BYTES`].
    ///
    /// # Errors
    /// Returns any error of the system call.
    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// Reads `data.len()` bytes at an offset.
    ///
    /// # Errors
    /// Returns the system's error, or an error if the data ends early.
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<()>;

    /// Makes written data durable and drops it from this machine's page cache.
    ///
    /// # Errors
    /// Returns any error of the system call.
    fn settle(&mut self) -> io::Result<()>;
}

/// An open file or device that passed the write guard. Bypasses the page cache where the file system supports it.
#[derive(Debug)]
pub struct Direct {
    file: GuardedFile,
    bytes: u64,
    mode: IoMode,
}

impl Direct {
    /// Wraps a file that claims `bytes`.
    pub fn new(file: GuardedFile, bytes: u64) -> Direct {
        let mode = if file.set_mode(IoMode::Direct).is_ok() { IoMode::Direct } else { IoMode::Buffered };
        Direct { file, bytes, mode }
    }

    /// Returns `true` if reads bypass the page cache.
    pub fn is_direct(&self) -> bool {
        self.mode == IoMode::Direct
    }

    fn file(&self) -> &File {
        self.file.file()
    }
}

impl Medium for Direct {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file().write_all_at(data, offset)
    }

    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        self.file().read_exact_at(data, offset)
    }

    fn settle(&mut self) -> io::Result<()> {
        self.file().sync_data()?;
        // Drops the whole file. With direct I/O the page cache holds nothing.
        Ok(fadvise(self.file.as_fd(), 0, None, Advice::DontNeed)?)
    }
}
