//! Bencher Metric Format (BMF), version 0: benchmarks with measures, each with a value and optional bounds.
//!
//! Format and limits: <https://bencher.dev/docs/reference/bencher-metric-format/>, schema <https://bencher.dev/v0/bmf.json>.

use crate::flat::FlatResult;
use crate::shortened;
use plumb_result::{Metric, RunVerdict};
use serde::Serialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// Longest name of a benchmark, bytes.
const NAME_BYTES_MAX: usize = 1024;
/// Coverage of the bounds.
const CONFIDENCE: f64 = 0.95;

/// Values by benchmark and measure.
pub type BencherMetrics = BTreeMap<String, BTreeMap<String, BencherValue>>;

/// A value with its bounds, if runs that repeat the measurement gave an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BencherValue {
    pub value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper_value: Option<f64>,
}

/// Reason why runs are not one report.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum BencherError {
    /// One benchmark was measured at two places.
    #[error(
        "`{benchmark}` was measured at {one} and at {other}, and Bencher keeps one history per benchmark\n\
         Name the runs of one place: plumb export RUN… --bmf"
    )]
    Mixed { benchmark: String, one: String, other: String },
    /// All runs were rejected, or had no numbers.
    #[error("no numbers to export: checks rejected {rejected} of {runs} runs\n`plumb show RUN` says why")]
    Nothing { rejected: usize, runs: usize },
}

/// Runs as one report of Bencher.
#[derive(Debug, Clone, PartialEq)]
pub struct BencherReport {
    pub metrics: BencherMetrics,
    /// Number of rejected runs, which are left out.
    pub rejected: usize,
}

/// Returns runs as one report. Runs that repeat a benchmark become its geometric mean, and the bounds are the 95 % t interval
/// of the mean; a single run has no bounds. Rejected runs are left out.
///
/// # Errors
/// Returns an error if a benchmark was measured at different places, or if no run has a number.
pub fn report(results: &[FlatResult]) -> Result<BencherReport, BencherError> {
    let used = || results.iter().filter(|result| result.run.verdict != RunVerdict::Reject);
    let rejected = results.len() - used().count();
    let mut values: BTreeMap<String, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    let mut places: BTreeMap<String, String> = BTreeMap::new();
    for result in used() {
        let place = place(result);
        for number in &result.numbers {
            let benchmark = benchmark(&result.run.workload, &number.phase);
            let first = places.entry(benchmark.clone()).or_insert_with(|| place.clone());
            if *first != place {
                return Err(BencherError::Mixed { benchmark, one: first.clone(), other: place });
            }
            values.entry(benchmark).or_default().entry(measure(number.metric)).or_default().push(number.value);
        }
    }
    if values.is_empty() {
        return Err(BencherError::Nothing { rejected, runs: results.len() });
    }
    let of_measures = |measures: BTreeMap<String, Vec<f64>>| {
        measures.into_iter().map(|(measure, values)| (measure, folded(&values))).collect()
    };
    let metrics = values.into_iter().map(|(benchmark, measures)| (benchmark, of_measures(measures))).collect();
    Ok(BencherReport { metrics, rejected })
}

/// Returns the name of a benchmark: the workload, and the phase if it has another name. Never empty.
fn benchmark(workload: &str, phase: &str) -> String {
    let name = match (workload, phase) {
        ("", "") => "unnamed".to_owned(),
        ("", name) | (name, "") => name.to_owned(),
        (workload, phase) if workload == phase => workload.to_owned(),
        (workload, phase) => format!("{workload}/{phase}"),
    };
    shortened(&name, NAME_BYTES_MAX)
}

/// Returns the slug of a measure: the metric's name with dashes for dots.
pub fn measure(metric: Metric) -> String {
    metric.to_string().replace('.', "-")
}

fn place(result: &FlatResult) -> String {
    let site = &result.run.site;
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "an unknown place".to_owned());
    match &site.host {
        Some(host) => format!("{} on {host}", known(&site.place)),
        None => known(&site.place),
    }
}

