//! Helpers of the audit tests; the tests themselves are in files by subject.

mod clean;
mod form;
mod planted;
mod published;

pub(crate) use clean::CLEAN;

use super::*;
use plumb_result::ClaimVerdict;
use plumb_workload_text::native::{NativeError, read_form};
use std::collections::BTreeSet;
use std::path::Path;

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../audits").join(name).with_extension("toml");
    std::fs::read_to_string(path).unwrap()
}

/// Reads a study's file as the callers of this crate do.
pub(crate) fn read(source_name: &str, text: &str) -> Result<PublishedStudy, NativeError> {
    read_form(source_name, text, problems)
}

fn audited(name: &str, text: &str) -> Audit {
    match read(name, text) {
        Ok(study) => audit(&study),
        Err(error) => panic!("{error}"),
    }
}

/// An expected finding: level, code, rule, and its cells as patterns with `*`. A pattern that begins with `!` excludes cells.
type Expected = (Level, &'static str, &'static str, &'static str);

/// Returns all cells, with and without a number.
fn cells(audit: &Audit) -> Vec<String> {
    let of_row = |row: &AuditedRow| {
        let name = format!("{}.{}", row.test, row.metric);
        row.cells.iter().map(move |cell| format!("{name}@{}", cell.side)).collect::<Vec<_>>()
    };
    audit.rows.iter().flat_map(of_row).collect()
}

fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text
            .strip_prefix(before)
            .is_some_and(|rest| (0..=rest.len()).any(|at| rest.is_char_boundary(at) && fits(after, &rest[at..]))),
    }
}

fn expand(audit: &Audit, patterns: &str) -> BTreeSet<String> {
    let all = cells(audit);
    let mut chosen = BTreeSet::new();
    for pattern in patterns.split_whitespace() {
        let (pattern, takes_away) = match pattern.strip_prefix('!') {
            Some(pattern) => (pattern, true),
            None => (pattern, false),
        };
        let matching: Vec<&String> = all.iter().filter(|cell| fits(pattern, cell)).collect();
        assert!(!matching.is_empty(), "{pattern} names no cell");
        for cell in matching {
            if takes_away {
                chosen.remove(cell)
            } else {
                chosen.insert(cell.clone())
            };
        }
    }
    chosen
}

/// Asserts that there are exactly these findings, with exactly these cells.
#[track_caller]
fn assert_findings(audit: &Audit, expected: &[Expected]) {
    let mut missing: Vec<String> = Vec::new();
    let mut left: Vec<&AuditFinding> = audit.findings.iter().collect();
    for (level, code, rule, patterns) in expected {
        let wanted = expand(audit, patterns);
        let found = left.iter().position(|finding| {
            finding.level == *level
                && finding.code == *code
                && finding.rule == *rule
                && finding.cells.iter().cloned().collect::<BTreeSet<_>>() == wanted
        });
        match found {
            Some(at) => drop(left.remove(at)),
            None => missing.push(format!("{} {code} {rule}: {patterns}", level.name())),
        }
    }
    let surplus: Vec<String> = left
        .iter()
        .map(|finding| {
            format!("{} {} {}: {}", finding.level.name(), finding.code, finding.rule, finding.cells.join(" "))
        })
        .collect();
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "not found:\n{}\n\nnot expected:\n{}",
        missing.join("\n"),
        surplus.join("\n")
    );
}

fn verdicts(audit: &Audit) -> Vec<ClaimVerdict> {
    audit.claims.iter().map(|claim| claim.verdict).collect()
}

#[track_caller]
fn assert_says(audit: &Audit, code: &str, rule: &str, words: &[&str]) {
    let found: Vec<&AuditFinding> =
        audit.findings.iter().filter(|finding| finding.code == code && finding.rule == rule).collect();
    let says = |finding: &&&AuditFinding| {
        words.iter().all(|word| finding.message.contains(word) || finding.observed.contains(word))
    };
    assert!(found.iter().any(|finding| says(&finding)), "{code} {rule} does not say {words:?}: {found:#?}");
}
