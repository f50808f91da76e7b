//! MPI-IO: files that the ranks of a job open together, or each by itself.
//!
//! Unlike messages, calls of MPI-IO wait for other ranks inside of the library. They are therefore made by the threads that do the
//! I/O, and never by the one that looks after the run: it goes on sending signs of life. Where a rank dies within such a call, the
//! others wait in theirs until the launcher ends them.

use super::library::file_numbers::Modes;
use super::library::files::{Communicator, File, FileBlocks, FileCallError, FileLibrary, Place};
use super::library::{CallError, Library, Threads};
use crate::error::StartError;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What failed in a call of MPI-IO.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{function}: {reason}")]
pub struct MpiIoError {
    /// MPI's function.
    pub function: &'static str,
    /// In the library's words.
    pub reason: String,
    /// The closest number of the system's.
    pub errno: i32,
}

impl From<FileCallError> for MpiIoError {
    fn from(FileCallError { call: CallError { function, reason }, errno }: FileCallError) -> MpiIoError {
        // Some libraries add lines of where in their source it happened.
        MpiIoError { function, reason: reason.split_whitespace().collect::<Vec<_>>().join(" "), errno }
    }
}

fn invalid(function: &'static str, reason: &str) -> MpiIoError {
    MpiIoError { function, reason: reason.to_owned(), errno: libc::EINVAL }
}

/// A file to open.
#[derive(Debug, Clone, Copy)]
pub struct MpiOpening<'a> {
    /// Its path. What stands before a colon in it is no path to MPI-IO, but the name of a kind of file system.
    pub path: &'a CStr,
    /// How many ranks open it together, the first ones; 1 is this rank alone.
    pub ranks: u32,
    /// It is read from.
    pub read: bool,
    /// It is written to.
    pub write: bool,
    /// It is made where it is not there.
    pub create: bool,
    /// It must not be there.
    pub exclusive: bool,
    /// Hints to the library, by name.
    pub hints: &'a BTreeMap<String, String>,
    /// What the rank sees of it.
    pub view: Option<MpiBlocks>,
}

/// What a rank sees of a file: equal blocks, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MpiBlocks {
    /// Where the first one lies, bytes.
    pub first: u64,
    /// Bytes of a record. A block consists of whole records.
    pub record: u64,
    /// Records of a block.
    pub records: u64,
    /// From a block to the next, bytes.
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

/// MPI-IO of a library that was started.
pub struct MpiIo {
    library: FileLibrary,
    size: u32,
    /// Of the first ranks, by how many.
    communicators: Mutex<BTreeMap<u32, Communicator>>,
    /// Those of each file that was opened since they were last taken, where somebody wants them.
    hints: Mutex<Option<Vec<FileHints>>>,
}

/// The hints of a file, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHints {
    /// Those that were given.
    pub given: Vec<(String, String)>,
    /// Those that the library says it has.
    pub taken: Vec<(String, String)>,
}

impl MpiIo {
    /// Of a library that serves `size` ranks.
    pub(super) fn of(library: &Library, threads: Threads, size: u32) -> Result<MpiIo, StartError> {
        // A rank that is alone sends no signs of life: its worker is the only one that calls MPI.
        let least = if size > 1 { Threads::AtOnce } else { Threads::Several };
        if threads < least {
            return Err(StartError::Threads { library: super::short(&library.version) });
        }
        Ok(MpiIo { library: library.files()?, size, communicators: Mutex::default(), hints: Mutex::default() })
    }

    /// How many ranks there are.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The version of the MPI standard that the library follows.
    pub fn standard(&self) -> (i32, i32) {
        self.library.standard()
    }

    /// From now on, keeps the hints of each file that this process opens.
    pub fn watch_hints(&self) {
        self.kept_hints().get_or_insert_default();
    }

    /// Those of the files that were opened since this was last asked.
    pub fn take_hints(&self) -> Vec<FileHints> {
        self.kept_hints().as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn kept_hints(&self) -> MutexGuard<'_, Option<Vec<FileHints>>> {
        self.hints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes ready to open files with the first `ranks` ranks, each of which calls this, so that no open takes the time for it.
    ///
    /// # Errors
    /// The library reports one.
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
        let wrong = || invalid("MPI_Comm_create_group", "there are fewer ranks");
        let count = i32::try_from(ranks).ok().filter(|_| ranks < self.size).ok_or_else(wrong)?;
        let made = self.library.first(count)?;
        known.insert(ranks, made);
        Ok(made)
    }

