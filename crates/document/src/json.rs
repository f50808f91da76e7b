//! Reading and writing of documents as JSON.

use crate::error::{ReadError, WriteError};
use crate::node::{Node, Spanned, Table, Value};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fmt;

/// Error from reading JSON text as a type.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// The text is not JSON.
    #[error(transparent)]
    Syntax(#[from] serde_json::Error),
    /// The JSON does not fit the type.
    #[error(transparent)]
    Shape(#[from] ReadError),
}

impl JsonError {
    /// Returns `true` if the text ends before its value does, so that the rest was never written.
    pub fn is_cut_off(&self) -> bool {
        matches!(self, JsonError::Syntax(error) if error.is_eof())
    }
}

/// Parses JSON text. Values have no positions; errors of shape identify them by path.
///
/// # Errors
/// Fails for text that is not JSON.
pub fn parse(text: &[u8]) -> Result<Node, serde_json::Error> {
    serde_json::from_slice(text)
}

/// Reads a type from JSON text.
///
/// # Errors
/// Fails for text that is not JSON, and for JSON of another type.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, JsonError> {
    from_slice(text.as_bytes())
}

/// Reads a type from JSON text.
///
/// # Errors
/// Fails for text that is not JSON, and for JSON of another type.
pub fn from_slice<T: DeserializeOwned>(text: &[u8]) -> Result<T, JsonError> {
    Ok(crate::read(&parse(text)?)?)
}

/// Reads a type from a JSON value.
///
/// # Errors
/// Fails for a value of another type.
pub fn from_value<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, ReadError> {
    crate::read(&node_of(value))
}

/// Writes a value as JSON on one line.
///
/// # Errors
/// Fails for a value that has no form as a document.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, WriteError> {
    Ok(compact(&crate::write(value)?))
}

/// Writes a value as the bytes of JSON on one line.
///
/// # Errors
/// Fails for a value that has no form as a document.
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, WriteError> {
    to_string(value).map(String::into_bytes)
}

/// Writes a value as JSON for people, indented by two spaces.
///
/// # Errors
/// Fails for a value that has no form as a document.
pub fn to_string_pretty<T: Serialize + ?Sized>(value: &T) -> Result<String, WriteError> {
    Ok(pretty(&crate::write(value)?))
}

/// Converts a value to a JSON value.
///
/// # Errors
/// Fails for a value that has no form as a document.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<serde_json::Value, WriteError> {
    Ok(value_of(crate::write(value)?))
}

/// Formats a document as JSON on one line. Numbers that JSON lacks become `null`.
pub fn compact(node: &Node) -> String {
    serde_json::to_string(node).unwrap_or_default()
}

/// Formats a document as JSON for people, indented by two spaces.
pub fn pretty(node: &Node) -> String {
    serde_json::to_string_pretty(node).unwrap_or_default()
}

/// Converts a JSON value to a document.
pub fn node_of(value: serde_json::Value) -> Node {
    use serde_json::Value as Json;
    Node::from(match value {
        Json::Null => Value::Null,
        Json::Bool(is) => Value::Bool(is),
        Json::Number(number) => match (number.as_i128(), number.as_f64()) {
            (Some(number), _) => Value::Integer(number),
            (None, Some(number)) => Value::Float(number),
            (None, None) => Value::Null,
        },
        Json::String(text) => Value::Text(text),
        Json::Array(list) => Value::List(list.into_iter().map(node_of).collect()),
        Json::Object(object) => {
            let mut table = Table::new();
            object.into_iter().for_each(|(key, value)| table.push(Spanned::new(0..0, key), node_of(value)));
            Value::Table(table)
        }
    })
}

/// Converts a document to a JSON value.
pub fn value_of(node: Node) -> serde_json::Value {
    use serde_json::Value as Json;
    match node.into_inner() {
        Value::Null => Json::Null,
        Value::Bool(is) => Json::Bool(is),
        Value::Integer(number) => serde_json::Number::from_i128(number).map_or(Json::Null, Json::Number),
        Value::Float(number) => Json::from(number),
        Value::Text(text) | Value::Date(text) => Json::String(text),
        Value::List(list) => Json::Array(list.into_iter().map(value_of).collect()),
        Value::Table(table) => {
            // A loop instead of `collect`, which sorts the fields and is compiled once more.
            let mut fields = serde_json::Map::new();
            for (key, node) in table {
                fields.insert(key.into_inner(), value_of(node));
            }
            Json::Object(fields)
        }
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.get_ref() {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(is) => serializer.serialize_bool(*is),
            Value::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => serializer.serialize_i64(number),
                (_, Ok(number)) => serializer.serialize_u64(number),
                _ => serializer.serialize_i128(*number),
            },
            Value::Float(number) => serializer.serialize_f64(*number),
            Value::Text(text) | Value::Date(text) => serializer.serialize_str(text),
            Value::List(list) => serializer.collect_seq(list),
            Value::Table(table) => {
                let mut map = serializer.serialize_map(Some(table.len()))?;
                for (key, node) in table {
                    map.serialize_entry(key.get_ref(), node)?;
                }
                map.end()
            }
        }
    }
}

/// Parses a document. Reading a part of a parsed document this way loses the positions of its values.
impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(Parts).map(Node::from)
    }
}

struct Parts;

impl<'de> Visitor<'de> for Parts {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, is: bool) -> Result<Value, E> {
        Ok(Value::Bool(is))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Integer(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = elements.next_element()? {
            list.push(node);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut table = Table::new();
        while let Some((key, node)) = entries.next_entry()? {
            table.push(Spanned::new(0..0, key), node);
        }
        Ok(Value::Table(table))
    }
}
