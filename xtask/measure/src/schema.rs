//! Writes the JSON Schemas that `plumb schema` prints into `schemas/`, derived from the types, so that building Plumb
//! needs neither the types' descriptions nor the crate that derives them.

use anyhow::{Context, Result};
use plumb_trace::show::{METRICS, TABLES, Unit, identifier};
use schemars::schema_for;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

fn directory() -> PathBuf {
    xtask::tools::workspace().join("schemas")
}

/// Returns every schema by its file name.
fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("workload", plumb_workload_text::native::schema()),
        ("result", schema_for!(plumb_result::assertion::ConditionedResult<'static>).into()),
        ("fit-for", schema_for!(plumb_result::FitFor).into()),
        ("noise", schema_for!(plumb_result::Noise).into()),
        ("compare", schema_for!(plumb_result::Comparison).into()),
        ("gate", schema_for!(plumb_result::Gate).into()),
        ("sweep", schema_for!(plumb_result::Sweep).into()),
        ("rounds", schema_for!(plumb_result::RoundsResult).into()),
        ("ladder", schema_for!(plumb_result::LadderResult).into()),
        ("stream", schema_for!(plumb_result::stream::Streamed).into()),
        ("watch", schema_for!(plumb_result::watch::Watched).into()),
        ("posix", schema_for!(plumb_result::Conformance).into()),
        ("net", schema_for!(plumb_result::Network).into()),
        ("trace-sheet", trace_sheet()),
        ("trace-compare", trace_compare()),
        ("trace-fit", trace_fit()),
        ("workloads", workloads()),
        ("workload-explained", workload_explained()),
        ("uses", uses()),
        ("audit", plumb_audit::schema()),
        ("study", plumb_study::file::schema()),
        ("study-check", schema_for!(plumb_study::preflight::Preflight).into()),
        ("study-report", schema_for!(plumb_result::StudyReport).into()),
        ("audit-result", schema_for!(plumb_result::Audit).into()),
    ]
}

/// Returns the schema of `plumb trace show`, made from the same tables of numbers as the sheet.
fn trace_sheet() -> Value {
    let number = |unit: Unit| match unit {
        Unit::Share => json!({ "type": ["number", "null"], "minimum": 0.0, "maximum": 1.0 }),
        _ => json!({ "type": ["number", "null"], "minimum": 0.0 }),
    };
    let name = |name: &str, unit: Unit| identifier(name) + unit.suffix();
    let mut properties = Map::new();
    properties.insert("schema".to_owned(), json!({ "type": "string", "const": "plumb.trace-sheet/1" }));
    for (section, metric, unit) in METRICS {
        let numbers = properties.entry(identifier(section)).or_insert_with(|| {
            json!({ "type": "object", "description": "Numbers; those that are not known are absent.", "properties": {} })
        });
        numbers["properties"][name(metric, unit)] = number(unit);
    }
    for (table, key, columns) in TABLES {
        let mut row = Map::from_iter([(identifier(key), json!({ "type": "string" }))]);
        row.extend(columns.iter().map(|(column, unit)| (name(column, *unit), number(*unit))));
        let required: Vec<&String> = row.keys().collect();
        let items = json!({ "type": "object", "required": required, "properties": row });
        properties.insert(identifier(table), json!({ "type": "array", "items": items }));
    }
    let notes =
        json!({ "type": "array", "items": { "type": "string" }, "description": "What limits it, in sentences." });
    properties.insert("notes".to_owned(), notes);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "TraceSheet",
        "description": "What a recording of I/O is like.",
        "type": "object",
        "required": ["schema", "mix", "ops", "notes"],
        "properties": properties,
    })
}

