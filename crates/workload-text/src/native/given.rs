//! A change to a workload, as given by `--set`.

use std::fmt;
use std::str::FromStr;

/// A change to a workload, such as `depth=32` or `phase.0.workers.0.depth=32`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// One of the [`SHORTHANDS`], or a [`KeyPath`].
    pub path: String,
    /// A TOML value. Text that is not TOML counts as a string, so that `4KiB` needs no quotes.
    pub value: String,
}

/// Error from parsing an override.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` has no `=`; write KEY=VALUE, such as `depth=32` or `phase.0.cache=direct`")]
pub struct OverrideError {
    pub text: String,
}

impl FromStr for Override {
    type Err = OverrideError;
    fn from_str(text: &str) -> Result<Override, OverrideError> {
        match text.split_once('=') {
            Some((path, value)) if !path.trim().is_empty() => {
                Ok(Override { path: path.trim().to_owned(), value: value.trim().to_owned() })
            }
            _ => Err(OverrideError { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.path, self.value)
    }
}
