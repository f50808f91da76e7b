//! The load of other processes during a run.

use serde::{Deserialize, Serialize};

/// Use of the devices and processors by other processes, in the phase in which they used most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnderLoad {
    /// Whether the user declared it as a part of the set-up (`--under-load`). Undeclared, it makes the run's numbers doubtful.
    pub declared: LoadDeclared,
    /// The phase in which they used most.
    pub phase: String,
    /// Share of the devices' time that they took, 0–1.
    pub device_share: f64,
    /// Share of the time that the workers waited for processors which they had, 0–1.
    #[serde(default)]
    pub processor_share: f64,
    /// Bytes that they read, each second.
    pub read_bytes_per_second: f64,
    /// Bytes that they wrote, each second.
    pub write_bytes_per_second: f64,
    /// The process that moved most bytes, or if none did, used most of the processors; absent where none could be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<LoadProcess>,
}

/// Whether a load was declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LoadDeclared {
    /// It belongs to the measured set-up.
    Yes,
    /// It does not belong to it.
    No,
}

/// A process that loads the devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadProcess {
    /// Its command, as the kernel names it.
    pub command: String,
    /// Its process id during the run.
    pub pid: u32,
    /// Whether children that it waited for are counted with it: they may have done all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_children: bool,
}

impl UnderLoad {
    /// Returns `dd (pid 3705)`, `programs run by bash (pid 12)`, or says that no process was seen.
    pub fn who(&self) -> String {
        match &self.by {
            Some(LoadProcess { command, pid, with_children: true }) => format!("programs run by {command} (pid {pid})"),
            Some(LoadProcess { command, pid, .. }) => format!("{command} (pid {pid})"),
            None => "others, none of them in sight".to_owned(),
        }
    }

    /// Bytes that they moved, each second.
    pub fn bytes_per_second(&self) -> f64 {
        self.read_bytes_per_second + self.write_bytes_per_second
    }
}
