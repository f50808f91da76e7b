//! Counters of the system before and after a phase. Sources: the kernel's
//! Documentation/admin-guide/iostats.rst and Documentation/block/stat.rst,
//! proc_pid_io(5), proc_stat(5), proc_meminfo(5), proc_vmstat(5),
//! Documentation/accounting/psi.rst.

use crate::client::{self, ClientMount};
use crate::error::ProbeError;
use crate::platform;
use crate::sysroot::Sysroot;
use plumb_result::Seen;
use plumb_result::blocks::CpuTicks;
use plumb_result::observe::{Counters, CpuTimes, DeviceCounters, MemoryCounters, OwnIo, TargetFacts};
use std::collections::BTreeMap;

/// A sector of these files is 512 bytes, regardless of the device's own. Source: Documentation/block/stat.rst.
const SECTOR_BYTES: u64 = 512;

/// Counters to sample. Determined once per run, so that a sample costs only the reading.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleSet {
    sys: Sysroot,
    /// Devices by the kernel's name; the reason for those known not to count.
    devices: BTreeMap<String, Seen<()>>,
    /// Network file systems whose clients count.
    clients: Vec<ClientMount>,
    /// Loop devices and their backing files.
    backing: Vec<(String, String)>,
    /// Worker processes of this one.
    workers: Vec<u32>,
    ticks_per_second: u64,
}

impl SampleSet {
    /// Selects every layer under the targets, so that leaves and upper layers can be compared.
    pub fn for_targets<'a>(targets: impl IntoIterator<Item = &'a TargetFacts>) -> SampleSet {
        SampleSet::for_targets_in(&Sysroot::real(), targets)
    }

    /// Like [`SampleSet::for_targets`], for the machine described by a tree of files.
    pub fn for_targets_in<'a>(sys: &Sysroot, targets: impl IntoIterator<Item = &'a TargetFacts>) -> SampleSet {
        let targets: Vec<&TargetFacts> = targets.into_iter().collect();
        let mut devices = BTreeMap::new();
        for layer in targets.iter().flat_map(|target| &target.stack) {
            let counted = match layer.settings.get("iostats").map(String::as_str) {
                Some("0") => Seen::no(format!("queue/iostats of {} is 0, so it does not count", layer.name)),
                _ => Seen::Yes(()),
            };
            devices.insert(layer.name.clone(), counted);
        }
        SampleSet {
            sys: sys.clone(),
            devices,
            backing: backing_files(&targets),
            clients: client::mounts(targets),
            workers: Vec::new(),
            ticks_per_second: platform::ticks_per_second().max(1),
        }
    }

    /// Sets the worker processes. A worker that exits need not be removed: after its parent has waited for it, the
    /// kernel adds its I/O to the parent's.
    pub fn set_workers(&mut self, pids: Vec<u32>) {
        self.workers = pids;
    }

    /// Returns the names of the sampled devices.
    pub fn devices(&self) -> impl Iterator<Item = &str> {
        self.devices.keys().map(String::as_str)
    }
}

/// Reads everything once. Unreadable values are [`Seen::No`] with the reason.
pub fn sample(set: &SampleSet) -> Counters {
    let sys = &set.sys;
    let at_ns = platform::monotonic_ns();
    let of_system = platform::device_counters().filter(|_| sys.is_real());
    let device = |name: &str, counted: &Seen<()>| match &of_system {
        Some(of_system) => one_of(of_system, name),
        None => device(sys, name, counted),
    };
    Counters {
        at_ns,
        devices: BTreeMap::from_iter(set.devices.iter().map(|(name, counted)| (name.clone(), device(name, counted)))),
        clients: client::sample(sys, &set.clients),
        backing_bytes: BTreeMap::from_iter(
            set.backing.iter().filter_map(|(name, file)| Some((name.clone(), occupied_bytes(sys, file)?))),
        ),
        own: own_io(sys, &set.workers).into(),
        cpu: cpu_times(sys, set.ticks_per_second).into(),
        memory: memory(sys, &set.workers).into(),
    }
}

