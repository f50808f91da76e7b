//! MPI-IO, as whoever has an MPI library offers it to workers.

use plumb_workload::program::OpenStep;
use std::ffi::CStr;

/// Why a call of MPI-IO failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpiIoError {
    /// MPI's function with the library's words.
    pub message: String,
    /// The closest number of the system's.
    pub errno: i32,
}

/// Opens files. Its callers are workers, one of each process; calls may wait for those of other processes.
pub trait MpiIo: Send + Sync {
    /// How many processes there are.
    fn ranks(&self) -> u32;

    /// Makes ready for files that the first `ranks` processes open together, each of which calls this.
    ///
    /// # Errors
    /// The library reports one.
    fn prepare(&self, ranks: u32) -> Result<(), MpiIoError>;

    /// What the first process says, to the first `ranks` of them, each of which calls this.
    ///
    /// # Errors
    /// The library reports one.
    fn of_first(&self, ranks: u32, says: bool) -> Result<bool, MpiIoError>;

    /// Opens a file as the step's `mpi` says and sets its view, together with the other processes. It writes nothing.
    ///
    /// # Errors
    /// The library reports one.
    fn open(&self, path: &CStr, step: &OpenStep) -> Result<Box<dyn MpiFile>, MpiIoError>;
}

/// A file that MPI-IO opened. `together`: all processes that opened it make the call, and each waits for the others.
pub trait MpiFile: Send {
    /// Reads at a place of what the process sees of the file; the bytes that were read.
    ///
    /// # Errors
    /// The library reports one.
    fn read(&mut self, offset: u64, into: &mut [u8], together: bool) -> Result<u64, MpiIoError>;

    /// Writes there; the bytes that were written.
    ///
    /// # Errors
    /// The library reports one.
    fn write(&mut self, offset: u64, from: &[u8], together: bool) -> Result<u64, MpiIoError>;

    /// Sets the view for strided calls: records of `record` bytes, the first one at offset `first`, a new one every `stride` bytes.
    /// All ranks that opened the file must call this.
    ///
    /// # Errors
    /// The library reports one.
    fn show_strided(&mut self, first: u64, record: u64, stride: u64) -> Result<(), MpiIoError>;

    /// Reads `records` records of the view. Each overwrites the one before it in `into`, which holds one record. Returns the bytes that
    /// were read.
    ///
    /// # Errors
    /// The library reports one.
    fn read_strided(&mut self, records: u64, into: &mut [u8], together: bool) -> Result<u64, MpiIoError>;

    /// Writes `from`, which holds one record, to `records` records of the view. Returns the bytes that were written.
    ///
    /// # Errors
    /// The library reports one.
    fn write_strided(&mut self, records: u64, from: &[u8], together: bool) -> Result<u64, MpiIoError>;

    /// Reserves space up to this length, together.
    ///
    /// # Errors
    /// The library reports one.
    fn preallocate(&mut self, bytes: u64) -> Result<(), MpiIoError>;

    /// Makes durable what was written, together.
    ///
    /// # Errors
    /// The library reports one.
    fn sync(&mut self) -> Result<(), MpiIoError>;

    /// Closes it, together.
    ///
    /// # Errors
    /// The library reports one.
    fn close(self: Box<Self>) -> Result<(), MpiIoError>;
}
