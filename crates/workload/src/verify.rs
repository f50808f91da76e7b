//! Stamps on written blocks, and verification of read blocks.

use crate::content::PatternPiece;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Stamps written blocks and verifies read blocks.
///
/// Plumb's own layout puts a header in each block: magic, file, offset, sequence, seed, and a checksum of
/// the rest. It tells lost, torn, misplaced and stale writes apart, and all reads are verified.
/// sysbench's layout has a trailer.
///
/// The other layouts are fio's, so that Plumb and fio can verify each other's files. With these, only the reads of a
/// read-only worker and the blocks that a job reads back are verified. The options for reading back apply to jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Verify {
    /// Contents of a stamp, such as a checksum.
    pub method: VerifyMethod,
    /// Layout of new stamps. All layouts can be read.
    #[serde(default)]
    pub layout: StampLayout,
    /// Read back and verify after each loop of writes.
    #[serde(default = "yes")]
    pub read_back: bool,
    /// Write nothing, and verify the existing data.
    #[serde(default)]
    pub only: bool,
    /// Expect only data that was flushed.
    #[serde(default)]
    pub flushed_only: bool,
    /// Bytes that one stamp covers; defaults to the smallest block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Bytes>,
    /// Offset of the stamp within its interval.
    #[serde(default)]
    pub stamp_at: Bytes,
    /// Contents between stamps; random when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pattern: Vec<PatternPiece>,
    /// Number of bytes after which the pattern starts over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern_interval: Option<Bytes>,
    /// Stop at the first block that fails verification.
    #[serde(default)]
    pub fatal: bool,
    /// Save blocks that fail verification to files: the data read and the data expected.
    #[serde(default)]
    pub dump: bool,
    /// Number of separate threads that verify; 0 means none.
    #[serde(default)]
    pub threads: u32,
    /// CPUs for those threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thread_cpus: Vec<u32>,
    /// Read back after every N writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u64>,
    /// Blocks to read back at a time; defaults to the backlog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog_batch: Option<u32>,
    /// Find written blocks by repeating the random draws, instead of remembering them.
    #[serde(default)]
    pub redraw: bool,
    /// Expect the number of the write in the stamp.
    #[serde(default = "yes")]
    pub expects_number: bool,
    /// Expect the seed of the content in the stamp.
    #[serde(default = "yes")]
    pub expects_seed: bool,
    /// Files that keep the progress of the writes.
    #[serde(default)]
    pub state: VerifyState,
}

impl Verify {
    /// Length of the header in Plumb's own layout, and so the minimum size of its blocks.
    pub const HEADER_BYTES: u64 = 64;

    /// Returns stamps of this method, read back after each loop, with defaults otherwise.
    pub fn new(method: VerifyMethod) -> Verify {
        Verify {
            method,
            layout: StampLayout::default(),
            read_back: yes(),
            only: false,
            flushed_only: false,
            interval: None,
            stamp_at: Bytes(0),
            pattern: Vec::new(),
            pattern_interval: None,
            fatal: false,
            dump: false,
            threads: 0,
            thread_cpus: Vec::new(),
            backlog: None,
            backlog_batch: None,
            redraw: false,
            expects_number: yes(),
            expects_seed: yes(),
            state: VerifyState::default(),
        }
    }
}

fn yes() -> bool {
    true
}

/// Layout of stamps. fio's layouts follow the files that it writes; see the engine's `content/stamp.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StampLayout {
    /// Plumb's own layout, with CRC-32C or xxHash (XXH3, 64 bits); see the engine's `content/headers.rs`.
    Plumb,
    /// Layout of fio 3.41 and later.
    #[default]
    Versioned,
    /// sysbench's layout, for `requests` streams. Random bytes are followed by a 12-byte trailer:
    /// their CRC-32 and the offset in the file. All reads are verified, also of files written by
    /// others. See the engine's `content/trailers.rs`.
    Sysbench,
    /// Layout of fio before 3.41. Before 3.39, its `sha512` is a few bytes of the block instead of a checksum.
    Unversioned,
}

/// Progress of the writes, kept in a file so that they can be verified after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct VerifyState {
    /// File to read the state from at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<PathBuf>,
    /// File to write the state to if the job ends early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub save: Option<PathBuf>,
}

/// Contents of a stamp, apart from position and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum VerifyMethod {
    /// MD5 checksum of the block.
    Md5,
    /// CRC-64 checksum of the block.
    Crc64,
    /// CRC-32 checksum of the block.
    Crc32,
    /// CRC-32C checksum of the block.
    Crc32c,
    /// CRC-16 checksum of the block.
    Crc16,
    /// CRC-7 checksum of the block.
    Crc7,
    /// SHA-1 checksum of the block.
    Sha1,
    /// SHA-256 checksum of the block.
    Sha256,
    /// SHA-512 checksum of the block.
    Sha512,
    /// SHA3-224 checksum of the block.
    #[serde(rename = "sha3-224")]
    Sha3_224,
    /// SHA3-256 checksum of the block.
    #[serde(rename = "sha3-256")]
    Sha3_256,
    /// SHA3-384 checksum of the block.
    #[serde(rename = "sha3-384")]
    Sha3_384,
    /// SHA3-512 checksum of the block.
    #[serde(rename = "sha3-512")]
    Sha3_512,
    /// xxHash checksum of the block, 32 bits.
    XxHash,
    /// Only position and time, without a checksum.
    Meta,
    /// No stamp: the pattern fills the block.
    Pattern,
    /// The stamp, followed by the pattern.
    PatternHeader,
    /// Stamp blocks but verify nothing, to measure the cost of stamping.
    Null,
}
