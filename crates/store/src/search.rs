//! Pages of the runs that match a filter, with what `plumb serve` shows of each.

use crate::filter::{Filter, FilterSql, PageEnd, SqlFamily};
use crate::read::{RUN_COLUMNS, run_row};
use crate::{RunRow, Store, StoreError};
use plumb_result::run::TierName;
use plumb_result::{Metric, MetricValue};
use rusqlite::{Row, params_from_iter};
use std::collections::BTreeMap;
use strum::VariantArray;

/// Largest number of values that [`Store::known_values`] returns of one kind.
const VALUES_MAX: usize = 500;

/// Most phases of a run whose numbers are returned.
const PHASES_MAX: i64 = 16;

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

impl Store {
    /// Returns the runs that match a filter, newest first, with their numbers. Without a limit, all that follow `after`.
    pub fn search(&self, filter: &Filter) -> Result<FoundRuns, StoreError> {
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
        let mut runs: Vec<FoundRun> =
            statement.query_map(params_from_iter(&values), found_run).and_then(Iterator::collect).map_err(&failed)?;
        let limit = filter.limit.unwrap_or(u32::MAX);
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

/// Returns the number in columns 2 to 5, if there is one and this version knows its metric.
fn metric_value(row: &Row<'_>) -> rusqlite::Result<Option<(Metric, MetricValue)>> {
    let metric: Option<String> = row.get(2)?;
    let Some(metric) = metric.and_then(|name| name.parse::<Metric>().ok()) else { return Ok(None) };
    let tier: Option<String> = row.get(4)?;
    let tier = tier.and_then(|name| TierName::VARIANTS.iter().copied().find(|tier| tier.name() == name));
    Ok(Some((metric, MetricValue { value: row.get(3)?, unit: metric.unit(), tier, device_share: row.get(5)? })))
}
