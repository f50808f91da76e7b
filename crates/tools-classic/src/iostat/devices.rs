//! The devices to report, their order, and their activity since the previous sample.

use super::{Compat, DeviceNames, IostatSettings, Which};
use plumb_result::blocks::{BlockDevice, BlockExtent, BlockStat, DeviceNumber};

/// Devices and groups in report order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeviceList {
    entries: Vec<Entry>,
}

/// The position of a new device in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    Sorted,
    AsSaid,
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    /// With `!` for `/`, as in `/sys/block`.
    name: String,
    kind: Kind,
    /// Device number of `/dev/NAME`.
    number: Option<DeviceNumber>,
    seen: bool,
    now: BlockStat,
    before: BlockStat,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Device,
    WithPartitions,
    /// A group with iostat's own state: the number of devices to divide by, and the sum at the previous sample.
    Group {
        divisor: u32,
        last: BlockStat,
    },
}

/// The reported values of a device or a group.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceRow {
    /// The printed name.
    pub name: String,
    pub work: BlockStat,
    /// Sectors read, written and discarded.
    pub sectors: [u64; 3],
    /// Number of devices by which the utilisation is divided; 0 for an empty group.
    pub devices: u32,
}

impl DeviceList {
    pub(super) fn add_group(&mut self, name: &str) {
        let name = format!(" {}", name.replace('/', "!"));
        if self.position(&name).is_none() {
            let kind = Kind::Group { divisor: 0, last: BlockStat::default() };
            self.entries.push(Entry { kind, ..Entry::new(name, None) });
        }
    }

    /// Returns the position of the name in the list, adding it if it is missing.
    pub(super) fn add_named(&mut self, name: &str, number: Option<DeviceNumber>, order: Placement) -> usize {
        if let Some(at) = self.position(name) {
            return at;
        }
        let first_after = || self.entries.iter().position(|entry| entry.name.as_str() > name);
        let at = match order {
            Placement::Sorted => first_after().unwrap_or(self.entries.len()),
            Placement::AsSaid => self.entries.len(),
        };
        self.entries.insert(at, Entry::new(name.to_owned(), number));
        at
    }

    pub(super) fn with_partitions(&mut self, at: usize) {
        if let Some(entry) = self.entries.get_mut(at).filter(|entry| entry.kind == Kind::Device) {
            entry.kind = Kind::WithPartitions;
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.name == name)
    }

    pub fn has_groups(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry.kind, Kind::Group { .. }))
    }

    /// Adds a sample of the devices.
    pub(super) fn add_sample(&mut self, devices: &[BlockDevice], which: Which) {
        for entry in &mut self.entries {
            entry.before = if entry.seen { entry.now } else { BlockStat::default() };
            entry.seen = false;
        }
        let order = if which == Which::Everything || self.has_groups() { Placement::AsSaid } else { Placement::Sorted };
        if which != Which::Everything {
            self.look_at_named(devices, order);
        }
        for device in devices {
            let is_reported = match which {
                Which::Named => false,
                Which::Whole => device.extent == BlockExtent::Whole,
                Which::Everything => true,
            };
            if is_reported {
                self.see(device, order);
            }
        }
    }

    fn look_at_named(&mut self, devices: &[BlockDevice], order: Placement) {
        let mut partitions = Vec::new();
        for entry in self.entries.iter_mut().filter(|entry| !matches!(entry.kind, Kind::Group { .. })) {
            let by_name = devices.iter().find(|device| in_sys(&device.name) == entry.name);
            let by_number = || devices.iter().find(|device| Some(device.number) == entry.number);
            let Some(device) = by_name.or_else(by_number) else { continue };
            entry.see(device);
            if entry.kind == Kind::WithPartitions {
                let is_part = |one: &&BlockDevice| one.extent == BlockExtent::PartOf(device.name.clone());
                partitions.extend(devices.iter().filter(is_part));
            }
        }
        for partition in partitions {
            self.see(partition, order);
        }
    }

    fn see(&mut self, device: &BlockDevice, order: Placement) {
        let at = self.add_named(&in_sys(&device.name), Some(device.number), order);
        self.entries[at].see(device);
    }

    /// Returns the rows of part `part` (from 1) of a report.
    pub(super) fn rows(&mut self, settings: &IostatSettings, part: u32, names: &mut dyn DeviceNames) -> Vec<DeviceRow> {
        let mut rows = Vec::new();
        let mut group: Option<OpenGroup> = None;
        for at in 0..self.entries.len() {
            if let Kind::Group { .. } = self.entries[at].kind {
                self.close(group.replace(OpenGroup::new(at)), settings, part, &mut rows);
                continue;
            }
            let entry = &self.entries[at];
            if !entry.seen {
                continue;
            }
            if let Some(group) = &mut group {
                group.add(entry);
                if settings.only_groups {
                    continue;
                }
            }
            if settings.shows(&entry.now, &entry.before) {
                let name = entry.shown(settings, names);
                rows.push(row(name, &entry.now, &entry.before, 1, settings.compat));
            }
        }
        self.close(group, settings, part, &mut rows);
        rows
    }

    /// Adds the row of a group after its last device.
    fn close(&mut self, group: Option<OpenGroup>, settings: &IostatSettings, part: u32, rows: &mut Vec<DeviceRow>) {
        let Some(group) = group else { return };
        let entry = &mut self.entries[group.at];
        let Kind::Group { divisor, last } = &mut entry.kind else { return };
        let name = entry.name.replace('!', "/");
        match settings.compat {
            Compat::Meant => {
                let was_ever_used = settings.never_used || !group.now.is_idle();
                if was_ever_used && !(settings.omit_idle && group.work.is_idle()) {
                    rows.push(row(name, &group.work, &BlockStat::default(), group.devices, Compat::Meant));
                }
            }
            Compat::Strict => {
                let (mut now, mut before) = (BlockStat::default(), BlockStat::default());
                if part == 1 {
                    (now, before) = (group.now, *last);
                    *divisor += group.devices;
                    // The later parts begin with an empty sum, which the next report uses as the previous one.
                    *last = if settings.has_parts() { BlockStat::default() } else { group.now };
                }
                if settings.shows(&now, &before) {
                    rows.push(row(name, &now, &before, *divisor, Compat::Strict));
                }
            }
        }
    }
}

