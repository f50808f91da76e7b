//! Steps that combine several devices.

use super::{Count, Names, Word};
use plumb_workload::units::Bytes;
use serde::{Deserialize, Serialize};

/// A RAID array of the md driver, made with mdadm(8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mdadm {
    /// Name by which `@name` refers to the array.
    pub name: String,
    /// RAID level: 0, 1, 4, 5, 6 or 10.
    pub level: Word,
    /// Members of the array.
    pub devices: Names,
    /// Spare devices that replace a failed member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spares: Option<Names>,
    /// Chunk size: contiguous bytes on one member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// Version of the superblock; 1.2 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Word>,
    /// Layout of parity or copies, such as `left-symmetric` or `n2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// `none` or `internal`; `none` by default, since mdadm's own default depends on the array's size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bitmap: Option<String>,
    /// Bytes used on each member; all by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Offset of the data on each member (`--data-offset`); mdadm's choice by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// Whether parity and copies are assumed to be correct without a sync. An array with wrong parity performs
    /// normally, but loses data when a member fails.
    #[serde(default)]
    pub assume_clean: bool,
    /// Seconds without a write after which the array's superblocks are marked clean (`safe_mode_delay`).
    /// With `0` they are marked only when the array stops, so no superblock is written between two runs.
    /// The kernel's default is 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safe_mode_delay: Option<Word>,
    /// Condition to wait for after the creation.
    #[serde(default)]
    pub wait: Wait,
    /// Seconds after which an unfinished sync is an error; a day by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Count>,
}

/// Condition to wait for after a change to an array.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// Waits until no sync is running.
    #[default]
    Sync,
    /// Does not wait: measurements then share the members with the resync.
    None,
}

/// Makes a member of an md array fail, and removes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Degrade {
    /// The array with the member.
    pub array: String,
    /// The member that fails.
    pub member: String,
}

/// Adds a device to an md array that lacks a member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rebuild {
    /// The array that lacks a member.
    pub array: String,
    /// The device to add: the failed member, or another device.
    pub member: String,
    /// Condition to wait for after the change.
    #[serde(default)]
    pub wait: Wait,
    /// Seconds after which an unfinished rebuild is an error; a day by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Count>,
}

/// A logical volume, alone in a volume group, made with lvm(8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Lvm {
    /// Name by which `@name` refers to the volume.
    pub name: String,
    /// The physical volumes.
    pub devices: Names,
    /// Layout of the volume on its devices.
    #[serde(default)]
    pub layout: LvmLayout,
    /// Size of the volume; the maximum by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// `striped`: contiguous bytes on one device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripe_size: Option<Bytes>,
    /// `thin`: bytes that the pool allocates at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
}

/// Layout of a logical volume on its devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LvmLayout {
    /// One device after another.
    #[default]
    Linear,
    /// Striped over all devices.
    Striped,
    /// One copy on each device (`raid1`).
    Mirror,
    /// Allocated from a pool on first write (thin).
    Thin,
}
