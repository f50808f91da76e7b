//! The evidence for checks: one view of a phase, of a run, of a comparison, with the counters already subtracted.

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

pub struct RunView<'a> {
    pub workload: &'a Workload,
    pub measurement: &'a Measurement,
    pub observations: &'a Observations,
    /// Every measured phase that the workload knows, in order.
    pub phases: Vec<PhaseView<'a>>,
}

pub struct PhaseView<'a> {
    /// The whole requested workload, of which `plan` is this phase.
    pub workload: &'a Workload,
    pub plan: &'a Phase,
    pub measured: &'a PhaseMeasurement,
    /// The engine's measurements of earlier phases, in order.
    pub earlier: &'a [PhaseMeasurement],
    /// The probe's observations; each missing one has the reason.
    pub seen: PhaseObservations,
    pub environment: &'a Environment,
    /// The storage under each target, by the target's name.
    pub targets: &'a BTreeMap<String, TargetFacts>,
    /// Kind of storage under the phase's targets.
    pub ground: Ground,
    pub(crate) traffic: Traffic,
}

/// Kind of storage under a phase's targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// Devices with counters of their traffic.
    Device,
    /// Memory: tmpfs, ramfs, zram, a RAM disk.
    Memory,
    /// A network file system, whose client counts the traffic with the server.
    Remote,
    /// The null target.
    Nothing,
    /// Unknown, with the reason.
    Unseen(String),
}

/// The traffic while the clock ran.
pub(crate) struct Traffic {
    /// Bytes that reads returned.
    pub(crate) app_read: u64,
    /// Bytes given to writes.
    pub(crate) app_write: u64,
    pub(crate) app_trim: u64,
    /// Sum over the leaf devices.
    pub(crate) device: Result<DeviceCounters, NotSeen>,
    /// Sum over the layers directly under the file systems; `None` if these are the leaves themselves, or do not
    /// count. A partition excludes its neighbours, and a mirror counts once.
    pub(crate) top: Option<DeviceCounters>,
    /// I/O that the kernel charged to Plumb's own processes.
    pub(crate) own: Result<OwnIo, NotSeen>,
    /// Sum over the clients of network file systems.
    pub(crate) client: Result<ClientTraffic, NotSeen>,
    /// Number of copies of a byte that the file system itself writes (btrfs profiles).
    pub(crate) copies: u64,
}

/// Sources of the bytes of reads; the three add up to the bytes that reads returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadSources {
    /// The page cache above the file system under test.
    pub(crate) page_cache: u64,
    /// Memory below it: the cached backing file of a loop device.
    pub(crate) below: u64,
    /// The lowest devices with counters.
    pub(crate) device: u64,
    /// The counter of bytes past the page cache.
    pub(crate) witness: &'static str,
}

/// Bytes that came from below the page cache, and the counter that shows it.
pub(crate) struct StorageBytes {
    pub(crate) bytes: u64,
    pub(crate) witness: &'static str,
}

impl Traffic {
    /// Returns the bytes of reads that the devices served. Others' I/O inflates the devices' counters. A cache below
    /// the requested block layer (a loop device's backing file) inflates our own. So it uses the smaller of the two.
    pub(crate) fn read_from_device(&self) -> Result<StorageBytes, NotSeen> {
        let device = self.device.as_ref().map(|device| StorageBytes { bytes: device.read_bytes, witness: DEVICES });
        match (device, self.read_past_page_cache()) {
            (Ok(device), Ok(past)) => Ok(if past.bytes <= device.bytes { past } else { device }),
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
            (Err(_), Err(reason)) => Err(reason),
        }
    }

    /// Returns the sources of the bytes of reads.
    pub(crate) fn read_sources(&self) -> Result<ReadSources, NotSeen> {
        let past = self.read_past_page_cache()?;
        let passed = past.bytes.min(self.app_read);
        let device = self.read_from_device()?.bytes.min(passed);
        Ok(ReadSources { page_cache: self.app_read - passed, below: passed - device, device, witness: past.witness })
    }

