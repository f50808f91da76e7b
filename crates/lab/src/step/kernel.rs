//! Steps for kernel settings and for users' commands.

use super::{Count, Names, Word};
use plumb_workload::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Settings of a device's queue, below `/sys/block/DEVICE/queue`. Source: the kernel's `ABI/stable/sysfs-block`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct QueueSettings {
    /// The device or devices to set.
    pub device: Names,
    /// Values by file name: `{ scheduler = "none", nr_requests = 64, rotational = 0 }`.
    pub set: BTreeMap<String, Word>,
}

/// The read-ahead of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Readahead {
    /// The device or devices to set.
    pub device: Names,
    /// Size of the read-ahead, in whole KiB.
    pub size: Bytes,
}

/// Kernel settings, below `/proc/sys`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sysctl {
    /// Values by setting name: `{ "vm.dirty_ratio" = 10 }`.
    pub set: BTreeMap<String, Word>,
}

/// The MTU of a network interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Link {
    /// Name of the interface.
    pub device: String,
    /// Network namespace of the interface; the current one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The MTU in bytes, from 68 to 65536.
    pub mtu: Count,
}

/// A user's command, run by the shell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cmd {
    /// Command line for the shell.
    pub run: String,
    /// Command line that undoes it. It also runs if the command itself did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
    /// Time limit in seconds; 600 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Count>,
}
