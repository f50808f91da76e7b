//! Files that fill a file system as far as its reserve allows, as one range of bytes.

use crate::medium::{Direct, Medium};
use crate::{BLOCK_BYTES, TRANSFER_BYTES};
use plumb_guard::space::{InMemory, Space};
use plumb_guard::testdir::TestDir;
use plumb_guard::{FileOpening, Guard, Intent, IoMode, Refusal, size_in_mib};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// File systems such as FAT hold no files of 4 GiB.
const FILE_BYTES: u64 = 1 << 30;

/// How much of a file system is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Covered {
    /// In the files, in bytes.
    pub bytes: u64,
    /// The file system's size, in bytes.
    pub of_bytes: u64,
}

/// Why nothing can be checked there.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The write guard refuses.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Its free space cannot be read.
    #[error("cannot read how much of {path} is free: {source}")]
    Space {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Its files live in memory.
    #[error("{path} is on {kind}, whose files are in memory: there is no device to check")]
    InMemory {
        /// The directory.
        path: PathBuf,
        /// The kind of file system.
        kind: &'static str,
    },
    /// There is no room.
    #[error("{path} has no room for test data: {} are free, of which {} stay free", size_in_mib(*free_bytes), size_in_mib(*reserve_bytes))]
    Full {
        /// The directory.
        path: PathBuf,
        /// Free bytes.
        free_bytes: u64,
        /// Those that no test may take.
        reserve_bytes: u64,
    },
}

/// The files of a check, in a test directory.
#[derive(Debug)]
pub struct Files {
    files: Vec<Direct>,
    covered: Covered,
}

impl Files {
    /// Makes them, as large as the reserve allows, and empty still.
    ///
    /// # Errors
    /// [`FilesError`].
    pub fn make(guard: &Guard, directory: &TestDir) -> Result<Files, FilesError> {
        let path = directory.path();
        let unread = |source: io::Error| FilesError::Space { path: path.to_owned(), source };
        let opened = File::open(path).map_err(unread)?;
        if let Some(kind) = InMemory::of(&opened).map_err(|error| unread(error.into()))? {
            return Err(FilesError::InMemory { path: path.to_owned(), kind: kind.name() });
        }
        let space = Space::of(&opened).map_err(|error| unread(error.into()))?;
        let space = space.ok_or_else(|| unread(io::ErrorKind::Unsupported.into()))?;
        // Where blocks lie is written as well.
        let usable = space.headroom_bytes() / 256 * 255 / TRANSFER_BYTES * TRANSFER_BYTES;
        if usable == 0 {
            let (free_bytes, reserve_bytes) = (space.free_bytes, space.floor_bytes());
            return Err(FilesError::Full { path: path.to_owned(), free_bytes, reserve_bytes });
        }
        let mut files = Vec::new();
        for (number, from) in (0..usable).step_by(FILE_BYTES as usize).enumerate() {
            let bytes = FILE_BYTES.min(usable - from);
            let opening = FileOpening { intent: Intent::Truncate, mode: IoMode::Buffered, needed_bytes: usable - from };
            let file = guard.open_in(directory, Path::new(&number.to_string()), opening)?;
            files.push(Direct::new(file, bytes));
        }
        Ok(Files { files, covered: Covered { bytes: usable, of_bytes: space.size_bytes } })
    }

    /// How much they cover.
    pub fn covered(&self) -> Covered {
        self.covered
    }

    /// Whether reads go around the page cache.
    pub fn are_direct(&self) -> bool {
        self.files.iter().all(Direct::is_direct)
    }

    /// The file of an offset, and the offset in it. Transfers do not cross files: both are multiples of 1 MiB.
    fn file_of(&mut self, offset: u64) -> io::Result<(&mut Direct, u64)> {
        let number = (offset / FILE_BYTES) as usize;
        let file = self.files.get_mut(number).ok_or(io::ErrorKind::InvalidInput)?;
        Ok((file, offset % FILE_BYTES))
    }
}

impl Medium for Files {
    fn bytes(&self) -> u64 {
        self.covered.bytes / BLOCK_BYTES * BLOCK_BYTES
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let (file, offset) = self.file_of(offset)?;
        file.write(offset, data)
    }

    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        let (file, offset) = self.file_of(offset)?;
        file.read(offset, data)
    }

    fn settle(&mut self) -> io::Result<()> {
        self.files.iter_mut().try_for_each(Direct::settle)
    }
}
