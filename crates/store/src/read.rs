//! Reading of stored runs.

use crate::filter::{FilterSql, FilterValue, SqlFamily};
use crate::owner::{KILLED, Owner};
use crate::result_store::ResultStore;
use crate::rows::{
    CANDIDATES_MAX, FloorRow, HistogramBlob, HistoryPoint, LaneBlob, LatencyMapBlob, MetricRow, NumberRow, PhaseBlobs,
    RunNumbers, RunRow, RunStatus, SeriesBlob,
};
use crate::time::rfc3339;
use crate::write::RESULT_ARTIFACT;
use crate::{
    DocumentKind, Filter, QueryLimits, QueryTable, Store, StoreError, StoredDocument, StoredStudy, StudyPlace,
    StudyPlotRow, StudyRow, StudyRunRow,
};
use plumb_document::json;
use plumb_result::RunVerdict;
use rusqlite::types::{ToSql, ToSqlOutput};
use rusqlite::{OptionalExtension, Row, params, params_from_iter};
use std::collections::BTreeMap;
use std::path::Path;

/// The columns that [`run_row`] reads. Unit separators cannot occur in a tag; in a path they would only split its display.
pub(crate) const RUN_COLUMNS: &str =
    "run.id, run.started_at, run.name, run.status, run.reason, run.verdict, run.wall_ns, run.command,
     (SELECT group_concat(path, char(31)) FROM (SELECT DISTINCT target.path FROM run_target
        JOIN target ON target.id = target_id WHERE run_id = run.id ORDER BY target.path)),
     (SELECT group_concat(tag, char(31)) FROM (SELECT tag FROM run_tag WHERE run_id = run.id ORDER BY tag)),
     run.owner, run.dialect,
     (SELECT hostname FROM environment JOIN machine ON machine.id = machine_id
        WHERE environment.id = run.environment_id),
     (SELECT json_group_array(json_object('id', id, 'kind', kind, 'reason', reason, 'at', at, 'author', author))
        FROM (SELECT * FROM mark WHERE run_id = run.id ORDER BY at, id))";

