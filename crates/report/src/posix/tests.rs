use super::*;
use crate::Style;
use plumb_result::posix::POSIX_SCHEMA;
use plumb_result::run::Tool;
use plumb_result::{Conformance, PosixCase, PosixOutcome};
use std::collections::BTreeMap;

fn case(id: &str, level: &str, outcome: PosixOutcome) -> PosixCase {
    PosixCase {
        id: id.to_owned(),
        level: level.to_owned(),
        outcome,
        checks: 2,
        failed: u32::from(outcome.is_failure()),
        what: "mode of f".to_owned(),
        expected: "0755".to_owned(),
        got: "<\"0777\"> # & %\n::error::x".to_owned(),
        reason: "no-feature: none".to_owned(),
        url: String::new(),
        by: "make.link".to_owned(),
        calls: vec!["syscall(SYS_fchmodat, AT_FDCWD, \"f\", 0755); /* 0 */".to_owned()],
    }
}

fn report(cases: Vec<PosixCase>) -> Conformance {
    Conformance {
        schema: POSIX_SCHEMA.to_owned(),
        id: "0198".to_owned(),
        started_at: "2026-11-26T20:00:00Z".to_owned(),
        tool: Tool { name: "plumb".to_owned(), version: "0.1.0".to_owned() },
        path: "/mnt/<x>".to_owned(),
        filesystem: "ext4".to_owned(),
        kernel: "6.18".to_owned(),
        user: "root".to_owned(),
        level: "LINUX".to_owned(),
        seconds: 1.5,
        facts: BTreeMap::new(),
        cases,
        stopped: false,
    }
}

fn mixed() -> Conformance {
    let mut cases: Vec<PosixCase> = ["fifo", "block", "char"]
        .map(|kind| case(&format!("chmod.times[{kind}]"), "SHALL", PosixOutcome::Fail))
        .to_vec();
    cases.push(case("names.unicode", "COMMON", PosixOutcome::Fail));
    for (index, outcome) in PosixOutcome::ALL.iter().copied().enumerate().skip(1) {
        cases.push(case(&format!("rename.{index}"), "LINUX", outcome));
    }
    report(cases)
}

// Protects: one cause is one line, even if several file types show it; levels that were not requested do not fail a run.
#[test]
fn a_page_names_each_cause_once() {
    let text = page(&mixed(), false, &Style::PLAIN);
    assert_eq!(text.matches("chmod.times").count(), 2, "in the list and in the way out:\n{text}");
    assert!(text.contains("chmod.times[fifo] and 2 more"), "{text}");
    assert!(text.starts_with("ext4 breaks 3 rules of POSIX and Linux's manual: 5 cases failed."), "{text}");
    assert!(text.contains("differs COMMON names.unicode") && text.contains("1 case by make.link"), "{text}");
    let well = page(&report(vec![case("a.b", "SHALL", PosixOutcome::Pass)]), false, &Style::PLAIN);
    assert!(well.starts_with("ext4 conforms to POSIX and Linux's manual.\n"), "{well}");
}

// Protects: a run in which nothing was tested does not look like one that passed.
#[test]
fn nothing_tested_is_not_conformance() {
    let text = page(&report(vec![case("a.b", "SHALL", PosixOutcome::Skip)]), false, &Style::PLAIN);
    assert!(text.starts_with("Nothing could be tested."), "{text}");
}

// Protects: a slow machine does not make a file system fail, and the page states what to do.
#[test]
fn a_case_that_does_not_end_is_not_judged() {
    let slow = PosixCase {
        reason: "did not end within 30 s: not judged; repeat with `--limit 5m`".to_owned(),
        ..case("link.emlink", "SHALL", PosixOutcome::Timeout)
    };
    let slow = report(vec![slow, case("a.b", "SHALL", PosixOutcome::Pass)]);
    assert_eq!(slow.failures(), 0);
    let text = page(&slow, false, &Style::PLAIN);
    assert!(
        text.starts_with("ext4 breaks no rule of POSIX and Linux's manual that was judged; 1 case did not end"),
        "{text}"
    );
    assert!(text.contains("link.emlink: did not end within 30 s: not judged; repeat with `--limit 5m`"), "{text}");
    assert!(tap(&slow).contains("ok 1 - link.emlink # SKIP did not end within 30 s"), "{}", tap(&slow));
    assert!(junit(&slow).contains("skipped=\"1\" errors=\"0\" failures=\"0\""), "{}", junit(&slow));
    assert!(
        annotations(&slow).starts_with("::warning title=plumb posix%3A not judged link.emlink::"),
        "{}",
        annotations(&slow)
    );
}

#[test]
fn tap_has_its_plan_and_no_point_breaks_out() {
    let text = tap(&mixed());
    assert!(text.starts_with("TAP version 14\n1..12\n"), "{text}");
    let points: Vec<&str> =
        text.lines().filter(|line| line.starts_with("ok ") || line.starts_with("not ok ")).collect();
    assert_eq!(points.len(), 12);
    assert_eq!(points.iter().filter(|line| line.starts_with("not ok ") && !line.contains("# TODO")).count(), 5);
    assert!(text.contains("message: \"mode of f: expected 0755, got <\\\"0777\\\"> # & %\\x0a::error::x\""), "{text}");
}

#[test]
fn junit_counts_match_the_cases() {
    let xml = junit(&mixed());
    assert!(xml.contains("tests=\"12\" skipped=\"5\" errors=\"1\" failures=\"4\""), "{xml}");
    assert_eq!(xml.matches("<failure ").count() + xml.matches("<error ").count(), 5);
    assert_eq!(xml.matches("<skipped ").count(), 5);
    assert!(!xml.contains("<\"0777\">") && xml.contains("&lt;&quot;0777&quot;&gt;"));
}

#[test]
fn annotations_are_one_line_each() {
    let text = annotations(&mixed());
    assert_eq!(text.lines().count(), 7, "{text}");
    assert!(
        text.lines().all(|line| line.starts_with("::error title=") || line.starts_with("::warning title=")),
        "{text}"
    );
}

#[test]
fn a_difference_counts_new_failures_only() {
    let before = report(vec![
        case("a.same", "SHALL", PosixOutcome::Fail),
        case("a.new", "SHALL", PosixOutcome::Pass),
        case("a.fixed", "SHALL", PosixOutcome::Fail),
        case("a.gone", "SHALL", PosixOutcome::Pass),
    ]);
    let after = report(vec![
        case("a.same", "SHALL", PosixOutcome::Fail),
        case("a.new", "SHALL", PosixOutcome::Fail),
        case("a.fixed", "SHALL", PosixOutcome::Pass),
    ]);
    let difference = difference(&before, &after, &Style::PLAIN);
    assert_eq!(difference.new, 1);
    let page = difference.page;
    assert!(
        page.starts_with("1 new failure; 1 fixed.") && page.contains("only before a.gone") && !page.contains("a.same"),
        "{page}"
    );
}

#[test]
fn a_matrix_has_a_row_per_rule_and_escapes_text() {
    let html = matrix(&[mixed(), report(vec![case("chmod.times[fifo]", "SHALL", PosixOutcome::Pass)])]);
    assert_eq!(html.matches("<tr><td>chmod.times").count(), 1);
    assert!(html.contains(">0 of 3") && html.contains("&lt;x&gt;") && !html.contains("<x>"), "{html}");
}
