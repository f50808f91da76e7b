//! Searches in the shared database.

use crate::SharedStore;
use crate::read::{RUN_COLUMNS, run_row, values};
use plumb_store::{
    Filter, FilterSql, FoundNumber, FoundRun, FoundRuns, KnownValues, PHASES_MAX, PageEnd, PhaseNumbers, RunSearch,
    SqlFamily, StoreError, VALUES_MAX,
};
use postgres::Row;
use std::collections::BTreeMap;

/// Number of columns in [`RUN_COLUMNS`].
const RUN_COLUMN_COUNT: usize = 13;

impl RunSearch for SharedStore {
    fn search(&self, filter: &Filter) -> Result<FoundRuns, StoreError> {
        let all = Filter { after: None, ..filter.clone() }.sql(SqlFamily::Postgres);
        let sql = format!("SELECT count(*) FROM run WHERE {}", all.conditions);
        let total = self.rows("counting runs", &sql, &values(&all), |row| row.try_get::<_, i64>(0))?.pop().unwrap_or(0);
        let found = match filter.limit {
            Some(0) => Vec::new(),
            _ => self.found_runs(filter)?,
        };
        let mut found = FoundRuns::page(found, total, filter);
        let mut numbers = self.first_numbers(&found)?;
        for run in &mut found.runs {
            run.phases = PhaseNumbers::collect(numbers.remove(&run.row.id).unwrap_or_default());
        }
        Ok(found)
    }

    fn known_values(&self) -> Result<KnownValues, StoreError> {
        let list = |sql: &str| -> Result<Vec<String>, StoreError> {
            let mut found =
                self.rows("listing values", &format!("{sql} LIMIT {VALUES_MAX}"), &[], |row| row.try_get(0))?;
            found.sort();
            Ok(found)
        };
        let distinct =
            |column: &str, table: &str| list(&format!("SELECT DISTINCT {column} FROM {table} WHERE {column} <> ''"));
        Ok(KnownValues {
            hosts: distinct("hostname", "machine")?,
            models: list(
                "SELECT DISTINCT model #>> '{}' FROM target, jsonb_path_query(facts, '$.stack[*].model') AS model
                 WHERE model #>> '{}' <> ''",
            )?,
            filesystems: distinct("fs", "target")?,
            kernels: distinct("kernel", "environment")?,
            workloads: list(&indexed_values("run", "name"))?,
            tools: list(&indexed_values("run", "coalesce(dialect, tool_name)"))?,
            tags: list(&indexed_values("run_tag", "tag"))?,
        })
    }
}

impl SharedStore {
    /// Returns the runs of a page, and one more if there is any.
    fn found_runs(&self, filter: &Filter) -> Result<Vec<FoundRun>, StoreError> {
        let FilterSql { conditions, .. } = filter.sql(SqlFamily::Postgres);
        let limit = filter.limit.map_or_else(String::new, |limit| format!("LIMIT {}", i64::from(limit) + 1));
        let sql = format!(
            "SELECT {RUN_COLUMNS},
               (SELECT kernel FROM environment WHERE environment.id = run.environment_id),
               coalesce(run.dialect, run.tool_name),
               ARRAY(SELECT DISTINCT fs COLLATE \"C\" AS fs FROM run_target JOIN target ON target.id = run_target.target_id
                     WHERE run_target.run_id = run.id AND fs IS NOT NULL ORDER BY fs),
               (SELECT count(*) FROM phase WHERE phase.run_id = run.id)
             FROM run WHERE {conditions} ORDER BY run.started_at DESC, run.id DESC {limit}"
        );
        self.rows("searching runs", &sql, &values(&filter.sql(SqlFamily::Postgres)), found_run)
    }

    /// Returns rates, byte rates and 99 % latencies of the first phases of each run of a page.
    fn first_numbers(&self, found: &FoundRuns) -> Result<BTreeMap<String, Vec<FoundNumber>>, StoreError> {
        let ids: Vec<&str> = found.runs.iter().map(|run| run.row.id.as_str()).collect();
        let sql = "SELECT phase.run_id::text, phase.seq, phase.name, metric, value, source_tier, device_share
                   FROM phase LEFT JOIN value ON value.run_id = phase.run_id AND value.phase = phase.seq AND scope = 'all'
                     AND (metric LIKE '%.bw' OR metric LIKE '%.iops' OR metric LIKE '%.ops' OR metric LIKE '%.p99')
                   WHERE phase.run_id = ANY ($1::text[]::uuid[]) AND phase.seq <= $2 ORDER BY phase.run_id, phase.seq";
        let number = |row: &Row| {
            let number = FoundNumber {
                seq: i64::from(row.try_get::<_, i32>(1)?),
                phase: row.try_get(2)?,
                metric: row.try_get(3)?,
                value: row.try_get(4)?,
                tier: row.try_get(5)?,
                device_share: row.try_get(6)?,
            };
            Ok((row.try_get::<_, String>(0)?, number))
        };
        let phases_max = i32::try_from(PHASES_MAX).unwrap_or(i32::MAX);
        let mut numbers: BTreeMap<String, Vec<FoundNumber>> = BTreeMap::new();
        for (run, number) in self.rows("reading numbers", sql, &[&ids, &phases_max], number)? {
            numbers.entry(run).or_default().push(number);
        }
        Ok(numbers)
    }
}

/// Returns a statement that finds the different values of an indexed expression, one by one: `DISTINCT` would read all rows.
/// Source: PostgreSQL wiki, "Loose indexscan".
fn indexed_values(table: &str, value: &str) -> String {
    format!(
        "WITH RECURSIVE found AS (
           (SELECT {value} AS value FROM {table} ORDER BY {value} LIMIT 1)
           UNION ALL
           SELECT (SELECT {value} FROM {table} WHERE {value} > found.value ORDER BY {value} LIMIT 1)
           FROM found WHERE found.value IS NOT NULL)
         SELECT value FROM found WHERE value <> ''"
    )
}

fn found_run(row: &Row) -> Result<FoundRun, postgres::Error> {
    let found = run_row(row)?;
    Ok(FoundRun {
        key: PageEnd { started_ns: row.try_get(1)?, id: found.id.clone() },
        kernel: row.try_get::<_, Option<String>>(RUN_COLUMN_COUNT)?.unwrap_or_default(),
        tool: row.try_get(RUN_COLUMN_COUNT + 1)?,
        filesystems: row.try_get(RUN_COLUMN_COUNT + 2)?,
        phases: Vec::new(),
        phase_count: u64::try_from(row.try_get::<_, i64>(RUN_COLUMN_COUNT + 3)?).unwrap_or(0),
        row: found,
    })
}
