//! A job whose files cannot be opened: it fails with an error message, and other jobs may continue.

use super::error::JobFilesError;
use crate::barrier::{Barrier, Body};
use crate::fault::FaultLog;
use crate::terms::Ended;
use plumb_workload::OpKind;
use std::path::PathBuf;

/// Effect of files that cannot be opened or laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unopened {
    /// Ends the run before it starts.
    #[default]
    EndsRun,
    /// Fails only the jobs that need the files. Other jobs run, and the result names the fault.
    FailsItsJobs,
}

/// The error of a job whose files cannot be opened.
#[derive(Debug, Clone)]
pub(crate) struct JobFault {
    path: PathBuf,
    errno: i32,
    message: String,
}

impl JobFault {
    pub(crate) fn from_error(error: &JobFilesError) -> JobFault {
        JobFault {
            path: error.path().map(PathBuf::from).unwrap_or_default(),
            errno: error.errno(),
            message: error.to_string(),
        }
    }

    /// Returns the body of a worker that only fails when its turn comes.
    pub(crate) fn body(self) -> Body {
        Box::new(move |barrier: &Barrier| Ok(self.fail(barrier)))
    }

    /// Fails after the barrier: the others start together, and none waits for this worker.
    pub(crate) fn fail(&self, barrier: &Barrier) -> Ended {
        match barrier.pass() {
            Some(mut passed) => {
                passed.stop_clock();
                passed.context.failed(OpKind::Open, &self.path, Some(self.errno), &self.message)
            }
            // Stopped before its turn. The error is still reported.
            None => {
                let mut faults = FaultLog::new(barrier.report());
                barrier.count_error();
                faults.keep(OpKind::Open, 0, 0, Some(self.errno), &self.path, &self.message);
                faults.fail(&self.message);
                Ended::Failed
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::barrier::{PhaseMemory, WorkerSpec};
    use crate::clock::Clock;
    use crate::plan::{GroupRun, WorkerRules};
    use plumb_workload::RunAs;
    use std::sync::Arc;

    // Protects error counts: a job that is stopped before its turn still counts as failed.
    #[test]
    fn a_failed_job_stopped_before_its_turn_is_counted() {
        let fault =
            JobFault { path: "/no/such".into(), errno: libc::ENOENT, message: "there is no such directory".into() };
        let memory = Arc::new(PhaseMemory::for_tests(Clock::best(), 1));
        let spec = WorkerSpec {
            name: "job".to_owned(),
            group: 0,
            depth: 1,
            cpu: None,
            rules: WorkerRules::default(),
            body: fault.clone().body(),
        };
        let barrier = Barrier::new(Arc::clone(&memory), 0, &spec, &GroupRun::default(), RunAs::Thread);
        memory.control.request_stop();
        assert_eq!(fault.fail(&barrier), Ended::Failed);
        assert_eq!(memory.cells.read()[0].errors, 1);
    }
}
