//! Runs for a shared database: rows as JSON, and which runs are there already.

use crate::open::Durability;
use crate::rows::decode_phase;
use crate::series::decode_times;
use crate::time::nanos;
use crate::write::RESULT_ARTIFACT;
use crate::{
    DocumentKind, HistogramBlob, Imported, PhaseBlobs, ResultStore, RunRow, SharedPlace, SharedStudy, Store,
    StoreError, StoredStudy, StudyRow, TagChange, canonical,
};
use jiff::Timestamp;
use plumb_document::json;
use plumb_result::RunResult;
use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Transaction, params};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::HashSet;
use strum::VariantArray;

/// A run with all its rows, in a form that another database takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalRun {
    /// Id of the run, a UUIDv7.
    pub id: String,
    /// The result (`plumb.result/1`), exactly as it is stored.
    pub document: String,
    /// blake3 of the document, in hex.
    pub blake3: String,
    /// The rows; a table follows those that it refers to.
    pub tables: Vec<LocalTable>,
}

/// A comparison, sweep, ladder, conformance report or study, in a form that another database takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalDocument {
    /// Its table in the local store.
    pub kind: &'static str,
    /// Id of the document, a UUIDv7.
    pub id: String,
    /// Unix nanoseconds.
    pub made_at: i64,
    /// The tag of its runs.
    pub tag: Option<String>,
    /// Whole ids of its runs.
    pub runs: Vec<String>,
    /// As printed; of a study a [`SharedStudy`].
    pub body: String,
    /// blake3 of the body, in hex.
    pub blake3: String,
}

/// Series and histograms of a run, which its result lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FurtherBlobs {
    pub phases: Vec<PhaseBlobs>,
    pub histograms: Vec<HistogramBlob>,
}

impl FurtherBlobs {
    fn write(&self, row: &RunRow, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let run = &row.id;
        let sql = "UPDATE run SET command = ?2, dialect = ?3 WHERE id = ?1";
        transaction.execute(sql, params![run, row.command, row.dialect])?;
        for phase in &self.phases {
            let seq = phase.seq;
            // A series of a phase that the result lacks would refer to no row.
            let sql = "UPDATE phase SET intervals = ?3 WHERE run_id = ?1 AND seq = ?2";
            if transaction.execute(sql, params![run, seq, phase.intervals])? == 0 {
                continue;
            }
            let times = phase.intervals.as_deref().and_then(|blob| decode_times(blob).ok()).unwrap_or_default();
            let step_ns = times.first().and_then(|interval| i64::try_from(interval.length_ns).ok());
            for series in &phase.series {
                transaction.execute(
                    "INSERT OR IGNORE INTO series (run_id, phase, metric, step_ns, data) VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![run, seq, series.metric, step_ns, series.data],
                )?;
            }
            for lane in &phase.lanes {
                transaction.execute(
                    "INSERT OR IGNORE INTO lane (run_id, phase, device, measure, data) VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![run, seq, lane.device, lane.measure, lane.data],
                )?;
            }
            for map in &phase.latency_maps {
                transaction.execute(
                    "INSERT OR IGNORE INTO latency_map (run_id, phase, op, data) VALUES (?1, ?2, ?3, ?4)",
                    params![run, seq, map.op, map.data],
                )?;
            }
        }
        for histogram in &self.histograms {
            transaction.execute(
                "INSERT OR IGNORE INTO histogram (run_id, phase, op, kind, hdr) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![run, histogram.phase, histogram.op, histogram.kind, histogram.hdr],
            )?;
        }
        Ok(())
    }
}

/// The fields of a document that select it. Conformance reports have no runs.
#[derive(Deserialize)]
struct DocumentHead {
    #[serde(default)]
    runs: Vec<String>,
    #[serde(default)]
    tag: Option<String>,
}

const STUDY: &str = "study";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalTable {
    pub name: &'static str,
    pub columns: Vec<String>,
    /// JSON array of objects. Blobs are texts such as `\x0a0b`, as PostgreSQL writes them.
    pub rows: String,
}