/// Reads of runs, which [`ResultStore`] offers for both databases.
impl Store {
    /// Returns the runs that match a filter, newest first.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunRow>, StoreError> {
        let failed = self.failed("listing runs");
        let FilterSql { conditions, values } = filter.sql(SqlFamily::Sqlite);
        let limit = filter.limit.map_or(-1, i64::from);
        let sql = format!(
            "SELECT {RUN_COLUMNS}
             FROM run WHERE {conditions} ORDER BY run.started_at DESC, run.id DESC LIMIT {limit}"
        );
        let mut statement = self.connection.prepare(&sql).map_err(&failed)?;
        statement.query_map(params_from_iter(&values), run_row).and_then(Iterator::collect).map_err(&failed)
    }

    fn ids_like(&self, text: &str) -> Result<Vec<String>, StoreError> {
        let failed = self.failed("looking for a run");
        // Whole ids are looked up by the thousand, and need no scan of all runs.
        let whole: Option<String> = self
            .connection
            .prepare_cached("SELECT id FROM run WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([text], |row| row.get(0)).optional())
            .map_err(&failed)?;
        if let Some(id) = whole {
            return Ok(vec![id]);
        }
        let mut statement = self
            .connection
            .prepare(
                "SELECT id FROM run WHERE substr(id, 1, length(?1)) = lower(?1) OR substr(id, -length(?1)) = lower(?1)
                 ORDER BY started_at DESC, id DESC LIMIT ?2",
            )
            .map_err(&failed)?;
        statement
            .query_map(params![text, CANDIDATES_MAX as i64], |row| row.get(0))
            .and_then(Iterator::collect)
            .map_err(&failed)
    }

    /// Returns the result of a run as the stored text.
    pub(crate) fn stored_text(&self, run: &str) -> Result<String, StoreError> {
        let failed = self.failed("reading a result");
        let body: Option<Vec<u8>> = self
            .connection
            .query_row("SELECT body FROM artifact WHERE run_id = ?1 AND name = ?2", [run, RESULT_ARTIFACT], |row| {
                row.get(0)
            })
            .optional()
            .map_err(&failed)?;
        match body {
            Some(body) => String::from_utf8(body).map_err(|error| self.unreadable(run, "the result", error)),
            None => Err(self
                .connection
                .query_row("SELECT status, reason FROM run WHERE id = ?1", [run], |row| {
                    Ok(StoreError::NoResult { id: run.to_owned(), status: row.get(0)?, reason: row.get(1)? })
                })
                .optional()
                .map_err(&failed)?
                .unwrap_or_else(|| StoreError::NotFound { path: self.path.clone(), text: run.to_owned() })),
        }
    }

    fn blobs_of(&self, run: &str) -> rusqlite::Result<Vec<PhaseBlobs>> {
        let mut phases_of =
            self.connection.prepare("SELECT seq, name, intervals FROM phase WHERE run_id = ?1 ORDER BY seq")?;
        let mut series_of = self
            .connection
            .prepare("SELECT metric, data FROM series WHERE run_id = ?1 AND phase = ?2 AND scope = 'all'")?;
        let mut lanes_of =
            self.connection.prepare("SELECT device, measure, data FROM lane WHERE run_id = ?1 AND phase = ?2")?;
        let mut maps_of =
            self.connection.prepare("SELECT op, data FROM latency_map WHERE run_id = ?1 AND phase = ?2")?;
        let mut phases = Vec::new();
        let mut rows = phases_of.query([run])?;
        while let Some(row) = rows.next()? {
            let seq: i64 = row.get(0)?;
            let key = params![run, seq];
            let series = series_of
                .query_map(key, |row| Ok(SeriesBlob { metric: row.get(0)?, data: row.get(1)? }))?
                .collect::<rusqlite::Result<_>>()?;
            let lanes = lanes_of
                .query_map(key, |row| Ok(LaneBlob { device: row.get(0)?, measure: row.get(1)?, data: row.get(2)? }))?
                .collect::<rusqlite::Result<_>>()?;
            let latency_maps = maps_of
                .query_map(key, |row| Ok(LatencyMapBlob { op: row.get(0)?, data: row.get(1)? }))?
                .collect::<rusqlite::Result<_>>()?;
            phases.push(PhaseBlobs { seq, name: row.get(1)?, intervals: row.get(2)?, series, lanes, latency_maps });
        }
        Ok(phases)
    }

    fn numbers_of(&self, runs: &[String]) -> rusqlite::Result<Vec<RunNumbers>> {
        let mut facts_of = self.connection.prepare(
            "SELECT id, started_at, name, status, verdict,
               (SELECT group_concat(tag, char(31)) FROM (SELECT tag FROM run_tag WHERE run_id = run.id ORDER BY tag))
             FROM run WHERE id = ?1",
        )?;
        let mut phases_of = self.connection.prepare("SELECT seq, name FROM phase WHERE run_id = ?1")?;
        let mut values_of = self.connection.prepare(
            "SELECT phase, metric, value, source_tier, device_share FROM value WHERE run_id = ?1 AND scope = 'all'",
        )?;
        let mut found = Vec::new();
        for run in runs {
            let facts = |row: &Row<'_>| {
                Ok(RunNumbers {
                    id: row.get(0)?,
                    started_ns: row.get(1)?,
                    workload: row.get(2)?,
                    status: row.get(3)?,
                    verdict: row.get(4)?,
                    tags: split(row.get(5)?),
                    phases: BTreeMap::new(),
                    values: Vec::new(),
                })
            };
            let Some(mut numbers) = facts_of.query_row([run], facts).optional()? else { continue };
            numbers.phases =
                phases_of.query_map([run], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
            let value = |row: &Row<'_>| {
                Ok(NumberRow {
                    phase: row.get(0)?,
                    metric: row.get(1)?,
                    value: row.get(2)?,
                    tier: row.get(3)?,
                    device_share: row.get(4)?,
                })
            };
            numbers.values = values_of.query_map([run], value)?.collect::<rusqlite::Result<_>>()?;
            found.push(numbers);
        }
        Ok(found)
    }

    fn metric_rows(&self) -> rusqlite::Result<Vec<MetricRow>> {
        let mut statement = self.connection.prepare("SELECT name, unit, better FROM metric ORDER BY rowid")?;
        statement
            .query_map([], |row| Ok(MetricRow { name: row.get(0)?, unit: row.get(1)?, better: row.get(2)? }))?
            .collect()
    }

    fn points_of(&self, filter: &Filter, metric: &str) -> rusqlite::Result<Vec<HistoryPoint>> {
        let FilterSql { conditions, mut values } = filter.sql(SqlFamily::Sqlite);
        values.push(FilterValue::Text(metric.to_owned()));
        let (metric, limit) = (values.len(), filter.limit.map_or(-1, i64::from));
        let sql = format!(
            "SELECT run.id, run.started_at, coalesce(phase.name, ''), value.value, value.source_tier, run.verdict
             FROM run JOIN value ON value.run_id = run.id
             LEFT JOIN phase ON phase.run_id = run.id AND phase.seq = value.phase
             WHERE {conditions} AND value.metric = ?{metric} AND value.scope = 'all' AND value.value IS NOT NULL
             ORDER BY run.started_at DESC, run.id DESC, value.phase DESC LIMIT {limit}"
        );
        let point = |row: &Row<'_>| {
            Ok(HistoryPoint {
                run: row.get(0)?,
                started_ns: row.get(1)?,
                phase: row.get(2)?,
                value: row.get(3)?,
                tier: row.get(4)?,
                verdict: row.get(5)?,
            })
        };
        let mut points: Vec<HistoryPoint> = self
            .connection
            .prepare(&sql)?
            .query_map(params_from_iter(&values), point)?
            .collect::<rusqlite::Result<_>>()?;
        points.reverse();
        Ok(points)
    }

    pub(crate) fn unreadable(&self, id: &str, what: &'static str, error: impl std::fmt::Display) -> StoreError {
        StoreError::Unreadable { path: self.path.clone(), id: id.to_owned(), what, reason: error.to_string() }
    }
}

