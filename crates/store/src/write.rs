//! Writing of runs: a row before the first op, a heartbeat every second, and everything else in one transaction at the end.

use crate::facts::FactRows;
use crate::open::Durability;
use crate::owner::Owner;
use crate::result_store::ResultStore;
use crate::series::{columns, encode_latencies, encode_times, encode_values};
use crate::statement::execute;
use crate::time::nanos;
use crate::{Store, StoreError, canonical};
use jiff::Timestamp;
use plumb_result::observe::{Environment, TargetFacts};
use plumb_result::{Comparison, Finding, Interval, Measurement, PhaseMeasurement, RunResult, Tool};
use plumb_workload::Workload;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Transaction, params, params_from_iter};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Facts about a run that are known before its first op.
#[derive(Debug, Clone, Copy)]
pub struct RunStart<'a> {
    /// Id of the run, a UUIDv7.
    pub id: &'a str,
    /// Start of the run, RFC 3339.
    pub started_at: &'a str,
    /// Name and version of the program that runs it.
    pub tool: &'a Tool,
    pub command: &'a str,
    /// The dialect of the command, such as `fio`; `None` for Plumb's own.
    pub dialect: Option<&'a str>,
    /// The workload with all defaults resolved.
    pub workload: &'a Workload,
    /// The machine and its settings.
    pub environment: &'a Environment,
    /// The storage under each target, by target name.
    pub targets: &'a BTreeMap<String, TargetFacts>,
}

/// Measurements of a running phase since the last heartbeat.
#[derive(Debug, Clone, Copy)]
pub struct Partial<'a> {
    /// Number of the phase, from 1.
    pub phase: u32,
    pub name: &'a str,
    pub intervals: &'a [Interval],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagChange {
    Add,
    Remove,
}

/// Destination of a run's records while it is in progress and when it ends.
pub trait RunLog {
    /// Records the start of a run, owned by this process. From then on, a kill leaves a correct record.
    ///
    /// A kill cannot undo it. A power loss during the run can, because nothing is flushed to the storage
    /// that may be under test.
    ///
    /// # Errors
    /// Returns an error if it cannot be written, or if a run of this id was begun before.
    fn begin_run(&mut self, start: &RunStart<'_>) -> Result<(), StoreError>;

    /// Appends new measurements; called about once a second.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    fn heartbeat(&mut self, run: &str, partial: &Partial<'_>) -> Result<(), StoreError>;

    /// Writes a run's result and measurement, flushed to the storage.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    fn finish_run(&mut self, result: &RunResult, measurement: &Measurement) -> Result<(), StoreError>;

    /// Marks a run as failed, with the reason.
    ///
    /// # Errors
    /// Returns an error if this cannot be written.
    fn fail_run(&mut self, run: &str, reason: &str) -> Result<(), StoreError>;

    /// Returns the path of the database that finally holds the run.
    fn path(&self) -> &Path;

    /// Sets how long later writes wait for another process.
    ///
    /// # Errors
    /// Returns an error if the timeout cannot be set.
    fn wait_at_most(&self, time: Duration) -> Result<(), StoreError>;
}

impl RunLog for Store {
    fn begin_run(&mut self, start: &RunStart<'_>) -> Result<(), StoreError> {
        Store::begin_run(self, start)
    }
    fn heartbeat(&mut self, run: &str, partial: &Partial<'_>) -> Result<(), StoreError> {
        Store::heartbeat(self, run, partial)
    }
    fn finish_run(&mut self, result: &RunResult, measurement: &Measurement) -> Result<(), StoreError> {
        Store::finish_run(self, result, measurement)
    }
    fn fail_run(&mut self, run: &str, reason: &str) -> Result<(), StoreError> {
        Store::fail_run(self, run, reason)
    }
    fn path(&self) -> &Path {
        Store::path(self)
    }
    fn wait_at_most(&self, time: Duration) -> Result<(), StoreError> {
        Store::wait_at_most(self, time)
    }
}

impl Store {
    /// Inserts a run as `running`, owned by this process. See [`RunLog::begin_run`].
    pub fn begin_run(&mut self, start: &RunStart<'_>) -> Result<(), StoreError> {
        let row = RunRowIn::new(start.id, start.started_at, start.tool, start.workload)?;
        let facts = self.facts(start.environment, start.targets)?;
        let owner = Owner::this().text()?;
        self.write("beginning a run", Durability::Process, |transaction| {
            let known: Option<String> = transaction
                .query_row("SELECT status FROM run WHERE id = ?1", [start.id], |row| row.get(0))
                .optional()?;
            if let Some(status) = known.filter(|status| status != "planned") {
                return Ok(Err(StoreError::Begun { id: start.id.to_owned(), status }));
            }
            row.begin(&facts, start.command, start.dialect, &owner, transaction)?;
            Ok(Ok(()))
        })?
    }

