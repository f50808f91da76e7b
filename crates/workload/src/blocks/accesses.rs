//! Transactions drawn from a table of lines, each with its own size and shares: what IOMeter's access specifications are.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Transactions over one range of a file. For each burst a line of the table is drawn; then each op is drawn by the shares of
/// that line. An op in sequence goes on where the one before it ended, whatever either of them does. Its group has one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Accesses {
    /// The table; shares add up to 100.
    pub lines: Vec<AccessLine>,
    /// Where the range begins.
    pub start: Bytes,
    /// Bytes of the range.
    pub length: Bytes,
    /// Offsets of lines without an alignment are multiples of this.
    pub sector: Bytes,
}

/// A line of an access specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AccessLine {
    /// Bytes of a request.
    pub size: Bytes,
    /// Per cent of the bursts that are of this line.
    pub percent: u8,
    /// Per cent of its transactions that begin with a read.
    pub read_percent: u8,
    /// Per cent of its ops that go to a random place.
    pub random_percent: u8,
    /// Transactions of a burst.
    pub burst: u32,
    /// Offsets are multiples of this; of a sector where it is 0.
    pub align: Bytes,
    /// Bytes of a second op in each transaction, in the other direction; none where it is 0.
    pub reply: Bytes,
}

impl AccessLine {
    /// Whether it ever comes.
    fn comes(&self) -> bool {
        self.percent > 0
    }

    /// Whether it reads.
    fn reads(&self) -> bool {
        self.comes() && (self.read_percent > 0 || self.reply.0 > 0)
    }

    /// Whether it writes.
    fn writes(&self) -> bool {
        self.comes() && (self.read_percent < 100 || self.reply.0 > 0)
    }

    fn sizes(&self) -> impl Iterator<Item = u64> {
        [self.size.0, self.reply.0].into_iter().filter(|bytes| *bytes > 0)
    }
}

impl Accesses {
    /// Whether some of its ops read, and whether some write.
    pub fn moves(&self) -> (bool, bool) {
        (self.lines.iter().any(AccessLine::reads), self.lines.iter().any(AccessLine::writes))
    }

    /// Bytes of its smallest and its largest op.
    pub fn sizes(&self) -> (u64, u64) {
        let sizes = || self.lines.iter().filter(|line| line.comes()).flat_map(AccessLine::sizes);
        (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0))
    }

    /// Whether it only goes to random places.
    pub fn is_random(&self) -> bool {
        self.lines.iter().filter(|line| line.comes()).all(|line| line.random_percent == 100)
    }

    /// Sizes and places of its writes, bytes.
    pub fn write_steps(&self) -> Vec<u64> {
        let lines = self.lines.iter().filter(|line| line.writes());
        let align = |line: &AccessLine| if line.align.0 > 0 { line.align.0 } else { self.sector.0 };
        lines.flat_map(|line| line.sizes().chain([align(line)])).collect()
    }

    /// Why it cannot be done, with the key and the way out.
    pub fn problem(&self) -> Option<(&'static str, &'static str, &'static str)> {
        let most = u64::from(u32::MAX);
        if self.lines.iter().map(|line| u32::from(line.percent)).sum::<u32>() != 100 {
            return Some(("lines", "the shares of the lines do not add up to 100", "make `percent` of all lines 100"));
        }
        if self.lines.iter().any(|line| line.read_percent > 100 || line.random_percent > 100) {
            return Some(("lines", "a share is above 100 %", "use 0 to 100"));
        }
        if self.lines.iter().any(|line| line.size.0 == 0 || line.size.0 > most || line.reply.0 > most) {
            return Some(("lines", "a request cannot move so much at once", "use 1 byte to 4 GiB"));
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
        out.then_some(("start", "the range ends beyond what a file can have", "use less than 8 EiB"))
    }
}
