//! The read side of a database of results: one interface, two databases.

use crate::document::{DocumentKind, repeated_of_text};
use crate::export::tidy;
use crate::listed::LISTED_MAX;
use crate::rows::{FloorRow, HistogramBlob, HistoryPoint, MetricRow, PhaseBlobs, RunNumbers, decode_phase};
use crate::time::rfc3339;
use crate::{
    CANDIDATES_MAX, ConformanceRow, FactDifference, Filter, FurtherColumns, GateRow, Overviews, PhaseIntervals,
    QueryLimits, QueryTable, RunRow, RunSearch, RunStatus, StoreError, StoredDocument, StoredFloors, StoredRun,
    StoredStudy, StudyPlace, StudyPlotRow, StudyRow, StudyRunRow, TokenStore, canonical, diff,
};
use plumb_document::json;
use plumb_result::repeat::Repeated;
use plumb_result::tidy::TidyTable;
use plumb_result::{Comparison, Conformance, Gate, NoiseFloor, RunResult, Sweep};
use plumb_workload::former;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

/// Reads of a database of results, for every command that changes none. [`crate::Store`] implements it for a local file, and
/// `SharedStore` of `plumb-postgres` for a database of a team.
///
/// The methods without a body are the queries of a database. Those with one follow from them, so that both databases answer
/// alike. Ids are whole unless a method says otherwise.
///
/// An implementation may move to another thread, but not be shared by several: open one for each. The calls block, and those
/// of `SharedStore` must not come from a thread that runs async tasks (use `tokio::task::spawn_blocking`).
pub trait ResultStore: Send {
    /// Returns the path of the file, or host, port and database, for messages.
    fn location(&self) -> &Path;

    /// Returns the runs that match a filter, newest first.
    fn list(&self, filter: &Filter) -> Result<Vec<RunRow>, StoreError>;

    /// Returns the run with this id, else those whose id begins or ends with the text, in lower case: the newest, at most
    /// [`CANDIDATES_MAX`]. The text is not empty.
    fn matching_runs(&self, text: &str) -> Result<Vec<String>, StoreError>;

    /// Returns the run with a result that has this many newer ones.
    fn nth_newest_run(&self, newer: u32) -> Result<Option<String>, StoreError>;

    /// Returns the result of a run as text.
    ///
    /// # Errors
    /// Returns [`StoreError::NoResult`] or [`StoreError::NotFound`] if there is none.
    fn result_text(&self, run: &str) -> Result<String, StoreError>;

    /// Returns what each phase of a run measured over time, encoded as `docs/store.md` describes.
    fn phase_blobs(&self, run: &str) -> Result<Vec<PhaseBlobs>, StoreError>;

    /// Returns the latencies of each kind of op in each phase of a run.
    fn histograms(&self, run: &str) -> Result<Vec<HistogramBlob>, StoreError>;

    /// Returns the numbers of runs, in any order, without runs that do not exist.
    fn run_numbers(&self, runs: &[String]) -> Result<Vec<RunNumbers>, StoreError>;

    /// Returns the metrics that the database knows, in the order of the vocabulary.
    fn metrics(&self) -> Result<Vec<MetricRow>, StoreError>;

    /// Returns the values of a metric in the runs that match a filter, the oldest first; the newest runs within the limit.
    fn history(&self, filter: &Filter, metric: &str) -> Result<Vec<HistoryPoint>, StoreError>;

    /// Returns a document as text.
    fn document_text(&self, kind: DocumentKind, id: &str) -> Result<Option<String>, StoreError>;

    /// Returns the documents whose tag is the text, or whose id begins or ends with it; at most two.
    fn matching_documents(&self, kind: DocumentKind, text: &str) -> Result<Vec<String>, StoreError>;

    /// Returns the newest documents of a kind, newest first.
    fn newest_documents(&self, kind: DocumentKind, limit: u32) -> Result<Vec<StoredDocument>, StoreError>;

    /// Returns the newest document, or the newest one about a run.
    fn newest_document(&self, kind: DocumentKind, run: Option<&str>) -> Result<Option<String>, StoreError>;