    /// Appends new measurements; called about once a second. Each call costs one small transaction without a flush.
    pub fn heartbeat(&mut self, run: &str, partial: &Partial<'_>) -> Result<(), StoreError> {
        let intervals = canonical::text(&canonical::value("the intervals", &partial.intervals)?);
        let at = nanos(Timestamp::now());
        self.write("storing a heartbeat", Durability::Process, |transaction| {
            transaction.execute(
                "INSERT INTO heartbeat (run_id, seq, at, phase, phase_name, intervals)
                 SELECT ?1, coalesce(max(seq), 0) + 1, ?2, ?3, ?4, ?5 FROM heartbeat WHERE run_id = ?1",
                params![run, at, partial.phase, partial.name, intervals],
            )?;
            Ok(())
        })
    }

    /// Stores a run's result and measurement in one transaction, flushed to the storage. The status becomes `ok`, or
    /// `aborted` for a result that a signal ended, or `failed` for one that an error ended. A run without a row is
    /// inserted; an existing one is replaced.
    pub fn finish_run(&mut self, result: &RunResult, measurement: &Measurement) -> Result<(), StoreError> {
        let facts = self.facts(&result.environment, &result.target)?;
        let result = ResultIn::with_facts(result, measurement, facts)?;
        self.write("storing a result", Durability::Power, |transaction| result.write(transaction))
    }

    /// Returns the rows for these facts, reusing those of the last run if they are equal.
    fn facts(
        &mut self,
        environment: &Environment,
        targets: &BTreeMap<String, TargetFacts>,
    ) -> Result<Arc<FactRows>, StoreError> {
        if let Some(known) = self.facts.as_ref().filter(|known| known.matches(environment, targets)) {
            return Ok(known.clone());
        }
        let made = Arc::new(FactRows::new(environment, targets)?);
        self.facts = Some(made.clone());
        Ok(made)
    }

    /// Marks a run as `failed`, with the reason; intervals from its heartbeats are kept as series.
    pub fn fail_run(&mut self, run: &str, reason: &str) -> Result<(), StoreError> {
        self.end_without_result(run, "failed", reason)
    }

    /// Adds a tag to a run or removes it. `run` is a whole id.
    pub fn tag(&mut self, run: &str, tag: &str, change: TagChange) -> Result<(), StoreError> {
        if tag.is_empty() || tag.chars().any(|c| c == ',' || c.is_whitespace() || c.is_control()) {
            return Err(StoreError::Tag { tag: tag.to_owned() });
        }
        let run = self.find(run)?;
        let sql = match change {
            TagChange::Add => "INSERT OR IGNORE INTO run_tag (run_id, tag) VALUES (?1, ?2)",
            TagChange::Remove => "DELETE FROM run_tag WHERE run_id = ?1 AND tag = ?2",
        };
        self.write("tagging a run", Durability::Power, |transaction| {
            let changed = transaction.execute(sql, params![run, tag])?;
            if changed > 0 && change == TagChange::Add {
                // The next push takes the tag to the shared databases.
                transaction.execute("DELETE FROM pushed WHERE run_id = ?1", [&run])?;
            }
            Ok(())
        })
    }

