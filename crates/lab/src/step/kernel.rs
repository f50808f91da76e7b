//! Settings of the kernel, and commands of the user's.

use super::{Count, Names, Word};
use plumb_workload::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Settings of a device's queue, below `/sys/block/DEVICE/queue`. Source: the kernel's `ABI/stable/sysfs-block`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct QueueSettings {
    /// The device, or several.
    pub device: Names,
    /// Each setting by the name of its file: `{ scheduler = "none", nr_requests = 64, rotational = 0 }`.
    pub set: BTreeMap<String, Word>,
}

/// How far ahead a device is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Readahead {
    /// The device, or several.
    pub device: Names,
    /// How far, whole KiB.
    pub size: Bytes,
}

/// Settings of the kernel, below `/proc/sys`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sysctl {
    /// Each setting by its name: `{ "vm.dirty_ratio" = 10 }`.
    pub set: BTreeMap<String, Word>,
}

/// The largest packet of a network interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Link {
    /// The interface.
    pub device: String,
    /// The network namespace that it is in; this one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Bytes.
    pub mtu: Count,
}

/// A command of the user's, run by the shell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cmd {
    /// What the shell runs.
    pub run: String,
    /// What undoes it; it is also run where the command itself came to no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
    /// Seconds until it is killed; 600 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Count>,
}
