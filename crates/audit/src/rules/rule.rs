//! What a rule is, and what rules share.

use crate::form::PublishedStudy;
use crate::view::{CellView, View};
use plumb_result::Level;

/// One rule. Its code is that of the check which says the same of a run of Plumb's own; codes that begin with P are of
/// published numbers only.
pub struct Rule {
    /// `A1` … `E14`, or `P1` …
    pub code: &'static str,
    /// A word or two; stable.
    pub name: &'static str,
    /// What it looks for, in one sentence.
    pub what: &'static str,
    /// What would be right.
    pub fix: &'static str,
    pub(crate) look: AppliedTo,
}

/// When a rule is applied.
pub(crate) enum AppliedTo {
    /// To the study as a whole.
    Study(fn(&View<'_>) -> Vec<Draft>),
    /// While a claim is held against the numbers.
    Claim,
}

/// A finding without the words that belong to its rule.
pub(crate) struct Draft {
    pub(crate) level: Level,
    pub(crate) cells: Vec<String>,
    pub(crate) observed: String,
    pub(crate) message: String,
}

/// What a side is called in sentences.
pub(crate) fn side_name<'a>(study: &'a PublishedStudy, id: &'a str) -> &'a str {
    study.side.iter().find(|side| side.id == id).and_then(|side| side.name.as_deref()).unwrap_or(id)
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(names: &[String]) -> String {
    match names.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// The distinct values, in their first order.
pub(super) fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// Groups items by a key, in their first order.
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

/// The ids of cells.
pub(super) fn ids<'a, 'v: 'a>(cells: impl IntoIterator<Item = &'a CellView<'v>>) -> Vec<String> {
    cells.into_iter().map(|cell| cell.id()).collect()
}
