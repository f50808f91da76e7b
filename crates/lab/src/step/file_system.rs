//! File systems, mounts, and what lies on them.

use super::{Count, Names, Word};
use plumb_workload::units::Bytes;
use serde::{Deserialize, Serialize};

/// A file system on one device, and its mount.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mkfs {
    /// By which `@name` means the mount point, or the device where it is not mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `ext2`, `ext3`, `ext4`, `xfs`, `btrfs`, `f2fs`.
    pub fs: String,
    /// The device.
    pub device: String,
    /// Options of its mkfs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Where it is mounted; not at all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<String>,
    /// How it is mounted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
}

/// A btrfs over several devices, and its mount.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Btrfs {
    /// By which `@name` means the mount point, or the devices where it is not mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The devices.
    pub devices: Names,
    /// How data lie on them: `single`, `raid0`, `raid1`, `raid10`, `raid5` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// How metadata lie on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
    /// Further options of mkfs.btrfs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Where it is mounted; not at all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<String>,
    /// How it is mounted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
}

/// A mount of what has a file system already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mount {
    /// By which `@name` means the mount point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The device.
    pub device: String,
    /// Its file system; found out when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fs: Option<String>,
    /// Where it is mounted.
    pub mount: String,
    /// How it is mounted.
    #[serde(default, alias = "options", skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
}

/// A change to an ext2, ext3 or ext4 file system that is not mounted, by tune2fs(8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tune {
    /// The device.
    pub device: String,
    /// What it becomes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<ExtKind>,
    /// Options of tune2fs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// A file system of the ext family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExtKind {
    /// Without a journal.
    Ext2,
    /// With a journal.
    Ext3,
    /// With a journal and extents; what lies on it already keeps its block maps.
    Ext4,
}

/// A union of directories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Overlay {
    /// By which `@name` means the mount point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Directories that are only read, the uppermost first.
    pub lower: Names,
    /// An existing directory below which the layer that is written to lies, in a directory of its own.
    pub directory: String,
    /// Where it is mounted.
    pub mount: String,
    /// How it is mounted.
    #[serde(default, alias = "options", skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
}

/// A file system in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tmpfs {
    /// By which `@name` means the mount point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How much it holds.
    pub size: Bytes,
    /// Where it is mounted.
    pub mount: String,
    /// How it is mounted.
    #[serde(default, alias = "options", skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
}

/// A directory of this host, exported by NFS to itself and mounted again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Nfs {
    /// By which `@name` means the mount point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is exported.
    pub directory: String,
    /// How it is exported; `rw`, `no_root_squash`, `sync` and `insecure` when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub export_options: Vec<String>,
    /// Where it is mounted.
    pub mount: String,
    /// How it is mounted.
    #[serde(default, alias = "options", skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
}

/// Writes files until a file system is full to a share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fill {
    /// An existing directory on the file system; the files lie in a directory of their own below it.
    pub directory: String,
    /// The share of its space that is used in the end, `80%`.
    pub to: Word,
    /// Bytes a file; 64 MiB when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_size: Option<Bytes>,
    /// Seed of the content; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Count>,
}

/// Makes, extends and removes files until a file system looks used. What is left of them stays until it is undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Age {
    /// An existing directory on the file system; the files lie in a directory of their own below it.
    pub directory: String,
    /// How many files there are at most at a time.
    pub files: Count,
    /// The smallest and the largest file.
    pub size: [Bytes; 2],
    /// How many files are made or removed in all.
    pub operations: Count,
    /// Seed of all choices; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Count>,
}