impl IostatSettings {
    fn shows(&self, now: &BlockStat, before: &BlockStat) -> bool {
        let ops = |stat: &BlockStat| [stat.reads, stat.writes, stat.discards, stat.flushes].map(|one| one.ops);
        (self.never_used || !now.is_idle()) && !(self.omit_idle && ops(now) == ops(before))
    }
}

/// A group during the iteration over its devices.
struct OpenGroup {
    at: usize,
    devices: u32,
    now: BlockStat,
    work: BlockStat,
}

impl OpenGroup {
    fn new(at: usize) -> OpenGroup {
        OpenGroup { at, devices: 0, now: BlockStat::default(), work: BlockStat::default() }
    }

    fn add(&mut self, entry: &Entry) {
        self.devices += 1;
        self.now = self.now.plus(&entry.now);
        self.work = self.work.plus(&work(&entry.now, &entry.before, Compat::Meant));
    }
}

impl Entry {
    fn new(name: String, number: Option<DeviceNumber>) -> Entry {
        let none = BlockStat::default();
        Entry { name, kind: Kind::Device, number, seen: false, now: none, before: none }
    }

    fn see(&mut self, device: &BlockDevice) {
        self.seen = true;
        self.number = Some(device.number);
        self.now = device.stat;
    }

    fn shown(&self, settings: &IostatSettings, names: &mut dyn DeviceNames) -> String {
        let persistent = settings.persistent.as_deref().and_then(|kind| names.persistent(kind, &self.name));
        let registered =
            || self.number.filter(|_| settings.registered_names).and_then(|number| names.registered(number));
        persistent.or_else(registered).unwrap_or_else(|| self.name.clone()).replace('!', "/")
    }
}

/// Returns the form of a name in `/sys/block`.
fn in_sys(name: &str) -> String {
    name.replace('/', "!")
}

/// Whether the device was replaced by another one: all its counters fell.
fn was_replaced(now: &BlockStat, before: &BlockStat) -> bool {
    let total = |stat: &BlockStat| stat.moved().ops.wrapping_add(stat.flushes.ops);
    let sectors = |stat: &BlockStat| [stat.reads, stat.writes, stat.discards].map(|ops| ops.sectors);
    total(now) < total(before)
        && sectors(now).iter().zip(sectors(before)).all(|(now, before)| before == 0 || *now < before)
}

fn work(now: &BlockStat, before: &BlockStat, compat: Compat) -> BlockStat {
    let from = if was_replaced(now, before) { BlockStat::default() } else { *before };
    match compat {
        Compat::Meant => now.since(&from),
        Compat::Strict => now.difference(&from),
    }
}

fn row(name: String, now: &BlockStat, before: &BlockStat, devices: u32, compat: Compat) -> DeviceRow {
    let work = work(now, before, compat);
    // If a counter fell, iostat treats totals, and only these, as 32-bit; a fall shows as
    // a difference of half of 64 bits.
    let total = |sectors: u64, before: u64| match compat {
        Compat::Strict if sectors > u64::MAX / 2 && before <= u64::from(u32::MAX) => sectors & u64::from(u32::MAX),
        _ => sectors,
    };
    let sectors = [
        total(work.reads.sectors, before.reads.sectors),
        total(work.writes.sectors, before.writes.sectors),
        total(work.discards.sectors, before.discards.sectors),
    ];
    DeviceRow { name, work, sectors, devices }
}