/// Returns the value of a benchmark that was run this often; `values` is not empty.
fn folded(values: &[f64]) -> BencherValue {
    let estimate = plumb_stats::estimate::sample(values).and_then(|estimate| estimate.interval(CONFIDENCE));
    match estimate {
        Ok(interval) => {
            let finite = |bound: f64| Some(bound).filter(|bound| bound.is_finite());
            BencherValue { value: interval.value, lower_value: finite(interval.lo), upper_value: finite(interval.hi) }
        }
        // One run has no spread, and a number that is 0 in some run has no geometric mean.
        Err(_) => BencherValue {
            value: plumb_stats::summary::median(values).unwrap_or_default(),
            lower_value: None,
            upper_value: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hostile, nightly};

    fn with_value(factor: f64) -> FlatResult {
        let mut result = nightly();
        result.numbers.iter_mut().for_each(|number| number.value *= factor);
        result
    }

    // Protects: what `bencher run --adapter json` reads; a change of the format is seen.
    #[test]
    fn golden_report() {
        let runs = [with_value(1.0), with_value(1.02), with_value(0.97)];
        let written = serde_json::to_string_pretty(&report(&runs).unwrap().metrics).unwrap() + "\n";
        assert_eq!(written, include_str!("../tests/golden/bencher.json"));
    }

    // Protects: bounds are never invented: one run, or a number without a geometric mean, has none.
    #[test]
    fn bounds_take_repeated_runs() {
        let values = |runs: &[FlatResult]| report(runs).unwrap().metrics["random-read"]["read-iops"];
        let single = values(&[nightly()]);
        assert_eq!((single.value, single.lower_value, single.upper_value), (112_000.5, None, None));
        // R: x <- log(c(1, 1.02) * 112000.5); exp(mean(x) + c(-1, 1) * qt(0.975, 1) * sd(x) / sqrt(2))
        let twice = values(&[with_value(1.0), with_value(1.02)]);
        let [lo, hi] = [twice.lower_value, twice.upper_value].map(Option::unwrap);
        assert!((lo - 99_743.5).abs() < 1.0 && (hi - 128_278.8).abs() < 1.0, "{twice:?}");
        let none = values(&[with_value(0.0), with_value(1.0)]);
        assert_eq!((none.value, none.lower_value), (56_000.25, None));
    }

    // Protects: names stay distinct and within Bencher's limits, also of phases with long or odd names.
    #[test]
    fn names_stay_valid_and_distinct() {
        let result = hostile();
        let report = report(std::slice::from_ref(&result)).unwrap();
        let phases: std::collections::BTreeSet<&str> =
            result.numbers.iter().map(|number| number.phase.as_str()).collect();
        assert_eq!(report.metrics.len(), phases.len());
        for (benchmark, measures) in &report.metrics {
            assert!(!benchmark.is_empty() && benchmark.len() <= NAME_BYTES_MAX, "{} bytes", benchmark.len());
            for measure in measures.keys() {
                assert!(
                    measure.len() <= 64 && measure.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                );
            }
        }
        assert_eq!(benchmark("", ""), "unnamed");
    }

    // Protects: two disks do not become one curve, and rejected numbers are not published.
    #[test]
    fn places_are_not_mixed_and_rejected_runs_are_left_out() {
        let mut other = nightly();
        other.run.site.place = Some("/mnt/other".to_owned());
        let error = report(&[nightly(), other.clone()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`random-read` was measured at /mnt/data on db-1 and at /mnt/other on db-1, and Bencher keeps one history per \
             benchmark\nName the runs of one place: plumb export RUN… --bmf"
        );
        other.run.verdict = RunVerdict::Reject;
        let accepted = report(&[nightly(), other.clone()]).unwrap();
        assert_eq!((accepted.rejected, accepted.metrics), (1, report(&[nightly()]).unwrap().metrics));
        assert_eq!(report(&[other]), Err(BencherError::Nothing { rejected: 1, runs: 1 }));
        assert_eq!(report(&[]), Err(BencherError::Nothing { rejected: 0, runs: 0 }));
    }
}
