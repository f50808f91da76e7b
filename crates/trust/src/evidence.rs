//! What the checks examine: one view of a phase, of a run, of a comparison, with the counters already subtracted.

use crate::client::{self, ClientTraffic};
use crate::compressibility;
use crate::not_seen::NotSeen;
use crate::plan;
use crate::shares::share;
use plumb_result::observe::{
    BlockLayer, DeviceCounters, Environment, Extents, LayerKind, OwnIo, PhaseObservations, Residency, Seen, TargetFacts,
};
use plumb_result::{Measurement, Observations, PhaseMeasurement, WorkerMeasurement};
use plumb_workload::{CachePolicy, Content, OpKind, Phase, Target, Workload};
use std::collections::{BTreeMap, BTreeSet};

pub use crate::comparison::{ComparisonSide, ComparisonView};

/// A whole run.
pub struct RunView<'a> {
    /// What was asked for.
    pub workload: &'a Workload,
    /// What the engine measured.
    pub measurement: &'a Measurement,
    /// What the probe saw.
    pub observations: &'a Observations,
    /// Every measured phase that the workload knows, in order.
    pub phases: Vec<PhaseView<'a>>,
}

/// One phase of a run.
pub struct PhaseView<'a> {
    /// What was asked for, all of it.
    pub workload: &'a Workload,
    /// What was asked for in this phase.
    pub plan: &'a Phase,
    /// What the engine measured.
    pub measured: &'a PhaseMeasurement,
    /// What the engine measured of the phases before, in order.
    pub earlier: &'a [PhaseMeasurement],
    /// What the probe saw; nothing, with the reason, where it did not look.
    pub seen: PhaseObservations,
    /// The machine.
    pub environment: &'a Environment,
    /// The storage under each target, by the target's name.
    pub targets: &'a BTreeMap<String, TargetFacts>,
    /// What the phase's targets stand on.
    pub ground: Ground,
    /// What moved.
    pub(crate) traffic: Traffic,
}

/// What a phase's targets stand on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// Devices whose counters tell what moved.
    Device,
    /// Memory: tmpfs, ramfs, zram, a RAM disk.
    Memory,
    /// A network file system: its client's counters tell what went to the server.
    Remote,
    /// Nothing: the null target.
    Nothing,
    /// It could not be seen, for this reason.
    Unseen(String),
}

/// What moved while the clock ran.
pub(crate) struct Traffic {
    /// Bytes that reads returned.
    pub(crate) app_read: u64,
    /// Bytes given to writes.
    pub(crate) app_write: u64,
    /// Bytes trimmed.
    pub(crate) app_trim: u64,
    /// What the leaf devices moved, together.
    pub(crate) device: Result<DeviceCounters, NotSeen>,
    /// What the layers directly under the file systems moved, together; `None` where they are the leaves themselves, or
    /// do not count. A partition leaves out its neighbours, a mirror counts once.
    pub(crate) top: Option<DeviceCounters>,
    /// What the kernel charged to Plumb's own processes.
    pub(crate) own: Result<OwnIo, NotSeen>,
    /// What the clients of network file systems moved.
    pub(crate) client: Result<ClientTraffic, NotSeen>,
    /// How many copies of a byte the file system itself writes (btrfs profiles).
    pub(crate) copies: u64,
}

/// Where the bytes of reads came from; the three add up to what reads returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadSources {
    /// The page cache above the file system under test.
    pub(crate) page_cache: u64,
    /// Memory below it: the cached backing file of a loop device.
    pub(crate) below: u64,
    /// The lowest devices that count.
    pub(crate) device: u64,
    /// Who says how much passed the page cache.
    pub(crate) witness: &'static str,
}

/// Bytes that came from below the page cache, and which counter says so.
pub(crate) struct StorageBytes {
    pub(crate) bytes: u64,
    pub(crate) witness: &'static str,
}

impl Traffic {
    /// Bytes of reads that the devices served. Others' I/O inflates the devices' counters, and a cache below the block
    /// layer that was asked (a loop device's backing file) inflates our own, so the smaller of the two is believed.
    pub(crate) fn read_from_device(&self) -> Result<StorageBytes, NotSeen> {
        let device = self.device.as_ref().map(|device| StorageBytes { bytes: device.read_bytes, witness: DEVICES });
        match (device, self.read_past_page_cache()) {
            (Ok(device), Ok(past)) => Ok(if past.bytes <= device.bytes { past } else { device }),
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
            (Err(_), Err(reason)) => Err(reason),
        }
    }

