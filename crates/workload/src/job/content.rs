//! What a job writes.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a job writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct JobContent {
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
    /// Within so many bytes.
    pub compress_chunk: Bytes,
    /// Per cent of buffers that repeat earlier ones.
    pub dedupe_percent: u8,
    /// Which ones.
    pub dedupe_mode: DedupeMode,
    /// Blocks of the set that is repeated, in per cent of the job's blocks.
    pub dedupe_set_percent: u8,
    /// All jobs repeat blocks of one set.
    pub dedupe_globally: bool,
}

impl Default for JobContent {
    fn default() -> JobContent {
        JobContent {
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
