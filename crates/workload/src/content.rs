//! Contents of writes.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Contents of the bytes of a write, generated at memory speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Content {
    /// Incompressible random bytes, never repeated.
    #[default]
    Random,
    /// Only zero bytes.
    Zero,
    /// One byte value, repeated.
    Byte(u8),
    /// Random bytes of which a given share compresses away and a given share of blocks repeats.
    Reducible {
        /// Share of each 4 KiB that a compressor can remove, 0–100.
        compress_percent: u8,
        /// Share of blocks that are copies of an earlier one, 0–100.
        duplicate_percent: u8,
    },
}

impl BufferContent {
    /// Returns the equivalent content for a device that compresses or deduplicates.
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

/// fio's write buffers. A buffer is filled once and reused, changed slightly before each write,
/// or refilled for each write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct BufferContent {
    /// Write only zero bytes.
    pub zero: bool,
    /// Fill the buffer with new random bytes for every write. Otherwise fill it once and reuse it.
    pub refill: bool,
    /// Percentage of each write, from its beginning, that is refilled with new random bytes. The rest repeats
    /// one new random 8-byte word.
    #[serde(skip_serializing_if = "is_all")]
    pub refill_percent: u8,
    /// Change each buffer slightly before each write, so that no two blocks are identical.
    pub scramble: bool,
    /// Pattern to repeat; no pattern when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pattern: Vec<PatternPiece>,
    /// Percentage by which each buffer can be compressed.
    pub compress_percent: u8,
    /// Length in bytes of the pieces that `compress-percent` applies to.
    pub compress_chunk: Bytes,
    /// Percentage of buffers that repeat earlier ones.
    pub dedupe_percent: u8,
    /// Choice of the buffers to repeat.
    pub dedupe_mode: DedupeMode,
    /// Number of blocks in the repeated set, as a percentage of the worker's blocks.
    pub dedupe_set_percent: u8,
    /// Let all workers repeat blocks of one set.
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

/// Choice of the buffers to repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DedupeMode {
    /// Repeat the previous buffer.
    #[default]
    Repeat,
    /// Repeat one buffer of a fixed set.
    WorkingSet,
}

/// One piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PatternPiece {
    /// Literal bytes, two hexadecimal digits each.
    Hex(String),
    /// Contents of the file at this path.
    File(PathBuf),
    /// Offset of the block as 8 bytes, least significant first.
    Offset,
    /// Offset of the block plus this number, wrapping.
    OffsetPlus(u64),
}
