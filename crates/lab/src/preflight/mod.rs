//! Checks a study on a host before anything is built: missing programs and drivers, options that mkfs refuses, devices that
//! may not be destroyed, data that do not fit.
//!
//! Sizes are those of the devices. A file system leaves less, so what does not fit here never fits; the reverse is not true.

mod ground;
mod layout;
pub(crate) mod mkfs;
mod shell;
mod steps;
mod trial;

pub(crate) use ground::{Driver, Ground, Here};
pub(crate) use steps::of_builds;
pub use trial::{NoTrial, Trial, trial_of};

use crate::error::Cause;
use crate::step::{MadeNames, Safety, Step};
use plumb_engine::guard::space::FLOOR_PERCENT;
use plumb_workload::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Intended use of a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// Plots with different steps.
    pub builds: Vec<PlannedBuild>,
    /// Devices that may be destroyed.
    pub safety: Safety,
}

/// One plot and the work on it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedBuild {
    /// Steps to build, in order.
    pub steps: Vec<Step>,
    /// Work on the plot, each once.
    pub work: Vec<PlannedWork>,
}

/// A command or workload that runs on one plot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedWork {
    /// The workload and its levels, for messages.
    pub name: String,
    /// Place where the work runs.
    pub place: WorkPlace,
    /// Bytes that its data need at once, if known.
    pub bytes: Option<u64>,
}

/// Place where work runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkPlace {
    /// In a directory, created if missing.
    Directory(String),
    /// On the first device of the step with this name.
    Device(String),
    /// Nowhere: the device is simulated.
    Simulated,
}

/// A problem that a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objection {
    /// Description of the problem and a way out.
    pub text: String,
    pub kind: ObjectionKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectionKind {
    /// Runs will fail.
    Wrong,
    /// The write guard, or the owner of an agent, will refuse.
    Refused,
    /// Building needs rights that this user does not have.
    NeedsRoot,
    /// Runs may fail, or be rejected.
    Doubtful,
}

impl Objection {
    pub(crate) fn new(kind: ObjectionKind, text: impl Into<String>) -> Objection {
        Objection { kind, text: text.into() }
    }

    /// Creates the objection for a cause that would stop a step.
    pub(crate) fn of_cause(place: &str, cause: &Cause) -> Objection {
        let kind = if cause.is_refusal() { ObjectionKind::Refused } else { ObjectionKind::Wrong };
        Objection::new(kind, format!("{place}: {cause}"))
    }
}

/// Returns the usable part of a file system's bytes: a share always stays free.
pub(crate) fn usable_bytes(bytes: u64) -> u64 {
    bytes / 100 * (100 - u64::from(FLOOR_PERCENT))
}

/// Returns the objection for data that do not fit.
pub(crate) fn does_not_fit(work: &PlannedWork, bytes: u64, place: &str, has: u64) -> Objection {
    let (needs, has) = (rounded(bytes), rounded(has));
    let text = format!(
        "{}: its data need {needs}, and {place} has {has}, of which {FLOOR_PERCENT} % stays free; make it larger, or the data smaller",
        work.name
    );
    Objection::new(ObjectionKind::Wrong, text)
}

/// Rounds down to whole MiB, from 16 MiB on.
pub(crate) fn rounded(bytes: u64) -> Bytes {
    Bytes(if bytes >= 1 << 24 { bytes >> 20 << 20 } else { bytes })
}

/// Returns an objection for all data that do not fit on the standing system.
pub(crate) fn of_standing(work: &[PlannedWork], made: &MadeNames) -> Vec<Objection> {
    let mut found = Vec::new();
    for work in work {
        let (place, has, usable) = match &work.place {
            WorkPlace::Simulated => continue,
            WorkPlace::Directory(dir) => {
                let Some(here) = nearest(Path::new(dir)) else { continue };
                let Ok(stat) = rustix::fs::statvfs(&here) else { continue };
                let free = stat.f_bavail.saturating_mul(stat.f_frsize);
                let floor = stat.f_blocks.saturating_mul(stat.f_frsize) / 100 * u64::from(FLOOR_PERCENT);
                (format!("{dir} (free)"), free, free.saturating_sub(floor))
            }
            WorkPlace::Device(name) => {
                let Some(device) = made.get(name).and_then(|made| made.first()) else { continue };
                let Ok(bytes) = crate::system::device_bytes(Path::new(device)) else { continue };
                (format!("@{name}"), bytes, bytes)
            }
        };
        if let Some(bytes) = work.bytes.filter(|bytes| *bytes > usable) {
            found.push(does_not_fit(work, bytes, &place, has));
        }
    }
    found
}

/// Returns the directory, or its nearest existing parent.
pub(crate) fn nearest(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find(|path| path.is_dir()).map(Path::to_owned)
}
