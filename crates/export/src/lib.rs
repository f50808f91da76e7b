//! Numbers of runs in the formats of other programs: `plumb export`.
//!
//! [`flat`] makes one record of each number, and every format is written from these records. Nothing here opens a file.

pub mod bencher;
pub mod flat;
pub mod horreum;
pub mod opensearch;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(test)]
mod testing;

pub use flat::{FlatInterval, FlatNumber, FlatResult, FlatRun, FlatSite, FlatStudy};

/// Returns a text of at most `max_bytes`, which must be at least 32. A longer one is cut, and the hash of the whole is
/// appended, so that different texts stay different.
pub(crate) fn shortened(text: &str, max_bytes: usize) -> String {
    const HASH_CHARS: usize = 16;
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let hash = blake3::hash(text.as_bytes()).to_hex();
    let room = max_bytes - HASH_CHARS - 1;
    let kept = (0..=room).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    format!("{}-{}", &text[..kept], &hash[..HASH_CHARS])
}
