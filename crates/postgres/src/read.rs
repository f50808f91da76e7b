//! Reads of the shared database, by the interface of every database of results.

use crate::{ShareError, SharedStore};
use plumb_document::json;
use plumb_result::{Metric, RunResult, RunVerdict};
use plumb_store::{
    CANDIDATES_MAX, DocumentKind, Filter, FilterSql, FilterValue, FloorRow, HistogramBlob, HistoryPoint, LaneBlob,
    LatencyMapBlob, MetricRow, NumberRow, PhaseBlobs, QueryLimits, QueryTable, ResultStore, RunNumbers, RunRow,
    RunStatus, SeriesBlob, SharedStudy, SqlFamily, StoreError, StoredDocument, StoredStudy, StudyPlace, StudyPlotRow,
    StudyRow, StudyRunRow, rfc3339,
};
use postgres::Row;
use postgres::types::ToSql;
use std::collections::BTreeMap;
use std::path::Path;

/// The columns that [`run_row`] reads.
pub(crate) const RUN_COLUMNS: &str =
    "run.id::text, run.started_at, run.name, run.status, run.reason, run.verdict, run.wall_ns, run.command,
     run.dialect,
     ARRAY(SELECT DISTINCT target.path COLLATE \"C\" AS path FROM run_target
       JOIN target ON target.id = run_target.target_id
       WHERE run_target.run_id = run.id AND target.path IS NOT NULL ORDER BY path),
     ARRAY(SELECT tag FROM run_tag WHERE run_tag.run_id = run.id ORDER BY tag COLLATE \"C\"),
     (SELECT hostname FROM environment JOIN machine ON machine.id = environment.machine_id
       WHERE environment.id = run.environment_id),
     (SELECT jsonb_agg(jsonb_build_object('id', mark.id, 'kind', mark.kind, 'reason', mark.reason,
       'at', mark.at, 'author', mark.author) ORDER BY mark.at, mark.id)::text
       FROM mark WHERE mark.run_id = run.id)";

pub(crate) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

impl From<ShareError> for StoreError {
    fn from(error: ShareError) -> StoreError {
        StoreError::Shared(Box::new(error))
    }
}

impl SharedStore {
    /// Runs a statement, and converts its rows.
    pub(crate) fn rows<T>(
        &self,
        doing: &'static str,
        sql: &str,
        values: Values<'_>,
        of_row: impl FnMut(&Row) -> Result<T, postgres::Error>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.client.borrow_mut().query(sql, values).and_then(|rows| rows.iter().map(of_row).collect());
        Ok(rows.map_err(self.failed(doing))?)
    }

    fn not_found(&self, text: &str) -> StoreError {
        StoreError::NotFound { path: self.location.clone(), text: text.to_owned() }
    }

    fn shared_study(&self, id: &str) -> Result<SharedStudy, StoreError> {
        let missing = || StoreError::NoStudy { path: self.location.clone(), text: id.to_owned() };
        let sql = "SELECT body::text FROM document WHERE kind = 'study' AND id::text = $1";
        let text = self.rows("reading a study", sql, &[&id], |row| row.try_get::<_, String>(0))?.pop();
        json::from_str(&text.ok_or_else(missing)?).map_err(|error| StoreError::Unreadable {
            path: self.location.clone(),
            id: id.to_owned(),
            what: "the study",
            reason: error.to_string(),
        })
    }

    /// Returns a time series of each phase, by the number of the phase.
    fn blobs<T>(
        &self,
        sql: &str,
        run: &str,
        of_row: impl Fn(&Row) -> Result<T, postgres::Error>,
    ) -> Result<BTreeMap<i32, Vec<T>>, StoreError> {
        let mut found: BTreeMap<i32, Vec<T>> = BTreeMap::new();
        let with_phase = |row: &Row| Ok((row.try_get(0)?, of_row(row)?));
        for (phase, blob) in self.rows("reading series", sql, &[&run], with_phase)? {
            found.entry(phase).or_default().push(blob);
        }
        Ok(found)
    }
}

/// Returns the values of a filter for a statement.
pub(crate) fn values(of: &FilterSql) -> Vec<&(dyn ToSql + Sync)> {
    fn value(of: &FilterValue) -> &(dyn ToSql + Sync) {
        match of {
            FilterValue::Text(text) => text,
            FilterValue::Integer(number) => number,
        }
    }
    of.values.iter().map(value).collect()
}

/// Returns `LIMIT n`, or nothing.
fn limit(filter: &Filter) -> String {
    filter.limit.map_or_else(String::new, |limit| format!("LIMIT {limit}"))
}

impl ResultStore for SharedStore {
    fn location(&self) -> &Path {
        &self.location
    }

    fn list(&self, filter: &Filter) -> Result<Vec<RunRow>, StoreError> {
        let of = filter.sql(SqlFamily::Postgres);
        let sql = format!(
            "SELECT {RUN_COLUMNS}
             FROM run WHERE {} ORDER BY run.started_at DESC, run.id DESC {}",
            of.conditions,
            limit(filter)
        );
        self.rows("listing runs", &sql, &values(&of), run_row)
    }

    fn matching_runs(&self, text: &str) -> Result<Vec<String>, StoreError> {
        let text = text.to_ascii_lowercase();
        if text.len() > UUID_LENGTH || !text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit()) {
            return Ok(Vec::new());
        }
        let digits = text.replace('-', "");
        let [least, most] = ["0", "f"].map(|digit| {
            let padding = digit.repeat(UUID_DIGITS.saturating_sub(digits.len()));
            digits.chars().take(UUID_DIGITS).collect::<String>() + &padding
        });
        let sql = "SELECT id::text FROM run
                   WHERE id BETWEEN $2::text::uuid AND $3::text::uuid AND id::text LIKE $1 || '%'
                      OR reverse(id::text) LIKE reverse($1) || '%'
                   ORDER BY started_at DESC, id DESC LIMIT $4";
        let values: Values<'_> = &[&text, &least, &most, &(CANDIDATES_MAX as i64)];
        self.rows("looking for a run", sql, values, |row| row.try_get(0))
    }

    fn nth_newest_run(&self, newer: u32) -> Result<Option<String>, StoreError> {
        let sql = "SELECT id::text FROM run ORDER BY started_at DESC, id DESC LIMIT 1 OFFSET $1";
        Ok(self.rows("looking for a run", sql, &[&i64::from(newer)], |row| row.try_get(0))?.pop())
    }

    fn result_text(&self, run: &str) -> Result<String, StoreError> {
        let result = self.result(run)?.ok_or_else(|| self.not_found(run))?;
        // JSONB orders keys in its own way. Plumb's text is the one whose hash was stored, unless another version wrote it.
        json::to_string(&result).map_err(|source| StoreError::Json { what: "the result", source })
    }

    fn get(&self, run: &str) -> Result<RunResult, StoreError> {
        let run = self.find(run)?;
        self.result(&run)?.ok_or_else(|| self.not_found(&run))
    }

    fn phase_blobs(&self, run: &str) -> Result<Vec<PhaseBlobs>, StoreError> {
        let mut series = self.blobs(
            "SELECT phase, metric, data FROM series WHERE run_id = $1::text::uuid AND scope = 'all' ORDER BY metric",
            run,
            |row| Ok(SeriesBlob { metric: row.try_get(1)?, data: row.try_get(2)? }),
        )?;
        let mut lanes = self.blobs(
            "SELECT phase, device, measure, data FROM lane WHERE run_id = $1::text::uuid
             ORDER BY device COLLATE \"C\", measure COLLATE \"C\"",
            run,
            |row| Ok(LaneBlob { device: row.try_get(1)?, measure: row.try_get(2)?, data: row.try_get(3)? }),
        )?;
        let mut maps = self.blobs(
            "SELECT phase, op, data FROM latency_map WHERE run_id = $1::text::uuid ORDER BY op COLLATE \"C\"",
            run,
            |row| Ok(LatencyMapBlob { op: row.try_get(1)?, data: row.try_get(2)? }),
        )?;
        let sql = "SELECT seq, name, intervals FROM phase WHERE run_id = $1::text::uuid ORDER BY seq";
        self.rows("reading phases", sql, &[&run], |row| {
            let seq: i32 = row.try_get(0)?;
            Ok(PhaseBlobs {
                seq: seq.into(),
                name: row.try_get(1)?,
                intervals: row.try_get(2)?,
                series: series.remove(&seq).unwrap_or_default(),
                lanes: lanes.remove(&seq).unwrap_or_default(),
                latency_maps: maps.remove(&seq).unwrap_or_default(),
            })
        })
    }

    fn histograms(&self, run: &str) -> Result<Vec<HistogramBlob>, StoreError> {
        let sql = "SELECT phase, op, kind, hdr FROM histogram WHERE run_id = $1::text::uuid AND scope = 'all'";
        self.rows("reading histograms", sql, &[&run], |row| {
            Ok(HistogramBlob {
                phase: row.try_get::<_, i32>(0)?.into(),
                op: row.try_get(1)?,
                kind: row.try_get(2)?,
                hdr: row.try_get(3)?,
            })
        })
    }

    fn run_numbers(&self, runs: &[String]) -> Result<Vec<RunNumbers>, StoreError> {
        const DOING: &str = "reading numbers";
        let of_runs = "run_id = ANY ($1::text[]::uuid[])";
        let sql = "SELECT id::text, started_at, name, status, verdict,
                     ARRAY(SELECT tag FROM run_tag WHERE run_id = run.id ORDER BY tag COLLATE \"C\")
                   FROM run WHERE id = ANY ($1::text[]::uuid[])";
        let known = self.rows(DOING, sql, &[&runs], |row| {
            Ok(RunNumbers {
                id: row.try_get(0)?,
                started_ns: row.try_get(1)?,
                workload: row.try_get(2)?,
                status: row.try_get(3)?,
                verdict: row.try_get(4)?,
                tags: row.try_get(5)?,
                phases: BTreeMap::new(),
                values: Vec::new(),
            })
        })?;
        let mut known: BTreeMap<String, RunNumbers> = known.into_iter().map(|run| (run.id.clone(), run)).collect();
        let sql = format!("SELECT run_id::text, seq, name FROM phase WHERE {of_runs}");
        let phase = |row: &Row| Ok((row.try_get::<_, String>(0)?, row.try_get::<_, i32>(1)?, row.try_get(2)?));
        for (run, seq, name) in self.rows(DOING, &sql, &[&runs], phase)? {
            if let Some(run) = known.get_mut(&run) {
                run.phases.insert(i64::from(seq), name);
            }
        }
        let sql = format!(
            "SELECT run_id::text, phase, metric, value, source_tier, device_share FROM value
             WHERE {of_runs} AND scope = 'all'"
        );
        let number = |row: &Row| {
            let number = NumberRow {
                phase: row.try_get::<_, i32>(1)?.into(),
                metric: row.try_get(2)?,
                value: row.try_get(3)?,
                tier: row.try_get(4)?,
                device_share: row.try_get(5)?,
            };
            Ok((row.try_get::<_, String>(0)?, number))
        };
        for (run, number) in self.rows(DOING, &sql, &[&runs], number)? {
            if let Some(run) = known.get_mut(&run) {
                run.values.push(number);
            }
        }
        Ok(known.into_values().collect())
    }

    fn metrics(&self) -> Result<Vec<MetricRow>, StoreError> {
        let row = |row: &Row| Ok(MetricRow { name: row.try_get(0)?, unit: row.try_get(1)?, better: row.try_get(2)? });
        let mut metrics = self.rows("reading the metrics", "SELECT name, unit, better FROM metric", &[], row)?;
        let order: BTreeMap<String, usize> =
            Metric::all().iter().enumerate().map(|(place, metric)| (metric.to_string(), place)).collect();
        metrics
            .sort_by_cached_key(|metric| (order.get(&metric.name).copied().unwrap_or(usize::MAX), metric.name.clone()));
        Ok(metrics)
    }

    fn history(&self, filter: &Filter, metric: &str) -> Result<Vec<HistoryPoint>, StoreError> {
        let of = filter.sql(SqlFamily::Postgres);
        let mut values = values(&of);
        values.push(&metric);
        let sql = format!(
            "SELECT run.id::text, run.started_at, coalesce(phase.name, ''), value.value, value.source_tier, run.verdict
             FROM run JOIN value ON value.run_id = run.id
             LEFT JOIN phase ON phase.run_id = run.id AND phase.seq = value.phase
             WHERE {} AND value.metric = ${} AND value.scope = 'all' AND value.value IS NOT NULL
             ORDER BY run.started_at DESC, run.id DESC, value.phase DESC {}",
            of.conditions,
            values.len(),
            limit(filter)
        );
        let mut points = self.rows("reading a history", &sql, &values, |row| {
            Ok(HistoryPoint {
                run: row.try_get(0)?,
                started_ns: row.try_get(1)?,
                phase: row.try_get(2)?,
                value: row.try_get(3)?,
                tier: row.try_get(4)?,
                verdict: row.try_get(5)?,
            })
        })?;
        points.reverse();
        Ok(points)
    }

    fn document_text(&self, kind: DocumentKind, id: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT body::text FROM document WHERE kind = $1 AND id::text = $2";
        Ok(self.rows("reading a document", sql, &[&kind.name(), &id], |row| row.try_get(0))?.pop())
    }

    fn matching_documents(&self, kind: DocumentKind, text: &str) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT id::text FROM document
                   WHERE kind = $1 AND (tag = $2 OR starts_with(id::text, lower($2))
                     OR starts_with(reverse(id::text), reverse(lower($2)))) LIMIT 2";
        self.rows("looking for a document", sql, &[&kind.name(), &text], |row| row.try_get(0))
    }

    fn newest_documents(&self, kind: DocumentKind, limit: u32) -> Result<Vec<StoredDocument>, StoreError> {
        let sql = "SELECT id::text, made_at, body::text FROM document WHERE kind = $1
                   ORDER BY made_at DESC, id DESC LIMIT $2";
        self.rows("reading documents", sql, &[&kind.name(), &i64::from(limit)], |row| {
            Ok(StoredDocument { id: row.try_get(0)?, stored_ns: row.try_get(1)?, body: row.try_get(2)? })
        })
    }

    fn newest_document(&self, kind: DocumentKind, run: Option<&str>) -> Result<Option<String>, StoreError> {
        let order = "ORDER BY made_at DESC, id DESC LIMIT 1";
        let name = kind.name();
        let found = match run {
            Some(run) => {
                let sql =
                    format!("SELECT id::text FROM document WHERE kind = $1 AND runs @> ARRAY[$2::text::uuid] {order}");
                self.rows("looking for a document", &sql, &[&name, &run], |row| row.try_get(0))
            }
            None => {
                let sql = format!("SELECT id::text FROM document WHERE kind = $1 {order}");
                self.rows("looking for a document", &sql, &[&name], |row| row.try_get(0))
            }
        };
        Ok(found?.pop())
    }

    /// Noise floors stay local: a floor is of one host's place.
    fn floor_rows(&self, _place: &str, _work_hash: &str) -> Result<Vec<FloorRow>, StoreError> {
        Ok(Vec::new())
    }

    fn studies(&self) -> Result<Vec<StudyRow>, StoreError> {
        let sql = "SELECT id::text, (body -> 'row')::text FROM document WHERE kind = 'study'
                   ORDER BY made_at DESC, id DESC";
        let rows = self.rows("listing studies", sql, &[], |row| Ok((row.try_get(0)?, row.try_get(1)?)))?;
        let read = |(id, text): (String, String)| {
            json::from_str(&text).map_err(|error| StoreError::Unreadable {
                path: self.location.clone(),
                id,
                what: "the study",
                reason: error.to_string(),
            })
        };
        rows.into_iter().map(read).collect()
    }

    fn study(&self, id: &str) -> Result<StoredStudy, StoreError> {
        let SharedStudy { row, plan, text, options, .. } = self.shared_study(id)?;
        Ok(StoredStudy { row, plan, text, options })
    }

    fn study_runs(&self, id: &str) -> Result<Vec<StudyRunRow>, StoreError> {
        Ok(self.shared_study(id)?.runs)
    }

    fn study_plots(&self, id: &str) -> Result<Vec<StudyPlotRow>, StoreError> {
        Ok(self.shared_study(id)?.plots)
    }

    fn study_places(&self, runs: &[String]) -> Result<BTreeMap<String, StudyPlace>, StoreError> {
        let sql = "SELECT place ->> 'run', document.id::text, (place ->> 'seq')::bigint
                   FROM document, jsonb_array_elements(body -> 'places') AS place
                   WHERE kind = 'study' AND runs && $1::text[]::uuid[] AND place ->> 'run' = ANY ($1::text[])";
        let row = |row: &Row| {
            let seq: i64 = row.try_get(2)?;
            Ok((row.try_get(0)?, StudyPlace { study: row.try_get(1)?, seq: u32::try_from(seq).unwrap_or(u32::MAX) }))
        };
        Ok(self.rows("looking for a run's study", sql, &[&runs], row)?.into_iter().collect())
    }

    fn query_within(&self, sql: &str, limits: &QueryLimits) -> Result<QueryTable, StoreError> {
        crate::query::run(&mut self.client.borrow_mut(), &self.destination, sql, limits)
    }

    fn tables(&self) -> Result<QueryTable, StoreError> {
        self.query(
            "SELECT relname AS table,
               string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) AS columns
             FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
             WHERE relnamespace = 'plumb'::regnamespace AND relkind IN ('r', 'p', 'v') AND NOT relispartition
             GROUP BY relname ORDER BY relname",
        )
    }
}

