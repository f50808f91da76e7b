//! Permissions to destroy devices.

use serde::{Deserialize, Serialize};

/// Devices that a study may destroy. No other device is opened for writing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Safety {
    /// Devices by serial, path, or both; if both are given, both must match.
    #[serde(default)]
    pub expendable: Vec<Expendable>,
    /// Permissions that the user typed in addition to the study file (`--destroy`, `PLUMB_ALLOW`), in the form
    /// of [`Permissions::parse`](plumb_engine::guard::Permissions::parse). A device that bears a signature is
    /// destroyed only if it is named here too: the file may be old, and the content of the device new. Never
    /// part of a study file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub typed: String,
}

/// A device whose content may be destroyed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Expendable {
    /// Path of the device, preferably below `/dev/disk/by-id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Serial number of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
}
