//! Levels of a study file, and conditions on them, before they are resolved.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// A level: text, a number or a truth value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected text, a number, `true` or `false`")]
pub enum LevelForm {
    /// `true`.
    Truth(bool),
    /// `16`.
    Integer(i64),
    /// `0.5`.
    Number(f64),
    /// `"64MiB"`.
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

/// One, or a list.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected one value of the right kind, or a list of such values")]
pub enum OneOrMany<T> {
    /// One.
    One(T),
    /// Several.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// Each.
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

/// What levels name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Binds {
    /// Hosts.
    Host,
    /// Workloads.
    Workload,
}
