//! Whether storage holds as many bytes as it claims. Counterfeit flash claims more than it has: what is written beyond lands on
//! earlier blocks (*wraps around*), is lost, or is answered from a small cache until that is full.
//!
//! Every 4 KiB get a stamp that says where they belong ([`plumb_engine::content`]). First a [`probe`](probe::probe) writes a few hundred
//! of them, chosen so that each likely real size would show, and reads them back behind a cache's worth of other writes: seconds. Then
//! all of the space is written in the order of a keyed permutation and read back in that of another, in constant memory; only
//! that proves that all is there.

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

/// Bytes with a stamp of their own.
pub const BLOCK_BYTES: u64 = 4096;

/// Bytes of a transfer.
pub(crate) const TRANSFER_BYTES: u64 = 1 << 20;

/// Why a check did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum CapacityError {
    /// It holds not even one block.
    #[error("{bytes} bytes are too few: a block has {BLOCK_BYTES}")]
    TooSmall {
        /// What it claims.
        bytes: u64,
    },
    /// What was written cannot be made durable.
    #[error("what was written cannot be flushed: {0}")]
    Flush(#[source] std::io::Error),
    /// The user interrupted it.
    #[error("interrupted")]
    Interrupted,
}