    /// Stores a comparison as printed under an id (UUIDv7), and a `conclusion` for each of its contrasts. `method` is
    /// the name and version of the method, so that a claim can be judged after methods have changed.
    pub fn save_comparison(&mut self, id: &str, method: &str, comparison: &Comparison) -> Result<(), StoreError> {
        let body = canonical::text(&canonical::value("the comparison", comparison)?);
        let runs = json!(comparison.runs).to_string();
        let at = nanos(Timestamp::now());
        self.write("storing a comparison", Durability::Power, |transaction| {
            transaction
                .execute("INSERT INTO comparison (id, made_at, body) VALUES (?1, ?2, ?3)", params![id, at, body])?;
            let mut insert = transaction.prepare(
                "INSERT INTO conclusion
                   (id, comparison_id, made_at, method, contrast, metric, ratio, lo, hi, p, p_adjusted, verdict, runs)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            )?;
            for (i, contrast) in comparison.contrasts.iter().enumerate() {
                let of = json!({
                    "workload": contrast.workload,
                    "phase": contrast.phase,
                    "baseline": contrast.baseline,
                    "candidate": contrast.candidate,
                    "blocks": contrast.blocks,
                    "unit": canonical::value("the unit", &contrast.unit).unwrap_or_default(),
                });
                insert.execute(params![
                    format!("{id}/{}", i + 1),
                    id,
                    at,
                    method,
                    canonical::text(&of),
                    contrast.metric.to_string(),
                    contrast.ratio,
                    contrast.lo,
                    contrast.hi,
                    contrast.p,
                    contrast.p_adjusted,
                    contrast.verdict.name(),
                    runs
                ])?;
            }
            Ok(())
        })
    }
}

/// Name of the artifact that holds the whole result, exactly as it was stored.
pub(crate) const RESULT_ARTIFACT: &str = "result.json";

/// A result with all its rows, prepared before the write lock is taken.
pub(crate) struct ResultIn<'a> {
    result: &'a RunResult,
    row: RunRowIn<'a>,
    facts: Arc<FactRows>,
    phases: Vec<PhaseIn<'a>>,
    body: Vec<u8>,
}

impl<'a> ResultIn<'a> {
    /// Prepares a result from elsewhere. It has no measurement, and so no histograms and series.
    pub(crate) fn new(result: &'a RunResult, measurement: &'a Measurement) -> Result<ResultIn<'a>, StoreError> {
        let facts = Arc::new(FactRows::new(&result.environment, &result.target)?);
        ResultIn::with_facts(result, measurement, facts)
    }

    fn with_facts(
        result: &'a RunResult,
        measurement: &'a Measurement,
        facts: Arc<FactRows>,
    ) -> Result<ResultIn<'a>, StoreError> {
        Ok(ResultIn {
            result,
            row: RunRowIn::new(&result.id, &result.started_at, &result.tool, &result.workload)?,
            facts,
            phases: measurement.phases.iter().map(PhaseIn::new).collect::<Result<Vec<_>, StoreError>>()?,
            body: plumb_document::json::to_vec(result)
                .map_err(|source| StoreError::Json { what: "the result", source })?,
        })
    }

    pub(crate) fn id(&self) -> &str {
        &self.result.id
    }

    /// Writes the result and replaces all rows of the run.
    pub(crate) fn write(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        forget(&self.result.id, &["phase", "series", "lane", "latency_map"], transaction)?;
        self.write_keeping_series(transaction)
    }

    /// Writes the result and keeps the existing series.
    pub(crate) fn write_keeping_series(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let ResultIn { result, row, facts, phases, body } = self;
        let (status, reason) = match (&result.error, result.partial) {
            (Some(error), _) => ("failed", Some(error.as_str())),
            (None, true) => ("aborted", Some("ended early by a signal")),
            (None, false) => ("ok", None),
        };
        let wall_ns = result.phases.iter().fold(0u64, |sum, phase| sum.saturating_add(phase.wall_ns));
        row.insert(facts, transaction)?;
        forget(&result.id, &["heartbeat", "value", "histogram", "check_result", "artifact"], transaction)?;
        transaction.execute(
            "UPDATE run SET status = ?2, reason = ?3, verdict = ?4, wall_ns = ?5, owner = NULL WHERE id = ?1",
            params![result.id, status, reason, result.verdict.name(), wall(result, wall_ns)],
        )?;
        write_phases(result, phases, transaction)?;
        write_checks(&result.id, &result.checks, transaction)?;
        transaction.execute(
            "INSERT INTO artifact (run_id, name, media_type, blake3, body) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![result.id, RESULT_ARTIFACT, "application/json", blake3::hash(body).to_hex().as_str(), body],
        )?;
        Ok(())
    }
}

/// Returns a wall time; `None` for an imported result with 0, which means unknown.
fn wall(result: &RunResult, wall_ns: u64) -> Option<i64> {
    i64::try_from(wall_ns).ok().filter(|_| result.imported.is_none() || wall_ns > 0)
}

/// Columns of `run` that are known from the beginning.
pub(crate) struct RunRowIn<'a> {
    pub(crate) id: &'a str,
    started_at: i64,
    tool: &'a Tool,
    name: &'a str,
    workload: String,
    workload_hash: String,
}

