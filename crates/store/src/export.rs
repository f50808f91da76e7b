//! Exports results for other programs.

use crate::StoreError;
use crate::result_store::ResultStore;
use crate::rows::{MetricRow, NumberRow, RunNumbers};
use crate::time::rfc3339;
use plumb_result::tidy::{TidyCell, TidyTable};
use std::collections::BTreeMap;

/// The columns of [`ResultStore::tidy`], in order.
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

/// Additional columns of [`ResultStore::tidy`], in which only some runs have values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FurtherColumns {
    pub names: Vec<String>,
    /// Values by whole run id: one for each name, empty if the run has none.
    pub values: BTreeMap<String, Vec<String>>,
}

/// Number of runs whose numbers are read at once.
const RUNS_AT_ONCE: usize = 200;

/// Returns the numbers of runs as a table: see [`ResultStore::tidy`].
pub(crate) fn tidy<S: ResultStore + ?Sized>(
    store: &S,
    runs: &[String],
    further: &FurtherColumns,
) -> Result<TidyTable, StoreError> {
    let columns = COLUMNS.iter().map(|&column| column.to_owned()).chain(further.names.iter().cloned()).collect();
    let mut cells = Cells::new(&store.metrics()?);
    let nothing = vec![String::new(); further.names.len()];
    let mut table = TidyTable { columns, rows: Vec::new() };
    for runs in runs.chunks(RUNS_AT_ONCE) {
        let mut numbers: BTreeMap<String, RunNumbers> =
            store.run_numbers(runs)?.into_iter().map(|numbers| (numbers.id.clone(), numbers)).collect();
        for run in runs {
            let known = match numbers.remove(run) {
                Some(known) => known,
                // Not a whole id, or the same run again.
                None => {
                    let id = store.find(run)?;
                    let missing = || StoreError::NotFound { path: store.location().to_owned(), text: run.clone() };
                    store.run_numbers(&[id])?.pop().ok_or_else(missing)?
                }
            };
            let further = further.values.get(&known.id).unwrap_or(&nothing);
            let further: Vec<TidyCell> = further.iter().map(|text| TidyCell::text(text.as_str())).collect();
            cells.add(&known, &further, &mut table.rows);
        }
    }
    Ok(table)
}

/// Cells that occur in many rows, made once: ten thousand runs have half a million numbers.
struct Cells {
    metrics: BTreeMap<String, MetricCells>,
    tiers: TextCache,
}

impl Cells {
    fn new(metrics: &[MetricRow]) -> Cells {
        let cells = |(place, metric): (usize, &MetricRow)| {
            let [name, unit, better] =
                [&metric.name, &metric.unit, &metric.better].map(|text| TidyCell::text(text.as_str()));
            (metric.name.clone(), MetricCells { place, name, unit, better })
        };
        Cells { metrics: metrics.iter().enumerate().map(cells).collect(), tiers: TextCache::default() }
    }

    /// Adds the rows of a run, by phase and in the order of the vocabulary.
    fn add(&mut self, run: &RunNumbers, further: &[TidyCell], rows: &mut Vec<Vec<TidyCell>>) {
        let text = |text: &str| TidyCell::text(text);
        let facts = [
            text(&run.id),
            text(&rfc3339(run.started_ns)),
            text(&run.workload),
            text(&run.status),
            run.verdict.as_deref().map_or(TidyCell::Missing, text),
            if run.tags.is_empty() { TidyCell::Missing } else { text(&run.tags.join(" ")) },
        ];
        let phases: BTreeMap<i64, TidyCell> = run.phases.iter().map(|(seq, name)| (*seq, text(name))).collect();
        let mut values: Vec<ValueCells> = run.values.iter().map(|value| self.value(value)).collect();
        values.sort_by_key(|value| (value.phase, value.place));
        if values.is_empty() {
            values.push(ValueCells::default());
        }
        for value in values {
            let mut row = Vec::with_capacity(COLUMNS.len() + further.len());
            row.extend_from_slice(&facts);
            row.push(phases.get(&value.phase).cloned().unwrap_or_default());
            row.extend(value.cells);
            row.extend_from_slice(further);
            rows.push(row);
        }
    }

    fn value(&mut self, row: &NumberRow) -> ValueCells {
        // A database that an older version filled may lack a metric; its numbers come last.
        let metric = self.metrics.get(&row.metric);
        let of_metric = |of: fn(&MetricCells) -> &TidyCell| metric.map(of).cloned().unwrap_or_default();
        let number = |number: Option<f64>| number.map_or(TidyCell::Missing, TidyCell::Number);
        ValueCells {
            phase: row.phase,
            place: metric.map_or(usize::MAX, |metric| metric.place),
            cells: [
                metric.map_or_else(|| TidyCell::text(row.metric.as_str()), |metric| metric.name.clone()),
                number(row.value),
                of_metric(|metric| &metric.unit),
                of_metric(|metric| &metric.better),
                row.tier.as_deref().map_or(TidyCell::Missing, |tier| self.tiers.cell(tier)),
                number(row.device_share),
            ],
        }
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
