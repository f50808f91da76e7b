//! `plumb report`, and the reports that measurements write at their end.

use super::names::Names;
use crate::args::{ReportArguments, ReportFile};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_engine::guard::OutputFile;
use plumb_report::full::{self, FullReport};
use plumb_result::repeat::Repeated;
use plumb_result::{Comparison, Network, RunResult, StudyReport, Sweep};
use plumb_store::{Filter, QueryCell, ResultStore, StoreError};
use plumb_stored_report::{self as stored_report, StoredReportError};
use plumb_study::answer::{StudyEvidence, answer};
use plumb_trace::show::Sheet;
use std::path::Path;

pub(crate) fn run(arguments: &ReportArguments, common: &Common) -> Result<End, Stopped> {
    if common.json {
        return Err(Stopped::usage(
            "a report has no JSON; use `plumb show --json`, `plumb study report --json` or `plumb export`",
        ));
    }
    let store = session::store_to_read(common)?;
    let subject = Subject::find(&*store, &arguments.subjects)?;
    let mut names = Names::new(arguments.anonymise);
    if names.are_replaced() {
        subject.learn(&*store, &mut names)?;
    }
    let mut report = subject.report(&*store)?;
    names.replace_in_report(&mut report);
    let mut written: Vec<String> = Vec::new();
    if let Some(path) = &arguments.html {
        write(OutputFile::named("--html", path), path, report.html().as_bytes(), &mut written)?;
    }
    if let Some(path) = &arguments.xlsx {
        write(OutputFile::named("--xlsx", path), path, &report.workbook().map_err(Stopped::io)?, &mut written)?;
    }
    for (directory, ending) in [(&arguments.svg, "svg"), (&arguments.png, "png")] {
        let Some(directory) = directory else { continue };
        std::fs::create_dir_all(directory)
            .map_err(|error| Stopped::io(format!("cannot create {}: {error}", directory.display())))?;
        for chart in report.charts() {
            let picture = match ending {
                "svg" => chart.svg().into_bytes(),
                _ => png(&chart)?,
            };
            let path = directory.join(format!("{}.{ending}", chart.name));
            write(OutputFile::made_up(&format!("--{ending}"), &path), &path, &picture, &mut written)?;
        }
    }
    if let Some(path) = &arguments.md {
        let images = arguments.svg.as_deref().map(|images| relative(images, path));
        write(OutputFile::named("--md", path), path, report.markdown(images.as_deref()).as_bytes(), &mut written)?;
    }
    if written.is_empty() && [&arguments.svg, &arguments.png].iter().all(|directory| directory.is_none()) {
        output::print(&report.markdown(None));
    } else if written.is_empty() {
        output::print("There is nothing to draw: the report has no charts.\n");
    } else {
        output::print(&written.iter().map(|path| format!("{path}\n")).collect::<String>());
    }
    names.report();
    Ok(End::Done)
}

#[cfg(feature = "png")]
fn png(chart: &plumb_chart::Chart) -> Result<Vec<u8>, Stopped> {
    chart.png().map_err(Stopped::io)
}

#[cfg(not(feature = "png"))]
fn png(_: &plumb_chart::Chart) -> Result<Vec<u8>, Stopped> {
    Err(Stopped::usage("this Plumb was built without PNG; use --svg"))
}

fn write(output: OutputFile<'_>, path: &Path, content: &[u8], written: &mut Vec<String>) -> Result<(), Stopped> {
    output.replace(content)?;
    written.push(path.display().to_string());
    Ok(())
}

/// Returns the path of the images' directory relative to the page.
fn relative(images: &Path, page: &Path) -> String {
    let beside =
        page.parent().and_then(|parent| images.strip_prefix(parent).ok()).filter(|rest| !rest.as_os_str().is_empty());
    let whole = || std::path::absolute(images).unwrap_or_else(|_| images.to_owned());
    let both_here = page.parent().is_some_and(|parent| parent.as_os_str().is_empty()) && images.is_relative();
    match beside {
        Some(rest) => rest.display().to_string(),
        None if both_here => images.display().to_string(),
        None => whole().display().to_string(),
    }
}

enum Subject {
    Run(String),
    Comparison(String),
    Gate(String),
    Sweep(String),
    Repeated(String),
    Study(String),
    Runs { selection: String, ids: Vec<String> },
}

