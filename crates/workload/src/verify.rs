//! How written blocks are stamped, and read blocks verified.

use crate::content::PatternPiece;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How written blocks are stamped, and read blocks verified.
///
/// Plumb's own layout has a header in each block (magic, file, offset, sequence, seed, checksum of the rest), so that a
/// lost, torn, misplaced or stale write is told apart; all reads are verified. sysbench's has a trailer. The others are fio's, so that each reads what
/// the other wrote: reads of a worker that only reads are verified; those of a mix are not, but for what a job reads back.
/// What is said of reading back is of jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Verify {
    /// What a stamp holds.
    pub method: VerifyMethod,
    /// Which layout new stamps have; either is read.
    #[serde(default)]
    pub layout: StampLayout,
    /// Read back and check after each loop of writes.
    #[serde(default = "yes")]
    pub read_back: bool,
    /// Write nothing; check what is there.
    #[serde(default)]
    pub only: bool,
    /// Expect only what was flushed.
    #[serde(default)]
    pub flushed_only: bool,
    /// Bytes that one stamp covers; the smallest block where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Bytes>,
    /// Where in its interval the stamp lies.
    #[serde(default)]
    pub stamp_at: Bytes,
    /// The content between stamps; random where empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pattern: Vec<PatternPiece>,
    /// The pattern starts anew every N bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern_interval: Option<Bytes>,
    /// End at the first wrong block.
    #[serde(default)]
    pub fatal: bool,
    /// Keep blocks that differ in files beside: what was read, and what was expected.
    #[serde(default)]
    pub dump: bool,
    /// Check in this many threads of their own.
    #[serde(default)]
    pub threads: u32,
    /// The CPUs of those threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thread_cpus: Vec<u32>,
    /// Read back after every N writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u64>,
    /// This many blocks at a time; the backlog where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog_batch: Option<u32>,
    /// Find what was written by drawing it again, instead of remembering it.
    #[serde(default)]
    pub redraw: bool,
    /// Expect the number of the write in the stamp.
    #[serde(default = "yes")]
    pub expects_number: bool,
    /// Expect the seed of the content in the stamp.
    #[serde(default = "yes")]
    pub expects_seed: bool,
    /// How far the writes came, kept in a file.
    #[serde(default)]
    pub state: VerifyState,
}

impl Verify {
    /// Length of the header of Plumb's own layout; no block that has one can be smaller.
    pub const HEADER_BYTES: u64 = 64;

    /// Stamps of a method, read back after each loop; all else as where nothing is said of it.
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

/// The layout of stamps. Source of fio's: what it writes; see the engine's `content/stamp.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StampLayout {
    /// Plumb's own, with CRC-32C or xxHash (XXH3, 64 bits); see the engine's `content/headers.rs`.
    Plumb,
    /// That of fio 3.41 and later.
    #[default]
    Versioned,
    /// sysbench's, of `requests` streams: behind random bytes, their CRC-32 and the offset in the file, in 12 bytes; see the
    /// engine's `content/trailers.rs`. All reads are verified, also of what others wrote.
    Sysbench,
    /// That of fio before 3.41. Before 3.39, `sha512` in it is no checksum, but a few bytes of the block.
    Unversioned,
}

/// How far the writes came, kept in a file, so that it can be verified after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct VerifyState {
    /// Begin with what this file says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<PathBuf>,
    /// Write it into this file when the job ends early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub save: Option<PathBuf>,
}

/// What a stamp holds beside place and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum VerifyMethod {
    /// MD5 of the block.
    Md5,
    /// CRC-64.
    Crc64,
    /// CRC-32.
    Crc32,
    /// CRC-32C.
    Crc32c,
    /// CRC-16.
    Crc16,
    /// CRC-7.
    Crc7,
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
    /// SHA3-224.
    #[serde(rename = "sha3-224")]
    Sha3_224,
    /// SHA3-256.
    #[serde(rename = "sha3-256")]
    Sha3_256,
    /// SHA3-384.
    #[serde(rename = "sha3-384")]
    Sha3_384,
    /// SHA3-512.
    #[serde(rename = "sha3-512")]
    Sha3_512,
    /// xxHash, 32 bits.
    XxHash,
    /// Nothing more.
    Meta,
    /// No stamp at all: the pattern fills the block.
    Pattern,
    /// The pattern behind the stamp.
    PatternHeader,
    /// Nothing is checked; it measures the cost of stamping.
    Null,
}
