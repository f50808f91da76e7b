//! Facts about the system that lowering needs, and errors of lowering.

use super::super::tree::Entry;
use plumb_tools::FileError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Absent,
    Directory,
    File {
        /// Length, bytes.
        bytes: u64,
    },
    Device {
        /// Size, bytes.
        bytes: u64,
    },
    /// Anything else that can be opened.
    Other,
}

/// Answers lowering's questions about the system.
pub trait Places {
    /// Returns the kind of a path, following links.
    fn find(&mut self, path: &str) -> Found;
    /// Returns the CPUs of a NUMA node; `None` if it does not exist.
    fn cpus_of_node(&mut self, node: u32) -> Option<Vec<u32>>;
    /// Returns the numbers of all NUMA nodes.
    fn nodes(&mut self) -> Vec<u32>;
    /// Returns the numbers of all CPUs.
    fn cpus(&mut self) -> Vec<u32>;
    fn tree_file(&mut self, path: &str) -> Result<Vec<u8>, FileError>;
    /// Lists all directories and regular files below a directory, in the system's order,
    /// each directory before its contents.
    fn look_through(&mut self, path: &str) -> Result<Vec<Entry>, FileError>;
    /// Saves a tree file that was just created.
    fn keep_tree(&mut self, path: &str, text: &str) -> Result<(), FileError>;
}

/// Error that keeps a command line from being lowered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LowerError(pub String);

pub(super) fn error<T>(text: impl Into<String>) -> Result<T, LowerError> {
    Err(LowerError(text.into()))
}
