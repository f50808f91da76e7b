//! Why a study cannot be planned.

use plumb_workload_text::native::NativeError;

/// Why a study cannot be planned.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StudyError {
    /// The file cannot be read.
    #[error("cannot read {path}: {reason}; a study is a TOML file, see docs/study.md")]
    Read {
        /// The file.
        path: String,
        /// The system's words.
        reason: String,
    },
    /// Something in it is wrong, with its places.
    #[error(transparent)]
    File(#[from] NativeError),
}
