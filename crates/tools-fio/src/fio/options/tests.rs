//! Tests of the whole table, and helpers for the tests of its rows.

use super::*;
use crate::fio::value::{Compat, PerDirection, ValueReading};
use crate::fio::{FioJob, tests};
use std::collections::BTreeSet;

/// A line of a job, and a predicate that holds if the option has set its field.
pub(super) type Case = (&'static str, fn(&FioJob) -> bool);

/// Returns values for reads, writes and trims.
pub(super) fn each<T>(read: T, write: T, trim: T) -> PerDirection<T> {
    PerDirection { read, write, trim }
}

/// Parses each line as a job file and checks that it sets its field, which has another value without it. Every working
/// option of the category must be listed.
pub(super) fn assert_each_sets(category: Category, cases: &[Case]) {
    let shelf = SHELVES.iter().find(|shelf| shelf.category == category).expect("each category has a shelf");
    let mut untested: BTreeSet<&str> =
        shelf.options().filter(|option| option.support == Support::Works).map(|option| option.name).collect();
    for (line, holds) in cases {
        let name = line.split('=').next().unwrap_or(line);
        let option = find(name).unwrap_or_else(|| panic!("{name} is not in the table"));
        assert!(untested.remove(option.name), "{name} is of another category, or tested twice");
        let engine = option.engines.first().unwrap_or(&"psync");
        let job = |line: &str| tests::file(&format!("[a]\nioengine={engine}\n{line}\n")).jobs.remove(0);
        assert!(!holds(&job("")), "{line}: the same holds without it");
        assert!(holds(&job(line)), "{line}: its field is not set: {:?}", job(line));
    }
    assert!(untested.is_empty(), "no line sets {untested:?}");
}

#[test]
fn no_name_means_two_options() {
    let mut seen = BTreeSet::new();
    for name in all().flat_map(|option| std::iter::once(option.name).chain(option.alias)) {
        assert!(seen.insert(name), "{name} appears twice");
    }
}

#[test]
fn used_options_are_explained_and_not_refused() {
    for option in all().filter(|option| option.tier <= UsageTier::Two) {
        let handled = matches!(option.support, Support::Works | Support::Ignored(_));
        assert!(handled, "{} must work", option.name);
        let sentence = match option.support {
            Support::Works => option.doc,
            Support::Ignored(why) | Support::NotYet(why) | Support::Never(why) => why,
        };
        assert!(sentence.ends_with('.'), "{} has no sentence", option.name);
    }
}

// Protects: `Row::initial` parses the default of the table and cannot fail.
#[test]
fn every_default_of_the_table_can_be_read() {
    for option in all() {
        let Some(text) = option.default.filter(|text| !text.is_empty()) else { continue };
        for compat in [Compat::Meant, Compat::Strict] {
            let mut doubts = Vec::new();
            let mut reading = ValueReading { compat, kb_base: 1_024, doubts: &mut doubts };
            let setting = option.read(Some(text), &mut reading);
            assert!(setting.is_ok() && doubts.is_empty(), "{}={text}: {setting:?}", option.name);
        }
    }
}

// Protects: giving an option its default value changes nothing.
#[test]
fn giving_the_default_changes_nothing() {
    let unset = tests::file("[a]\n").jobs.remove(0);
    for option in all().filter(|option| option.engines.is_empty() && option.support == Support::Works) {
        let Some(text) = option.default else { continue };
        let mut set = unset.clone();
        let mut reading = ValueReading { compat: Compat::Meant, kb_base: 1_024, doubts: &mut Vec::new() };
        option.read(Some(text), &mut reading).unwrap().apply(&mut set);
        assert_eq!(format!("{set:?}"), format!("{unset:?}"), "{}={text}", option.name);
    }
}
