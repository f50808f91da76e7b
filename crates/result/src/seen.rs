//! What was looked for: its value, or the reason why it was not seen.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Something that was looked at: seen, or not, and why not. A check over what was not seen is `skipped`, never `pass`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Seen<T> {
    /// Seen.
    Yes(T),
    /// Not seen, for this reason.
    No(String),
}

impl<T> Default for Seen<T> {
    fn default() -> Seen<T> {
        Seen::No("not checked".to_owned())
    }
}

impl<T> Seen<T> {
    /// Not seen, for this reason.
    pub fn no(reason: impl Into<String>) -> Seen<T> {
        Seen::No(reason.into())
    }

    /// What was seen.
    pub fn value(&self) -> Option<&T> {
        match self {
            Seen::Yes(value) => Some(value),
            Seen::No(_) => None,
        }
    }

    /// What was seen, or the reason why not.
    pub fn as_result(&self) -> Result<&T, &str> {
        match self {
            Seen::Yes(value) => Ok(value),
            Seen::No(reason) => Err(reason),
        }
    }

    /// Changes what was seen.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Seen<U> {
        match self {
            Seen::Yes(value) => Seen::Yes(change(value)),
            Seen::No(reason) => Seen::No(reason),
        }
    }
}

impl<T, E: fmt::Display> From<Result<T, E>> for Seen<T> {
    fn from(result: Result<T, E>) -> Seen<T> {
        match result {
            Ok(value) => Seen::Yes(value),
            Err(error) => Seen::No(error.to_string()),
        }
    }
}
