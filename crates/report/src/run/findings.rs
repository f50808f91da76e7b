//! Findings of the checks, as one line each or in full.

use crate::style::{Ink, Style};
use plumb_result::{Finding, Level};

/// Largest number of findings that help at first sight.
const BRIEF_FINDINGS: usize = 3;

/// Returns warnings and failures, one for each check, most serious first: failures before warnings, and findings
/// about the measured values (A) before those about the method (B) and other activity (C).
pub(super) fn by_severity(findings: &[Finding]) -> Vec<&Finding> {
    let mut worst: Vec<&Finding> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.level >= Level::Warn) {
        if !worst.iter().any(|other| other.code == finding.code) {
            worst.push(finding);
        }
    }
    worst.sort_by_key(|finding| (std::cmp::Reverse(finding.level), place(&finding.code)));
    worst
}

/// Returns the most serious findings with their remedies, one line each, and a summary of the rest; `notes` is the
/// number of notes about phases.
pub(super) fn brief(findings: &[Finding], notes: usize, style: &Style) -> String {
    let worst = by_severity(findings);
    let mut text = String::new();
    for finding in worst.iter().take(BRIEF_FINDINGS) {
        let head = format!("{} {} ", mark(finding.level), finding.code);
        let phases = phases_of(findings.iter().filter(|other| alike(other, finding)));
        let place = if phases.is_empty() { String::new() } else { format!("{phases}: ") };
        let body = style.wrap(&format!("{head}{place}{}", first_sentence(&finding.message)), 2);
        let body = body.strip_prefix(head.as_str()).unwrap_or(&body);
        text.push_str(&format!("{}{body}\n", style.ink(level_ink(finding.level), &head)));
        if !finding.remedy.is_empty() {
            text.push_str(&format!("  {}\n", style.wrap(&format!("→ {}", in_brief(finding)), 4)));
        }
    }
    let rest = rest(findings, worst.len().saturating_sub(BRIEF_FINDINGS), notes);
    if !rest.is_empty() {
        text.push_str(&format!("{}\n", style.ink(Ink::Faint, &style.wrap(&format!("With -v: {rest}"), 2))));
    }
    text
}

/// Returns `1 more warning, 4 notes, 13 checks that lacked data in some phases`.
fn rest(findings: &[Finding], warnings: usize, notes: usize) -> String {
    let codes = |level: Level| {
        let mut codes: Vec<&str> =
            findings.iter().filter(|finding| finding.level == level).map(|finding| finding.code.as_str()).collect();
        codes.sort_by_key(|code| place(code));
        codes.dedup();
        codes.len()
    };
    let number = |number: usize, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        number => Some(format!("{number} {many}")),
    };
    [
        number(warnings, "more warning", "more warnings"),
        number(codes(Level::Note) + notes, "note", "notes"),
        number(
            codes(Level::Skipped),
            "check that lacked data in some phases",
            "checks that lacked data in some phases",
        ),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(", ")
}

fn alike(one: &Finding, other: &Finding) -> bool {
    one.code == other.code && one.level == other.level && one.message == other.message
}

/// Returns the text up to the first full stop that ends a sentence.
fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

/// Returns the first remedy, and the second one if there are several.
fn in_brief(finding: &Finding) -> String {
    let first = first_sentence(&finding.remedy);
    let rest = finding.remedy[first.len()..].trim_start();
    match finding.remedies.len() {
        0 | 1 => first.to_owned(),
        _ => format!("{first} {}", first_sentence(rest)).trim_end().to_owned(),
    }
}

fn mark(level: Level) -> &'static str {
    if level == Level::Fail { "✗" } else { "⚠" }
}

/// Formats a finding as it becomes true, without its remedy and with an aside in brackets: `fail A1  seq-read: …`.
pub fn found(finding: &Finding, aside: Option<&str>, style: &Style) -> String {
    let FoundText { head, ink, body } = FoundText::new(finding, aside, style);
    format!("{}{body}", style.ink(ink, &head))
}

/// The parts of [`found`].
pub(crate) struct FoundText {
    /// Level and code, with the space after them.
    pub(crate) head: String,
    /// Ink of the head.
    pub(crate) ink: Ink,
    /// The remaining text in lines, which are indented by the width of the head except for the first.
    pub(crate) body: String,
}

impl FoundText {
    pub(crate) fn new(finding: &Finding, aside: Option<&str>, style: &Style) -> FoundText {
        let head = head(finding);
        let phase = finding.phase.as_ref().map_or(String::new(), |phase| format!("{phase}: "));
        let aside = aside.map_or(String::new(), |aside| format!(" ({aside})"));
        let body = style.wrap(&format!("{phase}{}{aside}", finding.message), head.len());
        FoundText { head, ink: level_ink(finding.level), body }
    }
}

