//! Errors of the engine, and which results survive them.

use crate::content::ContentError;
use crate::copy::CopyError;
use crate::files::JobFilesError;
use crate::guard::Refusal;
use crate::phase_error::PhaseError;
use crate::plan::WorkerPlanError;
use crate::prepare::{NotCold, PrepareError, PressureError};
use crate::testdir::TestDirError;
use plumb_result::Measurement;

/// Error from running a workload.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The workload is not possible as written.
    #[error("{0}")]
    Plan(String),
    /// A worker of the workload is not possible.
    #[error(transparent)]
    Worker(#[from] WorkerPlanError),
    /// The write guard refused access.
    #[error(transparent)]
    Refused(Refusal),
    /// A target could not be opened or laid out.
    #[error(transparent)]
    Prepare(PrepareError),
    /// A file set could not be laid out.
    #[error("target `{target}`: {reason}")]
    Tree { target: String, reason: String },
    /// The content for a target's files could not be made.
    #[error("target `{target}`: {source}")]
    Content { target: String, source: ContentError },
    /// The files of a job could not be opened or laid out.
    #[error("target `{target}`: {source}")]
    JobFiles { target: String, source: Box<JobFilesError> },
    /// The test directory could not be created.
    #[error(transparent)]
    TestDir(TestDirError),
    /// The cache could not be emptied.
    #[error("phase `{phase}` needs a cold cache: {source}")]
    NotCold { phase: String, source: NotCold },
    /// The cache could not be warmed.
    #[error("phase `{phase}` needs a warm cache: {source}")]
    NotWarm { phase: String, source: Box<PrepareError> },
    /// The memory for a phase's memory pressure could not be held.
    #[error("phase `{phase}`: {source}")]
    Pressure { phase: String, source: PressureError },
    /// A copy could not begin.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// Another host is unreachable, or does not do what it was asked.
    #[error("phase `{phase}`, {part}: {reason}")]
    Network {
        phase: String,
        /// Name of the group of workers, or `probe`.
        part: String,
        /// The reason in words, with a fix.
        reason: String,
    },
    /// A phase could not run.
    #[error(transparent)]
    Phase(#[from] PhaseError),
}

impl EngineError {
    /// Creates a plan error from a reason.
    pub(crate) fn plan(reason: impl ToString) -> EngineError {
        EngineError::Plan(reason.to_string())
    }

    /// Returns the guard's refusal, if that is the error.
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

    /// Returns `true` if the workload and not the system is at fault.
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

    /// Returns `true` if a signal caused the error.
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

/// Keeps the phases that finished before an error. Without any, returns the error itself.
pub(crate) fn keep_finished(measurement: Measurement, error: EngineError) -> Result<Measurement, EngineError> {
    match measurement.phases.is_empty() {
        true => Err(error),
        false => Ok(Measurement { error: Some(error.to_string()), ..measurement }),
    }
}
