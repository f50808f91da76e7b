//! Errors of files that a command line names.

use std::io;

/// Error for a file that the command line names.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
    /// The file has contents that would be overwritten.
    #[error("{path} exists and is not the result of a scan; name another file, or remove it first")]
    NotAScan { path: String },
    #[error("{path} is longer than {most_bytes} bytes")]
    TooLong {
        path: String,
        /// Size limit, bytes.
        most_bytes: u64,
    },
    #[error("{path} was not published")]
    NotPublished { path: String },
    /// A trace recording cannot be read.
    #[error(transparent)]
    Recording(Box<dyn std::error::Error + Send + Sync>),
}

impl FileError {
    /// Returns a `map_err` closure that adds the path to an I/O error.
    pub fn io(path: impl Into<String>) -> impl FnOnce(io::Error) -> FileError {
        let path = path.into();
        move |source| FileError::Io { path, source }
    }
}
