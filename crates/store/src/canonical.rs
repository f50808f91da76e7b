//! Canonical JSON and content addresses: the same facts have the same text, and the same text the same id.

use crate::StoreError;
use plumb_result::short_list;
use serde::Serialize;
use serde_json::Value;

/// A value as JSON.
pub(crate) fn value(what: &'static str, of: &impl Serialize) -> Result<Value, StoreError> {
    plumb_document::json::to_value(of).map_err(|source| StoreError::Json { what, source })
}

/// JSON without blanks, the keys of every object sorted by code point. Written here because whether `serde_json` sorts
/// depends on features that any other crate of the build may switch on.
pub(crate) fn text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            short_list::sort_by(&mut sorted, |(one, _), (other, _)| one.cmp(other));
            out.push('{');
            for (i, (key, value)) in sorted.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        leaf => out.push_str(&leaf.to_string()),
    }
}

/// blake3 of a text, as 64 hex digits.
pub(crate) fn address(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_order_of_keys_does_not_change_the_address() {
        let one: Value = serde_json::from_str(r#"{"b": [1, {"y": null, "x": "ä\n"}], "a": 0.5}"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"a": 0.5, "b": [1, {"x": "ä\n", "y": null}]}"#).unwrap();
        assert_eq!(text(&one), r#"{"a":0.5,"b":[1,{"x":"ä\n","y":null}]}"#);
        assert_eq!(address(&text(&one)), address(&text(&other)));
        assert_ne!(address(&text(&one)), address(&text(&json!({"a": 0.5}))));
    }
}
