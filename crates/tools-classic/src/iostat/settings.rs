//! The settings of a command line, and what reading it needs to know about the machine.

use super::devices::DeviceList;
use plumb_result::blocks::DeviceNumber;
use std::path::PathBuf;

/// What the machine knows about names of devices.
pub trait DeviceNames {
    /// The name of the device that a path or word of the command line leads to: `/dev/disk/by-id/x` is `sda`. The word
    /// itself where it is not a path.
    fn resolve(&mut self, word: &str) -> String;
    /// The number of `/dev/NAME`.
    fn number(&mut self, name: &str) -> Option<DeviceNumber>;
    /// The kernel's name (`dm-0`) of a registered name of the device mapper (`vg-home`).
    fn of_registered(&mut self, name: &str) -> Option<String>;
    /// The registered name of a device of the device mapper.
    fn registered(&mut self, number: DeviceNumber) -> Option<String>;
    /// Whether there are persistent names of this type: `id`, `uuid`, `label`, `path`.
    fn has_type(&mut self, kind: &str) -> bool;
    /// The kernel's name of a persistent one.
    fn of_persistent(&mut self, kind: &str, name: &str) -> Option<String>;
    /// The persistent name of a device, by the kernel's.
    fn persistent(&mut self, kind: &str, name: &str) -> Option<String>;
    /// Whether a path is a directory.
    fn is_directory(&mut self, path: &str) -> bool;
}

/// Which numbers are printed where iostat's are wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// What was meant. The sum of a group (`-g`) is that of what its devices did, its utilisation their mean, in every
    /// report and every part of `--pretty`; counters that fell, since a device was replaced, count from 0.
    #[default]
    Meant,
    /// What sysstat 12.6.1 prints: each report divides a group's utilisation by as many devices again; `--pretty` counts
    /// groups from boot in the first of its parts and shows none in the others; what fell is near 2^64.
    Strict,
}

/// The unit of amounts of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataUnit {
    /// kB of 1024 bytes.
    Kilobytes,
    /// MB of 1024 kB.
    Megabytes,
    /// Sectors of 512 bytes: where the environment says POSIXLY_CORRECT.
    Sectors,
}

/// What is reported for each device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// Requests and amounts.
    Basic,
    /// The same, with writes and discards together (`-s`).
    BasicShort,
    /// With times, sizes and queue (`-x`).
    Extended,
    /// The same for reads, writes and discards together (`-x -s`).
    ExtendedShort,
}

/// How it is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableLayout {
    /// A line a device.
    Lines,
    /// The device's name at the end (`--pretty --compact`).
    NameLast,
    /// The same, and extended columns in four parts (`--pretty`).
    Parts,
    /// JSON.
    Json,
}

/// Which devices are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Those that were named.
    Named,
    /// Those, and all whole devices.
    Whole,
    /// All, partitions with them, in the kernel's order.
    Everything,
}

/// Another place of counters (`-f`, `+f`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherPlace {
    /// Only there.
    Instead(PathBuf),
    /// There as well.
    Beside(PathBuf),
}

/// What a command line means.
#[derive(Debug, Clone, PartialEq)]
pub struct IostatSettings {
    /// Whether processors are reported.
    pub cpu: bool,
    /// Whether devices are.
    pub disk: bool,
    /// Whether the time is (`-t`).
    pub timestamp: bool,
    /// What is reported for each device.
    pub columns: Columns,
    /// How it is laid out.
    pub layout: TableLayout,
    /// Whether numbers carry units (`--human`).
    pub human: bool,
    /// Decimals (`--dec`).
    pub decimals: Option<usize>,
    /// The unit of amounts of data.
    pub unit: DataUnit,
    /// Which devices are reported.
    pub which: Which,
    /// Devices that were named, and groups, in their order.
    pub list: DeviceList,
    /// Whether devices that were never used are reported, as where any is named.
    pub never_used: bool,
    /// Whether devices are left out that did nothing meanwhile (`-z`).
    pub omit_idle: bool,
    /// Whether only sums of groups are reported (`-H`).
    pub only_groups: bool,
    /// Whether the report since boot is left out (`-y`).
    pub omit_first: bool,
    /// Whether devices of the device mapper have their registered names (`-N`).
    pub registered_names: bool,
    /// The type of persistent names (`-j`).
    pub persistent: Option<String>,
    /// Another place of counters.
    pub other_place: Option<OtherPlace>,
    /// Time between reports, s; 0 is one report.
    pub interval_s: u64,
    /// Number of reports; endless if absent.
    pub count: Option<u64>,
    /// Which numbers are printed.
    pub compat: Compat,
}

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Reports.
    Report(Box<IostatSettings>),
    /// The version.
    Version,
}
