//! The outcome of a run, or the error that left it without a result.

use crate::not_stored::NotStored;
use plumb_cluster::ClusterError;
use plumb_engine::EngineError;
use plumb_engine::guard::Refusal;
use plumb_result::{Measurement, Observations, RunResult};
use plumb_trust::HostEvidence;
use plumb_workload_text::validate::Problem;
use std::time::Duration;

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    /// The result, as stored.
    pub result: RunResult,
    pub measurement: Measurement,
    /// Observations of the probe.
    pub observations: Observations,
    /// Measurements and observations of each host, if this process only led them.
    pub hosts: Vec<HostEvidence>,
    /// Set if the store does not hold the result: the reason, and the file that does. The result is still valid.
    pub not_stored: Option<NotStored>,
}

impl RunOutcome {
    /// Returns the total time of the run's phases on their own clock, which is virtual for simulated devices.
    pub fn simulated(&self) -> Duration {
        self.result.phases.iter().map(|phase| Duration::from_nanos(phase.wall_ns)).sum()
    }
}

/// The reason why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The workload is invalid.
    #[error("{}", problems(.0))]
    Workload(Vec<Problem>),
    /// A size depends on the free space, which cannot be read.
    #[error(
        "target `{target}`: its size depends on the file system's free space, which cannot be seen: {reason}; give a size in bytes"
    )]
    Size { target: String, reason: String },
    /// Several ranks cannot use a target at once.
    #[error(
        "target `{target}`: its files would be the same for every rank, and each would remove those of the others; run it with one rank"
    )]
    OfSeveralRanks { target: String },
    /// The number of copies of a recording is not a multiple of the number of ranks.
    #[error(
        "{clones} copies of the recording cannot be shared by {ranks} ranks; use a multiple of {ranks} (--clones), or one: ranks then share its threads"
    )]
    ClonesOfRanks { clones: u32, ranks: u32 },
    /// Another rank could not go on, before anything was measured.
    #[error("{0}")]
    EndedByRank(String),
    /// The other ranks are unreachable.
    #[error(transparent)]
    Ranks(#[from] ClusterError),
    /// The engine could not run the workload.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// An error ended the run after some of its phases. Their measurements are stored, and are in `outcome`.
    #[error("{error}; the phases before it are kept")]
    EndedEarly {
        error: String,
        /// Measurements up to the error.
        outcome: Box<RunOutcome>,
    },
}

fn problems(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The class of a failure, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The command or its workload is wrong.
    Plan,
    /// The system failed.
    Io,
    /// The write guard refused.
    Refused,
}

impl RunError {
    /// Returns the class of the failure.
    pub fn failure(&self) -> FailureKind {
        match self {
            RunError::Workload(_)
            | RunError::Size { .. }
            | RunError::OfSeveralRanks { .. }
            | RunError::ClonesOfRanks { .. } => FailureKind::Plan,
            RunError::Engine(error) if error.refusal().is_some_and(|refusal| refusal.exit_code() == 5) => {
                FailureKind::Refused
            }
            RunError::Engine(error) if error.is_plan() => FailureKind::Plan,
            RunError::Engine(_) | RunError::EndedByRank(_) | RunError::Ranks(_) | RunError::EndedEarly { .. } => {
                FailureKind::Io
            }
        }
    }

    /// Returns the refusal if the write guard refused.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            RunError::Engine(error) => error.refusal(),
            _ => None,
        }
    }
}
