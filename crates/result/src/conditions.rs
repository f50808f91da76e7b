//! State of the machine and its disks around a phase, apart from counters: rebuilds, due timers,
//! processor frequencies, temperatures and wear.

use crate::seen::Seen;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// State of the machine observed around one phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PhaseConditions {
    /// State before the clock started.
    pub before: Conditions,
    /// State after the clock stopped.
    pub after: Conditions,
    /// Upkeep observed once a second while the clock ran: the last observation for each device and kind.
    pub meanwhile: Vec<Upkeep>,
    /// Stability of the processor frequency, sampled once a second.
    pub frequency: Seen<FrequencySpread>,
    /// The machine's timers, as read at the start of the run.
    pub timers: Seen<Vec<TimerDue>>,
    /// Latest time at which timers matter, seconds since 1970; `None` if that is the end of the phase.
    pub matters_until_unix_s: Option<u64>,
    /// Kinds of upkeep that a study declares as a factor, such as a degraded array.
    pub declared: Vec<UpkeepKind>,
}

/// State of the machine at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Conditions {
    /// Time of the observation, seconds since 1970; `None` if there was none.
    pub at_unix_s: Option<u64>,
    /// Rebuilds, scrubs and similar work on the target's devices.
    pub upkeep: Seen<Vec<Upkeep>>,
    /// Kinds of upkeep that could not be observed, each with the reason.
    pub upkeep_unseen: Vec<String>,
    /// The ext4 file systems under the targets, and whether the kernel is still initialising inode tables.
    pub lazy_init: Seen<LazyInit>,
    /// Throttling events since boot, summed over all processors.
    pub cpu_throttles: Seen<u64>,
    /// Power source of the machine.
    pub power: Seen<PowerSource>,
    /// Temperatures of the leaf devices, by device name.
    pub heat: BTreeMap<String, Seen<Heat>>,
    /// Health logs of the leaf devices, by device name.
    pub health: BTreeMap<String, Seen<DeviceHealth>>,
}

/// Background work of a storage layer, or a state that makes each request slower.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upkeep {
    /// Name of the array, pool or file system.
    pub on: String,
    /// Kind of work or state.
    pub kind: UpkeepKind,
    /// Further detail, such as `23 % done`; may be empty.
    pub detail: String,
}

/// Kinds of background work of a storage layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpkeepKind {
    /// Makes copies or parity consistent.
    Resync,
    /// Rebuilds onto a spare.
    Recover,
    /// Reads all data to compare copies or parity.
    Check,
    /// Like `Check`, but also repairs mismatches.
    Repair,
    /// Changes level, chunk size or number of devices.
    Reshape,
    /// Lacks a device, so that its data must be computed on each read.
    Degraded,
    /// Rewrites the chunks of a btrfs file system.
    Balance,
    /// Reads all data and verifies checksums.
    Scrub,
    /// Replaces, adds, removes or resizes a device.
    Replace,
    /// Any other work that a layer reports.
    Other,
}

impl UpkeepKind {
    /// Returns the words for messages such as `md0 is …`.
    pub const fn doing(self) -> &'static str {
        match self {
            UpkeepKind::Resync => "resyncing",
            UpkeepKind::Recover => "rebuilding onto a spare",
            UpkeepKind::Check => "checking its copies or parity",
            UpkeepKind::Repair => "repairing its copies or parity",
            UpkeepKind::Reshape => "changing its shape",
            UpkeepKind::Degraded => "degraded",
            UpkeepKind::Balance => "balancing",
            UpkeepKind::Scrub => "scrubbing",
            UpkeepKind::Replace => "adding, replacing, removing or resizing a device",
            UpkeepKind::Other => "busy with work of its own",
        }
    }
}

/// Whether the kernel is still zeroing inode tables that mkfs skipped.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LazyInit {
    /// Whether the kernel's `ext4lazyinit` thread exists; it serves every ext4 file system of the machine.
    pub thread_alive: bool,
    /// The ext4 file systems under the targets.
    pub filesystems: Vec<Ext4Tables>,
    /// All other ext4 file systems, read only while the thread exists, because it may be working on them.
    pub elsewhere: Vec<Ext4Tables>,
    /// Number of times the thread ran, if it exists. If two readings are equal, it did nothing in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<ThreadTurns>,
}

/// Number of times a thread has run. Source: proc_pid_status(5), "voluntary_ctxt_switches".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTurns {
    /// Id of the thread, which distinguishes it from a later thread of the same name.
    pub pid: u32,
    /// Context switches of the thread since it started, voluntary and involuntary.
    pub switches: u64,
}

/// Inode tables of one ext4 file system.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Ext4Tables {
    /// Device that holds the file system.
    pub device: String,
    /// Number of block groups, and of inode tables not yet zeroed.
    pub groups: Seen<GroupCount>,
    /// Creation time of the file system, seconds since 1970.
    pub created_unix_s: Option<u64>,
}

/// Block groups of an ext4 file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GroupCount {
    /// Number of all block groups.
    pub total: u64,
    /// Number of groups whose inode table has not been zeroed yet.
    pub uninitialised: u64,
}

/// Power source of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PowerSource {
    /// Mains power, or a machine without a battery.
    Mains,
    /// Battery power.
    Battery,
}

/// Frequencies of the fastest observed processor, over the seconds of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct FrequencySpread {
    /// Number of samples, one each second.
    pub samples: u32,
    /// Mean frequency, Hz.
    pub mean_hz: f64,
    /// Coefficient of variation, 0–1.
    pub cov: f64,
    /// Lowest frequency, Hz.
    pub lowest_hz: f64,
    /// Highest frequency, Hz.
    pub highest_hz: f64,
}

/// A timer of the machine, such as a systemd timer or a cron job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TimerDue {
    /// Name, such as `fstrim.timer`, or a line of a crontab.
    pub name: String,
    /// Next activation, seconds since 1970; `None` if unknown.
    pub next_unix_s: Option<u64>,
    /// Last activation, seconds since 1970; `None` if unknown.
    pub last_unix_s: Option<u64>,
}

/// Temperature of a device. Source: Documentation/hwmon/sysfs-interface.rst, nvme and drivetemp.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Heat {
    /// Temperature of the hottest sensor that has a limit, or of the first sensor, °C.
    pub celsius: f64,
    /// Temperature at which the device warns, °C.
    pub warning_celsius: Option<f64>,
    /// Temperature at which the device protects itself, °C.
    pub critical_celsius: Option<f64>,
    /// Whether the device raises its own alarm.
    pub alarm: bool,
}

/// Health log of a device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DeviceHealth {
    /// Names of the warnings that the device reports (NVMe critical warnings).
    pub warnings: Vec<String>,
    /// Lifetime error counts by name. Any count that increases during a run is an error of that run.
    pub errors: BTreeMap<String, u64>,
    /// Used share of the rated life, percent; may exceed 100.
    pub wear_percent: Option<u64>,
    /// Bytes written by hosts over the device's lifetime.
    pub written_bytes: Option<u64>,
    /// Number of thermal throttling events over the device's lifetime.
    pub thermal_throttles: Option<u64>,
    /// Time spent above the warning temperature, minutes.
    pub hot_minutes: Option<u64>,
}