impl Subject {
    fn find(store: &dyn ResultStore, texts: &[String]) -> Result<Subject, Stopped> {
        let [text] = texts else {
            let ids = texts.iter().map(|text| store.find(text)).collect::<Result<_, _>>()?;
            return Ok(Subject::Runs { selection: texts.join(", "), ids });
        };
        if let Some(tag) = text.strip_prefix("tag:") {
            // Runs of a sweep have a tag that starts with `sweep-`.
            if let Some(sweep) = store.find_sweep(tag)?.filter(|_| tag.starts_with("sweep-")) {
                return Ok(Subject::Sweep(sweep));
            }
            if let Some(repeated) = store.find_repeated(tag)?.filter(|_| is_of_repeated(tag)) {
                return Ok(Subject::Repeated(repeated));
            }
            let mut rows = store.list(&Filter { tag: Some(tag.to_owned()), ..Filter::default() })?;
            rows.reverse();
            let ids: Vec<String> = rows.into_iter().map(|row| row.id).collect();
            if ids.is_empty() {
                return Err(Stopped::usage(format!("no run has the tag `{tag}`; `plumb list` shows tags")));
            }
            return Ok(Subject::Runs { selection: text.clone(), ids });
        }
        if text.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("select")) {
            return Subject::from_query(store, text);
        }
        if text == "last" {
            let run = store.find(text)?;
            if let Some(comparison) = store.comparison_of(&run)? {
                return Ok(Subject::Comparison(comparison));
            }
            if let Some(repeated) = store.repeated_of(&run)? {
                return Ok(Subject::Repeated(repeated));
            }
            return Ok(match (store.sweep_of(&run)?, store.study_place(&run)?) {
                (Some(sweep), _) => Subject::Sweep(sweep),
                (None, Some(place)) => Subject::Study(place.study),
                (None, None) => Subject::Run(run),
            });
        }
        match store.find(text) {
            Err(not_found @ StoreError::NotFound { .. }) => {
                if let Some(comparison) = store.find_comparison(text)? {
                    return Ok(Subject::Comparison(comparison));
                }
                if let Some(gate) = store.find_gate(text)? {
                    return Ok(Subject::Gate(gate));
                }
                if let Some(sweep) = store.find_sweep(text)? {
                    return Ok(Subject::Sweep(sweep));
                }
                if let Some(repeated) = store.find_repeated(text)? {
                    return Ok(Subject::Repeated(repeated));
                }
                match super::study::find(store, text) {
                    Ok(study) => Ok(Subject::Study(study)),
                    Err(_) => Err(Stopped::usage(format!(
                        "{not_found}; no comparison, gate, sweep, rounds, ladder or study has this name either"
                    ))),
                }
            }
            found => Ok(Subject::Run(found?)),
        }
    }

    fn from_query(store: &dyn ResultStore, sql: &str) -> Result<Subject, Stopped> {
        let table = store.query(sql).map_err(Stopped::usage)?;
        let ids = table.rows.iter().filter_map(|row| match row.first() {
            Some(QueryCell::Text(id)) => Some(store.find(id)),
            _ => None,
        });
        let ids: Vec<String> = ids.collect::<Result<_, _>>()?;
        if ids.is_empty() {
            return Err(Stopped::usage(
                "the query gives no ids of runs in its first column, such as `SELECT id FROM run`",
            ));
        }
        Ok(Subject::Runs { selection: sql.to_owned(), ids })
    }

    /// Collects the names in every run and document that the report uses.
    fn learn(&self, store: &dyn ResultStore, names: &mut Names) -> Result<(), Stopped> {
        let runs = match self {
            Subject::Run(run) => vec![run.clone()],
            Subject::Comparison(id) => {
                let comparison = store.comparison(id)?;
                names.learn(&comparison)?;
                comparison.runs
            }
            Subject::Gate(id) => {
                let gate = store.gate(id)?;
                names.learn(&gate)?;
                gate.runs
            }
            Subject::Sweep(id) => {
                let sweep = store.sweep(id)?;
                names.learn(&sweep)?;
                sweep.runs
            }
            Subject::Repeated(id) => store.repeated(id)?.runs().runs.clone(),
            Subject::Study(id) => {
                names.learn(&answer(&StudyEvidence::load(store, id)?))?;
                store.study_runs(id)?.into_iter().filter_map(|run| run.run_id).collect()
            }
            Subject::Runs { ids, .. } => ids.clone(),
        };
        names.learn_runs(store, &runs)
    }

    fn report(self, store: &dyn ResultStore) -> Result<FullReport, Stopped> {
        let report = match self {
            Subject::Run(run) => stored_report::run_report(&store.get(&run)?, &[run], Some(store)),
            Subject::Comparison(id) => stored_report::comparison_report(&store.comparison(&id)?, Some(store)),
            Subject::Sweep(id) => stored_report::sweep_report(&store.sweep(&id)?, Some(store)),
            Subject::Gate(id) => stored_report::gate_report(&store.gate(&id)?, store),
            Subject::Repeated(id) => stored_report::repeated_report(&store.repeated(&id)?, Some(store)),
            Subject::Study(id) => stored_report::study_report(&answer(&StudyEvidence::load(store, &id)?), store),
            Subject::Runs { selection, ids } => stored_report::runs_report(&selection, &ids, store),
        };
        report.map_err(stopped)
    }
}

