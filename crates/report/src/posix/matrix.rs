//! A matrix of file systems and rules, as one HTML file that needs neither network nor scripts.

use super::failure;
use plumb_result::{Conformance, PosixCase, PosixOutcome};
use plumb_text::markup::escaped;

/// Style sheet of the page.
const STYLE: &str = "body{font:14px/1.4 system-ui,sans-serif;margin:2em;color:#222;background:#fff}\
table{border-collapse:collapse}th,td{padding:2px 8px;border-bottom:1px solid #ddd;text-align:center}\
th:first-child,td:first-child{text-align:left;font-family:ui-monospace,monospace}\
thead th{position:sticky;top:0;background:#fff;vertical-align:bottom}\
.f{background:#f6b8b8}.x{background:#f9e2b0}.b{background:#e6e0f5}.s{color:#888}.p{color:#2a7a3b}\
small{color:#666}@media(prefers-color-scheme:dark){body,thead th{background:#1b1b1b;color:#ddd}\
th,td{border-color:#333}.f{background:#7a2626}.x{background:#6b5316}.b{background:#443a63}}";

/// Returns the matrix as a page.
pub fn matrix(reports: &[Conformance]) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Conformance</title><style>{STYLE}</style>\
         <h1>Conformance of {} file systems</h1>{}</html>\n",
        reports.len(),
        matrix_content(reports)
    )
}

/// Returns the matrix without the page around it. A row is a rule: cases that differ only in brackets share it. Rules that hold everywhere come last.
pub fn matrix_content(reports: &[Conformance]) -> String {
    let mut rules: Vec<&str> = Vec::new();
    for case in reports.iter().flat_map(|report| &report.cases) {
        let rule = rule(case);
        if rules.last() != Some(&rule) && !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let differs = |rule: &&str| {
        reports.iter().any(|report| cell(report, rule).is_some_and(|cell| cell.worst < PosixOutcome::Blocked))
    };
    let (some, none): (Vec<&str>, Vec<&str>) = rules.into_iter().partition(differs);
    let mut html = String::new();
    html.push_str(
        "<p>A cell with failures shows how many of the tested cases hold. Its tooltip shows the worst case.</p>\
         <table><thead><tr><th>rule",
    );
    for report in reports {
        html.push_str(&format!(
            "<th>{}<br><small>{}<br>{} as {}</small>",
            escaped(&report.filesystem),
            escaped(&report.path),
            escaped(&report.kernel),
            escaped(&report.user)
        ));
    }
    html.push_str("</thead><tbody><tr><td>all cases");
    for report in reports {
        let passed = report.count(PosixOutcome::Pass);
        html.push_str(&format!("<td><b>{passed}</b> of {}", report.cases.len() - report.count(PosixOutcome::Skip)));
    }
    for (title, rules) in [("Rules that are broken somewhere", some), ("Rules without failures", none)] {
        html.push_str(&format!("<tr><th colspan=\"{}\">{title}: {}", reports.len() + 1, rules.len()));
        for rule in rules {
            html.push_str(&format!("<tr><td>{}", escaped(rule)));
            for report in reports {
                html.push_str(&cell(report, rule).map_or_else(|| "<td class=\"s\">–".to_owned(), |cell| cell.html()));
            }
        }
    }
    html.push_str("</tbody></table>");
    html
}

fn rule(case: &PosixCase) -> &str {
    case.id.split('[').next().unwrap_or(&case.id)
}

struct Cell {
    worst: PosixOutcome,
    passed: usize,
    tested: usize,
    tip: String,
}

impl Cell {
    fn html(&self) -> String {
        let (class, text) = match self.worst {
            PosixOutcome::Pass => ("p", "✓".to_owned()),
            PosixOutcome::Skip => ("s", "–".to_owned()),
            PosixOutcome::Blocked => ("b", "blocked".to_owned()),
            PosixOutcome::ExpectedFail | PosixOutcome::UnexpectedPass => {
                ("x", format!("{} of {}", self.passed, self.tested))
            }
            _ => ("f", format!("{} of {}", self.passed, self.tested)),
        };
        format!("<td class=\"{class}\" title=\"{}\">{text}", escaped(&self.tip))
    }
}

fn cell(report: &Conformance, wanted: &str) -> Option<Cell> {
    let cases: Vec<&PosixCase> = report.cases.iter().filter(|case| rule(case) == wanted).collect();
    let worst = cases.iter().min_by_key(|case| case.outcome)?;
    let is_tested = |case: &&&PosixCase| case.outcome != PosixOutcome::Skip;
    let passed =
        cases.iter().filter(|case| matches!(case.outcome, PosixOutcome::Pass | PosixOutcome::UnexpectedPass)).count();
    let tip = match worst.outcome {
        PosixOutcome::Pass => format!("{} {}", worst.level, worst.id),
        _ => format!("{} {}: {} {}", worst.level, worst.id, failure(worst), worst.url),
    };
    Some(Cell { worst: worst.outcome, passed, tested: cases.iter().filter(is_tested).count(), tip })
}