    /// Where the bytes of reads came from.
    pub(crate) fn read_sources(&self) -> Result<ReadSources, NotSeen> {
        let past = self.read_past_page_cache()?;
        let passed = past.bytes.min(self.app_read);
        let device = self.read_from_device()?.bytes.min(passed);
        Ok(ReadSources { page_cache: self.app_read - passed, below: passed - device, device, witness: past.witness })
    }

    /// Bytes of reads that missed the page cache, whatever answered below it.
    pub(crate) fn read_past_page_cache(&self) -> Result<StorageBytes, NotSeen> {
        match (&self.own, &self.top, &self.device) {
            (Ok(own), _, _) => Ok(StorageBytes { bytes: own.read_bytes, witness: "/proc/self/io" }),
            (Err(_), Some(top), _) => Ok(StorageBytes { bytes: top.read_bytes, witness: DEVICES }),
            (Err(_), None, Ok(device)) => Ok(StorageBytes { bytes: device.read_bytes, witness: DEVICES }),
            (Err(own), None, Err(device)) => Err(NotSeen::Neither(Box::new(own.clone()), Box::new(device.clone()))),
        }
    }

    /// Bytes of writes that reached the devices, copies counted once.
    pub(crate) fn written_to_device(&self) -> Result<u64, NotSeen> {
        let device = self.device.as_ref().map_err(NotSeen::clone)?;
        let written = self.top.map_or(device.write_bytes, |top| top.write_bytes.min(device.write_bytes));
        Ok(written / self.copies)
    }
}

const DEVICES: &str = "the devices' counters";

impl<'a> RunView<'a> {
    pub(crate) fn new(
        workload: &'a Workload,
        measurement: &'a Measurement,
        observations: &'a Observations,
    ) -> RunView<'a> {
        let phases = measurement
            .phases
            .iter()
            .enumerate()
            .filter_map(|(position, measured)| {
                let plan = workload.phase.iter().find(|phase| phase.name == measured.name)?;
                Some(PhaseView::new(workload, plan, measured, &measurement.phases[..position], observations, position))
            })
            .collect();
        RunView { workload, measurement, observations, phases }
    }

    /// Every target is null or simulated, so that no storage of this machine is involved.
    pub(crate) fn is_synthetic(&self) -> bool {
        self.workload.target.values().all(|target| matches!(target, Target::Null(_) | Target::Sim(_)))
    }
}

