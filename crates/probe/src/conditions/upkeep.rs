//! Rebuilds, scrubs and similar work on storage that shares the target's disks. Sources:
//! Documentation/admin-guide/md.rst ("sync_action", "degraded", "sync_completed");
//! Documentation/ABI/testing/sysfs-fs-btrfs ("exclusive_operation"); btrfs-scrub(8),
//! which keeps `/var/lib/btrfs/scrub.status.UUID`; lvm(8) and pvmove(8) for the names of
//! their devices; `/proc/spl/kstat/zfs` of OpenZFS.

use super::processes::Processes;
use crate::error::ProbeError;
use crate::sysroot::{HAS_PROC, Sysroot};
use plumb_result::Seen;
use plumb_result::conditions::{Upkeep, UpkeepKind};
use plumb_result::observe::{LayerKind, TargetFacts};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const BLOCK: &str = "/sys/class/block";
const BTRFS: &str = "/sys/fs/btrfs";
const SCRUBS: &str = "/var/lib/btrfs";
const POOLS: &str = "/proc/spl/kstat/zfs";
/// Maximum depth of a stack.
const DEPTH_MAX: u32 = 16;

/// Places to check, determined once per run.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    /// md arrays, by the kernel's name.
    arrays: Vec<String>,
    /// Device-mapper names of LVM moves.
    moves: Vec<String>,
    /// UUIDs of btrfs file systems.
    btrfs: Vec<String>,
    /// Names of ZFS pools.
    pools: Vec<String>,
    unseen: Vec<String>,
}

/// State at one moment.
#[derive(Debug)]
pub(super) struct UpkeepReading {
    pub(super) upkeep: Seen<Vec<Upkeep>>,
    pub(super) unseen: Vec<String>,
}

impl Places {
    /// Finds every array, move, pool and file system on a disk of the targets.
    pub(super) fn find(sys: &Sysroot, targets: &[TargetFacts]) -> Places {
        let mut places = Places::default();
        let real = targets.iter().flat_map(|facts| &facts.stack).filter(|layer| layer.kind != LayerKind::Sim);
        let names = BTreeSet::from_iter(real.map(|layer| layer.name.as_str()));
        let mut disks = BTreeSet::new();
        names.iter().for_each(|name| below(sys, name, DEPTH_MAX, &mut disks));
        let shares = |name: &str| {
            let mut own = BTreeSet::new();
            below(sys, name, DEPTH_MAX, &mut own);
            !own.is_disjoint(&disks)
        };
        // Without devices on this machine there is nothing to rebuild, and the search would take longer
        // than a whole simulated run.
        let devices = if names.is_empty() { Vec::new() } else { sys.names(BLOCK) };
        for name in devices {
            let is_md = name.starts_with("md") && sys.exists(format!("{BLOCK}/{name}/md"));
            let is_mapped = name.starts_with("dm-");
            let mapped = is_mapped.then(|| sys.line(format!("{BLOCK}/{name}/dm/name"))).flatten();
            if (is_md || mapped.is_some()) && !shares(&name) {
                continue;
            }
            match mapped {
                Some(mapped) if is_move(&mapped) => places.moves.push(mapped),
                Some(mapped) if mapped.contains("_rimage_") => {
                    let reason = format!("the state of the LVM RAID of {mapped}: only `lvs` reports it");
                    places.unseen.push(reason);
                }
                _ => {}
            }
            if is_md {
                places.arrays.push(name);
            }
        }
        let btrfs = if names.is_empty() { Vec::new() } else { sys.names(BTRFS) };
        for uuid in btrfs {
            if sys.names(format!("{BTRFS}/{uuid}/devices")).iter().any(|device| shares(device)) {
                places.btrfs.push(uuid);
            }
        }
        for facts in targets {
            if let Some(fs) = facts.filesystem.value().filter(|fs| fs.kind == "zfs") {
                let pool = fs.source.split('/').next().unwrap_or_default().to_owned();
                places
                    .unseen
                    .push(format!("scrubs and resilvers of the pool {pool}: only `zpool status` reports them"));
                places.pools.push(pool);
            }
            if facts.stack.iter().any(|layer| matches!(layer.kind, LayerKind::Stacked)) {
                places.unseen.push("background work of a cache or a replicated device: not monitored".to_owned());
            }
        }
        places
    }

    /// Whether a scrub of btrfs could concern one of these places.
    pub(super) fn has_btrfs(&self) -> bool {
        !self.btrfs.is_empty()
    }

