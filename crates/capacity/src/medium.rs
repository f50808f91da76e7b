//! What is checked: a range of bytes that can be written and read.

use plumb_guard::{GuardedFile, IoMode};
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

/// Storage that claims a size.
pub trait Medium {
    /// What it claims, in bytes.
    fn bytes(&self) -> u64;

    /// Writes at an offset. Offset and length are multiples of [`crate::BLOCK_BYTES`].
    ///
    /// # Errors
    /// Those of the system.
    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// Reads at an offset.
    ///
    /// # Errors
    /// Those of the system; data that ends early.
    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<()>;

    /// Makes durable what was written, and forgets what this machine's memory keeps of it.
    ///
    /// # Errors
    /// Those of the system.
    fn settle(&mut self) -> io::Result<()>;
}

/// An open file or device that passed the guard, around the page cache where the file system can.
#[derive(Debug)]
pub struct Direct {
    file: GuardedFile,
    bytes: u64,
    mode: IoMode,
}

impl Direct {
    /// It claims `bytes`.
    pub fn new(file: GuardedFile, bytes: u64) -> Direct {
        let mode = if file.set_mode(IoMode::Direct).is_ok() { IoMode::Direct } else { IoMode::Buffered };
        Direct { file, bytes, mode }
    }

    /// Whether reads go around the page cache.
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
        // All of the file. Where the page cache is gone around, there is nothing in it.
        Ok(fadvise(self.file.as_fd(), 0, None, Advice::DontNeed)?)
    }
}
