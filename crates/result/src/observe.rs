//! What the probe saw of the machine: before, during and after. The simulated device fills the same types, so that
//! every check can be tried without a machine.

pub use crate::seen::Seen;

use crate::blocks::{BlockOps, BlockStat};
use crate::client::ClientCounters;
use crate::conditions::PhaseConditions;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that was seen around one run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Observations {
    /// The machine.
    pub environment: Environment,
    /// The storage under each target, by the target's name.
    pub targets: BTreeMap<String, TargetFacts>,
    /// One for each phase that was started, in order.
    pub phases: Vec<PhaseObservations>,
}

/// The machine and its settings, apart from the storage.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// Host name.
    pub hostname: String,
    /// Operating system's name and version, `Debian GNU/Linux 12 (bookworm)`.
    pub os: String,
    /// `x86_64`, `aarch64`.
    pub arch: String,
    /// Kernel release, `6.1.0-35-amd64`.
    pub kernel: String,
    /// Kernel command line.
    pub kernel_cmdline: Seen<String>,
    /// C library that this program runs on.
    pub libc: String,
    /// Processor model.
    pub cpu: String,
    /// Processors online.
    pub cpus: u32,
    /// Memory.
    pub ram_bytes: u64,
    /// `none`, or the hypervisor's name; [`Seen::No`] where it cannot be told.
    pub virtualisation: Seen<String>,
    /// Current clock source of the kernel.
    pub clocksource: Seen<String>,
    /// Processor frequency governor, where there is one.
    pub governor: Seen<String>,
    /// Limits of the control groups that this process is in.
    pub cgroup: CgroupLimits,
    /// Everything else by name: `vm.dirty_ratio`, `mitigations`, `transparent_hugepage`, `microcode` …
    pub facts: BTreeMap<String, String>,
}

/// Limits that control groups (v1 or v2) put on this process.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CgroupLimits {
    /// Memory limit, bytes; `None` is none.
    pub memory_bytes: Option<u64>,
    /// CPU quota in processors; `None` is none.
    pub cpus: Option<f64>,
    /// I/O limits as written in `io.max` or `blkio.throttle.*`, a line each.
    pub io: Vec<String>,
    /// What could not be read, and why.
    pub unseen: Vec<String>,
}

/// The storage under one target, top to bottom.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetFacts {
    /// The path that was asked about.
    pub path: String,
    /// The file system; [`Seen::No`] for a bare device, null or sim.
    pub filesystem: Seen<FileSystem>,
    /// Block devices from the file system down to the leaves. The first is what the file system is mounted from.
    pub stack: Vec<BlockLayer>,
    /// Names (`sda`, `vda`) of the leaves: the devices whose counters tell what really moved.
    pub leaves: Vec<String>,
    /// What could not be seen, and why.
    pub unseen: Vec<String>,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileSystem {
    /// `ext4`, `xfs`, `btrfs`, `tmpfs`, `overlay`, `nfs4` …
    pub kind: String,
    /// Mount point.
    pub mount_point: String,
    /// What is mounted, `/dev/vda`, `server:/export`.
    pub source: String,
    /// Mount options, per mount and per superblock, without repetition, sorted.
    pub options: Vec<String>,
    /// UUID.
    pub uuid: Seen<String>,
    /// Features and geometry: `features`, `block_size`, `journal` …, as far as an unprivileged process can see.
    pub features: BTreeMap<String, String>,
    /// Size, bytes.
    pub size_bytes: u64,
    /// Free for this user, bytes.
    pub free_bytes: u64,
    /// Lives in memory (`tmpfs`, `ramfs`), so that no device exists.
    pub in_memory: bool,
    /// Comes over a network.
    pub remote: bool,
}

impl FileSystem {
    /// Whether a program serves it through FUSE. With a device below, FUSE's kind is `fuseblk`.
    pub fn is_served_by_a_program(&self) -> bool {
        self.kind == "fuse" || self.kind.starts_with("fuse.")
    }

    /// Share that is free, 0–1; 1 for a file system without a size.
    pub fn free_share(&self) -> f64 {
        if self.size_bytes == 0 { 1.0 } else { self.free_bytes as f64 / self.size_bytes as f64 }
    }
}

