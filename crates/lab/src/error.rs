//! Errors from building systems and taking them down.

use crate::command::CommandError;
use crate::policy::error::PolicyError;
use plumb_engine::guard::Refusal;
use plumb_engine::guard::trusted_path::UntrustedPath;
use std::fmt::{self, Write as _};
use std::io;
use std::path::PathBuf;

/// Error from building a system or taking it down.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A step failed. Everything that was built has been taken down again, except `left`.
    #[error("step {number} ({kind}): {cause}{}", remaining_parts(left))]
    Step {
        /// Number of the step, from 1.
        number: usize,
        kind: &'static str,
        cause: Box<Cause>,
        /// Parts that could not be taken down again.
        left: Vec<Left>,
    },
    /// Another system is standing.
    #[error("`{tag}` is already built, as a different system; take it down first")]
    Standing {
        /// Study and plot of the standing system.
        tag: String,
    },
    /// A part of the standing system is gone.
    #[error("{what} was built but is gone; take `{tag}` down and build it again")]
    Vanished {
        /// Name of the study and the plot.
        tag: String,
        /// Description of the missing part.
        what: String,
    },
    /// The undo journal cannot be written, so nothing is built.
    #[error("undo journal in {}: {source}; nothing was built, because it could not be undone", dir.display())]
    Journal {
        /// Directory that holds the undo journals.
        dir: PathBuf,
        source: io::Error,
    },
    /// Another user could change the undo journal, so nothing is built.
    #[error(
        "undo journal in {}: {source}; nothing was built, because the journal could not be trusted later. Set \
         XDG_STATE_HOME to a directory of your own",
        dir.display()
    )]
    UntrustedPlace {
        /// Directory that holds the undo journals.
        dir: PathBuf,
        /// Path component that others can change.
        source: UntrustedPath,
    },
    /// Some parts could not be taken down.
    #[error("some parts could not be taken down{}; `plumb clean` tries again", remaining_parts(.0))]
    Left(Vec<Left>),
    /// Journals that another user could have written.
    #[error("undo journals were left alone{}{}", named(journals), remaining_parts(left))]
    UntrustedJournals {
        /// The journals, each with the reason.
        journals: Vec<Left>,
        /// Parts that trusted journals failed to take down.
        left: Vec<Left>,
    },
    /// A process could not be put under the limits that steps have set.
    #[error("process {pid} cannot join the control group {}: {source}", group.display())]
    Confine {
        pid: u32,
        /// Path of the control group.
        group: PathBuf,
        source: io::Error,
    },
}

/// Reason why a step could not be built.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The write guard refused the device.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The agent's owner does not permit it.
    #[error(transparent)]
    NotPermitted(#[from] PolicyError),
    /// A command of the system failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A field of the step has an invalid value.
    #[error("`{field}` is `{value}`: {expected}")]
    Field {
        /// Name of the field as written.
        field: &'static str,
        /// Value of the field as written.
        value: String,
        /// Description of valid values.
        expected: String,
    },
    /// No earlier step has this name.
    #[error("no earlier step made `@{name}`; known: {known}")]
    Unnamed {
        name: String,
        /// List of the known names.
        known: String,
    },
    /// No disk, or more than one, has a serial that the study names.
    #[error("{found} the serial {serial}; disks here: {disks}")]
    Serial {
        /// Beginning of the message, `no disk here has`.
        found: String,
        /// Serial from the study file.
        serial: String,
        /// The disks and their serials.
        disks: String,
    },
    /// This system lacks the required support.
    #[error("{0}")]
    Unavailable(String),
    #[error("could not {action}: {source}")]
    Io {
        /// Description of the attempted action.
        action: String,
        source: io::Error,
    },
    /// The user interrupted the build.
    #[error("interrupted")]
    Interrupted,
    /// The undo journal cannot be written.
    #[error("cannot write the undo journal: {0}")]
    Journal(io::Error),
}

/// A part that could not be taken down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub what: String,
    /// Reason why it is still there.
    pub reason: String,
}

/// Error from a request to a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The host answered that it failed.
    #[error("{reason}")]
    Failed {
        /// Reason, with a way out.
        reason: String,
        /// Whether the write guard refused it.
        refused: bool,
    },
    /// The host no longer answers: a broken link, or a dead machine.
    #[error("lost: {0}")]
    Lost(String),
}

impl Cause {
    /// Returns a closure for `map_err` that adds the attempted action to an I/O error.
    pub(crate) fn io<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Cause {
        let action = action.into();
        move |source| Cause::Io { action, source: source.into() }
    }

    /// Returns `true` if the write guard, or the owner of an agent, refused it.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            Cause::Refused(refusal) => refusal.exit_code() == 5,
            Cause::NotPermitted(_) => true,
            _ => false,
        }
    }

    /// Returns the error for an invalid field value.
    pub(crate) fn field(field: &'static str, value: impl ToString, expected: impl Into<String>) -> Cause {
        Cause::Field { field, value: value.to_string(), expected: expected.into() }
    }
}

impl LabError {
    /// Returns `true` if the write guard, or the owner of an agent, refused it (exit code 5).
    pub fn is_refusal(&self) -> bool {
        self.cause().is_some_and(Cause::is_refusal)
    }

    fn cause(&self) -> Option<&Cause> {
        match self {
            LabError::Step { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

impl From<LabError> for HostError {
    fn from(error: LabError) -> HostError {
        HostError::Failed { refused: error.is_refusal(), reason: error.to_string() }
    }
}

fn named(journals: &[Left]) -> String {
    journals.iter().map(|Left { what, reason }| format!("; {what}: {reason}")).collect()
}

fn remaining_parts(left: &[Left]) -> String {
    let mut text = String::new();
    for Left { what, reason } in left {
        // Writing to a string cannot fail.
        let _ = write!(text, "; still there: {what}: {reason}");
    }
    text
}

/// Returns the error for a request that failed without a refusal.
pub(crate) fn failed(reason: impl fmt::Display) -> HostError {
    HostError::Failed { reason: reason.to_string(), refused: false }
}