impl<'a> PhaseView<'a> {
    /// The last measured phase; `None` where there is none or the workload does not know it.
    pub(crate) fn last(
        workload: &'a Workload,
        measurement: &'a Measurement,
        observations: &'a Observations,
    ) -> Option<PhaseView<'a>> {
        let (measured, earlier) = measurement.phases.split_last()?;
        let plan = workload.phase.iter().find(|phase| phase.name == measured.name)?;
        Some(PhaseView::new(workload, plan, measured, earlier, observations, earlier.len()))
    }

    fn new(
        workload: &'a Workload,
        plan: &'a Phase,
        measured: &'a PhaseMeasurement,
        earlier: &'a [PhaseMeasurement],
        observations: &'a Observations,
        position: usize,
    ) -> PhaseView<'a> {
        let same_name = |seen: &&PhaseObservations| seen.name == measured.name;
        let seen = observations
            .phases
            .get(position)
            .filter(same_name)
            .or_else(|| observations.phases.iter().find(same_name))
            .cloned()
            .unwrap_or_default();
        let names = storage_names(workload, plan, &observations.targets);
        let ground = ground(workload, &observations.targets, &names);
        let traffic = traffic(measured, &seen, &observations.targets, &names);
        PhaseView {
            workload,
            plan,
            measured,
            earlier,
            seen,
            environment: &observations.environment,
            targets: &observations.targets,
            ground,
            traffic,
        }
    }

    /// What the page cache was asked to be.
    pub(crate) fn cache(&self) -> plumb_workload::CachePolicy {
        plan::cache(self.plan)
    }

    /// Ops in flight that were asked for, of all workers: of a search for a depth, what it found. `None` where one has
    /// found none.
    pub(crate) fn depth_asked(&self) -> Option<u64> {
        let searches = plan::searches_depth(self.plan);
        let of_worker = |worker: &WorkerMeasurement| match worker.depth_search {
            Some(search) => search.found.then_some(u64::from(search.depth)),
            None => Some(u64::from(worker.depth_asked)),
        };
        let workers = &self.measured.workers;
        if searches && workers.iter().all(|worker| worker.depth_search.is_none()) {
            return None;
        }
        workers.iter().map(of_worker).sum()
    }

    /// Time comes from the simulated device, so that the machine's clocks and processors say nothing.
    pub(crate) fn is_virtual_time(&self) -> bool {
        self.measured.clock == "virtual"
    }

    /// Nothing was measured, as under `plumb check`.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.measured.ops.is_empty()
    }

    /// The machine is virtual.
    pub(crate) fn is_virtual_machine(&self) -> bool {
        self.environment.virtualisation.value().is_some_and(|name| name != "none")
    }

    pub(crate) fn target_names(&self) -> Vec<&'a str> {
        storage_names(self.workload, self.plan, self.targets)
    }

    /// Facts of the phase's targets, as far as known.
    pub(crate) fn facts(&self) -> impl Iterator<Item = &'a TargetFacts> {
        let targets = self.targets;
        self.target_names().into_iter().filter_map(move |name| targets.get(name))
    }

    /// Every block layer under the phase's targets.
    pub(crate) fn layers(&self) -> impl Iterator<Item = &'a BlockLayer> {
        self.facts().flat_map(|facts| &facts.stack)
    }

    /// The leaf devices' layers.
    pub(crate) fn leaves(&self) -> Vec<&'a BlockLayer> {
        let mut leaves: Vec<&BlockLayer> = Vec::new();
        for facts in self.facts() {
            for layer in facts.stack.iter().filter(|layer| facts.leaves.contains(&layer.name)) {
                if !leaves.iter().any(|leaf| leaf.name == layer.name) {
                    leaves.push(layer);
                }
            }
        }
        leaves
    }

    /// Ops of one kind that completed.
    pub(crate) fn ops(&self, kind: OpKind) -> u64 {
        self.measured.ops.get(&kind).map_or(0, |op| op.count)
    }

    /// Reads are to be served by the device.
    pub(crate) fn wants_device_reads(&self) -> bool {
        matches!(self.plan.cache, CachePolicy::Cold | CachePolicy::Direct)
    }

    /// Dirty pages as the clock stopped, all targets together.
    pub(crate) fn dirty(&self) -> Result<Residency, NotSeen> {
        let sum = self.residency(&self.seen.dirty_after)?;
        if sum.dirty_known { Ok(sum) } else { Err(NotSeen::NoDirtyPages) }
    }

    /// Pages in the cache as the clock started, all targets together.
    pub(crate) fn resident(&self) -> Result<Residency, NotSeen> {
        self.residency(&self.seen.resident_before)
    }

    fn residency(&self, by_target: &BTreeMap<String, Seen<Residency>>) -> Result<Residency, NotSeen> {
        let mut sum = Residency { dirty_known: true, ..Residency::default() };
        for name in self.target_names() {
            let one = seen_of(by_target, name)?;
            sum.total_bytes += one.total_bytes;
            sum.resident_bytes += one.resident_bytes;
            sum.dirty_bytes += one.dirty_bytes;
            sum.writeback_bytes += one.writeback_bytes;
            sum.dirty_known &= one.dirty_known;
        }
        Ok(sum)
    }

    /// Extents as the clock started, all targets together.
    pub(crate) fn extents(&self) -> Result<Extents, NotSeen> {
        self.extents_in(&self.seen.extents_before)
    }

    /// Extents of which bytes are blank only since the clock started, and not by this phase's own trims and writes; `None`
    /// where nothing of that kind was seen.
    pub(crate) fn emptied(&self) -> Option<Extents> {
        let Traffic { app_trim, app_write, .. } = self.traffic;
        if app_trim > 0 || app_write > 0 || !plan::is_block_io(self.plan) {
            return None;
        }
        let (before, after) = (self.extents().ok()?, self.extents_in(&self.seen.extents_after).ok()?);
        let blank = |extents: &Extents| extents.hole_bytes + extents.unwritten_bytes;
        (blank(&after) > blank(&before)).then_some(after)
    }

    fn extents_in(&self, by_target: &BTreeMap<String, Seen<Extents>>) -> Result<Extents, NotSeen> {
        let mut sum = Extents::default();
        for name in self.target_names() {
            let one = seen_of(by_target, name)?;
            sum.total_bytes += one.total_bytes;
            sum.hole_bytes += one.hole_bytes;
            sum.unwritten_bytes += one.unwritten_bytes;
            sum.extents += one.extents;
            sum.encoded_bytes += one.encoded_bytes;
        }
        Ok(sum)
    }

    /// Share of the files' bytes that were never written, 0–1; `None` where it could not be seen or there are none.
    pub(crate) fn blank_share(&self) -> Option<f64> {
        let extents = self.extents().ok()?;
        share(extents.hole_bytes + extents.unwritten_bytes, extents.total_bytes)
    }

    /// Share of the files' bytes that are stored compressed, so that device bytes cannot be compared with them.
    pub(crate) fn encoded_share(&self) -> Option<f64> {
        let extents = self.extents().ok()?;
        share(extents.encoded_bytes, extents.total_bytes)
    }

    /// What is written can shrink on its way: the content compresses, and so does something below.
    pub(crate) fn may_shrink(&self) -> bool {
        self.target_names().into_iter().any(|name| {
            compressibility::content(self.workload, name) != Content::Random && self.compressor(name).is_some()
        })
    }

    /// What below a target compresses or deduplicates.
    pub(crate) fn compressor(&self, target: &str) -> Option<String> {
        compressibility::compressor(self.targets.get(target)?)
    }

    /// Names of the leaf devices, as a sentence names them.
    pub(crate) fn leaf_names(&self) -> String {
        let names: Vec<&str> = self.leaves().iter().map(|leaf| leaf.name.as_str()).collect();
        if names.is_empty() { "the device".to_owned() } else { names.join(" and ") }
    }

    /// The first loop device of the stack.
    pub(crate) fn loop_device(&self) -> Option<&'a BlockLayer> {
        self.layers().find(|layer| layer.kind == LayerKind::Loop)
    }

    /// A layer in the stack is of this kind.
    pub(crate) fn has_layer(&self, kind: LayerKind) -> bool {
        self.layers().any(|layer| layer.kind == kind)
    }
}

