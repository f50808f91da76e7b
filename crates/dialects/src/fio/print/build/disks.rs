//! The disks of a report, from counters that the probe read.

use crate::fio::print::report::{DiskReport, DiskUse, Figure, ReadWriteCounts};
use plumb_result::Observations;
use plumb_result::observe::{DeviceCounters, LayerKind};
use std::collections::BTreeSet;

/// The disks under the targets over the whole run, from the first phase's start to the last one's end. A disk made of others
/// (md, dm) also says what those below it did on average. A disk whose counters could not be read is left out.
pub(super) fn disks_of(observations: &Observations) -> Vec<DiskReport> {
    let (mut disks, mut seen) = (Vec::new(), BTreeSet::new());
    for target in observations.targets.values() {
        let made = |kind: LayerKind| matches!(kind, LayerKind::Md | LayerKind::Lvm | LayerKind::Crypt | LayerKind::Dm);
        if let Some(top) = target.stack.iter().find(|layer| made(layer.kind)) {
            let below: Vec<DiskUse> = target.leaves.iter().filter_map(|leaf| use_of(observations, leaf)).collect();
            if let Some(counters) = use_of(observations, &top.name).filter(|_| seen.insert(top.name.clone())) {
                disks.push(DiskReport { name: top.name.clone(), counters, below: mean(&below) });
            }
        }
        for leaf in &target.leaves {
            if let Some(counters) = use_of(observations, leaf).filter(|_| seen.insert(leaf.clone())) {
                disks.push(DiskReport { name: leaf.clone(), counters, below: None });
            }
        }
    }
    disks
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
        // Of several disks, the busiest one's.
        util_percent: below.iter().map(|one| one.util_percent).fold(0.0, f64::max),
    })
}

fn mean_pair(below: &[DiskUse], pick: fn(&DiskUse) -> &Figure<ReadWriteCounts>, count: u64) -> Figure<ReadWriteCounts> {
    let sum =
        |part: fn(&ReadWriteCounts) -> u64| below.iter().filter_map(|one| pick(one).value()).map(part).sum::<u64>();
    Figure::Is(ReadWriteCounts { read: sum(|one| one.read) / count, write: sum(|one| one.write) / count })
}
