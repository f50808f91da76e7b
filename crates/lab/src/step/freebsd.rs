//! FreeBSD steps. Written against its manual pages, and never run there.

use super::Names;
use plumb_workload::units::Bytes;
use serde::{Deserialize, Serialize};

/// A mirror, made with gmirror(8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Gmirror {
    /// Name by which `@name` refers to the mirror.
    pub name: String,
    /// Members of the mirror.
    pub devices: Names,
    /// Read balancing: `load`, `prefer`, `round-robin` or `split`; `load` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balance: Option<String>,
    /// Alignment of a partition on each member. If absent, the mirror uses the whole devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
}

/// A UFS, made with newfs(8) and optionally mounted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Newfs {
    /// Name by which `@name` refers to the mount point, or to the device if it is not mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The device that gets the file system.
    pub device: String,
    /// Options of newfs, such as `-U`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Mount point; not mounted if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<String>,
    /// Options for mount(8), such as `noatime`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
}

/// A pool, made with zpool(8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Zpool {
    /// Name of the pool. `@name` refers to its mount point.
    pub name: String,
    /// Devices of the pool.
    pub devices: Names,
    /// Layout of the devices: `mirror`, `raidz1` …; striped if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Properties of the pool, such as `ashift=12`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<String>,
    /// Properties of its file system, such as `compression=off`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fs_properties: Vec<String>,
    /// Mount point; `/NAME` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<String>,
}
