//! The checks of a comparison that apply unchanged to a study: modes (E4), drift (E5), one measurement under two
//! names (E12), what measured (D7, E13), carry-over (E15). The others assume two sides of one plan. A study replaces
//! them itself: changes of the work by its factors are declared (D6), and plots and missing cells are counted over
//! the whole study (E1, E10).

use super::evidence::{StudyEvidence, StudyRun};
use super::messages;
use super::values::{CountedValue, WorkNumber, WorkNumbers, some_levels};
use crate::plan::{Levels, PlannedRun};
use plumb_result::{Finding, Level, RunResult};
use plumb_stats::schedule::Side;
use plumb_store::StudyRunStatus;
use plumb_trust::{ComparisonSide, ComparisonView, NumberFound, NumberView, RunValue, Sequence, SideRecord, ToolPrint};
use std::collections::BTreeMap;

const HOLD: [&str; 5] = ["E4", "E12", "E13", "E15", "D7"];

/// Carry-over: as long as it is found, no level can be claimed to differ from another.
const CARRY_OVER: &str = "E15";

/// Returns the finding that forbids every claim, if there is one.
pub(super) fn forbids(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().find(|finding| finding.code == CARRY_OVER && finding.level == Level::Fail)
}

/// Drift, tested by the position of runs on their plot: every plot starts fresh, so its level
/// carries no information about drift.
const DRIFT: &str = "E5";

/// Runs these checks for each level against the baseline. Returns each check once, at its worst.
pub(super) fn judged(evidence: &StudyEvidence, numbers: &WorkNumbers) -> Vec<Finding> {
    let compare = &evidence.plan.compare;
    let levels = evidence.plan.factors.iter().find(|factor| factor.name == compare.by).map(|factor| &factor.levels);
    let Some((baseline, candidates)) = levels.and_then(|levels| levels.split_first()) else { return Vec::new() };
    let mut worst: BTreeMap<String, Finding> = BTreeMap::new();
    for candidate in candidates {
        for finding in of_candidate(evidence, numbers, [baseline, candidate]) {
            if worst.get(&finding.code).is_none_or(|known| finding.level > known.level) {
                worst.insert(finding.code.clone(), finding);
            }
        }
    }
    worst.into_values().collect()
}

fn of_candidate(evidence: &StudyEvidence, numbers: &WorkNumbers, levels: [&String; 2]) -> Vec<Finding> {
    let by = evidence.plan.compare.by.as_str();
    let [Some(one), Some(other)] = levels.map(|level| first(evidence, level)) else { return Vec::new() };
    let records = levels.map(|level| record(evidence, level));
    // Compare runs only within the same levels of all other factors.
    let mut series: Vec<(String, &WorkNumber, [Vec<RunValue>; 2])> = Vec::new();
    for (number, values) in numbers.iter().filter(|(number, _)| number.metric.device_count().is_none()) {
        for (others, sides) in by_others(evidence, values, by, levels) {
            let shown = messages::levels(&others);
            let work =
                if shown.is_empty() { number.workload.clone() } else { format!("{} ({shown})", number.workload) };
            series.push((work, number, sides));
        }
    }
    let views: Vec<NumberView<'_>> = series
        .iter()
        .map(|(work, number, [baseline, candidate])| NumberView {
            workload: work,
            // If the phase has the name of the work, the work's name is enough.
            phase: if number.phase == number.workload { work } else { &number.phase },
            metric: number.metric,
            baseline,
            candidate,
            found: NumberFound::Nothing,
            floor: None,
            stated: None,
        })
        .collect();
    let names = levels.map(|level| messages::side(by, level));
    let runs =
        |index: usize| views.iter().map(|view| [view.baseline, view.candidate][index].len() as u32).min().unwrap_or(0);
    let previous = previous(evidence, by, levels);
    let view = |numbers| ComparisonView {
        baseline: ComparisonSide {
            name: &names[0],
            environment: &one.environment,
            targets: &one.target,
            runs: runs(0),
            record: &records[0],
        },
        candidate: ComparisonSide {
            name: &names[1],
            environment: &other.environment,
            targets: &other.target,
            runs: runs(1),
            record: &records[1],
        },
        varying: None,
        numbers,
        planned: &[],
        latencies: &[],
        sequence: Sequence { previous: &previous, run_seconds: run_seconds(evidence) },
    };
    let placed: Vec<[Vec<RunValue>; 2]> =
        series.iter().map(|(_, _, sides)| sides.each_ref().map(|runs| by_place(runs))).collect();
    let on_plots: Vec<NumberView<'_>> = views
        .iter()
        .zip(&placed)
        .map(|(view, [baseline, candidate])| NumberView { baseline, candidate, ..*view })
        .collect();
    let mut findings = plumb_trust::judge_comparison(&view(&views));
    findings.retain(|finding| HOLD.contains(&finding.code.as_str()));
    let drift = plumb_trust::judge_comparison(&view(&on_plots)).into_iter().filter(|finding| finding.code == DRIFT);
    findings.extend(drift);
    findings.retain(|finding| finding.level >= Level::Note);
    findings
}

