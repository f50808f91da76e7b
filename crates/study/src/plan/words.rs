//! A plan in words: how a system is built.

use super::{Levels, Plot};
use plumb_lab::Step;
use serde_json::Value;

impl Plot {
    /// How it is built, in order: what the user runs before, the steps of the study file, what the user runs after.
    pub fn steps_in_words(&self) -> Vec<String> {
        let here = |texts: &[String], when: &str| {
            texts.iter().map(|text| format!("{when}, on this machine: {text}")).collect::<Vec<_>>()
        };
        let mut steps = here(&self.on_enter, "before");
        steps.extend(self.steps.iter().map(step));
        steps.extend(here(&self.on_leave, "after"));
        steps
    }
}

/// `system=a, size=4k`.
pub fn levels(levels: &Levels) -> String {
    levels.iter().map(|(name, level)| format!("{name}={level}")).collect::<Vec<_>>().join(", ")
}

/// A step in one line: its kind, and what it says.
fn step(step: &Step) -> String {
    let Ok(Value::Object(said)) = plumb_document::json::to_value(step) else { return String::new() };
    let kind = said.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let rest: Vec<String> = said
        .iter()
        .filter(|(key, _)| *key != "kind")
        .filter_map(|(key, value)| Some(format!("{key}={}", text(value)?)))
        .collect();
    format!("{kind} {}", rest.join(" ")).trim_end().to_owned()
}

/// A value as it was said; nothing where nothing was.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(values) if values.is_empty() => None,
        Value::Array(values) => Some(values.iter().filter_map(text).collect::<Vec<_>>().join(",")),
        Value::Object(_) => plumb_document::json::to_string(value).ok(),
        other => Some(other.to_string()),
    }
}
