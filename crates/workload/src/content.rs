//! What is written.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the bytes of a write are. All of it is generated at memory speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Content {
    /// Incompressible, never the same twice.
    #[default]
    Random,
    /// Zeros.
    Zero,
    /// One byte repeated.
    Byte(u8),
    /// Random with a given share that compresses away and a given share of repeated blocks.
    Reducible {
        /// Share of each 4 KiB that a compressor can remove, 0–100.
        compress_percent: u8,
        /// Share of blocks that are copies of an earlier one, 0–100.
        duplicate_percent: u8,
    },
}

impl BufferContent {
    /// What it is to something that makes bytes smaller.
    pub fn reduced(&self) -> Content {
        match (self.zero || self.compress_percent >= 100, self.pattern.is_empty()) {
            (true, _) => Content::Zero,
            // A pattern repeats itself within a few bytes.
            (false, false) => Content::Reducible { compress_percent: 99, duplicate_percent: 99 },
            (false, true) if self.compress_percent == 0 && self.dedupe_percent == 0 => Content::Random,
            (false, true) => {
                Content::Reducible { compress_percent: self.compress_percent, duplicate_percent: self.dedupe_percent }
            }
        }
    }
}

/// Buffers that are made once and written again and again, changed a little before each write, or made anew for each: what
/// fio writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct BufferContent {
    /// Zeros.
    pub zero: bool,
    /// New random bytes for every write; otherwise a buffer is filled once and written again and again.
    pub refill: bool,
    /// Per cent of each write, from its beginning, that are new random bytes where it is refilled; the rest is one new
    /// random word of 8 bytes, repeated.
    #[serde(skip_serializing_if = "is_all")]
    pub refill_percent: u8,
    /// A little change in each buffer before each write, so that no two blocks are alike.
    pub scramble: bool,
    /// This pattern, repeated; none where empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pattern: Vec<PatternPiece>,
    /// Per cent by which each buffer can be compressed.
    pub compress_percent: u8,
    /// Within this many bytes.
    pub compress_chunk: Bytes,
    /// Per cent of buffers that repeat earlier ones.
    pub dedupe_percent: u8,
    /// Which ones.
    pub dedupe_mode: DedupeMode,
    /// Blocks of the set that is repeated, in per cent of the worker's blocks.
    pub dedupe_set_percent: u8,
    /// All workers repeat blocks of one set.
    pub dedupe_globally: bool,
}

impl Default for BufferContent {
    fn default() -> BufferContent {
        BufferContent {
            zero: false,
            refill: false,
            refill_percent: 100,
            scramble: true,
            pattern: Vec::new(),
            compress_percent: 0,
            compress_chunk: Bytes(512),
            dedupe_percent: 0,
            dedupe_mode: DedupeMode::default(),
            dedupe_set_percent: 5,
            dedupe_globally: false,
        }
    }
}

fn is_all(percent: &u8) -> bool {
    *percent == 100
}

/// Which buffers repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DedupeMode {
    /// The one before.
    #[default]
    Repeat,
    /// One of a set.
    WorkingSet,
}

/// A piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PatternPiece {
    /// These bytes, two hexadecimal digits each.
    Hex(String),
    /// The content of this file.
    File(PathBuf),
    /// The offset of the block, 8 bytes with the least significant first.
    Offset,
    /// The same plus this number, wrapping.
    OffsetPlus(u64),
}
