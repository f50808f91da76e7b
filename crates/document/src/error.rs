//! Why a document does not fit a type, and where.

use serde::de::{Expected, Unexpected};
use std::fmt;
use std::ops::Range;

/// A step from a document to one of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// A key of a table.
    Key(String),
    /// A place in a list, from 0.
    Index(usize),
}

/// A document does not fit the type that it is read as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    misfit: Misfit,
    span: Option<Range<usize>>,
    /// From the innermost step outwards.
    path: Vec<Segment>,
}

/// In which way a document does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// A table has a key that the type does not know.
    UnknownKey {
        /// The key.
        found: String,
        /// All that it knows.
        known: &'static [&'static str],
    },
    /// A text is none of the choices.
    UnknownChoice {
        /// The text.
        found: String,
        /// The choices.
        known: &'static [&'static str],
    },
    /// A key is not there.
    MissingKey(&'static str),
    /// A key is there twice.
    DuplicateKey(&'static str),
    /// Something of another kind, or with another value, is wanted; both as serde words them.
    Unexpected {
        /// What is there.
        found: String,
        /// What is wanted.
        expected: String,
    },
    /// As the type itself says.
    Other(String),
}

impl ReadError {
    fn new(misfit: Misfit) -> ReadError {
        ReadError(Box::new(Inner { misfit, span: None, path: Vec::new() }))
    }

    /// In which way it does not fit.
    pub fn misfit(&self) -> &Misfit {
        &self.0.misfit
    }

    /// Where in the text the misfit stands, where the document came from one.
    pub fn span(&self) -> Option<Range<usize>> {
        self.0.span.clone()
    }

    /// The way from the document to the misfit.
    pub fn path(&self) -> impl Iterator<Item = &Segment> {
        self.0.path.iter().rev()
    }

    /// Gives it a place, where none further inside was found.
    pub(crate) fn or_at(mut self, span: &Range<usize>) -> ReadError {
        self.0.span.get_or_insert_with(|| span.clone());
        self
    }

    /// Adds the step that led to where it arose.
    pub(crate) fn within(mut self, segment: Segment) -> ReadError {
        self.0.path.push(segment);
        self
    }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::UnknownKey { found, known: [] } => write!(f, "unknown key `{found}`; there are none"),
            Misfit::UnknownKey { found, known } => write!(f, "unknown key `{found}`; there are {}", listed(known)),
            Misfit::UnknownChoice { found, known } => write!(f, "`{found}` is not one of {}", listed(known)),
            Misfit::MissingKey(key) => write!(f, "`{key}` is missing"),
            Misfit::DuplicateKey(key) => write!(f, "`{key}` is set twice"),
            Misfit::Unexpected { found, expected } => write!(f, "expected {expected}, found {found}"),
            Misfit::Other(message) => f.write_str(message),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.path().enumerate() {
            match segment {
                Segment::Key(key) if position == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        let colon = if self.0.path.is_empty() { "" } else { ": " };
        write!(f, "{colon}{}", self.0.misfit)
    }
}

impl std::error::Error for ReadError {}

impl serde::de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> ReadError {
        ReadError::new(Misfit::Other(message.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> ReadError {
        ReadError::new(Misfit::Unexpected { found: found.to_string(), expected: expected.to_string() })
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> ReadError {
        ReadError::invalid_type(found, expected)
    }

    fn unknown_variant(found: &str, known: &'static [&'static str]) -> ReadError {
        ReadError::new(Misfit::UnknownChoice { found: found.to_owned(), known })
    }

    fn unknown_field(found: &str, known: &'static [&'static str]) -> ReadError {
        ReadError::new(Misfit::UnknownKey { found: found.to_owned(), known })
    }

    fn missing_field(key: &'static str) -> ReadError {
        ReadError::new(Misfit::MissingKey(key))
    }

    fn duplicate_field(key: &'static str) -> ReadError {
        ReadError::new(Misfit::DuplicateKey(key))
    }
}

/// A value has no form as a document: a path that is not UTF-8, or a key that is no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WriteError(pub String);

impl serde::ser::Error for WriteError {
    fn custom<T: fmt::Display>(message: T) -> WriteError {
        WriteError(message.to_string())
    }
}
