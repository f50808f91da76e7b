//! MPI-IO: files that the ranks of a job open together, or each rank alone.
//!
//! Unlike messages, calls of MPI-IO wait for other ranks inside the library. The I/O threads therefore make these
//! calls, never the thread that supervises the run: it must keep sending heartbeats. If a rank dies during such a
//! call, the others block in theirs until the launcher kills them.

use super::library::file_numbers::Modes;
use super::library::files::{Communicator, File, FileBlocks, FileCallError, FileLibrary, Place};
use super::library::{CallError, Library, Threads};
use crate::error::StartError;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A failed call of MPI-IO.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{function}: {reason}")]
pub struct MpiIoError {
    /// The MPI function that failed.
    pub function: &'static str,
    /// The library's own error text.
    pub reason: String,
    /// The closest errno value.
    pub errno: i32,
}

impl From<FileCallError> for MpiIoError {
    fn from(FileCallError { call: CallError { function, reason }, errno }: FileCallError) -> MpiIoError {
        // Some libraries append lines with source locations: join them into one line.
        MpiIoError { function, reason: reason.split_whitespace().collect::<Vec<_>>().join(" "), errno }
    }
}

fn invalid(function: &'static str, reason: &str) -> MpiIoError {
    MpiIoError { function, reason: reason.to_owned(), errno: libc::EINVAL }
}

/// Options for opening a file.
#[derive(Debug, Clone, Copy)]
pub struct MpiOpening<'a> {
    /// Path of the file. MPI-IO takes a prefix before a colon as the name of a file system type.
    pub path: &'a CStr,
    /// Number of ranks that open the file together, counted from rank 0; 1 is this rank alone.
    pub ranks: u32,
    /// Opens the file for reading.
    pub read: bool,
    /// Opens the file for writing.
    pub write: bool,
    /// Creates the file if it does not exist.
    pub create: bool,
    /// Fails if the file exists already.
    pub exclusive: bool,
    /// Hints to the library, by name.
    pub hints: &'a BTreeMap<String, String>,
    /// The rank's view of the file. `None` shows all bytes.
    pub view: Option<MpiBlocks>,
}

/// A rank's view of a file: equal blocks at a fixed stride, seen as contiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MpiBlocks {
    /// Offset of the first block, bytes.
    pub first: u64,
    /// Bytes of a record. A block consists of whole records.
    pub record: u64,
    /// Number of records in a block.
    pub records: u64,
    /// Distance between the starts of two blocks, bytes.
    pub stride: u64,
}

impl MpiBlocks {
    fn of_library(self) -> Option<FileBlocks> {
        Some(FileBlocks {
            first: self.first.try_into().ok()?,
            record: self.record.try_into().ok()?,
            records: self.records.try_into().ok()?,
            stride: self.stride.try_into().ok()?,
        })
    }
}

/// MPI-IO of an initialized library.
pub struct MpiIo {
    library: FileLibrary,
    size: u32,
    /// Communicators of the first N ranks, by N.
    communicators: Mutex<BTreeMap<u32, Communicator>>,
    /// Hints of each file opened since the last [`take_hints`](MpiIo::take_hints). `None` unless they are watched.
    hints: Mutex<Option<Vec<FileHints>>>,
}

/// Hints of a file, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHints {
    /// Hints that the caller gave.
    pub given: Vec<(String, String)>,
    /// Hints in effect, as the library reports them.
    pub taken: Vec<(String, String)>,
}

