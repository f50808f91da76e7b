//! Sweeps through parts of files in order, block by block, like elbencho's phases.

use crate::op::OpKind;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Goes through parts of the target's files one after another, or makes a call on each file's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Sweep {
    /// Operation on each block or file.
    pub does: SweepOps,
    /// Parts of files to go over.
    pub parts: SweepParts,
    /// Order of the blocks, sequential or random.
    #[serde(default)]
    pub order: SweepOrder,
    /// Bytes per op. The last op of a part may be shorter.
    pub block: Bytes,
    /// Bytes to transfer in random order: per part, or over all parts together. Defaults to the size of the parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_bytes: Option<Bytes>,
    /// Start over at the end, until the group's time is up.
    #[serde(default)]
    pub repeat: bool,
    /// Seed of the random offsets.
    #[serde(default)]
    pub seed: u64,
    /// Number of this worker among all workers, counted from 1. Each worker's random offsets depend on it.
    pub worker_number: u32,
}

/// Operation of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum SweepOps {
    /// Read each block once.
    Read,
    /// Write each block once.
    Write {
        /// Action after each write.
        #[serde(default)]
        then: AfterWrite,
    },
    /// Writes mixed with reads: op `n` reads if `(n + first) % 100` is below the percentage.
    Mix {
        /// Percentage of ops that read.
        read_percent: u8,
        /// First value of the count.
        first: u32,
    },
    /// A call on each file's name. Needs a backend that makes such calls.
    Call {
        /// Kind of op that the call is counted as.
        kind: OpKind,
        /// Error number, errno(3), that does not count as an error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        passes_over_errno: Option<i32>,
        /// Create missing parents of a directory.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        makes_parents: bool,
    },
}

/// Action of a sweep after each write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AfterWrite {
    /// Continue with the next write.
    #[default]
    Nothing,
    /// Read the block back, and verify it if the job verifies.
    ReadBack,
}

/// Parts of files that a sweep goes over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum SweepParts {
    /// All files of the target, each from its first byte.
    Files {
        /// Bytes of each file. The last entry also applies to all further files.
        lengths: Vec<Bytes>,
    },
    /// The listed parts, in this order.
    #[serde(rename = "said")]
    Listed(Vec<FilePart>),
}

/// A contiguous part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FilePart {
    /// Index of the file in the target.
    pub file: u32,
    /// Offset of the first byte.
    pub start: Bytes,
    /// Length of the part in bytes.
    pub length: Bytes,
}

/// Order of the blocks in a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum SweepOrder {
    /// Ascending offsets within each part.
    #[default]
    Forward,
    /// Descending offsets, from the last block of each part.
    Backward,
    /// Every Nth block of all parts together, beginning with a given one.
    Strided {
        /// Number of the first block.
        first: u64,
        /// Blocks from one op to the next.
        step: u64,
    },
    /// Random offsets. Each part is drawn from separately if it is a whole file, or if files are opened one by one
    /// (`create-on-open`). Otherwise all parts are drawn from together.
    Random(SweepDraw),
}

/// Draws of random offsets in a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SweepDraw {
    /// Access each block once before any repeats.
    Once,
    /// Draw any block each time.
    Again,
    /// Draw any byte offset where a whole block fits.
    Unaligned,
}

impl Sweep {
    /// Returns the kind of op if the sweep makes calls on the names of its parts.
    pub fn call(&self) -> Option<OpKind> {
        match self.does {
            SweepOps::Call { kind, .. } => Some(kind),
            SweepOps::Read | SweepOps::Write { .. } | SweepOps::Mix { .. } => None,
        }
    }

    /// Returns the part with this number; `None` if it does not exist.
    pub fn part(&self, number: usize) -> Option<FilePart> {
        match &self.parts {
            SweepParts::Files { lengths } => {
                let length = *lengths.get(number).or(lengths.last())?;
                Some(FilePart { file: u32::try_from(number).ok()?, start: Bytes(0), length })
            }
            SweepParts::Listed(parts) => parts.get(number).copied(),
        }
    }

    /// Returns the end offset of the used part of a file.
    pub fn end_in(&self, file: usize) -> u64 {
        match &self.parts {
            SweepParts::Files { .. } => self.part(file).map_or(0, |part| part.length.0),
            SweepParts::Listed(parts) => {
                parts.iter().filter(|part| part.file as usize == file).map(end_of).max().unwrap_or(0)
            }
        }
    }

    /// Returns the end offsets for the first N files. Visits each part once, however many files there are.
    pub fn ends(&self, files: usize) -> Vec<u64> {
        match &self.parts {
            SweepParts::Files { .. } => (0..files).map(|file| self.end_in(file)).collect(),
            SweepParts::Listed(parts) => {
                let mut ends = vec![0; files];
                for part in parts {
                    if let Some(end) = ends.get_mut(part.file as usize) {
                        *end = end_of(part).max(*end);
                    }
                }
                ends
            }
        }
    }
}

fn end_of(part: &FilePart) -> u64 {
    part.start.0.saturating_add(part.length.0)
}
