//! Describes in words how the systems of a plan are built.

use super::{Levels, Plot};
use plumb_lab::Step;
use serde_json::Value;

impl Plot {
    /// Lists the steps that build it, in order: the user's commands before, the steps of the study
    /// file, the user's commands after.
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

/// Formats levels like `system=a, size=4k`.
pub fn levels(levels: &Levels) -> String {
    levels.iter().map(|(name, level)| format!("{name}={level}")).collect::<Vec<_>>().join(", ")
}

/// Formats a step in one line: its kind, and its options.
fn step(step: &Step) -> String {
    let Ok(Value::Object(options)) = plumb_document::json::to_value(step) else { return String::new() };
    let kind = options.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let rest: Vec<String> = options
        .iter()
        .filter(|(key, _)| *key != "kind")
        .filter_map(|(key, value)| Some(format!("{key}={}", text(value)?)))
        .collect();
    format!("{kind} {}", rest.join(" ")).trim_end().to_owned()
}

/// Formats a value as written; `None` if it is absent.
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
