//! One block device in sysfs. Sources: Documentation/ABI/stable/sysfs-block,
//! testing/sysfs-block-dm, Documentation/admin-guide/md.rst,
//! testing/sysfs-block-loop, testing/sysfs-block-zram.

use super::serials::Serials;
use crate::environment::bracketed;
use crate::sysroot::Sysroot;
use plumb_result::observe::{BlockLayer, LayerKind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// sysfs counts sizes and starts in these, regardless of the device's block size.
const SECTOR_BYTES: u64 = 512;

/// Files under `queue/` that are recorded unchanged.
const QUEUE: [&str; 14] = [
    "nr_requests",
    "read_ahead_kb",
    "nomerges",
    "wbt_lat_usec",
    "max_sectors_kb",
    "io_poll",
    "rq_affinity",
    "discard_granularity",
    "discard_max_bytes",
    "fua",
    "zoned",
    "iostats",
    "stable_writes",
    "minimum_io_size",
];

/// Files under `md/` that are recorded unchanged.
const MD: [&str; 12] = [
    "level",
    "chunk_size",
    "layout",
    "raid_disks",
    "metadata_version",
    "array_state",
    "sync_action",
    "sync_completed",
    "degraded",
    "consistency_policy",
    "stripe_cache_size",
    "bitmap/location",
];

/// Describes the device in this sysfs directory; `None` if it is not a block device.
pub(super) fn describe(sys: &Sysroot, directory: &Path, serials: Serials) -> Option<BlockLayer> {
    let name = directory.file_name()?.to_str()?.replace('!', "/");
    let line = |file: &str| sys.line(directory.join(file));
    let sectors = sys.number::<u64>(directory.join("size"))?;
    let queue = directory.join("queue");
    let kind = kind(sys, directory, &name);
    let is_disk = matches!(kind, LayerKind::Disk | LayerKind::Stacked);
    let model = if is_disk { model(sys, directory) } else { None };
    let driver = if is_disk { sys.link_name(directory.join("device/driver")) } else { None };
    let mut settings = BTreeMap::new();
    let mut set = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            settings.insert(name.to_owned(), value);
        }
    };
    for file in QUEUE {
        set(file, sys.line(queue.join(file)));
    }
    set("read_only", line("ro").filter(|value| value != "0").map(|_| "yes".to_owned()));
    match kind {
        LayerKind::Md => {
            MD.iter().for_each(|file| set(file.trim_end_matches("/location"), line(&format!("md/{file}"))))
        }
        LayerKind::Lvm | LayerKind::Crypt | LayerKind::Dm => {
            set("dm_name", line("dm/name"));
            set("dm_uuid", line("dm/uuid"));
            set("dm_type", line("dm/uuid").map(|uuid| dm_type(&uuid).to_owned()));
            set("dm_suspended", line("dm/suspended").filter(|value| value != "0"));
        }
        LayerKind::Loop => {
            for file in ["dio", "offset", "sizelimit", "autoclear", "partscan"] {
                set(file, line(&format!("loop/{file}")));
            }
        }
        LayerKind::Zram => {
            set("medium", Some(MEMORY.to_owned()));
            set("comp_algorithm", line("comp_algorithm").map(|list| bracketed(&list).to_owned()));
            set("backing_dev", line("backing_dev"));
        }
        LayerKind::Stacked => {
            set("cache_mode", line("bcache/cache_mode").map(|list| bracketed(&list).to_owned()));
            set("state", line("bcache/state"));
        }
        LayerKind::Disk => {
            disk_settings(sys, directory, &name, driver.as_deref(), &mut set);
            set("medium", medium(&name, driver.as_deref(), model.as_deref()).map(str::to_owned));
        }
        LayerKind::Partition | LayerKind::Sim => {}
    }
    let bytes = |file: &str| sys.number::<u64>(queue.join(file));
    Some(BlockLayer {
        number: line("dev").unwrap_or_default(),
        size_bytes: sectors.saturating_mul(SECTOR_BYTES),
        below: Vec::new(),
        model,
        serial: if is_disk { serial(sys, directory).map(|serial| format_serial(&serial, serials)) } else { None },
        firmware: ["device/firmware_rev", "device/rev", "device/fwrev"]
            .iter()
            // A hypervisor's disks have none.
            .filter(|_| is_disk && !is_virtual(driver.as_deref()))
            .find_map(|file| line(file)),
        rotational: sys.line(queue.join("rotational")).map(|value| value != "0"),
        scheduler: sys.line(queue.join("scheduler")).map(|list| bracketed(&list).to_owned()),
        write_cache: sys.line(queue.join("write_cache")),
        logical_block_bytes: bytes("logical_block_size"),
        physical_block_bytes: bytes("physical_block_size"),
        optimal_io_bytes: bytes("optimal_io_size"),
        start_bytes: sys.number::<u64>(directory.join("start")).map(|start| start.saturating_mul(SECTOR_BYTES)),
        alignment_offset_bytes: sys.number(directory.join("alignment_offset")),
        backing_file: if kind == LayerKind::Loop { line("loop/backing_file") } else { None },
        settings,
        name,
        kind,
    })
}

