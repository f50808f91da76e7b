//! A row of the table of options.

use super::kind::Kind;
use plumb_tools::support::Support;

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

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    /// Its name.
    pub name: &'static str,
    /// Its other name.
    pub alias: Option<&'static str>,
    /// What kind of value it takes.
    pub kind: Kind,
    /// Its default, as it would be written in a job file.
    pub default: Option<&'static str>,
    /// How soon Plumb must support it.
    pub tier: UsageTier,
    /// The engines that have it; empty if all do.
    pub engines: &'static [&'static str],
    /// When it takes effect.
    pub order: Precedence,
    /// Only powers of two are allowed.
    pub power_of_two: bool,
    /// What Plumb does with it.
    pub support: Support,
    /// What it means, in a sentence.
    pub doc: &'static str,
}

/// The options of one category.
#[derive(Debug)]
pub struct Shelf {
    /// The category.
    pub category: Category,
    /// Its options.
    pub options: &'static [OptionSpec],
}

impl OptionSpec {
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

    pub(super) const fn or(mut self, alias: &'static str) -> OptionSpec {
        self.alias = Some(alias);
        self
    }

    pub(super) const fn default(mut self, text: &'static str) -> OptionSpec {
        self.default = Some(text);
        self
    }

    pub(super) const fn first(mut self) -> OptionSpec {
        self.order = Precedence::First;
        self
    }

    pub(super) const fn last(mut self) -> OptionSpec {
        self.order = Precedence::Last;
        self
    }

    pub(super) const fn power_of_two(mut self) -> OptionSpec {
        self.power_of_two = true;
        self
    }

    pub(super) const fn only(mut self, engines: &'static [&'static str]) -> OptionSpec {
        self.engines = engines;
        self
    }

    pub(super) const fn doc(mut self, sentence: &'static str) -> OptionSpec {
        self.doc = sentence;
        self
    }

    pub(super) const fn ignored(mut self, why: &'static str) -> OptionSpec {
        self.support = Support::Ignored(why);
        self
    }

    pub(super) const fn not_yet(mut self, why: &'static str) -> OptionSpec {
        self.support = Support::NotYet(why);
        self
    }

    pub(super) const fn never(mut self, why: &'static str) -> OptionSpec {
        self.support = Support::Never(why);
        self
    }
}

/// A row of the table, to be completed.
pub(super) const fn row(name: &'static str, tier: UsageTier, kind: Kind) -> OptionSpec {
    OptionSpec {
        name,
        alias: None,
        kind,
        default: None,
        tier,
        engines: &[],
        order: Precedence::AsSaid,
        power_of_two: false,
        support: Support::Works,
        doc: "",
    }
}
