//! JSON Schemas of parts that may contain `${factor}`: build steps, and workloads.

use super::dialect::DialectForm;
use super::level_form::WhenLevels;
use super::short::{OpForm, ShortOp};
use super::workload::{FileForm, NamedForm, TraceForm};
use plumb_lab::Step;
use plumb_workload::CachePolicy;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Returns the schema of a text with `${factor}` that becomes another type once the level is known.
fn interpolated() -> Value {
    json!({ "type": "string", "pattern": "\\$\\{" })
}

/// Allows a text with `${factor}` in place of every value.
fn allow_factors(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(allow_factors),
        Value::Object(object) => {
            object.values_mut().for_each(allow_factors);
            if let Some(Value::Object(properties)) = object.get_mut("properties") {
                for (name, property) in properties.iter_mut() {
                    if name != "kind" && name != "when" {
                        *property = json!({ "anyOf": [property.clone(), interpolated()] });
                    }
                }
            }
        }
        _ => {}
    }
}

/// Returns a schema with its own definitions, in which all values may contain `${factor}`.
fn with_factors<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    let mut schema = T::json_schema(generator).to_value();
    allow_factors(&mut schema);
    schema
}

/// A build step, with the condition of the study.
pub(crate) struct ProvisionSchema;

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ProvisionSchema {
    fn schema_name() -> Cow<'static, str> {
        "Provision".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let when = generator.subschema_for::<WhenLevels>().to_value();
        // Each kind's own keys are checked when the study is planned: they refuse unknown keys, `when` too.
        let step = Step::json_schema(&mut SchemaGenerator::default()).to_value();
        let kinds: Vec<Value> = step
            .get("oneOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|kind| kind.pointer("/properties/kind/const").cloned())
            .collect();
        schema_of(json!({
            "type": "object",
            "properties": { "kind": { "enum": kinds }, "name": { "type": "string" }, "when": when },
            "required": ["kind"],
            "description": "a step of building; `when` limits it to some levels",
        }))
    }
}

/// One workload, or several by name.
pub(crate) struct WorkloadsSchema;

#[cfg(feature = "schema")]
impl schemars::JsonSchema for WorkloadsSchema {
    fn schema_name() -> Cow<'static, str> {
        "Workloads".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<WorkloadSchema>().to_value();
        schema_of(json!({ "anyOf": [one, { "type": "object", "additionalProperties": one }] }))
    }
}

struct WorkloadSchema;

#[cfg(feature = "schema")]
impl schemars::JsonSchema for WorkloadSchema {
    fn schema_name() -> Cow<'static, str> {
        "StudyWorkload".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let when = generator.subschema_for::<WhenLevels>().to_value();
        let op = with_factors::<OpForm>(generator);
        let cache = generator.subschema_for::<CachePolicy>().to_value();
        let mut forms = vec![
            with_factors::<DialectForm>(generator),
            with_factors::<NamedForm>(generator),
            with_factors::<FileForm>(generator),
            with_factors::<TraceForm>(generator),
        ];
        let mut properties = serde_json::Map::new();
        for (key, _) in ShortOp::ALL {
            properties.insert(key.to_owned(), op.clone());
        }
        properties.insert("cache".to_owned(), cache);
        properties.insert("description".to_owned(), json!({ "type": "string" }));
        forms.push(
            json!({ "type": "object", "properties": properties, "additionalProperties": false, "minProperties": 1 }),
        );
        for form in &mut forms {
            if let Some(Value::Object(properties)) = form.get_mut("properties") {
                properties.insert("when".to_owned(), when.clone());
                properties.insert("name".to_owned(), json!({ "type": "string" }));
            }
        }
        forms
            .push(json!({ "type": "object", "required": ["phase", "target"], "description": "as in a workload file" }));
        schema_of(json!({ "anyOf": forms }))
    }
}

fn schema_of(value: Value) -> Schema {
    Schema::try_from(value).unwrap_or_default()
}
