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
    /// Recording and replaying ops.
    Replay,
    /// Contents of the written buffers.
    Content,
    /// Buffers, CPUs, NUMA nodes and priorities.
    Memory,
    /// Time series, written to files.
    Logs,
    /// Measurements and their form in reports.
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
    /// Returns the heading.
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

    /// Returns a one-line description of its options.
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

/// Popularity of an option, which decides how soon Plumb must support it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UsageTier {
    /// Used in nearly every job.
    One,
    /// Used by experienced fio users.
    Two,
    /// Used rarely, or for special hardware.
    Three,
    /// Removed from fio itself.
    Gone,
}

/// The order in which the options of a section take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precedence {
    /// Before all others, because others depend on it.
    First,
    /// In the order of the file.
    AsGiven,
    Last,
}

/// One option: a row of the table, bound to a field of a job of type `J`.
pub struct OptionSpec<J: 'static> {
    pub name: &'static str,
    pub alias: Option<&'static str>,
    /// Default, as written in a job file.
    pub default: Option<&'static str>,
    /// Priority of its support in Plumb.
    pub tier: UsageTier,
    /// Engines that have it; empty for all.
    pub engines: &'static [&'static str],
    pub order: Precedence,
    pub support: Support,
    /// A sentence for the help.
    pub doc: &'static str,
    /// Parses its text and sets its field.
    pub(super) reader: &'static dyn OptionReader<J>,
}

impl<J> fmt::Debug for OptionSpec<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OptionSpec").field(&self.name).finish()
    }
}

impl<J> OptionSpec<J> {
    /// Whether `name` is its name or alias.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.alias == Some(name)
    }

    /// Returns the name or the alias, whichever equals `name`.
    pub fn as_named(&self, name: &str) -> &'static str {
        self.alias.filter(|alias| *alias == name).unwrap_or(self.name)
    }

    /// Whether an engine has it.
    pub fn known_to(&self, engine: &str) -> bool {
        self.engines.is_empty() || self.engines.contains(&engine)
    }

    /// Returns the kind of its value.
    pub fn kind(&self) -> Kind {
        self.reader.kind()
    }

    /// Parses the text of the option; `None` if nothing followed its name.
    ///
    /// # Errors
    ///
    /// The text is not a valid value.
    pub fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<Setting<J>, ValueError> {
        self.reader.read(text, reading)
    }
}

/// The options of one category.
#[derive(Debug)]
pub struct Shelf<J: 'static> {
    pub category: Category,
    /// Its options, one slice for each group of fields.
    pub(super) groups: &'static [&'static [OptionSpec<J>]],
}

impl<J> Shelf<J> {
    pub fn options(&self) -> impl Iterator<Item = &'static OptionSpec<J>> + use<J> {
        self.groups.iter().copied().flatten()
    }
}