/// The tables of a run, and what selects its rows.
const TABLES: &[(&str, &str)] = &[
    (
        "machine",
        "SELECT machine.* FROM machine JOIN environment ON machine.id = machine_id
         JOIN run ON run.environment_id = environment.id WHERE run.id = ?1",
    ),
    (
        "environment",
        "SELECT environment.* FROM environment JOIN run ON environment_id = environment.id WHERE run.id = ?1",
    ),
    (
        "target",
        "SELECT target.* FROM target WHERE id IN (SELECT target_id FROM run_target WHERE run_id = ?1) ORDER BY id",
    ),
    (
        "metric",
        "SELECT * FROM metric WHERE name IN (SELECT metric FROM value WHERE run_id = ?1
         UNION SELECT metric FROM series WHERE run_id = ?1) ORDER BY name",
    ),
    (
        "run",
        "SELECT run.id, tool.name AS tool_name, tool.version AS tool_version, environment_id, origin, dialect, command,
           run.name, workload, workload_hash, started_at, wall_ns, status, reason, verdict, note
         FROM run JOIN tool ON tool.id = tool_id WHERE run.id = ?1",
    ),
    ("run_tag", "SELECT run_id, tag FROM run_tag WHERE run_id = ?1"),
    ("mark", "SELECT id, run_id, kind, reason, at, author FROM mark WHERE run_id = ?1"),
    ("run_target", "SELECT run_id, name, target_id, free_bytes, fs_used_fraction FROM run_target WHERE run_id = ?1"),
    ("phase", "SELECT run_id, seq, name, wall_ns, steady, intervals FROM phase WHERE run_id = ?1"),
    (
        "value",
        "SELECT run_id, phase, metric, scope, value, lo, hi, source_tier, device_share FROM value WHERE run_id = ?1",
    ),
    ("histogram", "SELECT run_id, phase, op, scope, kind, hdr FROM histogram WHERE run_id = ?1"),
    ("series", "SELECT run_id, phase, metric, scope, step_ns, data FROM series WHERE run_id = ?1"),
    ("lane", "SELECT run_id, phase, device, measure, data FROM lane WHERE run_id = ?1"),
    ("latency_map", "SELECT run_id, phase, op, data FROM latency_map WHERE run_id = ?1"),
    (
        "check_result",
        "SELECT run_id, seq, code, level, phase, observed, threshold, message, remedy FROM check_result WHERE run_id = ?1",
    ),
];

const DOCUMENTS: [&str; 3] = ["facts", "mkfs_facts", "workload"];

impl Store {
    /// Returns a run with all its rows. `run` is a whole id.
    ///
    /// # Errors
    /// Returns [`StoreError::NoResult`] for a run without a result.
    pub fn local_run(&self, run: &str) -> Result<LocalRun, StoreError> {
        let document = self.stored_text(run)?;
        let blake3 = blake3::hash(document.as_bytes()).to_hex().to_string();
        let mut tables = Vec::with_capacity(TABLES.len());
        for (name, sql) in TABLES {
            tables.push(self.local_table(run, name, sql)?);
        }
        Ok(LocalRun { id: run.to_owned(), document, blake3, tables })
    }

    fn local_table(&self, run: &str, name: &'static str, sql: &str) -> Result<LocalTable, StoreError> {
        let failed = self.failed("reading a run");
        let mut statement = self.connection.prepare_cached(sql).map_err(&failed)?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query([run]).map_err(&failed)?;
        let mut list = Vec::new();
        while let Some(row) = rows.next().map_err(&failed)? {
            let mut object = Map::new();
            for (index, column) in columns.iter().enumerate() {
                let cell = row.get_ref(index).map_err(&failed)?;
                let cell = value(column, cell).map_err(|error| self.unreadable(run, "a row", error))?;
                object.insert(column.clone(), cell);
            }
            list.push(Value::Object(object));
        }
        Ok(LocalTable { name, columns, rows: Value::Array(list).to_string() })
    }

