//! Finds runs by what is known of them: host, device, file system, kernel, workload, tool, tag, verdict, time and text. Pages are
//! keyed by the last run of the page before, so that a late page costs as much as the first.

use crate::read::{RUN_COLUMNS, run_row};
use crate::{RunRow, RunStatus, Store, StoreError};
use plumb_result::run::TierName;
use plumb_result::{Metric, MetricValue, RunVerdict};
use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};
use std::collections::BTreeMap;
use strum::VariantArray;

/// Largest number of words of a text that are searched for.
const WORDS_MAX: usize = 8;

/// Largest number of values that [`Store::known_values`] returns of one kind.
const VALUES_MAX: usize = 500;

/// Most phases of a run whose numbers are returned.
const PHASES_MAX: i64 = 16;

/// Conditions on runs, all of which hold; `None` selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    pub host: Option<String>,
    /// Model of a disk in the stack of a target.
    pub model: Option<String>,
    pub filesystem: Option<String>,
    pub kernel: Option<String>,
    pub workload: Option<String>,
    /// The tool whose command line was used or whose file was imported; `plumb` for Plumb's own.
    pub tool: Option<String>,
    pub tag: Option<String>,
    pub status: Option<RunStatus>,
    pub verdict: Option<RunVerdict>,
    pub path: Option<String>,
    /// Earliest start, ns since 1970.
    pub from_ns: Option<i64>,
    /// Start before which runs must have started, ns since 1970.
    pub before_ns: Option<i64>,
    /// Words, each of which must be part of a name: workload, command, tool, host, kernel, path, file system, device, tag or id.
    pub text: Option<String>,
}

/// Place of a run in the order of lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunKey {
    pub started_at_ns: i64,
    pub id: String,
}

/// A run that was found, with its machine, storage and numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundRun {
    pub row: RunRow,
    pub key: RunKey,
    /// Empty if unknown, as in runs that were imported from other tools.
    pub host: String,
    pub kernel: String,
    /// Name of the tool, as in [`RunQuery::tool`].
    pub tool: String,
    /// File systems of its targets, sorted.
    pub filesystems: Vec<String>,
    /// Rates, byte rates and 99 % latencies of its first phases, in order.
    pub phases: Vec<PhaseNumbers>,
    /// Number of all its phases.
    pub phase_count: u64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseNumbers {
    pub name: String,
    pub metrics: BTreeMap<Metric, MetricValue>,
}

/// One page of the runs that match a query.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundRuns {
    /// Newest first.
    pub runs: Vec<FoundRun>,
    /// Number of all runs that match.
    pub total: u64,
    /// Key of the last run, if further runs follow.
    pub next: Option<RunKey>,
}

/// Values that occur in the database, for each kind of condition, sorted; at most 500 of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownValues {
    pub hosts: Vec<String>,
    pub models: Vec<String>,
    pub filesystems: Vec<String>,
    pub kernels: Vec<String>,
    pub workloads: Vec<String>,
    pub tools: Vec<String>,
    pub tags: Vec<String>,
}

/// SQL of a condition, and its arguments.
#[derive(Default)]
pub(crate) struct Conditions {
    sql: Vec<String>,
    pub(crate) arguments: Vec<Value>,
}

/// Ids of the targets that have a disk of a model.
const TARGETS_OF_MODEL: &str = "SELECT target.id FROM target, json_each(target.facts, '$.stack') AS layer
     WHERE json_extract(layer.value, '$.model')";

impl Conditions {
    fn add(&mut self, sql: &str, argument: impl Into<Value>) {
        self.sql.push(format!("({sql})"));
        self.arguments.push(argument.into());
    }

    fn add_text(&mut self, sql: &str, argument: Option<&String>) {
        if let Some(argument) = argument {
            self.add(sql, argument.clone());
        }
    }