fn seen_of<T: Copy>(by_target: &BTreeMap<String, Seen<T>>, name: &str) -> Result<T, NotSeen> {
    match by_target.get(name) {
        Some(Seen::Yes(value)) => Ok(*value),
        Some(Seen::No(reason)) => Err(NotSeen::Refused { what: name.to_owned(), reason: reason.clone() }),
        None => Err(NotSeen::NotLookedAt { what: name.to_owned() }),
    }
}

/// The phase's targets; one end of a copy may be something that keeps nothing, and says nothing of the other.
fn storage_names<'a>(workload: &Workload, plan: &'a Phase, targets: &BTreeMap<String, TargetFacts>) -> Vec<&'a str> {
    let is_copy = plan.workers.iter().any(|group| group.work.copy().is_some());
    let keeps_nothing = |name: &str| match workload.target.get(name) {
        Some(Target::Null(_)) => is_copy,
        Some(Target::JobFiles(_)) => targets.get(name).is_some_and(|facts| {
            facts.filesystem.value().is_none() && facts.leaves.is_empty() && facts.unseen.is_empty()
        }),
        _ => false,
    };
    let all = plan::target_names(plan);
    let kept: Vec<&str> = all.iter().copied().filter(|name| !keeps_nothing(name)).collect();
    if kept.is_empty() { all } else { kept }
}

