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
    #[error("{path}: line {line}: `{text}`: {problem}")]
    Line {
        /// The recording.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// The line.
        text: String,
        /// What is wrong with it, and what would be right.
        problem: LineProblem,
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
    /// An op is longer than the form that is written can hold.
    #[error("an op of {bytes} bytes is more than blktrace can tell")]
    TooLong {
        /// Its length.
        bytes: u64,
    },
    /// Streams cannot be merged as asked.
    #[error("{0}")]
    Merge(String),
}

/// What is wrong with a line of fio's recordings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineProblem {
    /// Something is not there.
    #[error("{what} is missing")]
    Missing {
        /// What.
        what: &'static str,
    },
    /// Nothing was done.
    #[error("what was done is missing: add, open, close, read, write, trim, sync or datasync")]
    NoAct,
    /// A number is none.
    #[error("`{word}` is no {what}; a whole number is expected")]
    NoNumber {
        /// What is there.
        word: String,
        /// What belongs there.
        what: &'static str,
    },
    /// Something else was done than can be done.
    #[error(
        "`{act}` is nothing that is done to a file; add, open, close, read, write, trim, sync, datasync and wait are"
    )]
    UnknownAct {
        /// What.
        act: String,
    },
    /// There are more words than have a meaning.
    #[error(
        "there is more on the line than a time, a file, what was done, an offset and a length; names cannot have spaces"
    )]
    More,
}
