//! Exit codes, and the errors that carry them.

use plumb_bench::run::FailureKind;
use plumb_bench::{PlaceError, RunError};
use plumb_engine::guard::OutputError;
use plumb_lab::HostError;
use std::fmt;

/// Outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Done,
    /// Done, and an asserted condition is false.
    AssertedFalse,
    /// Exit code 1 of another tool: its command line is wrong or asks for something impossible.
    DialectFailed,
    /// Another exit code of another tool, such as its number of failed jobs.
    DialectCode(u8),
    /// The command line or the plan is wrong.
    Usage,
    /// Done, but rejected by checks.
    Rejected,
    /// A system call failed.
    Io,
    /// Refused by the write guard.
    Refused,
    /// A gate cannot tell.
    CannotTell,
    /// A gate needs a second session.
    Suspected,
    /// Interrupted; partial data is stored.
    Interrupted,
}

impl End {
    /// Returns the exit code.
    pub fn number(self) -> u8 {
        match self {
            End::Done => 0,
            End::AssertedFalse | End::DialectFailed => 1,
            End::DialectCode(code) => code,
            End::Usage => 2,
            End::Rejected => 3,
            End::Io => 4,
            End::Refused => 5,
            End::CannotTell => 6,
            End::Suspected => 7,
            End::Interrupted => 130,
        }
    }
}

/// An error message with the outcome of the command.
#[derive(Debug)]
pub struct Stopped {
    pub end: End,
    /// Text for the user; may have several lines.
    pub message: String,
}

impl Stopped {
    /// Creates a usage error: the command line or the plan is wrong.
    pub fn usage(message: impl fmt::Display) -> Stopped {
        Stopped { end: End::Usage, message: message.to_string() }
    }

    /// Converts the error of an output that was checked before the measurement: a wrong path is a usage error.
    pub fn of_check(error: OutputError) -> Stopped {
        match error.is_refusal() {
            true => Stopped::from(error),
            false => Stopped::usage(error),
        }
    }

    /// Creates an I/O error.
    pub fn io(message: impl fmt::Display) -> Stopped {
        Stopped { end: End::Io, message: message.to_string() }
    }
}

impl From<RunError> for Stopped {
    fn from(error: RunError) -> Stopped {
        let end = match error.failure() {
            FailureKind::Plan => End::Usage,
            FailureKind::Io => End::Io,
            FailureKind::Refused => End::Refused,
        };
        Stopped { end, message: error.to_string() }
    }
}

impl From<HostError> for Stopped {
    fn from(error: HostError) -> Stopped {
        let end = if matches!(error, HostError::Failed { refused: true, .. }) { End::Refused } else { End::Io };
        Stopped { end, message: error.to_string() }
    }
}

impl From<PlaceError> for Stopped {
    fn from(error: PlaceError) -> Stopped {
        Stopped::usage(error)
    }
}

impl From<OutputError> for Stopped {
    fn from(error: OutputError) -> Stopped {
        match error.is_refusal() {
            true => Stopped { end: End::Refused, message: error.to_string() },
            false => Stopped::io(error),
        }
    }
}

impl From<plumb_store::StoreError> for Stopped {
    fn from(error: plumb_store::StoreError) -> Stopped {
        use plumb_store::StoreError;
        let asked_wrongly = matches!(
            error,
            StoreError::NotFound { .. }
                | StoreError::NoStudy { .. }
                | StoreError::StudyRuns { .. }
                | StoreError::Ambiguous { .. }
                | StoreError::Begun { .. }
                | StoreError::OtherResult { .. }
                | StoreError::NoResult { .. }
                | StoreError::WouldWrite { .. }
                | StoreError::Query { .. }
                | StoreError::QueryTime { .. }
                | StoreError::QuerySize { .. }
                | StoreError::Tag { .. }
                | StoreError::Mark
        );
        match &error {
            error if asked_wrongly => Stopped::usage(error),
            StoreError::Output(refusal) if refusal.is_refusal() => {
                Stopped { end: End::Refused, message: error.to_string() }
            }
            StoreError::Foreign { .. } => Stopped { end: End::Refused, message: error.to_string() },
            error if error.is_full() => {
                Stopped::io(format!("{error}\nThe disk is full. Free some space, or name another database with --db."))
            }
            error => Stopped::io(error),
        }
    }
}
