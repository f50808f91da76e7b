//! Options that every run passes to the engine.

use crate::evidence::Evidence;
use crate::work::Work;
use plumb_engine::copy::SharedListener;
use plumb_engine::guard::Permissions;
use plumb_engine::net::NetProtocol;
use plumb_engine::signals::StopFlag;
use plumb_engine::testdir::TestDirs;
use plumb_engine::trace::Recordings;
use plumb_engine::{DropCaches, EngineError, KeptFiles, MpiIo, Setting, Unopened};
use plumb_result::Measurement;
use std::sync::Arc;

/// Options that every run of a process passes to the engine.
pub struct EngineOptions {
    /// Files and devices that may be overwritten.
    pub permissions: Permissions,
    /// Registry of test directories.
    pub test_dirs: TestDirs,
    /// Whether the whole page cache may be dropped to make files cold.
    pub drop_caches: DropCaches,
    /// While set, runs share these files, each laid out once.
    pub kept: Option<KeptFiles>,
    /// Opens the recordings of jobs that replay one.
    pub recordings: Option<&'static dyn Recordings>,
    /// Connects network work.
    pub net: Option<&'static dyn NetProtocol>,
    /// Whether a job or the whole run ends if files of the job cannot be opened.
    pub unopened: Unopened,
    /// Receives a line when something unmeasured takes unexpectedly long.
    pub say: fn(&str),
    /// Receives events of copies immediately.
    pub copy_listener: Option<SharedListener>,
    /// MPI-IO of a process that runs alone; ranks use the library that connects them.
    pub mpi_io: Option<Arc<dyn MpiIo>>,
}

impl EngineOptions {
    pub(super) fn new(permissions: Permissions, test_dirs: TestDirs) -> EngineOptions {
        EngineOptions {
            permissions,
            test_dirs,
            drop_caches: DropCaches::Never,
            kept: None,
            recordings: None,
            net: None,
            unopened: Unopened::EndsRun,
            say: |_| {},
            copy_listener: None,
            mpi_io: None,
        }
    }

    /// Runs this process's part of a workload.
    pub(super) fn measure(
        &self,
        work: Work<'_>,
        stop: StopFlag,
        evidence: &mut Evidence<'_>,
    ) -> Result<Measurement, EngineError> {
        let setting = Setting {
            base: work.base,
            permissions: &self.permissions,
            stop,
            test_dirs: &self.test_dirs,
            kept: self.kept.as_ref(),
            drop_caches: self.drop_caches,
            sim_run: work.sim_run,
            sim_debt: work.sim_debt,
            content_seed: work.content_seed,
            recordings: self.recordings,
            net: self.net,
            unopened: self.unopened,
            say: self.say,
            copy_listener: self.copy_listener.clone(),
            part: work.part,
            others: evidence.others(),
            mpi_io: self.mpi_io.clone().or_else(|| evidence.mpi_io()),
        };
        plumb_engine::run(work.workload, &setting, evidence)
    }
}
