//! Positions in a workload, such as `phase[0].workers[1].depth`.

use std::fmt;
use std::str::FromStr;

/// One step of a [`KeyPath`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Segment {
    /// A key of a table.
    Key(String),
    /// A position in a list, from 0.
    Index(usize),
}

impl From<&str> for Segment {
    fn from(key: &str) -> Segment {
        Segment::Key(key.to_owned())
    }
}

impl From<usize> for Segment {
    fn from(index: usize) -> Segment {
        Segment::Index(index)
    }
}

/// A position in a workload. Printed as `phase[0].workers[1].depth`; `phase.0.workers.1.depth` can also be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct KeyPath(pub Vec<Segment>);

impl KeyPath {
    /// Returns this path with one more segment.
    pub fn with(&self, segment: impl Into<Segment>) -> KeyPath {
        let mut path = self.clone();
        path.0.push(segment.into());
        path
    }
}

/// Returns `true` if TOML needs no quotes around the key.
pub(crate) fn is_bare(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) => {
                    let dot = if position == 0 { "" } else { "." };
                    if is_bare(key) { write!(f, "{dot}{key}")? } else { write!(f, "{dot}{key:?}")? }
                }
            }
        }
        Ok(())
    }
}

/// Maximum number of segments. No workload is nested deeper, except for loops within loops. Bounds the recursion of
/// code that follows a path.
const STEPS_MAX: usize = 64;

/// Error from parsing a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a path into a workload; write one such as `phase.0.workers.0.depth`")]
pub struct KeyPathError {
    pub text: String,
}

impl FromStr for KeyPath {
    type Err = KeyPathError;

    /// Parses dots as separators. A number, with or without brackets, is an index, and quotes
    /// protect dots within a key.
    fn from_str(text: &str) -> Result<KeyPath, KeyPathError> {
        let error = || KeyPathError { text: text.to_owned() };
        let mut path = KeyPath::default();
        let mut rest = text.trim();
        while !rest.is_empty() {
            if !path.0.is_empty() && !rest.starts_with('[') {
                rest = rest.strip_prefix('.').ok_or_else(error)?;
            }
            if let Some(inner) = rest.strip_prefix('[') {
                let (index, after) = inner.split_once(']').ok_or_else(error)?;
                path.0.push(Segment::Index(index.trim().parse().map_err(|_| error())?));
                rest = after;
            } else if let Some(inner) = rest.strip_prefix('"') {
                let (key, after) = inner.split_once('"').ok_or_else(error)?;
                path.0.push(Segment::Key(key.to_owned()));
                rest = after;
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let word = &rest[..end];
                if word.is_empty() || word.contains(['"', ']', '=']) || word.contains(char::is_whitespace) {
                    return Err(error());
                }
                path.0.push(match word.parse() {
                    Ok(index) => Segment::Index(index),
                    Err(_) => Segment::Key(word.to_owned()),
                });
                rest = &rest[end..];
            }
        }
        if path.0.is_empty() || path.0.len() > STEPS_MAX { Err(error()) } else { Ok(path) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_spellings_and_prints_one() {
        for text in ["phase.0.workers.1.depth", "phase[0].workers[1].depth", " phase[0].workers.1.depth "] {
            assert_eq!(text.parse::<KeyPath>().unwrap().to_string(), "phase[0].workers[1].depth", "{text}");
        }
        assert_eq!("target.\"a.b\".size".parse::<KeyPath>().unwrap().to_string(), "target.\"a.b\".size");
    }

    #[test]
    fn refuses_invalid_paths() {
        for text in ["", ".", "a.", "a..b", "a[", "a[x]", "a b", "\"a", "a[0]b", "a=b", "a]"] {
            let error = text.parse::<KeyPath>().unwrap_err();
            assert!(error.to_string().contains("phase.0.workers.0.depth"), "{text}: {error}");
        }
    }
}
