//! All block devices and the processors at one moment, for iostat and the live
//! view. Sources: the kernel's Documentation/admin-guide/iostats.rst,
//! Documentation/ABI/stable/sysfs-block, proc_uptime(5).

use crate::counters::{DiskstatsLine, cpu_ticks, stat_fields};
use crate::error::ProbeError;
use crate::platform;
use crate::sysroot::Sysroot;
use plumb_result::blocks::{BlockDevice, BlockExtent, BlockOps, BlockStat, DeviceNumber, MachineReading};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Additional or alternative sources of devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Elsewhere {
    /// The machine's own devices only.
    Nowhere,
    /// Only this directory, which has `block/NAME/stat` like `/sys`, or `diskstats` like `/proc`.
    Only(PathBuf),
    /// This directory too, for devices that the machine does not have.
    AlsoIn(PathBuf),
}

/// Reads the devices repeatedly. Constant properties are read only once.
#[derive(Debug)]
pub struct BlockWatch {
    sys: Sysroot,
    elsewhere: Elsewhere,
    extents: BTreeMap<(DeviceNumber, String), BlockExtent>,
}

impl BlockWatch {
    /// Watches this machine's devices.
    pub fn new() -> BlockWatch {
        BlockWatch::with_elsewhere(Elsewhere::Nowhere)
    }

    /// Watches devices from a directory as well.
    pub fn with_elsewhere(elsewhere: Elsewhere) -> BlockWatch {
        BlockWatch::with_elsewhere_in(&Sysroot::real(), elsewhere)
    }

    /// Like [`BlockWatch::with_elsewhere`], for the machine described by a tree of files.
    pub fn with_elsewhere_in(sys: &Sysroot, elsewhere: Elsewhere) -> BlockWatch {
        BlockWatch { sys: sys.clone(), elsewhere, extents: BTreeMap::new() }
    }

    /// Reads the current state.
    ///
    /// # Errors
    /// Returns an error that names the unreadable file and the reason.
    pub fn read(&mut self) -> Result<MachineReading, ProbeError> {
        let uptime = self.sys.read("/proc/uptime")?;
        let cpu = cpu_ticks(&self.sys.read("/proc/stat")?)?;
        let at_ns = platform::monotonic_ns();
        let devices = match self.elsewhere.clone() {
            Elsewhere::Nowhere => self.own()?,
            Elsewhere::Only(directory) => in_directory(&directory)?,
            Elsewhere::AlsoIn(directory) => {
                let mut devices = self.own()?;
                let more = in_directory(&directory)?;
                devices.extend(
                    more.into_iter().filter(|one| devices.iter().all(|own| own.name != one.name)).collect::<Vec<_>>(),
                );
                devices
            }
        };
        Ok(MachineReading { at_ns, uptime_cs: uptime_cs(&uptime)?, cpu, devices })
    }

    fn own(&mut self) -> Result<Vec<BlockDevice>, ProbeError> {
        let text = self.sys.read("/proc/diskstats")?;
        let mut devices = diskstats(&text)?;
        for device in &mut devices {
            let key = (device.number, device.name.clone());
            let sys = &self.sys;
            device.extent = self.extents.entry(key).or_insert_with(|| extent(sys, &device.name)).clone();
        }
        Ok(devices)
    }
}

impl Default for BlockWatch {
    fn default() -> BlockWatch {
        BlockWatch::new()
    }
}

/// Returns the number of the machine's processors, including offline ones.
pub fn processors() -> usize {
    processors_in(&Sysroot::real())
}

