//! The sources of the spread, and their consequences for the next plan.

use super::evidence::StudyEvidence;
use super::values::{CountedValue, WorkNumbers};
use plumb_result::number::{Digits, percent};
use plumb_result::study::SpreadSources;
use plumb_stats::components::{FurtherCost, PlotsAndRuns, plots_and_runs_of_cells, runs_per_plot};
use plumb_store::StudyRunStatus;
use std::collections::BTreeMap;

/// Returns one entry for each number that has two plots with two runs each in some cell.
pub(super) fn spread(evidence: &StudyEvidence, numbers: &WorkNumbers) -> Vec<SpreadSources> {
    let cost = cost(evidence);
    let mut found = Vec::new();
    for (number, values) in numbers {
        let Some(cells) = balanced(values) else { continue };
        let Ok(components) = plots_and_runs_of_cells(&cells) else { continue };
        // The lowest level's variance is 0 only if nothing varies; then there is nothing to report.
        if components.plots.variance + components.runs.variance == 0.0 {
            continue;
        }
        let runs_per_plot = cost.and_then(|cost| runs_per_plot(&components, cost).ok().flatten());
        found.push(SpreadSources {
            workload: number.workload.clone(),
            phase: number.phase.clone(),
            metric: number.metric,
            plots_share: components.plots.share,
            runs_share: components.runs.share,
            plots_cv: cv(components.plots.variance),
            runs_cv: cv(components.runs.variance),
            plots_freedom: components.plots.freedom as u32,
            runs_freedom: components.runs.freedom as u32,
            runs_per_plot,
            advice: advice(&components, runs_per_plot),
        });
    }
    found
}

/// Returns the runs of every cell by plot, cut to the number of runs that every plot with two or more has.
fn balanced(values: &[CountedValue]) -> Option<Vec<Vec<Vec<f64>>>> {
    let mut cells: BTreeMap<u32, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for value in values {
        cells.entry(value.cell).or_default().entry(value.plot).or_default().push(value.value);
    }
    let cells: Vec<Vec<Vec<f64>>> = cells
        .into_values()
        .map(|plots| plots.into_values().filter(|runs| runs.len() > 1).collect::<Vec<Vec<f64>>>())
        .filter(|plots| plots.len() > 1)
        .collect();
    let runs = cells.iter().flatten().map(Vec::len).min()?;
    let cut = |plots: Vec<Vec<f64>>| plots.into_iter().map(|all| all[..runs].to_vec()).collect();
    Some(cells.into_iter().map(cut).collect())
}

/// Returns the seconds that a plot and a run took.
fn cost(evidence: &StudyEvidence) -> Option<FurtherCost> {
    let mean = |times: Vec<f64>| (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64);
    let plot =
        mean(evidence.plots.iter().filter_map(|plot| Some(plot.build_s? + plot.take_down_s.unwrap_or(0.0))).collect())?;
    let done = evidence.records.iter().filter(|record| record.status == StudyRunStatus::Done);
    let run = mean(done.filter_map(|record| record.seconds).collect())?;
    (plot > 0.0 && run > 0.0).then_some(FurtherCost { plot, run })
}

/// Returns the coefficient of variation of values whose logarithms have this variance.
fn cv(variance: f64) -> f64 {
    variance.exp_m1().max(0.0).sqrt()
}

fn advice(components: &PlotsAndRuns, runs_per_plot: Option<u32>) -> String {
    let share = percent(components.plots.share, Digits::Spoken);
    let best = match runs_per_plot {
        Some(1) => "; 1 run on each is the best use of time".to_owned(),
        Some(runs) => format!("; {runs} runs on each are the best use of time"),
        None => String::new(),
    };
    if components.plots.variance == 0.0 {
        "all of the spread is between runs of one plot: add runs, or make them longer".to_owned()
    } else if components.plots.share >= 0.5 {
        format!("{share} of the spread is between plots: add plots, not runs{best}")
    } else {
        format!("{share} of the spread is between plots, the rest between runs: add runs, or make them longer{best}")
    }
}