/// Returns the counters of one device, if the system returns those of all devices at once.
fn one_of(all: &Result<BTreeMap<String, DeviceCounters>, ProbeError>, name: &str) -> Seen<DeviceCounters> {
    match all {
        Ok(all) => {
            all.get(name).cloned().ok_or_else(|| ProbeError::unavailable(name, "has no counters of its own")).into()
        }
        Err(error) => Seen::no(error.to_string()),
    }
}

fn backing_files(targets: &[&TargetFacts]) -> Vec<(String, String)> {
    let layers = targets.iter().flat_map(|target| &target.stack);
    let mut files: Vec<(String, String)> =
        layers.filter_map(|layer| Some((layer.name.clone(), layer.backing_file.clone()?))).collect();
    files.dedup();
    files
}

/// Returns the allocated bytes of a file, including reserved ones: stat(2), in units of 512 bytes.
fn occupied_bytes(sys: &Sysroot, file: &str) -> Option<u64> {
    let seen = std::fs::metadata(sys.locate(file)).ok()?;
    Some(std::os::unix::fs::MetadataExt::blocks(&seen).saturating_mul(512))
}

pub(crate) fn device(sys: &Sysroot, name: &str, counted: &Seen<()>) -> Seen<DeviceCounters> {
    if let Seen::No(reason) = counted {
        return Seen::No(reason.clone());
    }
    // sysfs writes `!` for the `/` of names such as `cciss/c0d0`.
    match sys.read(format!("/sys/class/block/{}/stat", name.replace('/', "!"))) {
        Ok(text) => parse_stat(&text).into(),
        Err(reason) => match sys.read("/proc/diskstats") {
            Ok(text) => diskstats(&text, name).into(),
            Err(_) => Seen::no(reason.to_string()),
        },
    }
}

/// Returns the line of one device in `/proc/diskstats`.
fn diskstats(text: &str, name: &str) -> Result<DeviceCounters, ProbeError> {
    let line = text.lines().filter_map(DiskstatsLine::read).find(|line| line.name == name);
    parse_stat(line.ok_or_else(|| ProbeError::lacks("/proc/diskstats", format!("line for {name}")))?.fields)
}

/// A line of `/proc/diskstats`: major, minor, name, then the fields of `stat`.
pub(crate) struct DiskstatsLine<'a> {
    pub(crate) major: &'a str,
    pub(crate) minor: &'a str,
    pub(crate) name: &'a str,
    pub(crate) fields: &'a str,
}

