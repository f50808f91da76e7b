//! Copies: moves bytes from one place to another, block by block, like dd.
//!
//! A copy is not a source with a backend. It writes the data that it has just read, perhaps in blocks of another size,
//! and the results of reads determine how far it reads. [`ends`] opens both ends ([`end`]) and [`plan`] creates the
//! worker. [`mover`] is its loop, between [`input`] and [`output`]. [`converter`] changes bytes on the way,
//! [`in_kernel`] lets the kernel move them, and [`dropped`] drops copied data from the page cache.
//!
//! A [`CopyListener`] receives block counts and errors during the copy, because tools like dd print them at once
//! and in their own words.

mod account;
mod converter;
mod dropped;
mod end;
pub(crate) mod ends;
mod in_kernel;
mod input;
mod mover;
mod output;
pub(crate) mod plan;
mod tables;

#[cfg(test)]
mod tests;

pub use ends::CopyError;
pub use plumb_result::copy::{CopyBlocks, CopyCounts, CopyEvent, CopyStep};

use rustix::io::Errno;
use std::sync::Arc;

/// Receives events of a copy from the worker itself. Calls are rare, and may print.
pub trait CopyListener: Send + Sync {
    /// Handles an event, `elapsed_ns` after the start and with the counts so far.
    fn hear(&self, event: CopyEvent, counts: &CopyCounts, elapsed_ns: u64);
}

/// A listener shared by several owners.
pub type SharedListener = Arc<dyn CopyListener>;

/// Returns the system's error number.
fn number(errno: Errno) -> i32 {
    errno.raw_os_error()
}
