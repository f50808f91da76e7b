//! Observations of the machine by the probe: before, during and after a run. The simulated device fills the same
//! types, so that every check can be tested without a real machine.

pub use crate::seen::Seen;

use crate::blocks::{BlockOps, BlockStat};
use crate::client::ClientCounters;
use crate::conditions::PhaseConditions;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All observations around one run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Observations {
    /// The machine and its settings.
    pub environment: Environment,
    /// The storage under each target, by target name.
    pub targets: BTreeMap<String, TargetFacts>,
    /// Observations of each phase that started, in order.
    pub phases: Vec<PhaseObservations>,
}

/// The machine and its settings, apart from the storage.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// Host name of the machine.
    pub hostname: String,
    /// Name and version of the operating system, such as `Debian GNU/Linux 12 (bookworm)`.
    pub os: String,
    /// Processor architecture, such as `x86_64` or `aarch64`.
    pub arch: String,
    /// Release of the kernel, such as `6.1.0-35-amd64`.
    pub kernel: String,
    /// Command line that the kernel was booted with.
    pub kernel_cmdline: Seen<String>,
    /// C library that Plumb runs on.
    pub libc: String,
    /// Model name of the processor.
    pub cpu: String,
    /// Number of processors that are online.
    pub cpus: u32,
    /// Size of the memory, bytes.
    pub ram_bytes: u64,
    /// Name of the hypervisor, or `none`; `no` with the reason if it cannot be determined.
    pub virtualisation: Seen<String>,
    /// Clock source that the kernel currently uses.
    pub clocksource: Seen<String>,
    /// Frequency governor of the processors, if there is one.
    pub governor: Seen<String>,
    /// Limits of the control groups that this process belongs to.
    pub cgroup: CgroupLimits,
    /// Further settings by name: `vm.dirty_ratio`, `mitigations`, `transparent_hugepage`, `microcode` …
    pub facts: BTreeMap<String, String>,
}

/// Limits that control groups (v1 or v2) impose on this process.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CgroupLimits {
    /// Memory limit, bytes; `null` if unlimited.
    pub memory_bytes: Option<u64>,
    /// CPU quota in processors; `null` if unlimited.
    pub cpus: Option<f64>,
    /// I/O limits as written in `io.max` or `blkio.throttle.*`, one line each.
    pub io: Vec<String>,
    /// Limits that could not be read, each with the reason.
    pub unseen: Vec<String>,
}

/// The storage under one target, top to bottom.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetFacts {
    /// Path of the target that was examined.
    pub path: String,
    /// The file system; `no` with the reason for a bare device, null or sim.
    pub filesystem: Seen<FileSystem>,
    /// Block devices from the file system down to the leaves. The first one is the mounted device.
    pub stack: Vec<BlockLayer>,
    /// Names of the leaf devices (`sda`, `vda`), whose counters show the bytes really moved.
    pub leaves: Vec<String>,
    /// Facts that could not be observed, each with the reason.
    pub unseen: Vec<String>,
}

/// A mounted file system under a target.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileSystem {
    /// Type: `ext4`, `xfs`, `btrfs`, `tmpfs`, `overlay`, `nfs4` …
    pub kind: String,
    /// Directory where it is mounted.
    pub mount_point: String,
    /// Mounted device or export, such as `/dev/vda` or `server:/export`.
    pub source: String,
    /// Mount options of the mount and the superblock, sorted and without duplicates.
    pub options: Vec<String>,
    /// UUID of the file system.
    pub uuid: Seen<String>,
    /// Features and geometry: `features`, `block_size`, `journal` …, as far as an unprivileged process can read them.
    pub features: BTreeMap<String, String>,
    /// Size of the file system, bytes.
    pub size_bytes: u64,
    /// Space available to this user, bytes.
    pub free_bytes: u64,
    /// Whether it is in memory (`tmpfs`, `ramfs`) and has no device.
    pub in_memory: bool,
    /// Whether it is accessed over a network.
    pub remote: bool,
}

impl FileSystem {
    /// Returns `true` if a FUSE program serves the file system. FUSE on a block device has the kind `fuseblk`.
    pub fn is_served_by_a_program(&self) -> bool {
        self.kind == "fuse" || self.kind.starts_with("fuse.")
    }

    /// Returns the free share, 0–1; 1 for a file system without a size.
    pub fn free_share(&self) -> f64 {
        if self.size_bytes == 0 { 1.0 } else { self.free_bytes as f64 / self.size_bytes as f64 }
    }
}