impl MpiIo {
    /// Opens MPI-IO of a library that serves `size` ranks.
    pub(super) fn start(library: &Library, threads: Threads, size: u32) -> Result<MpiIo, StartError> {
        // A single rank sends no heartbeats: its worker is the only thread that calls MPI.
        let least = if size > 1 { Threads::AtOnce } else { Threads::Several };
        if threads < least {
            return Err(StartError::Threads { library: super::short(&library.version) });
        }
        Ok(MpiIo { library: library.files()?, size, communicators: Mutex::default(), hints: Mutex::default() })
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the version of the MPI standard that the library implements.
    pub fn standard(&self) -> (i32, i32) {
        self.library.standard()
    }

    /// Starts recording the hints of each file that this process opens.
    pub fn watch_hints(&self) {
        self.kept_hints().get_or_insert_default();
    }

    /// Returns the hints of the files opened since the last call.
    pub fn take_hints(&self) -> Vec<FileHints> {
        self.kept_hints().as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn kept_hints(&self) -> MutexGuard<'_, Option<Vec<FileHints>>> {
        self.hints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prepares opening files with the first `ranks` ranks, so that no open pays for it. Each
    /// of these ranks calls this.
    ///
    /// # Errors
    /// Returns the library's error, if any.
    pub fn prepare(&self, ranks: u32) -> Result<(), MpiIoError> {
        self.communicator(ranks).map(drop)
    }

    fn communicator(&self, ranks: u32) -> Result<Communicator, MpiIoError> {
        match ranks {
            0 | 1 => return Ok(self.library.own()),
            all if all == self.size => return Ok(self.library.world()),
            _ => {}
        }
        let mut known = self.communicators.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(communicator) = known.get(&ranks) {
            return Ok(*communicator);
        }
        let invalid_count = || invalid("MPI_Comm_create_group", "there are fewer ranks");
        let count = i32::try_from(ranks).ok().filter(|_| ranks < self.size).ok_or_else(invalid_count)?;
        let made = self.library.first(count)?;
        known.insert(ranks, made);
        Ok(made)
    }

    /// Broadcasts the first rank's value to the first `ranks` ranks. Each of these ranks calls this.
    ///
    /// # Errors
    /// Returns the library's error, if any.
    pub fn broadcast_first(&self, ranks: u32, value: bool) -> Result<bool, MpiIoError> {
        Ok(self.library.broadcast_first(self.communicator(ranks)?, value)?)
    }

    /// Opens a file. Each rank that opens it calls this, and waits for the others.
    ///
    /// # Errors
    /// Returns the library's error, if any.
    pub fn open(&self, opening: &MpiOpening<'_>) -> Result<MpiFile, MpiIoError> {
        let by = self.communicator(opening.ranks)?;
        let text =
            |text: &String| CString::new(text.as_str()).map_err(|_| invalid("MPI_Info_set", "a hint has a zero"));
        let hints = opening.hints.iter().map(|(key, value)| Ok((text(key)?, text(value)?)));
        let hints: Vec<(CString, CString)> = hints.collect::<Result<_, MpiIoError>>()?;
        let MpiOpening { read, write, create, exclusive, .. } = *opening;
        let file = self.library.open(by, opening.path, Modes { read, write, create, exclusive }, &hints)?;
        let file = MpiFile { library: self.library, file };
        if let Some(kept) = self.kept_hints().as_mut() {
            let given = opening.hints.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            kept.push(FileHints { given, taken: self.library.hints(&file.file)? });
        }
        if let Some(view) = opening.view {
            let view = view.of_library().ok_or_else(|| invalid("MPI_File_set_view", "its blocks are too large"))?;
            file.library.view(&file.file, view)?;
        }
        Ok(file)
    }
}

/// An open file. Only [`close`](Self::close) closes it: closing waits for other ranks, and a drop cannot
/// know whether they will come.
pub struct MpiFile {
    library: FileLibrary,
    file: File,
}

impl MpiFile {
    /// Reads at an offset within the rank's view. With `together`, all ranks that opened the
    /// file make this call collectively.
    ///
    /// # Errors
    /// Returns the library's error, if any.
    pub fn read(&self, offset: u64, into: &mut [u8], together: bool) -> Result<u64, MpiIoError> {
        Ok(self.library.read(&self.file, Place::At(place(offset)?), into, together)?)
    }

    /// Writes, with the same arguments as [`read`](Self::read).
    ///
    /// # Errors
    /// Returns the library's error, if any.
    pub fn write(&self, offset: u64, from: &[u8], together: bool) -> Result<u64, MpiIoError> {
        Ok(self.library.write(&self.file, Place::At(place(offset)?), from, together)?)
    }

    /// Sets the rank's view of the file: records of `record` bytes, the first one at offset `first`, a new one every
    /// `stride` bytes. All ranks that opened the file must call this.
    ///
    /// # Errors
    /// Returns the library's error, if any.
    pub fn show_strided(&mut self, first: u64, record: u64, stride: u64) -> Result<(), MpiIoError> {
        let (Ok(record), Ok(stride)) = (record.try_into(), stride.try_into()) else {
            return Err(invalid("MPI_File_set_view", "its records are too large"));
        };
        Ok(self.library.show_strided(&mut self.file, place(first)?, record, stride)?)
    }

    /// Reads `records` of the records that [`show_strided`](Self::show_strided) set the view to. Each overwrites the
    /// one before it in `into`, which holds one record. Returns the number of bytes read.
    ///
    /// # Errors
    /// Returns the library's error, or an error if the buffer is not one record long.
    pub fn read_strided(&self, records: u64, into: &mut [u8], together: bool) -> Result<u64, MpiIoError> {
        Ok(self.library.read(&self.file, strided(records)?, into, together)?)
    }

    /// Writes `from`, which holds one record, to `records` of the records that [`show_strided`](Self::show_strided)
    /// set the view to. Returns the number of bytes written.
    ///
    /// # Errors
    /// Returns the library's error, or an error if the buffer is not one record long.
    pub fn write_strided(&self, records: u64, from: &[u8], together: bool) -> Result<u64, MpiIoError> {
        Ok(self.library.write(&self.file, strided(records)?, from, together)?)
    }

    /// Reserves space up to this length. Collective over the ranks that opened the file.
    ///
    /// # Errors
    /// Returns the library's error, if any.
    pub fn preallocate(&self, bytes: u64) -> Result<(), MpiIoError> {
        Ok(self.library.preallocate(&self.file, place(bytes)?)?)
    }

    /// Makes written data durable. Collective over the ranks that opened the file.
    ///
    /// # Errors
    /// Returns the library's error, if any.
    pub fn sync(&self) -> Result<(), MpiIoError> {
        Ok(self.library.sync(&self.file)?)
    }

    /// Closes the file. Collective over the ranks that opened it.
    ///
    /// # Errors
    /// Returns the library's error, if any.
    pub fn close(self) -> Result<(), MpiIoError> {
        Ok(self.library.close(self.file)?)
    }
}

fn place(offset: u64) -> Result<i64, MpiIoError> {
    i64::try_from(offset).map_err(|_| invalid("MPI_File_read_at", "the offset exceeds 63 bits"))
}

fn strided(records: u64) -> Result<Place, MpiIoError> {
    records.try_into().map(Place::Strided).map_err(|_| invalid("MPI_File_read_at", "more records than 31 bits count"))
}

/// MPI in a process that was started alone. Dropping it finalizes MPI, on the thread that started it.
pub struct Alone {
    mpi: super::Mpi,
    io: Arc<MpiIo>,
}

impl Alone {
    pub(super) fn new(mpi: super::Mpi) -> Result<Alone, StartError> {
        let io = Arc::new(mpi.io()?);
        Ok(Alone { mpi, io })
    }

    pub fn io(&self) -> &Arc<MpiIo> {
        &self.io
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        crate::Cluster::leave(&self.mpi, crate::Leave::Together);
    }
}
