//! The phases in order, and their outcomes.

use crate::mdtest;
use strum::VariantArray;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Phase {
    /// Each rank writes its own file in large transfers.
    IorEasyWrite,
    /// Each rank creates empty files in its own directory.
    MdtestEasyWrite,
    /// Each rank creates its data sets of files.
    #[strum(serialize = "mdworkbench-create")]
    WorkbenchCreate,
    /// Creates a file whose time serves as a mark.
    Timestamp,
    /// Searches the files of mdtest's easy phase.
    FindEasy,
    /// All ranks write to one file in turns, in transfers of 47008 bytes.
    IorHardWrite,
    /// All ranks create files of 3901 bytes in one directory.
    MdtestHardWrite,
    /// Searches everything for some of these files.
    Find,
    /// Searches the directory of mdtest's hard phase.
    FindHard,
    /// Reads and removes the oldest files of other ranks, and creates new ones.
    #[strum(serialize = "mdworkbench-bench")]
    WorkbenchBench,
    /// Reads the file of another rank.
    IorEasyRead,
    /// Calls stat on the files of another rank.
    MdtestEasyStat,
    /// Reads the data of another rank.
    IorHardRead,
    /// Calls stat on the files of another rank.
    MdtestHardStat,
    #[strum(serialize = "mdworkbench-delete")]
    WorkbenchDelete,
    /// Removes the files of another rank.
    MdtestEasyDelete,
    /// Reads the files of another rank.
    MdtestHardRead,
    /// Removes the files of another rank.
    MdtestHardDelete,
    /// Reads 4 KiB at random offsets of another rank's file.
    #[strum(serialize = "ior-rnd4K-easy-read")]
    IorRandomRead,
}

/// The score to which a phase contributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Bandwidth, GiB/s.
    Bandwidth,
    /// Thousands of operations per second.
    Metadata,
}

impl Group {
    /// Returns the name used in result files.
    pub fn name(self) -> &'static str {
        match self {
            Group::Bandwidth => "BW",
            Group::Metadata => "MD",
        }
    }
}

/// Unit of a phase's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// 2³⁰ bytes per second.
    GibPerSecond,
    /// Thousands of operations per second.
    Kiops,
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Unit::GibPerSecond => "GiB/s",
            Unit::Kiops => "kIOPS",
        }
    }
}

impl Phase {
    /// All phases in order. Source: IO500 isc26, extended mode.
    pub const ALL: &[Phase] = Phase::VARIANTS;

    /// Returns the name, which is also the phase's section in a configuration.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the section shared by phases of the same kind.
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

    /// Returns `true` if only the extended mode has the phase.
    pub fn is_extended(self) -> bool {
        matches!(self, Phase::FindEasy | Phase::FindHard) || self.kind() == "mdworkbench"
    }

    /// Returns the score to which the phase contributes; `None` for some phases.
    pub fn group(self) -> Option<Group> {
        match self {
            Phase::Timestamp | Phase::IorRandomRead | Phase::WorkbenchCreate | Phase::WorkbenchDelete => None,
            Phase::IorEasyWrite | Phase::IorHardWrite | Phase::IorEasyRead | Phase::IorHardRead => {
                Some(Group::Bandwidth)
            }
            _ => Some(Group::Metadata),
        }
    }

    /// Returns the unit of the phase's result.
    pub fn unit(self) -> Unit {
        match self {
            Phase::IorRandomRead => Unit::GibPerSecond,
            phase if phase.group() == Some(Group::Bandwidth) => Unit::GibPerSecond,
            _ => Unit::Kiops,
        }
    }

    /// Returns `true` if the phase writes until a stonewall. The rules demand a minimum duration for it.
    pub fn writes(self) -> bool {
        matches!(self, Phase::IorEasyWrite | Phase::MdtestEasyWrite | Phase::IorHardWrite | Phase::MdtestHardWrite)
    }

    /// Returns the mdtest test whose rate is the phase's result.
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

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// GiB/s, or thousands of operations per second; 0 without a result.
    pub score: f64,
    /// Duration of the phase, s.
    pub time_s: f64,
    /// Additional lines that the phase prints.
    pub details: Vec<(&'static str, String)>,
    /// Reasons why the phase is invalid; empty if it is valid.
    pub invalid: Vec<String>,
}
