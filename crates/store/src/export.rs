//! Results for other programs.

use crate::write::rfc3339;
use crate::{Store, StoreError};
use rusqlite::{Row, params};
use std::collections::BTreeMap;

/// The columns of [`Store::export_csv`], in order.
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

/// Columns of [`Store::export_csv_with`] that only some runs have values in.
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

    /// The numbers of runs as tidy CSV (RFC 4180, lines end in CR LF): a header, then one line a number. What was not
    /// measured is an empty field. A run without any number has one line without a metric, so that it is not mistaken
    /// for a run that never was. Ids as for [`Store::find`].
    pub fn export_csv<S: AsRef<str>>(&self, runs: &[S]) -> Result<String, StoreError> {
        self.export_csv_with(runs, &FurtherColumns::default())
    }

    /// The same with further columns behind those of every export.
    pub fn export_csv_with<S: AsRef<str>>(&self, runs: &[S], further: &FurtherColumns) -> Result<String, StoreError> {
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
        let mut csv = line(COLUMNS.iter().map(|&column| column.to_owned()).chain(further.names.iter().cloned()));
        let nothing = vec![String::new(); further.names.len()];
        for run in runs {
            let run = self.find(run.as_ref())?;
            let of_run = further.values.get(&run).unwrap_or(&nothing);
            let mut rows = statement.query(params![run]).map_err(&failed)?;
            while let Some(row) = rows.next().map_err(&failed)? {
                csv.push_str(&line(fields(row).map_err(&failed)?.into_iter().chain(of_run.iter().cloned())));
            }
        }
        Ok(csv)
    }
}

fn fields(row: &Row<'_>) -> rusqlite::Result<Vec<String>> {
    let text = |i: usize| -> rusqlite::Result<String> { Ok(row.get::<_, Option<String>>(i)?.unwrap_or_default()) };
    let number = |i: usize| -> rusqlite::Result<String> {
        Ok(row.get::<_, Option<f64>>(i)?.map(|value| value.to_string()).unwrap_or_default())
    };
    (0..COLUMNS.len())
        .map(|i| match COLUMNS[i] {
            "started" => Ok(rfc3339(row.get(i)?)),
            "value" | "device_share" => number(i),
            _ => text(i).map(cell),
        })
        .collect()
}

/// A text as a cell: a spreadsheet takes what begins so for a formula, and names of imported files are anybody's. The
/// quotation mark before it makes it text there.
fn cell(text: String) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text }
}

/// One line of RFC 4180: fields with a comma, a quote or a line break stand in quotes, quotes are doubled.
fn line(fields: impl Iterator<Item = String>) -> String {
    let quoted: Vec<String> =
        fields
            .map(|field| {
                if field.contains([',', '"', '\n', '\r']) {
                    format!("\"{}\"", field.replace('"', "\"\""))
                } else {
                    field
                }
            })
            .collect();
    format!("{}\r\n", quoted.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the name of an imported phase is never a formula.
    #[test]
    fn a_text_is_no_formula() {
        assert_eq!(cell("=1+1".to_owned()), "'=1+1");
        assert_eq!(cell("write".to_owned()), "write");
    }

    #[test]
    fn quotes_follow_rfc_4180() {
        let fields = ["plain", "a,b", "say \"x\"", "two\nlines", ""];
        assert_eq!(line(fields.into_iter().map(str::to_owned)), "plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",\r\n");
    }
}
