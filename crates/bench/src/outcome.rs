//! What a run came to, or why it has no result.

use crate::not_stored::NotStored;
use plumb_cluster::ClusterError;
use plumb_engine::EngineError;
use plumb_engine::guard::Refusal;
use plumb_result::{Measurement, Observations, RunResult};
use plumb_trust::HostEvidence;
use plumb_workload_text::validate::Problem;
use std::time::Duration;

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    /// The result, as stored.
    pub result: RunResult,
    /// What the engine measured.
    pub measurement: Measurement,
    /// What the probe saw.
    pub observations: Observations,
    /// What each host measured and saw, where this process only led them.
    pub hosts: Vec<HostEvidence>,
    /// Why the store does not hold it, and which file does, where that is so. The result is good all the same.
    pub not_stored: Option<NotStored>,
}

impl RunOutcome {
    /// Time of its phases on their own clock, which is that of simulated devices.
    pub fn simulated(&self) -> Duration {
        self.result.phases.iter().map(|phase| Duration::from_nanos(phase.wall_ns)).sum()
    }
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The workload does not hold together.
    #[error("{}", problems(.0))]
    Workload(Vec<Problem>),
    /// A size depends on what could not be seen.
    #[error(
        "target `{target}`: its size depends on the file system's free space, which cannot be seen: {reason}; give a size in bytes"
    )]
    Size {
        /// The target.
        target: String,
        /// Why.
        reason: String,
    },
    /// A target that several ranks cannot use at once.
    #[error(
        "target `{target}`: its files would be the same for every rank, and each would remove those of the others; run it with one rank"
    )]
    OfSeveralRanks {
        /// The target.
        target: String,
    },
    /// Copies of a recording that ranks cannot have as many of each.
    #[error(
        "{clones} copies of the recording cannot be shared by {ranks} ranks; use a multiple of {ranks} (--clones), or one: ranks then share its threads"
    )]
    ClonesOfRanks {
        /// Copies.
        clones: u32,
        /// Ranks.
        ranks: u32,
    },
    /// Another rank could not go on, before anything was measured.
    #[error("{0}")]
    EndedByRank(String),
    /// The other ranks cannot be reached.
    #[error(transparent)]
    Ranks(#[from] ClusterError),
    /// The engine could not run it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// An error ended it after some of its phases. What they measured is stored, and is here.
    #[error("{error}; the phases before it are kept")]
    EndedEarly {
        /// In words.
        error: String,
        /// What was measured before.
        outcome: Box<RunOutcome>,
    },
}

fn problems(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// What a failure means to whoever called: the exit codes of the design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The plan is wrong.
    Plan,
    /// The system failed.
    Io,
    /// The write guard refused.
    Refused,
}

impl RunError {
    /// What the failure means.
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

    /// The guard's refusal, where it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            RunError::Engine(error) => error.refusal(),
            _ => None,
        }
    }
}
