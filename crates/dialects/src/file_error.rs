//! What the machine says of a file that the words name.

use std::io;

/// Why a file that the words name is of no use.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The system's word.
        source: io::Error,
    },
    /// It holds something that would be lost.
    #[error("{path} is there, and no scan made it; name another file, or remove it first")]
    NotAScan {
        /// The file.
        path: String,
    },
    /// Of published numbers the files are seldom to be had.
    #[error("{path} was not published")]
    NotPublished {
        /// The file.
        path: String,
    },
    /// A recording that its reader does not take.
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