/// Returns how a report that cannot be made ends the command.
fn stopped(error: StoredReportError) -> Stopped {
    match error {
        StoredReportError::Store(error) => error.into(),
        StoredReportError::Json(error) => Stopped::io(error),
    }
}

/// Builds the report of a stored run. `run` is a whole id.
pub(super) fn stored_run_report(store: &dyn ResultStore, run: &str) -> Result<FullReport, Stopped> {
    stored_report::run_report(&store.get(run)?, &[run.to_owned()], Some(store)).map_err(stopped)
}

/// Builds the report of a comparison.
pub(super) fn comparison_report(
    comparison: &Comparison,
    store: Option<&dyn ResultStore>,
) -> Result<FullReport, Stopped> {
    stored_report::comparison_report(comparison, store).map_err(stopped)
}

fn is_of_repeated(tag: &str) -> bool {
    tag.starts_with("rounds-") || tag.starts_with("ladder-")
}

impl ReportFile {
    pub(crate) fn writable(&self) -> Result<(), Stopped> {
        let Some(path) = &self.path else { return Ok(()) };
        OutputFile::named("--report", path).check().map_err(Stopped::of_check)
    }

    pub(crate) fn run(
        &self,
        result: &RunResult,
        runs: &[String],
        store: Option<&dyn ResultStore>,
    ) -> Result<(), Stopped> {
        self.write(|| stored_report::run_report(result, runs, store).map_err(stopped))
    }

    pub(crate) fn comparison(&self, comparison: &Comparison, store: Option<&dyn ResultStore>) -> Result<(), Stopped> {
        self.write(|| stored_report::comparison_report(comparison, store).map_err(stopped))
    }

    pub(crate) fn sweep(&self, sweep: &Sweep, store: Option<&dyn ResultStore>) -> Result<(), Stopped> {
        self.write(|| stored_report::sweep_report(sweep, store).map_err(stopped))
    }

    pub(crate) fn repeated(&self, repeated: &Repeated, store: Option<&dyn ResultStore>) -> Result<(), Stopped> {
        self.write(|| stored_report::repeated_report(repeated, store).map_err(stopped))
    }

    pub(crate) fn study(&self, report: &StudyReport, store: &dyn ResultStore) -> Result<(), Stopped> {
        self.write(|| stored_report::study_report(report, store).map_err(stopped))
    }

    pub(crate) fn recordings(
        &self,
        names: &[&str],
        sheets: &[&Sheet],
        answer: impl FnOnce() -> String,
    ) -> Result<(), Stopped> {
        self.write(|| Ok(full::recordings_report(names, sheets, answer())))
    }

    pub(crate) fn networks(&self, series: &[Network]) -> Result<(), Stopped> {
        self.write(|| Ok(full::networks_report(series)))
    }

    fn write(&self, report: impl FnOnce() -> Result<FullReport, Stopped>) -> Result<(), Stopped> {
        let Some(path) = &self.path else { return Ok(()) };
        let report = report()?;
        let content = match path.extension().and_then(|ending| ending.to_str()) {
            Some("xlsx") => report.workbook().map_err(Stopped::io)?,
            Some("md") => report.markdown(None).into_bytes(),
            _ => report.html().into_bytes(),
        };
        Ok(OutputFile::named("--report", path).replace(&content)?)
    }
}
