//! FreeBSD's own. Written against its manual pages, and not run there yet.

use super::Names;
use plumb_workload::units::Bytes;
use serde::{Deserialize, Serialize};

/// A mirror, by gmirror(8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Gmirror {
    /// By which `@name` means the mirror.
    pub name: String,
    /// Its members.
    pub devices: Names,
    /// How reads are shared: `load`, `prefer`, `round-robin`, `split`; `load` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balance: Option<String>,
    /// Each member is a partition that starts at a multiple of this; the whole device when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
}

/// A UFS, by newfs(8), and its mount.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Newfs {
    /// By which `@name` means the mount point, or the device where it is not mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The device.
    pub device: String,
    /// Options of newfs, `-U`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Where it is mounted; not at all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<String>,
    /// How it is mounted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
}

/// A pool, by zpool(8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Zpool {
    /// Its name, by which `@name` means its mount point.
    pub name: String,
    /// Its devices.
    pub devices: Names,
    /// How data lie on them: `mirror`, `raidz1` …; in turn over all devices when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Properties of the pool, `ashift=12`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<String>,
    /// Properties of its file system, `compression=off`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fs_properties: Vec<String>,
    /// Where it is mounted; below `/` by its name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<String>,
}