/// Returns an object schema in which all fields are required. The first field names the format, if there is one.
fn object(format: Option<(&str, &str, &str)>, fields: &[(&str, Value)]) -> Value {
    let mut properties = Map::new();
    if let Some((_, schema, _)) = format {
        properties.insert("schema".to_owned(), json!({ "type": "string", "const": schema }));
    }
    properties.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    let required: Vec<&String> = properties.keys().collect();
    let mut object = json!({ "type": "object", "required": required, "properties": properties });
    if let Some((title, _, description)) = format {
        object["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
        object["title"] = title.into();
        object["description"] = description.into();
    }
    object
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn list(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn distance(description: &str) -> (&'static str, Value) {
    ("distance", json!({ "type": "number", "minimum": 0.0, "maximum": 1.0, "description": description }))
}

/// Returns the schema of `plumb trace compare`.
fn trace_compare() -> Value {
    let number = json!({ "type": "number" });
    let metric = object(
        None,
        &[
            ("section", text("The part of the sheet: `mix`, `arrivals`, `data ops`, `locality` or `files`.")),
            ("name", text("What it is, in the words of the page. Times are ns, shares 0 to 1, rates a second.")),
            ("a", number.clone()),
            ("b", number),
        ],
    );
    let apart = distance(
        "The largest difference of the shares of ops up to any value; of miss ratio curves, the mean difference.",
    );
    let distribution = object(None, &[("name", text("Of what.")), apart]);
    object(
        Some(("TraceComparison", "plumb.trace-compare/1", "How two recordings of I/O differ: numbers that both have.")),
        &[("metrics", list(&metric)), ("distributions", list(&distribution))],
    )
}

/// Returns the schema of `plumb trace fit`.
fn trace_fit() -> Value {
    let verdict = json!({ "type": "string", "enum": ["pass", "warn", "fail"] });
    let line = object(
        None,
        &[("name", text("What is compared.")), distance("Between the recording and the model."), ("verdict", verdict)],
    );
    let count = |description: &str| json!({ "type": "integer", "minimum": 0, "description": description });
    object(
        Some(("TraceFit", "plumb.trace-fit/1", "How like its recording a model is.")),
        &[
            ("level", json!({ "type": "integer", "minimum": 0, "maximum": 3 })),
            ("goodness", list(&line)),
            ("too_few", list(&text("A distribution of so few values that it is not compared."))),
            ("not_modelled", count("Ops that are no part of the model.")),
        ],
    )
}

fn workload_fields() -> Vec<(&'static str, Value)> {
    let banner =
        json!({ "type": ["string", "null"], "description": "The benchmark whose official result this is not." });
    vec![
        ("name", text("As `plumb run` takes it.")),
        ("about", text("What it is like.")),
        ("headline", list(&text("A metric that its page begins with."))),
        ("not_an_official_result_of", banner),
    ]
}

fn workloads() -> Value {
    object(
        Some(("Workloads", "plumb.workloads/1", "The named workloads.")),
        &[("workloads", list(&object(None, &workload_fields())))],
    )
}

/// Returns the schema of `plumb run NAME --explain`.
fn workload_explained() -> Value {
    let setting = object(
        None,
        &[
            ("part", text("The phase or group that it belongs to.")),
            ("setting", text("As it is in a workload file.")),
            ("rests_on", text("What kind of source it has.")),
            ("source", text("The source.")),
        ],
    );
    let mut fields = workload_fields();
    fields.extend([("notes", list(&text("A sentence about it."))), ("settings", list(&setting))]);
    object(
        Some(("ExplainedWorkload", "plumb.workload-explained/1", "A named workload, and where its numbers come from.")),
        &fields,
    )
}

/// Returns the schema of `plumb fit-for --list`.
fn uses() -> Value {
    let limit = list(&text("A condition, and then its source."));
    let one = object(
        None,
        &[
            ("name", text("As `plumb fit-for` takes it.")),
            ("workload", text("The named workload that it measures.")),
            ("limits", list(&limit)),
            ("note", text("What is to be known of it; empty if nothing is.")),
        ],
    );
    object(
        Some(("Uses", "plumb.uses/1", "What storage may be good enough for, with published limits.")),
        &[("uses", list(&one))],
    )
}

/// Text before each schema's own description.
const PROMISE: &str =
    "What stays the same between versions and what may be added: docs/json.md. Ignore fields that you do not know.";

fn text_of(schema: &Value) -> Result<String> {
    let mut schema = schema.clone();
    schema.as_object_mut().context("a schema is an object")?.insert("$comment".to_owned(), PROMISE.into());
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

pub(crate) fn write() -> Result<()> {
    std::fs::create_dir_all(directory())?;
    for (name, schema) in schemas() {
        let path = directory().join(format!("{name}.json"));
        std::fs::write(&path, text_of(&schema)?).with_context(|| format!("cannot write {}", path.display()))?;
    }
    // The dataclasses of the Python package follow.
    let generator = xtask::tools::workspace().join("packaging/wheel/generate.py");
    xtask::tools::run(std::process::Command::new("python3").arg(generator))
}

#[cfg(test)]
mod tests {
    // Protects: a changed type also changes the published schema.
    #[test]
    fn the_schemas_match_the_types() {
        for (name, schema) in super::schemas() {
            let path = super::directory().join(format!("{name}.json"));
            let committed = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(committed == super::text_of(&schema).unwrap(), "schemas/{name}.json: run `cargo xtask schema`");
        }
    }
}
