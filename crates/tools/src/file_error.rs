//! Errors of files that a command line names.

use std::io;

/// Why a file named on a command line cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// It has contents that would be lost.
    #[error("{path} exists and is not the result of a scan; name another file, or remove it first")]
    NotAScan {
        /// The file.
        path: String,
    },
    /// It is too long.
    #[error("{path} is longer than {most_bytes} bytes")]
    TooLong {
        /// The file.
        path: String,
        /// The most, bytes.
        most_bytes: u64,
    },
    /// The file of a published benchmark is not available.
    #[error("{path} was not published")]
    NotPublished {
        /// The file.
        path: String,
    },
    /// A recording that cannot be read.
    #[error(transparent)]
    Recording(Box<dyn std::error::Error + Send + Sync>),
}

impl FileError {
    /// For the system's errors of one file.
    pub fn io(path: impl Into<String>) -> impl FnOnce(io::Error) -> FileError {
        let path = path.into();
        move |source| FileError::Io { path, source }
    }
}