/// Length of a UUID as text.
const UUID_LENGTH: usize = 36;

/// Hex digits of a UUID.
const UUID_DIGITS: usize = 32;

/// Reads the columns of [`RUN_COLUMNS`].
pub(crate) fn run_row(row: &Row) -> Result<RunRow, postgres::Error> {
    let status: String = row.try_get(3)?;
    let verdict: Option<String> = row.try_get(5)?;
    let marks: Option<String> = row.try_get(12)?;
    let verdicts = [RunVerdict::Pass, RunVerdict::Caution, RunVerdict::Reject, RunVerdict::Unknown];
    Ok(RunRow {
        id: row.try_get(0)?,
        started_at: rfc3339(row.try_get(1)?),
        workload: row.try_get(2)?,
        // The schema's CHECKs allow no other words.
        status: status.parse().unwrap_or(RunStatus::Failed),
        reason: row.try_get(4)?,
        verdict: verdict.and_then(|verdict| verdicts.into_iter().find(|known| known.name() == verdict)),
        wall_ns: row.try_get::<_, Option<i64>>(6)?.and_then(|ns| u64::try_from(ns).ok()),
        command: row.try_get(7)?,
        dialect: row.try_get(8)?,
        paths: row.try_get(9)?,
        tags: row.try_get(10)?,
        host: row.try_get(11)?,
        // The schema's CHECK allows no other kinds.
        marks: marks.and_then(|text| json::from_str(&text).ok()).unwrap_or_default(),
    })
}
