//! Kinds of option values.

pub use super::shape::{ANY, Bare, Bounds, Slots, at_least, at_most, between};

/// The kind of value that an option takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A 32-bit integer, with optional byte suffixes.
    Whole(Slots, Bounds),
    /// A 64-bit integer, usually bytes.
    Wide(Slots, Bounds),
    Time(Slots, Bare),
    /// Bytes, percentage of a file, or number of zones.
    Region,
    /// `0` for off or `1` for on.
    Switch,
    /// Present or absent; `0` turns it off again.
    Flag,
    Text,
    /// Colon-separated names; `\:` is a colon inside a name.
    Names,
    Choice(&'static [&'static str]),
    /// A comma-separated list of these keywords.
    Choices(&'static [&'static str]),
    Floats {
        most: usize,
        /// Minimum and maximum.
        bounds: Option<(f64, f64)>,
    },
    /// Ranges of bytes, for reads, writes and trims.
    Ranges,
    Special(Special),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// `randread:8`.
    Direction,
    /// `4k/60:64k/40,8k`.
    Split,
    /// `zipf:1.2`, `zoned:60/10:40/90`, ….
    Distribution,
    /// `"text"0xff-12`.
    Pattern,
    /// `0,5,8-15`.
    Cpus,
    /// `bind:0-1`.
    NumaPolicy,
    /// `EIO:ENOSPC,5`.
    IgnoreError,
    /// `iops_slope:0.3%`.
    Steady,
    /// `wait_before,write:8`.
    SyncRange,
    /// `random:8`, `zipf:1.2`.
    FileService,
    /// `mmap:/path`.
    Memory,
    /// A prefix; without one, the job's name.
    LogName,
    /// `4k/10/1/0:64k/90`.
    PrioritySplit,
}

impl Kind {
    /// Returns a short description for the help.
    pub fn words(&self) -> &'static str {
        match self {
            Kind::Whole(Slots::One, _) => "a whole number",
            Kind::Whole(Slots::Two, _) => "whole numbers: reads,writes",
            Kind::Whole(Slots::Three, _) => "whole numbers: reads,writes,trims",
            Kind::Wide(Slots::One, _) => "a size such as 64k or 1g",
            Kind::Wide(Slots::Two, _) => "a size or a range of sizes, such as 1m-4m",
            Kind::Wide(Slots::Three, _) => "sizes: reads,writes,trims",
            Kind::Time(Slots::One, Bare::Seconds) => "a time such as 30s or 5m; a bare number is seconds",
            Kind::Time(Slots::One, Bare::Micros) => "a time such as 500us or 2ms; a bare number is microseconds",
            Kind::Time(Slots::Two, _) => "a time or a range of times; a bare number is seconds",
            Kind::Time(Slots::Three, _) => "times: reads,writes,trims; a bare number is microseconds",
            Kind::Region => "a size, a percentage such as 50%, or zones such as 4z",
            Kind::Switch => "0 or 1",
            Kind::Flag => "no value",
            Kind::Text => "text",
            Kind::Names => "names separated by colons",
            Kind::Choice(_) => "one of a list",
            Kind::Choices(_) => "values from a list, separated by commas",
            Kind::Floats { .. } => "numbers separated by colons",
            Kind::Ranges => "ranges of sizes such as 4k-64k: reads,writes,trims",
            Kind::Special(special) => special.words(),
        }
    }

    /// Returns the allowed values, if there is a fixed list.
    pub fn choices(&self) -> &'static [&'static str] {
        match self {
            Kind::Choice(words) | Kind::Choices(words) => words,
            Kind::Special(Special::Direction) => super::direction::WORDS,
            Kind::Special(Special::Memory) => super::choice::MEMORY,
            Kind::Special(Special::FileService) => super::distribution::FILE_SERVICE,
            _ => &[],
        }
    }
}

impl Special {
    fn words(self) -> &'static str {
        match self {
            Special::Direction => "a direction, optionally with a number: randread:8",
            Special::Split => "sizes and percentages: 4k/60:64k/40; directions separated by commas",
            Special::Distribution => {
                "random, zipf:THETA, pareto:H, normal:DEVIATION, zoned:PERCENT/SIZE:…, zoned_abs:PERCENT/BYTES:… or \
                 sequence:I,J,…"
            }
            Special::Pattern => "a sequence of quoted strings, 0x numbers, decimal numbers, 'files' and %o",
            Special::Cpus => "a list of numbers and ranges: 0,5,8-15",
            Special::NumaPolicy => "default, local, prefer:NODE, bind:NODES or interleave:NODES",
            Special::IgnoreError => "lists for reads, writes and verification: EIO:28,ENOSPC",
            Special::Steady => "iops, bw or lat, optionally with _slope, and a limit: iops_slope:0.3%",
            Special::SyncRange => "flags and a number: wait_before,write:8",
            Special::FileService => "roundrobin, sequential, random:N, zipf:THETA, pareto:H or normal:DEVIATION",
            Special::Memory => "a kind, for mapped kinds with a file: mmap:/path",
            Special::LogName => "a file name prefix; defaults to the job's name",
            Special::PrioritySplit => "BLOCK/PERCENT/CLASS/LEVEL/HINT:…",
        }
    }
}
