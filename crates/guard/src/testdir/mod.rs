//! Test directories, which Plumb creates, marks and removes.
//!
//! A [`TestDir`] is a new directory `plumb-test-<id>` with a marker file `.plumb` in it. Everything in it is
//! test data, and nothing outside is. It is removed on drop. Directories left by a `kill -9` are found
//! through the registry ([`TestDirs`]) or by searching a directory. They are recognised by their marker and
//! removed if their owner is dead.

mod dir;
mod error;
mod marker;
mod owner;
mod registry;
mod remove;

pub use owner::started_ticks;
pub use registry::{CleanReport, KeptDirectory, Living, TestDirs};
pub use remove::Leftover;
pub use remove::contents as remove_contents;

#[cfg(test)]
mod tests;

pub use dir::{PREFIX, TestDir};
pub use error::TestDirError;
pub use marker::MARKER;
