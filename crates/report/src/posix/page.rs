//! The page of a conformance report, for terminals and as Markdown.

use super::failure;
use crate::document::{self, Item, ReportPart};
use crate::style::{Ink, Style};
use plumb_result::{Conformance, PosixCase, PosixOutcome};
use plumb_text::markdown::escaped;

/// Largest number of failures on a page, unless all are requested.
const SHOWN: usize = 12;
/// Largest length of an expected or found text, in characters.
const TEXT_MAX: usize = 300;

/// Returns the page: whether the file system conforms, failures, expected failures, and untested cases.
pub fn page(conformance: &Conformance, verbose: bool, style: &Style) -> String {
    document::terminal(&parts(conformance, verbose, if verbose { usize::MAX } else { SHOWN }), style)
}

/// Returns the page as Markdown, for a comment in a forge.
pub fn markdown(conformance: &Conformance) -> String {
    let mark = if conformance.failures() == 0 { "✅" } else { "❌" };
    let text = document::markdown(&parts(conformance, true, usize::MAX), "").replace('@', "@<!-- -->");
    format!("### {mark} plumb posix: {}\n\n{text}", escaped(&conformance.filesystem))
}

fn is_untested(outcome: PosixOutcome) -> bool {
    matches!(outcome, PosixOutcome::Skip | PosixOutcome::Blocked | PosixOutcome::Timeout)
}

pub(super) fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn parts(conformance: &Conformance, verbose: bool, shown: usize) -> Vec<ReportPart> {
    let causes = groups(conformance, |case| conformance.counts(case));
    let failures = conformance.failures();
    let levels = match conformance.level.as_str() {
        "SHALL" => "POSIX",
        "LINUX" => "POSIX and Linux's manual",
        _ => "POSIX, Linux's manual and what is common",
    };
    let kind = &conformance.filesystem;
    let (ink, answer) = match failures {
        _ if conformance.stopped => (Ink::Caution, "Stopped before the end.".to_owned()),
        0 if conformance.cases.iter().all(|case| is_untested(case.outcome)) => {
            (Ink::Caution, "Nothing could be tested.".to_owned())
        }
        0 if conformance.count(PosixOutcome::Timeout) > 0 => {
            let open = plural(conformance.count(PosixOutcome::Timeout), "case");
            (Ink::Caution, format!("{kind} breaks no rule of {levels} that was judged; {open} did not end in time."))
        }
        0 if conformance.count(PosixOutcome::ExpectedFail) > 0 => {
            (Ink::Good, format!("{kind} conforms to {levels}, except for expected failures."))
        }
        0 => (Ink::Good, format!("{kind} conforms to {levels}.")),
        _ => {
            let causes = plural(causes.len(), "rule");
            (Ink::Bad, format!("{kind} breaks {causes} of {levels}: {} failed.", plural(failures, "case")))
        }
    };
    let counts = PosixOutcome::ALL.iter().rev().map(|outcome| (conformance.count(*outcome), outcome.name()));
    let counts: Vec<String> =
        counts.filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
    let wording = format!(
        "{}; {} in {:.1} s, as {}, Linux {}.",
        counts.join(", "),
        plural(conformance.checks() as usize, "check"),
        conformance.seconds,
        conformance.user,
        conformance.kernel
    );
    let mut parts = vec![ReportPart::Text(ink, answer), ReportPart::Text(Ink::Faint, wording)];
    let items = items(conformance, &causes, verbose, shown);
    if !items.is_empty() {
        parts.push(ReportPart::List(items));
    }
    if verbose {
        let facts = conformance.facts.iter().map(|(name, value)| (name.clone(), vec![value.clone()])).collect();
        parts.push(ReportPart::Heading("Probed properties".to_owned()));
        parts.push(ReportPart::Facts(document::FactTable { columns: vec![String::new()], rows: facts }));
    }
    if let Some(case) = causes.first().map(|group| group.cases[0]) {
        parts.push(ReportPart::Text(
            Ink::Faint,
            format!("The rule, and how to reproduce it: plumb posix explain {}", case.id),
        ));
    }
    parts
}

/// Cases that fail in the same way.
struct Group<'a> {
    cases: Vec<&'a PosixCase>,
}

