//! MPI-IO for workers, provided by a caller that has an MPI library.

use plumb_workload::program::OpenStep;
use std::ffi::CStr;

/// Error from a call of MPI-IO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpiIoError {
    /// Name of the MPI function, with the library's message.
    pub message: String,
    /// The closest system error number.
    pub errno: i32,
}

/// Opens files with MPI-IO. The callers are workers, one per process. Calls may wait for those of other processes.
pub trait MpiIo: Send + Sync {
    /// Returns the number of processes.
    fn ranks(&self) -> u32;

    /// Prepares for files that the first `ranks` processes open together. Each of them calls this.
    ///
    /// # Errors
    /// The library reports an error.
    fn prepare(&self, ranks: u32) -> Result<(), MpiIoError>;

    /// Broadcasts the first process's value of `says` to the first `ranks` processes. Each of them calls this.
    ///
    /// # Errors
    /// The library reports an error.
    fn broadcast_first(&self, ranks: u32, says: bool) -> Result<bool, MpiIoError>;

    /// Opens a file by the rules of the step's `mpi` and sets its view, together with
    /// the other processes. Writes nothing.
    ///
    /// # Errors
    /// The library reports an error.
    fn open(&self, path: &CStr, step: &OpenStep) -> Result<Box<dyn MpiFile>, MpiIoError>;
}

/// A file opened by MPI-IO. With `together`, a call is collective: all processes that opened the file make it
/// and wait for each other.
pub trait MpiFile: Send {
    /// Reads at an offset of the process's view of the file. Returns the number of bytes read.
    ///
    /// # Errors
    /// The library reports an error.
    fn read(&mut self, offset: u64, into: &mut [u8], together: bool) -> Result<u64, MpiIoError>;

    /// Writes at an offset of the process's view. Returns the number of bytes written.
    ///
    /// # Errors
    /// The library reports an error.
    fn write(&mut self, offset: u64, from: &[u8], together: bool) -> Result<u64, MpiIoError>;

    /// Sets the view for strided calls: records of `record` bytes, the first one at offset `first`, a new one every
    /// `stride` bytes. All ranks that opened the file must call this.
    ///
    /// # Errors
    /// The library reports an error.
    fn show_strided(&mut self, first: u64, record: u64, stride: u64) -> Result<(), MpiIoError>;

    /// Reads `records` records of the view. Each overwrites the one before it in `into`, which holds one record.
    /// Returns the number of bytes read.
    ///
    /// # Errors
    /// The library reports an error.
    fn read_strided(&mut self, records: u64, into: &mut [u8], together: bool) -> Result<u64, MpiIoError>;

    /// Writes `from`, which holds one record, to `records` records of the view. Returns the number of bytes written.
    ///
    /// # Errors
    /// The library reports an error.
    fn write_strided(&mut self, records: u64, from: &[u8], together: bool) -> Result<u64, MpiIoError>;

    /// Reserves space up to `bytes`. Collective.
    ///
    /// # Errors
    /// The library reports an error.
    fn preallocate(&mut self, bytes: u64) -> Result<(), MpiIoError>;

    /// Makes written data durable. Collective.
    ///
    /// # Errors
    /// The library reports an error.
    fn sync(&mut self) -> Result<(), MpiIoError>;

    /// Closes the file. Collective.
    ///
    /// # Errors
    /// The library reports an error.
    fn close(self: Box<Self>) -> Result<(), MpiIoError>;
}
