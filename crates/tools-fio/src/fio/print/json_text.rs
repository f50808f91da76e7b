//! JSON in fio's layout: two spaces per level, `"key" : value`, six decimals.

use super::number::float;

/// A JSON value whose objects keep the order of their keys.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum JsonValue {
    Text(String),
    Whole(u64),
    Signed(i64),
    /// A decimal, printed with six places.
    Float(f64),
    Object(JsonObject),
    Array(Vec<JsonValue>),
}

/// Members of an object, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct JsonObject(Vec<(String, JsonValue)>);

impl JsonObject {
    /// Sets a member. The value of an existing key is replaced, as a JSON reader would do.
    pub(super) fn set(&mut self, key: &str, value: impl Into<JsonValue>) -> &mut JsonObject {
        let value = value.into();
        match self.0.iter_mut().find(|(own, _)| own == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
        self
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.0.retain(|(own, _)| own != key);
    }

    /// Adds a member whose key is known to be new. Fast for many keys.
    pub(super) fn push(&mut self, key: String, value: impl Into<JsonValue>) {
        self.0.push((key, value.into()));
    }

    fn write(&self, level: usize, out: &mut String) {
        out.push_str("{\n");
        for (place, (key, value)) in self.0.iter().enumerate() {
            if place > 0 {
                out.push_str(",\n");
            }
            indent(level + 1, out);
            quote(key, out);
            out.push_str(" : ");
            value.write(level + 1, out);
        }
        out.push('\n');
        indent(level, out);
        out.push('}');
    }

    /// Formats the object, with a line end.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        self.write(0, &mut out);
        out.push('\n');
        out
    }
}

impl JsonValue {
    fn write(&self, level: usize, out: &mut String) {
        match self {
            JsonValue::Text(text) => quote(text, out),
            JsonValue::Whole(number) => out.push_str(&number.to_string()),
            JsonValue::Signed(number) => out.push_str(&number.to_string()),
            JsonValue::Float(number) => out.push_str(&float(*number)),
            JsonValue::Object(object) => object.write(level, out),
            JsonValue::Array(values) => {
                out.push_str("[\n");
                for (place, value) in values.iter().enumerate() {
                    if place > 0 {
                        out.push_str(",\n");
                    }
                    indent(level + 1, out);
                    value.write(level + 1, out);
                }
                out.push('\n');
                indent(level, out);
                out.push(']');
            }
        }
    }
}

fn indent(level: usize, out: &mut String) {
    out.extend(std::iter::repeat_n("  ", level));
}

/// Writes a string with JSON escapes (RFC 8259 §7).
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

impl From<&str> for JsonValue {
    fn from(text: &str) -> JsonValue {
        JsonValue::Text(text.to_owned())
    }
}

impl From<u64> for JsonValue {
    fn from(number: u64) -> JsonValue {
        JsonValue::Whole(number)
    }
}

impl From<u32> for JsonValue {
    fn from(number: u32) -> JsonValue {
        JsonValue::Whole(u64::from(number))
    }
}

impl From<i32> for JsonValue {
    fn from(number: i32) -> JsonValue {
        JsonValue::Signed(i64::from(number))
    }
}

impl From<f64> for JsonValue {
    fn from(number: f64) -> JsonValue {
        JsonValue::Float(number)
    }
}

impl From<JsonObject> for JsonValue {
    fn from(object: JsonObject) -> JsonValue {
        JsonValue::Object(object)
    }
}

impl From<Vec<JsonValue>> for JsonValue {
    fn from(values: Vec<JsonValue>) -> JsonValue {
        JsonValue::Array(values)
    }
}
