//! Canonical JSON and content addresses: equal facts have equal text, and equal text has the same id.

use crate::StoreError;
use serde::Serialize;
use serde_json::Value;

/// Converts a value to JSON. `what` names it in errors.
pub(crate) fn value(what: &'static str, of: &(impl Serialize + ?Sized)) -> Result<Value, StoreError> {
    plumb_document::json::to_value(of).map_err(|source| StoreError::Json { what, source })
}

/// Returns JSON without whitespace, with the keys of every object sorted by code point. `serde_json` cannot be relied
/// on for this: its order depends on features that any crate of the build may enable.
pub(crate) fn text(value: &Value) -> String {
    let mut out = Vec::new();
    write(value, &mut out);
    String::from_utf8(out).expect("JSON is UTF-8")
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(fields) => {
            out.push(b'{');
            if fields.keys().is_sorted() {
                write_fields(fields.iter(), out);
            } else {
                let mut sorted: Vec<_> = fields.iter().collect();
                sorted.sort_by_key(|(one, _)| *one);
                write_fields(sorted.into_iter(), out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        leaf => write_leaf(leaf, out),
    }
}

fn write_fields<'a>(fields: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut Vec<u8>) {
    for (i, (key, value)) in fields.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_leaf(key, out);
        out.push(b':');
        write(value, out);
    }
}

fn write_leaf(leaf: &(impl serde::Serialize + ?Sized), out: &mut Vec<u8>) {
    serde_json::to_writer(out, leaf).expect("memory takes text and numbers");
}

/// Returns the BLAKE3 hash of a text as 64 hex digits.
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