    /// Returns the ids of runs with a result that are not known to be at a destination, oldest first.
    pub fn unpushed(&self, destination: &str) -> Result<Vec<String>, StoreError> {
        let failed = self.failed("listing runs to push");
        let mut statement = self
            .connection
            .prepare(
                "SELECT id FROM run JOIN artifact ON run_id = id AND artifact.name = ?1
                 WHERE NOT EXISTS (SELECT 1 FROM pushed WHERE pushed.run_id = run.id AND destination = ?2)
                 ORDER BY started_at, id",
            )
            .map_err(&failed)?;
        statement
            .query_map([RESULT_ARTIFACT, destination], |row| row.get(0))
            .and_then(Iterator::collect)
            .map_err(&failed)
    }

    /// Returns the number of runs that are known to be at a destination.
    pub fn count_pushed(&self, destination: &str) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM pushed WHERE destination = ?1";
        let count = self.connection.query_row(sql, [destination], |row| row.get::<_, i64>(0));
        count.map(|count| u64::try_from(count).unwrap_or(0)).map_err(self.failed("counting pushed runs"))
    }

    /// Imports a run of a shared database, with its tags, marks, command, series and histograms.
    ///
    /// # Errors
    /// Fails like [`Store::import`], before which damaged series are refused; and for a malformed tag or mark, before which the
    /// rest is stored.
    pub fn import_shared(
        &mut self,
        result: &RunResult,
        row: &RunRow,
        further: &FurtherBlobs,
        source: &str,
    ) -> Result<(), StoreError> {
        for phase in &further.phases {
            decode_phase(phase).map_err(|error| self.unreadable(&row.id, "a series", error))?;
        }
        if self.import(result)? == Imported::Added {
            self.write("importing series", Durability::Power, |transaction| further.write(row, transaction))?;
        }
        self.add_remarks(row)?;
        self.note_pushed(&result.id, source)
    }

    /// Adds the tags and marks of a run that a shared database has.
    ///
    /// # Errors
    /// Fails for a malformed tag or mark.
    pub fn add_remarks(&mut self, row: &RunRow) -> Result<(), StoreError> {
        row.tags.iter().try_for_each(|tag| self.tag(&row.id, tag, TagChange::Add))?;
        row.marks.iter().try_for_each(|mark| self.mark(&row.id, mark).map(drop))
    }

    /// Returns the documents that are not known to be at a destination, the oldest of each kind first; of studies those that
    /// have ended.
    pub fn unpushed_documents(&self, destination: &str) -> Result<Vec<(&'static str, String)>, StoreError> {
        let failed = self.failed("listing documents to push");
        let mut found = Vec::new();
        let kinds = DocumentKind::VARIANTS.iter().map(|kind| (kind.name(), kind.time(), "true"));
        for (table, time, condition) in kinds.chain([(STUDY, "created_at", "state = 'done'")]) {
            let sql = format!(
                "SELECT id FROM {table} WHERE {condition} AND NOT EXISTS (SELECT 1 FROM pushed_document
                   WHERE kind = '{table}' AND document_id = {table}.id AND destination = ?1) ORDER BY {time}, id"
            );
            let mut statement = self.connection.prepare(&sql).map_err(&failed)?;
            let ids = statement.query_map([destination], |row| row.get(0)).and_then(Iterator::collect);
            let ids: Vec<String> = ids.map_err(&failed)?;
            found.extend(ids.into_iter().map(|id| (table, id)));
        }
        Ok(found)
    }

    /// Returns a document, of a kind that [`Store::unpushed_documents`] names.
    pub fn local_document(&self, kind: &'static str, id: &str) -> Result<LocalDocument, StoreError> {
        let missing = || StoreError::NotFound { path: self.path.clone(), text: id.to_owned() };
        let time = match DocumentKind::VARIANTS.iter().find(|of| of.name() == kind) {
            Some(of) => of.time(),
            None => "created_at",
        };
        let sql = format!("SELECT {time} FROM {kind} WHERE id = ?1");
        let made_at = self.connection.query_row(&sql, [id], |row| row.get(0)).optional();
        let made_at: i64 = made_at.map_err(self.failed("reading a document"))?.ok_or_else(missing)?;
        let (body, runs, tag) = match DocumentKind::VARIANTS.iter().find(|of| of.name() == kind) {
            Some(of) => {
                let body = self.document_text(*of, id)?.ok_or_else(missing)?;
                let head: DocumentHead =
                    json::from_str(&body).map_err(|error| self.unreadable(id, "the document", error))?;
                (body, head.runs, head.tag)
            }
            None => {
                let study = self.shared_study(id)?;
                let runs = study.places.iter().map(|place| place.run.clone()).collect();
                (canonical::text(&canonical::value("the study", &study)?), runs, None)
            }
        };
        let blake3 = canonical::address(&body);
        Ok(LocalDocument { kind, id: id.to_owned(), made_at, tag, runs, body, blake3 })
    }

    fn shared_study(&self, id: &str) -> Result<SharedStudy, StoreError> {
        let StoredStudy { row, plan, text, options } = self.study(id)?;
        let failed = self.failed("reading the runs of a study");
        let sql = "SELECT run_id, seq FROM study_run WHERE study_id = ?1 AND run_id IS NOT NULL
                   UNION ALL SELECT run_id, seq FROM study_rejected WHERE study_id = ?1 AND run_id IS NOT NULL
                   ORDER BY 2, 1";
        let mut statement = self.connection.prepare(sql).map_err(&failed)?;
        let places = statement
            .query_map([id], |row| Ok(SharedPlace { run: row.get(0)?, seq: row.get(1)? }))
            .and_then(Iterator::collect)
            .map_err(&failed)?;
        let row = StudyRow { running: false, ..row };
        Ok(SharedStudy { row, plan, text, options, runs: self.study_runs(id)?, plots: self.study_plots(id)?, places })
    }

    /// Remembers that a document is at a destination, like [`Store::note_pushed`].
    pub fn note_pushed_document(&mut self, kind: &str, id: &str, destination: &str) -> Result<(), StoreError> {
        let at = nanos(Timestamp::now());
        self.write("noting a push", Durability::Process, |transaction| {
            let sql =
                "INSERT OR IGNORE INTO pushed_document (kind, document_id, destination, at) VALUES (?1, ?2, ?3, ?4)";
            transaction.execute(sql, params![kind, id, destination, at])?;
            Ok(())
        })
    }

    /// Remembers that a run is at a destination. A note that is lost costs a comparison with the next push, so it is not
    /// flushed.
    pub fn note_pushed(&mut self, run: &str, destination: &str) -> Result<(), StoreError> {
        let at = nanos(Timestamp::now());
        self.write("noting a push", Durability::Process, |transaction| {
            let sql = "INSERT OR IGNORE INTO pushed (run_id, destination, at) VALUES (?1, ?2, ?3)";
            transaction.execute(sql, params![run, destination, at])?;
            Ok(())
        })
    }

    /// Returns the ids of all runs that have a result.
    pub fn ids_with_result(&self) -> Result<HashSet<String>, StoreError> {
        let failed = self.failed("listing runs");
        let sql = "SELECT run_id FROM artifact WHERE name = ?1";
        let mut statement = self.connection.prepare(sql).map_err(&failed)?;
        statement.query_map([RESULT_ARTIFACT], |row| row.get(0)).and_then(Iterator::collect).map_err(&failed)
    }
}

fn value(column: &str, cell: ValueRef<'_>) -> Result<Value, String> {
    Ok(match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        // JSON has no infinity: it counts as not measured.
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => {
            let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
            match DOCUMENTS.contains(&column) {
                true => json::from_str(text).map_err(|error| error.to_string())?,
                false => text.into(),
            }
        }
        ValueRef::Blob(bytes) => Value::String(hex(bytes)),
    })
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 + bytes.len() * 2);
    text.push_str("\\x");
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)].into());
        text.push(DIGITS[usize::from(byte & 15)].into());
    }
    text
}
