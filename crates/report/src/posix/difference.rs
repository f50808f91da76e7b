//! Differences between two reports.

use super::failure;
use super::page::plural;
use crate::document::{self, Item, ReportPart};
use crate::style::{Ink, Style};
use plumb_result::{Conformance, PosixCase};

/// Differences for people, and their number for scripts.
pub struct Difference {
    /// The page, as text.
    pub page: String,
    /// Number of cases that fail now and did not before.
    pub new: usize,
}

/// Compares the cases of two reports by their ids.
pub fn difference(before: &Conformance, after: &Conformance, style: &Style) -> Difference {
    let find = |report: &Conformance, id: &str| -> Option<PosixCase> {
        report.cases.iter().find(|case| case.id == id).cloned()
    };
    let fails = |case: &PosixCase| case.outcome.is_failure();
    let mut items = Vec::new();
    let (mut new, mut gone) = (0, 0);
    let item = |ink, head: &str, text: String| Item { ink, head: head.to_owned(), text };
    for case in &after.cases {
        let Some(old) = find(before, &case.id) else {
            items.push(item(Ink::Faint, "only after", format!("{} ({})", case.id, case.outcome.name())));
            continue;
        };
        match (fails(&old), fails(case)) {
            (false, true) => {
                new += 1;
                let was = old.outcome.name();
                items.push(item(Ink::Bad, "new failure", format!("{}: {} (before: {was})", case.id, failure(case))));
            }
            (true, false) => {
                gone += 1;
                items.push(item(Ink::Good, "fixed", format!("{} ({})", case.id, case.outcome.name())));
            }
            (true, true) if failure(&old) != failure(case) => {
                items.push(item(
                    Ink::Caution,
                    "fails otherwise",
                    format!("{}: {}; before: {}", case.id, failure(case), failure(&old)),
                ));
            }
            (false, false) if old.outcome != case.outcome => {
                let text = format!("{}: {} → {}", case.id, old.outcome.name(), case.outcome.name());
                items.push(item(Ink::Faint, "changed", text));
            }
            _ => {}
        }
    }
    for old in &before.cases {
        if find(after, &old.id).is_none() {
            items.push(item(Ink::Faint, "only before", format!("{} ({})", old.id, old.outcome.name())));
        }
    }
    let (ink, answer) = match (new, gone, items.len()) {
        (0, 0, 0) => (Ink::Good, "The two reports agree in every case.".to_owned()),
        (0, ..) => (Ink::Good, format!("No new failures; {gone} fixed.")),
        _ => (Ink::Bad, format!("{}; {gone} fixed.", plural(new, "new failure"))),
    };
    let sides = format!("{} ({}) → {} ({})", before.filesystem, before.kernel, after.filesystem, after.kernel);
    let mut parts = vec![ReportPart::Text(ink, answer), ReportPart::Text(Ink::Faint, sides)];
    if !items.is_empty() {
        parts.push(ReportPart::List(items));
    }
    Difference { page: document::terminal(&parts, style), new }
}
