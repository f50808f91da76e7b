//! Utilisations of a phase, from its measurement and the counters around it.

use crate::evidence::{Ground, PhaseView, is_virtual_disk};
use plumb_result::Seen;
use plumb_result::observe::{BlockLayer, DeviceCounters, LayerKind};
use plumb_workload::pace::ThinkTime;
use plumb_workload::{OpKind, Phase};

/// Shares of one processor that a worker took.
pub(crate) struct WorkerCpu {
    pub(crate) name: String,
    pub(crate) user: f64,
    pub(crate) system: f64,
    pub(crate) total: f64,
}

/// Returns the worker that took most; `None` if no processor time was charged to any. A busy
/// companion does not limit I/O.
pub(crate) fn busiest_worker(view: &PhaseView<'_>) -> Option<WorkerCpu> {
    let of = |worker: &plumb_result::WorkerMeasurement| {
        // The kernel charges whole ticks, which may be a little more time than there was.
        let spent_ns = worker.cpu_user_ns + worker.cpu_system_ns;
        let share = |ns: u64| ns as f64 / worker.wall_ns.max(spent_ns) as f64;
        (worker.wall_ns > 0).then(|| WorkerCpu {
            name: worker.name.clone(),
            user: share(worker.cpu_user_ns),
            system: share(worker.cpu_system_ns),
            total: share(spent_ns),
        })
    };
    let all = view.measured.io_workers().filter_map(of).filter(|cpu| cpu.total > 0.0);
    all.max_by(|one, other| one.total.total_cmp(&other.total))
}

/// Returns the mean number of processors that the workers used.
pub(super) fn own_cpus(view: &PhaseView<'_>) -> f64 {
    let spent: u64 = view.measured.workers.iter().map(|worker| worker.cpu_user_ns + worker.cpu_system_ns).sum();
    spent as f64 / view.measured.wall_ns.max(1) as f64
}

/// Returns the share of the machine's processor time that was not idle, 0–1; waiting for I/O is idle.
pub(super) fn machine_cpu(view: &PhaseView<'_>) -> Option<f64> {
    let (before, after) = (view.seen.before.cpu.value()?, view.seen.after.cpu.value()?);
    let (total, idle) = (after.total_s - before.total_s, after.idle_s - before.idle_s);
    // Below this, only the ticks of /proc/stat are measured.
    (total >= 0.2).then(|| (1.0 - idle / total).clamp(0.0, 1.0))
}

/// Returns the mean number of workers that were not on a processor.
pub(super) fn waiting_workers(view: &PhaseView<'_>) -> Option<f64> {
    let waiting = |worker: &plumb_result::WorkerMeasurement| {
        let busy = (worker.cpu_user_ns + worker.cpu_system_ns) as f64 / worker.wall_ns as f64;
        (worker.wall_ns > 0).then(|| (1.0 - busy).max(0.0))
    };
    view.measured.io_workers().map(waiting).sum()
}

/// Returns the mean number of workers in a flush. A device's busy time does not count flushes.
pub(super) fn flushing_workers(view: &PhaseView<'_>) -> f64 {
    let is_flush = |kind: &OpKind| matches!(kind, OpKind::Fsync | OpKind::Fdatasync | OpKind::EndFsync);
    let flushes = view.measured.ops.iter().filter(|(kind, _)| is_flush(kind));
    let spent: u128 = flushes.map(|(_, op)| op.service.sum()).sum();
    spent as f64 / view.measured.wall_ns.max(1) as f64
}

/// Returns the mean time of an op over all kinds, in ns.
pub(super) fn mean_service_ns(view: &PhaseView<'_>) -> Option<f64> {
    let spent: u128 = view.measured.ops.values().map(|op| op.service.sum()).sum();
    let count = view.measured.count();
    (count > 0 && spent > 0).then(|| spent as f64 / count as f64)
}

/// Returns the kind of op that took most of the time, with its share of it; `None` if all ops are of one kind.
pub(super) fn dominant_op(view: &PhaseView<'_>) -> Option<(OpKind, f64)> {
    if view.measured.ops.values().filter(|op| op.count > 0).count() < 2 {
        return None;
    }
    let total: u128 = view.measured.ops.values().map(|op| op.service.sum()).sum();
    let (kind, op) = view.measured.ops.iter().max_by_key(|(_, op)| op.service.sum())?;
    (total > 0).then(|| (*kind, op.service.sum() as f64 / total as f64))
}

/// Returns the ops per second that an open load requests; `None` unless every group is open.
pub(super) fn asked_rate(plan: &Phase) -> Option<f64> {
    let asked = plan.workers.iter().map(|group| {
        let load = group.pace.open?;
        Some(if load.shared { load.rate.0 } else { load.rate.0 * f64::from(group.count) })
    });
    asked.sum::<Option<f64>>().filter(|asked| *asked > 0.0)
}

/// Returns the share of the workers' time that went into think time and delays, 0–1; `None` if none was requested.
pub(super) fn paused_share(view: &PhaseView<'_>) -> Option<f64> {
    let all_ns: f64 = view.measured.io_workers().map(|worker| worker.wall_ns as f64).sum();
    let delays: u128 = view.measured.ops.get(&OpKind::Delay).map_or(0, |op| op.service.sum());
    // Workers are named after their group, `workers.0/3`.
    let thought = view.plan.workers.iter().enumerate().map(|(number, group)| match group.pace.think {
        Some(ThinkTime { pause, every, .. }) if every > 0 => {
            let prefix = format!("workers.{number}/");
            let of_group = view.measured.workers.iter().filter(|worker| worker.name.starts_with(&prefix));
            let ops: u64 = of_group.map(|worker| worker.count).sum();
            (ops / every) as f64 * pause.0 as f64
        }
        _ => 0.0,
    });
    let paused = thought.sum::<f64>() + delays as f64;
    (paused > 0.0 && all_ns > 0.0).then(|| (paused / all_ns).min(1.0))
}

