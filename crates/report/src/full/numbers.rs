//! Numbers of single runs from a tidy table, and their means.

use plumb_result::Metric;
use plumb_result::tidy::TidyTable;
use plumb_stats::{geometric_mean, sample};

/// A number of one run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunNumber<'a> {
    pub(super) run: &'a str,
    /// Start of the run, RFC 3339.
    pub(super) started: &'a str,
    pub(super) workload: &'a str,
    /// Name of the phase; empty for a number of the whole run.
    pub(super) phase: &'a str,
    pub(super) metric: Metric,
    pub(super) value: f64,
    /// Plot of the run in its study.
    pub(super) plot: &'a str,
    row: usize,
}

/// Returns all numbers of runs that the checks accept.
pub(super) fn accepted(table: &TidyTable) -> Vec<RunNumber<'_>> {
    let text = |row: usize, at: Option<usize>| at.and_then(|at| table.rows[row][at].as_text()).unwrap_or_default();
    // Look up columns once, not for each of half a million rows.
    let [verdict, value, run, started, workload, phase, metric, plot] =
        ["verdict", "value", "run", "started", "workload", "phase", "metric", "plot"].map(|name| table.column(name));
    (0..table.rows.len())
        .filter(|row| text(*row, verdict) != "reject")
        .filter_map(|row| {
            Some(RunNumber {
                run: text(row, run),
                started: text(row, started),
                workload: text(row, workload),
                phase: text(row, phase),
                metric: text(row, metric).parse().ok()?,
                value: table.rows[row][value?].as_number()?,
                plot: text(row, plot),
                row,
            })
        })
        .collect()
}

impl RunNumber<'_> {
    /// Returns the level of a factor of its study.
    pub(super) fn level<'a>(&self, table: &'a TidyTable, factor: &str) -> &'a str {
        let at = table.column(&format!("factor.{factor}"));
        at.and_then(|at| table.rows[self.row][at].as_text()).unwrap_or_default()
    }
}

/// Returns the geometric mean of some runs with its 95 % interval. The units are plots if there
/// are several, and runs otherwise.
pub(super) fn mean(numbers: &[&RunNumber<'_>]) -> Option<(f64, Option<(f64, f64)>)> {
    // Leaving one number out would give the mean of the others.
    if numbers.iter().any(|number| number.value <= 0.0 || !number.value.is_finite()) {
        return None;
    }
    let mut plots: Vec<(&str, Vec<f64>)> = Vec::new();
    for number in numbers {
        match plots.iter_mut().find(|(plot, _)| *plot == number.plot) {
            Some((_, values)) => values.push(number.value),
            None => plots.push((number.plot, vec![number.value])),
        }
    }
    let units: Vec<f64> = match plots.as_slice() {
        [] => return None,
        [(_, runs)] => runs.clone(),
        plots => plots.iter().filter_map(|(_, runs)| geometric_mean(runs).ok()).collect(),
    };
    let value = geometric_mean(&units).ok()?;
    let interval = sample(&units).and_then(|estimate| estimate.interval(0.95)).ok();
    Some((value, interval.map(|interval| (interval.lo, interval.hi))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(plot: &'static str, value: f64) -> RunNumber<'static> {
        let metric = "write.bw".parse().unwrap();
        RunNumber { run: "", started: "", workload: "", phase: "", metric, value, plot, row: 0 }
    }

    // Protects: many runs on two arrays are only two samples of arrays.
    #[test]
    fn plots_are_the_units_where_there_are_several() {
        let runs = [number("1", 100.0), number("1", 100.0), number("2", 121.0), number("2", 121.0)];
        let (value, interval) = mean(&runs.iter().collect::<Vec<_>>()).unwrap();
        let (lo, hi) = interval.unwrap();
        assert!((value - 110.0).abs() < 1e-6 && lo < 50.0 && hi > 200.0, "{value} {lo} {hi}");
        let on_one: Vec<RunNumber<'_>> = runs.iter().map(|run| number("1", run.value)).collect();
        let (_, interval) = mean(&on_one.iter().collect::<Vec<_>>()).unwrap();
        assert!(interval.unwrap().0 > 90.0);
        let (value, interval) = mean(&[&number("1", 5.0)]).unwrap();
        assert!((value - 5.0).abs() < 1e-9 && interval.is_none());
        assert_eq!(mean(&[&number("1", 0.0)]), None);
    }
}
