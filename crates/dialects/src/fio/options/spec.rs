//! What a row of the table says.

use super::kind::Kind;

/// What an option is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// The job itself: its name, copies, order and group.
    Job,
    /// Which files and devices, how they are made, opened and left.
    Files,
    /// What is done: reads, writes and trims, where, and in which sizes.
    Direction,
    /// How ops are handed over and how many are in flight.
    Queue,
    /// How fast: rates, pauses and latency goals.
    Pace,
    /// When it ends, and what errors do.
    Stop,
    /// When data is made to last.
    Durability,
    /// Is what comes back what was written?
    Verify,
    /// Trims amid other work.
    Trim,
    /// Ops from a recording.
    Replay,
    /// What is written.
    Content,
    /// Buffers, CPUs, memory nodes and priorities.
    Memory,
    /// Series over time, in files.
    Logs,
    /// What is measured and how it is told.
    Statistics,
    /// Devices and files in zones.
    Zones,
    /// What only some engines know.
    Engine,
    /// What only engines know that Plumb does not run.
    Passthrough,
    /// Options of fio's built-in profiles.
    Profiles,
}

impl Category {
    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Category::Job => "The job",
            Category::Files => "Files",
            Category::Direction => "What is done",
            Category::Queue => "The queue",
            Category::Pace => "Pace",
            Category::Stop => "The end, and errors",
            Category::Durability => "Durability",
            Category::Verify => "Verification",
            Category::Trim => "Trims",
            Category::Replay => "Recordings",
            Category::Content => "Content",
            Category::Memory => "Memory, CPUs and priorities",
            Category::Logs => "Logs",
            Category::Statistics => "Statistics",
            Category::Zones => "Zones",
            Category::Engine => "Options of engines",
            Category::Passthrough => "Options of engines that are not run, or of parts of them",
            Category::Profiles => "Profiles",
        }
    }

    /// What its options are about, in a sentence.
    pub fn about(self) -> &'static str {
        match self {
            Category::Job => "The job itself: its name, copies, order and group.",
            Category::Files => "Which files and devices, how they are made, opened and left.",
            Category::Direction => "Reads, writes and trims, where, and in which sizes.",
            Category::Queue => "How ops are handed over and how many are in flight.",
            Category::Pace => "How fast: rates, pauses and latency goals.",
            Category::Stop => "When it ends, and what errors do.",
            Category::Durability => "When data is made to last.",
            Category::Verify => "Is what comes back what was written?",
            Category::Trim => "Trims amid other work.",
            Category::Replay => "Ops from a recording, and recordings of ops.",
            Category::Content => "What is written.",
            Category::Memory => "Buffers, CPUs, memory nodes and priorities.",
            Category::Logs => "Series over time, in files.",
            Category::Statistics => "What is measured and how it is told.",
            Category::Zones => "Devices and files in zones.",
            Category::Engine => "What only some engines know.",
            Category::Passthrough => "What is kept by `--translate`, and refused when it is to be run.",
            Category::Profiles => "What fio's built-in profiles ask.",
        }
    }
}

/// How often an option is used in the wild, and so how soon it must work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UsageTier {
    /// In nearly every job.
    One,
    /// By those who know fio well.
    Two,
    /// Rarely, or for special hardware.
    Three,
    /// Dropped by fio itself.
    Gone,
}

/// What Plumb does with an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The job's meaning includes it.
    Works,
    /// It may be said, and changes nothing, for this reason.
    Ignored(&'static str),
    /// A job that says it is refused for now, for this reason.
    NotYet(&'static str),
    /// A job that says it is refused for good, for this reason.
    Never(&'static str),
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
    /// What holds where it is not said, written as it would be said.
    pub default: Option<&'static str>,
    /// How soon it must work.
    pub tier: UsageTier,
    /// The engines that know it; empty where all do.
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
