//! Errors of scripts, with a place and a hint.

use super::lex::Place;
use std::fmt;

/// Error in a script or a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilebenchUsageError {
    /// Path of the script; empty if unknown.
    pub file: String,
    /// Place in the script; `None` if unknown.
    pub place: Option<Place>,
    pub message: String,
    pub help: Option<String>,
}

impl FilebenchUsageError {
    /// Creates an error at a place.
    pub(super) fn at(place: Place, message: impl Into<String>) -> FilebenchUsageError {
        FilebenchUsageError { file: String::new(), place: Some(place), message: message.into(), help: None }
    }

    /// Creates an error without a place: of the command line, or of the script as a whole.
    pub fn without_place(message: impl Into<String>) -> FilebenchUsageError {
        FilebenchUsageError { file: String::new(), place: None, message: message.into(), help: None }
    }

    pub(super) fn help(self, help: impl Into<String>) -> FilebenchUsageError {
        FilebenchUsageError { help: Some(help.into()), ..self }
    }

    /// Adds the known name that is closest to `word` as a hint; `otherwise` if none is close.
    pub(super) fn nearest<'a>(
        self,
        word: &str,
        names: impl IntoIterator<Item = &'a str>,
        otherwise: &str,
    ) -> FilebenchUsageError {
        match plumb_workload::suggest::nearest(word, names) {
            Some(near) => self.help(format!("did you mean `{near}`?")),
            None if otherwise.is_empty() => self,
            None => self.help(otherwise),
        }
    }

    /// Sets the script, unless it is set already.
    pub(super) fn of_file(self, file: &str) -> FilebenchUsageError {
        if self.file.is_empty() { FilebenchUsageError { file: file.to_owned(), ..self } } else { self }
    }
}

impl fmt::Display for FilebenchUsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.place, self.file.is_empty()) {
            (Some(place), false) => write!(f, "{}:{}:{}: ", self.file, place.line, place.column)?,
            (Some(place), true) => write!(f, "{}:{}: ", place.line, place.column)?,
            (None, false) => write!(f, "{}: ", self.file)?,
            (None, true) => {}
        }
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FilebenchUsageError {}
