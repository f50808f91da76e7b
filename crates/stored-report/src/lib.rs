//! Full reports of what the store holds: a run, a comparison, a sweep, rounds, a study, or any runs. `plumb report` writes them to
//! files and `plumb serve` shows them, so both have the same content.

use plumb_document::{WriteError, json};
use plumb_report::full::{self, FullReport, PhaseOverTime};
use plumb_result::repeat::Repeated;
use plumb_result::tidy::TidyTable;
use plumb_result::{Comparison, Gate, RunResult, StudyReport, Sweep};
use plumb_store::{FurtherColumns, ResultStore, StoreError};

/// Reason why a report cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum StoredReportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The subject has no JSON form.
    #[error(transparent)]
    Json(#[from] WriteError),
}

/// Returns the report of several runs, which `selection` selected.
pub fn runs_report(selection: &str, ids: &[String], store: &dyn ResultStore) -> Result<FullReport, StoredReportError> {
    Ok(full::runs_report(selection, numbers(store, ids)?))
}

/// Returns every number of the runs, with their places in studies.
fn numbers(store: &dyn ResultStore, ids: &[String]) -> Result<TidyTable, StoredReportError> {
    Ok(store.tidy(ids, &plumb_study::placed::columns(store, ids)?)?)
}

fn with_document(report: FullReport, of: &impl serde::Serialize) -> Result<FullReport, StoredReportError> {
    Ok(report.with_document(json::to_string_pretty(of)?))
}

/// Returns the report of a run. `runs` has the ids that the result was made from.
pub fn run_report(
    result: &RunResult,
    runs: &[String],
    store: Option<&dyn ResultStore>,
) -> Result<FullReport, StoredReportError> {
    // Runs that were not stored have no intervals and no table of numbers.
    let Some(store) = store.filter(|store| runs.iter().all(|run| store.find(run).is_ok())) else {
        return with_document(full::run_report(result, runs.len(), &[], TidyTable::default()), result);
    };
    let numbers = store.tidy(runs, &FurtherColumns::default())?;
    // Medians of several runs have no intervals.
    let phases = if let [run] = runs { store.intervals(run)? } else { Vec::new() };
    let over_time: Vec<PhaseOverTime<'_>> = phases
        .iter()
        .map(|phase| PhaseOverTime {
            name: &phase.name,
            intervals: &phase.intervals,
            lanes: &phase.lanes,
            latency_map: &phase.latency_map,
        })
        .collect();
    with_document(full::run_report(result, runs.len(), &over_time, numbers), result)
}

/// Returns the report of a comparison. Uses the numbers of those of its runs that are stored.
pub fn comparison_report(
    comparison: &Comparison,
    store: Option<&dyn ResultStore>,
) -> Result<FullReport, StoredReportError> {
    let Some(store) = store else {
        return with_document(full::comparison_report(comparison, &[], TidyTable::default()), comparison);
    };
    let stored: Vec<String> = comparison.runs.iter().filter(|run| store.find(run).is_ok()).cloned().collect();
    let sides = comparison.sides_of_runs();
    let example = |side: usize| {
        let run = comparison.runs.iter().find(|run| sides.get(run.as_str()) == Some(&side) && stored.contains(run))?;
        store.get(run).ok()
    };
    let examples: Vec<RunResult> = (0..2).map_while(example).collect();
    with_document(full::comparison_report(comparison, &examples, numbers(store, &stored)?), comparison)
}

/// Returns the report of a gate. Uses the numbers of those of its runs that are stored.
pub fn gate_report(gate: &Gate, store: &dyn ResultStore) -> Result<FullReport, StoredReportError> {
    let stored: Vec<String> = gate.runs.iter().filter(|run| store.find(run).is_ok()).cloned().collect();
    with_document(full::gate_report(gate, numbers(store, &stored)?), gate)
}

/// Returns the report of a sweep.
pub fn sweep_report(sweep: &Sweep, store: Option<&dyn ResultStore>) -> Result<FullReport, StoredReportError> {
    let (example, numbers) = example_and_numbers(&sweep.runs, store)?;
    with_document(full::sweep_report(sweep, example.as_ref(), numbers), sweep)
}

/// Returns the report of rounds or of a ladder.
pub fn repeated_report(repeated: &Repeated, store: Option<&dyn ResultStore>) -> Result<FullReport, StoredReportError> {
    let (example, numbers) = example_and_numbers(&repeated.runs().runs, store)?;
    Ok(match repeated {
        Repeated::Rounds(rounds) => full::rounds_report(rounds, example.as_ref(), numbers),
        Repeated::Ladder(ladder) => full::ladder_report(ladder, example.as_ref(), numbers),
    })
}

/// Returns one of several runs of a workload, and the stored numbers of all of them.
fn example_and_numbers(
    runs: &[String],
    store: Option<&dyn ResultStore>,
) -> Result<(Option<RunResult>, TidyTable), StoredReportError> {
    let Some(store) = store else { return Ok((None, TidyTable::default())) };
    let stored: Vec<String> = runs.iter().filter(|run| store.find(run).is_ok()).cloned().collect();
    let example = stored.first().and_then(|run| store.get(run).ok());
    Ok((example, numbers(store, &stored)?))
}

/// Returns the report of a study.
pub fn study_report(report: &StudyReport, store: &dyn ResultStore) -> Result<FullReport, StoredReportError> {
    let runs: Vec<String> = store.study_runs(&report.id)?.into_iter().filter_map(|run| run.run_id).collect();
    with_document(full::study_report(report, numbers(store, &runs)?), report)
}
