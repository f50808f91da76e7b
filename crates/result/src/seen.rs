//! Optional observations that keep the reason why a value is missing.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An observation: its value, or the reason why there is none. A check without its value is `skipped`, never `pass`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Seen<T> {
    /// The value that was observed.
    Yes(T),
    /// The reason why there is no value.
    No(String),
}

impl<T> Default for Seen<T> {
    fn default() -> Seen<T> {
        Seen::No("not checked".to_owned())
    }
}

impl<T> Seen<T> {
    /// Returns a missing observation with its reason.
    pub fn no(reason: impl Into<String>) -> Seen<T> {
        Seen::No(reason.into())
    }

    /// Returns the value, if there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Seen::Yes(value) => Some(value),
            Seen::No(_) => None,
        }
    }

    /// Returns the value, or the reason why there is none.
    pub fn as_result(&self) -> Result<&T, &str> {
        match self {
            Seen::Yes(value) => Ok(value),
            Seen::No(reason) => Err(reason),
        }
    }

    /// Applies a function to the value and keeps a reason.
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