/// One layer of the block stack.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockLayer {
    /// Kernel name, such as `nvme0n1p2`.
    pub name: String,
    /// Major and minor number, such as `259:2`.
    pub number: String,
    /// Kind of the layer, such as a partition.
    pub kind: LayerKind,
    /// Size of the layer, bytes.
    pub size_bytes: u64,
    /// Names of the layers directly below in the same stack.
    pub below: Vec<String>,
    /// Model name of a disk.
    pub model: Option<String>,
    /// BLAKE3 hash of the serial number, first 16 hex digits; with `--serials`, the serial number itself.
    pub serial: Option<String>,
    /// Firmware revision of a disk.
    pub firmware: Option<String>,
    /// Whether the medium rotates, as the kernel reports it.
    pub rotational: Option<bool>,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Mode of the write cache: `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Size of a logical block, bytes.
    pub logical_block_bytes: Option<u64>,
    /// Size of a physical block, bytes.
    pub physical_block_bytes: Option<u64>,
    /// Optimal I/O size, bytes; 0 if the device does not state one.
    pub optimal_io_bytes: Option<u64>,
    /// Start of a partition on its device, bytes.
    pub start_bytes: Option<u64>,
    /// The kernel's `alignment_offset`, bytes; misaligned unless 0.
    pub alignment_offset_bytes: Option<i64>,
    /// Backing file of a loop device, as the kernel reports it.
    pub backing_file: Option<String>,
    /// Further settings: `nr_requests`, `read_ahead_kb`, `nomerges`, `wbt_lat_usec`, md `level`, `chunk_size`, dm table type …
    pub settings: BTreeMap<String, String>,
}

/// Kind of a block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LayerKind {
    /// A whole device without a layer below.
    #[default]
    Disk,
    /// A partition of a device.
    Partition,
    /// A loop device, backed by a file or device.
    Loop,
    /// Linux software RAID (md).
    Md,
    /// Device mapper: a logical volume of LVM.
    Lvm,
    /// Device mapper: an encrypted device.
    Crypt,
    /// Device mapper: any other target.
    Dm,
    /// A compressed device in memory (zram).
    Zram,
    /// Another driver on top of block devices, such as bcache or drbd.
    Stacked,
    /// A device that Plumb simulates.
    Sim,
}

/// Observations before, during and after one phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PhaseObservations {
    /// Name of the measured phase.
    pub name: String,
    /// Counters when the clock started.
    pub before: Counters,
    /// Counters when the clock stopped, including a flush inside the clock.
    pub after: Counters,
    /// Residency of the targets' files in the page cache when the clock started, by target.
    pub resident_before: BTreeMap<String, Seen<Residency>>,
    /// Dirty pages of the targets' files when the clock stopped, by target.
    pub dirty_after: BTreeMap<String, Seen<Residency>>,
    /// Extents of the targets' files when the clock started, by target.
    pub extents_before: BTreeMap<String, Seen<Extents>>,
    /// Extents when the clock stopped, of files with few extents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extents_after: BTreeMap<String, Seen<Extents>>,
    /// Processes other than Plumb's that did I/O during the phase, largest first, at most five.
    pub other_io: Seen<Vec<ProcessIo>>,
    /// Reason why processes are missing from `other_io`; `None` if all were readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_io: Option<String>,
    /// Kernel log lines during the phase that mention I/O errors, resets or timeouts.
    pub kernel_log: Seen<Vec<String>>,
    /// Largest step between `CLOCK_MONOTONIC_RAW` and `CLOCK_REALTIME` over the phase, ns.
    pub clock_step_ns: Seen<i64>,
    /// Ops per second of the null backend with the same workers on this machine, ops/s; used by check B2.
    pub null_ceiling_ops: Seen<f64>,
    /// State of the machine and its disks around the phase.
    #[serde(default)]
    pub conditions: PhaseConditions,
    /// Effects of outside limits, such as control groups.
    #[serde(default)]
    pub limits: crate::limits::LimitsSeen,
    /// Processor time by program, and pauses of Plumb.
    #[serde(default)]
    pub processors: crate::processors::ProcessorsSeen,
}

/// Cumulative counters of the system.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// `CLOCK_MONOTONIC` at the reading, ns.
    pub at_ns: u64,
    /// Devices of every layer under the targets, by name; [`TargetFacts::leaves`] lists those that count.
    pub devices: BTreeMap<String, Seen<DeviceCounters>>,
    /// Clients of network file systems under the targets, by mount point.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clients: BTreeMap<String, Seen<ClientCounters>>,
    /// Bytes occupied by the backing files of loop devices, by device, as far as they are readable.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub backing_bytes: BTreeMap<String, u64>,
    /// I/O counters of Plumb's own processes.
    pub own: Seen<OwnIo>,
    /// Processor time of the machine by class, in seconds.
    pub cpu: Seen<CpuTimes>,
    /// Memory counters of the machine.
    pub memory: Seen<MemoryCounters>,
}

/// Counters of one block device. Source: Documentation/admin-guide/iostats.rst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Number of read requests completed.
    pub reads: u64,
    /// Bytes read from the device.
    pub read_bytes: u64,
    /// Number of write requests completed.
    pub writes: u64,
    /// Bytes written to the device.
    pub write_bytes: u64,
    /// Number of flush requests completed; `None` before Linux 5.5.
    pub flushes: Option<u64>,
    /// Time with at least one request in flight, ms.
    pub busy_ms: u64,
    /// Time weighted by the number of requests in flight, ms.
    pub weighted_ms: u64,
    /// Bytes discarded on the device.
    pub discard_bytes: u64,
    /// Read requests merged into others before they reached the device.
    #[serde(default)]
    pub read_merges: u64,
    /// Write requests merged into others before they reached the device.
    #[serde(default)]
    pub write_merges: u64,
    /// Total time of read requests, ms.
    #[serde(default)]
    pub read_ms: u64,
    /// Total time of write requests, ms.
    #[serde(default)]
    pub write_ms: u64,
    /// Number of discard requests completed; 0 before Linux 4.18.
    #[serde(default)]
    pub discards: u64,
    /// Total time of discard requests, ms.
    #[serde(default)]
    pub discard_ms: u64,
    /// Number of requests in flight at the reading.
    #[serde(default)]
    pub in_flight: u32,
}

impl From<&DeviceCounters> for BlockStat {
    fn from(counters: &DeviceCounters) -> BlockStat {
        // The kernel's own time counters have 32 bits.
        let ops = |ops, merges, bytes: u64, ms: u64| BlockOps { ops, merges, sectors: bytes / 512, ms: ms as u32 };
        BlockStat {
            reads: ops(counters.reads, counters.read_merges, counters.read_bytes, counters.read_ms),
            writes: ops(counters.writes, counters.write_merges, counters.write_bytes, counters.write_ms),
            discards: ops(counters.discards, 0, counters.discard_bytes, counters.discard_ms),
            flushes: ops(counters.flushes.unwrap_or(0), 0, 0, 0),
            in_flight: counters.in_flight,
            busy_ms: counters.busy_ms as u32,
            weighted_ms: counters.weighted_ms as u32,
        }
    }
}

/// Counters of `/proc/self/io`, summed over Plumb's own processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OwnIo {
    /// Bytes returned by read calls.
    pub rchar_bytes: u64,
    /// Bytes passed to write calls.
    pub wchar_bytes: u64,
    /// Bytes fetched from storage on behalf of this process.
    pub read_bytes: u64,
    /// Bytes dirtied or written directly. They are not evidence that anything reached the device.
    pub write_bytes: u64,
}

/// Processor time since boot, seconds. Source: proc_stat(5).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CpuTimes {
    /// Time of all classes together.
    pub total_s: f64,
    /// Idle time, with and without pending I/O.
    pub idle_s: f64,
    /// Time that the hypervisor took.
    pub steal_s: f64,
}

/// Memory counters of the machine and of Plumb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MemoryCounters {
    /// `MemAvailable` of `/proc/meminfo`, bytes.
    pub available_bytes: u64,
    /// Dirty pages, bytes.
    pub dirty_bytes: u64,
    /// Pages under writeback, bytes.
    pub writeback_bytes: u64,
    /// Pages swapped in since boot.
    pub swap_in_pages: u64,
    /// Pages swapped out since boot.
    pub swap_out_pages: u64,
    /// Swapped-out memory of Plumb's own processes, bytes.
    pub own_swap_bytes: u64,
    /// PSI: total time in which at least one task waited for memory, µs; `None` without PSI.
    pub stall_us: Option<u64>,
}

/// Pages of files in the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Residency {
    /// Bytes that were examined.
    pub total_bytes: u64,
    /// Bytes in the page cache.
    pub resident_bytes: u64,
    /// Dirty bytes; 0 with `dirty_known` false if only `mincore` was available.
    pub dirty_bytes: u64,
    /// Bytes under writeback.
    pub writeback_bytes: u64,
    /// Whether dirty and writeback pages could be distinguished.
    pub dirty_known: bool,
}

/// Location of files' data on their device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Extents {
    /// Bytes that were examined: the lengths of the files.
    pub total_bytes: u64,
    /// Bytes in holes.
    pub hole_bytes: u64,
    /// Bytes allocated but never written.
    pub unwritten_bytes: u64,
    /// Number of extents of all files.
    pub extents: u64,
    /// Bytes in compressed or otherwise encoded extents.
    pub encoded_bytes: u64,
    /// Location of the extents on the file system's device; `None` if no extent reports its location.
    #[serde(default)]
    pub place: Option<DeviceSpan>,
}

/// The part of a device between the first byte of the lowest extent and the last byte of the
/// highest. Source: `fe_physical` in Documentation/filesystems/fiemap.rst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceSpan {
    /// First byte of the lowest extent, from the start of the file system's device.
    pub lowest_byte: u64,
    /// First byte after the highest extent.
    pub end_byte: u64,
}

impl DeviceSpan {
    /// Returns the smallest span that covers both.
    pub fn with(self, other: DeviceSpan) -> DeviceSpan {
        DeviceSpan { lowest_byte: self.lowest_byte.min(other.lowest_byte), end_byte: self.end_byte.max(other.end_byte) }
    }
}

/// A process that did I/O.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIo {
    /// Process id in the kernel.
    pub pid: u32,
    /// Command name of the process.
    pub command: String,
    /// Bytes read from storage during the phase.
    pub read_bytes: u64,
    /// Bytes dirtied during the phase.
    pub write_bytes: u64,
    /// Whether it waited for children that ended during the phase; the kernel adds their bytes to its own.
    #[serde(default)]
    pub with_children: bool,
}