    /// Returns all work that is running now.
    pub(super) fn read(&self, sys: &Sysroot, processes: &Processes) -> UpkeepReading {
        if sys.is_real() && !HAS_PROC {
            return UpkeepReading { upkeep: Err(ProbeError::NotHere).into(), unseen: Vec::new() };
        }
        let mut upkeep = self.visible_work(sys);
        let mut unseen = self.unseen.clone();
        for uuid in &self.btrfs {
            match scrub(sys, uuid, processes) {
                Ok(scrub) => upkeep.extend(scrub),
                Err(error) => unseen.push(error.to_string()),
            }
        }
        for pool in &self.pools {
            match sys.line(format!("{POOLS}/{pool}/state")) {
                Some(state) if state == "DEGRADED" => {
                    upkeep.push(Upkeep { on: pool.clone(), kind: UpkeepKind::Degraded, detail: String::new() });
                }
                Some(_) => {}
                None => unseen.push(format!("the state of the pool {pool}: {POOLS} has none")),
            }
        }
        UpkeepReading { upkeep: Seen::Yes(upkeep), unseen }
    }

    /// Returns the work visible in a few sysfs files, for every second of a run.
    pub(super) fn visible_work(&self, sys: &Sysroot) -> Vec<Upkeep> {
        let mut upkeep: Vec<Upkeep> = self.arrays.iter().flat_map(|name| array(sys, name)).collect();
        upkeep.extend(self.btrfs.iter().filter_map(|uuid| exclusive(sys, uuid)));
        // A move lasts as long as its device.
        let moving = |name: &&String| {
            let devices = sys.names(BLOCK);
            devices.iter().any(|device| sys.line(format!("{BLOCK}/{device}/dm/name")).as_ref() == Some(*name))
        };
        upkeep.extend(self.moves.iter().filter(moving).map(|name| Upkeep {
            on: name.clone(),
            kind: UpkeepKind::Other,
            detail: "pvmove".to_owned(),
        }));
        upkeep
    }
}

