//! Environment of a run.

use crate::copy::SharedListener;
use crate::files::failed::Unopened;
use crate::guard::Permissions;
use crate::kept_files::KeptFiles;
use crate::mpi_io::MpiIo;
use crate::net::NetProtocol;
use crate::others::OtherProcesses;
use crate::plan::Part;
use crate::prepare::DropCaches;
use crate::rng::StreamId;
use crate::signals::StopFlag;
use crate::sim::{CarriedDebt, SimRun};
use crate::source::trace::Recordings;
use crate::testdir::TestDirs;
use plumb_workload::Workload;
use std::path::Path;
use std::sync::Arc;

/// Environment of a run: directories, permissions, callbacks and other processes.
pub struct Setting<'a> {
    /// Directory in which test data is created.
    pub base: &'a Path,
    /// Permissions to overwrite existing data.
    pub permissions: &'a Permissions,
    /// Raised by a signal.
    pub stop: StopFlag,
    /// Registers test directories.
    pub test_dirs: &'a TestDirs,
    /// Files of earlier runs with the same data, for reuse; `None` makes every run lay out its own. Data that is
    /// verified, trimmed or not fully written before the first phase is never reused.
    pub kept: Option<&'a KeptFiles>,
    /// Whether the whole page cache may be dropped to make files cold.
    pub drop_caches: DropCaches,
    /// Identifies this run for simulated devices.
    pub sim_run: SimRun,
    /// State of simulated devices left by earlier runs of the comparison.
    pub sim_debt: CarriedDebt,
    /// Differs in every run, so that no two runs write the same bytes. Ops do not depend on it.
    pub content_seed: u64,
    /// Opens the recordings that jobs replay.
    pub recordings: Option<&'static dyn Recordings>,
    /// Whether the run or only the job ends when a job's files cannot be opened.
    pub unopened: Unopened,
    /// Receives a line if an unmeasured step takes unexpectedly long.
    pub say: fn(&str),
    /// Receives events of copies as they happen.
    pub copy_listener: Option<SharedListener>,
    /// The workers that this process runs.
    pub part: Part,
    /// The processes that run the other workers; `None` if this process runs all.
    pub others: Option<Arc<dyn OtherProcesses>>,
    /// Creates connections for network loads; `None` if the command has none.
    pub net: Option<&'static dyn NetProtocol>,
    /// Opens files for programs that use MPI-IO; `None` if no MPI library was started.
    pub mpi_io: Option<Arc<dyn MpiIo>>,
}

/// Returns a random stream for content. It depends on the workload's seed, but differs in every run.
pub(crate) fn content_stream(workload: &Workload, setting: &Setting<'_>, phase: u32, worker: u32) -> StreamId {
    StreamId { seed: workload.seed ^ setting.content_seed, phase, worker }
}
