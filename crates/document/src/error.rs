//! Errors from reading a document as a type, with their position.

use crate::node::Value;
use crate::reader::whole_number;
use serde::de::{Expected, Unexpected};
use std::fmt;
use std::ops::Range;

/// One step of a path from a document to one of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    Key(String),
    /// A position in a list, from 0.
    Index(usize),
}

/// Error from reading a document that does not fit the type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    misfit: Misfit,
    span: Option<Range<usize>>,
    /// Path to the value, innermost segment first.
    path: Vec<Segment>,
}

/// Kind of mismatch between a document and a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// A table has a key that the type does not have.
    UnknownKey {
        found: String,
        /// All keys of the type.
        known: &'static [&'static str],
    },
    /// A text is not one of the choices.
    UnknownChoice { found: String, known: &'static [&'static str] },
    /// A required key is missing.
    MissingKey(&'static str),
    /// A key occurs twice.
    DuplicateKey(&'static str),
    /// A value has the wrong kind or is out of range.
    Unexpected {
        /// Description of the value that was found.
        found: String,
        /// Description of the expected value.
        expected: String,
    },
    /// Message of the type itself.
    Other(String),
}

impl ReadError {
    fn new(misfit: Misfit) -> ReadError {
        ReadError(Box::new(Inner { misfit, span: None, path: Vec::new() }))
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

    /// Returns the error of a table that names no choice, or more than one.
    #[cold]
    pub(crate) fn no_choice(second: Option<&str>) -> ReadError {
        ReadError::new(Misfit::Other(match second {
            None => "a choice has one key; this table is empty".to_owned(),
            Some(second) => format!("a choice has one key; `{second}` is a second one"),
        }))
    }

    #[cold]
    pub(crate) fn wrong_length(found: usize, expected: &dyn fmt::Display) -> ReadError {
        ReadError::new(Misfit::Other(format!("a list of {found}, expected {expected}")))
    }

    /// Returns the key that the error is about, if the table has it.
    pub(crate) fn key(&self) -> Option<&str> {
        match &self.0.misfit {
            Misfit::UnknownKey { found, .. } | Misfit::UnknownChoice { found, .. } => Some(found),
            Misfit::DuplicateKey(key) => Some(key),
            Misfit::MissingKey(_) | Misfit::Unexpected { .. } | Misfit::Other(_) => None,
        }
    }

    /// Returns the kind of mismatch.
    pub fn misfit(&self) -> &Misfit {
        &self.0.misfit
    }

    /// Returns the position in the text, if the document was parsed from one.
    pub fn span(&self) -> Option<Range<usize>> {
        self.0.span.clone()
    }

    /// Returns the path from the document to the value.
    pub fn path(&self) -> impl Iterator<Item = &Segment> {
        self.0.path.iter().rev()
    }

    /// Sets the position, unless one further inside is known.
    pub(crate) fn or_at(mut self, span: &Range<usize>) -> ReadError {
        self.0.span.get_or_insert_with(|| span.clone());
        self
    }

    /// Adds the segment that led to the value.
    pub(crate) fn with_segment(mut self, segment: Segment) -> ReadError {
        self.0.path.push(segment);
        self
    }
}

/// Description of a list in errors.
pub const LIST: &str = "a list `[ … ]`";

/// Description of a table in errors.
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

/// Describes a value found by serde's own code in the words of this crate.
fn found_words(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(is) => is.to_string(),
        Unexpected::Unsigned(number) => format!("the number {number}"),
        Unexpected::Signed(number) => format!("the number {number}"),
        Unexpected::Float(number) => format!("the number {number}"),
        Unexpected::Char(letter) => format!("the text {:?}", letter.to_string()),
        Unexpected::Str(text) => format!("the text {text:?}"),
        Unexpected::Unit | Unexpected::Option => "nothing".to_owned(),
        Unexpected::Seq => LIST.to_owned(),
        Unexpected::Map => TABLE.to_owned(),
        Unexpected::Enum | Unexpected::UnitVariant | Unexpected::NewtypeVariant => "a choice".to_owned(),
        Unexpected::TupleVariant | Unexpected::StructVariant => "a choice".to_owned(),
        other => other.to_string(),
    }
}

/// Replaces the Rust types that serde's own code expects with words that make sense in the text.
fn wanted_words(wanted: &dyn Expected) -> String {
    let wanted = wanted.to_string();
    let number = |least: i128, most: i128| whole_number(least, most);
    match wanted.as_str() {
        "i8" => number(i8::MIN.into(), i8::MAX.into()),
        "i16" => number(i16::MIN.into(), i16::MAX.into()),
        "i32" => number(i32::MIN.into(), i32::MAX.into()),
        "i64" => number(i64::MIN.into(), i64::MAX.into()),
        "u8" => number(0, u8::MAX.into()),
        "u16" => number(0, u16::MAX.into()),
        "u32" => number(0, u32::MAX.into()),
        "u64" | "usize" => number(0, u64::MAX.into()),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "`true` or `false`".to_owned(),
        "a string" | "a borrowed string" | "string" | "path string" => "text in quotes".to_owned(),
        "a sequence" => LIST.to_owned(),
        "a map" => TABLE.to_owned(),
        "unit" | "unit value" => "nothing".to_owned(),
        "string or map" => "a choice".to_owned(),
        "any value" => "text, a number, a list or a table".to_owned(),
        other if ["struct ", "internally tagged enum "].iter().any(|start| other.starts_with(start)) => {
            TABLE.to_owned()
        }
        other if ["tuple ", "a tuple ", "an array "].iter().any(|start| other.starts_with(start)) => LIST.to_owned(),
        other if other.starts_with("enum ") => "a choice".to_owned(),
        _ => wanted,
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
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> ReadError {
        ReadError::new(Misfit::Other(message.to_string()))
    }

    #[cold]
    fn invalid_type(found: Unexpected<'_>, wanted: &dyn Expected) -> ReadError {
        ReadError::new(Misfit::Unexpected { found: found_words(found), expected: wanted_words(wanted) })
    }

    #[cold]
    fn invalid_value(found: Unexpected<'_>, wanted: &dyn Expected) -> ReadError {
        ReadError::invalid_type(found, wanted)
    }

    #[cold]
    fn invalid_length(found: usize, wanted: &dyn Expected) -> ReadError {
        let wanted = wanted.to_string();
        let length = ["a tuple of size ", "an array of length "].iter().find_map(|start| wanted.strip_prefix(start));
        ReadError::wrong_length(found, &length.unwrap_or(&wanted))
    }

    #[cold]
    fn unknown_variant(found: &str, known: &'static [&'static str]) -> ReadError {
        ReadError::unknown_choice(found, known)
    }

    #[cold]
    fn unknown_field(found: &str, known: &'static [&'static str]) -> ReadError {
        ReadError::unknown_key(found, known)
    }

    #[cold]
    fn missing_field(key: &'static str) -> ReadError {
        ReadError::new(Misfit::MissingKey(key))
    }

    #[cold]
    fn duplicate_field(key: &'static str) -> ReadError {
        ReadError::new(Misfit::DuplicateKey(key))
    }
}

/// Error from writing a value that has no form as a document: a path that is not UTF-8, or a key that is not text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WriteError(pub String);

impl serde::ser::Error for WriteError {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> WriteError {
        WriteError(message.to_string())
    }
}
