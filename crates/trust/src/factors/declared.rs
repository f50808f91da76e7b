//! Factors that a comparison can be declared to be about: the words of `--varying`.

/// A factor that a comparison can be declared to be about, as in `--varying`.
#[derive(Debug, PartialEq, Eq)]
pub struct Factor {
    /// The word on the command line.
    pub name: &'static str,
    /// Description of the facts that it covers.
    pub what: &'static str,
    /// Other factors that necessarily change with it.
    pub implies: &'static [&'static str],
    /// Effort of going from one level of it to another.
    pub change: Change,
}

/// The effort of changing a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A setting that can be changed between two runs on one plot.
    Easy,
    /// It needs a new plot (an mkfs, an array, a boot, another disk), and each plot differs. With 6 % between plots
    /// and 2 % between runs, ten runs on one plot a side find a false difference in 82 of 100 comparisons. The unit
    /// of replication is the plot.
    Hard,
}

pub static FACTORS: &[Factor] = &[
    Factor {
        name: "fs",
        what: "file system, its features, and mount options of its own",
        implies: &["layout"],
        change: Change::Hard,
    },
    Factor { name: "mount", what: "mount options", implies: &[], change: Change::Easy },
    Factor {
        name: "device",
        what: "disk: model, serial, firmware, caches, block sizes",
        implies: &["layout"],
        change: Change::Hard,
    },
    Factor { name: "raid", what: "RAID level, chunk and settings", implies: &["layout"], change: Change::Hard },
    Factor { name: "scheduler", what: "I/O scheduler and queue settings", implies: &[], change: Change::Easy },
    Factor { name: "kernel", what: "kernel and its command line", implies: &[], change: Change::Hard },
    Factor { name: "os", what: "distribution and C library", implies: &["kernel"], change: Change::Hard },
    Factor { name: "sysctl", what: "kernel settings", implies: &[], change: Change::Easy },
    Factor {
        name: "host",
        what: "machine: processor, memory, hypervisor",
        implies: &["device", "layout", "limits"],
        change: Change::Hard,
    },
    Factor { name: "limits", what: "limits of control groups", implies: &[], change: Change::Easy },
    Factor { name: "layout", what: "sizes, partitions and places on the disk", implies: &[], change: Change::Hard },
    Factor { name: "fullness", what: "share of the file system that is free", implies: &[], change: Change::Easy },
    Factor { name: "sim", what: "simulated device", implies: &[], change: Change::Hard },
];

/// The factor does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown factor `{word}`; known: {known}")]
pub struct UnknownFactor {
    pub word: String,
    pub known: String,
}

/// Returns the factor of this name.
///
/// # Errors
/// [`UnknownFactor`], which lists the known ones.
pub fn factor(word: &str) -> Result<&'static Factor, UnknownFactor> {
    FACTORS.iter().find(|factor| factor.name == word).ok_or_else(|| UnknownFactor {
        word: word.to_owned(),
        known: FACTORS.iter().map(|factor| factor.name).collect::<Vec<_>>().join(", "),
    })
}

impl Factor {
    /// Returns `true` if it needs a new plot.
    pub fn is_hard(&self) -> bool {
        self.change == Change::Hard
    }

    pub(super) fn permits(&self, word: &str) -> bool {
        self.name == word || self.implies.contains(&word)
    }
}