fn ground(workload: &Workload, targets: &BTreeMap<String, TargetFacts>, names: &[&str]) -> Ground {
    let mut all: Vec<Ground> = names.iter().map(|name| ground_of(workload, targets, name)).collect();
    all.dedup();
    match all.as_slice() {
        // Companions alone make no I/O.
        [] => Ground::Nothing,
        [one] => one.clone(),
        several if several.iter().all(|one| matches!(one, Ground::Device | Ground::Memory)) => Ground::Device,
        several => several
            .iter()
            .find(|one| matches!(one, Ground::Unseen(_)))
            .cloned()
            .unwrap_or_else(|| Ground::Unseen("the phase's targets are on different kinds of storage".to_owned())),
    }
}

fn ground_of(workload: &Workload, targets: &BTreeMap<String, TargetFacts>, name: &str) -> Ground {
    if matches!(workload.target.get(name), Some(Target::Null(_))) {
        return Ground::Nothing;
    }
    let Some(facts) = targets.get(name) else {
        return Ground::Unseen(format!("the storage under `{name}` was not examined"));
    };
    ground_of_facts(name, facts)
}

/// What a target stands on, by the facts about it.
pub(crate) fn ground_of_facts(name: &str, facts: &TargetFacts) -> Ground {
    if let Some(filesystem) = facts.filesystem.value() {
        if filesystem.in_memory {
            return Ground::Memory;
        }
        if filesystem.remote {
            return Ground::Remote;
        }
    }
    if facts.leaves.is_empty() {
        let reason = facts.unseen.first().map_or("no block device was found below it", String::as_str);
        return Ground::Unseen(format!("`{name}`: {reason}"));
    }
    let layer = |leaf: &String| facts.stack.iter().find(|layer| &layer.name == leaf);
    let in_memory = |leaf: &String| layer(leaf).is_some_and(is_memory) || is_ram_disk(leaf);
    if facts.leaves.iter().all(in_memory) {
        return Ground::Memory;
    }
    let unknown = facts.leaves.iter().filter_map(layer).find(|layer| medium(layer) == Some("unknown"));
    if let Some(layer) = unknown {
        let file = layer.backing_file.as_deref().unwrap_or("its backing file");
        return Ground::Unseen(format!("what stores the data of {} is not known: {file} is out of sight", layer.name));
    }
    Ground::Device
}

/// What the probe says the bytes are stored in, where that is not a drive.
pub(crate) fn medium(layer: &BlockLayer) -> Option<&str> {
    layer.settings.get("medium").map(String::as_str)
}

/// A disk that a hypervisor emulates: what it reports about rotation is no evidence.
pub(crate) fn is_virtual_disk(layer: &BlockLayer) -> bool {
    medium(layer) == Some("virtual disk")
}

/// A RAM disk, compressed memory, or a loop device whose backing file is in memory.
fn is_memory(layer: &BlockLayer) -> bool {
    if medium(layer) == Some("memory") {
        return true;
    }
    // Results of before the probe said it.
    let stands_on = layer.settings.get("stands_on").and_then(|text| text.split(' ').next());
    layer.kind == LayerKind::Zram || (layer.kind == LayerKind::Loop && matches!(stands_on, Some("tmpfs" | "ramfs")))
}