impl<'a> DiskstatsLine<'a> {
    pub(crate) fn read(line: &'a str) -> Option<DiskstatsLine<'a>> {
        let (major, rest) = line.trim_start().split_once(char::is_whitespace)?;
        let (minor, rest) = rest.trim_start().split_once(char::is_whitespace)?;
        let (name, fields) = rest.trim_start().split_once(char::is_whitespace)?;
        Some(DiskstatsLine { major, minor, name, fields })
    }
}

/// Block statistics in the kernel's format.
pub(crate) struct StatFields {
    pub(crate) values: [u64; 17],
    /// Number of fields.
    pub(crate) count: usize,
}

/// Parses eleven fields before Linux 4.18, fifteen with discards, seventeen with flushes (5.5). Partitions had four
/// before 2.6.25: these are put in their places among the eleven.
pub(crate) fn stat_fields(text: &str) -> Result<StatFields, ProbeError> {
    let mut values = [0u64; 17];
    let mut count = 0;
    for word in text.split_whitespace().take(values.len()) {
        values[count] = word.parse().map_err(|_| ProbeError::StatWord { word: word.to_owned() })?;
        count += 1;
    }
    if count == 4 {
        let [reads, read_sectors, writes, write_sectors] = [values[0], values[1], values[2], values[3]];
        values = [0; 17];
        (values[0], values[2], values[4], values[6]) = (reads, read_sectors, writes, write_sectors);
    }
    match count {
        4 | 11.. => Ok(StatFields { values, count }),
        _ => Err(ProbeError::StatFields { count }),
    }
}

fn parse_stat(text: &str) -> Result<DeviceCounters, ProbeError> {
    let StatFields { values: f, count } = stat_fields(text)?;
    Ok(DeviceCounters {
        reads: f[0],
        read_bytes: f[2].saturating_mul(SECTOR_BYTES),
        writes: f[4],
        write_bytes: f[6].saturating_mul(SECTOR_BYTES),
        flushes: (count >= 17).then_some(f[15]),
        busy_ms: f[9],
        weighted_ms: f[10],
        discard_bytes: f[13].saturating_mul(SECTOR_BYTES),
        read_merges: f[1],
        write_merges: f[5],
        read_ms: f[3],
        write_ms: f[7],
        discards: f[11],
        discard_ms: f[14],
        in_flight: u32::try_from(f[8]).unwrap_or(u32::MAX),
    })
}

fn own_io(sys: &Sysroot, workers: &[u32]) -> Result<OwnIo, ProbeError> {
    let mut sum = process_io(&sys.read("/proc/self/io")?)?;
    for pid in workers {
        let path = format!("/proc/{pid}/io");
        let one = match sys.read(&path) {
            Ok(text) => process_io(&text)?,
            Err(_) if !sys.exists(format!("/proc/{pid}")) => continue,
            Err(reason) => return Err(reason),
        };
        sum.rchar_bytes = sum.rchar_bytes.saturating_add(one.rchar_bytes);
        sum.wchar_bytes = sum.wchar_bytes.saturating_add(one.wchar_bytes);
        sum.read_bytes = sum.read_bytes.saturating_add(one.read_bytes);
        sum.write_bytes = sum.write_bytes.saturating_add(one.write_bytes);
    }
    Ok(sum)
}

/// Parses `/proc/PID/io`.
pub(crate) fn process_io(text: &str) -> Result<OwnIo, ProbeError> {
    let field = |key: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        value.and_then(|value| value.trim().parse().ok()).ok_or_else(|| ProbeError::lacks("/proc/PID/io", key))
    };
    Ok(OwnIo {
        rchar_bytes: field("rchar")?,
        wchar_bytes: field("wchar")?,
        read_bytes: field("read_bytes")?,
        write_bytes: field("write_bytes")?,
    })
}

fn cpu_times(sys: &Sysroot, ticks_per_second: u64) -> Result<CpuTimes, ProbeError> {
    if let Some(times) = platform::cpu_times().filter(|_| sys.is_real()) {
        return times;
    }
    parse_cpu(&sys.read("/proc/stat")?, ticks_per_second)
}

fn parse_cpu(text: &str, ticks_per_second: u64) -> Result<CpuTimes, ProbeError> {
    let ticks = cpu_ticks(text)?;
    let seconds = |ticks: u64| ticks as f64 / ticks_per_second as f64;
    Ok(CpuTimes {
        total_s: seconds(ticks.total()),
        idle_s: seconds(ticks.idle.saturating_add(ticks.iowait)),
        steal_s: seconds(ticks.steal),
    })
}

/// Parses `cpu user nice system idle iowait irq softirq steal guest guest_nice`, in ticks.
/// Guests are included in user.
pub(crate) fn cpu_ticks(text: &str) -> Result<CpuTicks, ProbeError> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("cpu "))
        .ok_or_else(|| ProbeError::lacks("/proc/stat", "line cpu"))?;
    cpu_ticks_of(line)
}