impl ResultStore for Store {
    fn location(&self) -> &Path {
        self.path()
    }

    fn list(&self, filter: &Filter) -> Result<Vec<RunRow>, StoreError> {
        Store::list(self, filter)
    }

    fn matching_runs(&self, text: &str) -> Result<Vec<String>, StoreError> {
        self.ids_like(text)
    }

    fn nth_newest_run(&self, newer: u32) -> Result<Option<String>, StoreError> {
        let sql = "SELECT id FROM run JOIN artifact ON run_id = id AND artifact.name = ?1
                   ORDER BY started_at DESC, id DESC LIMIT 1 OFFSET ?2";
        let found = self.connection.query_row(sql, params![RESULT_ARTIFACT, newer], |row| row.get(0));
        found.optional().map_err(self.failed("looking for a run"))
    }

    fn result_text(&self, run: &str) -> Result<String, StoreError> {
        self.stored_text(run)
    }

    fn phase_blobs(&self, run: &str) -> Result<Vec<PhaseBlobs>, StoreError> {
        self.blobs_of(run).map_err(self.failed("reading series"))
    }

    fn histograms(&self, run: &str) -> Result<Vec<HistogramBlob>, StoreError> {
        let failed = self.failed("reading histograms");
        let sql = "SELECT phase, op, kind, hdr FROM histogram WHERE run_id = ?1 AND scope = 'all'";
        let histogram = |row: &Row<'_>| {
            Ok(HistogramBlob { phase: row.get(0)?, op: row.get(1)?, kind: row.get(2)?, hdr: row.get(3)? })
        };
        let mut statement = self.connection.prepare_cached(sql).map_err(&failed)?;
        statement.query_map([run], histogram).and_then(Iterator::collect).map_err(&failed)
    }

    fn run_numbers(&self, runs: &[String]) -> Result<Vec<RunNumbers>, StoreError> {
        self.numbers_of(runs).map_err(self.failed("reading numbers"))
    }

    fn metrics(&self) -> Result<Vec<MetricRow>, StoreError> {
        self.metric_rows().map_err(self.failed("reading the metrics"))
    }

    fn history(&self, filter: &Filter, metric: &str) -> Result<Vec<HistoryPoint>, StoreError> {
        self.points_of(filter, metric).map_err(self.failed("reading a history"))
    }

    fn document_text(&self, kind: DocumentKind, id: &str) -> Result<Option<String>, StoreError> {
        self.document_body(kind, id).map_err(self.failed("reading a document"))
    }

    fn matching_documents(&self, kind: DocumentKind, text: &str) -> Result<Vec<String>, StoreError> {
        self.documents_like(kind, text).map_err(self.failed("looking for a document"))
    }

    fn newest_documents(&self, kind: DocumentKind, limit: u32) -> Result<Vec<StoredDocument>, StoreError> {
        self.newest_bodies(kind, limit).map_err(self.failed("reading documents"))
    }

    fn newest_document(&self, kind: DocumentKind, run: Option<&str>) -> Result<Option<String>, StoreError> {
        self.newest_of(kind, run).map_err(self.failed("looking for a document"))
    }

    fn floor_rows(&self, place: &str, work_hash: &str) -> Result<Vec<FloorRow>, StoreError> {
        self.floors_of(place, work_hash).map_err(self.failed("looking for a noise floor"))
    }

    fn studies(&self) -> Result<Vec<StudyRow>, StoreError> {
        Store::studies(self)
    }

    fn study(&self, id: &str) -> Result<StoredStudy, StoreError> {
        Store::study(self, id)
    }

    fn study_runs(&self, id: &str) -> Result<Vec<StudyRunRow>, StoreError> {
        Store::study_runs(self, id)
    }

    fn study_plots(&self, id: &str) -> Result<Vec<StudyPlotRow>, StoreError> {
        Store::study_plots(self, id)
    }

    fn study_places(&self, runs: &[String]) -> Result<BTreeMap<String, StudyPlace>, StoreError> {
        self.places_of(runs).map_err(self.failed("looking for a run's study"))
    }

    fn query_within(&self, sql: &str, limits: &QueryLimits) -> Result<QueryTable, StoreError> {
        Store::query_within(self, sql, limits)
    }

    fn tables(&self) -> Result<QueryTable, StoreError> {
        self.query("SELECT name AS 'table', sql AS definition FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    }
}

impl ToSql for FilterValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            FilterValue::Text(text) => text.to_sql(),
            FilterValue::Integer(number) => number.to_sql(),
        }
    }
}

