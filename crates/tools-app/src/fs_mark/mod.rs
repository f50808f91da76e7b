//! fs_mark: creates, flushes and removes many small files. Based on the documentation and the observed behavior of
//! fs_mark 3.3.
//!
//! [`read`] parses a command line, [`lower`](fn@lower) turns one iteration into a workload, and [`print`](mod@print)
//! prints its output.

mod lower;
pub mod print;
mod settings;

pub use lower::lower;
pub use settings::{DEFAULT_LOG, Directories, FsMarkSettings, FsMarkUsageError, SyncMethod, read, usage};

#[cfg(test)]
mod tests;
