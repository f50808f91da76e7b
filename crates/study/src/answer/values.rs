//! The values of a study's runs, by number.

use super::devices;
use super::evidence::StudyEvidence;
use crate::plan::{Levels, Plan, PlanCell, is_meant};
use plumb_result::metric::{DeviceCount, Stat};
use plumb_result::run::TierName;
use plumb_result::{Metric, Quantity, RunResult};
use plumb_store::StudyRunStatus;
use std::collections::BTreeMap;

/// One number of one work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WorkNumber {
    pub(super) workload: String,
    /// Its phase, or the name of the work for a number of the whole run.
    pub(super) phase: String,
    pub(super) metric: Metric,
}

/// One value of an accepted run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CountedValue {
    pub(super) run: usize,
    pub(super) plot: u32,
    pub(super) block: u32,
    pub(super) repeat: u32,
    pub(super) cell: u32,
    /// Above 0, except that a device count may be 0.
    pub(super) value: f64,
    /// Whether the value is a count determined by the work alone.
    pub(super) is_determined: bool,
    pub(super) tier: Option<TierName>,
}

/// Every compared number, with its values in the order of the runs.
pub(super) type WorkNumbers = BTreeMap<WorkNumber, Vec<CountedValue>>;

/// Returns the values of all accepted runs for the compared metrics.
pub(super) fn numbers(evidence: &StudyEvidence) -> WorkNumbers {
    let by_default = counts_by_default(evidence);
    numbers_of(evidence, |metric| {
        is_compared(&evidence.plan, metric) || by_default && metric.device_count().is_some_and(is_default)
    })
}

/// Returns `true` if device counts are compared although the plan names none: under emulation, where
/// nothing else can be compared.
pub(super) fn counts_by_default(evidence: &StudyEvidence) -> bool {
    let names_count = |wish: &String| DeviceCount::ALL.iter().any(|&count| is_meant(wish, Metric::device(count)));
    evidence.is_emulated() && !evidence.plan.compare.metrics.iter().any(names_count)
}

/// Bytes both ways, and flushes.
const fn is_default(count: DeviceCount) -> bool {
    matches!(count, DeviceCount::ReadBytes | DeviceCount::WrittenBytes | DeviceCount::Flushes)
}

/// Returns the values of all accepted runs for some metrics. A time or rate that is 0 or not finite has
/// no logarithm, and is omitted.
pub(super) fn numbers_of(evidence: &StudyEvidence, wanted: impl Fn(Metric) -> bool) -> WorkNumbers {
    numbers_of_runs(evidence, evidence.accepted(), wanted)
}

/// Returns the same values of rejected runs.
pub(super) fn rejected_numbers(evidence: &StudyEvidence) -> WorkNumbers {
    let records = evidence.records.iter().enumerate();
    let rejected = records.filter(|(_, record)| record.status == StudyRunStatus::Rejected);
    let results = rejected.filter_map(|(run, record)| Some((run, record.result.as_ref()?)));
    numbers_of_runs(evidence, results, |metric| is_compared(&evidence.plan, metric))
}

