//! Steps that create devices, describe them, or write to them.

use super::{Count, Names, Word};
use plumb_workload::units::Bytes;
use serde::{Deserialize, Serialize};

/// Loop devices, each over an image file of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Loop {
    /// Name by which `@name` refers to the devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// An existing directory. The images go into a new directory inside it.
    pub directory: String,
    /// Size of each image, in bytes.
    pub size: Bytes,
    /// Number of devices; 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// Whether the images' blocks are allocated from the start.
    #[serde(default)]
    pub fill: LoopFill,
    /// Whether the images bypass the page cache of the underlying file system.
    #[serde(default)]
    pub direct_io: bool,
    /// Logical sector size in bytes; 512 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sector_size: Option<Count>,
    /// Limits of the measured processes on each device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<IoLimits>,
}

/// Whether the blocks of a loop device's image are allocated from the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LoopFill {
    /// A hole: each block is allocated when it is first written.
    #[default]
    Sparse,
    /// Written in advance, with random content.
    Filled,
}

/// Limits of one control group's I/O on a device. Sources: the kernel's
/// `admin-guide/cgroup-v1/blkio-controller.rst` (throttling) and `admin-guide/cgroup-v2.rst` (`io.max`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IoLimits {
    /// Maximum bytes read per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bps: Option<Bytes>,
    /// Maximum bytes written per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_bps: Option<Bytes>,
    /// Maximum reads per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_iops: Option<Count>,
    /// Maximum writes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<Count>,
}

/// Partitions of a device, made with sfdisk(8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Partition {
    /// Name by which `@name` refers to the partitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The device to partition.
    pub device: String,
    /// Size of each partition, such as `100MiB`; the last may be `rest`. Without sizes,
    /// one partition fills the device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<Word>,
    /// Alignment of the partitions' starts; 1 MiB by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// Kind of the partition table.
    #[serde(default)]
    pub table: PartitionTable,
}

/// Kind of a partition table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PartitionTable {
    /// GUID partition table (GPT).
    #[default]
    Gpt,
    /// Master boot record (MBR).
    Dos,
}

/// A mapped device, made with dmsetup(8). Sources of the tables: the kernel's `admin-guide/device-mapper/`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Dm {
    /// Name by which `@name` refers to the device.
    pub name: String,
    /// Target of the device mapper.
    pub target: DmTarget,
    /// The underlying device.
    pub device: String,
    /// Offset on the underlying device; 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Bytes>,
    /// Size of the mapped device; up to the end of the underlying device by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// `delay`: milliseconds that each read is delayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_delay_ms: Option<Count>,
    /// `delay`: milliseconds that each write is delayed; as for reads by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_delay_ms: Option<Count>,
    /// `flakey`: seconds of each period in which it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_s: Option<Count>,
    /// `flakey`: seconds of each period in which it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_s: Option<Count>,
    /// `flakey`: kinds of failure, such as `drop_writes`; by default every I/O fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// `log-writes`: the device that takes the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// Behavior of a mapped device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DmTarget {
    /// Passes I/O on unchanged.
    Linear,
    /// Passes I/O on after a delay.
    Delay,
    /// Fails periodically.
    Flakey,
    /// Passes I/O on, and logs all writes.
    LogWrites,
}

/// Compressed devices in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Zram {
    /// Name by which `@name` refers to the devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Uncompressed size of each device.
    pub size: Bytes,
    /// Number of devices; 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// Compression algorithm, such as `lzo-rle`; the kernel's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<String>,
}

/// Writes all of a device, so that its earlier content makes no difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Precondition {
    /// The device or devices to write.
    pub device: Names,
    /// Number of passes; 2 by default, as in SNIA's performance test specification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<Count>,
    /// Bytes per write; 1 MiB by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Bytes>,
    /// Seed of the content; 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Count>,
}
