//! fs_mark: many small files, made, flushed and removed. Written from what fs_mark 3.3 says and does.
//!
//! [`read`] understands a command line, [`lower`](fn@lower) turns one iteration into a workload, and [`print`](mod@print) prints its lines.

mod lower;
pub mod print;
mod settings;

pub use lower::lower;
pub use settings::{DEFAULT_LOG, Directories, FsMarkSettings, FsMarkUsageError, SyncMethod, read, usage};

#[cfg(test)]
mod tests;