impl<'a> RunRowIn<'a> {
    pub(crate) fn new(
        id: &'a str,
        started_at: &str,
        tool: &'a Tool,
        workload: &'a Workload,
    ) -> Result<RunRowIn<'a>, StoreError> {
        let time = started_at
            .parse::<Timestamp>()
            .map_err(|_| StoreError::Time { id: id.to_owned(), text: started_at.to_owned() })?;
        let mut value = canonical::value("the workload", workload)?;
        let text = canonical::text(&value);
        // The workload's name does not change what it does.
        if let Some(fields) = value.as_object_mut() {
            fields.remove("name");
            fields.remove("description");
        }
        let workload_hash = canonical::address(&canonical::text(&value));
        Ok(RunRowIn { id, started_at: nanos(time), tool, name: &workload.name, workload: text, workload_hash })
    }

    /// Inserts the run as `running`.
    pub(crate) fn begin(
        &self,
        facts: &FactRows,
        command: &str,
        dialect: Option<&str>,
        owner: &str,
        transaction: &Transaction<'_>,
    ) -> rusqlite::Result<()> {
        self.insert(facts, transaction)?;
        // Each Plumb process looks for killed runs; without this index it would scan all runs. The index changes no
        // stored data, so it needs no migration: older programs read the file as before.
        execute(transaction, "CREATE INDEX IF NOT EXISTS run_by_running ON run (id) WHERE status = 'running'", [])?;
        execute(
            transaction,
            "UPDATE run SET status = 'running', command = ?2, dialect = ?3, owner = ?4 WHERE id = ?1",
            params![self.id, command, dialect, owner],
        )?;
        Ok(())
    }

    fn insert(&self, facts: &FactRows, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        execute(
            transaction,
            "INSERT OR IGNORE INTO tool (name, version) VALUES (?1, ?2)",
            params![self.tool.name, self.tool.version],
        )?;
        let tool: i64 = transaction
            .prepare_cached("SELECT id FROM tool WHERE name = ?1 AND version = ?2 AND git = '' AND build = ''")?
            .query_row(params![self.tool.name, self.tool.version], |row| row.get(0))?;
        // The row must exist before the facts, because run_target references it; its environment follows.
        execute(
            transaction,
            "INSERT INTO run (id, tool_id, origin, command, name, workload, workload_hash, started_at, status)
             VALUES (?1, ?2, 'native', '', ?3, ?4, ?5, ?6, 'planned')
             ON CONFLICT (id) DO UPDATE SET tool_id = excluded.tool_id, name = excluded.name,
               workload = excluded.workload, workload_hash = excluded.workload_hash, started_at = excluded.started_at",
            params![self.id, tool, self.name, self.workload, self.workload_hash, self.started_at],
        )?;
        execute(transaction, "DELETE FROM run_target WHERE run_id = ?1", [self.id])?;
        facts.write(self.id, transaction)?;
        execute(
            transaction,
            "UPDATE run SET environment_id = ?2 WHERE id = ?1",
            params![self.id, facts.environment_id()],
        )?;
        Ok(())
    }
}

/// A phase's blobs, computed before the write lock is taken.
struct PhaseIn<'a> {
    measured: &'a PhaseMeasurement,
    histograms: Vec<HistogramIn>,
}

struct HistogramIn {
    op: &'static str,
    kind: &'static str,
    hdr: Vec<u8>,
}