/// Reads only the name, the kind, and a loop device's backing file; `None` if it is not a block device.
pub(super) fn outline(sys: &Sysroot, directory: &Path) -> Option<BlockLayer> {
    let name = directory.file_name()?.to_str()?.replace('!', "/");
    sys.number::<u64>(directory.join("size"))?;
    let kind = kind(sys, directory, &name);
    Some(BlockLayer {
        backing_file: if kind == LayerKind::Loop { sys.line(directory.join("loop/backing_file")) } else { None },
        name,
        kind,
        ..BlockLayer::default()
    })
}

fn kind(sys: &Sysroot, directory: &Path, name: &str) -> LayerKind {
    if sys.exists(directory.join("partition")) {
        LayerKind::Partition
    } else if name.starts_with("md") && sys.exists(directory.join("md")) {
        LayerKind::Md
    } else if name.starts_with("dm-") {
        match sys.line(directory.join("dm/uuid")) {
            Some(uuid) if uuid.starts_with("LVM-") => LayerKind::Lvm,
            Some(uuid) if uuid.starts_with("CRYPT-") => LayerKind::Crypt,
            _ => LayerKind::Dm,
        }
    } else if name.starts_with("loop") {
        LayerKind::Loop
    } else if name.starts_with("zram") {
        LayerKind::Zram
    } else if !sys.names(directory.join("slaves")).is_empty() {
        LayerKind::Stacked
    } else {
        LayerKind::Disk
    }
}

/// Returns the owner from the prefix of a device-mapper UUID: `LVM`, `CRYPT-LUKS2`, `mpath`, `part1` …
fn dm_type(uuid: &str) -> &str {
    let mut ends = uuid.match_indices('-').map(|(at, _)| at);
    let first = ends.next().unwrap_or(uuid.len());
    if uuid.starts_with("CRYPT-") { &uuid[..ends.next().unwrap_or(uuid.len())] } else { &uuid[..first] }
}

/// Returns the directories of the devices directly below one.
pub(super) fn below(sys: &Sysroot, directory: &Path) -> Vec<PathBuf> {
    if sys.exists(directory.join("partition")) {
        return directory.parent().map(Path::to_owned).into_iter().collect();
    }
    let slaves: Vec<PathBuf> = sys
        .names(directory.join("slaves"))
        .iter()
        .filter_map(|name| sys.follow(directory.join("slaves").join(name)))
        .collect();
    if slaves.is_empty() { nvme_paths(sys, directory) } else { slaves }
}

/// Returns the paths such as `nvme0c1n1` under a multipath head `nvme0n1`. Before Linux 6.4 the head does not
/// count; the paths always do.
fn nvme_paths(sys: &Sysroot, directory: &Path) -> Vec<PathBuf> {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some((subsystem, namespace)) = name.strip_prefix("nvme").and_then(|rest| rest.split_once('n')) else {
        return Vec::new();
    };
    let is_path = |other: &str| {
        let rest = other.strip_prefix("nvme").and_then(|rest| rest.strip_prefix(subsystem)?.strip_prefix('c'));
        let parts = rest.and_then(|rest| rest.split_once('n'));
        parts.is_some_and(|(controller, other)| controller.parse::<u32>().is_ok() && other == namespace)
    };
    let names = sys.names("/sys/class/block");
    names
        .iter()
        .filter(|other| is_path(other))
        .filter_map(|other| sys.follow(format!("/sys/class/block/{other}")))
        .collect()
}

/// Returns `M:m` of a mount's source: by the device node, by its name in sysfs, or by its device-mapper name.
pub(super) fn number_of_source(sys: &Sysroot, source: &Path) -> Option<String> {
    if !source.starts_with("/dev") {
        return None;
    }
    if sys.is_real()
        && let Some(number) = crate::platform::block_number(source)
    {
        return Some(number);
    }
    let node = sys.resolve(source).unwrap_or_else(|| source.to_owned());
    let name = node.strip_prefix("/dev").ok()?.to_str()?.to_owned();
    if let Some(number) = sys.line(format!("/sys/class/block/{}/dev", name.replace('/', "!"))) {
        return Some(number);
    }
    let mapped = name.strip_prefix("mapper/")?;
    sys.names("/sys/class/block").iter().find_map(|device| {
        let found = sys.line(format!("/sys/class/block/{device}/dm/name"))?;
        if found == mapped { sys.line(format!("/sys/class/block/{device}/dev")) } else { None }
    })
}

fn model(sys: &Sysroot, directory: &Path) -> Option<String> {
    let line = |file: &str| sys.line(directory.join(file));
    let model = line("device/model").or_else(|| line("device/name"));
    let vendor = line("device/vendor").filter(|vendor| !vendor.starts_with("0x") && vendor != "ATA");
    match (vendor, model) {
        (Some(vendor), Some(model)) => Some(format!("{vendor} {model}")),
        (_, model) => model,
    }
}

