//! Why a workload could not be run, and what is kept of what was.

use crate::content::ContentError;
use crate::copy::CopyError;
use crate::files::JobFilesError;
use crate::guard::Refusal;
use crate::phase_error::PhaseError;
use crate::plan::WorkerPlanError;
use crate::prepare::{NotCold, PrepareError, PressureError};
use crate::testdir::TestDirError;
use plumb_result::Measurement;

/// Why a workload could not be run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The workload cannot be, as it stands.
    #[error("{0}")]
    Plan(String),
    /// A worker of it cannot be.
    #[error(transparent)]
    Worker(#[from] WorkerPlanError),
    /// The write guard refuses.
    #[error(transparent)]
    Refused(Refusal),
    /// A target could not be opened or laid out.
    #[error(transparent)]
    Prepare(PrepareError),
    /// A file set could not be laid out.
    #[error("target `{target}`: {reason}")]
    Tree {
        /// The target.
        target: String,
        /// In words.
        reason: String,
    },
    /// What fills the files of a target cannot be made.
    #[error("target `{target}`: {source}")]
    Content {
        /// The target.
        target: String,
        /// Why.
        source: ContentError,
    },
    /// The files of a job could not be opened or laid out.
    #[error("target `{target}`: {source}")]
    JobFiles {
        /// The target.
        target: String,
        /// Why.
        source: Box<JobFilesError>,
    },
    /// No test directory could be made.
    #[error(transparent)]
    TestDir(TestDirError),
    /// The cache could not be emptied.
    #[error("phase `{phase}` needs a cold cache: {source}")]
    NotCold {
        /// The phase.
        phase: String,
        /// Why.
        source: NotCold,
    },
    /// The cache could not be warmed.
    #[error("phase `{phase}` needs a warm cache: {source}")]
    NotWarm {
        /// The phase.
        phase: String,
        /// Why.
        source: Box<PrepareError>,
    },
    /// Memory could not be held.
    #[error("phase `{phase}`: {source}")]
    Pressure {
        /// The phase.
        phase: String,
        /// Why.
        source: PressureError,
    },
    /// A copy could not begin.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// Another host is not there, or does not do what is asked of it.
    #[error("phase `{phase}`, {part}: {reason}")]
    Network {
        /// The phase.
        phase: String,
        /// The group of workers, or `probe`.
        part: String,
        /// In words, with the way out.
        reason: String,
    },
    /// A phase could not run.
    #[error(transparent)]
    Phase(#[from] PhaseError),
}

impl EngineError {
    /// A plan that cannot be, with the reason.
    pub(crate) fn plan(reason: impl ToString) -> EngineError {
        EngineError::Plan(reason.to_string())
    }

    /// The guard's refusal, where it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            EngineError::Refused(refusal)
            | EngineError::Prepare(PrepareError::Refused(refusal))
            | EngineError::TestDir(TestDirError::Refused(refusal)) => Some(refusal),
            EngineError::JobFiles { source, .. } => source.refusal(),
            EngineError::Copy(error) => error.refusal(),
            _ => None,
        }
    }

    /// Whether the workload, rather than the system, is to blame.
    pub fn is_plan(&self) -> bool {
        match self {
            EngineError::Plan(_)
            | EngineError::Worker(_)
            | EngineError::Content { .. }
            | EngineError::NotCold { .. }
            | EngineError::Phase(PhaseError::Endless { .. }) => true,
            EngineError::Prepare(error) => error.exit_code() == 2,
            EngineError::JobFiles { source, .. } => source.is_plan(),
            _ => false,
        }
    }

    /// Whether a signal is to blame.
    pub(crate) fn is_stop(&self) -> bool {
        match self {
            EngineError::NotWarm { source, .. } => matches!(**source, PrepareError::Stopped { .. }),
            EngineError::Prepare(PrepareError::Stopped { .. })
            | EngineError::NotCold { source: NotCold::Stopped, .. }
            | EngineError::Pressure { source: PressureError::Stopped, .. } => true,
            error => matches!(error.refusal(), Some(Refusal::Stopped { .. })),
        }
    }
}

impl From<PrepareError> for EngineError {
    fn from(error: PrepareError) -> EngineError {
        match error {
            PrepareError::Refused(refusal) => EngineError::Refused(refusal),
            error => EngineError::Prepare(error),
        }
    }
}

impl From<Refusal> for EngineError {
    fn from(refusal: Refusal) -> EngineError {
        EngineError::Refused(refusal)
    }
}

/// What an error leaves of a run: the phases before it. Where there are none, the run has come to nothing.
pub(crate) fn keep_finished(measurement: Measurement, error: EngineError) -> Result<Measurement, EngineError> {
    match measurement.phases.is_empty() {
        true => Err(error),
        false => Ok(Measurement { error: Some(error.to_string()), ..measurement }),
    }
}
