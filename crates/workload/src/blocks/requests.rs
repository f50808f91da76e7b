//! Requests that all workers of a group take from one queue, like sysbench's file test.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Requests over all files of the target, taken by the workers one at a time from one queue. A sequential request
/// starts where the previous one ended, whichever worker made it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Requests {
    /// Kinds of op that requests make.
    pub does: RequestOps,
    /// Request random blocks of all files instead of sequential ones.
    #[serde(default)]
    pub random: bool,
    /// Bytes per request. The last request of a file may be shorter.
    pub block: Bytes,
    /// Bytes used of each file.
    pub file_bytes: Bytes,
    /// Flushes between and after the requests.
    #[serde(default)]
    pub flush: RequestFlush,
    /// Number of requests and flushes, over all workers, after which to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
}

/// Kinds of op that requests make.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum RequestOps {
    /// Every request reads a block.
    Read,
    /// Every request writes a block.
    Write,
    /// Each worker reads until it has made this many reads for each of its writes, then writes.
    Mix {
        /// Number of reads per write; may be fractional.
        reads_per_write: f64,
    },
}

/// Flushes between and after requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RequestFlush {
    /// After every N requests of all workers, flush each file if any of them wrote; 0 means never. The next worker
    /// to take a request flushes.
    pub every: u32,
    /// Flush the file after each write.
    pub each: bool,
    /// Use `fdatasync` instead of `fsync`.
    pub data_only: bool,
    /// Each worker flushes every file after its last request.
    pub at_end: bool,
}

impl Requests {
    /// Returns the key of an invalid setting, the error and the fix; `None` if the settings are valid.
    pub fn problem(&self) -> Option<(&'static str, &'static str, &'static str)> {
        match self.does {
            RequestOps::Mix { reads_per_write } if !(reads_per_write >= 0.0 && reads_per_write.is_finite()) => {
                return Some(("does", "the ratio is not a number of 0 or more", "use a number such as 1.5"));
            }
            _ => {}
        }
        if self.block.0 == 0 || self.block.0 > u64::from(u32::MAX) {
            return Some(("block", "a request has 0 bytes or too many", "use 1 byte to 4 GiB"));
        }
        (self.file_bytes.0 == 0).then_some(("file-bytes", "the files are empty", "use a size above 0"))
    }
}
