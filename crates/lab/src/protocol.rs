//! What a study asks of a host, and what the host answers: JSON, one line each.

use crate::preflight::{Inspection, Objection, PlannedWork};
use crate::step::{MadeNames, Safety, Step};
use plumb_result::{Conformance, RunResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The version of these messages; both ends must have the same.
pub const VERSION: u32 = 3;

/// What is asked of a host. Requests are answered one after another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
pub enum HostRequest {
    /// Who are you?
    Hello {
        /// [`VERSION`].
        version: u32,
    },
    /// What would go wrong with this?
    Inspect(Inspection),
    /// Does this fit on what stands?
    Fits {
        /// What would run.
        work: Vec<PlannedWork>,
    },
    /// Build these, one after another.
    Build {
        /// The study and the plot, for the undo journal.
        tag: String,
        /// What to build.
        steps: Vec<Step>,
        /// What may be destroyed.
        safety: Safety,
    },
    /// Run this on what was built.
    Run(RunJob),
    /// Take down all that was built, in reverse order.
    Undo,
    /// End.
    Bye,
}

plumb_document::tagged!(HostRequest, "ask");

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunJob {
    /// What to run.
    pub work: HostWork,
    /// The directory in which it runs, below which test data is made; made if it is not there.
    pub dir: String,
    /// Seed of every random choice of native work.
    pub seed: u64,
    /// Seconds until it is killed and counts as failed.
    pub timeout_s: u64,
    /// Which run of its study it is, for simulated devices, which draw their runs' and plots' spread from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sim: Option<SimPlace>,
    /// The hosts that make it together, in the place of this one; `dir` is theirs then, and what devices did is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led: Option<LedHosts>,
    /// Whether it reports each second: lines of JSON among those for people (`plumb schema stream`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
}

/// Hosts whose agents make a run, as `plumb run` takes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedHosts {
    /// As for `--hosts`.
    pub hosts: Vec<String>,
    /// As for `--hosts-keys`.
    #[serde(default)]
    pub keys: Option<PathBuf>,
}

/// The place of a run among the runs of a study; as text, `RUN,PLOT` or `RUN,PLOT,DEBT`, what `plumb run --sim-run` takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SimPlace {
    /// Which run, from 0, in the order in which they happen.
    pub run: u32,
    /// Which plot, from 0.
    pub plot: u32,
    /// Share by which it is slower for what earlier runs left behind.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub debt: f64,
}

fn is_nothing(debt: &f64) -> bool {
    *debt == 0.0
}

impl std::fmt::Display for SimPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{},{}", self.run, self.plot)?;
        if is_nothing(&self.debt) { Ok(()) } else { write!(f, ",{}", self.debt) }
    }
}

/// A text is no place of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not RUN,PLOT or RUN,PLOT,DEBT: two whole numbers and a share, such as 4,1 or 4,1,0.1")]
pub struct SimPlaceError {
    /// What was written.
    pub text: String,
}

impl std::str::FromStr for SimPlace {
    type Err = SimPlaceError;
    fn from_str(text: &str) -> Result<SimPlace, SimPlaceError> {
        let place = || {
            let (run, rest) = text.split_once(',')?;
            let (plot, debt) = rest.split_once(',').unwrap_or((rest, "0"));
            let debt = debt.parse().ok().filter(|debt: &f64| debt.is_finite() && *debt >= 0.0)?;
            Some(SimPlace { run: run.parse().ok()?, plot: plot.parse().ok()?, debt })
        };
        place().ok_or_else(|| SimPlaceError { text: text.to_owned() })
    }
}

/// What to run. In all texts, `${ram*N}` is N times the memory of the host that runs it, in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostWork {
    /// A workload in Plumb's own TOML.
    Native {
        /// The text.
        toml: String,
    },
    /// A command line of another tool, as after `plumb as`.
    Dialect {
        /// `iozone`.
        tool: String,
        /// Its words.
        args: Vec<String>,
        /// What it reads on standard input.
        #[serde(default)]
        stdin: String,
    },
    /// The rules of `plumb posix`.
    Conformance(ConformanceWork),
}

/// Which rules of `plumb posix` are tested.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConformanceWork {
    /// These cases only: ids, their first parts, or patterns with `*`; all where there are none.
    pub only: Vec<String>,
    /// These are left out.
    pub without: Vec<String>,
    /// Failures of rules of this level, and of those that bind more, count: `shall`, `linux` or `common`.
    pub level: String,
}

