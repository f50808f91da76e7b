//! What is written, and how what is read is verified.

use serde::{Deserialize, Serialize};

/// What the bytes of a write are. All of it is generated at memory speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "=", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Content"))]
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

/// How written blocks are stamped and read blocks verified.
///
/// Each block carries a header (magic, file, offset, sequence, seed, checksum of the rest), so that a lost, torn,
/// misplaced or stale write is told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Verify {
    /// Over the block behind its header.
    pub checksum: Checksum,
}

impl Verify {
    /// Length of the header at the start of each stamped block; no verified block can be smaller.
    pub const HEADER_BYTES: u64 = 64;
}

/// The checksum of a verified block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Checksum {
    /// CRC-32C (Castagnoli), in hardware where there is one.
    Crc32c,
    /// XXH3, 64 bit.
    Xxh3,
}
