//! A rule, and helpers that rules share.

use crate::form::PublishedStudy;
use crate::view::{CellView, View};
use plumb_result::Level;

/// A rule. Its code is that of the check that covers the same problem in Plumb's own runs. Codes that begin with
/// P apply to published numbers only.
pub struct Rule {
    /// `A1` … `E14`, or `P1` …
    pub code: &'static str,
    /// A word or two; stable.
    pub name: &'static str,
    /// Problem that the rule looks for, in one sentence.
    pub what: &'static str,
    /// Remedy, in one sentence.
    pub fix: &'static str,
    pub(crate) stage: AppliedTo,
}

/// Stage at which a rule is applied.
pub(crate) enum AppliedTo {
    /// To the study as a whole.
    Study(fn(&View<'_>) -> Vec<Draft>),
    /// While a claim is checked against the numbers.
    Claim,
}

/// A finding without the code and the texts of its rule.
pub(crate) struct Draft {
    pub(crate) level: Level,
    pub(crate) cells: Vec<String>,
    pub(crate) observed: String,
    pub(crate) message: String,
}

/// Returns the name of a side in sentences.
pub(crate) fn side_name<'a>(study: &'a PublishedStudy, id: &'a str) -> &'a str {
    study.side.iter().find(|side| side.id == id).and_then(|side| side.name.as_deref()).unwrap_or(id)
}

/// Formats a list: `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(names: &[String]) -> String {
    match names.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// Returns the distinct values, in order of first occurrence.
pub(super) fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// Groups items by a key, in order of first occurrence.
pub(super) fn grouped<K: PartialEq, T>(items: impl IntoIterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for item in items {
        let key = key(&item);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, members)) => members.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

pub(super) fn ids<'a, 'v: 'a>(cells: impl IntoIterator<Item = &'a CellView<'v>>) -> Vec<String> {
    cells.into_iter().map(|cell| cell.id()).collect()
}
