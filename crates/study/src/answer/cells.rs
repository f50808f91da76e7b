//! Every planned cell: its numbers, what the devices did, and why it has none.

use super::contrasts::tier;
use super::devices::{moved, under};
use super::evidence::{StudyEvidence, StudyRun};
use super::values::{CountedValue, WorkNumbers};
use plumb_lab::protocol::DeviceCounts;
use plumb_result::RunResult;
use plumb_result::short_list;
use plumb_result::study::{CellDevice, CellReason, CellValue, RunCount, StudyCell};
use plumb_stats::summary::{coefficient_of_variation, geometric_mean};
use plumb_store::StudyRunStatus;
use plumb_workload::OpKind;
use std::collections::BTreeMap;

pub(super) fn cells(evidence: &StudyEvidence, numbers: &WorkNumbers) -> Vec<StudyCell> {
    let plan = &evidence.plan;
    let of_cell =
        |cell: usize| plan.runs.iter().zip(&evidence.records).filter(move |(run, _)| run.cell as usize == cell);
    plan.cells
        .iter()
        .enumerate()
        .map(|(index, cell)| {
            let runs: Vec<(u32, &StudyRun)> = of_cell(index).map(|(run, record)| (run.plot, record)).collect();
            let count = |status: StudyRunStatus| runs.iter().filter(|(_, one)| one.status == status).count() as u32;
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
                values: values(numbers, index as u32),
                devices: devices(&runs),
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
    short_list::sort_by_key(&mut reasons, |reason| std::cmp::Reverse(reason.runs));
    reasons
}

fn accepted<'a>(runs: &'a [(u32, &'a StudyRun)]) -> impl Iterator<Item = (u32, &'a StudyRun, &'a RunResult)> {
    let done = runs.iter().filter(|(_, record)| record.status == StudyRunStatus::Done);
    done.filter_map(|(plot, record)| Some((*plot, *record, record.result.as_ref()?)))
}

/// The numbers of a cell, over all its runs that count.
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
            plots: short_list::set(values.iter().map(|value| value.plot)).len() as u32,
            runs: values.len() as u32,
            tier: tier(&values),
        })
    };
    numbers.iter().filter_map(of_number).collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn devices(runs: &[(u32, &StudyRun)]) -> Vec<CellDevice> {
    let mut counts: BTreeMap<&str, Vec<DeviceCounts>> = BTreeMap::new();
    let (mut written, mut read) = (Vec::new(), Vec::new());
    for (_, record, result) in accepted(runs) {
        written.push(moved(result, OpKind::Write));
        read.push(moved(result, OpKind::Read));
        let under = under(result);
        for (device, one) in &record.devices {
            if under.as_ref().is_none_or(|names| names.contains(device.as_str())) {
                counts.entry(device).or_default().push(*one);
            }
        }
    }
    let per_byte = |device: f64, moved: f64| (moved > 0.0).then(|| device / moved);
    let (written, read) = (mean(&written).unwrap_or(0.0), mean(&read).unwrap_or(0.0));
    let device = |(device, all): (&str, Vec<DeviceCounts>)| {
        let counted = |of: fn(&DeviceCounts) -> u64| RunCount::of(&all.iter().map(of).collect::<Vec<u64>>());
        let (read_bytes, written_bytes) = (counted(|one| one.read_bytes)?, counted(|one| one.written_bytes)?);
        Some(CellDevice {
            device: device.to_owned(),
            runs: all.len() as u32,
            reads: counted(|one| one.reads)?,
            read_bytes,
            writes: counted(|one| one.writes)?,
            written_bytes,
            flushes: counted(|one| one.flushes)?,
            written_per_byte: per_byte(written_bytes.mean, written),
            read_per_byte: per_byte(read_bytes.mean, read),
        })
    };
    let moved = |all: &[DeviceCounts]| all.iter().any(|one| *one != DeviceCounts::default());
    counts.into_iter().filter(|(_, all)| moved(all)).filter_map(device).collect()
}
