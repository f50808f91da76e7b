//! The test directory: made by Plumb, marked by Plumb, removed by Plumb.
//!
//! A [`TestDir`] is a fresh directory `plumb-test-<id>` with a marker file `.plumb` in it. Everything in it is test data,
//! and nothing else in the world is. It is removed when it is dropped; what a `kill -9` left is found again by the
//! registry ([`TestDirs`]) or by looking into a directory, known by its marker, and removed if its owner is dead.

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
