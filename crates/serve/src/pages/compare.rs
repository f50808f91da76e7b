//! Comparisons of stored runs, with the same judgement as `plumb compare --from-store`.

use super::frame::{Frame, Section, html};
use crate::app::App;
use crate::fault::Fault;
use crate::parameters::Parameters;
use crate::readers::Effort;
use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Html;
use plumb_report::run::short_id;
use plumb_result::Comparison;
use plumb_store::{ServedStore, StoreError};
use plumb_study::compare::stored::{SelectionError, StoredError, StoredRequest, compare_stored};
use plumb_workload::Workload;
use std::sync::Arc;

/// Largest number of runs of a side. A result takes about a millisecond to read.
const RUNS_MAX: usize = 2000;

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage {
    frame: Frame,
    baseline: String,
    candidate: String,
    metrics: String,
    problem: Option<String>,
    report: Option<String>,
}

#[derive(Template)]
#[template(path = "comparison.html")]
struct ComparisonPage {
    frame: Frame,
    report: String,
}

pub(crate) async fn page(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Result<Html<String>, Fault> {
    let parameters = Parameters::parse(query.as_deref())?;
    let mut page = ComparePage {
        frame: Frame::new("Compare", Section::Compare),
        baseline: parameters.get("a").unwrap_or_default().to_owned(),
        candidate: parameters.get("b").unwrap_or_default().to_owned(),
        metrics: parameters.get("metrics").unwrap_or_default().to_owned(),
        problem: None,
        report: None,
    };
    // Selected in the list, which has the newest first: the older one is the baseline.
    let mut selected: Vec<&str> = parameters.all("run").collect();
    selected.sort_unstable();
    match selected.as_slice() {
        [] => {}
        [older, newer] => {
            (page.baseline, page.candidate) = (older.to_string(), newer.to_string());
        }
        _ => {
            let number = selected.len();
            page.problem = Some(format!("{number} runs are selected: select two, or name groups of runs below"));
            return Ok(html(&page));
        }
    }
    if page.baseline.is_empty() || page.candidate.is_empty() {
        return Ok(html(&page));
    }
    let sides = [page.baseline.clone(), page.candidate.clone()];
    let metrics = parameters.list("metrics");
    let read = move |store: &dyn ServedStore| {
        // Short ids read better, where they are unique.
        let sides = sides.map(|side| short(store, side));
        let comparison = compared(store, &sides, &metrics)?;
        Ok(plumb_stored_report::comparison_report(&comparison, Some(store))?.html_content())
    };
    match app.readers.read(Effort::Long, read).await {
        Ok(report) => page.report = Some(report),
        // A selection that fits nothing is answered next to the fields that it was typed into.
        Err(Fault::Request(problem) | Fault::NotFound(problem)) => page.problem = Some(problem),
        Err(fault) => return Err(fault),
    }
    Ok(html(&page))
}

/// Returns the short form of a run's whole id, if no other run has it; any other selection as it is.
fn short(store: &dyn ServedStore, selection: String) -> String {
    let is_unique = store.find(short_id(&selection)).is_ok_and(|found| found == selection);
    if is_unique { short_id(&selection).to_owned() } else { selection }
}

/// Compares the runs that two texts select.
pub(crate) fn compared(store: &dyn ServedStore, sides: &[String; 2], metrics: &[String]) -> Result<Comparison, Fault> {
    for side in sides {
        refuse_statement(side)?;
    }
    let selections = sides.each_ref().map(String::as_str);
    let request =
        StoredRequest { selections, metrics, varying: None, seed: Workload::DEFAULT_SEED, runs_max: Some(RUNS_MAX) };
    compare_stored(store, &request).map_err(compare_fault)
}

/// Refuses SQL, which `plumb compare` takes from the user of the database, but a server must not take from others.
fn refuse_statement(selection: &str) -> Result<(), Fault> {
    let first = selection.split_whitespace().next().unwrap_or_default();
    if ["select", "with"].iter().any(|word| first.eq_ignore_ascii_case(word)) {
        let text = "SQL selects runs only on the command line: plumb compare --from-store";
        return Err(Fault::Request(text.to_owned()));
    }
    Ok(())
}

fn compare_fault(error: StoredError) -> Fault {
    match error {
        StoredError::Store(error) | StoredError::Selection(SelectionError::Store(error)) => error.into(),
        other => Fault::Request(other.to_string()),
    }
}

/// A comparison that was measured, as `plumb report` shows it.
pub(crate) async fn stored(State(app): State<Arc<App>>, Path(text): Path<String>) -> Result<Html<String>, Fault> {
    let read = move |store: &dyn ServedStore| {
        let missing = || StoreError::NotFound { path: store.location().to_owned(), text: text.clone() };
        let id = store.find_comparison(&text)?.ok_or_else(missing)?;
        let report = plumb_stored_report::comparison_report(&store.comparison(&id)?, Some(store))?;
        Ok((report.title.clone(), report.html_content()))
    };
    let (title, report) = app.readers.read(Effort::Long, read).await?;
    Ok(html(&ComparisonPage { frame: Frame::new(&title, Section::Compare), report }))
}
