//! Errors in recordings.

use std::io;
use std::path::PathBuf;

/// An error in a recording, with its position.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The recording cannot be read.
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "{path}: unknown recording format; known are Plumb's own, fio's iolog (versions 2 and 3), blktrace, blkparse, btrecord, \
         strace, perf script, tracefs, elbencho's opslog, Darshan DXT, and tables of published traces (docs/trace.md)"
    )]
    Unknown { path: PathBuf },
    /// The format must be converted by its own program first.
    #[error("{path}: {what}, which is not read here; {way}")]
    Elsewhere {
        path: PathBuf,
        what: &'static str,
        /// Command that converts it.
        way: &'static str,
    },
    /// The format's version is not supported.
    #[error("{path}: {format} version {version} is not supported; supported: {known}")]
    Version {
        path: PathBuf,
        format: &'static str,
        version: String,
        /// Versions that can be read.
        known: &'static str,
    },
    /// A line of text is invalid.
    #[error("{path}: line {line}: `{text}`: {problem}")]
    Line {
        path: PathBuf,
        /// Line number, counted from 1.
        line: u64,
        text: String,
        /// The problem, and what is expected.
        problem: LineProblem,
    },
    /// A binary record is invalid.
    #[error("{path}: byte {at}: {reason}")]
    Bytes {
        path: PathBuf,
        /// Offset of the record, in bytes.
        at: u64,
        reason: String,
    },
    /// An op is longer than the output format allows.
    #[error("an op of {bytes} bytes is too long for blktrace's format")]
    TooLong { bytes: u64 },
    /// The description of a format is invalid.
    #[error("{what}")]
    Description {
        /// The problem, and what is expected.
        what: String,
    },
    /// Streams cannot be merged as asked.
    #[error("{0}")]
    Merge(String),
}

/// An error in a line of a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineProblem {
    #[error("{what} is missing")]
    Missing { what: &'static str },
    #[error("the action is missing: add, open, close, read, write, trim, sync or datasync")]
    NoAct,
    /// A field is not a number.
    #[error("`{word}` is not a valid {what}; a whole number is expected")]
    NoNumber { word: String, what: &'static str },
    #[error("unknown action `{act}`; expected add, open, close, read, write, trim, sync, datasync or wait")]
    UnknownAct { act: String },
    /// The line has too many fields.
    #[error("too many fields; expected time, file, action, offset and length (names cannot contain spaces)")]
    More,
    #[error("{what}")]
    Other {
        /// The problem, and what is expected.
        what: String,
    },
}
