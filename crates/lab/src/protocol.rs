//! Requests of a study to a host, and the host's answers: JSON, one per line.

use crate::preflight::{Inspection, Objection, PlannedWork};
use crate::step::{MadeNames, Safety, Step};
use plumb_result::{Conformance, RunResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Version of these messages; both ends must have the same.
pub const VERSION: u32 = 3;

/// A request to a host. A host answers one request at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
pub enum HostRequest {
    /// Asks for the host's facts.
    Hello {
        /// Sender's [`VERSION`].
        version: u32,
    },
    /// Asks for problems of the planned builds and work.
    Inspect(Inspection),
    /// Asks whether work fits on the standing system.
    Fits { work: Vec<PlannedWork> },
    /// Builds these steps in order.
    Build {
        /// Name of the study and the plot, for the undo journal.
        tag: String,
        steps: Vec<Step>,
        /// Devices that may be destroyed.
        safety: Safety,
    },
    /// Runs a job on the standing system.
    Run(RunJob),
    /// Takes down everything that was built, in reverse order.
    Undo,
    /// Ends the agent.
    Bye,
}

plumb_document::tagged!(HostRequest, "ask");

/// Description of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunJob {
    pub work: HostWork,
    /// Directory in which it runs and below which test data is created. Created if missing.
    pub dir: String,
    /// Seed of all random choices of native work.
    pub seed: u64,
    /// Time limit in seconds; the run is killed and counts as failed after it.
    pub timeout_s: u64,
    /// Place of the run within its study. Simulated devices derive their variance from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sim: Option<SimPlace>,
    /// Hosts that make the run together instead of this one. `dir` refers to them then,
    /// and device counters are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub led: Option<LedHosts>,
    /// Whether it reports each interval: JSON lines among those for people (`plumb schema stream`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
}

/// Hosts whose agents make a run, as `plumb run` takes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedHosts {
    /// Value of `--hosts`, split.
    pub hosts: Vec<String>,
    /// Value of `--hosts-keys`; `None` if not given.
    #[serde(default)]
    pub keys: Option<PathBuf>,
}

/// The place of a run among the runs of a study. Its text form is `RUN,PLOT` or `RUN,PLOT,DEBT`, as
/// `plumb run --sim-run` takes it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SimPlace {
    /// Number of the run, from 0, in order of execution.
    pub run: u32,
    /// Number of the plot, from 0.
    pub plot: u32,
    /// Fraction by which the run is slowed by the aftermath of earlier runs.
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

/// Error from parsing the place of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not RUN,PLOT or RUN,PLOT,DEBT: two whole numbers and a share, such as 4,1 or 4,1,0.1")]
pub struct SimPlaceError {
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

/// Work to run. In all texts, `${ram*N}` is N times the memory of the executing host, in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostWork {
    /// A workload in Plumb's own TOML.
    Native { toml: String },
    /// A command line of another tool, as after `plumb as`.
    Dialect {
        /// Name of the tool, such as `iozone`.
        tool: String,
        args: Vec<String>,
        /// Standard input of the tool.
        #[serde(default)]
        stdin: String,
    },
    /// The rules of `plumb posix`.
    Conformance(ConformanceWork),
}

/// Selection of rules for `plumb posix`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConformanceWork {
    /// Cases to test: ids, their first parts, or patterns with `*`. Empty for all.
    pub only: Vec<String>,
    /// Cases to leave out, in the same forms.
    pub without: Vec<String>,
    /// Weakest level whose failures count: `shall`, `linux` or `common`.
    pub level: String,
}

impl ConformanceWork {
    /// Returns the arguments after `plumb posix DIRECTORY`.
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

/// An answer of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
pub enum Reply {
    /// Answers [`HostRequest::Hello`].
    Hello(HostFacts),
    /// A line of progress for people. The answer is still to come.
    Progress { text: String },
    /// Answers [`HostRequest::Inspect`] and [`HostRequest::Fits`].
    Inspected {
        /// The problems that were found.
        objections: Vec<Objection>,
    },
    /// Answers [`HostRequest::Build`]: the system is standing.
    Built {
        /// Devices and mount points that the steps made.
        made: MadeNames,
    },
    /// Answers [`HostRequest::Run`]: it ran, successfully or not.
    Ran(Box<RunAnswer>),
    /// Answers [`HostRequest::Undo`]: nothing is left.
    Undone,
    /// Answers any request: it failed. After a failed build, nothing of it is left.
    Failed {
        /// Reason for people, with a way out.
        reason: String,
        /// Whether the write guard refused it.
        #[serde(default)]
        refused: bool,
    },
}

plumb_document::tagged!(Reply, "reply");

/// Facts about a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Host's [`VERSION`].
    pub version: u32,
    /// Output of `uname -s`: `Linux`, `FreeBSD`.
    pub system: String,
    pub kernel: String,
    pub ram_bytes: u64,
    pub cpus: u32,
}

/// Outcome of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunAnswer {
    /// Exit code of the command.
    pub exit_code: i32,
    /// The result, if there is one.
    pub result: Option<RunResult>,
    /// Conformance of the file system, if it was tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conformance: Option<Conformance>,
    /// Work of each block device for the run, by the kernel's name: `sda`, `md0`. Counts from the end of the layout
    /// to the removal of the data. Dirty data are written back before both readings.
    pub devices: BTreeMap<String, DeviceRecord>,
    /// Last lines of its standard error.
    pub stderr: String,
}

/// A block device during a run: its role in the system and its work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// Name in the recipe: `@disks.1`, `@array`. The kernel's name may change with each build. Absent for devices
    /// that the recipe does not name, and in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(flatten)]
    pub counts: DeviceCounts,
}

impl From<DeviceCounts> for DeviceRecord {
    fn from(counts: DeviceCounts) -> DeviceRecord {
        DeviceRecord { role: None, counts }
    }
}

/// Work of one block device: differences of its counters (the kernel's `Documentation/admin-guide/iostats.rst`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounts {
    /// Number of completed reads.
    pub reads: u64,
    pub read_bytes: u64,
    /// Number of completed writes.
    pub writes: u64,
    pub written_bytes: u64,
    /// Number of completed flushes.
    pub flushes: u64,
}

impl DeviceCounts {
    /// Returns the work since an earlier reading.
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
    fn only_printed_places_parse() {
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
