//! A row of the table of options.

use super::row::{OptionReader, Setting};
use crate::fio::value::kind::Kind;
use crate::fio::value::{ValueError, ValueReading};
use plumb_tools::support::Support;
use std::fmt;

/// Subject of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// Name, copies, order and reporting group.
    Job,
    /// Files and devices: how they are chosen, created, opened and removed.
    Files,
    /// Direction, offsets and block sizes.
    Direction,
    /// How ops are submitted and how many are in flight.
    Queue,
    /// Rate limits, pauses and latency targets.
    Pace,
    /// When the job ends, and what happens on errors.
    Stop,
    /// When data is flushed.
    Durability,
    /// Checking that data reads back as written.
    Verify,
    /// Trims in a mixed workload.
    Trim,
    /// Ops from a recording.
    Replay,
    /// What the written buffers contain.
    Content,
    /// Buffers, CPUs, NUMA nodes and priorities.
    Memory,
    /// Time series, written to files.
    Logs,
    /// What is measured and how it is reported.
    Statistics,
    /// Zoned devices and zoned access to files.
    Zones,
    /// Options that only some engines have.
    Engine,
    /// Options of engines that Plumb does not run.
    Passthrough,
    /// Options of fio's built-in profiles.
    Profiles,
}

impl Category {
    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Category::Job => "Job",
            Category::Files => "Files",
            Category::Direction => "I/O pattern",
            Category::Queue => "Queue",
            Category::Pace => "Rate and latency control",
            Category::Stop => "Run time, end and errors",
            Category::Durability => "Durability",
            Category::Verify => "Verification",
            Category::Trim => "Trims",
            Category::Replay => "Record and replay",
            Category::Content => "Buffer contents",
            Category::Memory => "Memory, CPUs and priorities",
            Category::Logs => "Logs",
            Category::Statistics => "Statistics",
            Category::Zones => "Zones",
            Category::Engine => "Engine options",
            Category::Passthrough => "Options of unsupported engines",
            Category::Profiles => "Profiles",
        }
    }

    /// One-line description of its options.
    pub fn about(self) -> &'static str {
        match self {
            Category::Job => "Name, copies, order and reporting group.",
            Category::Files => "Files and devices: how they are chosen, created, opened and removed.",
            Category::Direction => "Direction, offsets and block sizes.",
            Category::Queue => "How ops are submitted and how many are in flight.",
            Category::Pace => "Rate limits, pauses and latency targets.",
            Category::Stop => "When the job ends, and what happens on errors.",
            Category::Durability => "When data is flushed.",
            Category::Verify => "Checking that data reads back as written.",
            Category::Trim => "Trims in a mixed workload.",
            Category::Replay => "Recording ops, and replaying recordings.",
            Category::Content => "What the written buffers contain.",
            Category::Memory => "Buffers, CPUs, NUMA nodes and priorities.",
            Category::Logs => "Time series, written to files.",
            Category::Statistics => "What is measured and how it is reported.",
            Category::Zones => "Zoned devices and zoned access to files.",
            Category::Engine => "Options that only some engines have.",
            Category::Passthrough => "`--translate` keeps these; running them is refused.",
            Category::Profiles => "Options of fio's built-in profiles.",
        }
    }
}

/// How common an option is, and so how soon Plumb must support it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UsageTier {
    /// In nearly every job.
    One,
    /// Used by experienced fio users.
    Two,
    /// Rarely, or for special hardware.
    Three,
    /// Removed from fio itself.
    Gone,
}

/// When an option takes effect among those of one section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precedence {
    /// Before all others, because others depend on it.
    First,
    /// In the order of the file.
    AsSaid,
    /// After all others.
    Last,
}

/// One option: a row of the table, bound to a field of a job of type `J`.
pub struct OptionSpec<J: 'static> {
    /// Its name.
    pub name: &'static str,
    /// Its other name.
    pub alias: Option<&'static str>,
    /// Its default, as it would be written in a job file.
    pub default: Option<&'static str>,
    /// How soon Plumb must support it.
    pub tier: UsageTier,
    /// The engines that have it; empty if all do.
    pub engines: &'static [&'static str],
    /// When it takes effect.
    pub order: Precedence,
    /// What Plumb does with it.
    pub support: Support,
    /// What it means, in a sentence.
    pub doc: &'static str,
    /// Reads its text and sets its field.
    pub(super) reader: &'static dyn OptionReader<J>,
}

impl<J> fmt::Debug for OptionSpec<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OptionSpec").field(&self.name).finish()
    }
}

impl<J> OptionSpec<J> {
    /// Whether this is its name or alias.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.alias == Some(name)
    }

    /// Its own name or its alias, whichever this is.
    pub fn as_named(&self, name: &str) -> &'static str {
        self.alias.filter(|alias| *alias == name).unwrap_or(self.name)
    }

    /// Whether an engine knows it.
    pub fn known_to(&self, engine: &str) -> bool {
        self.engines.is_empty() || self.engines.contains(&engine)
    }

    /// Returns the kind of its value.
    pub fn kind(&self) -> Kind {
        self.reader.kind()
    }

    /// Reads the text of the option; `None` if nothing followed its name.
    ///
    /// # Errors
    /// The text is not a value of the option.
    pub fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<Setting<J>, ValueError> {
        self.reader.read(text, reading)
    }
}

/// The options of one category.
#[derive(Debug)]
pub struct Shelf<J: 'static> {
    /// The category.
    pub category: Category,
    /// Its options, a slice for each group of fields.
    pub(super) groups: &'static [&'static [OptionSpec<J>]],
}

impl<J> Shelf<J> {
    /// Its options.
    pub fn options(&self) -> impl Iterator<Item = &'static OptionSpec<J>> + use<J> {
        self.groups.iter().copied().flatten()
    }
}