/// Returns the seconds between the two readings of the counters.
pub(super) fn counted_seconds(view: &PhaseView<'_>) -> Option<f64> {
    let ns = view.seen.after.at_ns.saturating_sub(view.seen.before.at_ns);
    (ns > 0).then(|| ns as f64 / 1e9)
}

/// The utilisation of one block layer.
pub(super) struct LayerUse {
    pub(super) name: String,
    /// Share of the time with at least one request in flight, 0–1.
    pub(super) busy: f64,
    /// Mean number of requests in flight over the whole time.
    pub(super) in_flight: f64,
    /// Mean number of bytes in flight.
    pub(super) bytes_in_flight: f64,
    /// Whether it serves one request at a time, like a spinning disk: then busy is full.
    pub(super) one_at_a_time: bool,
}

/// Returns the busiest layer under the phase's targets. Of layers that are nearly alike it returns the lowest: the
/// disk and not its partition.
pub(super) fn device(view: &PhaseView<'_>) -> Option<LayerUse> {
    if view.ground != Ground::Device {
        return None;
    }
    let seconds = counted_seconds(view)?;
    let leaves: Vec<&str> = view.leaves().into_iter().map(|leaf| leaf.name.as_str()).collect();
    let of = |layer: &BlockLayer| {
        let moved = since(view, &layer.name)?;
        let (requests, all_bytes) = (moved.reads + moved.writes, moved.read_bytes + moved.write_bytes);
        let in_flight = moved.weighted_ms as f64 / 1e3 / seconds;
        // A virtual disk reports that it spins, on any storage.
        let is_real = || layer.kind == LayerKind::Disk && !view.is_virtual_machine() && !is_virtual_disk(layer);
        let believed = layer.kind == LayerKind::Sim || is_real();
        Some(LayerUse {
            name: layer.name.clone(),
            busy: (moved.busy_ms as f64 / 1e3 / seconds).min(1.0),
            in_flight,
            bytes_in_flight: in_flight * all_bytes as f64 / requests.max(1) as f64,
            one_at_a_time: believed && layer.rotational == Some(true),
        })
    };
    let all: Vec<LayerUse> = view.layers().filter_map(of).collect();
    let top = all.iter().map(|one| one.busy).fold(0.0, f64::max);
    let is_leaf = |one: &LayerUse| leaves.contains(&one.name.as_str());
    let rank = |one: &LayerUse| (is_leaf(one) && one.busy >= top * 0.9, one.busy);
    all.into_iter().max_by(|one, other| {
        let (a, b) = (rank(one), rank(other));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })
}

fn since(view: &PhaseView<'_>, name: &str) -> Option<DeviceCounters> {
    let value = |seen: Option<&Seen<DeviceCounters>>| seen?.value().copied();
    let before = value(view.seen.before.devices.get(name))?;
    let after = value(view.seen.after.devices.get(name))?;
    Some(DeviceCounters {
        reads: after.reads.saturating_sub(before.reads),
        read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
        writes: after.writes.saturating_sub(before.writes),
        write_bytes: after.write_bytes.saturating_sub(before.write_bytes),
        busy_ms: after.busy_ms.saturating_sub(before.busy_ms),
        weighted_ms: after.weighted_ms.saturating_sub(before.weighted_ms),
        ..DeviceCounters::default()
    })
}

/// A limit of a control group on one device, with its use, per second.
pub(super) struct IoLimit {
    /// Such as `io.max` or `blkio.throttle.read_bps_device`.
    pub(super) file: String,
    pub(super) device: String,
    pub(super) allowed: f64,
    pub(super) used: f64,
    /// Whether it limits bytes; otherwise ops.
    pub(super) in_bytes: bool,
}

/// Returns every limit on a layer under the phase's targets. Source: cgroup-v2.rst, `io.max`;
/// cgroup-v1/blkio-controller.rst.
pub(super) fn io_limits(view: &PhaseView<'_>) -> Vec<IoLimit> {
    let Some(seconds) = counted_seconds(view) else { return Vec::new() };
    let mut limits = Vec::new();
    for line in &view.environment.cgroup.io {
        let mut words = line.split_whitespace();
        let (Some(file), Some(number)) = (words.next(), words.next()) else { continue };
        let Some(layer) = view.layers().find(|layer| layer.number == number) else { continue };
        let Some(moved) = since(view, &layer.name) else { continue };
        for word in words {
            // v2 has the kind of limit in the line, v1 in the file's name.
            let (what, value) = word.split_once('=').unwrap_or_else(|| (v1_word(file), word));
            let (amount, in_bytes) = match what {
                "rbps" => (moved.read_bytes, true),
                "wbps" => (moved.write_bytes, true),
                "riops" => (moved.reads, false),
                "wiops" => (moved.writes, false),
                _ => continue,
            };
            if let Some(allowed) = value.parse::<f64>().ok().filter(|allowed| *allowed > 0.0) {
                let used = amount as f64 / seconds;
                limits.push(IoLimit { file: file.to_owned(), device: layer.name.clone(), allowed, used, in_bytes });
            }
        }
    }
    limits
}

fn v1_word(file: &str) -> &str {
    match file {
        "blkio.throttle.read_bps_device" => "rbps",
        "blkio.throttle.write_bps_device" => "wbps",
        "blkio.throttle.read_iops_device" => "riops",
        "blkio.throttle.write_iops_device" => "wiops",
        _ => "",
    }
}
