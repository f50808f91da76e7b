//! Copies: bytes from one place to another, block by block, as dd moves them.
//!
//! A copy is no source with a backend: what it writes is what it has just read, in blocks of another size perhaps, and how
//! far it reads follows from what reads return. [`ends`] opens both ends ([`end`]), [`plan`] makes the worker, [`mover`] is its loop with [`input`] and
//! [`output`] at its sides;
//! [`converter`] changes bytes on their way, [`in_kernel`] moves them without looking at them, and [`dropped`] keeps what
//! was moved out of the page cache.
//!
//! Counts of blocks, and what goes wrong, are told while it runs to a [`CopyListener`], since the tools that make copies say
//! them at once and in their own words.

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

/// Hears what happens in a copy, from the worker itself. It is called seldom, and may print.
pub trait CopyListener: Send + Sync {
    /// Something happens, so long after the start (ns), and so much has been moved.
    fn hear(&self, event: CopyEvent, counts: &CopyCounts, elapsed_ns: u64);
}

/// A listener that several may hold.
pub type SharedListener = Arc<dyn CopyListener>;

/// The system's error number.
fn number(errno: Errno) -> i32 {
    errno.raw_os_error()
}
