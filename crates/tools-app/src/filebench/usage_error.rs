//! Errors of scripts, with their place and the way out.

use super::lex::Place;
use std::fmt;

/// What is wrong with a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilebenchUsageError {
    /// The script.
    pub file: String,
    /// Where in it, where that is known.
    pub place: Option<Place>,
    /// What.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
}

impl FilebenchUsageError {
    /// At a place.
    pub(super) fn at(place: Place, message: impl Into<String>) -> FilebenchUsageError {
        FilebenchUsageError { file: String::new(), place: Some(place), message: message.into(), help: None }
    }

    /// Without a place: of the command line, or of the script as a whole.
    pub fn without_place(message: impl Into<String>) -> FilebenchUsageError {
        FilebenchUsageError { file: String::new(), place: None, message: message.into(), help: None }
    }

    /// With the way out.
    pub(super) fn help(self, help: impl Into<String>) -> FilebenchUsageError {
        FilebenchUsageError { help: Some(help.into()), ..self }
    }

    /// With the known name that is nearest to a word as the way out; with `otherwise` where none is near.
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

    /// In this script, where it is in none yet.
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
