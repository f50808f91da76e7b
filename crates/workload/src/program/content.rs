//! Contents of a program's writes.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Contents of the memory that a program writes from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum ProgramContent {
    /// Only zero bytes.
    #[default]
    Zeros,
    /// A word of eight equal bytes at the start of every N bytes, and zeros elsewhere.
    Words {
        /// Value of the eight bytes.
        byte: u8,
        /// Distance from one word to the next; 8 fills the memory.
        every: Bytes,
    },
    /// Every word is unique, by its record and its position in the record.
    #[serde(rename = "told")]
    UniqueWords {
        /// Number that is added to every word.
        seed: u64,
    },
    /// Zeros, except that each write increments one byte, and the next write the next byte.
    Counted,
    /// Each byte is its position in the record modulo 128.
    Ascending,
    /// Data packets of IOR and mdtest. Plumb and these tools can verify each other's files.
    Packets(Packets),
    /// Random bytes that differ in every run.
    Random,
    /// Blocks of random bytes, each ending with sysbench's trailer.
    Sysbench {
        /// Bytes per block, including the trailer.
        block: Bytes,
    },
    /// Random bytes that can be compressed and deduplicated by the given percentages.
    Reducible {
        /// Percentage that a compressor can remove.
        compress_percent: u8,
        /// Percentage of blocks that repeat an earlier one.
        duplicate_percent: u8,
    },
}

/// Data packets of IOR and mdtest: 64-bit words that identify the worker and the item or
/// offset they were written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Packets {
    /// Layout of the packets.
    pub kind: PacketKind,
    /// Seed of the packets, which the tools call a time stamp.
    pub seed: i32,
    /// Number of the worker that the records belong to. Items of a tree use their owner's number.
    #[serde(default)]
    pub worker: u32,
}

/// Layouts of data packets. Source: files written by IOR 4.1.0+dev.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PacketKind {
    /// The worker's number and a counter that starts at the seed. All of a worker's writes of
    /// one length are the same.
    #[default]
    Timestamp,
    /// Like `timestamp`, but the first word of every 4 KiB is the item or offset.
    Offset,
    /// One repeated word (despite the name), except for the first word of every 4 KiB as in `offset`.
    Incompressible,
    /// A sequence whose random first word depends on the worker and the item or offset.
    Random,
}

/// Memory that a program's ops write from and read into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ProgramMemory {
    /// Alignment of the memory's start in bytes.
    pub align: Bytes,
    /// Total size to spread ops over: each op uses the next piece. When absent, all ops use the same memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Bytes>,
    /// Cache line length for flushing the memory from the CPU caches before each op. When absent, nothing is flushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purge_line: Option<Bytes>,
}

impl Default for ProgramMemory {
    fn default() -> ProgramMemory {
        ProgramMemory { align: Bytes(4096), spread: None, purge_line: None }
    }
}