/// Returns the level of the run before each run, by position in the plan, if both ran on one build of a plot.
fn previous(evidence: &StudyEvidence, by: &str, levels: [&String; 2]) -> Vec<Option<Side>> {
    let plan = &evidence.plan;
    let mut last: Option<(u32, Option<u32>, u32)> = None;
    let mut of_run = |(run, record): (&PlannedRun, &StudyRun)| {
        if matches!(record.status, StudyRunStatus::Planned | StudyRunStatus::Running | StudyRunStatus::Skipped) {
            return None;
        }
        let before = last.replace((run.plot, record.build, run.cell));
        let (_, _, cell) = before.filter(|(plot, build, _)| (*plot, *build) == (run.plot, record.build))?;
        let level = plan.cells[cell as usize].levels.get(by)?;
        [Side::A, Side::B].into_iter().zip(levels).find(|(_, known)| *known == level).map(|(side, _)| side)
    };
    plan.runs.iter().zip(&evidence.records).map(&mut of_run).collect()
}

/// Returns the mean time of a run, in seconds.
fn run_seconds(evidence: &StudyEvidence) -> Option<f64> {
    let seconds: Vec<f64> = evidence.records.iter().filter_map(|record| record.seconds).collect();
    (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64)
}

/// Returns the same runs, each with its position among those of its plot.
fn by_place(runs: &[RunValue]) -> Vec<RunValue> {
    let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
    let placed = |one: &RunValue| {
        let next = seen.entry(one.plot).or_default();
        *next += 1;
        RunValue { run: *next - 1, ..*one }
    };
    runs.iter().map(placed).collect()
}

fn by_others(
    evidence: &StudyEvidence,
    values: &[CountedValue],
    by: &str,
    levels: [&String; 2],
) -> BTreeMap<Levels, [Vec<RunValue>; 2]> {
    let mut series: BTreeMap<Levels, [Vec<RunValue>; 2]> = BTreeMap::new();
    for value in values {
        let cell = &evidence.plan.cells[value.cell as usize];
        let Some(side) = levels.iter().position(|level| cell.levels.get(by) == Some(level)) else { continue };
        let others = some_levels(cell, |name| name != by);
        series.entry(others).or_default()[side].push(RunValue {
            run: value.run as u32,
            plot: value.plot,
            value: value.value,
        });
    }
    series.retain(|_, sides| sides.iter().all(|runs| !runs.is_empty()));
    series
}

fn of_level<'a>(evidence: &'a StudyEvidence, level: &'a str) -> impl Iterator<Item = &'a RunResult> {
    let plan = &evidence.plan;
    let is_of_level = move |run: usize| {
        let cell = &plan.cells[plan.runs[run].cell as usize];
        cell.levels.get(&plan.compare.by).is_some_and(|known| known == level)
    };
    evidence.accepted().filter(move |(run, _)| is_of_level(*run)).map(|(_, result)| result)
}

fn first<'a>(evidence: &'a StudyEvidence, level: &'a str) -> Option<&'a RunResult> {
    of_level(evidence, level).next()
}

/// Describes what measured a level: the programs, one entry for each version.
fn record(evidence: &StudyEvidence, level: &str) -> SideRecord {
    let mut tools: Vec<ToolPrint> = Vec::new();
    for result in of_level(evidence, level) {
        let tool = ToolPrint { name: result.tool.name.clone(), version: result.tool.version.clone(), dialect: None };
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    SideRecord { tools, ..SideRecord::default() }
}
