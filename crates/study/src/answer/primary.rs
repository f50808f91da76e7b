//! Selects the numbers that a study decides on. Each of them takes a share of the error rate, so there are few, and
//! one measurement does not count under two names.

use super::evidence::StudyEvidence;
use super::values::{CountedValue, WorkNumber, WorkNumbers, counts_by_default};
use crate::plan::is_meant;
use plumb_result::metric::DeviceCount;
use plumb_result::{Metric, Quantity};
use plumb_stats::correlate::one_measurement;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the primary numbers: those that the plan names; otherwise all in its `metrics`; otherwise one rate of
/// each workload. Device counts that are compared by default are primary too, one of each workload if none is
/// named. Of numbers that follow each other from run to run, such as the rates of one loop's writes and flushes,
/// the first stands for all.
pub(super) fn numbers(evidence: &StudyEvidence, numbers: &WorkNumbers) -> BTreeSet<WorkNumber> {
    let compare = &evidence.plan.compare;
    let named = if compare.primary.is_empty() { &compare.metrics } else { &compare.primary };
    let counts_too = counts_by_default(evidence);
    let mut of_works: BTreeMap<(&str, bool), Vec<&WorkNumber>> = BTreeMap::new();
    for number in numbers.keys() {
        let is_count = number.metric.device_count().is_some();
        let is_wished = named.is_empty() || named.iter().any(|wish| is_meant(wish, number.metric));
        if is_wished || counts_too && is_count {
            of_works.entry((&number.workload, is_count)).or_default().push(number);
        }
    }
    let mut primary = BTreeSet::new();
    for (_, mut all) in of_works {
        let order = |number: &&WorkNumber| {
            let place = named.iter().position(|wish| is_meant(wish, number.metric));
            (place, rank(number.metric), phase(evidence, number))
        };
        all.sort_by_key(|one| order(one));
        if named.is_empty() {
            all.truncate(1);
        }
        let mut kept: Vec<&WorkNumber> = Vec::new();
        for number in all {
            let is_other = |known: &&WorkNumber| is_of_busiest(known.metric) != is_of_busiest(number.metric);
            if !kept.iter().any(|known| !is_other(known) && is_same(&numbers[*known], &numbers[number])) {
                kept.push(number);
            }
        }
        primary.extend(kept.into_iter().cloned());
    }
    primary
}

/// Returns `true` if a count is of the busiest device. It follows the sum of all devices from run to run, but answers
/// a different question, how evenly they share it: RAID 4 and RAID 5 write the same sum.
fn is_of_busiest(metric: Metric) -> bool {
    let count = metric.device_count();
    count.is_some_and(|count| {
        matches!(
            count,
            DeviceCount::BusiestWrittenPerByte | DeviceCount::BusiestWrittenShare | DeviceCount::BusiestReadShare
        )
    })
}

/// Ranks metrics by how often they are the first question about a workload.
const fn rank(metric: Metric) -> u32 {
    match metric.quantity {
        Quantity::Bandwidth => 0,
        Quantity::Rate => 1,
        Quantity::Latency(_) | Quantity::Response(_) => 2,
        Quantity::User | Quantity::System | Quantity::Count(_) => 3,
    }
}

/// Returns the position of a number's phase in its work.
fn phase(evidence: &StudyEvidence, number: &WorkNumber) -> Option<usize> {
    let of_work = |run: &usize| {
        let cell = evidence.plan.runs[*run].cell as usize;
        evidence.plan.cells[cell].workload == number.workload
    };
    let (_, result) = evidence.accepted().find(|(run, _)| of_work(run))?;
    result.phases.iter().position(|phase| phase.name == number.phase)
}

/// Returns `true` if two numbers are one measurement: the residuals of their logarithms, after each cell's mean
/// on each plot, are correlated.
fn is_same(one: &[CountedValue], other: &[CountedValue]) -> bool {
    let (one, other) = (residuals(one), residuals(other));
    let shared = one.iter().filter_map(|(run, x)| Some((*x, *other.get(run)?)));
    let (x, y): (Vec<f64>, Vec<f64>) = shared.unzip();
    one_measurement(&x, &y).is_some()
}

fn residuals(values: &[CountedValue]) -> BTreeMap<usize, f64> {
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for value in values.iter().filter(|value| value.value > 0.0) {
        let (sum, count) = sums.entry(value.cell).or_default();
        *sum += value.value.ln();
        *count += 1.0;
    }
    let residual = |value: &CountedValue| {
        let (sum, count) = sums.get(&value.cell)?;
        Some((value.run, value.value.ln() - sum / count))
    };
    BTreeMap::from_iter(values.iter().filter(|value| value.value > 0.0).filter_map(residual))
}