    /// Returns the bytes of reads that missed the page cache, from any layer below it.
    pub(crate) fn read_past_page_cache(&self) -> Result<StorageBytes, NotSeen> {
        match (&self.own, &self.top, &self.device) {
            (Ok(own), _, _) => Ok(StorageBytes { bytes: own.read_bytes, witness: "/proc/self/io" }),
            (Err(_), Some(top), _) => Ok(StorageBytes { bytes: top.read_bytes, witness: DEVICES }),
            (Err(_), None, Ok(device)) => Ok(StorageBytes { bytes: device.read_bytes, witness: DEVICES }),
            (Err(own), None, Err(device)) => Err(NotSeen::Neither(Box::new(own.clone()), Box::new(device.clone()))),
        }
    }

    /// Returns the bytes of writes that reached the devices, with copies counted once.
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

    /// Returns `true` if every target is null or simulated, so that no storage of this machine is involved.
    pub(crate) fn is_synthetic(&self) -> bool {
        self.workload.target.values().all(|target| matches!(target, Target::Null(_) | Target::Sim(_)))
    }
}

impl<'a> PhaseView<'a> {
    /// Returns the last measured phase; `None` if there is none or the workload does not know it.
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

    /// Returns the requested cache policy.
    pub(crate) fn cache(&self) -> plumb_workload::CachePolicy {
        plan::cache(self.plan)
    }

    /// Returns the requested number of ops in flight, over all workers; for a depth search, its result. `None` if
    /// a search has no result.
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

    /// Returns `true` if time comes from the simulated device, so that the machine's
    /// clocks and processors are irrelevant.
    pub(crate) fn is_virtual_time(&self) -> bool {
        self.measured.clock == "virtual"
    }

    /// Returns `true` if nothing was measured, as under `plumb check`.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.measured.ops.is_empty()
    }

    pub(crate) fn is_virtual_machine(&self) -> bool {
        self.environment.virtualisation.value().is_some_and(|name| name != "none")
    }

    pub(crate) fn target_names(&self) -> Vec<&'a str> {
        storage_names(self.workload, self.plan, self.targets)
    }

    /// Returns the known facts of the phase's targets.
    pub(crate) fn facts(&self) -> impl Iterator<Item = &'a TargetFacts> {
        let targets = self.targets;
        self.target_names().into_iter().filter_map(move |name| targets.get(name))
    }

    /// Returns every block layer under the phase's targets.
    pub(crate) fn layers(&self) -> impl Iterator<Item = &'a BlockLayer> {
        self.facts().flat_map(|facts| &facts.stack)
    }

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

    /// Returns the number of completed ops of one kind.
    pub(crate) fn ops(&self, kind: OpKind) -> u64 {
        self.measured.ops.get(&kind).map_or(0, |op| op.count)
    }

    /// Returns `true` if the device should serve reads.
    pub(crate) fn wants_device_reads(&self) -> bool {
        matches!(self.plan.cache, CachePolicy::Cold | CachePolicy::Direct)
    }

    /// Returns dirty pages when the clock stopped, over all targets.
    pub(crate) fn dirty(&self) -> Result<Residency, NotSeen> {
        let sum = self.residency(&self.seen.dirty_after)?;
        if sum.dirty_known { Ok(sum) } else { Err(NotSeen::NoDirtyPages) }
    }

    /// Returns cached pages when the clock started, over all targets.
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

    /// Returns the extents when the clock started, over all targets.
    pub(crate) fn extents(&self) -> Result<Extents, NotSeen> {
        self.extents_in(&self.seen.extents_before)
    }

    /// Returns extents whose bytes became blank after the clock started, other than by this phase's own trims and
    /// writes; `None` if there are none.
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

    /// Returns the share of the files' bytes that were never written, 0–1; `None` if unknown or without files.
    pub(crate) fn blank_share(&self) -> Option<f64> {
        let extents = self.extents().ok()?;
        share(extents.hole_bytes + extents.unwritten_bytes, extents.total_bytes)
    }

    /// Returns the share of the files' bytes that are stored compressed, so that device bytes
    /// cannot be compared with them.
    pub(crate) fn encoded_share(&self) -> Option<f64> {
        let extents = self.extents().ok()?;
        share(extents.encoded_bytes, extents.total_bytes)
    }

    /// Returns `true` if writes can shrink on their way: the content compresses, and so does a layer below.
    pub(crate) fn may_shrink(&self) -> bool {
        self.target_names().into_iter().any(|name| {
            compressibility::content(self.workload, name) != Content::Random && self.compressor(name).is_some()
        })
    }

    /// Names the layer below a target that compresses or deduplicates.
    pub(crate) fn compressor(&self, target: &str) -> Option<String> {
        compressibility::compressor(self.targets.get(target)?)
    }

    /// Lists the names of the leaf devices for a sentence.
    pub(crate) fn leaf_names(&self) -> String {
        let names: Vec<&str> = self.leaves().iter().map(|leaf| leaf.name.as_str()).collect();
        if names.is_empty() { "the device".to_owned() } else { names.join(" and ") }
    }

    /// Returns the first loop device of the stack.
    pub(crate) fn loop_device(&self) -> Option<&'a BlockLayer> {
        self.layers().find(|layer| layer.kind == LayerKind::Loop)
    }

    /// Returns `true` if a layer in the stack is of this kind.
    pub(crate) fn has_layer(&self, kind: LayerKind) -> bool {
        self.layers().any(|layer| layer.kind == kind)
    }
}