impl ConformanceWork {
    /// The words behind `plumb posix DIRECTORY`.
    pub fn words(&self) -> Vec<String> {
        let mut words = vec!["--level".to_owned(), self.level.clone()];
        for (option, patterns) in [("--only", &self.only), ("--without", &self.without)] {
            if !patterns.is_empty() {
                words.extend([option.to_owned(), patterns.join(",")]);
            }
        }
        words
    }
}

/// What a host answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
pub enum Reply {
    /// To [`HostRequest::Hello`].
    Hello(HostFacts),
    /// Something goes on: a line for people. The answer is still to come.
    Progress {
        /// The line.
        text: String,
    },
    /// To [`HostRequest::Inspect`] and [`HostRequest::Fits`].
    Inspected {
        /// What would go wrong.
        objections: Vec<Objection>,
    },
    /// To [`HostRequest::Build`]: all stands.
    Built {
        /// What the steps made.
        made: MadeNames,
    },
    /// To [`HostRequest::Run`]: it ran, well or not.
    Ran(Box<RunAnswer>),
    /// To [`HostRequest::Undo`]: nothing is left.
    Undone,
    /// To any: it could not be done. After a failed build, nothing is left of it.
    Failed {
        /// Why, for people, with the way out.
        reason: String,
        /// Whether the write guard refused it.
        #[serde(default)]
        refused: bool,
    },
}

plumb_document::tagged!(Reply, "reply");

/// What a host is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// [`VERSION`].
    pub version: u32,
    /// `uname -s`: `Linux`, `FreeBSD`.
    pub system: String,
    /// `uname -r`.
    pub kernel: String,
    /// Memory, in bytes.
    pub ram_bytes: u64,
    /// Processors.
    pub cpus: u32,
}

/// How a run went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunAnswer {
    /// The exit code of the command.
    pub exit_code: i32,
    /// The result, where there is one.
    pub result: Option<RunResult>,
    /// How the file system conforms, where that was tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conformance: Option<Conformance>,
    /// What each block device did for the work, by the kernel's name: `sda`, `md0`; from when the data were laid out until they
    /// were about to be removed, what was dirty written back before both looks.
    pub devices: BTreeMap<String, DeviceRecord>,
    /// The last lines of what it said on standard error.
    pub stderr: String,
}

/// A block device under a run: what it is in the system that was built, and what it did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// Its name in the recipe: `@disks.1`, `@array`. The kernel's name may be another one after each build. Absent for devices
    /// that the recipe does not name, and in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What it did.
    #[serde(flatten)]
    pub counts: DeviceCounts,
}

impl From<DeviceCounts> for DeviceRecord {
    fn from(counts: DeviceCounts) -> DeviceRecord {
        DeviceRecord { role: None, counts }
    }
}

/// What one block device did: differences of its counters (the kernel's `Documentation/admin-guide/iostats.rst`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounts {
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Flushes completed.
    pub flushes: u64,
}

impl DeviceCounts {
    /// What was done since an earlier look.
    pub(crate) fn since(&self, before: &DeviceCounts) -> DeviceCounts {
        DeviceCounts {
            reads: self.reads.wrapping_sub(before.reads),
            read_bytes: self.read_bytes.wrapping_sub(before.read_bytes),
            writes: self.writes.wrapping_sub(before.writes),
            written_bytes: self.written_bytes.wrapping_sub(before.written_bytes),
            flushes: self.flushes.wrapping_sub(before.flushes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_what_was_printed_and_nothing_else_is_one() {
        for (text, debt) in [("4,1", 0.0), ("4,1,0.15", 0.15), ("0,0,0", 0.0)] {
            let place: SimPlace = text.parse().unwrap();
            assert_eq!(place.debt, debt);
            assert_eq!(place.to_string().parse::<SimPlace>().unwrap(), place);
        }
        for text in ["", "4", "4,", "4,1,", "4,1,x", "4,1,-0.1", "4,1,inf", "4,1,NaN", "4,1,0.1,2", "-1,0"] {
            assert!(text.parse::<SimPlace>().unwrap_err().to_string().contains("4,1,0.1"), "{text}");
        }
    }
}
