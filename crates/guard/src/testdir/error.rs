//! What goes wrong with a test directory.

use super::remove;
use super::remove::Leftover;
use crate::refusal::Refusal;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a test directory could not be made or removed.
#[derive(Debug, Error)]
pub enum TestDirError {
    /// Where it should lie is no directory that can be written.
    #[error("cannot make a test directory in {base}: {source}; choose a directory that you can write to", base = base.display())]
    Make {
        /// Where it should lie.
        base: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The guard refuses: the file system is read-only.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Something in it could not be removed.
    #[error("{path} was not removed completely: {}; remove the rest by hand: rm -r {path}", remove::list(leftovers), path = path.display())]
    Remove {
        /// The directory.
        path: PathBuf,
        /// What stayed, and why; the first few.
        leftovers: Vec<Leftover>,
    },
}

impl TestDirError {
    /// Exit code of a program that ends by this: 5 for a refusal of the guard, 4 for an error of the system.
    pub fn exit_code(&self) -> u8 {
        match self {
            TestDirError::Refused(refusal) => refusal.exit_code(),
            TestDirError::Make { .. } | TestDirError::Remove { .. } => 4,
        }
    }
}