/// Like [`processors`], for the machine described by a tree of files.
pub fn processors_in(sys: &Sysroot) -> usize {
    let is_one = |name: &str| {
        name.strip_prefix("cpu").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let known = sys.names("/sys/devices/system/cpu").iter().filter(|name| is_one(name)).count();
    if known > 0 {
        return known;
    }
    let stat = sys.read("/proc/stat").unwrap_or_default();
    stat.lines().filter(|line| line.split(' ').next().is_some_and(is_one)).count()
}

/// Parses `seconds.hundredths seconds.hundredths`; the first is the time since boot.
fn uptime_cs(text: &str) -> Result<u64, ProbeError> {
    let malformed = || ProbeError::form("/proc/uptime", text.trim_end(), "a time");
    let (seconds, rest) = text.split_once('.').ok_or_else(malformed)?;
    let hundredths: u64 = rest.split(' ').next().and_then(|word| word.trim_end().parse().ok()).ok_or_else(malformed)?;
    let seconds: u64 = seconds.parse().map_err(|_| malformed())?;
    Ok(seconds.saturating_mul(100).saturating_add(hundredths))
}

fn diskstats(text: &str) -> Result<Vec<BlockDevice>, ProbeError> {
    let mut devices = Vec::new();
    for line in text.lines().filter_map(DiskstatsLine::read) {
        let number = |word: &str| {
            word.parse().map_err(|_| ProbeError::form("/proc/diskstats", word, format!("the number of {}", line.name)))
        };
        // Skip lines of unknown format: the others are still valid.
        let Ok(stat) = block_stat(line.fields) else { continue };
        devices.push(BlockDevice {
            name: line.name.to_owned(),
            number: DeviceNumber { major: number(line.major)?, minor: number(line.minor)? },
            extent: BlockExtent::Whole,
            stat,
        });
    }
    Ok(devices)
}

/// `/sys/block` lists whole devices, and their directories contain their partitions.
fn extent(sys: &Sysroot, name: &str) -> BlockExtent {
    let whole = sys.names("/sys/block");
    let part = name.replace('/', "!");
    let holds = |whole: &&String| **whole != part && sys.exists(format!("/sys/block/{whole}/{part}"));
    match whole.iter().find(holds) {
        Some(parent) if !whole.contains(&part) => BlockExtent::PartOf(parent.replace('!', "/")),
        _ => extent_by_name(name, &whole),
    }
}

fn block_stat(text: &str) -> Result<BlockStat, ProbeError> {
    let fields = stat_fields(text)?.values;
    // Times wrap around at 32 bits in the kernel. Truncate wider numbers to match.
    let ops = |at: usize| BlockOps {
        ops: fields[at],
        merges: fields[at + 1],
        sectors: fields[at + 2],
        ms: fields[at + 3] as u32,
    };
    Ok(BlockStat {
        reads: ops(0),
        writes: ops(4),
        in_flight: fields[8] as u32,
        busy_ms: fields[9] as u32,
        weighted_ms: fields[10] as u32,
        discards: ops(11),
        flushes: BlockOps { ops: fields[15], ms: fields[16] as u32, ..BlockOps::default() },
    })
}

/// Reads devices from a directory with the layout of `/sys`, or with a `diskstats` file like `/proc`.
fn in_directory(directory: &Path) -> Result<Vec<BlockDevice>, ProbeError> {
    let sys = Sysroot::at(directory);
    if let Ok(text) = sys.read("/diskstats") {
        let mut devices = diskstats(&text)?;
        for device in &mut devices {
            device.extent = extent_by_name(&device.name, &sys.names("/block"));
        }
        return Ok(devices);
    }
    let mut devices = Vec::new();
    for whole in sys.names("/block") {
        let place = format!("/block/{whole}");
        devices.extend(of_directory(&sys, &place, &whole, BlockExtent::Whole));
        for part in sys.names(&place) {
            let extent = BlockExtent::PartOf(whole.replace('!', "/"));
            devices.extend(of_directory(&sys, &format!("{place}/{part}"), &part, extent));
        }
    }
    Ok(devices)
}

fn of_directory(sys: &Sysroot, place: &str, name: &str, extent: BlockExtent) -> Option<BlockDevice> {
    let stat = block_stat(&sys.read(format!("{place}/stat")).ok()?).ok()?;
    let number = sys.line(format!("{place}/dev")).and_then(|line| {
        let (major, minor) = line.split_once(':')?;
        Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
    });
    Some(BlockDevice { name: name.replace('!', "/"), number: number.unwrap_or_default(), extent, stat })
}

/// Distinguishes partitions by name alone: a partition's name begins with that of its device.
fn extent_by_name(name: &str, whole: &[String]) -> BlockExtent {
    let name = name.replace('/', "!");
    if whole.is_empty() || whole.contains(&name) {
        return BlockExtent::Whole;
    }
    let parent = whole.iter().filter(|whole| name.starts_with(whole.as_str())).max_by_key(|whole| whole.len());
    parent.map_or(BlockExtent::Whole, |parent| BlockExtent::PartOf(parent.replace('!', "/")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;

    fn machine(tree: &Tree) -> &Tree {
        tree.file("/proc/uptime", "350735.47 234388.90\n")
            .file("/proc/stat", "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nintr 1\n")
            .file(
                "/proc/diskstats",
                "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n   8       1 sda1 1 0 8 4294967297 0 0 0 0 0 0 0\n\
                 104       0 cciss/c0d0 1 2 3 4 5 6 7 8 9 10 11\n   9 9 odd 1 2 3\n",
            )
            .directory("/sys/block/sda/sda1")
            .directory("/sys/block/cciss!c0d0")
    }

    // Protects: fields are in their places, partitions are distinguished from devices, and lines
    // of unknown format are skipped.
    #[test]
    fn a_described_machine() {
        let tree = Tree::new();
        machine(&tree);
        let look = BlockWatch::with_elsewhere_in(&tree.sys(), Elsewhere::Nowhere).read().unwrap();
        assert_eq!((look.uptime_cs, look.cpu.total(), look.cpu.kernel()), (35_073_547, 36, 16));
        let names: Vec<&str> = look.devices.iter().map(|device| device.name.as_str()).collect();
        assert_eq!(names, ["sda", "sda1", "cciss/c0d0"]);
        let sda = &look.devices[0];
        assert_eq!(sda.stat.reads, BlockOps { ops: 1, merges: 2, sectors: 3, ms: 4 });
        assert_eq!(sda.stat.writes, BlockOps { ops: 5, merges: 6, sectors: 7, ms: 8 });
        assert_eq!((sda.stat.in_flight, sda.stat.busy_ms, sda.stat.weighted_ms), (9, 10, 11));
        assert_eq!(sda.stat.discards, BlockOps { ops: 12, merges: 13, sectors: 14, ms: 15 });
        assert_eq!((sda.stat.flushes.ops, sda.stat.flushes.ms), (16, 17));
        assert_eq!((sda.number, &sda.extent), (DeviceNumber { major: 8, minor: 0 }, &BlockExtent::Whole));
        assert_eq!(look.devices[1].extent, BlockExtent::PartOf("sda".to_owned()));
        assert_eq!(look.devices[2].extent, BlockExtent::Whole);
        assert_eq!(look.devices[1].stat.reads.ms, 1, "times wrap around at 32 bits");
        assert_eq!(processors_in(&tree.sys()), 2);
        tree.file("/sys/devices/system/cpu/cpu0/online", "1").directory("/sys/devices/system/cpu/cpufreq");
        assert_eq!(processors_in(&tree.sys()), 1);
    }

    // Protects: devices of another directory, alone and in addition to the machine's own.
    #[test]
    fn devices_from_elsewhere() {
        let tree = Tree::new();
        machine(&tree);
        tree.file("/else/block/fsd!1/stat", "1 0 2 0 3 0 4 0 0 0 0\n")
            .file("/else/block/sda/stat", "9 0 2 0 3 0 4 0 0 0 0\n")
            .file("/else/block/sda/sda9/stat", "7 0 2 0 3 0 4 0 0 0 0\n")
            .file("/else/block/sda/dev", "8:0\n");
        let directory = tree.sys().locate("/else");
        let names = |elsewhere| -> Vec<(String, u64)> {
            let look = BlockWatch::with_elsewhere_in(&tree.sys(), elsewhere).read().unwrap();
            look.devices.into_iter().map(|device| (device.name, device.stat.reads.ops)).collect()
        };
        let pair = |name: &str, reads| (name.to_owned(), reads);
        assert_eq!(names(Elsewhere::Only(directory.clone())), [pair("fsd/1", 1), pair("sda", 9), pair("sda9", 7)]);
        assert_eq!(
            names(Elsewhere::AlsoIn(directory)),
            [pair("sda", 1), pair("sda1", 1), pair("cciss/c0d0", 1), pair("fsd/1", 1), pair("sda9", 7)]
        );
    }

    // Protects: a machine without readable counters gives a reason.
    #[test]
    fn missing_counters_give_a_reason() {
        let tree = Tree::new();
        let mut watch = BlockWatch::with_elsewhere_in(&tree.sys(), Elsewhere::Nowhere);
        assert!(watch.read().unwrap_err().to_string().contains("/proc/uptime"));
        tree.file("/proc/uptime", "x\n").file("/proc/stat", "cpu  1\n").file("/proc/diskstats", "");
        assert!(watch.read().unwrap_err().to_string().contains("\"x\""));
    }
}
