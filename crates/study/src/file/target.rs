//! `[target]`: where the work runs.

use plumb_workload::{Content, Prepare, SimDevice};
use serde::Deserialize;

/// Where the work runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TargetForm {
    /// A directory, made if it is not there; a device that a step of this name made, `@array`, without a file system; or a
    /// simulated device (`sim:hdd`). Where the last step mounts something when absent.
    #[serde(default)]
    pub path: Option<String>,
    /// What files are filled with; random when absent.
    #[serde(default)]
    pub fill: Option<Content>,
    /// Whether files that are written first have their blocks before the clock starts.
    #[serde(default)]
    pub prewrite: bool,
}

/// Where the work of a plot runs.
#[derive(Debug, Clone, PartialEq)]
pub struct PlotPlace {
    /// The directory.
    pub dir: String,
    /// The simulated device that stands in for it.
    pub sim: Option<SimDevice>,
    /// The step whose device is read and written itself.
    pub device: Option<String>,
    /// What files are filled with.
    pub fill: Content,
    /// How a file that is written first gets its blocks.
    pub first_write: Prepare,
}

/// The directory of runs that touch none.
pub const NOWHERE: &str = "/tmp";
