//! What a run needs of its surroundings.

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

/// What a run needs of its surroundings.
pub struct Setting<'a> {
    /// The directory below which test data is made.
    pub base: &'a Path,
    /// What may be overwritten.
    pub permissions: &'a Permissions,
    /// Set by a signal.
    pub stop: StopFlag,
    /// Where test directories are registered.
    pub test_dirs: &'a TestDirs,
    /// Files that were laid out by earlier runs of the same data, to be used again; every run has its own when absent.
    /// What is verified, trimmed or not written in full before the first phase is always a run's own.
    pub kept: Option<&'a KeptFiles>,
    /// Whether the whole page cache may be dropped to make files cold.
    pub drop_caches: DropCaches,
    /// Which run this is, for simulated devices.
    pub sim_run: SimRun,
    /// Debt of earlier runs of the comparison, for simulated devices.
    pub sim_debt: CarriedDebt,
    /// Different in every run, so that no two runs write the same bytes; ops do not depend on it.
    pub content_seed: u64,
    /// Opens the recordings of jobs that replay one.
    pub recordings: Option<&'static dyn Recordings>,
    /// Whom it ends when the files of a job cannot be obtained.
    pub unopened: Unopened,
    /// Receives a line when something that is not measured takes unexpectedly long.
    pub say: fn(&str),
    /// Hears at once what happens in copies.
    pub copy_listener: Option<SharedListener>,
    /// Which workers this process runs.
    pub part: Part,
    /// The processes that run the other workers; `None` where this one runs all.
    pub others: Option<Arc<dyn OtherProcesses>>,
    /// Connects network work; `None` where there is none.
    pub net: Option<&'static dyn NetProtocol>,
    /// Opens the files of programs that want MPI-IO; `None` where no MPI library was started.
    pub mpi_io: Option<Arc<dyn MpiIo>>,
}

/// A stream for content: the workload's, but different in every run.
pub(crate) fn content_stream(workload: &Workload, setting: &Setting<'_>, phase: u32, worker: u32) -> StreamId {
    StreamId { seed: workload.seed ^ setting.content_seed, phase, worker }
}
