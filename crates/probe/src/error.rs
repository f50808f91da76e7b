//! Reasons why a fact about the machine is unknown, with the source that was tried.

use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// Reason why a fact about the machine is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// The fact exists only on another platform.
    #[error("not on this platform ({os})", os = std::env::consts::OS)]
    NotHere,
    /// A file cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Read {
        path: PathBuf,
        /// The system's error text.
        reason: String,
    },
    /// A file cannot be opened.
    #[error("cannot open {}: {reason}", path.display())]
    Open {
        path: PathBuf,
        /// The system's error text.
        reason: String,
    },
    /// A system call failed.
    #[error("{call}: {errno}")]
    Call {
        /// Name of the call.
        call: &'static str,
        errno: Errno,
    },
    /// A file system or device did not answer a query.
    #[error("{what}: {reason}")]
    Unanswered {
        /// The requested fact and its subject.
        what: String,
        /// The system's error text.
        reason: String,
    },
    /// A file of the kernel has an unknown format.
    #[error("{place}: found {found:?}, expected {expected}")]
    Form {
        /// Path of the file.
        place: &'static str,
        /// Text that was found.
        found: String,
        /// Description of the expected text.
        expected: String,
    },
    /// Something that is usually present is missing.
    #[error("{place} has no {what}")]
    Lacks {
        place: String,
        /// Description of the missing thing.
        what: String,
    },
    /// Block statistics contain a word that is not a number.
    #[error("block statistics: {word:?} is not a number")]
    StatWord { word: String },
    /// Block statistics have an unknown number of fields.
    #[error("block statistics have {count} fields (minimum 11)")]
    StatFields { count: usize },
    /// Only root may read it.
    #[error("{0}; only root may read it")]
    OnlyRoot(Box<ProbeError>),
    /// The reason for another fact that depends on it.
    #[error("{what}: {source}")]
    Of {
        /// The fact that is unknown.
        what: String,
        source: Box<ProbeError>,
    },
    /// The subject does not provide the fact, or not in its current state.
    #[error("{subject} {why}")]
    Cannot {
        /// The device, file or program.
        subject: String,
        /// Predicate of the sentence, such as `has no counters of its own`.
        why: String,
    },
    /// The fact is not available here at all.
    #[error("{0}")]
    Unseeable(&'static str),
}

impl ProbeError {
    /// Returns a closure for `map_err` about a file that cannot be read.
    pub(crate) fn read<E: Into<std::io::Error>>(path: impl AsRef<Path>) -> impl FnOnce(E) -> ProbeError {
        let path = path.as_ref().to_owned();
        move |error| ProbeError::Read { path, reason: reason(&error.into()) }
    }

    /// Returns a closure for `map_err` about a file that cannot be opened.
    pub(crate) fn open<E: Into<std::io::Error>>(path: impl AsRef<Path>) -> impl FnOnce(E) -> ProbeError {
        let path = path.as_ref().to_owned();
        move |error| ProbeError::Open { path, reason: reason(&error.into()) }
    }

    /// Returns a closure for `map_err` about a failed call.
    pub(crate) fn call(call: &'static str) -> impl FnOnce(Errno) -> ProbeError {
        move |errno| ProbeError::Call { call, errno }
    }

    /// Returns a closure for `map_err` about an unanswered query.
    pub(crate) fn unanswered<E: Into<std::io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> ProbeError {
        let what = what.into();
        move |error| ProbeError::Unanswered { what, reason: reason(&error.into()) }
    }

    /// Returns an error for a missing thing.
    pub(crate) fn lacks(place: impl Into<String>, what: impl Into<String>) -> ProbeError {
        ProbeError::Lacks { place: place.into(), what: what.into() }
    }

    /// Returns an error for a kernel file of unknown format.
    pub(crate) fn form(place: &'static str, found: &str, expected: impl Into<String>) -> ProbeError {
        ProbeError::Form { place, found: found.to_owned(), expected: expected.into() }
    }

    /// Returns an error for a fact that a subject does not provide.
    pub(crate) fn unavailable(subject: impl Into<String>, why: impl Into<String>) -> ProbeError {
        ProbeError::Cannot { subject: subject.into(), why: why.into() }
    }
}

/// Returns the text of an error, without the number that the standard library appends.
pub(crate) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}