/// Matches names such as `vg-pvmove0`.
fn is_move(mapped: &str) -> bool {
    let number = mapped.rsplit_once("-pvmove").map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Collects the names of the disks at the bottom of a device.
fn below(sys: &Sysroot, name: &str, depth: u32, disks: &mut BTreeSet<PathBuf>) {
    let Some(directory) = sys.follow(Path::new(BLOCK).join(name.replace('/', "!"))) else { return };
    let slaves = sys.names(directory.join("slaves"));
    if depth == 0 {
        return;
    }
    if sys.exists(directory.join("partition")) {
        disks.extend(directory.parent().map(Path::to_owned));
    } else if slaves.is_empty() {
        disks.insert(directory);
    } else {
        slaves.iter().for_each(|slave| below(sys, slave, depth - 1, disks));
    }
}

fn array(sys: &Sysroot, name: &str) -> Vec<Upkeep> {
    let line = |file: &str| sys.line(format!("{BLOCK}/{name}/md/{file}"));
    let mut found = Vec::new();
    let mut push = |kind, detail| found.push(Upkeep { on: name.to_owned(), kind, detail });
    let kind = match line("sync_action").as_deref() {
        None | Some("idle" | "frozen") => None,
        Some("resync") => Some(UpkeepKind::Resync),
        Some("recover") => Some(UpkeepKind::Recover),
        Some("check") => Some(UpkeepKind::Check),
        Some("repair") => Some(UpkeepKind::Repair),
        Some("reshape") => Some(UpkeepKind::Reshape),
        Some(_) => Some(UpkeepKind::Other),
    };
    if let Some(kind) = kind {
        push(kind, line("sync_completed").and_then(|done| progress(&done)).unwrap_or_default());
    }
    if let Some(missing) = line("degraded").and_then(|count| count.parse::<u32>().ok()).filter(|count| *count > 0) {
        let of = line("raid_disks").and_then(|all| all.split(' ').next()?.parse::<u32>().ok());
        push(UpkeepKind::Degraded, of.map_or(format!("{missing} missing"), |of| format!("{missing} of {of} missing")));
    }
    found
}

/// Parses `1234 / 5678` sectors, `delayed` or `none`.
fn progress(completed: &str) -> Option<String> {
    if completed == "delayed" {
        return Some("waiting for another array".to_owned());
    }
    let (done, all) = completed.split_once('/')?;
    let (done, all) = (done.trim().parse::<u64>().ok()?, all.trim().parse::<u64>().ok()?);
    (all > 0).then(|| format!("{} % done", u128::from(done) * 100 / u128::from(all)))
}

fn exclusive(sys: &Sysroot, uuid: &str) -> Option<Upkeep> {
    let doing = sys.line(format!("{BTRFS}/{uuid}/exclusive_operation"))?;
    let kind = match doing.as_str() {
        "none" | "swap activate" | "balance paused" => return None,
        "balance" => UpkeepKind::Balance,
        "device add" | "device remove" | "device replace" | "resize" => UpkeepKind::Replace,
        _ => UpkeepKind::Other,
    };
    let detail = if kind == UpkeepKind::Balance { String::new() } else { doing };
    Some(Upkeep { on: name_of(sys, uuid), kind, detail })
}

/// Returns the label, or the UUID if there is none.
fn name_of(sys: &Sysroot, uuid: &str) -> String {
    let name = sys.line(format!("{BTRFS}/{uuid}/label")).unwrap_or_else(|| uuid.to_owned());
    format!("btrfs {name}")
}

/// A scrub keeps a process of btrfs-progs alive, and a record for each device with its end.
fn scrub(sys: &Sysroot, uuid: &str, processes: &Processes) -> Result<Option<Upkeep>, ProbeError> {
    if !processes.btrfs_scrub {
        return Ok(None);
    }
    let record = format!("{SCRUBS}/scrub.status.{uuid}");
    if !sys.exists(&record) && sys.exists(SCRUBS) {
        return Ok(None);
    }
    let text = sys.read(&record).map_err(|error| ProbeError::Of {
        what: "which btrfs is being scrubbed".to_owned(),
        source: Box::new(error),
    })?;
    let is_over = |line: &str| line.split('|').any(|field| matches!(field, "finished:1" | "canceled:1"));
    let devices = text.lines().filter(|line| line.starts_with(uuid));
    let running = devices.clone().any(|line| !is_over(line));
    Ok(running.then(|| Upkeep { on: name_of(sys, uuid), kind: UpkeepKind::Scrub, detail: String::new() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;
    use plumb_result::observe::{BlockLayer, FileSystem};

    const UUID: &str = "8a5d106c-172c-4725-8c26-0cbfe3579865";

    fn on(devices: &[&str]) -> Vec<TargetFacts> {
        let layer = |name: &&str| BlockLayer { name: (*name).to_owned(), ..BlockLayer::default() };
        vec![TargetFacts { stack: devices.iter().map(layer).collect(), ..TargetFacts::default() }]
    }

    fn disks(tree: &Tree) {
        tree.block("pci/ata1/sda", "8:0", 100)
            .block("pci/ata1/sda/sda1", "8:1", 50)
            .file("/sys/devices/pci/ata1/sda/sda1/partition", "1\n")
            .block("pci/ata1/sda/sda2", "8:2", 50)
            .file("/sys/devices/pci/ata1/sda/sda2/partition", "2\n")
            .block("pci/ata2/sdb", "8:16", 100);
    }

    fn seen(tree: &Tree, targets: &[TargetFacts]) -> (Vec<String>, Vec<String>) {
        let sys = tree.sys();
        let read = Places::find(&sys, targets).read(&sys, &Processes { btrfs_scrub: true, ..Processes::default() });
        let words = |one: &Upkeep| format!("{} {} {}", one.on, one.kind.doing(), one.detail).trim_end().to_owned();
        (read.upkeep.value().unwrap().iter().map(words).collect(), read.unseen)
    }

    // Protects: an array on another partition of the same disk counts like the target's own; one
    // on another disk does not.
    #[test]
    fn arrays_that_share_a_disk_count() {
        let tree = Tree::new();
        disks(&tree);
        tree.block("virtual/block/md1", "9:1", 50)
            .slave("virtual/block/md1", "pci/ata1/sda/sda2")
            .file("/sys/devices/virtual/block/md1/md/sync_action", "recover\n")
            .file("/sys/devices/virtual/block/md1/md/sync_completed", "250 / 1000\n")
            .file("/sys/devices/virtual/block/md1/md/degraded", "1\n")
            .file("/sys/devices/virtual/block/md1/md/raid_disks", "3\n");
        let expected = ["md1 rebuilding onto a spare 25 % done", "md1 degraded 1 of 3 missing"];
        assert_eq!(seen(&tree, &on(&["sda1", "sda"])).0, expected);
        assert!(seen(&tree, &on(&["sdb"])).0.is_empty());
        tree.file("/sys/devices/virtual/block/md1/md/sync_action", "idle\n")
            .file("/sys/devices/virtual/block/md1/md/degraded", "0\n");
        assert!(seen(&tree, &on(&["sda1", "sda"])).0.is_empty());
    }

    // Protects: every word that the kernel writes; a linear array has no action at all.
    #[test]
    fn all_actions_of_the_kernel_are_parsed() {
        let tree = Tree::new();
        disks(&tree);
        tree.block("virtual/block/md0", "9:0", 50)
            .slave("virtual/block/md0", "pci/ata2/sdb")
            .directory("/sys/devices/virtual/block/md0/md");
        assert!(seen(&tree, &on(&["md0"])).0.is_empty());
        for (word, expected) in [
            ("resync", "md0 resyncing"),
            ("check", "md0 checking its copies or parity"),
            ("repair", "md0 repairing its copies or parity"),
            ("reshape", "md0 changing its shape"),
            ("frobnicate", "md0 busy with work of its own"),
        ] {
            tree.file("/sys/devices/virtual/block/md0/md/sync_action", &format!("{word}\n"));
            assert_eq!(seen(&tree, &on(&["md0"])).0, [expected]);
        }
        tree.file("/sys/devices/virtual/block/md0/md/sync_action", "resync\n")
            .file("/sys/devices/virtual/block/md0/md/sync_completed", "delayed\n");
        assert_eq!(seen(&tree, &on(&["md0"])).0, ["md0 resyncing waiting for another array"]);
    }

    // Protects: state that only another tool reports is listed as unseen, and state encoded in names is read.
    #[test]
    fn lvm_shows_moves_by_name_and_no_raid_state() {
        let tree = Tree::new();
        disks(&tree);
        for (number, name) in [(0, "vg-data"), (1, "vg-pvmove0"), (2, "vg-data_rimage_0")] {
            let place = format!("virtual/block/dm-{number}");
            tree.block(&place, &format!("253:{number}"), 50)
                .slave(&place, "pci/ata2/sdb")
                .file(&format!("/sys/devices/{place}/dm/name"), &format!("{name}\n"));
        }
        let (expected, unseen) = seen(&tree, &on(&["dm-0", "sdb"]));
        assert_eq!(expected, ["vg-pvmove0 busy with work of its own pvmove"]);
        assert!(unseen.len() == 1 && unseen[0].contains("lvs"), "{unseen:?}");
        let none: (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        assert_eq!(seen(&tree, &on(&["sda"])), none);
    }

    // Protects: balance and scrub of btrfs are seen, and the record of a killed scrub does not count.
    #[test]
    fn btrfs_operations_are_seen() {
        let tree = Tree::new();
        disks(&tree);
        let record = format!("/var/lib/btrfs/scrub.status.{UUID}");
        tree.file(&format!("{BTRFS}/{UUID}/exclusive_operation"), "none\n")
            .link(&format!("{BTRFS}/{UUID}/devices/sdb"), "../../../../devices/pci/ata2/sdb")
            .directory(&format!("{BTRFS}/features"));
        let targets = on(&["sdb"]);
        assert!(seen(&tree, &targets).1[0].contains("which btrfs is being scrubbed"));
        tree.file(&record, &format!("scrub status:1\n{UUID}:1|t_start:5|canceled:0|finished:0\n"));
        assert_eq!(seen(&tree, &targets).0, [format!("btrfs {UUID} scrubbing")]);
        tree.file(&record, &format!("scrub status:1\n{UUID}:1|t_start:5|canceled:0|finished:1\n"));
        assert!(seen(&tree, &targets).0.is_empty());
        tree.file(&format!("{BTRFS}/{UUID}/exclusive_operation"), "balance\n")
            .file(&format!("{BTRFS}/{UUID}/label"), "pool\n");
        assert_eq!(seen(&tree, &targets).0, ["btrfs pool balancing"]);
        tree.file(&format!("{BTRFS}/{UUID}/exclusive_operation"), "device replace\n");
        let expected = ["btrfs pool adding, replacing, removing or resizing a device device replace"];
        assert_eq!(seen(&tree, &targets).0, expected);
        assert!(seen(&tree, &on(&["sda"])).0.is_empty());
    }

    #[test]
    fn a_pool_is_degraded_or_not_and_its_scrubs_are_unseen() {
        let tree = Tree::new();
        let fs = FileSystem { kind: "zfs".to_owned(), source: "tank/home".to_owned(), ..FileSystem::default() };
        let targets = [TargetFacts { filesystem: Seen::Yes(fs), ..TargetFacts::default() }];
        assert_eq!(seen(&tree, &targets).1.len(), 2);
        tree.file("/proc/spl/kstat/zfs/tank/state", "DEGRADED\n");
        let (expected, unseen) = seen(&tree, &targets);
        assert_eq!(expected, ["tank degraded"]);
        assert!(unseen[0].contains("zpool status"));
    }
}