/// One layer of the block stack.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockLayer {
    /// Kernel's name, `nvme0n1p2`.
    pub name: String,
    /// Major and minor number, `259:2`.
    pub number: String,
    /// What it is.
    pub kind: LayerKind,
    /// Size, bytes.
    pub size_bytes: u64,
    /// Names of the layers below it that are in the same stack.
    pub below: Vec<String>,
    /// Model, for a disk.
    pub model: Option<String>,
    /// blake3 of the serial, first 16 hex digits; the serial itself only under `--serials`.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Spinning.
    pub rotational: Option<bool>,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// Logical block, bytes.
    pub logical_block_bytes: Option<u64>,
    /// Physical block, bytes.
    pub physical_block_bytes: Option<u64>,
    /// Optimal I/O size, bytes; 0 is unstated.
    pub optimal_io_bytes: Option<u64>,
    /// Start of a partition, bytes.
    pub start_bytes: Option<u64>,
    /// The kernel's `alignment_offset`, bytes; not 0 is misaligned.
    pub alignment_offset_bytes: Option<i64>,
    /// Backing file of a loop device, and the path's own target.
    pub backing_file: Option<String>,
    /// Further settings: `nr_requests`, `read_ahead_kb`, `nomerges`, `wbt_lat_usec`, md `level`, `chunk_size`, dm table type …
    pub settings: BTreeMap<String, String>,
}

/// What a block layer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LayerKind {
    /// A whole device with nothing below.
    #[default]
    Disk,
    /// A partition.
    Partition,
    /// A loop device.
    Loop,
    /// Linux software RAID.
    Md,
    /// Device mapper: LVM.
    Lvm,
    /// Device mapper: encryption.
    Crypt,
    /// Device mapper, another target.
    Dm,
    /// Compressed memory.
    Zram,
    /// Another driver that stands on block devices, such as bcache or drbd.
    Stacked,
    /// Simulated.
    Sim,
}

/// What was seen around one phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PhaseObservations {
    /// The phase's name.
    pub name: String,
    /// Counters as the clock started.
    pub before: Counters,
    /// Counters as the clock stopped (a flush inside the clock included).
    pub after: Counters,
    /// Residency of the targets' files in the page cache as the clock started, by target.
    pub resident_before: BTreeMap<String, Seen<Residency>>,
    /// Dirty pages of the targets' files as the clock stopped, by target.
    pub dirty_after: BTreeMap<String, Seen<Residency>>,
    /// Extents of the targets' files as the clock started, by target.
    pub extents_before: BTreeMap<String, Seen<Extents>>,
    /// The same as the clock stopped, of files with few extents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extents_after: BTreeMap<String, Seen<Extents>>,
    /// Processes other than Plumb's that did I/O meanwhile, largest first, at most five.
    pub other_io: Seen<Vec<ProcessIo>>,
    /// The reason if the I/O of some processes is missing there; `None` if all were in sight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden_io: Option<String>,
    /// Lines of the kernel's log since the phase began that speak of I/O errors, resets or timeouts.
    pub kernel_log: Seen<Vec<String>>,
    /// Largest step between `CLOCK_MONOTONIC_RAW` and `CLOCK_REALTIME` over the phase, ns.
    pub clock_step_ns: Seen<i64>,
    /// Ops per second that the null backend reached on this machine with the same workers, ops/s, for B2.
    pub null_ceiling_ops: Seen<f64>,
    /// The state of the machine and its disks around the phase.
    #[serde(default)]
    pub conditions: PhaseConditions,
    /// What limits from outside were seen to do.
    #[serde(default)]
    pub limits: crate::limits::LimitsSeen,
    /// Processor time by program, and pauses of Plumb.
    #[serde(default)]
    pub processors: crate::processors::ProcessorsSeen,
}

/// Counters of the system, each cumulative.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// `CLOCK_MONOTONIC`, ns.
    pub at_ns: u64,
    /// Devices by name, of every layer under the targets; [`TargetFacts::leaves`] says which of them count.
    pub devices: BTreeMap<String, Seen<DeviceCounters>>,
    /// Clients of network file systems under the targets, by mount point.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clients: BTreeMap<String, Seen<ClientCounters>>,
    /// Bytes that the backing files of loop devices occupy, by device, as far as they may be seen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub backing_bytes: BTreeMap<String, u64>,
    /// Of Plumb's own processes.
    pub own: Seen<OwnIo>,
    /// Processor time of the machine by class, in seconds.
    pub cpu: Seen<CpuTimes>,
    /// Memory.
    pub memory: Seen<MemoryCounters>,
}