fn seen_of<T: Copy>(by_target: &BTreeMap<String, Seen<T>>, name: &str) -> Result<T, NotSeen> {
    match by_target.get(name) {
        Some(Seen::Yes(value)) => Ok(*value),
        Some(Seen::No(reason)) => Err(NotSeen::Refused { what: name.to_owned(), reason: reason.clone() }),
        None => Err(NotSeen::NotRead { what: name.to_owned() }),
    }
}

/// Returns the phase's targets. An end of a copy that stores nothing does not count, because the other end decides.
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

/// Determines the kind of storage from the facts about a target.
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

/// Returns the probe's word for the storage medium, if that is not a drive.
pub(crate) fn medium(layer: &BlockLayer) -> Option<&str> {
    layer.settings.get("medium").map(String::as_str)
}

/// Returns `true` for a disk that a hypervisor emulates: its reported rotation is not evidence.
pub(crate) fn is_virtual_disk(layer: &BlockLayer) -> bool {
    medium(layer) == Some("virtual disk")
}

/// Returns `true` for a RAM disk, compressed memory, or a loop device whose backing file is in memory.
fn is_memory(layer: &BlockLayer) -> bool {
    if medium(layer) == Some("memory") {
        return true;
    }
    // In results from before the probe recorded it.
    let stands_on = layer.settings.get("stands_on").and_then(|text| text.split(' ').next());
    layer.kind == LayerKind::Zram || (layer.kind == LayerKind::Loop && matches!(stands_on, Some("tmpfs" | "ramfs")))
}

/// Returns `true` for the kernel's RAM disks (brd), `ram0` …, which the block stack does not distinguish from disks.
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

/// Returns the traffic of the top layers. A layer that has never counted anything does not count (the head of an
/// NVMe multipath before Linux 6.4).
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

/// Returns the names of the layers that have no other layer above them.
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
        None => Err(NotSeen::NotRead { what: what() }),
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

/// Returns the number of copies that btrfs writes of each byte, by the profile of
/// its data. Source: mkfs.btrfs(8), "PROFILES".
fn copies(facts: &TargetFacts) -> u64 {
    let profile = facts.filesystem.value().and_then(|fs| fs.features.get("data_profile"));
    match profile.map(String::as_str) {
        Some("raid1" | "raid10" | "dup") => 2,
        Some("raid1c3") => 3,
        Some("raid1c4") => 4,
        _ => 1,
    }
}