/// Splits a list that `group_concat` joined.
fn split(text: Option<String>) -> Vec<String> {
    text.map(|text| text.split('\u{1f}').map(str::to_owned).collect()).unwrap_or_default()
}

pub(crate) fn run_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let status: String = row.get(3)?;
    let verdict: Option<String> = row.get(5)?;
    // The schema's CHECKs allow no other words.
    let status = status.parse().unwrap_or(RunStatus::Failed);
    let owner: Option<String> = row.get(10)?;
    // If the database is not writable, a killed run is still marked as running.
    let is_killed = status == RunStatus::Running && owner.is_some_and(|owner| Owner::is_dead(&owner));
    let (status, reason) = match is_killed {
        true => (RunStatus::Aborted, Some(KILLED.to_owned())),
        false => (status, row.get(4)?),
    };
    let verdict = verdict.and_then(|verdict| {
        [RunVerdict::Pass, RunVerdict::Caution, RunVerdict::Reject, RunVerdict::Unknown]
            .into_iter()
            .find(|known| known.name() == verdict)
    });
    Ok(RunRow {
        id: row.get(0)?,
        started_at: rfc3339(row.get(1)?),
        workload: row.get(2)?,
        status,
        reason,
        verdict,
        wall_ns: row.get::<_, Option<i64>>(6)?.and_then(|ns| u64::try_from(ns).ok()),
        command: row.get(7)?,
        paths: split(row.get(8)?),
        tags: split(row.get(9)?),
        dialect: row.get(11)?,
        host: row.get(12)?,
        marks: json::from_str(&row.get::<_, String>(13)?).unwrap_or_default(),
    })
}
