//! What may be destroyed.

use serde::{Deserialize, Serialize};

/// What a study may destroy: nothing else is opened for writing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Safety {
    /// Devices, each by its serial, its path, or both; where both are said, both must be true.
    #[serde(default)]
    pub expendable: Vec<Expendable>,
    /// What the user typed beside the study file (`--destroy`, `PLUMB_ALLOW`), in the form of
    /// [`Permissions::parse`](plumb_engine::guard::Permissions::parse): a device that bears a signature is only destroyed when
    /// it is named here too, since a file may be old, and what lies on the device new. No study file says it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub typed: String,
}

/// A device whose content may be destroyed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Expendable {
    /// Its path, better below `/dev/disk/by-id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its serial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
}
