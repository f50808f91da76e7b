//! Formats for pipelines: TAP 14 (<https://testanything.org/tap-version-14-specification.html>), JUnit XML,
//! and annotations for GitHub Actions.

use super::failure;
use crate::gate::github::{data, property};
use crate::gate::junit::{failed, print, skipped, xml};
use plumb_result::{Conformance, PosixCase, PosixOutcome};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

/// Formats a test point: a number and a name in one line. Descriptions escape `#` and `\`, as the specification requires.
fn point(number: usize, case: &PosixCase, is_ok: bool) -> String {
    let not = if is_ok { "" } else { "not " };
    format!("{not}ok {number} - {}", in_line(&case.id))
}

fn in_line(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('#', "\\#");
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Formats a YAML scalar in double quotes.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(c) & 0xff)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Formats TAP 14: skipped cases are `# SKIP`; expected failures, and failures of levels that were
/// not requested, are `# TODO`.
pub fn tap(conformance: &Conformance) -> String {
    let mut text = format!("TAP version 14\n1..{}\n", conformance.cases.len());
    for (index, case) in conformance.cases.iter().enumerate() {
        let line = |is_ok: bool| point(index + 1, case, is_ok);
        let reason = in_line(&failure(case));
        let line = match case.outcome {
            PosixOutcome::Pass => line(true),
            PosixOutcome::Skip | PosixOutcome::Blocked | PosixOutcome::Timeout => {
                format!("{} # SKIP {reason}", line(true))
            }
            PosixOutcome::ExpectedFail => format!("{} # TODO {}", line(false), in_line(&case.reason)),
            PosixOutcome::UnexpectedPass => format!("{} # TODO {}", line(true), in_line(&case.reason)),
            _ if conformance.counts(case) => line(false),
            _ => format!("{} # TODO level {} was not requested", line(false), case.level),
        };
        text.push_str(&format!("{line}\n"));
        if case.outcome.is_failure() || case.outcome == PosixOutcome::ExpectedFail {
            text.push_str(&format!("  ---\n  message: {}\n", quoted(&failure(case))));
            if !case.calls.is_empty() {
                text.push_str("  calls:\n");
                text.extend(case.calls.iter().map(|call| format!("    - {}\n", quoted(call))));
            }
            text.push_str("  ...\n");
        }
    }
    text
}

/// Returns one test suite with a test for each case. Blocked cases are `skipped`, with the case that reports the
/// cause; failures of levels that were not requested are `skipped` too.
pub fn junit(conformance: &Conformance) -> String {
    let name = format!("plumb posix: {} at {}", conformance.filesystem, conformance.path);
    let mut suite = TestSuite::new(xml(&name));
    for case in &conformance.cases {
        let (class, rest) = case.id.split_once('.').unwrap_or((&case.id, &case.id));
        let detail = failure(case);
        let status = if is_skipped(conformance, case) {
            let reason = if case.reason.is_empty() { &detail } else { &case.reason };
            skipped(&format!("{}: {reason}", case.outcome.name()))
        } else if conformance.counts(case) {
            let kind = if is_error(case) { NonSuccessKind::Error } else { NonSuccessKind::Failure };
            failed(kind, &case.level, &detail, Some(&case.calls.join("\n")))
        } else {
            TestCaseStatus::success()
        };
        let mut test = TestCase::new(xml(rest), status);
        test.set_classname(xml(&format!("plumb.posix.{class}")));
        suite.add_test_case(test);
    }
    print("plumb posix", suite, conformance.seconds)
}

fn is_error(case: &PosixCase) -> bool {
    case.outcome == PosixOutcome::Broken
}

fn is_skipped(conformance: &Conformance, case: &PosixCase) -> bool {
    match case.outcome {
        PosixOutcome::Skip | PosixOutcome::Blocked | PosixOutcome::Timeout | PosixOutcome::ExpectedFail => true,
        outcome => outcome.is_failure() && !conformance.counts(case),
    }
}

/// Returns an error for each case that counts, and a warning for each that did not finish in time or passed
/// unexpectedly; a notice if all are well.
pub fn annotations(conformance: &Conformance) -> String {
    let line = |kind: &str, title: &str, text: &str| format!("::{kind} title={}::{}\n", property(title), data(text));
    let mut text = String::new();
    for case in &conformance.cases {
        if conformance.counts(case) {
            let title = format!("plumb posix: {} {}", case.outcome.name(), case.id);
            text.push_str(&line("error", &title, &failure(case)));
        } else if case.outcome == PosixOutcome::Timeout {
            text.push_str(&line("warning", &format!("plumb posix: not judged {}", case.id), &failure(case)));
        } else if case.outcome == PosixOutcome::UnexpectedPass {
            text.push_str(&line("warning", &format!("plumb posix: unexpected pass {}", case.id), &case.reason));
        }
    }
    if text.is_empty() {
        let wording = format!("{} of {} cases passed", conformance.count(PosixOutcome::Pass), conformance.cases.len());
        text = line("notice", &format!("plumb posix: {} conforms", conformance.filesystem), &wording);
    }
    text
}