    /// Returns the noise floors of a place and a work, addressed by its hash, the newest first.
    fn floor_rows(&self, place: &str, work_hash: &str) -> Result<Vec<FloorRow>, StoreError>;

    /// Returns all studies, newest first.
    fn studies(&self) -> Result<Vec<StudyRow>, StoreError>;

    fn study(&self, id: &str) -> Result<StoredStudy, StoreError>;

    /// Returns the runs of a study, in the plan's order.
    fn study_runs(&self, id: &str) -> Result<Vec<StudyRunRow>, StoreError>;

    /// Returns the plots of a study, in the plan's order.
    fn study_plots(&self, id: &str) -> Result<Vec<StudyPlotRow>, StoreError>;

    /// Returns the study and position of each run that belongs to a study, even if it was rejected and repeated.
    fn study_places(&self, runs: &[String]) -> Result<BTreeMap<String, StudyPlace>, StoreError>;

    /// Runs one statement that only reads.
    ///
    /// # Errors
    /// Returns [`StoreError::WouldWrite`] for a statement that changes anything, [`StoreError::Query`] for invalid SQL or more
    /// than one statement, and [`StoreError::QueryTime`] or [`StoreError::QuerySize`] if a limit is exceeded.
    fn query_within(&self, sql: &str, limits: &QueryLimits) -> Result<QueryTable, StoreError>;

    /// Returns the tables and views, with their definitions or columns.
    fn tables(&self) -> Result<QueryTable, StoreError>;

    /// Runs one statement that only reads, within the default limits.
    ///
    /// # Errors
    /// Returns the errors of [`ResultStore::query_within`].
    fn query(&self, sql: &str) -> Result<QueryTable, StoreError> {
        self.query_within(sql, &QueryLimits::default())
    }

    /// Returns the id of the run that `text` selects. `last` is the newest run with a result and `last~1` the one
    /// before it; any other text is a whole id, or the beginning or end of one. (A UUIDv7 begins with its time, so
    /// the ends of two ids differ sooner.)
    fn find(&self, text: &str) -> Result<String, StoreError> {
        let none = || not_found(self, text);
        if let Some(newer) = before_last(text) {
            return self.nth_newest_run(newer)?.ok_or_else(none);
        }
        let mut candidates = if text.is_empty() { Vec::new() } else { self.matching_runs(text)? };
        match candidates.len() {
            0 => Err(none()),
            1 => Ok(candidates.remove(0)),
            _ => Err(StoreError::Ambiguous { text: text.to_owned(), candidates }),
        }
    }

    /// Returns what a list says of a run. `run` is a whole id.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is none.
    fn run(&self, run: &str) -> Result<RunRow, StoreError> {
        let filter = Filter { ids: Some(vec![run.to_owned()]), ..Filter::default() };
        self.list(&filter)?.pop().ok_or_else(|| not_found(self, run))
    }

    /// Returns the ids of the newest runs with a result that match a filter, oldest first, at most `limit`. Retracted runs are
    /// left out.
    fn matching_ids(&self, filter: &Filter, limit: u32) -> Result<Vec<String>, StoreError> {
        if filter.status.is_some_and(|status| status != RunStatus::Ok) {
            return Ok(Vec::new());
        }
        let filter = Filter { status: Some(RunStatus::Ok), limit: Some(limit), ..filter.clone() };
        let found = self.list(&filter)?.into_iter().rev();
        Ok(found.filter(|run| run.retraction().is_none()).map(|run| run.id).collect())
    }

    /// Returns the result of a run. `run` is as in [`ResultStore::find`].
    fn get(&self, run: &str) -> Result<RunResult, StoreError> {
        let run = self.find(run)?;
        let text = self.result_text(&run)?;
        former::read_json(&text).map_err(|error| unreadable(self, &run, "the result", error))
    }

