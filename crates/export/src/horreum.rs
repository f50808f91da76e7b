//! Horreum: one JSON document per run, and the labels that extract its values.
//!
//! A document names its schema in `$schema`, and Horreum takes the start and the end of a run from JSON paths in it
//! (<https://horreum.hyperfoil.io/docs/tasks/upload-run/>). Extractors are JSON paths of PostgreSQL, so results are objects whose
//! keys need no quotes: `read.lat.p99` is `read_lat_p99`.

use crate::flat::{FlatInterval, FlatNumber, FlatResult, better};
use jiff::SignedDuration;
use plumb_result::Metric;
use plumb_result::run::TierName;
use serde::Serialize;
use std::collections::BTreeMap;

/// URI of the schema of a document.
pub const SCHEMA_URI: &str = "urn:plumb:run:1";

/// One run as a document.
#[derive(Debug, Serialize)]
pub struct HorreumRun<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    run: &'a str,
    start: &'a str,
    stop: String,
    workload: &'a str,
    tool: &'a str,
    verdict: &'static str,
    partial: bool,
    host: Option<&'a str>,
    kernel: Option<&'a str>,
    place: Option<&'a str>,
    filesystem: Option<&'a str>,
    device: Option<&'a str>,
    tags: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    study: Option<HorreumStudy<'a>>,
    /// Numbers by phase and by metric.
    results: BTreeMap<String, BTreeMap<String, HorreumNumber>>,
}

#[derive(Debug, Serialize)]
struct HorreumStudy<'a> {
    name: &'a str,
    plot: u32,
    repeat: u32,
    factors: &'a BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
struct HorreumNumber {
    value: f64,
    unit: &'static str,
    better: &'static str,
    #[serde(flatten)]
    interval: Option<Bounds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<TierName>,
}

#[derive(Debug, Serialize)]
struct Bounds {
    lo: f64,
    hi: f64,
    confidence: f64,
}

/// A label, as `POST /api/schema/ID/labels` takes it, without the owner and the access that only the user knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HorreumLabel {
    pub name: String,
    pub extractors: Vec<Extractor>,
    /// Whether datasets are compared only where it is equal.
    pub filtering: bool,
    /// Whether it is a measured value.
    pub metrics: bool,
}

/// A JSON path of PostgreSQL that gives a label its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Extractor {
    pub name: String,
    pub jsonpath: String,
    /// Whether all values that the path finds are taken, and not the first alone.
    pub array: bool,
}

/// Fields that make datasets comparable.
const FILTERS: &[&str] = &["workload", "tool", "host", "kernel", "place", "filesystem", "device", "verdict"];
/// Metrics that have a label of their own.
const METRICS: &[&str] = &[
    "read.iops",
    "read.bw",
    "read.lat.p50",
    "read.lat.p99",
    "write.iops",
    "write.bw",
    "write.lat.p50",
    "write.lat.p99",
    "fsync.ops",
    "fsync.lat.p99",
    "txn.ops",
];

/// Returns a run as a document.
pub fn document(result: &FlatResult) -> HorreumRun<'_> {
    let run = &result.run;
    let mut results: BTreeMap<String, BTreeMap<String, HorreumNumber>> = BTreeMap::new();
    let mut names: BTreeMap<usize, String> = BTreeMap::new();
    for number in &result.numbers {
        // Imported runs may have two phases of one name.
        let name = names.entry(number.phase_seq).or_insert_with(|| match results.contains_key(&number.phase) {
            true => format!("{}#{}", number.phase, number.phase_seq),
            false => number.phase.clone(),
        });
        results.entry(name.clone()).or_default().insert(key(&number.metric), value(number));
    }
    HorreumRun {
        schema: SCHEMA_URI,
        run: &run.id,
        start: &run.started_at,
        stop: stop(&run.started_at, run.wall_ns),
        workload: &run.workload,
        tool: &run.tool,
        verdict: run.verdict.name(),
        partial: run.partial,
        host: run.site.host.as_deref(),
        kernel: run.site.kernel.as_deref(),
        place: run.site.place.as_deref(),
        filesystem: run.site.filesystem.as_deref(),
        device: run.site.device.as_deref(),
        tags: &run.tags,
        study: run.study.as_ref().map(|study| HorreumStudy {
            name: &study.name,
            plot: study.plot,
            repeat: study.repeat,
            factors: &study.factors,
        }),
        results,
    }
}

/// Returns the end of the measured time; the start if that is not a valid time.
fn stop(started_at: &str, wall_ns: u64) -> String {
    let stop = started_at
        .parse::<jiff::Timestamp>()
        .ok()
        .and_then(|started| started.checked_add(SignedDuration::from_nanos(i64::try_from(wall_ns).ok()?)).ok());
    stop.map_or_else(|| started_at.to_owned(), |stop| stop.to_string())
}

