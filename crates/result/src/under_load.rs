//! Load from other processes during a run.

use serde::{Deserialize, Serialize};

/// Device and processor use by other processes, in the phase in which they used most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnderLoad {
    /// Whether the user declared the load as a part of the set-up (`--under-load`). An undeclared load
    /// makes the run's numbers doubtful.
    pub declared: LoadDeclared,
    /// Name of the phase in which other processes used most.
    pub phase: String,
    /// Share of the devices' time that other processes took, 0–1.
    pub device_share: f64,
    /// Share of the workers' time spent waiting for processors that other processes held, 0–1.
    #[serde(default)]
    pub processor_share: f64,
    /// Bytes read by other processes, per second.
    pub read_bytes_per_second: f64,
    /// Bytes written by other processes, per second.
    pub write_bytes_per_second: f64,
    /// The process that moved most bytes, or used most processor time if none moved any; absent if
    /// no process could be identified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<LoadProcess>,
}

/// Whether the user declared the load of other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LoadDeclared {
    /// The load belongs to the measured set-up.
    Yes,
    /// The load does not belong to the measured set-up.
    No,
}

/// A process that loads the devices or processors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadProcess {
    /// Command name that the kernel reports.
    pub command: String,
    /// Process id during the run.
    pub pid: u32,
    /// Whether the numbers include children that the process waited for; they may have done all of the work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_children: bool,
}

impl UnderLoad {
    /// Returns `dd (pid 3705)` or `programs run by bash (pid 12)`, or says that no process was identified.
    pub fn source(&self) -> String {
        match &self.by {
            Some(LoadProcess { command, pid, with_children: true }) => format!("programs run by {command} (pid {pid})"),
            Some(LoadProcess { command, pid, .. }) => format!("{command} (pid {pid})"),
            None => "others, none of them in sight".to_owned(),
        }
    }

    /// Returns the bytes read and written by other processes, per second.
    pub fn bytes_per_second(&self) -> f64 {
        self.read_bytes_per_second + self.write_bytes_per_second
    }
}
