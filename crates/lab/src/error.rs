//! Why something was not built or not taken down.

use crate::command::CommandError;
use plumb_engine::guard::Refusal;
use plumb_engine::guard::trusted_path::UntrustedPath;
use std::fmt::{self, Write as _};
use std::io;
use std::path::PathBuf;

/// Why something was not built or not taken down.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A step failed; all that was built has been taken down again, but for what is left.
    #[error("step {number} ({kind}): {cause}{}", left_behind(left))]
    Step {
        /// Which one, from 1.
        number: usize,
        /// Its kind.
        kind: &'static str,
        /// Why.
        cause: Box<Cause>,
        /// What could not be taken down again.
        left: Vec<Left>,
    },
    /// Other steps stand.
    #[error("`{tag}` is already built, as a different system; take it down first")]
    Standing {
        /// What stands.
        tag: String,
    },
    /// What was built is gone.
    #[error("{what} was built but is gone; take `{tag}` down and build it again")]
    Vanished {
        /// The study and the plot.
        tag: String,
        /// What is gone.
        what: String,
    },
    /// The undo journal cannot be written, so nothing is built.
    #[error("undo journal in {}: {source}; nothing was built, because it could not be undone", dir.display())]
    Journal {
        /// Directory that holds the undo journals.
        dir: PathBuf,
        /// What the system said.
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
        /// The component that others can change.
        source: UntrustedPath,
    },
    /// Something could not be taken down.
    #[error("some of it could not be taken down{}; `plumb clean` tries again", left_behind(.0))]
    Left(Vec<Left>),
    /// Journals that another user could have written.
    #[error("undo journals were left alone{}{}", named(journals), left_behind(left))]
    UntrustedJournals {
        /// The journals, each with the reason.
        journals: Vec<Left>,
        /// Parts that trusted journals failed to take down.
        left: Vec<Left>,
    },
    /// A process could not be put under the limits that steps have set.
    #[error("process {pid} cannot join the control group {}: {source}", group.display())]
    Confine {
        /// The process.
        pid: u32,
        /// The group.
        group: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Why a step could not be built.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The write guard refused it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A command did not do what it was to do.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// What a step says cannot be.
    #[error("`{field}` is `{value}`: {expected}")]
    Field {
        /// The field, as it is written.
        field: &'static str,
        /// Its value.
        value: String,
        /// What was expected.
        expected: String,
    },
    /// Nothing has this name.
    #[error("no earlier step made `@{name}`; known: {known}")]
    Unnamed {
        /// The name.
        name: String,
        /// The names that are known.
        known: String,
    },
    /// No disk, or more than one, has a serial that the study names.
    #[error("{found} the serial {serial}; disks here: {disks}")]
    Serial {
        /// What was found, `no disk here has`.
        found: String,
        /// The serial.
        serial: String,
        /// The disks and their serials.
        disks: String,
    },
    /// This system cannot do it.
    #[error("{0}")]
    Unavailable(String),
    /// The system said no.
    #[error("could not {action}: {source}")]
    Io {
        /// What was tried.
        action: String,
        /// What the system said.
        source: io::Error,
    },
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// The undo journal cannot be written.
    #[error("cannot write the undo journal: {0}")]
    Journal(io::Error),
}

/// Something that could not be taken down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// What it is.
    pub what: String,
    /// Why it is still there.
    pub reason: String,
}

/// Why a host did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// It answered that it cannot.
    #[error("{reason}")]
    Failed {
        /// Why, with the way out.
        reason: String,
        /// Whether the write guard refused it.
        refused: bool,
    },
    /// It does not answer any more: a broken link, a machine that died.
    #[error("lost: {0}")]
    Lost(String),
}

impl Cause {
    /// Shapes an error of the system for `map_err`.
    pub(crate) fn io<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Cause {
        let action = action.into();
        move |source| Cause::Io { action, source: source.into() }
    }

    /// A field with a value that cannot be.
    pub(crate) fn field(field: &'static str, value: impl ToString, expected: impl Into<String>) -> Cause {
        Cause::Field { field, value: value.to_string(), expected: expected.into() }
    }
}

impl LabError {
    /// Whether the write guard refused it (exit code 5).
    pub fn is_refusal(&self) -> bool {
        matches!(self.cause(), Some(Cause::Refused(refusal)) if refusal.exit_code() == 5)
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

fn left_behind(left: &[Left]) -> String {
    let mut text = String::new();
    for Left { what, reason } in left {
        // Writing to a string cannot fail.
        let _ = write!(text, "; still there: {what}: {reason}");
    }
    text
}

/// An answer that it cannot be done.
pub(crate) fn failed(reason: impl fmt::Display) -> HostError {
    HostError::Failed { reason: reason.to_string(), refused: false }
}
