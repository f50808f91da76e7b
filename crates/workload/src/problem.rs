//! Problems of meaning.

use crate::keypath::KeyPath;
use std::fmt;

/// A mistake in a file that people write, such as a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Path of keys to it.
    pub path: KeyPath,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.path, self.message, self.help)
    }
}
