//! The state that a machine and its disks are in around a phase, beside their counters: what rebuilds, what is due, how
//! fast the processors run, how hot and how worn the disks are.

use crate::seen::Seen;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was seen of the machine's state around one phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PhaseConditions {
    /// Before the clock started.
    pub before: Conditions,
    /// After the clock stopped.
    pub after: Conditions,
    /// Upkeep that was seen once a second while the clock ran, each device and kind once, as it was seen last.
    pub meanwhile: Vec<Upkeep>,
    /// How steadily the processors ran, looked at once a second.
    pub frequency: Seen<FrequencySpread>,
    /// Timers of the machine, as they stood at the beginning of the run.
    pub timers: Seen<Vec<TimerDue>>,
    /// How far ahead timers matter, seconds since 1970, where that is later than the end of the phase.
    pub matters_until_unix_s: Option<u64>,
    /// Kinds of upkeep that are there on purpose, because a study declares them as a factor (a degraded array).
    pub declared: Vec<UpkeepKind>,
}

/// The state at one moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Conditions {
    /// When it was looked at, seconds since 1970; `None` where it was not.
    pub at_unix_s: Option<u64>,
    /// Rebuilds, scrubs and the like that touch the target's devices.
    pub upkeep: Seen<Vec<Upkeep>>,
    /// Kinds of upkeep that could not be looked at, and why.
    pub upkeep_unseen: Vec<String>,
    /// The ext4 file systems under the targets, and whether the kernel still initialises inode tables.
    pub lazy_init: Seen<LazyInit>,
    /// Times that processors were throttled since boot, all processors together.
    pub cpu_throttles: Seen<u64>,
    /// What the machine runs on.
    pub power: Seen<PowerSource>,
    /// Temperatures of the leaf devices, by the device's name.
    pub heat: BTreeMap<String, Seen<Heat>>,
    /// Health logs of the leaf devices, by the device's name.
    pub health: BTreeMap<String, Seen<DeviceHealth>>,
}

/// Work that a storage layer does on its own account, or a state in which each request costs more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upkeep {
    /// Which array, pool or file system.
    pub on: String,
    /// What it does.
    pub kind: UpkeepKind,
    /// More about it, `23 % done`; empty where there is no more.
    pub detail: String,
}

/// What a storage layer does on its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpkeepKind {
    /// Makes copies or parity agree.
    Resync,
    /// Rebuilds onto a spare.
    Recover,
    /// Reads all to compare copies or parity.
    Check,
    /// The same, and mends.
    Repair,
    /// Changes its shape: level, chunk or number of devices.
    Reshape,
    /// Lacks a device, so that each read of it is computed.
    Degraded,
    /// btrfs rewrites its chunks.
    Balance,
    /// Reads all against checksums.
    Scrub,
    /// Replaces, adds or removes a device, or resizes one.
    Replace,
    /// Anything else that a layer names.
    Other,
}

impl UpkeepKind {
    /// As a message says it: `md0 is …`.
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

/// Whether the kernel still writes zeros into inode tables that mkfs left alone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LazyInit {
    /// The kernel's thread `ext4lazyinit` is alive; it serves every ext4 of the machine.
    pub thread_alive: bool,
    /// The ext4 file systems that the targets stand on.
    pub filesystems: Vec<Ext4Tables>,
    /// Every other ext4 of the machine, looked at only while the thread is alive: it may work there.
    pub elsewhere: Vec<Ext4Tables>,
    /// The thread and how often it ran, where it is alive. Between two looks with the same answer it did nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<ThreadTurns>,
}

/// How often a thread has run. Source: proc_pid_status(5), "voluntary_ctxt_switches".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTurns {
    /// The thread's number: another thread of the same name has another.
    pub pid: u32,
    /// How often it gave up a processor or had it taken away, since it was started.
    pub switches: u64,
}

/// The inode tables of one ext4.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Ext4Tables {
    /// Device.
    pub device: String,
    /// How many block groups there are, and how many inode tables are still to be zeroed.
    pub groups: Seen<GroupCount>,
    /// When it was made, seconds since 1970.
    pub created_unix_s: Option<u64>,
}

/// Block groups of an ext4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GroupCount {
    /// All.
    pub total: u64,
    /// Those whose inode table was not zeroed yet.
    pub uninitialised: u64,
}

/// What the machine runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PowerSource {
    /// Mains, or there is no battery.
    Mains,
    /// A battery.
    Battery,
}

/// Frequencies of the fastest processor that was looked at, over the seconds of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct FrequencySpread {
    /// How many seconds were looked at.
    pub samples: u32,
    /// Mean, Hz.
    pub mean_hz: f64,
    /// Coefficient of variation, 0–1.
    pub cov: f64,
    /// Lowest, Hz.
    pub lowest_hz: f64,
    /// Highest, Hz.
    pub highest_hz: f64,
}

/// A timer of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TimerDue {
    /// `fstrim.timer`, or a line of a crontab.
    pub name: String,
    /// When it goes off next, seconds since 1970; `None` where that is not known.
    pub next_unix_s: Option<u64>,
    /// When it went off last.
    pub last_unix_s: Option<u64>,
}

/// Temperature of a device, °C. Source: Documentation/hwmon/sysfs-interface.rst, nvme and drivetemp.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Heat {
    /// Of the hottest sensor that has a limit, or of the first.
    pub celsius: f64,
    /// Where the device warns.
    pub warning_celsius: Option<f64>,
    /// Where it protects itself.
    pub critical_celsius: Option<f64>,
    /// The device raises its own alarm.
    pub alarm: bool,
}

/// What a device says of its health.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DeviceHealth {
    /// Names of what it warns of by itself (NVMe critical warnings).
    pub warnings: Vec<String>,
    /// Errors since it was made, by name; any that grows during a run is an error of the run.
    pub errors: BTreeMap<String, u64>,
    /// Share of its rated life that is used, percent; may exceed 100.
    pub wear_percent: Option<u64>,
    /// Bytes that hosts wrote since it was made.
    pub written_bytes: Option<u64>,
    /// Times that it slowed down because of heat, since it was made.
    pub thermal_throttles: Option<u64>,
    /// Time spent above its warning temperature, minutes.
    pub hot_minutes: Option<u64>,
}
