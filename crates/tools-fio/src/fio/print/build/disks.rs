//! The disks of a report, from counters that the probe read.

use crate::fio::print::report::{DiskReport, DiskUse, Figure, ReadWriteCounts};
use plumb_result::Observations;
use plumb_result::observe::{BlockLayer, DeviceCounters, LayerKind, TargetFacts};
use std::collections::BTreeSet;

/// Returns the disks of the targets' files and devices, from the first phase's start to the last one's end.
///
/// As in fio, a partition is represented by its disk, and a loop device by itself. A composite device (md, dm) also has
/// the means of its members, which are listed after it. A disk whose counters could not be read is omitted.
pub(super) fn disks_of(observations: &Observations) -> Vec<DiskReport> {
    let mut found = Found { observations, disks: Vec::new(), seen: BTreeSet::new() };
    for target in observations.targets.values() {
        let below: BTreeSet<&str> = target.stack.iter().flat_map(|layer| &layer.below).map(String::as_str).collect();
        for top in target.stack.iter().filter(|layer| !below.contains(layer.name.as_str())) {
            found.disk(target, disk_of(target, top));
        }
    }
    found.disks
}

struct Found<'a> {
    observations: &'a Observations,
    disks: Vec<DiskReport>,
    seen: BTreeSet<&'a str>,
}

impl<'a> Found<'a> {
    /// Adds a disk, then its members.
    fn disk(&mut self, target: &'a TargetFacts, layer: &'a BlockLayer) {
        if !self.seen.insert(&layer.name) {
            return;
        }
        let parts = parts_of(target, layer);
        if let Some(counters) = use_of(self.observations, &layer.name) {
            let below: Vec<DiskUse> = parts.iter().filter_map(|part| use_of(self.observations, &part.name)).collect();
            self.disks.push(DiskReport { name: layer.name.clone(), counters, below: mean(&below) });
        }
        for part in parts {
            self.disk(target, part);
        }
    }
}

/// Returns the layers directly below one, by their names.
fn below<'a>(target: &'a TargetFacts, layer: &'a BlockLayer) -> impl Iterator<Item = &'a BlockLayer> {
    layer.below.iter().filter_map(|name| target.stack.iter().find(|layer| layer.name == *name))
}

/// Returns the whole disk of a partition; any other layer is a disk itself.
fn disk_of<'a>(target: &'a TargetFacts, layer: &'a BlockLayer) -> &'a BlockLayer {
    match layer.kind {
        LayerKind::Partition => below(target, layer).next().unwrap_or(layer),
        _ => layer,
    }
}

/// Returns the members of a disk as listed by the kernel (`slaves` in sysfs). The disk under a loop device's backing
/// file is not a member.
fn parts_of<'a>(target: &'a TargetFacts, layer: &'a BlockLayer) -> Vec<&'a BlockLayer> {
    match layer.kind {
        LayerKind::Md | LayerKind::Lvm | LayerKind::Crypt | LayerKind::Dm | LayerKind::Stacked => {
            below(target, layer).map(|part| disk_of(target, part)).collect()
        }
        LayerKind::Disk | LayerKind::Partition | LayerKind::Loop | LayerKind::Zram | LayerKind::Sim => Vec::new(),
    }
}
fn use_of(observations: &Observations, name: &str) -> Option<DiskUse> {
    let counters = |counters: &plumb_result::observe::Counters| -> Option<DeviceCounters> {
        counters.devices.get(name)?.value().copied()
    };
    let (first, last) = (&observations.phases.first()?.before, &observations.phases.last()?.after);
    let (before, after) = (counters(first)?, counters(last)?);
    let time_ms = last.at_ns.saturating_sub(first.at_ns) as f64 / 1e6;
    let since = |pick: fn(&DeviceCounters) -> u64| pick(&after).saturating_sub(pick(&before));
    Some(DiskUse {
        ios: ReadWriteCounts { read: since(|one| one.reads), write: since(|one| one.writes) },
        sectors: ReadWriteCounts { read: since(|one| one.read_bytes) / 512, write: since(|one| one.write_bytes) / 512 },
        merges: Figure::Is(ReadWriteCounts {
            read: since(|one| one.read_merges),
            write: since(|one| one.write_merges),
        }),
        ticks_ms: Figure::Is(ReadWriteCounts { read: since(|one| one.read_ms), write: since(|one| one.write_ms) }),
        in_queue_ms: since(|one| one.weighted_ms),
        util_percent: if time_ms > 0.0 { (since(|one| one.busy_ms) as f64 / time_ms * 100.0).min(100.0) } else { 0.0 },
    })
}

fn mean(below: &[DiskUse]) -> Option<DiskUse> {
    let count = u64::try_from(below.len()).ok().filter(|count| *count > 0)?;
    let sum = |pick: fn(&DiskUse) -> u64| below.iter().map(pick).sum::<u64>() / count;
    Some(DiskUse {
        ios: ReadWriteCounts { read: sum(|one| one.ios.read), write: sum(|one| one.ios.write) },
        sectors: ReadWriteCounts { read: sum(|one| one.sectors.read), write: sum(|one| one.sectors.write) },
        merges: mean_pair(below, |one| &one.merges, count),
        ticks_ms: mean_pair(below, |one| &one.ticks_ms, count),
        in_queue_ms: sum(|one| one.in_queue_ms),
        // The busiest disk counts.
        util_percent: below.iter().map(|one| one.util_percent).fold(0.0, f64::max),
    })
}

fn mean_pair(below: &[DiskUse], pick: fn(&DiskUse) -> &Figure<ReadWriteCounts>, count: u64) -> Figure<ReadWriteCounts> {
    let sum =
        |part: fn(&ReadWriteCounts) -> u64| below.iter().filter_map(|one| pick(one).value()).map(part).sum::<u64>();
    Figure::Is(ReadWriteCounts { read: sum(|one| one.read) / count, write: sum(|one| one.write) / count })
}
