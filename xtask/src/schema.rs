//! The JSON Schemas that `plumb schema` prints: written from the types into `schemas/`, so that building Plumb needs
//! neither the types' descriptions nor the crate that derives them.

use anyhow::{Context, Result};
use plumb_trace::show::{METRICS, TABLES, Unit, identifier};
use schemars::schema_for;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

fn directory() -> PathBuf {
    crate::workspace().join("schemas")
}

/// Every schema by the name of its file.
fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("workload", plumb_workload::native::schema()),
        ("result", schema_for!(plumb_result::assertion::ConditionedResult<'static>).into()),
        ("fit-for", schema_for!(plumb_result::FitFor).into()),
        ("noise", schema_for!(plumb_result::Noise).into()),
        ("compare", schema_for!(plumb_result::Comparison).into()),
        ("gate", schema_for!(plumb_result::Gate).into()),
        ("sweep", schema_for!(plumb_result::Sweep).into()),
        ("stream", schema_for!(plumb_result::stream::Streamed).into()),
        ("watch", schema_for!(plumb_result::watch::Watched).into()),
        ("posix", schema_for!(plumb_result::Conformance).into()),
        ("net", schema_for!(plumb_result::Network).into()),
        ("trace-sheet", trace_sheet()),
        ("audit", plumb_audit::schema()),
        ("study", plumb_study::file::schema()),
        ("study-check", schema_for!(plumb_study::preflight::Preflight).into()),
        ("study-report", schema_for!(plumb_result::StudyReport).into()),
        ("audit-result", schema_for!(plumb_result::Audit).into()),
    ]
}

/// What `plumb trace show` prints: made from the tables of its numbers, as the sheet itself is.
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

/// What each schema says about itself, above its own description.
const PROMISE: &str =
    "What stays the same between versions and what may be added: docs/json.md. Ignore fields that you do not know.";

fn text_of(schema: &Value) -> Result<String> {
    let mut schema = schema.clone();
    schema.as_object_mut().context("a schema is an object")?.insert("$comment".to_owned(), PROMISE.into());
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

/// Writes every schema.
pub fn write() -> Result<()> {
    std::fs::create_dir_all(directory())?;
    for (name, schema) in schemas() {
        let path = directory().join(format!("{name}.json"));
        std::fs::write(&path, text_of(&schema)?).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    // Protects: whoever changes a type changes the schema that people validate with.
    #[test]
    fn the_schemas_are_what_the_types_say() {
        for (name, schema) in super::schemas() {
            let path = super::directory().join(format!("{name}.json"));
            let said = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(said == super::text_of(&schema).unwrap(), "schemas/{name}.json: run `cargo xtask schema`");
        }
    }
}
