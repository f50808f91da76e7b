//! The settings of a command line, and the facts about the machine that parsing needs.

use super::devices::DeviceList;
use plumb_result::blocks::DeviceNumber;
use std::path::PathBuf;

/// Looks up names of devices on the machine.
pub trait DeviceNames {
    /// Resolves a path or word of the command line to a device name: `/dev/disk/by-id/x` is `sda`. Returns the word
    /// itself if it is not a path.
    fn resolve(&mut self, word: &str) -> String;
    /// Returns the number of `/dev/NAME`.
    fn number(&mut self, name: &str) -> Option<DeviceNumber>;
    /// Returns the kernel's name (`dm-0`) of a registered name of the device mapper (`vg-home`).
    fn of_registered(&mut self, name: &str) -> Option<String>;
    /// Returns the registered name of a device-mapper device.
    fn registered(&mut self, number: DeviceNumber) -> Option<String>;
    /// Whether persistent names of this type exist: `id`, `uuid`, `label`, `path`.
    fn has_type(&mut self, kind: &str) -> bool;
    /// Returns the kernel's name for a persistent name.
    fn of_persistent(&mut self, kind: &str, name: &str) -> Option<String>;
    /// Returns the persistent name for a kernel's name.
    fn persistent(&mut self, kind: &str, name: &str) -> Option<String>;
    /// Whether a path is a directory.
    fn is_directory(&mut self, path: &str) -> bool;
}

/// Whether to correct numbers that iostat prints wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// The intended numbers. A group (`-g`) has the sum of its devices' activity and their mean utilisation, in every
    /// report and every part of `--pretty`. Counters that fell because a device was replaced count from 0.
    #[default]
    Meant,
    /// The output of sysstat 12.6.1. Each report divides a group's utilisation by the number of devices again;
    /// `--pretty` counts groups from boot in the first of its parts and omits them in the others;
    /// a counter that fell is near 2^64.
    Strict,
}

/// The unit of amounts of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataUnit {
    /// kB of 1024 bytes.
    Kilobytes,
    /// MB of 1024 kB.
    Megabytes,
    /// Sectors of 512 bytes, used if the environment contains POSIXLY_CORRECT.
    Sectors,
}

/// The columns for each device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    Basic,
    /// Basic columns, with writes and discards combined (`-s`).
    BasicShort,
    /// With times, sizes and queue (`-x`).
    Extended,
    /// Extended columns, with reads, writes and discards combined (`-x -s`).
    ExtendedShort,
}

/// The layout of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableLayout {
    Lines,
    /// The device's name at the end (`--pretty --compact`).
    NameLast,
    /// Like `NameLast`, with extended columns in four parts (`--pretty`).
    Parts,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Named,
    /// Used devices and all whole devices.
    Whole,
    /// All devices including partitions, in the kernel's order.
    Everything,
}

/// An alternative source of counters (`-f`, `+f`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherPlace {
    Instead(PathBuf),
    Additional(PathBuf),
}

/// The settings of a command line.
#[derive(Debug, Clone, PartialEq)]
pub struct IostatSettings {
    pub cpu: bool,
    pub disk: bool,
    /// Whether to print the time (`-t`).
    pub timestamp: bool,
    pub columns: Columns,
    pub layout: TableLayout,
    /// Whether numbers have units (`--human`).
    pub human: bool,
    /// Number of decimals (`--dec`).
    pub decimals: Option<usize>,
    pub unit: DataUnit,
    pub which: Which,
    /// Named devices and groups, in order.
    pub list: DeviceList,
    /// Whether to report devices that were never used; always set if a device is named.
    pub never_used: bool,
    /// Whether to omit devices without activity in the interval (`-z`).
    pub omit_idle: bool,
    /// Whether to report only the totals of groups (`-H`).
    pub only_groups: bool,
    /// Whether to omit the report since boot (`-y`).
    pub omit_first: bool,
    /// Whether to use the registered names of device-mapper devices (`-N`).
    pub registered_names: bool,
    /// Type of the persistent names (`-j`).
    pub persistent: Option<String>,
    pub other_place: Option<OtherPlace>,
    /// Seconds between reports; 0 for a single report.
    pub interval_s: u64,
    /// Number of reports; unlimited if `None`.
    pub count: Option<u64>,
    pub compat: Compat,
}

/// The action that a command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Report(Box<IostatSettings>),
    Version,
}
