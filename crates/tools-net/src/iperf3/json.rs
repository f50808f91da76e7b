//! JSON with the order and layout of the library that iperf3 uses. Its readers are mostly programs, but people
//! compare such files with `diff`.

use super::format::general;
use serde_json::Value;
use std::fmt::Write as _;

/// A value whose keys keep their order.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Bool(bool),
    Int(i64),
    /// Any number. NaN and infinities are printed as 0, because a reader that expects a number
    /// must not find another type.
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Map(Vec<(String, Json)>),
}

impl Json {
    /// Creates an object of these entries.
    pub fn map<const N: usize>(entries: [(&str, Json); N]) -> Json {
        Json::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    pub fn text(text: &str) -> Json {
        Json::Text(text.to_owned())
    }

    /// Adds an entry to an object.
    pub fn push(&mut self, key: &str, value: Json) {
        if let Json::Map(entries) = self {
            entries.push((key.to_owned(), value));
        }
    }

    /// Replaces the value of an object's entry.
    pub fn set(&mut self, key: &str, value: Json) {
        if let Json::Map(entries) = self
            && let Some(entry) = entries.iter_mut().find(|entry| entry.0 == key)
        {
            entry.1 = value;
        }
    }

    /// Converts JSON that another program sent.
    pub fn from_value(value: &Value) -> Json {
        match value {
            Value::Null => Json::Int(0),
            Value::Bool(is) => Json::Bool(*is),
            Value::Number(number) => {
                number.as_i64().map_or_else(|| Json::Number(number.as_f64().unwrap_or(0.0)), Json::Int)
            }
            Value::String(text) => Json::text(text),
            Value::Array(values) => Json::List(values.iter().map(Json::from_value).collect()),
            Value::Object(entries) => {
                Json::Map(entries.iter().map(|(key, value)| (key.clone(), Json::from_value(value))).collect())
            }
        }
    }

    /// Formats the value on one line.
    pub fn line(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, None);
        text
    }

    /// Formats the value with one line per entry.
    pub fn page(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, Some(0));
        text.push('\n');
        text
    }

    fn write(&self, text: &mut String, depth: Option<usize>) {
        match self {
            Json::Bool(is) => text.push_str(if *is { "true" } else { "false" }),
            Json::Int(number) => _ = write!(text, "{number}"),
            Json::Number(number) => write_number(text, *number),
            Json::Text(string) => write_string(text, string),
            Json::List(values) => {
                text.push('[');
                for (number, value) in values.iter().enumerate() {
                    if number > 0 {
                        text.push_str(if depth.is_some() { ", " } else { "," });
                    }
                    value.write(text, depth.map(|depth| depth + 1));
                }
                text.push(']');
            }
            Json::Map(entries) => {
                let line = |text: &mut String, more: usize| {
                    if let Some(depth) = depth {
                        text.push('\n');
                        text.extend(std::iter::repeat_n('\t', depth + more));
                    }
                };
                text.push('{');
                for (number, (key, value)) in entries.iter().enumerate() {
                    if number > 0 {
                        text.push(',');
                    }
                    line(text, 1);
                    write_string(text, key);
                    text.push_str(if depth.is_some() { ":\t" } else { ":" });
                    value.write(text, depth.map(|depth| depth + 1));
                }
                line(text, 0);
                text.push('}');
            }
        }
    }
}

fn write_number(text: &mut String, number: f64) {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return text.push_str(&(number as i64).to_string());
    }
    let short = general(if number.is_finite() { number } else { 0.0 }, 15);
    match short.parse::<f64>() {
        Ok(read) if read != number && number.is_finite() => text.push_str(&general(number, 17)),
        _ => text.push_str(&short),
    }
}

fn write_string(text: &mut String, string: &str) {
    text.push_str(&Value::from(string).to_string());
}
