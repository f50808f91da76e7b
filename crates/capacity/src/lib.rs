//! Tests whether storage holds as many bytes as it claims. Counterfeit flash claims more than it has. Data written
//! past its real end lands on earlier blocks (*wraps around*), is lost, or is served from a small cache until that is
//! full.
//!
//! Each 4 KiB block gets a stamp with the offset where it belongs ([`plumb_engine::content`]). A
//! [`probe`](probe::probe) first writes a few hundred blocks, chosen so that each likely real size would show. It
//! then writes enough to flush a cache and reads the blocks back. This takes seconds. The full check then writes the
//! whole space in the order of a keyed permutation and reads it back in the order of another one, in constant memory.
//! Only the full check proves that the capacity is real.

mod blocks;
mod files;
mod medium;
mod pass;
mod probe;
mod tally;
#[cfg(test)]
mod tests;

pub use files::{Covered, Files, FilesError};
pub use medium::{Direct, Medium};
pub use pass::{Pass, Progress, Step, check};
pub use probe::{Probe, probe};
pub use tally::{Tally, Verdict};

/// Size of a stamped block.
pub const BLOCK_BYTES: u64 = 4096;

pub(crate) const TRANSFER_BYTES: u64 = 1 << 20;

/// Error that ends a check early.
#[derive(Debug, thiserror::Error)]
pub enum CapacityError {
    /// The storage is smaller than one block.
    #[error("{bytes} bytes is less than one block of {BLOCK_BYTES} bytes")]
    TooSmall { bytes: u64 },
    /// Written data cannot be made durable.
    #[error("cannot flush the written data: {0}")]
    Flush(#[source] std::io::Error),
    /// The user interrupted the check.
    #[error("interrupted")]
    Interrupted,
}
