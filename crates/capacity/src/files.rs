//! Files that fill a file system up to its reserve and act as one range of bytes.

use crate::medium::{Direct, Medium};
use crate::{BLOCK_BYTES, TRANSFER_BYTES};
use plumb_guard::space::{InMemory, Space};
use plumb_guard::testdir::TestDir;
use plumb_guard::{FileOpening, Guard, Intent, IoMode, Refusal, size_in_mib};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// File systems such as FAT cannot hold files of 4 GiB.
const FILE_BYTES: u64 = 1 << 30;

/// The part of a file system that is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Covered {
    /// Total size of the files, in bytes.
    pub bytes: u64,
    /// Size of the file system, in bytes.
    pub of_bytes: u64,
}

/// Error from preparing the test files.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The write guard refused the directory.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The free space cannot be determined.
    #[error("cannot read how much of {path} is free: {source}")]
    Space { path: PathBuf, source: io::Error },
    /// The file system keeps its files in memory.
    #[error("{path} is on {kind}, whose files are in memory: there is no device to check")]
    InMemory {
        path: PathBuf,
        /// Name of the file system type.
        kind: &'static str,
    },
    /// The free space does not exceed the reserve.
    #[error("{path} has no room for test data: {} are free, of which {} stay free", size_in_mib(*free_bytes), size_in_mib(*reserve_bytes))]
    Full {
        path: PathBuf,
        /// Free space, in bytes.
        free_bytes: u64,
        /// Bytes that must stay free.
        reserve_bytes: u64,
    },
}

/// Files of a check, inside a test directory.
#[derive(Debug)]
pub struct Files {
    files: Vec<Direct>,
    covered: Covered,
}

impl Files {
    /// Creates the files, still empty, as large as the reserve allows.
    ///
    /// # Errors
    /// Returns a [`FilesError`].
    pub fn make(guard: &Guard, directory: &TestDir) -> Result<Files, FilesError> {
        let path = directory.path();
        let unread = |source: io::Error| FilesError::Space { path: path.to_owned(), source };
        let opened = File::open(path).map_err(unread)?;
        if let Some(kind) = InMemory::detect(&opened).map_err(|error| unread(error.into()))? {
            return Err(FilesError::InMemory { path: path.to_owned(), kind: kind.name() });
        }
        let space = Space::read(&opened).map_err(|error| unread(error.into()))?;
        let space = space.ok_or_else(|| unread(io::ErrorKind::Unsupported.into()))?;
        // The map of allocated blocks takes space too.
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

    /// Returns the part of the file system that the files cover.
    pub fn covered(&self) -> Covered {
        self.covered
    }

    /// Returns `true` if reads bypass the page cache.
    pub fn are_direct(&self) -> bool {
        self.files.iter().all(Direct::is_direct)
    }

    /// Returns the file that holds an offset, and the offset in it. Transfers do not cross files: both
    /// are multiples of 1 MiB.
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