impl<'a> PhaseIn<'a> {
    fn new(phase: &'a PhaseMeasurement) -> Result<PhaseIn<'a>, StoreError> {
        let mut histograms = Vec::new();
        let mut keep = |op, kind, histogram: Option<&plumb_result::Histogram>| -> Result<(), StoreError> {
            if let Some(histogram) = histogram.filter(|histogram| !histogram.is_empty()) {
                histograms.push(HistogramIn { op, kind, hdr: histogram.to_hdr_v2()? });
            }
            Ok(())
        };
        for (kind, op) in &phase.ops {
            keep(kind.name(), "service", Some(&op.service))?;
            keep(kind.name(), "response", op.response.as_ref())?;
        }
        keep("", "start-lag", phase.start_lag.as_ref())?;
        Ok(PhaseIn { measured: phase, histograms })
    }
}

fn write_phases(result: &RunResult, measured: &[PhaseIn<'_>], transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut values: Vec<[Value; 6]> = Vec::new();
    for (i, phase) in result.phases.iter().enumerate() {
        let seq = i as i64 + 1;
        transaction.execute(
            "INSERT INTO phase (run_id, seq, name, wall_ns) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (run_id, seq) DO UPDATE SET name = excluded.name, wall_ns = excluded.wall_ns",
            params![result.id, seq, phase.name, wall(result, phase.wall_ns)],
        )?;
        values.extend(phase.metrics.iter().map(|(metric, value)| {
            [
                result.id.clone().into(),
                seq.into(),
                metric.to_string().into(),
                value.value.into(),
                value.tier.map(|tier| tier.name().to_owned()).into(),
                value.device_share.into(),
            ]
        }));
    }
    insert_rows(transaction, "value (run_id, phase, metric, value, source_tier, device_share)", &values)?;
    for (i, phase) in measured.iter().enumerate() {
        let seq = i as i64 + 1;
        // A measured phase without a result would be a bug elsewhere; its data are stored nevertheless.
        transaction.execute(
            "INSERT INTO phase (run_id, seq, name, steady) VALUES (?1, ?2, '', ?3)
             ON CONFLICT (run_id, seq) DO UPDATE SET steady = excluded.steady",
            params![result.id, seq, phase.measured.steady],
        )?;
        write_intervals(&result.id, seq, &phase.measured.intervals, transaction)?;
        write_over_time(&result.id, seq, phase.measured, transaction)?;
        for histogram in &phase.histograms {
            transaction.execute(
                "INSERT INTO histogram (run_id, phase, op, kind, hdr) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![result.id, seq, histogram.op, histogram.kind, histogram.hdr],
            )?;
        }
    }
    Ok(())
}

/// Writes a phase's intervals as series; the phase's row must exist.
pub(crate) fn write_intervals(
    run: &str,
    seq: i64,
    intervals: &[Interval],
    transaction: &Transaction<'_>,
) -> rusqlite::Result<()> {
    transaction.execute(
        "UPDATE phase SET intervals = ?3 WHERE run_id = ?1 AND seq = ?2",
        params![run, seq, encode_times(intervals)],
    )?;
    let step_ns = intervals.first().and_then(|interval| i64::try_from(interval.length_ns).ok());
    for column in columns(intervals) {
        transaction.execute(
            "INSERT INTO series (run_id, phase, metric, step_ns, data) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![run, seq, column.metric.to_string(), step_ns, encode_values(&column.values)],
        )?;
    }
    Ok(())
}

/// Writes the lanes and latency maps that are drawn next to a phase's series.
fn write_over_time(
    run: &str,
    seq: i64,
    measured: &PhaseMeasurement,
    transaction: &Transaction<'_>,
) -> rusqlite::Result<()> {
    for lane in &measured.lanes {
        execute(
            transaction,
            "INSERT INTO lane (run_id, phase, device, measure, data) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![run, seq, lane.of, lane.measure.name(), encode_values(&lane.values)],
        )?;
    }
    let map = &measured.latency_map;
    for kind in BTreeSet::from_iter(map.columns.iter().flat_map(|column| column.ops.keys())) {
        execute(
            transaction,
            "INSERT INTO latency_map (run_id, phase, op, data) VALUES (?1, ?2, ?3, ?4)",
            params![run, seq, kind.name(), encode_latencies(map, *kind)],
        )?;
    }
    Ok(())
}

fn write_checks(run: &str, findings: &[Finding], transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let rows: Vec<[Value; 9]> = findings
        .iter()
        .enumerate()
        .map(|(i, finding)| {
            [
                run.to_owned().into(),
                (i as i64 + 1).into(),
                finding.code.clone().into(),
                finding.level.name().to_owned().into(),
                finding.phase.clone().into(),
                finding.observed.clone().into(),
                finding.threshold.clone().into(),
                finding.message.clone().into(),
                finding.remedy.clone().into(),
            ]
        })
        .collect();
    let into = "check_result (run_id, seq, code, level, phase, observed, threshold, message, remedy)";
    insert_rows(transaction, into, &rows)
}

/// Number of rows per statement: SQLite accepts 32,766 values in one statement.
const ROWS_MAX: usize = 100;

/// Inserts rows, many per statement: for each statement that checks a column against a list of words, SQLite builds
/// a table of those words.
fn insert_rows<const N: usize>(transaction: &Transaction<'_>, into: &str, rows: &[[Value; N]]) -> rusqlite::Result<()> {
    let row = format!("({})", ["?"; N].join(", "));
    for rows in rows.chunks(ROWS_MAX) {
        let sql = format!("INSERT INTO {into} VALUES {}", vec![row.as_str(); rows.len()].join(", "));
        transaction.execute(&sql, params_from_iter(rows.iter().flatten()))?;
    }
    Ok(())
}

/// Deletes the rows of a run from these tables.
fn forget(run: &str, tables: &[&str], transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    for table in tables {
        transaction.execute(&format!("DELETE FROM {table} WHERE run_id = ?1"), [run])?;
    }
    Ok(())
}