fn value(number: &FlatNumber) -> HorreumNumber {
    let bounds = |one: FlatInterval| Bounds { lo: one.lo, hi: one.hi, confidence: one.confidence };
    HorreumNumber {
        value: number.value,
        unit: number.metric.unit().symbol(),
        better: better(number.metric),
        interval: number.interval.map(bounds),
        n: number.n,
        tier: number.tier,
    }
}

/// Returns the key of a metric, which a JSON path needs not quote.
fn key(metric: &Metric) -> String {
    key_of(&metric.to_string())
}

fn key_of(metric: &str) -> String {
    metric.replace(['.', '-'], "_")
}

/// Returns the labels of the schema: the facts that must agree, and the usual metrics of the first phase that has them.
pub fn labels() -> Vec<HorreumLabel> {
    let label = |name: &str, jsonpath: String, metrics: bool| HorreumLabel {
        name: name.to_owned(),
        extractors: vec![Extractor { name: key_of(name), jsonpath, array: false }],
        filtering: !metrics,
        metrics,
    };
    let filters = FILTERS.iter().map(|name| label(name, format!("$.{name}"), false));
    let metrics = METRICS.iter().map(|name| label(name, format!("$.results.*.{}.value", key_of(name)), true));
    filters.chain(metrics).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hostile, nightly};
    use serde_json::Value;

    /// Follows a JSON path of names and `*`, and returns the first value, as Horreum does.
    fn first(document: &Value, path: &str) -> Option<Value> {
        let names = path.strip_prefix("$.").unwrap();
        names
            .split('.')
            .fold(vec![document], |found, name| {
                found
                    .into_iter()
                    .flat_map(|value| match name {
                        "*" => value.as_object().map(|all| all.values().collect::<Vec<_>>()).unwrap_or_default(),
                        name => value.get(name).into_iter().collect(),
                    })
                    .collect()
            })
            .first()
            .map(|value| (*value).clone())
    }

    // Protects: what Horreum stores and its labels read; a change of the format is seen.
    #[test]
    fn golden_document() {
        let written = serde_json::to_string_pretty(&document(&nightly())).unwrap() + "\n";
        assert_eq!(written, include_str!("../tests/golden/horreum.json"));
    }

    #[test]
    fn golden_labels() {
        let written = serde_json::to_string_pretty(&labels()).unwrap() + "\n";
        assert_eq!(written, include_str!("../tests/golden/horreum-labels.json"));
    }

    // Protects: each label finds its value in a document, and keys of different metrics differ.
    #[test]
    fn labels_find_their_values() {
        let result = nightly();
        let document = serde_json::to_value(document(&result)).unwrap();
        for label in labels().iter().filter(|label| label.filtering) {
            let found = first(&document, &label.extractors[0].jsonpath).unwrap();
            assert!(found.is_string(), "{}: {found}", label.name);
        }
        for name in ["read.iops", "read.lat.p99"] {
            let label = labels().into_iter().find(|label| label.name == name).unwrap();
            let number = result.numbers.iter().find(|number| number.metric.to_string() == name).unwrap();
            assert_eq!(first(&document, &label.extractors[0].jsonpath), Some(Value::from(number.value)));
        }
        for name in METRICS {
            assert!(name.parse::<Metric>().is_ok(), "{name} is not a metric");
        }
        let keys: std::collections::BTreeSet<String> = Metric::all().iter().map(key).collect();
        assert_eq!(keys.len(), Metric::all().len());
        let plain =
            |key: &String| key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        assert!(keys.iter().all(plain), "{keys:?}");
    }

    // Protects: odd names of phases lose no number, and the end is never before the start.
    #[test]
    fn hostile_names_lose_nothing() {
        let mut result = hostile();
        let mut twin = result.numbers[0].clone();
        twin.phase_seq = 99;
        result.numbers.push(twin);
        let written = serde_json::to_value(document(&result)).unwrap();
        let numbers: usize =
            written["results"].as_object().unwrap().values().map(|phase| phase.as_object().unwrap().len()).sum();
        assert_eq!(numbers, result.numbers.len());
        assert_eq!(stop("2026-11-30T09:00:00Z", 2_500_000_000), "2026-11-30T09:00:02.5Z");
        assert_eq!(stop("never", 5), "never");
        assert_eq!(stop("2026-11-30T09:00:00Z", u64::MAX), "2026-11-30T09:00:00Z");
    }
}
