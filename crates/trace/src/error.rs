//! What can be wrong with a recording.

use std::io;
use std::path::PathBuf;

/// What is wrong with a recording, and where.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The recording.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// It is nothing that is known here.
    #[error(
        "{path}: this is no recording that is read here; a first line `fio version 2 iolog` or `fio version 3 iolog`, or \
         the magic number of blktrace, is needed"
    )]
    Unknown {
        /// The recording.
        path: PathBuf,
    },
    /// A version that nobody writes any more, or not yet.
    #[error("{path}: version {version} of {format} is not read here; versions {known} are")]
    Version {
        /// The recording.
        path: PathBuf,
        /// Of which form.
        format: &'static str,
        /// What it is.
        version: String,
        /// What can be read.
        known: &'static str,
    },
    /// A line of text.
    #[error("{path}: line {line}: `{text}`: {reason}")]
    Line {
        /// The recording.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// The line.
        text: String,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// A binary record.
    #[error("{path}: byte {at}: {reason}")]
    Bytes {
        /// The recording.
        path: PathBuf,
        /// Where the record begins.
        at: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// Streams cannot be merged as asked.
    #[error("{0}")]
    Merge(String),
}
