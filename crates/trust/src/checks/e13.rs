use crate::check::{Check, Judge, Outcome};
use crate::comparison::ToolPrint;
use crate::evidence::ComparisonView;
use plumb_result::{Metric, Quantity, Remedy};
use std::collections::BTreeMap;

pub(crate) static CHECK: Check = Check {
    code: "E13",
    title: "Meaning changed between versions",
    what: "Whether the versions of the tool that measured the two sides mean the same by the compared numbers.",
    why: "A tool that is changed measures something else under the same name, and its history then shows a step that \
          no storage made. fio recorded completion latencies in microseconds up to 2.x and in nanoseconds from 3.0 on.",
    how: "Versions of all runs, against a table of changes. Plumb 0.1.0 is the first of its versions.",
    threshold: "a change of meaning between two versions of one tool, in a compared number, fails; versions of a tool \
                whose history is not in the table are skipped",
    settled: "Nothing to settle: changes of meaning are a table.",
    fix: &[Remedy::words("Measure both sides with one version.")],
    judges: &[Judge::Comparison(examine)],
};

/// A change of meaning from a version of a tool on.
struct Meaning {
    tool: &'static str,
    since: &'static str,
    about: fn(Metric) -> bool,
    what: &'static str,
}

/// Tools whose history is known; an entry without changes means that there were none.
const KNOWN: &[&str] = &["plumb", "fio"];

const MEANINGS: &[Meaning] = &[
    // fio, commit d6bb626 "nanosecond: update completion latency recording", released with 3.0.
    Meaning {
        tool: "fio",
        since: "3.0",
        about: |metric| matches!(metric.quantity, Quantity::Latency(_) | Quantity::Response(_)),
        what: "completion latencies are recorded in nanoseconds, no longer in microseconds",
    },
];

fn examine(view: &ComparisonView<'_>) -> Outcome {
    let mut versions: BTreeMap<&str, Vec<&ToolPrint>> = BTreeMap::new();
    for tool in view.baseline.record.tools.iter().chain(&view.candidate.record.tools) {
        let known = versions.entry(&tool.name).or_default();
        if !known.iter().any(|other| other.version == tool.version) {
            known.push(tool);
        }
    }
    if versions.is_empty() {
        return Outcome::skipped("the version that measured the sides is not recorded");
    }
    versions.retain(|_, known| known.len() > 1);
    if versions.is_empty() {
        return Outcome::pass("one version measured both sides");
    }
    for (name, known) in &versions {
        let list = || known.iter().map(|tool| tool.version.as_str()).collect::<Vec<_>>().join(" and ");
        let between = |meaning: &&Meaning| {
            let after = |tool: &&ToolPrint| number(&tool.version) >= number(meaning.since);
            meaning.tool == *name && known.iter().any(after) && !known.iter().all(after)
        };
        let compared = |meaning: &&Meaning| view.numbers.iter().any(|number| (meaning.about)(number.metric));
        if let Some(meaning) = MEANINGS.iter().find(|meaning| between(meaning) && compared(meaning)) {
            let message =
                format!("Versions {} of {name} differ in meaning: since {}, {}.", list(), meaning.since, meaning.what);
            return Outcome::fail(format!("{name} {}", list()), message);
        }
        if !KNOWN.contains(name) {
            return Outcome::skipped(format!("the changes of {name} between versions {} are not known", list()));
        }
    }
    let list: Vec<String> = versions.keys().map(|name| format!("versions of {name}")).collect();
    Outcome::pass(format!("{}, with the same meaning", list.join(", ")))
}

/// Returns the numbers of a version, from its first digit on: 3, 36 for `fio-3.36-dirty`.
fn number(version: &str) -> Vec<u64> {
    let start = version.find(|c: char| c.is_ascii_digit()).unwrap_or(version.len());
    let digits = version[start..].split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
    digits.split('.').filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Both, Number};
    use plumb_result::Level;

    fn level(tool: &str, one: &str, other: &str, metric: &str) -> Option<Level> {
        let print = |version: &str| ToolPrint { name: tool.to_owned(), version: version.to_owned(), dialect: None };
        let both = Both::equal().with(|both| {
            both.records[0].tools.push(print(one));
            both.records[1].tools.push(print(other));
            both.numbers.push(Number::new(metric, &[1.0; 6], &[1.0; 6]));
        });
        both.level("E13")
    }

    #[test]
    fn a_change_of_meaning_fails_for_the_numbers_that_it_is_about() {
        assert_eq!(level("fio", "fio-2.21", "fio-3.36-dirty", "read.lat.p99"), Some(Level::Fail));
        assert_eq!(level("fio", "fio-2.21", "fio-3.36", "read.bw"), Some(Level::Pass));
        assert_eq!(level("fio", "fio-3.1", "fio-3.36", "read.lat.p99"), Some(Level::Pass));
        assert_eq!(level("plumb", "0.1.0", "0.1.0", "read.lat.p99"), Some(Level::Pass));
    }

    #[test]
    fn a_tool_with_an_unknown_history_is_skipped() {
        assert_eq!(level("iozone", "3.429", "3.506", "read.bw"), Some(Level::Skipped));
        assert_eq!(Both::equal().level("E13"), Some(Level::Skipped));
    }

    #[test]
    fn versions_are_numbers() {
        assert!(number("fio-3.9") < number("fio-3.36-14-gabc"));
        assert_eq!(number("unknown"), Vec::<u64>::new());
    }
}