/// Counters of one block device. Source: Documentation/admin-guide/iostats.rst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Read requests completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Write requests completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Flush requests completed; `None` before Linux 5.5.
    pub flushes: Option<u64>,
    /// Time with at least one request in flight, ms.
    pub busy_ms: u64,
    /// Time weighted by requests in flight, ms.
    pub weighted_ms: u64,
    /// Bytes discarded.
    pub discard_bytes: u64,
    /// Reads that were merged into others before they reached the device.
    #[serde(default)]
    pub read_merges: u64,
    /// The same of writes.
    #[serde(default)]
    pub write_merges: u64,
    /// Time that read requests took, added up, ms.
    #[serde(default)]
    pub read_ms: u64,
    /// The same of write requests.
    #[serde(default)]
    pub write_ms: u64,
    /// Discard requests completed; none before Linux 4.18.
    #[serde(default)]
    pub discards: u64,
    /// Time that discard requests took, added up, ms.
    #[serde(default)]
    pub discard_ms: u64,
    /// Requests in flight.
    #[serde(default)]
    pub in_flight: u32,
}

impl From<&DeviceCounters> for BlockStat {
    fn from(counters: &DeviceCounters) -> BlockStat {
        // The kernel's own counters of time have 32 bits.
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

/// `/proc/self/io`, of Plumb's own processes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OwnIo {
    /// Bytes that reads returned.
    pub rchar_bytes: u64,
    /// Bytes given to writes.
    pub wchar_bytes: u64,
    /// Bytes fetched from storage on behalf of this process.
    pub read_bytes: u64,
    /// Bytes dirtied or written directly; no evidence of writing.
    pub write_bytes: u64,
}

/// Processor time since boot, seconds. Source: proc_stat(5).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CpuTimes {
    /// All classes together.
    pub total_s: f64,
    /// Idle and waiting for I/O.
    pub idle_s: f64,
    /// Taken by the hypervisor.
    pub steal_s: f64,
}

/// Memory counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MemoryCounters {
    /// `MemAvailable`, bytes.
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
    /// PSI: total time in which some task waited for memory, µs; `None` without PSI.
    pub stall_us: Option<u64>,
}

/// Pages of files in the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Residency {
    /// Bytes looked at.
    pub total_bytes: u64,
    /// In the cache.
    pub resident_bytes: u64,
    /// Dirty; 0 and `dirty_known` false where only `mincore` was there.
    pub dirty_bytes: u64,
    /// Under writeback.
    pub writeback_bytes: u64,
    /// Whether dirty and writeback could be seen.
    pub dirty_known: bool,
}

/// Where files' bytes lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Extents {
    /// Bytes looked at: the files' lengths.
    pub total_bytes: u64,
    /// In holes.
    pub hole_bytes: u64,
    /// Allocated but never written.
    pub unwritten_bytes: u64,
    /// Number of extents.
    pub extents: u64,
    /// Compressed or otherwise encoded extents, bytes.
    pub encoded_bytes: u64,
    /// Where on the file system's device the extents lie; `None` where no extent tells its place.
    #[serde(default)]
    pub place: Option<DeviceSpan>,
}

/// The stretch of a device between the first byte of the lowest extent and the last byte of the highest. Source: `fe_physical`
/// of Documentation/filesystems/fiemap.rst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceSpan {
    /// First byte of the lowest extent, counted from the beginning of the file system's device.
    pub lowest_byte: u64,
    /// First byte behind the highest extent.
    pub end_byte: u64,
}

impl DeviceSpan {
    /// The stretch that holds both.
    pub fn with(self, other: DeviceSpan) -> DeviceSpan {
        DeviceSpan { lowest_byte: self.lowest_byte.min(other.lowest_byte), end_byte: self.end_byte.max(other.end_byte) }
    }
}

/// A process that did I/O.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIo {
    /// Its id.
    pub pid: u32,
    /// Its command.
    pub command: String,
    /// Bytes read from storage meanwhile.
    pub read_bytes: u64,
    /// Bytes dirtied meanwhile.
    pub write_bytes: u64,
    /// Whether it waited for children that ended meanwhile: the kernel adds their bytes to its own.
    #[serde(default)]
    pub with_children: bool,
}
