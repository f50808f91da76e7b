//! Reading of stored runs.

use crate::owner::Owner;
use crate::recover::KILLED;
use crate::series::{SeriesColumn, decode_latencies, decode_times, decode_values, restore};
use crate::write::{RESULT_ARTIFACT, rfc3339};
use crate::{Store, StoreError};
use plumb_result::{Comparison, Interval, Lane, LaneMeasure, LatencyMap, Metric, RunResult, RunVerdict};
use plumb_workload::{OpKind, former};
use rusqlite::{OptionalExtension, Row, params};
use serde::Serialize;

/// Largest number of runs listed for an ambiguous id.
pub const CANDIDATES_MAX: usize = 10;

/// State of a run.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::EnumString, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum RunStatus {
    /// Part of a study, and not started.
    Planned,
    /// In progress, or killed and not yet recovered.
    Running,
    /// Completed; its verdict states whether the numbers can be trusted.
    Ok,
    /// Ended by an error.
    Failed,
    /// Ended early by a signal or a kill.
    Aborted,
    /// Left out of a study, with a reason.
    Skipped,
}

impl RunStatus {
    /// Returns the name that is stored and printed.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Selection of runs to list; an empty filter selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub tag: Option<String>,
    pub workload: Option<String>,
    pub status: Option<RunStatus>,
    pub verdict: Option<RunVerdict>,
    /// Largest number of runs; the newest are listed.
    pub limit: Option<u32>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunRow {
    /// Id of the run, a UUIDv7.
    pub id: String,
    /// Start of the run, RFC 3339, UTC.
    pub started_at: String,
    pub workload: String,
    pub status: RunStatus,
    /// Reason why it failed, was aborted or skipped.
    pub reason: Option<String>,
    /// Whether its numbers can be trusted; `None` without a result.
    pub verdict: Option<RunVerdict>,
    /// Wall time of all phases, ns.
    pub wall_ns: Option<u64>,
    /// Paths of its targets, sorted.
    pub paths: Vec<String>,
    /// Tags of the run, sorted.
    pub tags: Vec<String>,
    /// The command as typed; empty if unknown.
    pub command: String,
    /// The tool whose command line was used, such as `fio`; `None` for Plumb's own.
    pub dialect: Option<String>,
}

/// The intervals of one phase of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseIntervals {
    pub name: String,
    /// As measured; for a killed run, as far as its heartbeats were stored.
    pub intervals: Vec<Interval>,
    /// Activity of devices and the machine in these intervals.
    pub lanes: Vec<Lane>,
    pub latency_map: LatencyMap,
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

impl Store {
    /// Returns the runs that match a filter, newest first.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunRow>, StoreError> {
        let failed = self.failed("listing runs");
        // Unit separators cannot occur in a tag; in a path they would only split its display.
        let mut statement = self
            .connection
            .prepare(
                "SELECT id, started_at, name, status, reason, verdict, wall_ns, command,
                   (SELECT group_concat(path, char(31)) FROM (SELECT DISTINCT target.path FROM run_target
                      JOIN target ON target.id = target_id WHERE run_id = run.id ORDER BY target.path)),
                   (SELECT group_concat(tag, char(31)) FROM (SELECT tag FROM run_tag WHERE run_id = run.id ORDER BY tag)),
                   owner, dialect
                 FROM run
                 WHERE (?1 IS NULL OR EXISTS (SELECT 1 FROM run_tag WHERE run_id = run.id AND tag = ?1))
                   AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR status = ?3) AND (?4 IS NULL OR verdict = ?4)
                 ORDER BY started_at DESC, id DESC LIMIT ?5",
            )
            .map_err(&failed)?;
        let arguments = params![
            filter.tag,
            filter.workload,
            filter.status.map(RunStatus::name),
            filter.verdict.map(RunVerdict::name),
            filter.limit.map_or(-1, i64::from)
        ];
        statement.query_map(arguments, run_row).and_then(Iterator::collect).map_err(&failed)
    }

    /// Returns the id of the run that `text` selects. `last` is the newest run with a result and `last~1` the one
    /// before it; any other text is a whole id, or the beginning or end of one. (A UUIDv7 begins with its time, so
    /// the ends of two ids differ sooner.)
    pub fn find(&self, text: &str) -> Result<String, StoreError> {
        let failed = self.failed("looking for a run");
        let none = || StoreError::NotFound { path: self.path.clone(), text: text.to_owned() };
        if let Some(before) = before_last(text) {
            return self
                .connection
                .query_row(
                    "SELECT id FROM run JOIN artifact ON run_id = id AND artifact.name = ?1
                     ORDER BY started_at DESC, id DESC LIMIT 1 OFFSET ?2",
                    params![RESULT_ARTIFACT, before],
                    |row| row.get(0),
                )
                .optional()
                .map_err(&failed)?
                .ok_or_else(none);
        }
        if text.is_empty() {
            return Err(none());
        }
        // Whole ids are looked up by the thousand, and need no scan of all runs.
        let whole: Option<String> = self
            .connection
            .prepare_cached("SELECT id FROM run WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([text], |row| row.get(0)).optional())
            .map_err(&failed)?;
        if let Some(id) = whole {
            return Ok(id);
        }
        let mut statement = self
            .connection
            .prepare(
                "SELECT id FROM run WHERE substr(id, 1, length(?1)) = lower(?1) OR substr(id, -length(?1)) = lower(?1)
                 ORDER BY started_at DESC, id DESC LIMIT ?2",
            )
            .map_err(&failed)?;
        let mut candidates: Vec<String> = statement
            .query_map(params![text, CANDIDATES_MAX as i64], |row| row.get(0))
            .and_then(Iterator::collect)
            .map_err(&failed)?;
        match candidates.len() {
            0 => Err(none()),
            1 => Ok(candidates.remove(0)),
            _ => Err(StoreError::Ambiguous { text: text.to_owned(), candidates }),
        }
    }

    /// Returns the result of a run, exactly as it was stored. `run` is as in [`Store::find`].
    pub fn get(&self, run: &str) -> Result<RunResult, StoreError> {
        let run = self.find(run)?;
        let text = self.result_text(&run)?;
        former::read_json(&text).map_err(|error| self.unreadable(&run, "the result", error))
    }

    /// Returns the result of a run as the stored text.
    pub(crate) fn result_text(&self, run: &str) -> Result<String, StoreError> {
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

    /// Returns the intervals of each phase of a run, even without a result. `run` is as in [`Store::find`].
    pub fn intervals(&self, run: &str) -> Result<Vec<PhaseIntervals>, StoreError> {
        let run = self.find(run)?;
        let failed = self.failed("reading series");
        let damaged = |error: &dyn std::fmt::Display| self.unreadable(&run, "a series", error);
        let mut phases_of = self
            .connection
            .prepare("SELECT seq, name, intervals FROM phase WHERE run_id = ?1 ORDER BY seq")
            .map_err(&failed)?;
        let mut series_of = self
            .connection
            .prepare("SELECT metric, data FROM series WHERE run_id = ?1 AND phase = ?2 AND scope = 'all'")
            .map_err(&failed)?;
        let mut lanes_of = self
            .connection
            .prepare("SELECT device, measure, data FROM lane WHERE run_id = ?1 AND phase = ?2")
            .map_err(&failed)?;
        let mut maps_of = self
            .connection
            .prepare("SELECT op, data FROM latency_map WHERE run_id = ?1 AND phase = ?2")
            .map_err(&failed)?;
        let mut phases = Vec::new();
        let mut rows = phases_of.query([&run]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            let read = || Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let (seq, name, times): (i64, String, Option<Vec<u8>>) = read().map_err(&failed)?;
            let mut intervals = match times {
                Some(blob) => decode_times(&blob).map_err(|error| damaged(&error))?,
                None => Vec::new(),
            };
            let mut series = series_of.query(params![run, seq]).map_err(&failed)?;
            while let Some(row) = series.next().map_err(&failed)? {
                let read = || Ok((row.get(0)?, row.get(1)?));
                let (metric, data): (String, Vec<u8>) = read().map_err(&failed)?;
                let metric: Metric = metric.parse().map_err(|error| damaged(&error))?;
                let values = decode_values(&data).map_err(|error| damaged(&error))?;
                restore(&mut intervals, &SeriesColumn { metric, values }).map_err(|error| damaged(&error))?;
            }
            let mut lanes = Vec::new();
            let mut rows = lanes_of.query(params![run, seq]).map_err(&failed)?;
            while let Some(row) = rows.next().map_err(&failed)? {
                let read = || Ok((row.get(0)?, row.get(1)?, row.get(2)?));
                let (of, measure, data): (String, String, Vec<u8>) = read().map_err(&failed)?;
                let measure: LaneMeasure = measure.parse().map_err(|error| damaged(&error))?;
                let values = decode_values(&data).map_err(|error| damaged(&error))?;
                lanes.push(Lane { of, measure, values });
            }
            let mut latency_map = LatencyMap::default();
            let mut rows = maps_of.query(params![run, seq]).map_err(&failed)?;
            while let Some(row) = rows.next().map_err(&failed)? {
                let read = || Ok((row.get(0)?, row.get(1)?));
                let (op, data): (String, Vec<u8>) = read().map_err(&failed)?;
                let kind = OpKind::ALL.iter().find(|kind| kind.name() == op);
                let kind = kind.ok_or_else(|| damaged(&format!("unknown kind of op `{op}`")))?;
                decode_latencies(&data, *kind, &mut latency_map).map_err(|error| damaged(&error))?;
            }
            phases.push(PhaseIntervals { name, intervals, lanes, latency_map });
        }
        Ok(phases)
    }

    /// Returns the id of the comparison that `text` selects: a whole id, or the beginning or end of one. `None`
    /// if none or several match.
    pub fn find_comparison(&self, text: &str) -> Result<Option<String>, StoreError> {
        self.find_only(
            "looking for a comparison",
            "SELECT id FROM comparison WHERE substr(id, 1, length(?1)) = lower(?1) OR substr(id, -length(?1)) = lower(?1) LIMIT 2",
            text,
        )
    }

    /// Returns the id that a statement finds for a text; `None` if it finds none or several.
    pub(crate) fn find_only(&self, doing: &'static str, sql: &str, text: &str) -> Result<Option<String>, StoreError> {
        let failed = self.failed(doing);
        let mut statement = self.connection.prepare(sql).map_err(&failed)?;
        let mut found: Vec<String> =
            statement.query_map([text], |row| row.get(0)).and_then(Iterator::collect).map_err(&failed)?;
        Ok(if text.is_empty() || found.len() > 1 { None } else { found.pop() })
    }

    /// Returns the newest comparison that contains a run. `run` is a whole id.
    pub fn comparison_of(&self, run: &str) -> Result<Option<String>, StoreError> {
        self.connection
            .query_row(
                "SELECT comparison.id FROM comparison, json_each(comparison.body, '$.runs') AS of
                 WHERE of.value = ?1 ORDER BY made_at DESC LIMIT 1",
                [run],
                |row| row.get(0),
            )
            .optional()
            .map_err(self.failed("looking for a comparison"))
    }

    /// Returns a stored comparison. `id` is a whole id.
    pub fn comparison(&self, id: &str) -> Result<Comparison, StoreError> {
        let text: Option<String> = self
            .connection
            .query_row("SELECT body FROM comparison WHERE id = ?1", [id], |row| row.get(0))
            .optional()
            .map_err(self.failed("reading a comparison"))?;
        let text = text.ok_or_else(|| StoreError::NotFound { path: self.path.clone(), text: id.to_owned() })?;
        plumb_document::json::from_str(&text).map_err(|error| self.unreadable(id, "the comparison", error))
    }

    pub(crate) fn unreadable(&self, id: &str, what: &'static str, error: impl std::fmt::Display) -> StoreError {
        StoreError::Unreadable { path: self.path.clone(), id: id.to_owned(), what, reason: error.to_string() }
    }
}

fn run_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let split = |text: Option<String>| -> Vec<String> {
        text.map(|text| text.split('\u{1f}').map(str::to_owned).collect()).unwrap_or_default()
    };
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
    })
}