/// `ram0` …: the kernel's RAM disk (brd), which the block stack does not tell from a disk.
fn is_ram_disk(name: &str) -> bool {
    name.strip_prefix("ram")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn traffic(
    measured: &PhaseMeasurement,
    seen: &PhaseObservations,
    targets: &BTreeMap<String, TargetFacts>,
    names: &[&str],
) -> Traffic {
    let moved = |kind: OpKind| measured.ops.get(&kind).map_or(0, |op| op.bytes);
    let facts: Vec<&TargetFacts> = names.iter().filter_map(|name| targets.get(*name)).collect();
    Traffic {
        app_read: moved(OpKind::Read),
        app_write: moved(OpKind::Write),
        app_trim: moved(OpKind::Trim),
        device: device_delta(seen, &facts),
        top: top_delta(seen, &facts),
        own: own_delta(seen, &facts),
        client: client::traffic(seen, &facts),
        copies: facts.iter().map(|facts| copies(facts)).min().unwrap_or(1),
    }
}

fn device_delta(seen: &PhaseObservations, facts: &[&TargetFacts]) -> Result<DeviceCounters, NotSeen> {
    let leaves = BTreeSet::from_iter(facts.iter().flat_map(|facts| &facts.leaves).map(String::as_str));
    if leaves.is_empty() {
        return Err(NotSeen::NoDevice);
    }
    delta_of(seen, leaves)
}

/// A layer that has never counted anything does not count (the head of an NVMe multipath before Linux 6.4).
fn top_delta(seen: &PhaseObservations, facts: &[&TargetFacts]) -> Option<DeviceCounters> {
    let tops = BTreeSet::from_iter(facts.iter().flat_map(|facts| tops(facts)));
    let leaves = BTreeSet::from_iter(facts.iter().flat_map(|facts| &facts.leaves).map(String::as_str));
    let count = |name: &&str| {
        let counters = counters_of(seen.after.devices.get(*name), name);
        counters.is_ok_and(|counters| counters.read_bytes + counters.write_bytes > 0)
    };
    if tops.is_empty() || tops == leaves || !tops.iter().all(count) {
        return None;
    }
    delta_of(seen, tops).ok()
}

/// Names of the layers that no other layer stands on.
fn tops(facts: &TargetFacts) -> impl Iterator<Item = &str> {
    let stood_on = |name: &String| facts.stack.iter().any(|layer| layer.below.contains(name));
    facts.stack.iter().map(|layer| &layer.name).filter(move |name| !stood_on(name)).map(String::as_str)
}

fn delta_of(seen: &PhaseObservations, names: BTreeSet<&str>) -> Result<DeviceCounters, NotSeen> {
    let mut sum = DeviceCounters { flushes: Some(0), ..DeviceCounters::default() };
    for name in names {
        let before = counters_of(seen.before.devices.get(name), name)?;
        let after = counters_of(seen.after.devices.get(name), name)?;
        sum.reads += after.reads.saturating_sub(before.reads);
        sum.read_bytes += after.read_bytes.saturating_sub(before.read_bytes);
        sum.writes += after.writes.saturating_sub(before.writes);
        sum.write_bytes += after.write_bytes.saturating_sub(before.write_bytes);
        sum.busy_ms += after.busy_ms.saturating_sub(before.busy_ms);
        sum.weighted_ms += after.weighted_ms.saturating_sub(before.weighted_ms);
        sum.discard_bytes += after.discard_bytes.saturating_sub(before.discard_bytes);
        sum.flushes = match (sum.flushes, before.flushes, after.flushes) {
            (Some(sum), Some(before), Some(after)) => Some(sum + after.saturating_sub(before)),
            _ => None,
        };
    }
    Ok(sum)
}

fn counters_of(seen: Option<&Seen<DeviceCounters>>, leaf: &str) -> Result<DeviceCounters, NotSeen> {
    let what = || format!("counters of {leaf}");
    match seen {
        Some(Seen::Yes(counters)) => Ok(*counters),
        Some(Seen::No(reason)) => Err(NotSeen::Refused { what: what(), reason: reason.clone() }),
        None => Err(NotSeen::NotLookedAt { what: what() }),
    }
}

fn own_delta(seen: &PhaseObservations, facts: &[&TargetFacts]) -> Result<OwnIo, NotSeen> {
    let filesystems = || facts.iter().filter_map(|facts| facts.filesystem.value());
    if filesystems().any(|fs| fs.kind.starts_with("fuse")) {
        return Err(NotSeen::OtherProcess);
    }
    let refused = |reason: &str| NotSeen::Refused { what: "/proc/self/io".to_owned(), reason: reason.to_owned() };
    let before = seen.before.own.as_result().map_err(refused)?;
    let after = seen.after.own.as_result().map_err(refused)?;
    Ok(OwnIo {
        rchar_bytes: after.rchar_bytes.saturating_sub(before.rchar_bytes),
        wchar_bytes: after.wchar_bytes.saturating_sub(before.wchar_bytes),
        read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
        write_bytes: after.write_bytes.saturating_sub(before.write_bytes),
    })
}

/// What btrfs writes of each byte, by the profile of its data. Source: mkfs.btrfs(8), "PROFILES".
fn copies(facts: &TargetFacts) -> u64 {
    let profile = facts.filesystem.value().and_then(|fs| fs.features.get("data_profile"));
    match profile.map(String::as_str) {
        Some("raid1" | "raid10" | "dup") => 2,
        Some("raid1c3") => 3,
        Some("raid1c4") => 4,
        _ => 1,
    }
}