    /// What the first rank says, to the first `ranks` of them, each of which calls this.
    ///
    /// # Errors
    /// The library reports one.
    pub fn of_first(&self, ranks: u32, says: bool) -> Result<bool, MpiIoError> {
        Ok(self.library.of_first(self.communicator(ranks)?, says)?)
    }

    /// Opens a file. Each of its ranks calls this, and waits for the others.
    ///
    /// # Errors
    /// The library reports one.
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

/// An open file. It is closed by [`close`](Self::close) only: closing waits for other ranks, and whoever drops it says nothing of
/// whether they come.
pub struct MpiFile {
    library: FileLibrary,
    file: File,
}

impl MpiFile {
    /// Reads at a place of what the rank sees. `together`: with the other ranks that opened it, each of which reads.
    ///
    /// # Errors
    /// The library reports one.
    pub fn read(&self, offset: u64, into: &mut [u8], together: bool) -> Result<u64, MpiIoError> {
        Ok(self.library.read(&self.file, Place::At(place(offset)?), into, together)?)
    }

    /// Writes, as [`read`](Self::read) reads.
    ///
    /// # Errors
    /// The library reports one.
    pub fn write(&self, offset: u64, from: &[u8], together: bool) -> Result<u64, MpiIoError> {
        Ok(self.library.write(&self.file, Place::At(place(offset)?), from, together)?)
    }

    /// Sets the rank's view of the file: records of `record` bytes, the first one at offset `first`, a new one every `stride` bytes.
    /// All ranks that opened the file must call this.
    ///
    /// # Errors
    /// The library reports one.
    pub fn show_strided(&mut self, first: u64, record: u64, stride: u64) -> Result<(), MpiIoError> {
        let (Ok(record), Ok(stride)) = (record.try_into(), stride.try_into()) else {
            return Err(invalid("MPI_File_set_view", "its records are too large"));
        };
        Ok(self.library.show_strided(&mut self.file, place(first)?, record, stride)?)
    }

    /// Reads `records` of the records that [`show_strided`](Self::show_strided) set the view to. Each overwrites the one before it in
    /// `into`, which holds one record. Returns the bytes that were read.
    ///
    /// # Errors
    /// The library reports one, or the memory is not of a record's length.
    pub fn read_strided(&self, records: u64, into: &mut [u8], together: bool) -> Result<u64, MpiIoError> {
        Ok(self.library.read(&self.file, strided(records)?, into, together)?)
    }

    /// Writes `from`, which holds one record, to `records` of the records that [`show_strided`](Self::show_strided) set the view to.
    /// Returns the bytes that were written.
    ///
    /// # Errors
    /// The library reports one, or the memory is not of a record's length.
    pub fn write_strided(&self, records: u64, from: &[u8], together: bool) -> Result<u64, MpiIoError> {
        Ok(self.library.write(&self.file, strided(records)?, from, together)?)
    }

    /// Reserves space up to this length, with the other ranks that opened it.
    ///
    /// # Errors
    /// The library reports one.
    pub fn preallocate(&self, bytes: u64) -> Result<(), MpiIoError> {
        Ok(self.library.preallocate(&self.file, place(bytes)?)?)
    }

    /// Makes durable what was written, with the other ranks that opened it.
    ///
    /// # Errors
    /// The library reports one.
    pub fn sync(&self) -> Result<(), MpiIoError> {
        Ok(self.library.sync(&self.file)?)
    }

    /// Closes it, with the other ranks that opened it.
    ///
    /// # Errors
    /// The library reports one.
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

/// MPI of a process that was started alone. MPI ends with it, in the thread that started it.
pub struct Alone {
    mpi: super::Mpi,
    io: Arc<MpiIo>,
}

impl Alone {
    pub(super) fn of(mpi: super::Mpi) -> Result<Alone, StartError> {
        let io = Arc::new(mpi.io()?);
        Ok(Alone { mpi, io })
    }

    /// Its MPI-IO.
    pub fn io(&self) -> &Arc<MpiIo> {
        &self.io
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        crate::Cluster::leave(&self.mpi, crate::Leave::Together);
    }
}
