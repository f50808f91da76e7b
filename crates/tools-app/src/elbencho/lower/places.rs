//! What lowering needs to know about the machine, and errors of lowering.

use super::super::tree::Entry;
use plumb_tools::FileError;

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Absent,
    /// A directory.
    Directory,
    /// A regular file.
    File {
        /// Its length, bytes.
        bytes: u64,
    },
    /// A block device.
    Device {
        /// Its size, bytes.
        bytes: u64,
    },
    /// Something else that can be opened.
    Other,
}

/// What lowering asks of the system.
pub trait Places {
    /// What a path leads to, links followed.
    fn look(&mut self, path: &str) -> Found;
    /// The CPUs of a NUMA node; `None` if there is no such node.
    fn cpus_of_node(&mut self, node: u32) -> Option<Vec<u32>>;
    /// The numbers of all NUMA nodes.
    fn nodes(&mut self) -> Vec<u32>;
    /// The numbers of all CPUs.
    fn cpus(&mut self) -> Vec<u32>;
    /// What a tree file holds.
    fn tree_file(&mut self, path: &str) -> Result<Vec<u8>, FileError>;
    /// All directories and regular files below a directory, as the system lists them, each directory before what is in it.
    fn look_through(&mut self, path: &str) -> Result<Vec<Entry>, FileError>;
    /// Keeps a tree file that was just made.
    fn keep_tree(&mut self, path: &str, text: &str) -> Result<(), FileError>;
}

/// Why a command line cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LowerError(pub String);

pub(super) fn error<T>(text: impl Into<String>) -> Result<T, LowerError> {
    Err(LowerError(text.into()))
}