    /// Adds a word that must be part of a name. Facts that many runs share are searched once, not for each run.
    fn add_word(&mut self, word: &str) {
        let pattern = format!("%{}%", escaped(word));
        let like = |column: &str| format!("{column} LIKE ? ESCAPE '\\'");
        let environments = format!(
            "run.environment_id IN (SELECT environment.id FROM environment JOIN machine ON machine.id = machine_id WHERE {} OR {})",
            like("machine.hostname"),
            like("environment.kernel")
        );
        let targets = format!(
            "run.id IN (SELECT run_id FROM run_target WHERE target_id IN (SELECT id FROM target WHERE {} OR {})
               OR target_id IN ({TARGETS_OF_MODEL} LIKE ? ESCAPE '\\'))",
            like("path"),
            like("fs")
        );
        let tags = format!("run.id IN (SELECT run_id FROM run_tag WHERE {})", like("tag"));
        let own = ["run.name", "run.command", "run.dialect", "tool.name", "run.id"].map(like).join(" OR ");
        self.sql.push(format!("({own} OR {environments} OR {targets} OR {tags})"));
        self.arguments.extend(std::iter::repeat_n(Value::from(pattern), 11));
    }

    pub(crate) fn new(query: &RunQuery) -> Conditions {
        let mut all = Conditions::default();
        all.add_text(
            "run.environment_id IN (SELECT environment.id FROM environment JOIN machine ON machine.id = machine_id WHERE hostname = ?)",
            query.host.as_ref(),
        );
        all.add_text("run.environment_id IN (SELECT id FROM environment WHERE kernel = ?)", query.kernel.as_ref());
        all.add_text(
            "run.id IN (SELECT run_id FROM run_target JOIN target ON target.id = target_id WHERE fs = ?)",
            query.filesystem.as_ref(),
        );
        all.add_text(
            "run.id IN (SELECT run_id FROM run_target JOIN target ON target.id = target_id WHERE target.path = ?)",
            query.path.as_ref(),
        );
        all.add_text(
            &format!("run.id IN (SELECT run_id FROM run_target WHERE target_id IN ({TARGETS_OF_MODEL} = ?))"),
            query.model.as_ref(),
        );
        all.add_text("run.name = ?", query.workload.as_ref());
        all.add_text("coalesce(run.dialect, tool.name) = ?", query.tool.as_ref());
        all.add_text("run.id IN (SELECT run_id FROM run_tag WHERE tag = ?)", query.tag.as_ref());
        if let Some(status) = query.status {
            all.add("run.status = ?", status.name().to_owned());
        }
        if let Some(verdict) = query.verdict {
            all.add("run.verdict = ?", verdict.name().to_owned());
        }
        if let Some(from_ns) = query.from_ns {
            all.add("run.started_at >= ?", from_ns);
        }
        if let Some(before_ns) = query.before_ns {
            all.add("run.started_at < ?", before_ns);
        }
        let words = query.text.as_deref().unwrap_or_default().split_whitespace();
        words.take(WORDS_MAX).for_each(|word| all.add_word(word));
        all
    }

    pub(crate) fn sql(&self) -> String {
        if self.sql.is_empty() { "1".to_owned() } else { self.sql.join(" AND ") }
    }
}

