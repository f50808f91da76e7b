//! Converts the comparison log to the form that trust's checks need.

use super::claims::CellClaim;
use super::comparison_log::{ComparedCell, ComparisonLog, LogRow};
use super::request::CompareRequest;
use plumb_result::Finding;
use plumb_result::compare::{Difference, Floor};
use plumb_result::observe::{Environment, TargetFacts};
use plumb_stats::schedule::Side;
use plumb_stats::verdict::VerdictRule;
use plumb_trust::{
    CommandContext, ComparisonView, Factor, LatencyView, NumberView, RunModes, RunValue, Sequence, SideRecord,
};
use std::collections::{BTreeMap, BTreeSet};

/// Trust's findings about a comparison.
pub(crate) struct Judged {
    pub(crate) findings: Vec<Finding>,
    pub(crate) differences: Vec<Difference>,
    pub(crate) confounded: bool,
    /// The speeds of the runs of each number, if there are several; in the order of the claims.
    pub(crate) modes: Vec<RunModes>,
}

/// Two sides in the form that the checks need.
pub(crate) struct JudgedSides<'a> {
    pub(crate) names: [&'a str; 2],
    pub(crate) environments: [&'a Environment; 2],
    /// The storage under each target.
    pub(crate) targets: [&'a BTreeMap<String, TargetFacts>; 2],
    /// Accepted runs of the work that has fewest.
    pub(crate) runs: [u32; 2],
    pub(crate) records: [SideRecord; 2],
    /// The only factor that was meant to differ.
    pub(crate) varying: Option<&'static Factor>,
}

/// Used if the storage is unknown.
static NOTHING: BTreeMap<String, TargetFacts> = BTreeMap::new();

/// Returns the sides of a comparison on this machine.
pub(crate) fn sides<'a>(
    request: &'a CompareRequest<'_>,
    comparison_log: &'a ComparisonLog,
    environment: &'a Environment,
) -> JudgedSides<'a> {
    let works = || request.workloads.iter().map(|named| named.name);
    JudgedSides {
        names: request.sides().map(|side| side.name.as_str()),
        environments: [environment; 2],
        targets: [0, 1].map(|index| targets(request, comparison_log, index, 0).unwrap_or(&NOTHING)),
        runs: [0, 1].map(|index| comparison_log.runs_of(index, works())),
        records: [0, 1].map(|index| record(request, comparison_log, index, environment)),
        varying: request.varying,
    }
}

/// Runs the checks of a comparison.
pub(crate) fn judge(
    context: &CommandContext,
    sides: &JudgedSides<'_>,
    comparison_log: &ComparisonLog,
    claims: &[CellClaim],
    rule: &VerdictRule,
    floors: &BTreeMap<ComparedCell, Floor>,
) -> Judged {
    let side = |index: usize| plumb_trust::ComparisonSide {
        name: sides.names[index],
        environment: sides.environments[index],
        targets: sides.targets[index],
        runs: sides.runs[index],
        record: &sides.records[index],
    };
    let values: Vec<[Vec<RunValue>; 2]> = claims
        .iter()
        .map(|claim| [Side::A, Side::B].map(|side| runs(&comparison_log.rows[&claim.cell], side)))
        .collect();
    let numbers: Vec<NumberView<'_>> = claims
        .iter()
        .zip(&values)
        .map(|(claim, [baseline, candidate])| NumberView {
            workload: &claim.cell.workload,
            phase: &claim.cell.phase,
            metric: claim.cell.metric,
            baseline,
            candidate,
            found: claim.found(rule),
            floor: floors.get(&claim.cell).map(|floor| floor.share),
            stated: None,
        })
        .collect();
    let latencies: Vec<LatencyView<'_>> = comparison_log
        .latencies
        .iter()
        .map(|(key, [baseline, candidate])| LatencyView {
            workload: &key.workload,
            phase: &key.phase,
            op: key.op,
            baseline,
            candidate,
        })
        .collect();
    let (baseline, candidate) = (side(0), side(1));
    let previous = comparison_log.previous();
    let view = ComparisonView {
        baseline,
        candidate,
        varying: sides.varying,
        numbers: &numbers,
        planned: &comparison_log.planned,
        latencies: &latencies,
        sequence: Sequence { previous: &previous, run_seconds: comparison_log.run_seconds },
    };
    let differences = plumb_trust::differences(&baseline, &candidate);
    let mut findings = plumb_trust::judge_comparison(&view);
    plumb_trust::reword(&mut findings, context);
    Judged {
        modes: plumb_trust::run_modes(&numbers).into_iter().map(Option::unwrap_or_default).collect(),
        findings,
        confounded: plumb_trust::confounded(
            &differences,
            sides.varying,
            sides.records.iter().map(|record| record.plots).min().unwrap_or(1),
        ),
        differences,
    }
}

fn runs(rows: &[LogRow], side: Side) -> Vec<RunValue> {
    let of = |row: &LogRow| RunValue { run: row.run, plot: row.plot, value: row.value };
    rows.iter().filter(|row| row.side == side).map(of).collect()
}

/// Returns the storage under a plot, as the first work observed it.
fn targets<'a>(
    request: &CompareRequest<'_>,
    comparison_log: &'a ComparisonLog,
    index: usize,
    plot: usize,
) -> Option<&'a BTreeMap<String, TargetFacts>> {
    comparison_log.by_side[index].targets.get(&plot)?.get(request.workloads.first()?.name)
}

fn record(
    request: &CompareRequest<'_>,
    comparison_log: &ComparisonLog,
    index: usize,
    environment: &Environment,
) -> SideRecord {
    let places = request.plots()[index];
    let side = if index == 0 { Side::A } else { Side::B };
    // A plot with only rejected runs is not a replicate.
    let seen = comparison_log.rows.values().map(|rows| {
        let plots = rows.iter().filter(|row| row.side == side).map(|row| row.plot);
        BTreeSet::from_iter(plots).len()
    });
    let plots = seen.min().unwrap_or(places);
    let mut unlike: Vec<Difference> = Vec::new();
    let blank = SideRecord::default();
    let of = |plot: usize| {
        let targets = targets(request, comparison_log, index, plot)?;
        Some(plumb_trust::ComparisonSide { name: "", environment, targets, runs: 0, record: &blank })
    };
    for plot in 1..places {
        let (Some(first), Some(other)) = (of(0), of(plot)) else { continue };
        for difference in plumb_trust::differences(&first, &other) {
            if !unlike.iter().any(|known| known.fact == difference.fact) {
                unlike.push(difference);
            }
        }
    }
    SideRecord { plots: plots as u32, unlike_plots: unlike, ..comparison_log.by_side[index].record.clone() }
}
