//! The rules of an audit: what each looks for, and the check it belongs to.

use crate::claims;
use crate::form::Study;
use crate::view::{CellView, View};
use plumb_result::{AuditFinding, Level};

mod arithmetic;
mod commands;
mod moved;
mod postmark;
mod sample;
mod sides;

pub(crate) use sample::by_chance;

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
    pub(crate) look: Look,
}

/// When a rule is applied.
pub(crate) enum Look {
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

/// Every rule, in the order of the codes.
pub static RULES: &[&Rule] = &[
    &moved::READ_FROM_MEMORY,
    &moved::NOT_FLUSHED,
    &commands::ONE_FLUSH,
    &claims::CACHE_REMAINS,
    &moved::IMPOSSIBLE_RATE,
    &moved::ZERO_BYTES,
    &moved::SQUEEZABLE,
    &moved::WORKING_SET,
    &claims::NOT_BEYOND_MEMORY,
    &sides::ALIGNMENT,
    &commands::RESYNC,
    &commands::BUFFER,
    &sides::VIRTUAL,
    &sides::CONFOUNDED,
    &sides::BRINGS_ALONG,
    &sides::BUILD,
    &sides::FLUSH_RULES,
    &sides::LAYERS,
    &sides::SIZES,
    &sides::VERSION_NOT_STATED,
    &postmark::DEFAULTS,
    &sample::FEW_RUNS,
    &sample::NO_SPREAD,
    &claims::BENEATH_NOISE,
    &claims::NOT_REPEATED,
    &moved::AVERAGE,
    &sample::ORDER,
    &postmark::CLOCK,
    &sample::DRAWN_AS_ZERO,
    &sample::SELECTED,
    &sample::UNUSED,
    &arithmetic::UNIT,
    &arithmetic::MIXED_UNITS,
    &arithmetic::POINT_MOVED,
    &arithmetic::HEADING,
    &claims::DIRECTION,
    &postmark::WHOLE_RUN,
    &postmark::ONE_MEASUREMENT,
    &sides::TOOL_GENERATIONS,
    &arithmetic::RATE,
    &claims::DIFFERENCE,
    &arithmetic::QUOTED,
    &commands::DESTROYS,
    &commands::SWAPPED,
    &commands::IDLE_OPTION,
    &commands::MISREAD_OPTION,
    &commands::CANNOT_RUN,
    &postmark::PARAMETERS,
    &postmark::MOVED,
    &arithmetic::EXCHANGED,
    &claims::CONTRADICTED,
];

/// Everything that the rules of a whole study find.
pub(crate) fn findings(view: &View<'_>) -> Vec<AuditFinding> {
    let mut found: Vec<AuditFinding> = Vec::new();
    for rule in RULES {
        if let Look::Study(look) = rule.look {
            found.extend(look(view).into_iter().map(|draft| rule.finding(draft)));
        }
    }
    found
}

impl Rule {
    pub(crate) fn finding(&self, draft: Draft) -> AuditFinding {
        let mut cells = draft.cells;
        let mut seen = std::collections::BTreeSet::new();
        cells.retain(|cell| seen.insert(cell.clone()));
        AuditFinding {
            code: self.code.to_owned(),
            rule: self.name.to_owned(),
            level: draft.level,
            cells,
            observed: draft.observed,
            message: draft.message,
            remedy: self.fix.to_owned(),
        }
    }
}

fn ids<'a, 'v: 'a>(cells: impl IntoIterator<Item = &'a CellView<'v>>) -> Vec<String> {
    cells.into_iter().map(|cell| cell.id()).collect()
}

/// What a side is called in sentences.
pub(crate) fn side_name<'a>(study: &'a Study, id: &'a str) -> &'a str {
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
fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// Groups items by a key, in their first order.
fn grouped<K: PartialEq, T>(items: impl IntoIterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<(K, Vec<T>)> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Findings are told apart by code and rule, in tests and by whoever reads the JSON.
    #[test]
    fn every_rule_has_a_name_of_its_own_and_its_words() {
        let mut names = BTreeSet::new();
        for rule in RULES {
            assert!(names.insert((rule.code, rule.name)), "{} {} is there twice", rule.code, rule.name);
            for words in [rule.what, rule.fix] {
                assert!(words.ends_with('.') && !words.contains(". "), "{}: {words}", rule.name);
            }
        }
        let key = |rule: &&Rule| {
            let family = rule.code.as_bytes()[0];
            (family == b'P', family, rule.code[1..].parse::<u32>().unwrap())
        };
        assert!(RULES.is_sorted_by_key(key));
    }
}
