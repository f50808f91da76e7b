//! Observations that a probe would have made of the simulated storage.

use super::device::{Device, NamedDevice};
use super::run::SimDevice;
use plumb_result::PhaseObservations;
use plumb_result::Seen;
use plumb_result::conditions::{Conditions, PhaseConditions};
use plumb_result::observe::{
    BlockLayer, Counters, LayerKind, MemoryCounters, OwnIo, ProcessIo, Residency, TargetFacts,
};
use plumb_workload::{SimModel, SimTarget};
use std::collections::BTreeMap;

const SIMULATED: &str = "simulated: does not apply";

/// Returns the storage under a simulated target: one layer, with the model and the faults as its settings. `number` is
/// the number of the device within the simulation.
pub fn target_facts(number: u32, target: &SimTarget) -> TargetFacts {
    let name = format!("sim{number}");
    let (path, model) = (target.device.to_string(), target.device.model);
    let mut settings: BTreeMap<String, String> = path
        .split_once('?')
        .into_iter()
        .flat_map(|(_, faults)| faults.split('&'))
        .map(|fault| fault.split_once('=').unwrap_or((fault, "yes")))
        .map(|(fault, value)| (fault.to_owned(), value.to_owned()))
        .collect();
    settings.insert("model".to_owned(), model.name().to_owned());
    settings.insert("link_bytes_per_second".to_owned(), Device::ceiling_bytes_per_second(model).to_string());
    if target.device.resync > 0.0 {
        settings.insert("sync_action".to_owned(), "resync".to_owned());
    }
    let write_cache = if Device::has_volatile_cache(model) { "write back" } else { "write through" };
    let layer = BlockLayer {
        name: name.clone(),
        number: format!("0:{number}"),
        kind: LayerKind::Sim,
        size_bytes: target.size.0,
        model: Some(format!("simulated {}", model.name())),
        rotational: Some(model == SimModel::Hdd),
        scheduler: Some("none".to_owned()),
        write_cache: Some(write_cache.to_owned()),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(4096),
        optimal_io_bytes: Some(0),
        alignment_offset_bytes: Some(0),
        settings,
        ..BlockLayer::default()
    };
    TargetFacts { path, filesystem: Seen::no("simulated"), stack: vec![layer], leaves: vec![name], unseen: Vec::new() }
}

/// Returns the counters of all devices at `now_ns`.
pub(super) fn counters(devices: &[SimDevice], now_ns: u64) -> Counters {
    let mut own = OwnIo::default();
    let mut by_name = BTreeMap::new();
    for device in devices {
        let NamedDevice { device, .. } = &mut *device.lock();
        let io = device.own_io();
        own.rchar_bytes += io.rchar_bytes;
        own.wchar_bytes += io.wchar_bytes;
        own.read_bytes += io.read_bytes;
        own.write_bytes += io.write_bytes;
        by_name.insert(device.name().to_owned(), Seen::Yes(device.counters(now_ns)));
    }
    Counters {
        at_ns: now_ns,
        devices: by_name,
        clients: BTreeMap::new(),
        backing_bytes: BTreeMap::new(),
        own: Seen::Yes(own),
        cpu: Seen::no(SIMULATED),
        memory: Seen::<MemoryCounters>::no(SIMULATED),
    }
}

/// Observations at the start of the clock.
#[derive(Debug)]
pub(super) struct AtStart {
    counters: Counters,
    /// Residency by device.
    residency: Vec<Residency>,
    conditions: Conditions,
}

/// Observes everything that changes, at the start of the clock.
pub(super) fn at_start(devices: &[SimDevice], now_ns: u64) -> AtStart {
    AtStart {
        counters: counters(devices, now_ns),
        residency: devices.iter().map(|device| device.lock().device.residency()).collect(),
        conditions: conditions(devices),
    }
}

/// Observations at the end of the clock.
#[derive(Debug)]
pub(super) struct AtEnd {
    counters: Counters,
    /// Residency by device.
    residency: Vec<Residency>,
    conditions: Conditions,
}

/// Observes everything that changes, at the end of the clock.
pub(super) fn at_end(devices: &[SimDevice], now_ns: u64) -> AtEnd {
    AtEnd {
        counters: counters(devices, now_ns),
        residency: devices.iter().map(|device| device.lock().device.residency()).collect(),
        conditions: conditions(devices),
    }
}

/// Returns the current state of the devices. There is no machine around them to observe.
fn conditions(devices: &[SimDevice]) -> Conditions {
    fn by_name<T>(devices: &[SimDevice], seen: fn(&Device) -> T) -> BTreeMap<String, Seen<T>> {
        let of = |named: &NamedDevice| (named.device.name().to_owned(), Seen::Yes(seen(&named.device)));
        BTreeMap::from_iter(devices.iter().map(|device| of(&device.lock())))
    }
    Conditions {
        at_unix_s: None,
        upkeep: Seen::Yes(devices.iter().filter_map(|device| device.lock().device.upkeep()).collect()),
        upkeep_unseen: Vec::new(),
        lazy_init: Seen::no(SIMULATED),
        cpu_throttles: Seen::no(SIMULATED),
        power: Seen::no(SIMULATED),
        heat: by_name(devices, Device::heat),
        health: by_name(devices, Device::health),
    }
}

/// Combines all observations around a phase.
pub(super) fn phase(name: &str, devices: &[SimDevice], start: AtStart, end: AtEnd) -> PhaseObservations {
    let (from_ns, to_ns) = (start.counters.at_ns, end.counters.at_ns);
    let by_target = |residency: Vec<Residency>| {
        let seen = devices.iter().zip(residency);
        BTreeMap::from_iter(seen.map(|(device, seen)| (device.lock().target.clone(), Seen::Yes(seen))))
    };
    let (resident_before, dirty_after) = (by_target(start.residency), by_target(end.residency));
    let extents = |named: &NamedDevice| (named.target.clone(), Seen::Yes(named.device.extents()));
    let extents_before = BTreeMap::from_iter(devices.iter().map(|device| extents(&device.lock())));
    let mut others: Vec<ProcessIo> =
        devices.iter().flat_map(|device| device.lock().device.other_processes(from_ns, to_ns)).collect();
    others.sort_by_key(|process| std::cmp::Reverse(process.read_bytes + process.write_bytes));
    others.truncate(5);
    PhaseObservations {
        name: name.to_owned(),
        before: start.counters,
        after: end.counters,
        resident_before,
        dirty_after,
        extents_before,
        extents_after: BTreeMap::new(),
        other_io: Seen::Yes(others),
        hidden_io: None,
        kernel_log: Seen::Yes(devices.iter().flat_map(|device| device.lock().device.take_kernel_log()).collect()),
        clock_step_ns: Seen::Yes(0),
        null_ceiling_ops: Seen::no("simulated: the virtual clock waits for the load generator"),
        conditions: PhaseConditions {
            meanwhile: end.conditions.upkeep.value().cloned().unwrap_or_default(),
            before: start.conditions,
            after: end.conditions,
            frequency: Seen::no(SIMULATED),
            timers: Seen::no(SIMULATED),
            matters_until_unix_s: None,
            declared: Vec::new(),
        },
        limits: Default::default(),
        processors: Default::default(),
    }
}
