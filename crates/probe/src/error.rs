//! Why a fact about the machine is not known, and where it was looked for.

use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// Why a fact about the machine is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// Another platform would have to answer.
    #[error("not on this platform ({os})", os = std::env::consts::OS)]
    NotHere,
    /// A file cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// A file cannot be opened.
    #[error("cannot open {}: {reason}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// A system call failed.
    #[error("{call}: {errno}")]
    Call {
        /// The call.
        call: &'static str,
        /// Its error.
        errno: Errno,
    },
    /// A question to a file system or a device was not answered.
    #[error("{what}: {reason}")]
    Unanswered {
        /// What was asked for, of what.
        what: String,
        /// The system's words.
        reason: String,
    },
    /// A file of the kernel's has another form than it is known by.
    #[error("{place}: found {found:?}, expected {expected}")]
    Form {
        /// The file.
        place: &'static str,
        /// What stands there.
        found: String,
        /// What should.
        expected: String,
    },
    /// Something is missing where it is always found.
    #[error("{place} has no {what}")]
    Lacks {
        /// Where.
        place: String,
        /// What.
        what: String,
    },
    /// Block statistics hold something else than numbers.
    #[error("block statistics: {word:?} is not a number")]
    StatWord {
        /// What stands there.
        word: String,
    },
    /// Block statistics are of no known length.
    #[error("block statistics have {count} fields (minimum 11)")]
    StatFields {
        /// How many there are.
        count: usize,
    },
    /// Only root is told.
    #[error("{0}; only root may read it")]
    OnlyRoot(Box<ProbeError>),
    /// The reason of something else.
    #[error("{what}: {source}")]
    Of {
        /// What was to be seen.
        what: String,
        /// Why it was not.
        source: Box<ProbeError>,
    },
    /// It cannot be seen of this thing, or not in this state.
    #[error("{subject} {why}")]
    Cannot {
        /// The device, file or program.
        subject: String,
        /// What it does, is, or does not do.
        why: String,
    },
    /// It cannot be seen at all here.
    #[error("{0}")]
    Unseeable(&'static str),
}

impl ProbeError {
    /// A file that cannot be read, for `map_err`.
    pub(crate) fn read<E: Into<std::io::Error>>(path: impl AsRef<Path>) -> impl FnOnce(E) -> ProbeError {
        let path = path.as_ref().to_owned();
        move |error| ProbeError::Read { path, reason: reason(&error.into()) }
    }

    /// A file that cannot be opened, for `map_err`.
    pub(crate) fn open<E: Into<std::io::Error>>(path: impl AsRef<Path>) -> impl FnOnce(E) -> ProbeError {
        let path = path.as_ref().to_owned();
        move |error| ProbeError::Open { path, reason: reason(&error.into()) }
    }

    /// A call that failed, for `map_err`.
    pub(crate) fn call(call: &'static str) -> impl FnOnce(Errno) -> ProbeError {
        move |errno| ProbeError::Call { call, errno }
    }

    /// A question that was not answered, for `map_err`.
    pub(crate) fn unanswered<E: Into<std::io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> ProbeError {
        let what = what.into();
        move |error| ProbeError::Unanswered { what, reason: reason(&error.into()) }
    }

    /// Something that is missing.
    pub(crate) fn lacks(place: impl Into<String>, what: impl Into<String>) -> ProbeError {
        ProbeError::Lacks { place: place.into(), what: what.into() }
    }

    /// A file of the kernel's that has another form than it is known by.
    pub(crate) fn form(place: &'static str, found: &str, expected: impl Into<String>) -> ProbeError {
        ProbeError::Form { place, found: found.to_owned(), expected: expected.into() }
    }

    /// What cannot be seen of something.
    pub(crate) fn cannot(subject: impl Into<String>, why: impl Into<String>) -> ProbeError {
        ProbeError::Cannot { subject: subject.into(), why: why.into() }
    }
}

/// The reason of an error in words, without the number that the standard library adds.
pub(crate) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}
