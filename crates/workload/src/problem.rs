//! Semantic errors in workloads.

use crate::keypath::KeyPath;
use std::fmt;

/// A semantic error in a file that users write, such as a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub path: KeyPath,
    pub message: String,
    /// How to fix it.
    pub help: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.path, self.message, self.help)
    }
}
