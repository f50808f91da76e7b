//! Steps for file systems, mounts, and their contents.

use super::{Count, Names, Word};
use plumb_workload::units::Bytes;
use serde::{Deserialize, Serialize};

/// A file system on one device, optionally mounted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mkfs {
    /// Name by which `@name` refers to the mount point, or to the device if it is not mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// One of `ext2`, `ext3`, `ext4`, `xfs`, `btrfs` and `f2fs`.
    pub fs: String,
    /// The device that gets the file system.
    pub device: String,
    /// Further options of its mkfs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Mount point; not mounted if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<String>,
    /// Options for mount(8), such as `noatime`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
}

/// A btrfs over several devices, optionally mounted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Btrfs {
    /// Name by which `@name` refers to the mount point, or to the devices if it is not mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The devices of the file system.
    pub devices: Names,
    /// Profile of the data: `single`, `raid0`, `raid1`, `raid10`, `raid5` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Profile of the metadata, with the same values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
    /// Further options of mkfs.btrfs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Mount point; not mounted if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<String>,
    /// Options for mount(8), such as `noatime`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
}

/// A mount of a device that has a file system already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mount {
    /// Name by which `@name` refers to the mount point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The device to mount.
    pub device: String,
    /// Type of its file system; detected if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fs: Option<String>,
    /// Mount point; created if it is missing.
    pub mount: String,
    /// Options for mount(8), such as `noatime`.
    #[serde(default, alias = "options", skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
}

/// A change to an unmounted ext2, ext3 or ext4 file system, made with tune2fs(8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tune {
    /// The device with the file system.
    pub device: String,
    /// Kind that the file system becomes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<ExtKind>,
    /// Further options of tune2fs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// Kind of file system in the ext family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExtKind {
    /// Without a journal.
    Ext2,
    /// With a journal.
    Ext3,
    /// With a journal and extents. Existing files keep their block maps.
    Ext4,
}

/// A union of directories (overlayfs).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Overlay {
    /// Name by which `@name` refers to the mount point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Read-only directories, the uppermost first.
    pub lower: Names,
    /// An existing directory. The writable layer goes into a new directory inside it.
    pub directory: String,
    /// Mount point; created if it is missing.
    pub mount: String,
    /// Options for mount(8), such as `noatime`.
    #[serde(default, alias = "options", skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
}

/// A file system in memory (tmpfs).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tmpfs {
    /// Name by which `@name` refers to the mount point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Maximum size of its contents.
    pub size: Bytes,
    /// Mount point; created if it is missing.
    pub mount: String,
    /// Options for mount(8), such as `noatime`.
    #[serde(default, alias = "options", skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
}

/// A directory of this host that is exported by NFS to itself and mounted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Nfs {
    /// Name by which `@name` refers to the mount point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The directory to export.
    pub directory: String,
    /// Export options; `rw`, `no_root_squash`, `sync` and `insecure` by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub export_options: Vec<String>,
    /// Mount point; created if it is missing.
    pub mount: String,
    /// Options for mount(8), such as `noatime`.
    #[serde(default, alias = "options", skip_serializing_if = "Vec::is_empty")]
    pub mount_options: Vec<String>,
}

/// Writes files until a file system is full to a given share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fill {
    /// An existing directory on the file system. The files go into a new directory inside it.
    pub directory: String,
    /// Share of the file system's space in use at the end, such as `80%`.
    pub to: Word,
    /// Size of each file; 64 MiB by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_size: Option<Bytes>,
    /// Seed of the content; 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Count>,
}

/// Creates, extends and removes files until a file system looks used. The remaining files stay
/// until the step is undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Age {
    /// An existing directory on the file system. The files go into a new directory inside it.
    pub directory: String,
    /// Maximum number of files at a time.
    pub files: Count,
    /// The smallest and the largest file size.
    pub size: [Bytes; 2],
    /// Total number of files created or removed.
    pub operations: Count,
    /// Seed of all choices; 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Count>,
}
