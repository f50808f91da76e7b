//! Devices: what makes them, what is said about them, what is written to them.

use super::{Count, Names, Word};
use plumb_workload::units::Bytes;
use serde::{Deserialize, Serialize};

/// Loop devices, each over an image file of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Loop {
    /// By which `@name` means the devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// An existing directory; the images lie in a directory of their own below it.
    pub directory: String,
    /// Size of each image.
    pub size: Bytes,
    /// How many; 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// Whether the images have blocks from the start.
    #[serde(default)]
    pub fill: LoopFill,
    /// Whether the images are used around the page cache of the file system that they lie on.
    #[serde(default)]
    pub direct_io: bool,
    /// Logical sector size, bytes; 512 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sector_size: Option<Count>,
    /// What the measured processes may ask of each device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<IoLimits>,
}

/// Whether the image of a loop device has blocks from the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LoopFill {
    /// It is a hole: each block is allocated when it is first written.
    #[default]
    Sparse,
    /// It was written, with random content.
    Filled,
}

/// What processes of one control group may ask of a device. Sources: the kernel's
/// `admin-guide/cgroup-v1/blkio-controller.rst` (throttling) and `admin-guide/cgroup-v2.rst` (`io.max`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IoLimits {
    /// Bytes read a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bps: Option<Bytes>,
    /// Bytes written a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_bps: Option<Bytes>,
    /// Reads a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_iops: Option<Count>,
    /// Writes a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<Count>,
}

/// Partitions of a device, by sfdisk(8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Partition {
    /// By which `@name` means the partitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The device.
    pub device: String,
    /// The size of each partition, `100MiB`; the last may be `rest`. One over all of the device when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<Word>,
    /// Where each partition starts is a multiple of this; 1 MiB when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// What kind of table.
    #[serde(default)]
    pub table: PartitionTable,
}

/// A kind of partition table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PartitionTable {
    /// GUID partition table.
    #[default]
    Gpt,
    /// Master boot record.
    Dos,
}

/// A mapped device, by dmsetup(8). Sources of the tables: the kernel's `admin-guide/device-mapper/`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Dm {
    /// By which `@name` means the device.
    pub name: String,
    /// What it does.
    pub target: DmTarget,
    /// The device below.
    pub device: String,
    /// Where it starts on the device below; its start when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Bytes>,
    /// How large it is; up to the end of the device below when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// `delay`: milliseconds that each read waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_delay_ms: Option<Count>,
    /// `delay`: milliseconds that each write waits; as reads when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_delay_ms: Option<Count>,
    /// `flakey`: seconds in which it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_s: Option<Count>,
    /// `flakey`: seconds in which it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_s: Option<Count>,
    /// `flakey`: how it fails, `drop_writes`; every I/O is an error when absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// `log-writes`: the device that takes the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// What a mapped device does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DmTarget {
    /// Passes on.
    Linear,
    /// Passes on after a time.
    Delay,
    /// Fails now and then.
    Flakey,
    /// Passes on, and logs all writes.
    LogWrites,
}

/// Compressed devices in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Zram {
    /// By which `@name` means the devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Size of each, uncompressed.
    pub size: Bytes,
    /// How many; 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// How it compresses, `lzo-rle`; the kernel's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<String>,
}

/// Writes all of a device, so that what was on it before makes no difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Precondition {
    /// The device, or several.
    pub device: Names,
    /// How often; twice when absent, as the performance test specification of SNIA has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<Count>,
    /// Bytes a write; 1 MiB when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Bytes>,
    /// Seed of the content; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Count>,
}