impl Group<'_> {
    /// Returns `chmod.times[fifo] and 5 more`.
    fn name(&self) -> String {
        let first = &self.cases[0].id;
        match self.cases.len() {
            1 => first.clone(),
            2 => format!("{first} and {}", self.cases[1].id),
            count => format!("{first} and {} more", count - 1),
        }
    }
}

/// Returns the rule of a case: its id without the brackets.
fn rule(case: &PosixCase) -> &str {
    case.id.split('[').next().unwrap_or(&case.id)
}

/// Groups the chosen cases by rule, expected and found text, so that each cause is listed once.
fn groups<'a>(conformance: &'a Conformance, chosen: impl Fn(&PosixCase) -> bool) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for case in conformance.cases.iter().filter(|case| chosen(case)) {
        let same = |group: &&mut Group<'_>| {
            let first = group.cases[0];
            rule(first) == rule(case) && first.outcome == case.outcome && first.reason == case.reason
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.cases.push(case),
            None => groups.push(Group { cases: vec![case] }),
        }
    }
    groups
}

fn brief(text: &str) -> String {
    match text.char_indices().nth(TEXT_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn items(conformance: &Conformance, causes: &[Group<'_>], verbose: bool, shown: usize) -> Vec<Item> {
    let item = |ink, head: String, text: String| Item { ink, head, text };
    let mut items = Vec::new();
    for group in causes.iter().take(shown) {
        let case = group.cases[0];
        let head = format!("{} {}", case.outcome.name(), case.level);
        items.push(item(Ink::Bad, head, format!("{}: {}", group.name(), brief(&failure(case)))));
    }
    if causes.len() > shown {
        items.push(item(Ink::Faint, String::new(), format!("{} more rules: -v", causes.len() - shown)));
    }
    for group in groups(conformance, |case| case.outcome == PosixOutcome::Timeout) {
        let text = format!("{}: {}", group.name(), failure(group.cases[0]));
        items.push(item(Ink::Caution, PosixOutcome::Timeout.name().to_owned(), text));
    }
    let mut blocked: Vec<(&str, usize)> = Vec::new();
    for case in conformance.cases.iter().filter(|case| case.outcome == PosixOutcome::Blocked) {
        match blocked.iter_mut().find(|(by, _)| *by == case.by) {
            Some((_, count)) => *count += 1,
            None => blocked.push((&case.by, 1)),
        }
    }
    for (by, count) in blocked {
        items.push(item(Ink::Caution, "blocked".to_owned(), format!("{} by {by}", plural(count, "case"))));
    }
    // Failures of levels that were not requested, and unexpected passes.
    for group in groups(conformance, |case| case.outcome.is_failure() && !conformance.counts(case)).iter().take(shown) {
        let case = group.cases[0];
        items.push(item(
            Ink::Caution,
            format!("differs {}", case.level),
            format!("{}: {}", group.name(), brief(&failure(case))),
        ));
    }
    for group in groups(conformance, |case| case.outcome == PosixOutcome::UnexpectedPass) {
        let text = format!("{}: passes, and was expected to fail: {}", group.name(), group.cases[0].reason);
        items.push(item(Ink::Caution, "unexpected pass".to_owned(), text));
    }
    for group in groups(conformance, |case| case.outcome == PosixOutcome::ExpectedFail) {
        let case = group.cases[0];
        let url = if case.url.is_empty() { String::new() } else { format!(" ({})", case.url) };
        items.push(item(Ink::Faint, "expected".to_owned(), format!("{}: {}{url}", group.name(), case.reason)));
    }
    let mut skipped: Vec<(&str, Vec<&str>)> = Vec::new();
    for case in conformance.cases.iter().filter(|case| case.outcome == PosixOutcome::Skip) {
        match skipped.iter_mut().find(|(reason, _)| *reason == case.reason) {
            Some((_, ids)) => ids.push(&case.id),
            None => skipped.push((&case.reason, vec![&case.id])),
        }
    }
    for (reason, ids) in skipped {
        let names = if verbose { format!(" ({})", ids.join(", ")) } else { String::new() };
        items.push(item(Ink::Faint, "skipped".to_owned(), format!("{}: {reason}{names}", plural(ids.len(), "case"))));
    }
    items
}
