//! OpenSearch: lines for its bulk API, one document per number, and an index template.
//!
//! Bulk API: an action line and a document line for each number; each ends with a line feed, and none contains another
//! (<https://docs.opensearch.org/latest/api-reference/document-apis/bulk/>). A document's `_id` follows from its run, phase and
//! metric, so that loading a run again replaces its documents.

use crate::flat::{FlatInterval, FlatNumber, FlatResult, FlatRun, better};
use plumb_result::run::TierName;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Beginning of the names of the indices; the month follows.
const INDEX: &str = "plumb-numbers";
/// Longest text that is indexed, in characters. Lucene refuses terms of more than 32,766 bytes, and UTF-8 takes up to 4 each.
const KEYWORD_CHARS_MAX: u32 = 8191;

#[derive(Serialize)]
struct ActionLine<'a> {
    index: Action<'a>,
}

#[derive(Serialize)]
struct Action<'a> {
    _index: &'a str,
    _id: &'a str,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    run: RunFields<'a>,
    #[serde(flatten)]
    number: NumberFields<'a>,
}

/// The fields of the run. An unknown fact has no field.
#[derive(Serialize)]
struct RunFields<'a> {
    #[serde(rename = "@timestamp", skip_serializing_if = "Option::is_none")]
    timestamp: Option<&'a str>,
    run: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filesystem: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a str>,
    tool: &'a str,
    workload: &'a str,
    verdict: &'static str,
    partial: bool,
    tags: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    study: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plot: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<u32>,
    /// `NAME=LEVEL` for each factor of the study: fields named by a study would make a mapping grow without bound.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    factors: Vec<String>,
}

#[derive(Serialize)]
struct NumberFields<'a> {
    phase: &'a str,
    metric: String,
    unit: &'static str,
    better: &'static str,
    value: f64,
    #[serde(flatten)]
    interval: Option<IntervalFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<TierName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_share: Option<f64>,
}

#[derive(Serialize)]
struct IntervalFields {
    lo: f64,
    hi: f64,
    confidence: f64,
}

/// Writes the lines of a run's numbers.
///
/// # Errors
/// Returns an error if they cannot be written.
pub fn write_bulk(result: &FlatResult, out: &mut impl Write) -> io::Result<()> {
    let started = timestamp(&result.run);
    let month =
        started.map_or_else(|| "unknown".to_owned(), |time| time.to_string().get(..7).unwrap_or("").replace('-', "."));
    let index = format!("{INDEX}-{month}");
    for number in &result.numbers {
        let id = format!("{}-{}-{}", result.run.id, number.phase_seq, number.metric);
        serde_json::to_writer(&mut *out, &ActionLine { index: Action { _index: &index, _id: &id } })?;
        out.write_all(b"\n")?;
        let document = Document { run: run_fields(&result.run), number: number_fields(number) };
        serde_json::to_writer(&mut *out, &document)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn timestamp(run: &FlatRun) -> Option<jiff::Timestamp> {
    run.started_at.parse().ok()
}

fn run_fields(run: &FlatRun) -> RunFields<'_> {
    let study = run.study.as_ref();
    RunFields {
        timestamp: timestamp(run).map(|_| run.started_at.as_str()),
        run: &run.id,
        host: run.site.host.as_deref(),
        kernel: run.site.kernel.as_deref(),
        filesystem: run.site.filesystem.as_deref(),
        device: run.site.device.as_deref(),
        place: run.site.place.as_deref(),
        tool: &run.tool,
        workload: &run.workload,
        verdict: run.verdict.name(),
        partial: run.partial,
        tags: &run.tags,
        study: study.map(|study| study.name.as_str()),
        plot: study.map(|study| study.plot),
        repeat: study.map(|study| study.repeat),
        factors: study.map_or_else(Vec::new, |study| {
            study.factors.iter().map(|(name, level)| format!("{name}={level}")).collect()
        }),
    }
}

fn number_fields(number: &FlatNumber) -> NumberFields<'_> {
    let fields = |one: FlatInterval| IntervalFields { lo: one.lo, hi: one.hi, confidence: one.confidence };
    NumberFields {
        phase: &number.phase,
        metric: number.metric.to_string(),
        unit: number.metric.unit().symbol(),
        better: better(number.metric),
        value: number.value,
        interval: number.interval.map(fields),
        n: number.n,
        tier: number.tier,
        device_share: number.device_share,
    }
}

