//! The phases in their order, and what came of one.

use crate::mdtest;
use strum::VariantArray;

/// A phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Phase {
    /// Large transfers, each rank to its own file.
    IorEasyWrite,
    /// Empty files, each rank in its own directory.
    MdtestEasyWrite,
    /// Data sets of files, of each rank.
    #[strum(serialize = "mdworkbench-create")]
    WorkbenchCreate,
    /// A file that marks the time.
    Timestamp,
    /// Looks through what mdtest's easy phase made.
    FindEasy,
    /// Transfers of 47008 bytes to one file, in turns.
    IorHardWrite,
    /// Files of 3901 bytes in one directory.
    MdtestHardWrite,
    /// Looks through everything for some of these.
    Find,
    /// Looks through the one directory.
    FindHard,
    /// Reads and removes other ranks' oldest files, and makes new ones.
    #[strum(serialize = "mdworkbench-bench")]
    WorkbenchBench,
    /// Reads what another rank wrote.
    IorEasyRead,
    /// Asks about another rank's files.
    MdtestEasyStat,
    /// Reads what another rank wrote.
    IorHardRead,
    /// Asks about another rank's files.
    MdtestHardStat,
    /// Removes the data sets.
    #[strum(serialize = "mdworkbench-delete")]
    WorkbenchDelete,
    /// Removes another rank's files.
    MdtestEasyDelete,
    /// Reads another rank's files.
    MdtestHardRead,
    /// Removes another rank's files.
    MdtestHardDelete,
    /// Reads 4 KiB at random places of another rank's file.
    #[strum(serialize = "ior-rnd4K-easy-read")]
    IorRandomRead,
}

/// Which score a phase counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// GiB/s.
    Bandwidth,
    /// Thousands of operations per second.
    Metadata,
}

impl Group {
    /// Its name in a file of results.
    pub fn name(self) -> &'static str {
        match self {
            Group::Bandwidth => "BW",
            Group::Metadata => "MD",
        }
    }
}

/// In what a phase is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// 2³⁰ bytes per second.
    GibPerSecond,
    /// Thousands of operations per second.
    Kiops,
}

impl Unit {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Unit::GibPerSecond => "GiB/s",
            Unit::Kiops => "kIOPS",
        }
    }
}

impl Phase {
    /// All of them, in their order. Source: IO500 isc26, extended mode.
    pub const ALL: &[Phase] = Phase::VARIANTS;

    /// Its name, which is its section of a configuration.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The section that it shares with the other phases of its kind.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Phase::IorEasyWrite | Phase::IorEasyRead | Phase::IorRandomRead => "ior-easy",
            Phase::IorHardWrite | Phase::IorHardRead => "ior-hard",
            Phase::MdtestEasyWrite | Phase::MdtestEasyStat | Phase::MdtestEasyDelete => "mdtest-easy",
            Phase::MdtestHardWrite | Phase::MdtestHardStat | Phase::MdtestHardRead | Phase::MdtestHardDelete => {
                "mdtest-hard"
            }
            Phase::WorkbenchCreate | Phase::WorkbenchBench | Phase::WorkbenchDelete => "mdworkbench",
            Phase::Timestamp | Phase::Find | Phase::FindEasy | Phase::FindHard => self.name(),
        }
    }

    /// Whether only the extended mode has it.
    pub fn is_extended(self) -> bool {
        matches!(self, Phase::FindEasy | Phase::FindHard) || self.kind() == "mdworkbench"
    }

    /// The score that it counts in; some phases count in none.
    pub fn group(self) -> Option<Group> {
        match self {
            Phase::Timestamp | Phase::IorRandomRead | Phase::WorkbenchCreate | Phase::WorkbenchDelete => None,
            Phase::IorEasyWrite | Phase::IorHardWrite | Phase::IorEasyRead | Phase::IorHardRead => {
                Some(Group::Bandwidth)
            }
            _ => Some(Group::Metadata),
        }
    }

    /// In what it is counted.
    pub fn unit(self) -> Unit {
        match self {
            Phase::IorRandomRead => Unit::GibPerSecond,
            phase if phase.group() == Some(Group::Bandwidth) => Unit::GibPerSecond,
            _ => Unit::Kiops,
        }
    }

    /// Whether it writes until a stonewall, and so must last as long as the rules say.
    pub fn writes(self) -> bool {
        matches!(self, Phase::IorEasyWrite | Phase::MdtestEasyWrite | Phase::IorHardWrite | Phase::MdtestHardWrite)
    }

    /// The test of mdtest whose rate is its score.
    pub fn mdtest(self) -> Option<mdtest::Test> {
        match self {
            Phase::MdtestEasyWrite | Phase::MdtestHardWrite => Some(mdtest::Test::FileCreation),
            Phase::MdtestEasyStat | Phase::MdtestHardStat => Some(mdtest::Test::FileStat),
            Phase::MdtestHardRead => Some(mdtest::Test::FileRead),
            Phase::MdtestEasyDelete | Phase::MdtestHardDelete => Some(mdtest::Test::FileRemoval),
            _ => None,
        }
    }
}

/// What came of a phase.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// GiB/s, or thousands of operations per second; 0 of nothing.
    pub score: f64,
    /// How long the phase took, s.
    pub time_s: f64,
    /// What it prints of itself besides.
    pub details: Vec<(&'static str, String)>,
    /// Why it is invalid; empty where it is not.
    pub invalid: Vec<String>,
}
