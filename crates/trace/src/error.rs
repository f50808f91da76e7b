//! Errors in recordings.

use std::io;
use std::path::PathBuf;

/// An error in a recording, with its place.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The recording.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// An unknown format.
    #[error(
        "{path}: unknown recording format; known are Plumb's own, fio's iolog (versions 2 and 3), blktrace, blkparse, btrecord, \
         strace, perf script, tracefs, elbencho's opslog, Darshan DXT, and tables of published traces (docs/trace.md)"
    )]
    Unknown {
        /// The recording.
        path: PathBuf,
    },
    /// A form that another program turns into one that is read here.
    #[error("{path}: {what}, which is not read here; {way}")]
    Elsewhere {
        /// The recording.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// What to do.
        way: &'static str,
    },
    /// An unsupported version.
    #[error("{path}: {format} version {version} is not supported; supported: {known}")]
    Version {
        /// The recording.
        path: PathBuf,
        /// The format.
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
        /// The problem, and what is expected.
        problem: LineProblem,
    },
    /// A binary record.
    #[error("{path}: byte {at}: {reason}")]
    Bytes {
        /// The recording.
        path: PathBuf,
        /// Where the record begins.
        at: u64,
        /// The problem.
        reason: String,
    },
    /// An op is longer than the output format allows.
    #[error("an op of {bytes} bytes is too long for blktrace's format")]
    TooLong {
        /// Its length.
        bytes: u64,
    },
    /// The description of a format is wrong.
    #[error("{what}")]
    Description {
        /// What is wrong, and what is expected.
        what: String,
    },
    /// Streams cannot be merged as asked.
    #[error("{0}")]
    Merge(String),
}

/// An error in a line of a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineProblem {
    /// A field is missing.
    #[error("{what} is missing")]
    Missing {
        /// What.
        what: &'static str,
    },
    /// The action is missing.
    #[error("the action is missing: add, open, close, read, write, trim, sync or datasync")]
    NoAct,
    /// Not a number.
    #[error("`{word}` is not a valid {what}; a whole number is expected")]
    NoNumber {
        /// What is there.
        word: String,
        /// What belongs there.
        what: &'static str,
    },
    /// An unknown action.
    #[error("unknown action `{act}`; expected add, open, close, read, write, trim, sync, datasync or wait")]
    UnknownAct {
        /// What.
        act: String,
    },
    /// Too many fields.
    #[error("too many fields; expected time, file, action, offset and length (names cannot contain spaces)")]
    More,
    /// Anything else.
    #[error("{what}")]
    Other {
        /// What, and what is expected.
        what: String,
    },
}
