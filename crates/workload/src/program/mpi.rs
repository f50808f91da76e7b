//! Files opened with MPI-IO.

use super::transfer::{RecordOrder, SegmentOrder, Segments};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Options for opening a file with MPI-IO, with `MPI_MODE_UNIQUE_OPEN`. Its records are moved by
/// [`Via::Mpi`](super::Via::Mpi). It is flushed by `MPI_File_sync` and closed by `MPI_File_close`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MpiOpen {
    /// Number of ranks that open the file together: the first ones, with one worker each. 1 means that
    /// the worker opens it alone.
    #[serde(default = "one")]
    pub ranks: u32,
    /// Hints to the MPI library, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hints: BTreeMap<String, String>,
    /// Bytes to reserve with `MPI_File_preallocate`; 0 means none.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub preallocate: Bytes,
    /// File view set with `MPI_File_set_view`, which shows the worker only its own blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<MpiView>,
}

fn one() -> u32 {
    1
}

fn is_nothing(bytes: &Bytes) -> bool {
    bytes.0 == 0
}

/// A file view of equal blocks at a regular stride.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MpiView {
    /// Offset of the worker's first block.
    pub first: Bytes,
    /// Bytes per record; blocks consist of records.
    pub record: Bytes,
    /// Bytes per block.
    pub block: Bytes,
    /// Distance from one of the worker's blocks to its next.
    pub stride: Bytes,
}

impl MpiView {
    /// Returns `true` if the view shows exactly these blocks, from first to last.
    pub fn shows(&self, order: &RecordOrder) -> bool {
        let MpiView { first, block, stride, .. } = *self;
        matches!(order, RecordOrder::Segments(segments)
            if *segments == Segments { first, block, stride, count: segments.count, order: SegmentOrder::Forward })
    }

    /// Returns the position in the view, in bytes, of a file offset within one of its blocks.
    pub fn place_of(&self, offset: u64) -> u64 {
        let distance = offset.saturating_sub(self.first.0);
        let stride = self.stride.0.max(1);
        distance / stride * self.block.0 + distance % stride
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects the placement of data in a file view: a rank's blocks are contiguous there, whatever lies
    // between them in the file.
    #[test]
    fn a_view_counts_only_its_own_blocks() {
        let view = MpiView { first: Bytes(300), record: Bytes(50), block: Bytes(100), stride: Bytes(400) };
        let places = [300, 350, 700, 750, 1100].map(|offset| view.place_of(offset));
        assert_eq!(places, [0, 50, 100, 150, 200]);
    }
}
