//! Errors of test directories.

use super::remove;
use super::remove::Leftover;
use crate::refusal::Refusal;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Error from creating or removing a test directory.
#[derive(Debug, Error)]
pub enum TestDirError {
    /// The parent is not a writable directory.
    #[error("cannot make a test directory in {base}: {source}; choose a directory that you can write to", base = base.display())]
    Make {
        /// Directory in which it was to be created.
        base: PathBuf,
        source: io::Error,
    },
    /// The guard refused, because the file system is read-only.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Some entries could not be removed.
    #[error("{path} was not removed completely: {}; remove the rest by hand: rm -r {path}", remove::list(leftovers), path = path.display())]
    Remove {
        path: PathBuf,
        /// The first few remaining entries, with reasons.
        leftovers: Vec<Leftover>,
    },
}

impl TestDirError {
    /// Returns the exit code: 5 for a refusal of the guard, 4 for a system error.
    pub fn exit_code(&self) -> u8 {
        match self {
            TestDirError::Refused(refusal) => refusal.exit_code(),
            TestDirError::Make { .. } | TestDirError::Remove { .. } => 4,
        }
    }
}
