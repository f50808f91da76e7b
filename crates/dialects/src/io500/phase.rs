//! The phases in their order, and what came of one.

use crate::mdtest;

/// A phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Large transfers, each rank to its own file.
    IorEasyWrite,
    /// Empty files, each rank in its own directory.
    MdtestEasyWrite,
    /// A file that marks the time.
    Timestamp,
    /// Transfers of 47008 bytes to one file, in turns.
    IorHardWrite,
    /// Files of 3901 bytes in one directory.
    MdtestHardWrite,
    /// Looks through everything for some of these.
    Find,
    /// Reads what another rank wrote.
    IorEasyRead,
    /// Asks about another rank's files.
    MdtestEasyStat,
    /// Reads what another rank wrote.
    IorHardRead,
    /// Asks about another rank's files.
    MdtestHardStat,
    /// Removes another rank's files.
    MdtestEasyDelete,
    /// Reads another rank's files.
    MdtestHardRead,
    /// Removes another rank's files.
    MdtestHardDelete,
    /// Reads 4 KiB at random places of another rank's file.
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
    /// All of them, in their order. Source: IO500 isc26, standard mode.
    pub const ALL: [Phase; 14] = [
        Phase::IorEasyWrite,
        Phase::MdtestEasyWrite,
        Phase::Timestamp,
        Phase::IorHardWrite,
        Phase::MdtestHardWrite,
        Phase::Find,
        Phase::IorEasyRead,
        Phase::MdtestEasyStat,
        Phase::IorHardRead,
        Phase::MdtestHardStat,
        Phase::MdtestEasyDelete,
        Phase::MdtestHardRead,
        Phase::MdtestHardDelete,
        Phase::IorRandomRead,
    ];

    /// Its name, which is its section of a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Phase::IorEasyWrite => "ior-easy-write",
            Phase::MdtestEasyWrite => "mdtest-easy-write",
            Phase::Timestamp => "timestamp",
            Phase::IorHardWrite => "ior-hard-write",
            Phase::MdtestHardWrite => "mdtest-hard-write",
            Phase::Find => "find",
            Phase::IorEasyRead => "ior-easy-read",
            Phase::MdtestEasyStat => "mdtest-easy-stat",
            Phase::IorHardRead => "ior-hard-read",
            Phase::MdtestHardStat => "mdtest-hard-stat",
            Phase::MdtestEasyDelete => "mdtest-easy-delete",
            Phase::MdtestHardRead => "mdtest-hard-read",
            Phase::MdtestHardDelete => "mdtest-hard-delete",
            Phase::IorRandomRead => "ior-rnd4K-easy-read",
        }
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
            Phase::Timestamp | Phase::Find => self.name(),
        }
    }

    /// The score that it counts in; two phases count in none.
    pub fn group(self) -> Option<Group> {
        match self {
            Phase::Timestamp | Phase::IorRandomRead => None,
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