/// Reads the serial from the transport's own file, or from udev's database.
fn serial(sys: &Sysroot, directory: &Path) -> Option<String> {
    let of_sysfs = || {
        ["serial", "device/serial", "device/vpd_pg80"].iter().find_map(|file| {
            let bytes = std::fs::read(sys.locate(directory.join(file))).ok()?;
            // A SCSI page begins with a header of four bytes.
            let bytes = if file.ends_with("pg80") { bytes.get(4..)? } else { &bytes };
            printable(&String::from_utf8_lossy(bytes))
        })
    };
    let of_udev = || {
        let text = sys.read(format!("/run/udev/data/b{}", sys.line(directory.join("dev"))?)).ok()?;
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
        printable(value("E:ID_SERIAL_SHORT=").or_else(|| value("E:ID_SERIAL="))?)
    };
    of_sysfs().or_else(of_udev).or_else(|| printable(&sys.line(directory.join("wwid"))?))
}

fn printable(text: &str) -> Option<String> {
    let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn format_serial(serial: &str, serials: Serials) -> String {
    match serials {
        Serials::Plain => serial.to_owned(),
        Serials::Hashed => blake3::hash(serial.as_bytes()).to_hex()[..16].to_owned(),
    }
}

/// Value of the setting `medium` for a device that stores its data in memory.
pub(super) const MEMORY: &str = "memory";
/// Value for a disk that a hypervisor emulates. It often reports that it rotates, regardless of its medium.
pub(super) const VIRTUAL_DISK: &str = "virtual disk";
/// Value for an unknown medium.
pub(super) const UNKNOWN_MEDIUM: &str = "unknown";

/// Drivers of disks that exist only in virtual machines: virtio, Xen.
const VIRTUAL_DRIVERS: [&str; 3] = ["virtio_blk", "vbd", "xen-blkfront"];
/// Prefixes of the models of emulated disks: QEMU, VMware, Hyper-V, VirtualBox, and the volumes of two clouds.
const VIRTUAL_MODELS: [&str; 7] =
    ["QEMU", "VMware", "Msft Virtual", "VBOX", "Google PersistentDisk", "Google EphemeralDisk", "Amazon Elastic Block"];

fn is_virtual(driver: Option<&str>) -> bool {
    driver.is_some_and(|driver| VIRTUAL_DRIVERS.contains(&driver))
}

fn medium(name: &str, driver: Option<&str>, model: Option<&str>) -> Option<&'static str> {
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    // The kernel's RAM disk (brd).
    if numbered("ram") {
        return Some(MEMORY);
    }
    let is_virtual_model =
        model.is_some_and(|model| VIRTUAL_MODELS.iter().any(|virtual_one| model.starts_with(virtual_one)));
    (is_virtual(driver) || is_virtual_model).then_some(VIRTUAL_DISK)
}

/// Reads a file of the namespace, or of the controller that it belongs to.
fn line_above(sys: &Sysroot, directory: &Path, file: &str) -> Option<String> {
    let controller = directory.parent().filter(|above| above.starts_with("/sys/devices"));
    [Some(directory), controller].into_iter().flatten().find_map(|place| sys.line(place.join(file)))
}

/// Whether a directory has the name of a PCI function: `0000:00:1f.2`.
fn is_pci_function(directory: &Path) -> bool {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split(':').count() == 3 && name.contains('.')
}

/// Adds the driver, and the link's speed: a higher rate is impossible.
fn disk_settings(
    sys: &Sysroot,
    directory: &Path,
    name: &str,
    driver: Option<&str>,
    set: &mut impl FnMut(&str, Option<String>),
) {
    set("driver", driver.map(str::to_owned));
    set("cache_type", sys.line(directory.join("cache_type")));
    // The nearest PCI function above the device; a virtual machine's often has no link.
    for above in directory.ancestors().filter(|above| is_pci_function(above)) {
        if let Some(speed) = sys.line(above.join("current_link_speed")) {
            set("pci_link_speed", Some(speed));
            set("pci_link_width", sys.line(above.join("current_link_width")));
            set("pci_link_width_max", sys.line(above.join("max_link_width")));
            set("pci_link_speed_max", sys.line(above.join("max_link_speed")));
            break;
        }
    }
    if name.starts_with("nvme") {
        set("metadata_bytes", line_above(sys, directory, "metadata_bytes"));
        // 0 keeps the drive awake. Source: Documentation/ABI/testing/sysfs-devices-power.
        set("apst_latency_tolerance_us", line_above(sys, directory, "power/pm_qos_latency_tolerance_us"));
    }
    let parts = directory.iter().filter_map(|part| part.to_str());
    for part in parts {
        if part.strip_prefix("host").is_some_and(|number| number.parse::<u32>().is_ok()) {
            set(
                "link_power_management_policy",
                sys.line(format!("/sys/class/scsi_host/{part}/link_power_management_policy")),
            );
        }
        if let Some(port) = part.strip_prefix("ata").filter(|port| port.parse::<u32>().is_ok()) {
            set("sata_link_speed", sys.line(format!("/sys/class/ata_link/link{port}/sata_spd")));
        }
        if part.starts_with("usb") {
            set("transport", Some("usb".to_owned()));
        }
    }
}
