//! Transactions drawn from a table of lines, each with its own size and shares, like IOMeter's access specifications.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Transactions over one range of a file.
///
/// Each burst draws a line of the table, and each op of the burst is drawn by that line's shares. A sequential op starts
/// where the previous op ended, whether that one read or wrote. The group must have one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Accesses {
    /// The access specification; `percent` of all lines adds up to 100.
    pub lines: Vec<AccessLine>,
    /// Offset of the range's first byte.
    pub start: Bytes,
    /// Length of the range in bytes.
    pub length: Bytes,
    /// Offset alignment of lines that set no alignment of their own.
    pub sector: Bytes,
}

/// One line of an access specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AccessLine {
    /// Bytes per request of this line.
    pub size: Bytes,
    /// Percentage of bursts that use this line.
    pub percent: u8,
    /// Percentage of this line's transactions that begin with a read.
    pub read_percent: u8,
    /// Percentage of this line's ops at a random offset.
    pub random_percent: u8,
    /// Number of transactions in a burst.
    pub burst: u32,
    /// Offset alignment in bytes; 0 means the sector size.
    pub align: Bytes,
    /// Bytes of a second op in the opposite direction, in each transaction; 0 means no second op.
    pub reply: Bytes,
}

impl AccessLine {
    /// Returns `true` if the line is ever drawn.
    fn is_used(&self) -> bool {
        self.percent > 0
    }

    fn reads(&self) -> bool {
        self.is_used() && (self.read_percent > 0 || self.reply.0 > 0)
    }

    fn writes(&self) -> bool {
        self.is_used() && (self.read_percent < 100 || self.reply.0 > 0)
    }

    fn sizes(&self) -> impl Iterator<Item = u64> {
        [self.size.0, self.reply.0].into_iter().filter(|bytes| *bytes > 0)
    }
}

impl Accesses {
    /// Returns whether any op reads, and whether any op writes.
    pub fn moves(&self) -> (bool, bool) {
        (self.lines.iter().any(AccessLine::reads), self.lines.iter().any(AccessLine::writes))
    }

    /// Returns the smallest and largest op size in bytes.
    pub fn sizes(&self) -> (u64, u64) {
        let sizes = || self.lines.iter().filter(|line| line.is_used()).flat_map(AccessLine::sizes);
        (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0))
    }

    /// Returns `true` if every op goes to a random offset.
    pub fn is_random(&self) -> bool {
        self.lines.iter().filter(|line| line.is_used()).all(|line| line.random_percent == 100)
    }

    /// Returns the sizes and alignments of all writes, in bytes.
    pub fn write_steps(&self) -> Vec<u64> {
        let lines = self.lines.iter().filter(|line| line.writes());
        let align = |line: &AccessLine| if line.align.0 > 0 { line.align.0 } else { self.sector.0 };
        lines.flat_map(|line| line.sizes().chain([align(line)])).collect()
    }

    /// Returns the key of an invalid setting, the error and the fix; `None` if the settings are valid.
    pub fn problem(&self) -> Option<(&'static str, &'static str, &'static str)> {
        let most = u64::from(u32::MAX);
        if self.lines.iter().map(|line| u32::from(line.percent)).sum::<u32>() != 100 {
            return Some(("lines", "the shares of the lines do not add up to 100", "make `percent` of all lines 100"));
        }
        if self.lines.iter().any(|line| line.read_percent > 100 || line.random_percent > 100) {
            return Some(("lines", "a share is above 100 %", "use 0 to 100"));
        }
        if self.lines.iter().any(|line| line.size.0 == 0 || line.size.0 > most || line.reply.0 > most) {
            return Some(("lines", "a request has 0 bytes or too many", "use 1 byte to 4 GiB"));
        }
        if self.lines.iter().any(|line| line.burst == 0) {
            return Some(("lines", "a burst has no transaction", "use `burst = 1` or more"));
        }
        if self.sector.0 == 0 {
            return Some(("sector", "a sector has 0 bytes", "use 512"));
        }
        if self.lines.iter().any(|line| line.align.0 > self.length.0) || self.sizes().1 > self.length.0 {
            return Some(("length", "the range is smaller than a request or an alignment", "make it larger"));
        }
        let end = self.start.0.checked_add(self.length.0);
        let out = end.is_none_or(|end| i64::try_from(end).is_err());
        out.then_some(("start", "the range ends beyond the maximum file size", "use less than 8 EiB"))
    }
}
