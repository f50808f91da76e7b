//! What a program's writes hold.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What the memory holds that is written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum ProgramContent {
    /// Zeros.
    #[default]
    Zeros,
    /// A word of eight equal bytes at the beginning of each N bytes, zeros else.
    Words {
        /// Eight times.
        byte: u8,
        /// From one word to the next; 8 fills everything.
        every: Bytes,
    },
    /// Every word differs from all others, by its record and its place in it.
    Told {
        /// Added to all of them.
        seed: u64,
    },
    /// Zeros, of which each write counts one byte up, the next at the next write.
    Counted,
    /// Each byte its place in the record, modulo 128.
    Ascending,
    /// The data packets of IOR and mdtest, so that each verifies what the other wrote.
    Packets(Packets),
    /// Random bytes, different in every run.
    Random,
    /// Random bytes in blocks, each with sysbench's trailer.
    Sysbench {
        /// Bytes of a block, the trailer with them.
        block: Bytes,
    },
    /// Random, but compressible and deduplicable by these shares.
    Reducible {
        /// Per cent.
        compress_percent: u8,
        /// Per cent.
        duplicate_percent: u8,
    },
}

/// Data packets of IOR and mdtest: 64-bit words that tell the worker, and the item or the offset that they were written
/// for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Packets {
    /// Which.
    pub kind: PacketKind,
    /// Their seed: what the tools call a time stamp.
    pub seed: i32,
    /// Number of the worker for which records are written; items of a tree are their owner's.
    #[serde(default)]
    pub worker: u32,
}

/// Kinds of data packets. Source: IOR 4.1.0+dev, what it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PacketKind {
    /// The worker's number and a count that begins at the seed: the same in all of a worker's writes of one length.
    #[default]
    Timestamp,
    /// The same, but the first word of each 4 KiB tells the item or offset.
    Offset,
    /// One word, whatever the name says, repeated, but for the first word of each 4 KiB as in `offset`.
    Incompressible,
    /// A sequence whose first word is random, by worker and item or offset.
    Random,
}

/// Where the memory lies that is written and read into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ProgramMemory {
    /// It begins at a multiple of this.
    pub align: Bytes,
    /// Each op uses the next piece of so much memory, rather than all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Bytes>,
    /// The processor's caches are emptied of it before each op, by lines of this length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purge_line: Option<Bytes>,
}

impl Default for ProgramMemory {
    fn default() -> ProgramMemory {
        ProgramMemory { align: Bytes(4096), spread: None, purge_line: None }
    }
}
