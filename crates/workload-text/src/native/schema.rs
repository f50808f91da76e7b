//! JSON Schema of the native form.

use super::locate::FORMER;
use plumb_workload::Workload;
use serde_json::{Map, Value, json};

/// Returns the JSON Schema (2020-12) of a workload's native form, including its short forms. Editors use it
/// to complete and check TOML.
pub fn schema() -> Value {
    let mut schema = Value::from(schemars::schema_for!(Workload));
    let definitions = schema.get("$defs").cloned().unwrap_or_default();
    allow_short_forms(&mut schema, &definitions);
    if let Value::Object(root) = &mut schema {
        root.insert("title".to_owned(), json!("Plumb workload"));
    }
    schema
}

/// Allows a choice's name alone wherever all of its keys have defaults, and a bare size for the choice `fixed`. These
/// are the forms of enums that serde knows as `=` or `=fixed` ([`plumb_document`]).
fn allow_short_forms(schema: &mut Value, definitions: &Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|item| allow_short_forms(item, definitions)),
        Value::Object(object) => {
            object.values_mut().for_each(|value| allow_short_forms(value, definitions));
            let Some(Value::Array(choices)) = object.get_mut("oneOf") else { return };
            let mut short = Vec::new();
            for choice in choices.iter() {
                let Some((name, keys)) = only_property(choice) else { continue };
                if name == "fixed" {
                    short.push(keys.clone());
                } else if needs_no_keys(keys, definitions) {
                    let mut word = Map::new();
                    word.insert("const".to_owned(), json!(name));
                    if let Some(description) = choice.get("description") {
                        word.insert("description".to_owned(), description.clone());
                    }
                    short.push(Value::Object(word));
                }
            }
            let former = choices.iter().flat_map(former_names).collect::<Vec<_>>();
            choices.extend(former);
            choices.append(&mut short);
            // A validator may match a quantity's text as a choice's name too, so any match must do.
            if let Some(choices) = object.remove("oneOf") {
                object.insert("anyOf".to_owned(), choices);
            }
        }
        _ => {}
    }
}

/// Returns a choice under its former names, which are still accepted.
fn former_names(choice: &Value) -> Vec<Value> {
    let Some((name, keys)) = only_property(choice) else { return Vec::new() };
    let former = FORMER.iter().filter(|names| names[0] == name).flat_map(|names| &names[1..]);
    former
        .map(|former| {
            json!({
                "description": format!("Former name of `{name}`."),
                "type": "object",
                "properties": { *former: keys },
                "required": [former],
                "additionalProperties": false
            })
        })
        .collect()
}

/// Returns the name and keys of a choice, if the schema is a table with one key.
fn only_property(choice: &Value) -> Option<(&String, &Value)> {
    let properties = choice.get("properties")?.as_object()?;
    let required = choice.get("required")?.as_array()?;
    if properties.len() == 1 && required.len() == 1 { properties.iter().next() } else { None }
}

fn needs_no_keys(keys: &Value, definitions: &Value) -> bool {
    let resolved = match keys.get("$ref").and_then(Value::as_str) {
        Some(reference) => match reference.strip_prefix("#/$defs/").and_then(|name| definitions.get(name)) {
            Some(definition) => definition,
            None => return false,
        },
        None => keys,
    };
    let is_table = resolved.get("type").and_then(Value::as_str) == Some("object");
    is_table && resolved.get("required").and_then(Value::as_array).is_none_or(Vec::is_empty)
}
