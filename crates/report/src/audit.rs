//! The page of an audited study: published numbers, their problems with the worst first, and the conclusions they support.

use crate::format::{self, MISSING};
use crate::measure;
use crate::style::{Ink, Style};
use plumb_result::audit::{AuditedCell, AuditedClaim, AuditedRow};
use plumb_result::{Audit, AuditFinding, ClaimVerdict, Level, RunVerdict};

/// Amount of detail on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Findings above a note; if a finding concerns many cells, only their number.
    Brief,
    /// Every finding with every cell.
    Full,
}

/// Returns the whole page of one study.
pub fn page(audit: &Audit, detail: Detail, style: &Style) -> String {
    let mut page = head(audit, style);
    page.push_str(&published(audit, style));
    page.push_str(&findings(audit, detail, style));
    page.push_str(&claims(audit, style));
    page.push_str(&remarks("admitted by the authors", &audit.admitted, style));
    page.push_str(&remarks("not the authors' own", &audit.added, style));
    page
}

fn head(audit: &Audit, style: &Style) -> String {
    let by: Vec<String> = [audit.authors.clone(), audit.source.clone(), audit.year.map(|year| year.to_string())]
        .into_iter()
        .flatten()
        .collect();
    let by = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
    let mut text = format!("{}\n", style.ink(Ink::Strong, &style.wrap(&format!("{}{by}", audit.title), 0)));
    let standing = audit.claims.iter().filter(|claim| claim.verdict == ClaimVerdict::Stands).count();
    let count = |level| audit.findings.iter().filter(|finding| finding.level == level).count();
    let verdict = match audit.verdict {
        RunVerdict::Reject => style.ink(Ink::Bad, "reject"),
        RunVerdict::Caution => style.ink(Ink::Caution, "caution"),
        other => style.ink(Ink::Good, other.name()),
    };
    let stand = match audit.claims.len() {
        0 => "no claims".to_owned(),
        1 => format!("{standing} of 1 claim stands"),
        all => format!("{standing} of {all} claims stand"),
    };
    let (fails, warnings, notes) = (count(Level::Fail), count(Level::Warn), count(Level::Note));
    text.push_str(&format!("verdict {verdict}: {fails} fail, {warnings} warn, {notes} note; {stand}\n"));
    text
}

/// Returns the rows as a table. Units are printed with the numbers, because sides may differ in them.
fn published(audit: &Audit, style: &Style) -> String {
    let heads: Vec<String> = audit.sides.iter().map(|side| side.name.clone()).collect();
    let rows: Vec<Vec<String>> = audit.rows.iter().map(|row| line(audit, row)).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column + 1));
        let head = heads.get(column).map_or(0, |head| measure::width(head));
        cells.map(|cell| measure::width(cell)).max().unwrap_or(0).max(head)
    };
    let first = rows.iter().map(|row| measure::width(&row[0])).max().unwrap_or(0);
    let set = |name: &str, cells: &[String]| {
        let mut text = format!("  {}", measure::left(name, first));
        for (column, cell) in cells.iter().enumerate() {
            text.push_str(&format!("  {}", measure::left(cell, width(column))));
        }
        format!("{}\n", text.trim_end())
    };
    let mut text = format!("\npublished\n{}", style.ink(Ink::Faint, &set("", &heads)));
    for row in &rows {
        text.push_str(&set(&row[0], &row[1..]));
    }
    text
}

fn line(audit: &Audit, row: &AuditedRow) -> Vec<String> {
    let mut cells = vec![format!("{}.{}", row.test, row.metric)];
    for side in &audit.sides {
        cells.push(row.cells.iter().find(|cell| cell.side == side.id).map_or(MISSING.to_owned(), shown));
    }
    cells
}

/// Returns `49.02 Mbytes/sec = 51.4 MB/s` if the printed unit is not the real one.
fn shown(cell: &AuditedCell) -> String {
    let Some(published) = &cell.published else { return MISSING.to_owned() };
    match (&cell.really, cell.bytes_per_second) {
        (Some(really), Some(rate)) if !published.ends_with(really.as_str()) => {
            format!("{published} = {}", format::rate_si(rate))
        }
        _ => published.clone(),
    }
}

