//! Levels of a study file, and conditions on them, before they are resolved.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// A level: text, a number or a truth value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected text, a number, `true` or `false`")]
pub enum LevelForm {
    /// A truth value, `true`.
    Truth(bool),
    /// A whole number, `16`.
    Integer(i64),
    /// A number with a fraction, `0.5`.
    Number(f64),
    /// Text, `"64MiB"`.
    Text(String),
}

impl fmt::Display for LevelForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LevelForm::Truth(truth) => truth.fmt(f),
            LevelForm::Integer(number) => number.fmt(f),
            LevelForm::Number(number) => number.fmt(f),
            LevelForm::Text(text) => text.fmt(f),
        }
    }
}

/// A single value, or a list.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected one value of the right kind, or a list of such values")]
pub enum OneOrMany<T> {
    /// A single value without brackets.
    One(T),
    /// A list of values.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// Returns the values; a single one as a slice of one.
    pub fn as_slice(&self) -> &[T] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        OneOrMany::Many(Vec::new())
    }
}

/// Levels of some factors: `{ system = "linux", depth = [1, 16] }`. All of them must hold.
pub type WhenLevels = BTreeMap<String, OneOrMany<LevelForm>>;

/// Kind of object that levels name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Binds {
    /// Levels name hosts.
    Host,
    /// Levels name workloads.
    Workload,
}