/// Escapes the wildcards of `LIKE`.
fn escaped(word: &str) -> String {
    word.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

impl Store {
    /// Returns the runs that match a query, newest first: those after a key, at most `limit` of them.
    pub fn search(&self, query: &RunQuery, after: Option<&RunKey>, limit: u32) -> Result<FoundRuns, StoreError> {
        let failed = self.failed("searching runs");
        let mut conditions = Conditions::new(query);
        let total = self
            .connection
            .prepare_cached(&format!(
                "SELECT count(*) FROM run JOIN tool ON tool.id = tool_id WHERE {}",
                conditions.sql()
            ))
            .and_then(|mut count| count.query_row(params_from_iter(&conditions.arguments), |row| row.get::<_, i64>(0)))
            .map_err(&failed)?;
        if let Some(after) = after {
            conditions.sql.push("(run.started_at, run.id) < (?, ?)".to_owned());
            conditions.arguments.extend([Value::from(after.started_at_ns), Value::from(after.id.clone())]);
        }
        conditions.arguments.push(Value::from(i64::from(limit) + 1));
        let sql = format!(
            "SELECT {RUN_COLUMNS}, hostname, kernel, coalesce(dialect, tool.name),
               (SELECT group_concat(fs, char(31)) FROM (SELECT DISTINCT fs FROM run_target
                  JOIN target ON target.id = target_id WHERE run_id = run.id AND fs IS NOT NULL ORDER BY fs)),
               (SELECT count(*) FROM phase WHERE run_id = run.id)
             FROM run JOIN tool ON tool.id = tool_id
             LEFT JOIN environment ON environment.id = run.environment_id
             LEFT JOIN machine ON machine.id = machine_id
             WHERE {} ORDER BY run.started_at DESC, run.id DESC LIMIT ?",
            conditions.sql()
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(&failed)?;
        let mut runs: Vec<FoundRun> = statement
            .query_map(params_from_iter(&conditions.arguments), found_run)
            .and_then(Iterator::collect)
            .map_err(&failed)?;
        let has_more = runs.len() > limit as usize;
        runs.truncate(limit as usize);
        for run in &mut runs {
            run.phases = self.first_numbers(&run.row.id)?;
        }
        let next = runs.last().filter(|_| has_more).map(|run| run.key.clone());
        Ok(FoundRuns { runs, total: u64::try_from(total).unwrap_or(0), next })
    }

    /// Returns rates, byte rates and 99 % latencies of a run's first phases. `run` is a whole id.
    fn first_numbers(&self, run: &str) -> Result<Vec<PhaseNumbers>, StoreError> {
        let failed = self.failed("reading numbers");
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT phase.seq, phase.name, value.metric, value.value, source_tier, device_share
                 FROM phase LEFT JOIN value ON value.run_id = phase.run_id AND value.phase = phase.seq AND scope = 'all'
                   AND (value.metric LIKE '%.bw' OR value.metric LIKE '%.iops' OR value.metric LIKE '%.ops'
                     OR value.metric LIKE '%.p99')
                 WHERE phase.run_id = ?1 AND phase.seq <= ?2 ORDER BY phase.seq",
            )
            .map_err(&failed)?;
        let mut phases: Vec<(i64, PhaseNumbers)> = Vec::new();
        let mut rows = statement.query((run, PHASES_MAX)).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            let seq: i64 = row.get(0).map_err(&failed)?;
            if phases.last().is_none_or(|(last, _)| *last != seq) {
                let name = row.get(1).map_err(&failed)?;
                phases.push((seq, PhaseNumbers { name, metrics: BTreeMap::new() }));
            }
            // Metrics of a newer version are left out.
            let (Some((metric, value)), Some((_, phase))) = (metric_value(row).map_err(&failed)?, phases.last_mut())
            else {
                continue;
            };
            phase.metrics.insert(metric, value);
        }
        Ok(phases.into_iter().map(|(_, phase)| phase).collect())
    }

    /// Returns the values that occur in the database, to choose from.
    pub fn known_values(&self) -> Result<KnownValues, StoreError> {
        let failed = self.failed("listing values");
        let list = |sql: &str| -> Result<Vec<String>, StoreError> {
            let sql = format!("SELECT DISTINCT value FROM ({sql}) WHERE value != '' ORDER BY value LIMIT {VALUES_MAX}");
            let mut statement = self.connection.prepare_cached(&sql).map_err(&failed)?;
            statement.query_map([], |row| row.get(0)).and_then(Iterator::collect).map_err(&failed)
        };
        Ok(KnownValues {
            hosts: list("SELECT hostname AS value FROM machine")?,
            models: list(
                "SELECT json_extract(layer.value, '$.model') AS value FROM target, json_each(target.facts, '$.stack') AS layer",
            )?,
            filesystems: list("SELECT fs AS value FROM target")?,
            kernels: list("SELECT kernel AS value FROM environment")?,
            workloads: list("SELECT name AS value FROM run")?,
            tools: list("SELECT coalesce(dialect, tool.name) AS value FROM run JOIN tool ON tool.id = tool_id")?,
            tags: list("SELECT tag AS value FROM run_tag")?,
        })
    }
}

/// Number of columns in [`RUN_COLUMNS`].
const RUN_COLUMN_COUNT: usize = 14;

fn found_run(row: &Row<'_>) -> rusqlite::Result<FoundRun> {
    let text = |column: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(column)?.unwrap_or_default());
    let filesystems = text(RUN_COLUMN_COUNT + 3)?;
    let found = run_row(row)?;
    Ok(FoundRun {
        key: RunKey { started_at_ns: row.get(1)?, id: found.id.clone() },
        host: text(RUN_COLUMN_COUNT)?,
        kernel: text(RUN_COLUMN_COUNT + 1)?,
        tool: text(RUN_COLUMN_COUNT + 2)?,
        filesystems: filesystems.split('\u{1f}').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        phases: Vec::new(),
        phase_count: u64::try_from(row.get::<_, i64>(RUN_COLUMN_COUNT + 4)?).unwrap_or(0),
        row: found,
    })
}

/// Returns the number in columns 2 to 5, if there is one and this version knows its metric.
fn metric_value(row: &Row<'_>) -> rusqlite::Result<Option<(Metric, MetricValue)>> {
    let metric: Option<String> = row.get(2)?;
    let Some(metric) = metric.and_then(|name| name.parse::<Metric>().ok()) else { return Ok(None) };
    let tier: Option<String> = row.get(4)?;
    let tier = tier.and_then(|name| TierName::VARIANTS.iter().copied().find(|tier| tier.name() == name));
    Ok(Some((metric, MetricValue { value: row.get(3)?, unit: metric.unit(), tier, device_share: row.get(5)? })))
}