/// Column where the text of a finding begins.
const INDENT: usize = 13;
/// Largest number of cells that a brief page lists individually.
const CELLS_SHOWN: usize = 4;
/// Largest number of tests that are listed instead of more cells.
const TESTS_SHOWN: usize = 3;

fn findings(audit: &Audit, detail: Detail, style: &Style) -> String {
    let shown: Vec<&AuditFinding> =
        audit.findings.iter().filter(|finding| detail == Detail::Full || finding.level > Level::Note).collect();
    let mut text = String::from("\nfindings\n");
    if audit.findings.is_empty() {
        text.push_str("  none\n");
    }
    for finding in &shown {
        let ink = match finding.level {
            Level::Fail => Ink::Bad,
            Level::Warn => Ink::Caution,
            _ => Ink::Faint,
        };
        let level = style.ink(ink, &format!("{:5}", finding.level.name()));
        text.push_str(&format!("  {level} {:4} {}\n", finding.code, style.wrap(&finding.message, INDENT)));
        let rests = scope(finding, detail);
        let below = format!("{}: {rests}. {}", finding.rule, finding.remedy);
        text.push_str(&detail_line(&below, style));
    }
    let notes = audit.findings.len() - shown.len();
    if notes > 0 {
        text.push_str(&format!("  and {notes} note{} (`--notes` has all)\n", if notes == 1 { "" } else { "s" }));
    }
    text
}

fn detail_line(text: &str, style: &Style) -> String {
    let indent = " ".repeat(INDENT);
    let wrapped = style.wrap(text, INDENT);
    let lines: Vec<String> = wrapped
        .split(&format!("\n{indent}"))
        .map(|line| format!("{indent}{}\n", style.ink(Ink::Faint, line)))
        .collect();
    lines.concat()
}

fn scope(finding: &AuditFinding, detail: Detail) -> String {
    match finding.cells.as_slice() {
        [] => "the study as a whole".to_owned(),
        cells if detail == Detail::Full || cells.len() <= CELLS_SHOWN => cells.join(", "),
        cells => {
            let mut tests: Vec<&str> = cells.iter().map(|cell| cell.split('.').next().unwrap_or(cell)).collect();
            tests.dedup();
            let more = tests.len().saturating_sub(TESTS_SHOWN);
            tests.truncate(TESTS_SHOWN);
            let others = match more {
                0 => String::new(),
                1 => " and 1 more test".to_owned(),
                more => format!(" and {more} more tests"),
            };
            format!("{} numbers of {}{others}", cells.len(), tests.join(", "))
        }
    }
}

fn claims(audit: &Audit, style: &Style) -> String {
    if audit.claims.is_empty() {
        return String::new();
    }
    audit.claims.iter().fold(String::from("\nclaims\n"), |text, claim| text + &claim_lines(claim, style))
}

/// Column where the text of a claim begins.
const CLAIM_INDENT: usize = 16;

fn claim_lines(claim: &AuditedClaim, style: &Style) -> String {
    let ink = match claim.verdict {
        ClaimVerdict::Stands => Ink::Good,
        ClaimVerdict::Unsupported => Ink::Caution,
        ClaimVerdict::Contradicted => Ink::Bad,
    };
    let verdict = style.ink(ink, &format!("{:12}", claim.verdict.name()));
    let mut text = format!("  {verdict}  {}\n", style.wrap(&format!("\"{}\"", claim.text), CLAIM_INDENT));
    let indent = " ".repeat(CLAIM_INDENT);
    for reason in &claim.because {
        text.push_str(&format!("{indent}{}\n", style.wrap(reason, CLAIM_INDENT)));
    }
    if !claim.findings.is_empty() {
        let line = style.wrap(&format!("its numbers: {}", claim.findings.join(", ")), CLAIM_INDENT);
        let lines: Vec<String> = line
            .split(&format!("\n{indent}"))
            .map(|line| format!("{indent}{}\n", style.ink(Ink::Faint, line)))
            .collect();
        text.push_str(&lines.concat());
    }
    text
}

