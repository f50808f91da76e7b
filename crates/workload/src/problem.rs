//! Problems of meaning.

use crate::keypath::KeyPath;
use std::fmt;

/// A mistake in a file that people write, such as a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Path of keys to it.
    pub path: KeyPath,
    /// The fault, in words.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.path, self.message, self.help)
    }
}
