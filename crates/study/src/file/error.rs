//! Errors of planning a study.

use plumb_workload_text::native::NativeError;

/// The reason why a study cannot be planned.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StudyError {
    /// The file cannot be read.
    #[error("cannot read {path}: {reason}; a study is a TOML file, see docs/study.md")]
    Read { path: String, reason: String },
    /// Errors in the file, with their positions.
    #[error(transparent)]
    File(#[from] NativeError),
}