    /// Returns a run with all its stored data. `run` is as in [`ResultStore::find`].
    ///
    /// # Errors
    /// Returns [`StoreError::NoResult`] for a run without a result.
    fn stored_run(&self, run: &str) -> Result<StoredRun, StoreError> {
        let id = self.find(run)?;
        let result = self.result_text(&id)?;
        let (phases, histograms) = (self.phase_blobs(&id)?, self.histograms(&id)?);
        Ok(StoredRun::new(id, result, phases, histograms))
    }

    /// Returns the facts in which two runs differ, sorted: environment, targets, workload, verdict, and measurements.
    /// `left` and `right` are as in [`ResultStore::find`].
    fn diff(&self, left: &str, right: &str) -> Result<Vec<FactDifference>, StoreError> {
        diff::of_results(&self.get(left)?, &self.get(right)?)
    }

    /// Returns the results of runs as a JSON array of `plumb.result/1`, each exactly as it was stored. Ids are as in
    /// [`ResultStore::find`]. Returns an error if a run has no result.
    fn export_json(&self, runs: &[String]) -> Result<String, StoreError> {
        let texts =
            runs.iter().map(|run| self.result_text(&self.find(run)?)).collect::<Result<Vec<String>, StoreError>>()?;
        Ok(if texts.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", texts.join(",\n")) })
    }

    /// Returns the numbers of runs as a tidy table: one row per number, with additional columns after the standard
    /// ones. A run without numbers has one row without a metric, to distinguish it from a run that does not exist.
    /// Ids are as in [`ResultStore::find`].
    fn tidy(&self, runs: &[String], further: &FurtherColumns) -> Result<TidyTable, StoreError> {
        tidy(self, runs, further)
    }

    /// Returns the intervals of each phase of a run, even without a result. `run` is as in [`ResultStore::find`].
    fn intervals(&self, run: &str) -> Result<Vec<PhaseIntervals>, StoreError> {
        let run = self.find(run)?;
        let decode =
            |blobs: &PhaseBlobs| decode_phase(blobs).map_err(|error| unreadable(self, &run, "a series", error));
        self.phase_blobs(&run)?.iter().map(decode).collect()
    }

    /// Returns the id of the comparison that `text` selects: a whole id, or the beginning or end of one. `None`
    /// if none or several match.
    fn find_comparison(&self, text: &str) -> Result<Option<String>, StoreError> {
        only_document(self, DocumentKind::Comparison, text)
    }

    /// Returns the newest comparison that contains a run.
    fn comparison_of(&self, run: &str) -> Result<Option<String>, StoreError> {
        self.newest_document(DocumentKind::Comparison, Some(run))
    }

    fn comparison(&self, id: &str) -> Result<Comparison, StoreError> {
        let text = document(self, DocumentKind::Comparison, id)?;
        json::from_str(&text).map_err(|error| unreadable(self, id, "the comparison", error))
    }

    /// Returns the stored comparisons with their ids, newest first.
    fn comparisons(&self) -> Result<Vec<(String, Comparison)>, StoreError> {
        let comparison = |document: &StoredDocument| Ok((document.id.clone(), json::from_str(&document.body)?));
        listed(self, DocumentKind::Comparison, u32::MAX, "the comparison", comparison)
    }

    /// Returns the id of the sweep that `text` selects: its tag, a whole id, or the beginning or end of one. `None`
    /// if none or several match.
    fn find_sweep(&self, text: &str) -> Result<Option<String>, StoreError> {
        only_document(self, DocumentKind::Sweep, text)
    }

    /// Returns the newest sweep that contains a run.
    fn sweep_of(&self, run: &str) -> Result<Option<String>, StoreError> {
        self.newest_document(DocumentKind::Sweep, Some(run))
    }

    fn sweep(&self, id: &str) -> Result<Sweep, StoreError> {
        let text = document(self, DocumentKind::Sweep, id)?;
        json::from_str(&text).map_err(|error| unreadable(self, id, "the sweep", error))
    }

    /// Returns the id of the rounds or ladder that `text` selects: its tag, a whole id, or the beginning or end of
    /// one. `None` if none or several match.
    fn find_repeated(&self, text: &str) -> Result<Option<String>, StoreError> {
        only_document(self, DocumentKind::Repeat, text)
    }

    /// Returns the newest rounds or ladder that contain a run.
    fn repeated_of(&self, run: &str) -> Result<Option<String>, StoreError> {
        self.newest_document(DocumentKind::Repeat, Some(run))
    }

    /// Returns stored rounds or a stored ladder.
    fn repeated(&self, id: &str) -> Result<Repeated, StoreError> {
        let text = document(self, DocumentKind::Repeat, id)?;
        repeated_of_text(&text).map_err(|error| unreadable(self, id, "the repeated runs", error))
    }

    /// Returns the conformance report that `text` selects: `last`, a whole id, or the beginning or end of one.
    fn conformance(&self, text: &str) -> Result<Conformance, StoreError> {
        let id = match text {
            "last" => self.newest_document(DocumentKind::Conformance, None)?,
            _ => only_document(self, DocumentKind::Conformance, text)?,
        };
        let id = id.ok_or_else(|| not_found(self, text))?;
        let text = document(self, DocumentKind::Conformance, &id)?;
        json::from_str(&text).map_err(|error| unreadable(self, &id, "the conformance report", error))
    }

    /// Returns the newest conformance reports, newest first, at most 300.
    fn conformances(&self) -> Result<Vec<ConformanceRow>, StoreError> {
        listed(self, DocumentKind::Conformance, LISTED_MAX, "the conformance report", ConformanceRow::new)
    }

    /// Returns the newest conformance report of each file system, path, kernel and user, at most `limit`, newest first.
    fn newest_conformances(&self, limit: usize) -> Result<Vec<Conformance>, StoreError> {
        let mut chosen: Vec<ConformanceRow> = Vec::new();
        for row in self.conformances()? {
            let is_same = |known: &ConformanceRow| {
                (&known.filesystem, &known.path, &known.kernel, &known.user)
                    == (&row.filesystem, &row.path, &row.kernel, &row.user)
            };
            if chosen.len() < limit && !chosen.iter().any(is_same) {
                chosen.push(row);
            }
        }
        chosen.iter().map(|row| self.conformance(&row.id)).collect()
    }

    /// Returns the newest gates, newest first, at most 300.
    fn gates(&self) -> Result<Vec<GateRow>, StoreError> {
        listed(self, DocumentKind::Gate, LISTED_MAX, "the gate", GateRow::new)
    }

    /// Returns the id of the gate that `text` selects: a whole id, or the beginning or end of one. `None` if none or
    /// several match.
    fn find_gate(&self, text: &str) -> Result<Option<String>, StoreError> {
        only_document(self, DocumentKind::Gate, text)
    }

    fn gate(&self, id: &str) -> Result<Gate, StoreError> {
        let text = document(self, DocumentKind::Gate, id)?;
        json::from_str(&text).map_err(|error| unreadable(self, id, "the gate", error))
    }

    /// Returns the newest noise floor of a workload at a place. `print` is the workload without seed, place and
    /// length of phases. The caller judges whether it still holds for the current machine and storage.
    fn noise_floors(&self, place: &str, print: &Value) -> Result<Option<StoredFloors>, StoreError> {
        let work_hash = canonical::address(&canonical::text(print));
        newest_floors(self, &self.floor_rows(place, &work_hash)?)
    }

    /// Returns the id of the study that `text` selects: `last`, or `last~1` for the one before it; a whole id, or the
    /// beginning or end of one; or the name or file of a study, of which the newest is selected.
    fn find_study(&self, text: &str) -> Result<String, StoreError> {
        let studies = self.studies()?;
        let lower = text.to_lowercase();
        let mut matching: Vec<&StudyRow> = match before_last(text) {
            _ if text.is_empty() => Vec::new(),
            Some(before) => studies.iter().skip(before as usize).take(1).collect(),
            None => studies.iter().filter(|study| study.id.starts_with(&lower) || study.id.ends_with(&lower)).collect(),
        };
        if matching.is_empty() {
            matching = studies.iter().filter(|study| study.name == text || study.file == text).take(1).collect();
        }
        match matching.as_slice() {
            [] => Err(StoreError::NoStudy { path: self.location().to_owned(), text: text.to_owned() }),
            [only] => Ok(only.id.clone()),
            many => Err(StoreError::Ambiguous {
                text: text.to_owned(),
                candidates: many.iter().take(CANDIDATES_MAX).map(|study| study.id.clone()).collect(),
            }),
        }
    }

    /// Returns the study and position that a stored run belongs to; `None` if it belongs to no study.
    fn study_place(&self, run: &str) -> Result<Option<StudyPlace>, StoreError> {
        Ok(self.study_places(&[run.to_owned()])?.into_values().next())
    }
}

/// Everything that `plumb serve` reads and writes.
pub trait ServedStore: RunSearch + Overviews + TokenStore {}

impl<S: RunSearch + Overviews + TokenStore> ServedStore for S {}

/// Returns the newest documents of a kind as rows of a list.
fn listed<S: ResultStore + ?Sized, T>(
    store: &S,
    kind: DocumentKind,
    limit: u32,
    what: &'static str,
    row: impl Fn(&StoredDocument) -> Result<T, json::JsonError>,
) -> Result<Vec<T>, StoreError> {
    let read = |document: &StoredDocument| row(document).map_err(|error| unreadable(store, &document.id, what, error));
    store.newest_documents(kind, limit)?.iter().map(read).collect()
}

fn not_found<S: ResultStore + ?Sized>(store: &S, text: &str) -> StoreError {
    StoreError::NotFound { path: store.location().to_owned(), text: text.to_owned() }
}

fn unreadable<S: ResultStore + ?Sized>(store: &S, id: &str, what: &'static str, error: impl Display) -> StoreError {
    StoreError::Unreadable { path: store.location().to_owned(), id: id.to_owned(), what, reason: error.to_string() }
}

fn document<S: ResultStore + ?Sized>(store: &S, kind: DocumentKind, id: &str) -> Result<String, StoreError> {
    store.document_text(kind, id)?.ok_or_else(|| not_found(store, id))
}

/// Returns the document that a text selects; `None` if it selects none or several.
fn only_document<S: ResultStore + ?Sized>(
    store: &S,
    kind: DocumentKind,
    text: &str,
) -> Result<Option<String>, StoreError> {
    let mut found = if text.is_empty() { Vec::new() } else { store.matching_documents(kind, text)? };
    Ok(if found.len() == 1 { found.pop() } else { None })
}

/// Parses `last` and `last~N` to the number of runs before the newest one; `None` for other text.
pub(crate) fn before_last(text: &str) -> Option<u32> {
    match text.strip_prefix("last")? {
        "" => Some(0),
        "~" => Some(1),
        count => count
            .strip_prefix('~')
            .filter(|count| count.starts_with(|digit: char| digit.is_ascii_digit()))?
            .parse()
            .ok(),
    }
}

/// Joins the rows of the newest noise floor.
fn newest_floors<S: ResultStore + ?Sized>(store: &S, rows: &[FloorRow]) -> Result<Option<StoredFloors>, StoreError> {
    let Some(newest) = rows.first() else { return Ok(None) };
    let damaged = |error: json::JsonError| unreadable(store, &newest.noise, "a noise floor", error);
    let of_newest = rows.iter().take_while(|row| row.noise == newest.noise);
    let floors: Vec<NoiseFloor> =
        of_newest.map(|row| json::from_str(&row.body)).collect::<Result<_, _>>().map_err(damaged)?;
    let mut targets: BTreeMap<String, crate::Targets> = json::from_str(&newest.targets).map_err(damaged)?;
    Ok(Some(StoredFloors {
        measured_at: rfc3339(newest.measured_ns),
        environment: json::from_str(&newest.environment).map_err(damaged)?,
        targets: targets.remove(&newest.workload).unwrap_or_default(),
        floors,
    }))
}
