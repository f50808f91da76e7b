//! Results for other programs.

use crate::write::rfc3339;
use crate::{Store, StoreError};
use plumb_result::tidy::{TidyCell, TidyTable};
use rusqlite::{Row, params};
use std::collections::BTreeMap;

/// The columns of [`Store::tidy`], in order.
const COLUMNS: &[&str] = &[
    "run",
    "started",
    "workload",
    "status",
    "verdict",
    "tags",
    "phase",
    "metric",
    "value",
    "unit",
    "better",
    "tier",
    "device_share",
];

/// Columns of [`Store::tidy`] that only some runs have values in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FurtherColumns {
    /// Their names.
    pub names: Vec<String>,
    /// By the whole id of a run: a value for each name, empty where it has none.
    pub values: BTreeMap<String, Vec<String>>,
}

impl Store {
    /// The results of runs as a JSON array of `plumb.result/1`, each exactly as it was stored. Ids as for
    /// [`Store::find`]. Errors also for a run without a result.
    pub fn export_json<S: AsRef<str>>(&self, runs: &[S]) -> Result<String, StoreError> {
        let texts = runs
            .iter()
            .map(|run| self.result_text(&self.find(run.as_ref())?))
            .collect::<Result<Vec<String>, StoreError>>()?;
        Ok(if texts.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", texts.join(",\n")) })
    }

    /// The numbers of runs as a tidy table, one row a number, with further columns behind those of every export. A run without any
    /// number has one row without a metric, so that it is not mistaken for a run that never was. Ids as for [`Store::find`].
    pub fn tidy<S: AsRef<str>>(&self, runs: &[S], further: &FurtherColumns) -> Result<TidyTable, StoreError> {
        let failed = self.failed("exporting");
        let mut statement = self
            .connection
            .prepare(
                "SELECT run.id, run.started_at, run.name, run.status, run.verdict,
                   (SELECT group_concat(tag, ' ') FROM (SELECT tag FROM run_tag WHERE run_id = run.id ORDER BY tag)),
                   phase.name, value.metric, value.value, metric.unit, metric.better, value.source_tier,
                   value.device_share
                 FROM run
                 LEFT JOIN value ON value.run_id = run.id AND value.scope = 'all'
                 LEFT JOIN metric ON metric.name = value.metric
                 LEFT JOIN phase ON phase.run_id = run.id AND phase.seq = value.phase
                 WHERE run.id = ?1 ORDER BY value.phase, metric.rowid",
            )
            .map_err(&failed)?;
        let columns = COLUMNS.iter().map(|&column| column.to_owned()).chain(further.names.iter().cloned()).collect();
        let nothing = vec![String::new(); further.names.len()];
        let mut table = TidyTable { columns, rows: Vec::new() };
        for run in runs {
            let run = self.find(run.as_ref())?;
            let of_run = further.values.get(&run).unwrap_or(&nothing);
            let mut rows = statement.query(params![run]).map_err(&failed)?;
            while let Some(row) = rows.next().map_err(&failed)? {
                let further = of_run.iter().map(TidyCell::text);
                table.rows.push(cells(row).map_err(&failed)?.into_iter().chain(further).collect());
            }
        }
        Ok(table)
    }
}

fn cells(row: &Row<'_>) -> rusqlite::Result<Vec<TidyCell>> {
    (0..COLUMNS.len())
        .map(|i| match COLUMNS[i] {
            "started" => Ok(TidyCell::Text(rfc3339(row.get(i)?))),
            "value" | "device_share" => Ok(row.get::<_, Option<f64>>(i)?.map_or(TidyCell::Missing, TidyCell::Number)),
            _ => Ok(TidyCell::text(row.get::<_, Option<String>>(i)?.unwrap_or_default())),
        })
        .collect()
}
