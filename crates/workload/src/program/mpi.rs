//! Files that are opened by MPI-IO.

use super::transfer::{RecordOrder, SegmentOrder, Segments};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a file is opened by MPI-IO, with `MPI_MODE_UNIQUE_OPEN`: its records move by [`Via::Mpi`](super::Via::Mpi), it is flushed by
/// `MPI_File_sync` and closed by `MPI_File_close`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MpiOpen {
    /// How many ranks open it together, the first ones, one worker of each; 1 is the worker alone.
    #[serde(default = "one")]
    pub ranks: u32,
    /// Hints to the MPI library, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hints: BTreeMap<String, String>,
    /// `MPI_File_preallocate` of so much; none where it is 0.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub preallocate: Bytes,
    /// `MPI_File_set_view`: the worker sees only its blocks of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<MpiView>,
}

fn one() -> u32 {
    1
}

fn is_nothing(bytes: &Bytes) -> bool {
    bytes.0 == 0
}

/// A file view: equal blocks, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MpiView {
    /// Where the worker's first block lies.
    pub first: Bytes,
    /// Bytes of a record, of which a block is made.
    pub record: Bytes,
    /// Length of a block.
    pub block: Bytes,
    /// From a block to the worker's next one.
    pub stride: Bytes,
}

impl MpiView {
    /// Whether these are its blocks, from the first to the last.
    pub fn shows(&self, order: &RecordOrder) -> bool {
        let MpiView { first, block, stride, .. } = *self;
        matches!(order, RecordOrder::Segments(segments)
            if *segments == Segments { first, block, stride, count: segments.count, order: SegmentOrder::Forward })
    }

    /// Where the view has what the file has at `offset`, which lies in one of its blocks; bytes.
    pub fn place_of(&self, offset: u64) -> u64 {
        let behind = offset.saturating_sub(self.first.0);
        let stride = self.stride.0.max(1);
        behind / stride * self.block.0 + behind % stride
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects where data of a file view goes: blocks of a rank are one behind the other, whatever lies between them.
    #[test]
    fn a_view_counts_only_its_own_blocks() {
        let view = MpiView { first: Bytes(300), record: Bytes(50), block: Bytes(100), stride: Bytes(400) };
        let places = [300, 350, 700, 750, 1100].map(|offset| view.place_of(offset));
        assert_eq!(places, [0, 50, 100, 150, 200]);
    }
}
