//! The work of the block devices under a run, in total and per unit of the run's work.

use super::evidence::StudyRun;
use plumb_lab::protocol::{DeviceCounts, DeviceRecord};
use plumb_result::metric::{DeviceCount, Subject};
use plumb_result::{Metric, PhaseResult, Quantity, RunResult};
use plumb_workload::program::{PostmarkPart, PostmarkStep};
use plumb_workload::{OpKind, Phase, Target};
use std::collections::{BTreeMap, BTreeSet};

/// Returns a number of all leaf devices under a run together, over the whole run. `None` if the leaves are unknown,
/// or if the work did none of the ops that it is counted for.
pub(super) fn value(count: DeviceCount, record: &StudyRun, result: &RunResult) -> Option<f64> {
    let all = of_leaves(record, result)?;
    match count {
        DeviceCount::Reads => Some(all.reads as f64),
        DeviceCount::ReadBytes => Some(all.read_bytes as f64),
        DeviceCount::Writes => Some(all.writes as f64),
        DeviceCount::WrittenBytes => Some(all.written_bytes as f64),
        DeviceCount::Flushes => Some(all.flushes as f64),
        DeviceCount::BytesPerTransaction => per((all.read_bytes + all.written_bytes) as f64, transactions(result)),
        DeviceCount::WrittenPerByte => per(all.written_bytes as f64, moved(result, OpKind::Write)),
        DeviceCount::ReadPerByteWritten => per(all.read_bytes as f64, moved(result, OpKind::Write)),
        DeviceCount::BusiestWrittenPerByte => {
            per(busiest(record, result, |one| one.written_bytes)?, moved(result, OpKind::Write))
        }
        DeviceCount::BusiestWrittenShare => share_of_busiest(record, result, |one| one.written_bytes),
        DeviceCount::BusiestReadShare => share_of_busiest(record, result, |one| one.read_bytes),
    }
}

/// Returns the largest count of a leaf.
fn busiest(record: &StudyRun, result: &RunResult, of: fn(&DeviceCounts) -> u64) -> Option<f64> {
    leaves(record, result)?.values().map(|one| of(&one.counts)).max().map(|most| most as f64)
}

/// Returns the largest count of a leaf over the mean of all; `None` for a single leaf, or if the mean is 0.
fn share_of_busiest(record: &StudyRun, result: &RunResult, of: fn(&DeviceCounts) -> u64) -> Option<f64> {
    let leaves = leaves(record, result)?;
    let total: u64 = leaves.values().map(|one| of(&one.counts)).sum();
    let mean = per(total as f64, leaves.len() as f64).filter(|_| leaves.len() > 1)?;
    per(busiest(record, result, of)?, mean)
}

/// Returns `true` if the work alone determines a count: bytes of block devices that it reads and writes past the page
/// cache. A file system's own I/O follows its timers (a journal commits every few seconds), requests are merged as
/// they happen to meet, and the kernel times flushes.
pub(super) fn is_determined(count: DeviceCount, result: &RunResult) -> bool {
    let workload = &result.workload;
    let on_devices = !workload.target.is_empty()
        && workload.target.values().all(|target| matches!(target, Target::Device(_)))
        && workload.phase.iter().all(Phase::goes_around_cache);
    match count {
        DeviceCount::ReadBytes
        | DeviceCount::WrittenBytes
        | DeviceCount::WrittenPerByte
        | DeviceCount::ReadPerByteWritten
        | DeviceCount::BusiestWrittenPerByte
        | DeviceCount::BusiestWrittenShare
        | DeviceCount::BusiestReadShare
        | DeviceCount::BytesPerTransaction => on_devices,
        DeviceCount::Reads | DeviceCount::Writes | DeviceCount::Flushes => false,
    }
}

fn per(counted: f64, units: f64) -> Option<f64> {
    (units > 0.0).then(|| counted / units)
}

/// Returns the leaves, by the kernel's name; `None` if it is unknown which they are, or what one of them did.
pub(super) fn leaves<'a>(record: &'a StudyRun, result: &'a RunResult) -> Option<BTreeMap<&'a str, &'a DeviceRecord>> {
    let names = BTreeSet::from_iter(result.target.values().flat_map(|facts| &facts.leaves));
    let leaves: Option<Vec<_>> =
        names.into_iter().map(|name| Some((name.as_str(), record.devices.get(name)?))).collect();
    leaves.map(BTreeMap::from_iter).filter(|leaves| !leaves.is_empty())
}

/// Adds up the counts of the leaves. The devices above them would count the same bytes again.
fn of_leaves(record: &StudyRun, result: &RunResult) -> Option<DeviceCounts> {
    let mut all = DeviceCounts::default();
    for one in leaves(record, result)?.values().map(|one| one.counts) {
        all.reads += one.reads;
        all.read_bytes += one.read_bytes;
        all.writes += one.writes;
        all.written_bytes += one.written_bytes;
        all.flushes += one.flushes;
    }
    Some(all)
}

/// Returns the devices under a run's targets; simulated targets have none. `None` if they are
/// unknown: then all devices count.
pub(super) fn under(result: &RunResult) -> Option<BTreeSet<&str>> {
    let mut names = BTreeSet::new();
    for facts in result.target.values() {
        names.extend(facts.stack.iter().map(|layer| layer.name.as_str()));
        names.extend(facts.leaves.iter().map(String::as_str));
    }
    let targets = &result.workload.target;
    let simulated = targets.values().any(|target| matches!(target, Target::Sim(_)));
    (!names.is_empty() || simulated).then_some(names)
}

/// Returns the bytes moved by a run's ops, all phases together.
pub(super) fn moved(result: &RunResult, kind: OpKind) -> f64 {
    result.phases.iter().filter_map(|phase| phase.done.get(&kind)).map(|done| done.bytes as f64).sum()
}

/// Returns the transactions of a run: those counted by a program, or `PostMark`'s; otherwise ops of every kind.
fn transactions(result: &RunResult) -> f64 {
    let counted: f64 = result.phases.iter().map(of_programs).sum();
    if counted > 0.0 {
        return counted;
    }
    let of_postmark: u64 = postmark_steps(result).map(postmark_transactions).sum();
    if of_postmark > 0 {
        return of_postmark as f64;
    }
    result.phases.iter().flat_map(|phase| phase.done.values()).map(|done| done.ops as f64).sum()
}

/// Returns the transactions counted by a phase's programs: their rate is over the phase's wall time.
fn of_programs(phase: &PhaseResult) -> f64 {
    let is_meant = |metric: &Metric| metric.subject == Subject::Transaction && metric.quantity == Quantity::Rate;
    let rates = phase.metrics.iter().filter(|(metric, _)| is_meant(metric)).filter_map(|(_, rate)| rate.value);
    rates.map(|rate| (rate * phase.wall_ns as f64 / 1e9).round()).sum()
}

fn postmark_steps(result: &RunResult) -> impl Iterator<Item = &PostmarkStep> {
    let workers = result.workload.phase.iter().flat_map(|phase| &phase.workers);
    workers
        .filter_map(|group| group.work.program())
        .flat_map(|program| program.postmarks())
        .filter(|step| step.part == PostmarkPart::Transactions)
}

/// Returns the transactions of all threads: fewer than requested if a thread runs out of files.
fn postmark_transactions(step: &PostmarkStep) -> u64 {
    step.run.totals().iter().map(|totals| totals.transactions).sum()
}
