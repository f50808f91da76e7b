//! Tests of the command line.

use super::goldens::Described;
use crate::iostat::{
    Action, Columns, DataUnit, IostatSettings, IostatUsageError, OPTIONS, OtherPlace, TableLayout, USAGE, Which, read,
};
use proptest::prelude::*;

fn parse(line: &str) -> Result<Action, IostatUsageError> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    read(&words, false, &mut Described)
}

fn settings(line: &str) -> IostatSettings {
    match parse(line) {
        Ok(Action::Report(settings)) => *settings,
        other => panic!("{line}: {other:?}"),
    }
}

// Protects: the meaning of each argument, and defaults that depend on other arguments.
#[test]
fn words_and_what_they_mean() {
    let plain = settings("");
    assert!(plain.cpu && plain.disk && !plain.never_used);
    assert_eq!((plain.count, plain.which, plain.unit), (Some(1), Which::Whole, DataUnit::Kilobytes));
    assert_eq!((plain.columns, plain.layout), (Columns::Basic, TableLayout::Lines));
    let one = settings("-c -x sda 2 5");
    assert!(one.cpu && one.disk && one.never_used);
    assert_eq!((one.interval_s, one.count, one.which, one.columns), (2, Some(5), Which::Named, Columns::Extended));
    assert_eq!(settings("2").count, None);
    assert_eq!(settings("0").count, Some(1));
    assert_eq!(settings("sda ALL").which, Which::Whole);
    assert_eq!(settings("-p -x").which, Which::Everything);
    assert_eq!(settings("-p 5").interval_s, 5, "a number after -p is the interval");
    assert_eq!((settings("-xp").which, settings("-p ALL").which), (Which::Everything, Which::Everything));
    assert_eq!(settings("-hx").layout, TableLayout::Parts);
    assert_eq!(settings("-j Id").persistent.as_deref(), Some("id"));
    assert_eq!(settings("-f /there").other_place, Some(OtherPlace::Instead("/there".into())));
    assert_eq!(parse("-dV -Q"), Ok(Action::Version));
}

// Protects: arguments that iostat refuses are refused, with a reason that names the word.
#[test]
fn what_is_refused() {
    for (line, word) in [
        ("-Q", "-Q"),
        ("--help", "--help"),
        ("-k -m", "-k and -m"),
        ("-mk", "-k and -m"),
        ("-H sda", "-g"),
        ("-g", "-g NAME"),
        ("-o XML", "XML"),
        ("-o", "-o JSON"),
        ("--dec=3", "--dec=3"),
        ("--dec=12", "--dec=12"),
        ("1 0", "0 reports"),
        ("0 3", "interval of 0"),
        ("1 2 3", "unexpected `3`"),
        ("-f /nowhere", "-f"),
        ("-f /there +f /there", "+f"),
        ("-j", "-j"),
    ] {
        match parse(line) {
            Err(IostatUsageError::Usage(reason)) => assert!(reason.contains(word), "{line}: {reason}"),
            other => panic!("{line}: {other:?}"),
        }
    }
    assert_eq!(parse("-j none"), Err(IostatUsageError::PersistentType { given: "none".to_owned() }));
    assert!(USAGE.starts_with("Usage: iostat [ options ]") && USAGE.lines().count() == 7);
}

// Protects: the parser accepts everything that completion offers.
#[test]
fn every_option_of_the_table_is_known() {
    for option in OPTIONS {
        let name = option.written();
        let value = match name.as_str() {
            "-p" => "sda",
            "-j" => "ID",
            "-f" | "+f" => "/there",
            "-H" => "-g x",
            _ => option.takes.value(),
        };
        let line = format!("{name} {value}");
        assert!(parse(&line).is_ok(), "{line}: {:?}", parse(&line));
    }
    // Every letter and every long word of the usage is in the table.
    for word in USAGE.split_whitespace().filter(|word| word.starts_with(['-', '+']) && word.len() > 1) {
        let word = word.trim_end_matches("={");
        assert!(OPTIONS.iter().any(|option| option.written().starts_with(word)), "{word}");
    }
}

proptest! {
    // Protects: no arguments cause a panic.
    #[test]
    fn any_words_have_an_answer(words in proptest::collection::vec("(-[a-zA-Z]{1,3}|--[a-z]{0,6}=?[0-9]?|[0-9]{0,22}|[a-z,!/]{0,6}|\\PC{0,4})", 0..6)) {
        let _ = read(&words, true, &mut Described);
    }
}