/// Returns the index template: the types of all fields, for each index that [`write_bulk`] names.
pub fn template() -> Value {
    let keyword = json!({ "type": "keyword", "ignore_above": KEYWORD_CHARS_MAX });
    let mut fields = serde_json::Map::new();
    fields.insert("@timestamp".to_owned(), json!({ "type": "date" }));
    let texts = [
        "run",
        "host",
        "kernel",
        "filesystem",
        "device",
        "place",
        "tool",
        "workload",
        "verdict",
        "tags",
        "study",
        "factors",
        "phase",
        "metric",
        "unit",
        "better",
        "tier",
    ];
    fields.extend(texts.map(|name| (name.to_owned(), keyword.clone())));
    fields.extend(
        ["value", "lo", "hi", "confidence", "device_share"].map(|name| (name.to_owned(), json!({ "type": "double" }))),
    );
    fields.extend(["plot", "repeat"].map(|name| (name.to_owned(), json!({ "type": "integer" }))));
    fields.insert("n".to_owned(), json!({ "type": "long" }));
    fields.insert("partial".to_owned(), json!({ "type": "boolean" }));
    json!({
        "index_patterns": [format!("{INDEX}-*")],
        "priority": 200,
        "version": 1,
        "_meta": { "description": "numbers of plumb export --opensearch" },
        "template": {
            "settings": { "index": { "number_of_shards": 1 } },
            // A later version's fields stay in the document and do not change the mapping.
            "mappings": { "dynamic": false, "properties": fields },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hostile, nightly};

    fn lines(result: &FlatResult) -> Vec<String> {
        let mut out = Vec::new();
        write_bulk(result, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'));
        text.lines().map(str::to_owned).collect()
    }

    // Protects: what a loaded index looks like; a change of the format is seen.
    #[test]
    fn golden_lines() {
        let written = lines(&nightly()).join("\n") + "\n";
        assert_eq!(written, include_str!("../tests/golden/opensearch.ndjson"));
    }

    #[test]
    fn golden_template() {
        let written = serde_json::to_string_pretty(&template()).unwrap() + "\n";
        assert_eq!(written, include_str!("../tests/golden/opensearch-template.json"));
    }

    // Protects: a name cannot break a bulk request: pairs of lines that parse, ids within the limit and distinct.
    #[test]
    fn every_pair_of_lines_is_valid() {
        for result in [nightly(), hostile()] {
            let lines = lines(&result);
            assert_eq!(lines.len(), 2 * result.numbers.len());
            let mut ids: Vec<String> = Vec::new();
            for pair in lines.chunks(2) {
                let action: Value = serde_json::from_str(&pair[0]).unwrap();
                let id = action["index"]["_id"].as_str().unwrap();
                assert!(id.len() <= 512, "{id}");
                let index = action["index"]["_index"].as_str().unwrap();
                // Lower case, without the characters that names of indices must not have.
                assert!(index.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.')), "{index}");
                let document: Value = serde_json::from_str(&pair[1]).unwrap();
                assert!(document["value"].is_f64() && document["run"] == *result.run.id, "{document}");
                ids.push(id.to_owned());
            }
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), result.numbers.len());
        }
    }

    // Protects: no field of a document is missing from the template, where it could not be searched.
    #[test]
    fn the_template_types_every_field() {
        let template = template();
        let types = template["template"]["mappings"]["properties"].as_object().unwrap();
        let mut result = nightly();
        result.numbers[0].interval = Some(FlatInterval { lo: 1.0, hi: 2.0, confidence: 0.95 });
        let document: Value = serde_json::from_str(&lines(&result)[1]).unwrap();
        let fields = document.as_object().unwrap();
        assert_eq!(types.len(), fields.len(), "{fields:?}");
        for (name, value) in fields {
            let wanted = match value {
                Value::Bool(_) => ["boolean"].as_slice(),
                Value::Number(_) => &["double", "long", "integer"],
                _ => &["keyword", "date"],
            };
            let found = types[name]["type"].as_str().unwrap();
            assert!(wanted.contains(&found), "{name}: {found}");
        }
    }
}
