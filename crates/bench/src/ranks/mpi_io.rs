//! MPI-IO of the library that started the ranks, or of a process that runs alone, for the engine's workers.

use plumb_cluster::mpi::{MpiBlocks, MpiFile, MpiIo, MpiIoError, MpiOpening};
use plumb_engine::MpiIoError as EngineError;
use plumb_workload::program::OpenStep;
use std::ffi::CStr;
use std::sync::Arc;

/// The error number of `errno.h`.
const EINVAL: i32 = 22;

/// Adapts a library's MPI-IO to the engine's trait.
struct OfLibrary(Arc<MpiIo>);

/// A file opened by the library.
struct Opened(MpiFile);

/// Returns the MPI-IO that the engine's workers open files with.
pub fn mpi_io_of(library: &Arc<MpiIo>) -> Arc<dyn plumb_engine::MpiIo> {
    Arc::new(OfLibrary(Arc::clone(library)))
}

fn engine_error(error: MpiIoError) -> EngineError {
    EngineError { message: error.to_string(), errno: error.errno }
}

impl plumb_engine::MpiIo for OfLibrary {
    fn ranks(&self) -> u32 {
        self.0.size()
    }

    fn prepare(&self, ranks: u32) -> Result<(), EngineError> {
        self.0.prepare(ranks).map_err(engine_error)
    }

    fn broadcast_first(&self, ranks: u32, says: bool) -> Result<bool, EngineError> {
        self.0.broadcast_first(ranks, says).map_err(engine_error)
    }

    fn open(&self, path: &CStr, step: &OpenStep) -> Result<Box<dyn plumb_engine::MpiFile>, EngineError> {
        let Some(mpi) = &step.mpi else {
            return Err(EngineError { message: "the step asks for no MPI-IO".to_owned(), errno: EINVAL });
        };
        let view = mpi.view.map(|view| MpiBlocks {
            first: view.first.0,
            record: view.record.0,
            records: view.block.0 / view.record.0.max(1),
            stride: view.stride.0,
        });
        let opening = MpiOpening {
            path,
            ranks: mpi.ranks,
            read: step.read,
            write: step.write,
            create: step.create,
            exclusive: step.exclusive,
            hints: &mpi.hints,
            view,
        };
        Ok(Box::new(Opened(self.0.open(&opening).map_err(engine_error)?)))
    }
}

impl plumb_engine::MpiFile for Opened {
    fn read(&mut self, offset: u64, into: &mut [u8], together: bool) -> Result<u64, EngineError> {
        self.0.read(offset, into, together).map_err(engine_error)
    }

    fn write(&mut self, offset: u64, from: &[u8], together: bool) -> Result<u64, EngineError> {
        self.0.write(offset, from, together).map_err(engine_error)
    }

    fn show_strided(&mut self, first: u64, record: u64, stride: u64) -> Result<(), EngineError> {
        self.0.show_strided(first, record, stride).map_err(engine_error)
    }

    fn read_strided(&mut self, records: u64, into: &mut [u8], together: bool) -> Result<u64, EngineError> {
        self.0.read_strided(records, into, together).map_err(engine_error)
    }

    fn write_strided(&mut self, records: u64, from: &[u8], together: bool) -> Result<u64, EngineError> {
        self.0.write_strided(records, from, together).map_err(engine_error)
    }

    fn preallocate(&mut self, bytes: u64) -> Result<(), EngineError> {
        self.0.preallocate(bytes).map_err(engine_error)
    }

    fn sync(&mut self) -> Result<(), EngineError> {
        self.0.sync().map_err(engine_error)
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        self.0.close().map_err(engine_error)
    }
}
