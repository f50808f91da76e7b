//! Pages of the runs that match a filter, with what `plumb serve` shows of each.

use crate::filter::{Filter, FilterSql, PageEnd, SqlFamily};
use crate::read::{RUN_COLUMNS, run_row};
use crate::{ResultStore, RunRow, Store, StoreError};
use plumb_result::run::TierName;
use plumb_result::{Metric, MetricValue};
use rusqlite::{Row, params_from_iter};
use std::collections::BTreeMap;
use strum::VariantArray;

/// Largest number of values that [`RunSearch::known_values`] returns of one kind.
pub const VALUES_MAX: usize = 500;

/// Most phases of a run whose numbers [`RunSearch::search`] returns.
pub const PHASES_MAX: i64 = 16;

/// Searches for runs, in both databases.
pub trait RunSearch: ResultStore {
    /// Returns the runs that match a filter, newest first, with their numbers. Without a limit, all that follow `after`.
    fn search(&self, filter: &Filter) -> Result<FoundRuns, StoreError>;

    /// Returns the values that occur in the database, to choose from.
    fn known_values(&self) -> Result<KnownValues, StoreError>;
}

/// A run that was found, with its machine, storage and numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundRun {
    pub row: RunRow,
    pub key: PageEnd,
    /// Empty if unknown, as in runs that were imported from other tools.
    pub kernel: String,
    /// Name of the tool, as in [`Filter::tool`].
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

/// A row of the first phases of a run: a phase, and one of its numbers if it has any.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundNumber {
    /// Number of the phase.
    pub seq: i64,
    pub phase: String,
    pub metric: Option<String>,
    pub value: Option<f64>,
    pub tier: Option<String>,
    pub device_share: Option<f64>,
}

impl PhaseNumbers {
    /// Collects the numbers of each phase. The rows are in the order of the phases; metrics of a newer version are left out.
    pub fn collect(rows: impl IntoIterator<Item = FoundNumber>) -> Vec<PhaseNumbers> {
        let mut phases: Vec<(i64, PhaseNumbers)> = Vec::new();
        for row in rows {
            if phases.last().is_none_or(|(last, _)| *last != row.seq) {
                phases.push((row.seq, PhaseNumbers { name: row.phase, metrics: BTreeMap::new() }));
            }
            let metric = row.metric.and_then(|name| name.parse::<Metric>().ok());
            if let (Some(metric), Some((_, phase))) = (metric, phases.last_mut()) {
                let tier =
                    row.tier.and_then(|name| TierName::VARIANTS.iter().copied().find(|tier| tier.name() == name));
                let unit = metric.unit();
                phase
                    .metrics
                    .insert(metric, MetricValue { value: row.value, unit, tier, device_share: row.device_share });
            }
        }
        phases.into_iter().map(|(_, phase)| phase).collect()
    }
}

/// One page of the runs that match a query.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundRuns {
    /// Newest first.
    pub runs: Vec<FoundRun>,
    /// Number of all runs that match.
    pub total: u64,
    /// Key of the last run, if further runs follow.
    pub next: Option<PageEnd>,
}

impl FoundRuns {
    /// Makes a page of at most one run more than the filter's limit: that one says that further runs follow.
    pub fn page(mut runs: Vec<FoundRun>, total: i64, filter: &Filter) -> FoundRuns {
        let limit = filter.limit.map_or(usize::MAX, |limit| limit as usize);
        let has_more = runs.len() > limit;
        runs.truncate(limit);
        let next = runs.last().filter(|_| has_more).map(|run| run.key.clone());
        FoundRuns { runs, total: u64::try_from(total).unwrap_or(0), next }
    }
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

impl RunSearch for Store {
    fn search(&self, filter: &Filter) -> Result<FoundRuns, StoreError> {
        let failed = self.failed("searching runs");
        let all = Filter { after: None, ..filter.clone() }.sql(SqlFamily::Sqlite);
        let total = self
            .connection
            .prepare_cached(&format!("SELECT count(*) FROM run WHERE {}", all.conditions))
            .and_then(|mut count| count.query_row(params_from_iter(&all.values), |row| row.get::<_, i64>(0)))
            .map_err(&failed)?;
        let FilterSql { conditions, values } = filter.sql(SqlFamily::Sqlite);
        let limit = filter.limit.map_or(-1, |limit| i64::from(limit) + 1);
        let sql = format!(
            "SELECT {RUN_COLUMNS}, kernel, coalesce(dialect, tool.name),
               (SELECT group_concat(fs, char(31)) FROM (SELECT DISTINCT fs FROM run_target
                  JOIN target ON target.id = target_id WHERE run_id = run.id AND fs IS NOT NULL ORDER BY fs)),
               (SELECT count(*) FROM phase WHERE run_id = run.id)
             FROM run JOIN tool ON tool.id = tool_id
             LEFT JOIN environment ON environment.id = run.environment_id
             WHERE {conditions} ORDER BY run.started_at DESC, run.id DESC LIMIT {limit}"
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(&failed)?;
        let runs: Vec<FoundRun> =
            statement.query_map(params_from_iter(&values), found_run).and_then(Iterator::collect).map_err(&failed)?;
        let mut found = FoundRuns::page(runs, total, filter);
        for run in &mut found.runs {
            run.phases = self.first_numbers(&run.row.id)?;
        }
        Ok(found)
    }

    fn known_values(&self) -> Result<KnownValues, StoreError> {
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

impl Store {
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
        let number = |row: &Row<'_>| {
            Ok(FoundNumber {
                seq: row.get(0)?,
                phase: row.get(1)?,
                metric: row.get(2)?,
                value: row.get(3)?,
                tier: row.get(4)?,
                device_share: row.get(5)?,
            })
        };
        let rows: Vec<FoundNumber> =
            statement.query_map((run, PHASES_MAX), number).and_then(Iterator::collect).map_err(&failed)?;
        Ok(PhaseNumbers::collect(rows))
    }
}

/// Number of columns in [`RUN_COLUMNS`].
const RUN_COLUMN_COUNT: usize = 14;

fn found_run(row: &Row<'_>) -> rusqlite::Result<FoundRun> {
    let text = |column: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(column)?.unwrap_or_default());
    let filesystems = text(RUN_COLUMN_COUNT + 2)?;
    let found = run_row(row)?;
    Ok(FoundRun {
        key: PageEnd { started_ns: row.get(1)?, id: found.id.clone() },
        kernel: text(RUN_COLUMN_COUNT)?,
        tool: text(RUN_COLUMN_COUNT + 1)?,
        filesystems: filesystems.split('\u{1f}').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        phases: Vec::new(),
        phase_count: u64::try_from(row.get::<_, i64>(RUN_COLUMN_COUNT + 3)?).unwrap_or(0),
        row: found,
    })
}
