//! JUnit XML for CI servers: a test for each number. Format: the schema of Apache Ant's JUnit task, in the subset
//! that Jenkins, GitLab and GitHub actions agree on; `quick-junit` writes it.

use super::detail;
use plumb_result::Gate;
use plumb_result::gate::GateAnswer;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite, XmlString};
use std::time::Duration;

/// Returns one test suite. A number without an answer is `skipped`; a missing or rejected one is an `error`.
pub fn junit(gate: &Gate) -> String {
    let mut suite = TestSuite::new(xml(&format!("plumb gate: {} against {}", gate.candidate.name, gate.baseline.name)));
    for number in &gate.numbers {
        let detail = detail(number);
        let status = match number.answer {
            _ if gate.rejected => skipped("the checks rejected too many runs"),
            GateAnswer::Pass => TestCaseStatus::success(),
            GateAnswer::Regression => failed(NonSuccessKind::Failure, "regression", &detail, Some(&gate.note)),
            GateAnswer::CannotTell => skipped(&format!("{}: {detail}", number.word())),
        };
        let is_pass = number.answer == GateAnswer::Pass && !gate.rejected;
        let mut case = case(&number.workload, &format!("{} {}", number.phase, number.metric), status);
        if is_pass {
            case.set_system_out(xml(&detail));
        }
        suite.add_test_case(case);
    }
    for missing in &gate.missing {
        suite.add_test_case(case("missing", missing, failed(NonSuccessKind::Error, "missing", missing, None)));
    }
    if gate.rejected || gate.numbers.is_empty() && gate.missing.is_empty() {
        let status = failed(NonSuccessKind::Error, "rejected", &gate.note, None);
        suite.add_test_case(case("checks", "runs are accepted", status));
    }
    suite.set_system_out(xml(&format!("{} {}", gate.note, gate.promise)));
    print("plumb gate", suite, gate.seconds)
}

fn case(class: &str, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(xml(name), status);
    case.set_classname(xml(&format!("plumb.{class}")));
    case
}

/// Returns the status of a test without an answer, with the reason.
pub(crate) fn skipped(reason: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(xml(reason));
    status
}

/// Returns the status of a test that failed or could not run.
pub(crate) fn failed(kind: NonSuccessKind, what: &str, message: &str, text: Option<&str>) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(xml(what)).set_message(xml(message));
    if let Some(text) = text {
        status.set_description(xml(text));
    }
    status
}

/// Returns the file of one suite, which took `seconds`.
pub(crate) fn print(name: &str, mut suite: TestSuite, seconds: f64) -> String {
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    suite.set_time(time);
    let mut report = Report::new(name);
    report.set_time(time).add_test_suite(suite);
    // Writing into memory cannot fail.
    report.to_string().unwrap_or_default()
}

/// Escapes text for elements and attributes. XML 1.0 has no representation for control characters, not even escaped (§2.2),
/// so they become U+FFFD: `quick-junit` would remove them together with the end of an escape sequence. Line breaks stay.
pub(crate) fn xml(text: &str) -> XmlString {
    let storable = |c: char| match c {
        '\t' | '\r' => ' ',
        '\n' => c,
        c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => '\u{fffd}',
        c => c,
    };
    XmlString::new(text.chars().map(storable).collect::<String>())
}