fn remarks(head: &str, remarks: &[String], style: &Style) -> String {
    if remarks.is_empty() {
        return String::new();
    }
    let lines: String = remarks.iter().map(|line| format!("  - {}\n", style.wrap(line, 4))).collect();
    format!("\n{head}\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::audit::AuditedSide;

    fn audit() -> Audit {
        let cell = |side: &str, published: Option<&str>, rate: f64, really: &str| AuditedCell {
            side: side.to_owned(),
            published: published.map(str::to_owned),
            missing: published.is_none().then(|| "failed".to_owned()),
            bytes_per_second: published.map(|_| rate),
            really: published.map(|_| really.to_owned()),
        };
        let finding = |code: &str, level, cells: usize, message: &str| AuditFinding {
            code: code.to_owned(),
            rule: "rule".to_owned(),
            level,
            cells: (0..cells).map(|at| format!("dd.write@{at}")).collect(),
            observed: String::new(),
            message: message.to_owned(),
            remedy: "Do it right.".to_owned(),
        };
        Audit {
            schema: Audit::SCHEMA.to_owned(),
            title: "A study".to_owned(),
            authors: Some("Somebody".to_owned()),
            year: Some(2014),
            source: None,
            verdict: RunVerdict::Reject,
            sides: ["a", "b"].map(|id| AuditedSide { id: id.to_owned(), name: id.to_uppercase() }).to_vec(),
            rows: vec![
                AuditedRow {
                    test: "dd".to_owned(),
                    metric: "write".to_owned(),
                    cells: vec![
                        cell("a", Some("49.02 MB/s"), 51.4e6, "MiB/s"),
                        cell("b", Some("23.9 MB/s"), 23.9e6, "MB/s"),
                    ],
                },
                AuditedRow { test: "dd".to_owned(), metric: "read".to_owned(), cells: vec![cell("a", None, 0.0, "")] },
            ],
            findings: vec![
                finding("A8", Level::Fail, 1, "Nothing moved."),
                finding("E1", Level::Warn, 9, "Too few runs."),
                finding("C14", Level::Note, 0, "A virtual machine."),
            ],
            claims: vec![AuditedClaim {
                text: "A is faster.".to_owned(),
                verdict: ClaimVerdict::Unsupported,
                cells: vec![],
                because: vec!["One run a side.".to_owned()],
                findings: vec!["E1 rule".to_owned()],
            }],
            admitted: vec!["It was one run.".to_owned()],
            added: vec!["Counts were filled in.".to_owned()],
        }
    }

    #[test]
    fn the_page_shows_numbers_findings_and_claims() {
        let wanted = "\
A study (Somebody, 2014)
verdict reject: 1 fail, 1 warn, 1 note; 0 of 1 claim stands

published
            A                       B
  dd.write  49.02 MB/s = 51.4 MB/s  23.9 MB/s
  dd.read   –                       –

findings
  fail  A8   Nothing moved.
             rule: dd.write@0. Do it right.
  warn  E1   Too few runs.
             rule: 9 numbers of dd. Do it right.
  and 1 note (`--notes` has all)

claims
  unsupported   \"A is faster.\"
                One run a side.
                its numbers: E1 rule

admitted by the authors
  - It was one run.

not the authors' own
  - Counts were filled in.
";
        assert_eq!(page(&audit(), Detail::Brief, &Style::PLAIN), wanted);
    }

    /// Protects: missing numbers are marked, and a full page leaves nothing out.
    #[test]
    fn a_full_page_hides_nothing() {
        let page = page(&audit(), Detail::Full, &Style::PLAIN);
        assert!(page.contains("A virtual machine.") && page.contains("dd.write@8"), "{page}");
        let read = page.lines().find(|line| line.contains("dd.read")).unwrap();
        assert_eq!(read.matches(MISSING).count(), 2, "{read}");
    }
}
