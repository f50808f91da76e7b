//! Validates a JSON document against a JSON Schema, for the keywords that Plumb's schemas use and no others.

use serde_json::Value;

/// Keywords that do not constrain a document.
const SILENT: &[&str] = &["$schema", "$comment", "$defs", "title", "description", "default"];

/// Returns every violation of a schema in a document.
pub fn problems(schema: &Value, document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, document, "$", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let Value::Object(words) = schema else {
        if schema == &Value::Bool(false) {
            found.push(format!("{place}: nothing is allowed here"));
        }
        return;
    };
    for (word, rule) in words {
        match word.as_str() {
            silent if SILENT.contains(&silent) => {}
            "$ref" => {
                let path = rule.as_str().unwrap().strip_prefix('#').expect("references stay in the document");
                let target = root.pointer(path).unwrap_or_else(|| panic!("{rule} is not there"));
                check(root, target, value, place, found);
            }
            "type" => {
                let names: Vec<&str> = match rule {
                    Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                    name => name.as_str().into_iter().collect(),
                };
                if !names.iter().any(|name| is_of_type(value, name)) {
                    found.push(format!("{place}: {value} is not {names:?}"));
                }
            }
            "enum" => {
                if !rule.as_array().unwrap().contains(value) {
                    found.push(format!("{place}: {value} is not one of {rule}"));
                }
            }
            "const" => {
                if rule != value {
                    found.push(format!("{place}: {value} is not {rule}"));
                }
            }
            "required" => {
                for name in rule.as_array().unwrap().iter().filter_map(Value::as_str) {
                    if value.is_object() && value.get(name).is_none() {
                        found.push(format!("{place}: `{name}` is missing"));
                    }
                }
            }
            "properties" => {
                for (name, rule) in rule.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        check(root, rule, value, &format!("{place}.{name}"), found);
                    }
                }
            }
            "additionalProperties" => {
                let known = |name: &String| words.get("properties").is_some_and(|all| all.get(name).is_some());
                for (name, value) in value.as_object().into_iter().flatten().filter(|(name, _)| !known(name)) {
                    check(root, rule, value, &format!("{place}.{name}"), found);
                }
            }
            "items" => {
                for (number, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{place}[{number}]"), found);
                }
            }
            "minimum" => {
                if value.as_f64().is_some_and(|number| number < rule.as_f64().unwrap()) {
                    found.push(format!("{place}: {value} is less than {rule}"));
                }
            }
            "maximum" => {
                if value.as_f64().is_some_and(|number| number > rule.as_f64().unwrap()) {
                    found.push(format!("{place}: {value} is more than {rule}"));
                }
            }
            "anyOf" | "oneOf" => {
                let tries: Vec<Vec<String>> = rule
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|one| {
                        let mut found = Vec::new();
                        check(root, one, value, place, &mut found);
                        found
                    })
                    .collect();
                let fits = tries.iter().filter(|problems| problems.is_empty()).count();
                if fits == 0 || (word == "oneOf" && fits > 1) {
                    found.push(format!("{place}: {fits} of {} {word} fit: {tries:?}", tries.len()));
                }
            }
            "format" => {}
            unknown => panic!("{place}: the schema says `{unknown}`, which this test does not know"),
        }
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type `{other}`"),
    }
}
