//! Requests that the workers of a group take from one queue: what sysbench's file test does.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Requests over all files of the target, which its workers take one after another from one queue: in sequence, each goes on
/// where the last one of any worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Requests {
    /// What is done.
    pub does: RequestOps,
    /// Each at a random block of all files, rather than in sequence.
    #[serde(default)]
    pub random: bool,
    /// Bytes of a request; the last one of a file may be shorter.
    pub block: Bytes,
    /// Bytes of each file that are used.
    pub file_bytes: Bytes,
    /// Flushes between them.
    #[serde(default)]
    pub flush: RequestFlush,
    /// Ends after this many requests and flushes of all workers together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
}

/// What requests do.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum RequestOps {
    /// They read.
    Read,
    /// They write.
    Write,
    /// Each worker reads while it has made fewer than this many reads for each of its writes, and else it writes.
    Mix {
        /// How many.
        reads_per_write: f64,
    },
}

/// Flushes between requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RequestFlush {
    /// Behind every N requests of all workers, if any of them wrote, each file is flushed, by whichever worker comes next; 0 is
    /// never.
    pub every: u32,
    /// Behind each write, its file.
    pub each: bool,
    /// By `fdatasync` rather than `fsync`.
    pub data_only: bool,
    /// Each worker flushes every file behind its last request.
    pub at_end: bool,
}

impl Requests {
    /// Why they cannot be made, with the key and the way out.
    pub fn problem(&self) -> Option<(&'static str, &'static str, &'static str)> {
        match self.does {
            RequestOps::Mix { reads_per_write } if !(reads_per_write >= 0.0 && reads_per_write.is_finite()) => {
                return Some(("does", "the ratio is not a number of 0 or more", "use a number such as 1.5"));
            }
            _ => {}
        }
        if self.block.0 == 0 || self.block.0 > u64::from(u32::MAX) {
            return Some(("block", "a request cannot move so much at once", "use 1 byte to 4 GiB"));
        }
        (self.file_bytes.0 == 0).then_some(("file-bytes", "the files are empty", "use a size above 0"))
    }
}
