//! Exports results for other programs.

use crate::write::rfc3339;
use crate::{Store, StoreError};
use plumb_result::tidy::{TidyCell, TidyTable};
use rusqlite::Row;
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

/// Additional columns of [`Store::tidy`], in which only some runs have values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FurtherColumns {
    pub names: Vec<String>,
    /// Values by whole run id: one for each name, empty if the run has none.
    pub values: BTreeMap<String, Vec<String>>,
}

impl Store {
    /// Returns the results of runs as a JSON array of `plumb.result/1`, each exactly as it was stored. Ids are as in
    /// [`Store::find`]. Returns an error if a run has no result.
    pub fn export_json<S: AsRef<str>>(&self, runs: &[S]) -> Result<String, StoreError> {
        let texts = runs
            .iter()
            .map(|run| self.result_text(&self.find(run.as_ref())?))
            .collect::<Result<Vec<String>, StoreError>>()?;
        Ok(if texts.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", texts.join(",\n")) })
    }

    /// Returns the numbers of runs as a tidy table: one row per number, with additional columns after the standard
    /// ones. A run without numbers has one row without a metric, to distinguish it from a run that does not exist.
    /// Ids are as in [`Store::find`].
    pub fn tidy<S: AsRef<str>>(&self, runs: &[S], further: &FurtherColumns) -> Result<TidyTable, StoreError> {
        let failed = self.failed("exporting");
        let metrics = self.metric_cells().map_err(&failed)?;
        // Read and format each fact once rather than for each number: ten thousand runs have half a million numbers.
        let mut facts_of = self
            .connection
            .prepare(
                "SELECT id, started_at, name, status, verdict,
                   (SELECT group_concat(tag, ' ') FROM (SELECT tag FROM run_tag WHERE run_id = run.id ORDER BY tag))
                 FROM run WHERE id = ?1",
            )
            .map_err(&failed)?;
        let mut phases_of =
            self.connection.prepare("SELECT seq, name FROM phase WHERE run_id = ?1").map_err(&failed)?;
        let mut values_of = self
            .connection
            .prepare(
                "SELECT phase, metric, value, source_tier, device_share FROM value WHERE run_id = ?1 AND scope = 'all'",
            )
            .map_err(&failed)?;
        let columns = COLUMNS.iter().map(|&column| column.to_owned()).chain(further.names.iter().cloned()).collect();
        let nothing = vec![String::new(); further.names.len()];
        let mut tiers = TextCache::default();
        let mut table = TidyTable { columns, rows: Vec::new() };
        for run in runs {
            let run = self.find(run.as_ref())?;
            let facts = facts_of.query_row([&run], facts).map_err(&failed)?;
            let further: Vec<TidyCell> =
                further.values.get(&run).unwrap_or(&nothing).iter().map(|text| TidyCell::text(text.as_str())).collect();
            let phase = |row: &Row<'_>| Ok((row.get(0)?, text(row, 1)?));
            let phases: Vec<(i64, TidyCell)> =
                phases_of.query_map([&run], phase).and_then(Iterator::collect).map_err(&failed)?;
            let value = |row: &Row<'_>| value(row, &metrics, &mut tiers);
            let mut values: Vec<ValueCells> =
                values_of.query_map([&run], value).and_then(Iterator::collect).map_err(&failed)?;
            values.sort_by_key(|value| (value.phase, value.place));
            if values.is_empty() {
                values.push(ValueCells::default());
            }
            for value in values {
                let phase = phases.iter().find(|(seq, _)| *seq == value.phase).map(|(_, name)| name.clone());
                let mut row = Vec::with_capacity(COLUMNS.len() + further.len());
                row.extend_from_slice(&facts);
                row.push(phase.unwrap_or_default());
                row.extend(value.cells);
                row.extend_from_slice(&further);
                table.rows.push(row);
            }
        }
        Ok(table)
    }

    /// Returns the metrics of the database: their order, name, unit and direction.
    fn metric_cells(&self) -> rusqlite::Result<BTreeMap<String, MetricCells>> {
        let mut statement = self.connection.prepare("SELECT name, unit, better FROM metric ORDER BY rowid")?;
        let metric = |row: &Row<'_>| Ok((text(row, 0)?, text(row, 1)?, text(row, 2)?));
        let mut metrics = BTreeMap::new();
        for (place, metric) in statement.query_map([], metric)?.enumerate() {
            let (name, unit, better) = metric?;
            metrics.insert(name.as_text().unwrap_or_default().to_owned(), MetricCells { place, name, unit, better });
        }
        Ok(metrics)
    }
}

struct MetricCells {
    place: usize,
    name: TidyCell,
    unit: TidyCell,
    better: TidyCell,
}

/// A number, with the keys that order it within its run.
#[derive(Default)]
struct ValueCells {
    phase: i64,
    place: usize,
    /// The cells from column `metric` on.
    cells: [TidyCell; 6],
}

/// Shares texts that occur many times.
#[derive(Default)]
struct TextCache(Vec<TidyCell>);

impl TextCache {
    fn cell(&mut self, word: &str) -> TidyCell {
        if let Some(known) = self.0.iter().find(|known| known.as_text() == Some(word)) {
            return known.clone();
        }
        let cell = TidyCell::text(word);
        self.0.push(cell.clone());
        cell
    }
}

fn value(
    row: &Row<'_>,
    metrics: &BTreeMap<String, MetricCells>,
    tiers: &mut TextCache,
) -> rusqlite::Result<ValueCells> {
    // The schema guarantees that every metric of a value is in the vocabulary.
    let metric = metrics.get(row.get_ref(1)?.as_str()?);
    let tier = row.get_ref(3)?.as_str_or_null()?.map_or(TidyCell::Missing, |tier| tiers.cell(tier));
    let of_metric = |of: fn(&MetricCells) -> &TidyCell| metric.map(of).cloned().unwrap_or_default();
    Ok(ValueCells {
        phase: row.get(0)?,
        place: metric.map_or(usize::MAX, |metric| metric.place),
        cells: [
            of_metric(|metric| &metric.name),
            number(row, 2)?,
            of_metric(|metric| &metric.unit),
            of_metric(|metric| &metric.better),
            tier,
            number(row, 4)?,
        ],
    })
}

/// Returns the cells from column `run` to `tags`.
fn facts(row: &Row<'_>) -> rusqlite::Result<[TidyCell; 6]> {
    let started = TidyCell::text(rfc3339(row.get(1)?));
    Ok([text(row, 0)?, started, text(row, 2)?, text(row, 3)?, text(row, 4)?, text(row, 5)?])
}

fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<TidyCell> {
    Ok(row.get_ref(column)?.as_str_or_null()?.map_or(TidyCell::Missing, TidyCell::text))
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<TidyCell> {
    Ok(row.get::<_, Option<f64>>(column)?.map_or(TidyCell::Missing, TidyCell::Number))
}