/// Formats the same finding in a further phase, with the observed value: `fail C1  fsync: again, 2.2 GiB by others`.
pub fn found_again(finding: &Finding, style: &Style) -> String {
    let head = head(finding);
    let phase = finding.phase.as_deref().unwrap_or("the run");
    let seen = if finding.observed.is_empty() { String::new() } else { format!(", {}", finding.observed) };
    let body = style.wrap(&format!("{phase}: again{seen}"), head.len());
    format!("{}{body}", style.ink(level_ink(finding.level), &head))
}

/// Reports that a finding printed during its phase does not hold for the whole phase.
pub fn withdrawn(finding: &Finding, style: &Style) -> String {
    let over = finding.phase.as_ref().map_or("the whole run".to_owned(), |phase| format!("all of {phase}"));
    style.wrap(&format!("{} withdrawn: it does not hold over {over}", finding.code), 0)
}

fn head(finding: &Finding) -> String {
    format!("{:4} {:3} ", finding.level.name(), finding.code)
}

fn level_ink(level: Level) -> Ink {
    match level {
        Level::Fail => Ink::Bad,
        Level::Warn => Ink::Caution,
        _ => Ink::Faint,
    }
}

/// Formats all findings, worst first: one entry for each check and level, with its phases. Leaves out passed checks,
/// and lists the checks that lacked data.
pub fn findings(findings: &[Finding], style: &Style) -> String {
    let mut text = String::new();
    let mut printed: Vec<(&str, Level)> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.level >= Level::Note) {
        let key = (finding.code.as_str(), finding.level);
        if printed.contains(&key) {
            continue;
        }
        printed.push(key);
        let same_check: Vec<&Finding> =
            findings.iter().filter(|other| (other.code.as_str(), other.level) == key).collect();
        text.push_str(&entry(finding, &same_check, style));
    }
    let mut skipped: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.level == Level::Skipped)
        .map(|finding| finding.code.as_str())
        .collect();
    skipped.sort_by_key(|code| place(code));
    skipped.dedup();
    if !skipped.is_empty() {
        let checks = if skipped.len() == 1 { "1 check" } else { &format!("{} checks", skipped.len()) };
        let line = format!("{checks} lacked data in some phases: {} (--json says why)", skipped.join(", "));
        text.push_str(&format!("  {}\n", style.ink(Ink::Faint, &style.wrap(&line, 2))));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Returns the sort key of a code: A2 comes before A10.
fn place(code: &str) -> (&str, u32) {
    let (letter, number) = code.split_at(code.len().min(1));
    (letter, number.parse().unwrap_or(0))
}

fn phases_of<'a>(findings: impl Iterator<Item = &'a Finding>) -> String {
    findings.filter_map(|finding| finding.phase.as_deref()).collect::<Vec<_>>().join(", ")
}

/// Formats the first of several findings of one check and level, with the phases of the others.
fn entry(finding: &Finding, same_check: &[&Finding], style: &Style) -> String {
    let (ink, head) = (level_ink(finding.level), head(finding));
    let here = phases_of(same_check.iter().copied().filter(|other| alike(other, finding)));
    let elsewhere = phases_of(same_check.iter().copied().filter(|other| !alike(other, finding)));
    let place = if here.is_empty() { String::new() } else { format!("{here}: ") };
    let others = if elsewhere.is_empty() { String::new() } else { format!(" Also: {elsewhere}.") };
    let body = style.wrap(&format!("{place}{}{others}", finding.message), head.len() + 2);
    let mut text = format!("  {}{body}\n", style.ink(ink, &head));
    if !finding.remedy.is_empty() && finding.level > Level::Note {
        let remedy = style.wrap(&format!("→ {}", finding.remedy), head.len() + 4);
        text.push_str(&format!("  {:indent$}{remedy}\n", "", indent = head.len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::Remedy;

    // Protects: the first page shows the remedy that needs an option, and not only the one that stops other programs.
    // A repeated finding is short and names its phase.
    #[test]
    fn a_finding_is_brief_on_the_first_page_and_when_it_comes_again() {
        let finding = Finding {
            code: "C1".to_owned(),
            level: Level::Fail,
            phase: None,
            at_ns: None,
            observed: String::new(),
            threshold: String::new(),
            message: "Others used the device.".to_owned(),
            remedy: "Stop dd. Or declare it: `--under-load`. Or wait.".to_owned(),
            remedies: vec![Remedy::words("Stop dd."), Remedy::DeclareLoad, Remedy::words("Wait.")],
        };
        let page = brief(std::slice::from_ref(&finding), 0, &Style::PLAIN);
        assert!(page.contains("→ Stop dd. Or declare it: `--under-load`.\n"), "{page}");
        let again =
            Finding { phase: Some("fsync".to_owned()), observed: "2 GiB by others".to_owned(), ..finding.clone() };
        assert_eq!(found_again(&again, &Style::PLAIN).trim_end(), "fail C1  fsync: again, 2 GiB by others");
        let only = Finding { remedies: vec![Remedy::words("Stop dd.")], ..finding };
        assert!(brief(&[only], 0, &Style::PLAIN).contains("→ Stop dd.\n"));
    }
}
