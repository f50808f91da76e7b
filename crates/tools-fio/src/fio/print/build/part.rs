//! Results of a job's workers, in fio's terms.

use super::{KeptLog, Latencies, Windows, series};
use crate::fio::print::report::*;
use plumb_result::{Histogram, OpMeasurement, WorkerMeasurement};
use plumb_workload::OpKind;
use plumb_workload::process::IoPriority;

/// Flushes that fio counts: those between other ops. Flushes at the end of a job or on close only add to its run time.
const SYNCS: [OpKind; 3] = [OpKind::Fsync, OpKind::Fdatasync, OpKind::SyncRange];

/// The workers of a job.
pub(super) struct Part<'a> {
    pub(super) workers: Vec<&'a WorkerMeasurement>,
    /// The workers' [`JobMember::priority`](super::JobMember::priority), in order.
    pub(super) priorities: Vec<Option<IoPriority>>,
    pub(super) latencies: Latencies,
    pub(super) windows: Windows,
}

/// Rounds to whole milliseconds.
pub(super) fn whole_ms(ns: u64) -> u64 {
    ns.saturating_add(500_000) / 1_000_000
}

impl Part<'_> {
    /// Returns every worker's ops of these kinds.
    fn ops(&self, kinds: &[OpKind]) -> Vec<&OpMeasurement> {
        self.workers.iter().flat_map(|worker| kinds.iter().filter_map(|kind| worker.ops.get(kind))).collect()
    }

    /// Combines the ops of these kinds into one direction.
    pub(super) fn direction(&self, kinds: &[OpKind]) -> DirectionReport {
        let ops = self.ops(kinds);
        let done: u64 = ops.iter().map(|op| op.count).sum();
        // fio also counts failed ops, and the writes that `verify_only` skips. They have no latency.
        let dry = || self.workers.iter().flat_map(|worker| kinds.iter().filter_map(|kind| worker.dry.get(kind)));
        let dry_bytes: u64 = dry().map(|moved| moved.bytes).sum();
        let failed = self.workers.iter().map(|worker| failed(worker, kinds)).sum::<u64>();
        let ios = done + failed + dry().map(|moved| moved.count).sum::<u64>();
        // Plumb never drops an op: it completes or fails.
        let dropped = Figure::Is(0);
        if done == 0 {
            let bytes = dry_bytes;
            return DirectionReport { ios, bytes, short: Figure::Is(0), dropped, ..DirectionReport::default() };
        }
        let lat = merged(ops.iter().map(|op| &op.service));
        let slat = merged(ops.iter().filter_map(|op| op.submission.as_ref()));
        // An op that completes within the submitting call has no parts: `clat` is its whole latency.
        let clat = merged(ops.iter().map(|op| op.completion.as_ref().unwrap_or(&op.service)));
        let spent_ns = |one: &WorkerMeasurement| {
            let each = kinds.iter().map(|kind| one.spent_ns.get(kind).copied().unwrap_or(one.wall_ns));
            each.max().unwrap_or(one.wall_ns)
        };
        // As in fio, only workers that did something in this direction count.
        let takes_part = |one: &&&WorkerMeasurement| {
            let did = |kind: &OpKind| one.ops.get(kind).is_some_and(|op| op.count > 0) || one.dry.contains_key(kind);
            kinds.iter().any(did)
        };
        let longest_ns = self.workers.iter().filter(takes_part).map(|one| spent_ns(one)).max().unwrap_or(0);
        let latencies = self.latencies;
        let kept = |kept: KeptLog, histogram: &Histogram| match (kept, histogram.is_empty()) {
            // As in fio, an op that completes within the submitting call has no submission latency.
            (KeptLog::No, _) | (_, true) => Figure::Off,
            (KeptLog::Yes, false) => Figure::Is(Latency::from_histogram(histogram)),
        };
        let series = match latencies.samples {
            KeptLog::Yes => series::sum(&self.workers),
            KeptLog::No => Vec::new(),
        };
        DirectionReport {
            bytes: ops.iter().map(|op| op.bytes).sum::<u64>() + dry_bytes,
            ios,
            short: Figure::Is(ops.iter().map(|op| op.short_count).sum()),
            dropped,
            // A job that did something has a run time of at least fio's resolution.
            runtime_ms: whole_ms(longest_ns).max(1),
            slat: kept(latencies.slat, &slat),
            clat: kept(latencies.clat, &clat),
            lat: kept(latencies.lat, &lat),
            priorities: self.by_priority(kinds),
            bandwidth: series::samples(&series, self.windows.bandwidth_ns, kinds, |moved| moved.bytes as f64 / 1024.0),
            iops: series::samples(&series, self.windows.iops_ns, kinds, |moved| moved.count as f64),
        }
    }

    /// Groups the ops of these kinds by priority. Workers can have different priorities, or a worker can give them to
    /// single ops. Returns nothing if all priorities are equal.
    fn by_priority(&self, kinds: &[OpKind]) -> Vec<PriorityReport> {
        let first = self.priorities.first();
        let apart = self.priorities.iter().any(|one| Some(one) != first);
        let has_own = |worker: &&WorkerMeasurement| worker.ops.values().any(|op| !op.priorities.is_empty());
        if !apart && !self.workers.iter().any(has_own) {
            return Vec::new();
        }
        let mut found: Vec<(Option<IoPriority>, Histogram, Histogram)> = Vec::new();
        let mut add = |priority, service: &Histogram, completion: Option<&Histogram>| {
            if !found.iter().any(|(known, ..)| *known == priority) {
                found.push((priority, Histogram::new(), Histogram::new()));
            }
            if let Some((_, lat, clat)) = found.iter_mut().find(|(known, ..)| *known == priority) {
                lat.merge(service);
                clat.merge(completion.unwrap_or(service));
            }
        };
        for (worker, own) in self.workers.iter().zip(&self.priorities) {
            for op in kinds.iter().filter_map(|kind| worker.ops.get(kind)).filter(|op| op.count > 0) {
                if op.priorities.is_empty() {
                    add(*own, &op.service, op.completion.as_ref());
                }
                for one in &op.priorities {
                    add(one.priority.or(*own), &one.service, one.completion.as_ref());
                }
            }
        }
        if found.len() < 2 {
            return Vec::new();
        }
        let kept = |kept: KeptLog, histogram: &Histogram| match kept {
            KeptLog::No => Figure::Off,
            KeptLog::Yes => Figure::Is(Latency::from_histogram(histogram)),
        };
        let report = |(priority, lat, clat): (Option<IoPriority>, Histogram, Histogram)| PriorityReport {
            priority,
            clat: kept(self.latencies.clat, &clat),
            lat: kept(self.latencies.lat, &lat),
        };
        found.into_iter().map(report).collect()
    }

    pub(super) fn sync(&self) -> SyncReport {
        let ops = self.ops(&SYNCS);
        match ops.iter().map(|op| op.count).sum() {
            0 => SyncReport::default(),
            count => SyncReport {
                count,
                latency: Figure::Is(Latency::from_histogram(&merged(ops.iter().map(|op| &op.service)))),
            },
        }
    }

    /// Sums CPU time and related counters.
    pub(super) fn cpu(&self) -> CpuReport {
        let sum = |pick: fn(&WorkerMeasurement) -> Option<u64>, what: &str| {
            let counted: Option<u64> = self.workers.iter().map(|one| pick(one)).sum();
            counted.map_or_else(|| Figure::Unknown(format!("{what} of its workers were not counted")), Figure::Is)
        };
        CpuReport {
            user_ns: self.workers.iter().map(|one| one.cpu_user_ns).sum(),
            system_ns: self.workers.iter().map(|one| one.cpu_system_ns).sum(),
            context_switches: sum(|one| Some(one.sleeps? + one.preemptions?), "context switches"),
            major_faults: sum(|one| one.major_faults, "page faults"),
            minor_faults: sum(|one| one.minor_faults, "page faults"),
        }
    }
}

/// Counts failed ops of these kinds, as far as known. Only the first failures are recorded individually. The others
/// count if all recorded ones are of the same kind.
fn failed(worker: &WorkerMeasurement, kinds: &[OpKind]) -> u64 {
    let of_kinds = worker.faults.iter().filter(|fault| fault.errno.is_some() && kinds.contains(&fault.op)).count();
    let all = worker.faults.len();
    if of_kinds == all && all > 0 { worker.fault_count } else { of_kinds as u64 }
}

fn merged<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Histogram {
    let mut all = Histogram::new();
    histograms.for_each(|one| all.merge(one));
    all
}