fn numbers_of_runs<'a>(
    evidence: &'a StudyEvidence,
    runs: impl Iterator<Item = (usize, &'a RunResult)>,
    wanted: impl Fn(Metric) -> bool,
) -> WorkNumbers {
    let plan = &evidence.plan;
    let mut numbers = WorkNumbers::new();
    for (run, result) in runs {
        let planned = &plan.runs[run];
        let Some(cell) = plan.cells.get(planned.cell as usize) else { continue };
        let of_run = |value: f64, tier: Option<TierName>| CountedValue {
            run,
            plot: planned.plot,
            block: plan.plots.get(planned.plot as usize).map_or(0, |plot| plot.block),
            repeat: planned.repeat,
            cell: planned.cell,
            value,
            is_determined: false,
            tier,
        };
        for &count in DeviceCount::ALL {
            let metric = Metric::device(count);
            if !wanted(metric) {
                continue;
            }
            if let Some(value) = devices::value(count, &evidence.records[run], result) {
                let workload = cell.workload.clone();
                let number = WorkNumber { phase: workload.clone(), workload, metric };
                let is_determined = devices::is_determined(count, result);
                numbers.entry(number).or_default().push(CountedValue { is_determined, ..of_run(value, None) });
            }
        }
        for phase in &result.phases {
            for (&metric, measured) in phase.metrics.iter().filter(|(metric, _)| wanted(**metric)) {
                let Some(value) = measured.value.filter(|value| *value > 0.0 && value.is_finite()) else { continue };
                let number = WorkNumber { workload: cell.workload.clone(), phase: phase.name.clone(), metric };
                numbers.entry(number).or_default().push(of_run(value, measured.tier));
            }
        }
    }
    numbers
}

/// Returns the numbers in the form in which they are compared. If the compared levels are the works themselves, one
/// number spans them: of the phase of the same name, or of the only phases that have it, whatever their names. Its
/// work is empty, and so is its phase if the works' phases have different names.
pub(super) fn compared(plan: &Plan, numbers: WorkNumbers) -> WorkNumbers {
    if !chooses_work(plan, &plan.compare.by) {
        return numbers;
    }
    /// The phases of one work, with their values.
    type Phases = Vec<(String, Vec<CountedValue>)>;
    let mut by_metric: BTreeMap<Metric, BTreeMap<String, Phases>> = BTreeMap::new();
    for (number, values) in numbers {
        let works = by_metric.entry(number.metric).or_default();
        works.entry(number.workload).or_default().push((number.phase, values));
    }
    let mut across = WorkNumbers::new();
    for (metric, works) in by_metric {
        let is_single = works.values().all(|phases| phases.len() == 1);
        let phases: Phases = works.into_values().flatten().collect();
        let names_differ = phases.iter().any(|(phase, _)| *phase != phases[0].0);
        for (phase, values) in phases {
            let phase = if is_single && names_differ { String::new() } else { phase };
            let number = WorkNumber { workload: String::new(), phase, metric };
            across.entry(number).or_default().extend(values);
        }
    }
    across.values_mut().for_each(|values| values.sort_by_key(|value| value.run));
    across
}

/// Returns `true` if the levels of a factor are the works.
fn chooses_work(plan: &Plan, factor: &str) -> bool {
    !plan.cells.is_empty() && plan.cells.iter().all(|cell| cell.levels.get(factor) == Some(&cell.workload))
}

/// Returns `true` if a metric is compared: it is named in full, or by its last parts. Without a wish, byte
/// rates, rates of ops that move no bytes, and the 99 % latency are compared: the others repeat these, or
/// describe the tail of few values.
pub(super) fn is_compared(plan: &Plan, metric: Metric) -> bool {
    if plan.compare.metrics.is_empty() {
        return match metric.quantity {
            Quantity::Bandwidth => true,
            Quantity::Rate => !metric.to_string().ends_with(".iops"),
            Quantity::Latency(stat) => stat == Stat::P99,
            Quantity::Response(_) | Quantity::User | Quantity::System | Quantity::Count(_) => false,
        };
    }
    plan.compare.metrics.iter().any(|wish| is_meant(wish, metric))
}

/// Returns the levels of a cell that a predicate selects.
pub(super) fn some_levels(cell: &PlanCell, picks: impl Fn(&str) -> bool) -> Levels {
    let picked = cell.levels.iter().filter(|(name, _)| picks(name));
    BTreeMap::from_iter(picked.map(|(name, level)| (name.clone(), level.clone())))
}

/// Returns `true` if a change of a factor needs a new plot.
pub(super) fn is_hard(plan: &Plan, factor: &str) -> bool {
    plan.factors.iter().any(|known| known.name == factor && known.hard)
}
