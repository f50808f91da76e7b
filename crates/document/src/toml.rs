//! Reading and writing of documents as TOML.

use crate::error::ReadError;
use crate::node::{Node, Spanned, Table, Value};
use serde::de::DeserializeOwned;
use std::ops::Range;
use toml::de::{DeTable, DeValue};
use toml_writer::{ToTomlKey, ToTomlValue};

/// Error from parsing TOML text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// Position in the text, in bytes.
    pub span: Range<usize>,
    pub message: String,
}

impl From<toml::de::Error> for SyntaxError {
    fn from(error: toml::de::Error) -> SyntaxError {
        SyntaxError { span: error.span().unwrap_or(0..0), message: error.message().to_owned() }
    }
}

/// Parses TOML text.
///
/// # Errors
/// Fails for text that is not TOML.
pub fn parse(text: &str) -> Result<Spanned<Table>, SyntaxError> {
    let table = DeTable::parse(text)?;
    Ok(Spanned::new(table.span(), table_of(table.into_inner())?))
}

/// Parses a single value, as it follows a key's `=`.
///
/// # Errors
/// Fails for text that is not a TOML value.
pub fn parse_value(text: &str) -> Result<Node, SyntaxError> {
    node_of(DeValue::parse(text)?)
}

/// Error from reading TOML text as a type.
#[derive(Debug, thiserror::Error)]
pub enum TomlError {
    /// The text is not TOML.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The TOML does not fit the type.
    #[error(transparent)]
    Shape(#[from] ReadError),
}

/// Reads a type from TOML text.
///
/// # Errors
/// Fails for text that is not TOML, and for TOML of another type.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, TomlError> {
    let table = parse(text)?;
    Ok(crate::read(&Spanned::new(table.span(), Value::Table(table.into_inner())))?)
}

fn table_of(parsed: DeTable<'_>) -> Result<Table, SyntaxError> {
    let mut table = Table::new();
    for (key, value) in parsed {
        table.push(Spanned::new(key.span(), key.into_inner().into_owned()), node_of(value)?);
    }
    Ok(table)
}

fn node_of(parsed: toml::Spanned<DeValue<'_>>) -> Result<Node, SyntaxError> {
    let span = parsed.span();
    let overflow = |what: &str| SyntaxError { span: span.clone(), message: format!("{what} number overflowed") };
    let value = match parsed.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => {
            let number = i128::from_str_radix(number.as_str(), number.radix());
            Value::Integer(number.map_err(|_| overflow("integer"))?)
        }
        DeValue::Float(number) => {
            let says_infinite = number.as_str().contains("inf");
            match number.as_str().parse::<f64>() {
                Ok(number) if number.is_finite() || number.is_nan() || says_infinite => Value::Float(number),
                _ => return Err(overflow("floating-point")),
            }
        }
        DeValue::Boolean(is) => Value::Bool(is),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(list) => Value::List(list.into_iter().map(node_of).collect::<Result<_, _>>()?),
        DeValue::Table(table) => Value::Table(table_of(table)?),
    };
    Ok(Spanned::new(span, value))
}

/// Formats a key, with quotes if TOML requires them.
pub fn key(name: &str) -> String {
    name.to_toml_key()
}

/// Formats a value on one line, as it follows a key's `=`. Omits keys without a value, because TOML has no `null`.
pub fn inline(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(is) => is.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_toml_value(),
        Value::Text(text) => text.to_toml_value(),
        Value::Date(date) => date.clone(),
        Value::List(list) => {
            let elements: Vec<String> = list.iter().map(|node| inline(node.get_ref())).collect();
            format!("[{}]", elements.join(", "))
        }
        Value::Table(table) => {
            let set = table.iter().filter(|(_, node)| *node.get_ref() != Value::Null);
            let entries: Vec<String> =
                set.map(|(name, node)| format!("{} = {}", key(name.get_ref()), inline(node.get_ref()))).collect();
            if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join(", ")) }
        }
    }
}
