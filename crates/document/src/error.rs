//! Why a document does not fit a type, and where.

use crate::node::Value;
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
    /// Something of another kind, or with another value, is wanted.
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

    /// What the type itself says.
    #[cold]
    pub fn custom(message: impl fmt::Display) -> ReadError {
        ReadError::new(Misfit::Other(message.to_string()))
    }

    /// A choice that the type's names have and its code does not. The derive macro makes both.
    #[cold]
    pub fn unknown() -> ReadError {
        ReadError::custom("an unknown choice")
    }

    #[cold]
    pub(crate) fn unexpected(found: &Value, expected: &str) -> ReadError {
        ReadError::new(Misfit::Unexpected { found: kind_of(found), expected: expected.to_owned() })
    }

    #[cold]
    pub(crate) fn unknown_choice(found: &str, known: &'static [&'static str]) -> ReadError {
        ReadError::new(Misfit::UnknownChoice { found: found.to_owned(), known })
    }

    #[cold]
    pub(crate) fn unknown_key(found: &str, known: &'static [&'static str]) -> ReadError {
        ReadError::new(Misfit::UnknownKey { found: found.to_owned(), known })
    }

    #[cold]
    pub(crate) fn missing_key(key: &'static str) -> ReadError {
        ReadError::new(Misfit::MissingKey(key))
    }

    #[cold]
    pub(crate) fn duplicate_key(key: &'static str) -> ReadError {
        ReadError::new(Misfit::DuplicateKey(key))
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

/// What a list is called, wanted or found.
pub const LIST: &str = "a list `[ … ]`";

/// What a table is called, wanted or found.
pub const TABLE: &str = "a table `{ key = … }`";

fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(is) => is.to_string(),
        Value::Integer(number) => format!("the number {number}"),
        Value::Float(number) => format!("the number {number}"),
        Value::Text(text) => format!("the text {text:?}"),
        Value::Date(_) => "a date".to_owned(),
        Value::List(_) => LIST.to_owned(),
        Value::Table(_) => TABLE.to_owned(),
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

/// A value has no form as a document: a path that is not UTF-8, or a key that is no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WriteError(pub String);