/// Parses the numbers of one such line.
pub(crate) fn cpu_ticks_of(line: &str) -> Result<CpuTicks, ProbeError> {
    let mut ticks = [0u64; 8];
    for (tick, word) in ticks.iter_mut().zip(line.split_whitespace()) {
        *tick = word.parse().map_err(|_| ProbeError::form("/proc/stat", word, "a number"))?;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    Ok(CpuTicks { user, nice, system, idle, iowait, irq, softirq, steal })
}

fn memory(sys: &Sysroot, workers: &[u32]) -> Result<MemoryCounters, ProbeError> {
    let meminfo = sys.read("/proc/meminfo")?;
    let vmstat = sys.read("/proc/vmstat")?;
    let of_meminfo = |key: &str| kib(&meminfo, key).ok_or_else(|| ProbeError::lacks("/proc/meminfo", key));
    let of_vmstat = |key: &str| {
        let value = vmstat.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        value.and_then(|value| value.trim().parse().ok()).ok_or_else(|| ProbeError::lacks("/proc/vmstat", key))
    };
    let swapped = |pid: &str| sys.read(format!("/proc/{pid}/status")).ok().and_then(|text| kib(&text, "VmSwap"));
    let own_swap_bytes = std::iter::once("self".to_owned())
        .chain(workers.iter().map(u32::to_string))
        .filter_map(|pid| swapped(&pid))
        .fold(0u64, u64::saturating_add);
    Ok(MemoryCounters {
        available_bytes: of_meminfo("MemAvailable")?,
        dirty_bytes: of_meminfo("Dirty")?,
        writeback_bytes: of_meminfo("Writeback")?,
        swap_in_pages: of_vmstat("pswpin")?,
        swap_out_pages: of_vmstat("pswpout")?,
        own_swap_bytes,
        stall_us: sys.read("/proc/pressure/memory").ok().and_then(|text| some_stall_us(&text)),
    })
}

/// Parses a line `Key:   123 kB` into bytes.
pub(crate) fn kib(text: &str, key: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    value.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Parses `some avg10=… total=µs`.
pub(crate) fn some_stall_us(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;
    use plumb_result::observe::BlockLayer;

    // Protects: the formats of three decades of kernels; a flush that cannot be counted is None and not 0.
    #[test]
    fn statistics_of_old_and_new_kernels() {
        let text = "   8       0 sda 100 0 2000 5 50 0 400 7 0 11 13\n\
                    259       2 nvme0n1p2 1 0 8 0 2 0 16 0 0 3 4 5 0 24 6 9 1 77\n\
                      8       1 sda1 10 80 20 160\n   8 2 sda2 1 2 3\n   8 3 sda3 a 0 0 0 0 0 0 0 0 0 0\n";
        let old = diskstats(text, "sda").unwrap();
        assert_eq!((old.reads, old.read_bytes, old.writes, old.write_bytes), (100, 2000 * 512, 50, 400 * 512));
        assert_eq!((old.busy_ms, old.weighted_ms, old.flushes, old.discard_bytes), (11, 13, None, 0));
        let new = diskstats(text, "nvme0n1p2").unwrap();
        assert_eq!((new.busy_ms, new.weighted_ms), (3, 4));
        assert_eq!((new.flushes, new.discard_bytes), (Some(9), 24 * 512));
        assert_eq!((old.read_ms, old.write_ms, old.read_merges, old.write_merges), (5, 7, 0, 0));
        let ancient = diskstats(text, "sda1").unwrap();
        assert_eq!((ancient.read_bytes, ancient.write_bytes), (80 * 512, 160 * 512));
        assert!(diskstats(text, "sda2").unwrap_err().to_string().contains("3 fields"));
        assert!(diskstats(text, "sda3").unwrap_err().to_string().contains("\"a\""));
        assert!(diskstats(text, "sdb").unwrap_err().to_string().contains("sdb"));
    }

    // Protects: worker processes are summed, and one that has ended is not an error.
    #[test]
    fn a_described_machine() {
        let tree = Tree::new();
        let io = |n: u64| {
            format!(
                "rchar: {n}\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 0\n"
            )
        };
        tree.file("/proc/self/io", &io(100))
            .file("/proc/7/io", &io(11))
            .file("/proc/self/status", "VmSwap:\t       8 kB\n")
            .file("/proc/7/status", "VmSwap:\t       4 kB\n")
            .file("/proc/stat", "cpu  100 0 50 800 30 0 10 10 0 0\ncpu0 1 1 1 1\n")
            .file("/proc/meminfo", "MemAvailable: 10 kB\nDirty: 2 kB\nWriteback: 1 kB\nWritebackTmp: 9 kB\n")
            .file("/proc/vmstat", "pswpin 3\npswpout 4\n")
            .file("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\nfull total=9\n")
            .file("/proc/diskstats", " 8 0 sda 1 0 2 0 3 0 4 0 0 0 0\n")
            .file("/sys/class/block/cciss!c0d0/stat", "1 0 2 0 3 0 4 0 0 0 0\n")
            .file("/images/a", &"x".repeat(100_000));
        let layer = |name: &str, iostats: &str| BlockLayer {
            name: name.to_owned(),
            settings: [("iostats".to_owned(), iostats.to_owned())].into(),
            ..BlockLayer::default()
        };
        let facts = TargetFacts {
            stack: vec![
                layer("sda", "1"),
                layer("sdb", "0"),
                layer("cciss/c0d0", "1"),
                layer("sdz", "1"),
                BlockLayer { backing_file: Some("/images/a".to_owned()), ..layer("loop0", "1") },
                BlockLayer { backing_file: Some("/images/gone".to_owned()), ..layer("loop1", "1") },
            ],
            ..TargetFacts::default()
        };
        let mut set = SampleSet::for_targets_in(&tree.sys(), [&facts]);
        set.ticks_per_second = 100;
        set.set_workers(vec![7, 8]);
        let seen = sample(&set);
        let own = seen.own.value().unwrap();
        assert_eq!((own.rchar_bytes, own.wchar_bytes, own.read_bytes, own.write_bytes), (111, 4, 10, 12));
        let cpu = seen.cpu.value().unwrap();
        assert_eq!((cpu.total_s, cpu.idle_s, cpu.steal_s), (10.0, 8.3, 0.1));
        let memory = seen.memory.value().unwrap();
        assert_eq!((memory.available_bytes, memory.dirty_bytes, memory.writeback_bytes), (10240, 2048, 1024));
        assert_eq!((memory.swap_in_pages, memory.swap_out_pages, memory.own_swap_bytes), (3, 4, 12 * 1024));
        assert_eq!(memory.stall_us, Some(1234));
        assert_eq!(seen.devices["sda"].value().unwrap().write_bytes, 4 * 512);
        assert_eq!(seen.devices["cciss/c0d0"].value().unwrap().read_bytes, 2 * 512);
        assert!(seen.backing_bytes.len() == 1 && seen.backing_bytes["loop0"] >= 100_000, "{:?}", seen.backing_bytes);
        assert!(seen.devices["sdb"].as_result().unwrap_err().contains("iostats"));
        assert!(seen.devices["sdz"].as_result().unwrap_err().contains("sdz"));
    }

    // Protects: an empty machine gives reasons, not zeros and not a panic.
    #[test]
    fn no_counters_are_reported() {
        let tree = Tree::new();
        let seen = sample(&SampleSet::for_targets_in(&tree.sys(), []));
        assert!(seen.own.as_result().unwrap_err().contains("/proc/self/io"));
        assert!(seen.cpu.value().is_none() && seen.memory.value().is_none());
        tree.file("/proc/stat", "cpu  x y\n").file("/proc/meminfo", "MemTotal: 1 kB\n").file("/proc/vmstat", "");
        let seen = sample(&SampleSet::for_targets_in(&tree.sys(), []));
        assert!(seen.cpu.as_result().unwrap_err().contains("\"x\""));
        assert!(seen.memory.as_result().unwrap_err().contains("MemAvailable"));
    }

    // Protects: own I/O shows up on a running system.
    #[test]
    #[cfg(target_os = "linux")]
    fn own_writes_are_seen() {
        let set = SampleSet::for_targets([]);
        let before = sample(&set);
        if let Seen::No(reason) = &before.own {
            assert!(std::env::var_os("CI").is_none(), "{reason}");
            eprintln!("SKIPPED: {reason}");
            return;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![1u8; 1 << 20]).unwrap();
        let after = sample(&set);
        let wrote = after.own.value().unwrap().wchar_bytes - before.own.value().unwrap().wchar_bytes;
        assert!(wrote >= 1 << 20, "{wrote}");
        assert!(after.at_ns > before.at_ns);
    }
}
