//! Reports every planned cell: its numbers, the work of its devices, and the reasons for missing values.

use super::contrasts::tier;
use super::devices::{moved, under};
use super::evidence::{StudyEvidence, StudyRun};
use super::values::{CountedValue, WorkNumbers, rejected_numbers};
use plumb_lab::protocol::DeviceCounts;
use plumb_result::RunResult;
use plumb_result::study::{CellDevice, CellReason, CellValue, RunCount, StudyCell};
use plumb_stats::summary::{coefficient_of_variation, geometric_mean};
use plumb_store::StudyRunStatus;
use plumb_workload::OpKind;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn cells(evidence: &StudyEvidence, numbers: &WorkNumbers) -> Vec<StudyCell> {
    let plan = &evidence.plan;
    let rejected = rejected_numbers(evidence);
    let of_cell =
        |cell: usize| plan.runs.iter().zip(&evidence.records).filter(move |(run, _)| run.cell as usize == cell);
    plan.cells
        .iter()
        .enumerate()
        .map(|(index, cell)| {
            let runs: Vec<(u32, &StudyRun)> = of_cell(index).map(|(run, record)| (run.plot, record)).collect();
            let count = |status: StudyRunStatus| runs.iter().filter(|(_, one)| one.status == status).count() as u32;
            let values_of = values(numbers, index as u32);
            let rejected_values = if values_of.is_empty() { values(&rejected, index as u32) } else { Vec::new() };
            StudyCell {
                levels: cell.levels.clone(),
                workload: cell.workload.clone(),
                planned: runs.len() as u32,
                done: count(StudyRunStatus::Done),
                rejected: count(StudyRunStatus::Rejected),
                failed: count(StudyRunStatus::Failed),
                open: count(StudyRunStatus::Planned) + count(StudyRunStatus::Running),
                not_needed: count(StudyRunStatus::Skipped),
                reasons: reasons(&runs),
                values: values_of,
                devices: devices(&runs),
                rejected_values,
            }
        })
        .collect()
}

fn reasons(runs: &[(u32, &StudyRun)]) -> Vec<CellReason> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let without =
        runs.iter().filter(|(_, record)| matches!(record.status, StudyRunStatus::Failed | StudyRunStatus::Rejected));
    for (_, record) in without {
        *counts.entry(record.reason.as_deref().unwrap_or("for no reason that was kept")).or_default() += 1;
    }
    let mut reasons: Vec<CellReason> =
        counts.into_iter().map(|(reason, runs)| CellReason { reason: reason.to_owned(), runs }).collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.runs));
    reasons
}

pub(super) fn accepted<'a>(
    runs: &'a [(u32, &'a StudyRun)],
) -> impl Iterator<Item = (u32, &'a StudyRun, &'a RunResult)> {
    let done = runs.iter().filter(|(_, record)| record.status == StudyRunStatus::Done);
    done.filter_map(|(plot, record)| Some((*plot, *record, record.result.as_ref()?)))
}

/// Returns the numbers of a cell, over all its runs that count.
pub(super) fn values(numbers: &WorkNumbers, cell: u32) -> Vec<CellValue> {
    let of_number = |(number, all): (&super::values::WorkNumber, &Vec<CountedValue>)| {
        let values: Vec<CountedValue> = all.iter().filter(|value| value.cell == cell).copied().collect();
        let plain: Vec<f64> = values.iter().map(|value| value.value).collect();
        // A count may be 0, and then has no geometric mean.
        let value = if number.metric.device_count().is_some() { mean(&plain)? } else { geometric_mean(&plain).ok()? };
        Some(CellValue {
            phase: number.phase.clone(),
            metric: number.metric,
            value,
            cv: coefficient_of_variation(&plain).ok(),
            plots: BTreeSet::from_iter(values.iter().map(|value| value.plot)).len() as u32,
            runs: values.len() as u32,
            tier: tier(&values),
        })
    };
    numbers.iter().filter_map(of_number).collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the work of each device, by its role in the recipe, since the kernel's name may differ on each plot. A
/// device without a role has the kernel's name.
fn devices(runs: &[(u32, &StudyRun)]) -> Vec<CellDevice> {
    let mut seen: BTreeMap<&str, SeenDevice<'_>> = BTreeMap::new();
    for (_, record, result) in accepted(runs) {
        let under = under(result);
        for (name, one) in &record.devices {
            if under.as_ref().is_none_or(|names| names.contains(name.as_str())) {
                let device = seen.entry(one.role.as_deref().unwrap_or(name)).or_default();
                device.names.insert(name);
                device.counts.push(one.counts);
                // Only the work of runs in which the device took part.
                device.written += moved(result, OpKind::Write);
                device.read += moved(result, OpKind::Read);
            }
        }
    }
    seen.into_iter().filter_map(|(device, seen)| seen.of_cell(device)).collect()
}

/// A device over the runs of a cell.
#[derive(Default)]
struct SeenDevice<'a> {
    /// The kernel's names for it.
    names: BTreeSet<&'a str>,
    counts: Vec<DeviceCounts>,
    /// Bytes that the work of its runs wrote.
    written: f64,
    /// Bytes that the work of its runs read.
    read: f64,
}

impl SeenDevice<'_> {
    /// Returns `None` if the device did no I/O.
    fn of_cell(self, device: &str) -> Option<CellDevice> {
        if self.counts.iter().all(|one| *one == DeviceCounts::default()) {
            return None;
        }
        let counted =
            |of: fn(&DeviceCounts) -> u64| RunCount::from_counts(&self.counts.iter().map(of).collect::<Vec<u64>>());
        let (read_bytes, written_bytes) = (counted(|one| one.read_bytes)?, counted(|one| one.written_bytes)?);
        let runs = self.counts.len() as f64;
        let per_byte = |of_device: RunCount, work: f64| (work > 0.0).then(|| of_device.mean * runs / work);
        Some(CellDevice {
            device: device.to_owned(),
            names: self.names.into_iter().filter(|name| *name != device).map(str::to_owned).collect(),
            runs: self.counts.len() as u32,
            reads: counted(|one| one.reads)?,
            read_bytes,
            writes: counted(|one| one.writes)?,
            written_bytes,
            flushes: counted(|one| one.flushes)?,
            written_per_byte: per_byte(written_bytes, self.written),
            read_per_byte: per_byte(read_bytes, self.read),
        })
    }
}
