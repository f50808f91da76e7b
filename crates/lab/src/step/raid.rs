//! Devices over several devices.

use super::{Count, Names, Word};
use plumb_workload::units::Bytes;
use serde::{Deserialize, Serialize};

/// A RAID array of the md driver, by mdadm(8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mdadm {
    /// By which `@name` means the array.
    pub name: String,
    /// 0, 1, 4, 5, 6, 10.
    pub level: Word,
    /// Its members.
    pub devices: Names,
    /// Devices that stand by for a member that fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spares: Option<Names>,
    /// Bytes that lie together on one member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// Version of the superblock; 1.2 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Word>,
    /// Where parity or copies lie, `left-symmetric`, `n2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// `none` or `internal`; `none` when absent, since an array's default depends on its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bitmap: Option<String>,
    /// Bytes that are used of each member; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Where data start on each member (`--data-offset`); as mdadm thinks best when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// Whether parity and copies are taken for right without being made so. An array with false parity is measured well,
    /// and loses data when a member fails.
    #[serde(default)]
    pub assume_clean: bool,
    /// Seconds without a write after which the array's superblocks say that it is clean (`safe_mode_delay`), `0` for never until
    /// it stops: then no superblock is written between two runs. The kernel's own, 0.2, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safe_mode_delay: Option<Word>,
    /// What is waited for.
    #[serde(default)]
    pub wait: Wait,
    /// Seconds after which an array that still syncs is an error; a day when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Count>,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// Until nothing syncs any more.
    #[default]
    Sync,
    /// Nothing: what is measured then shares the members with the resync.
    None,
}

/// A member of an md array fails, and is removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Degrade {
    /// The array.
    pub array: String,
    /// The member.
    pub member: String,
}

/// A device becomes a member of an md array that lacks one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rebuild {
    /// The array.
    pub array: String,
    /// The device: the member that failed, or another one.
    pub member: String,
    /// What is waited for.
    #[serde(default)]
    pub wait: Wait,
    /// Seconds after which an array that still rebuilds is an error; a day when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Count>,
}

/// A logical volume, alone in a volume group, by lvm(8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Lvm {
    /// By which `@name` means the volume.
    pub name: String,
    /// The physical volumes.
    pub devices: Names,
    /// How it lies on them.
    #[serde(default)]
    pub layout: LvmLayout,
    /// How large it is; as large as can be when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// `striped`: bytes that lie together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripe_size: Option<Bytes>,
    /// `thin`: bytes that the pool allocates at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
}

/// How a logical volume lies on its devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LvmLayout {
    /// One after another.
    #[default]
    Linear,
    /// In turn over all devices.
    Striped,
    /// A copy on each device (`raid1`).
    Mirror,
    /// Allocated from a pool when it is written.
    Thin,
}
