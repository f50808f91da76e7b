//! Audits published numbers: takes what was printed, and returns what can be recomputed from it.
//!
//! A [`PublishedStudy`] is the file of a study (`docs/audit.md`). It holds only what was published: facts, commands,
//! numbers and conclusions; [`problems`] checks it. [`audit`] recomputes, applies [`RULES`], and decides whether each
//! conclusion stands. Nothing here runs a command or touches the system. Like `plumb_trust`, it asks whether a number
//! can be believed: findings carry the codes of its checks and use its thresholds.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

mod claims;
mod command;
mod form;
mod numbers;
mod postmark;
mod prepare;
mod problems;
mod published;
mod rules;
#[cfg(test)]
mod tests;
mod view;

pub use form::{
    CacheControl, Claim, ComparedThing, Durability, Explained, LinkRate, Percent, PreparationStep, PublishedAssertion,
    PublishedCell, PublishedStudy, PublishedTest, Quoted, Spread, SpreadMeaning, Storage, StudyHead, TestMachine,
    TestOrder, VariedFactor,
};
pub use numbers::{Base, PrintedNumber, PrintedUnit};
pub use plumb_result::CellMetric;
pub use problems::problems;
pub use published::published;
pub use rules::{RULES, Rule};

use numbers::Explanation;
use plumb_result::audit::{AuditedCell, AuditedRow, AuditedSide};
use plumb_result::{Audit, AuditFinding, Level, RunVerdict};
use plumb_trust::text::paragraph;
use view::{CellView, View};

/// Returns the JSON Schema of a study's file.
#[cfg(feature = "schema")]
pub fn schema() -> serde_json::Value {
    let mut schema = serde_json::Value::from(schemars::schema_for!(PublishedStudy));
    if let Some(root) = schema.as_object_mut() {
        root.insert("title".to_owned(), "Published study, for plumb audit".into());
    }
    schema
}

/// Recomputes everything that a study's numbers allow.
pub fn audit(study: &PublishedStudy) -> Audit {
    let view = View::new(study);
    let mut findings = rules::findings(&view);
    let mut claims = Vec::new();
    for claim in &study.claim {
        let checked = claims::check(&view, claim, &findings);
        for finding in checked.findings {
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
        claims.push(checked.claim);
    }
    // Worst first; equal levels in the order of the rules.
    let place =
        |finding: &AuditFinding| RULES.iter().position(|rule| rule.code == finding.code && rule.name == finding.rule);
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.level), place(finding)));
    Audit {
        schema: Audit::SCHEMA.to_owned(),
        title: study.study.title.clone(),
        authors: study.study.authors.clone(),
        year: study.study.year,
        source: study.study.source.clone(),
        verdict: verdict(&findings),
        sides: study
            .side
            .iter()
            .map(|side| AuditedSide { id: side.id.clone(), name: rules::side_name(study, &side.id).to_owned() })
            .collect(),
        rows: view.rows().into_iter().map(|row| audited_row(&row)).collect(),
        findings,
        claims,
        admitted: study.study.admits.clone(),
        added: study.study.added.clone(),
    }
}

/// Returns the rules with a code, in upper or lower case; empty if no rule has it.
pub fn rules_of(code: &str) -> Vec<&'static Rule> {
    RULES.iter().filter(|rule| rule.code.eq_ignore_ascii_case(code.trim())).copied().collect()
}

/// Explains the rules with a code, in lines of at most `width` columns; `None` if no rule has it.
pub fn explanation(code: &str, width: usize) -> Option<String> {
    let rules = rules_of(code);
    let first = rules.first()?;
    let mut text = format!("{} · of published numbers (plumb audit)\n", first.code);
    for rule in rules {
        text.push_str(&format!("\n{}\n", rule.name));
        text.extend([rule.what, rule.fix].map(|words| paragraph(words, width)));
    }
    Some(text)
}

/// Returns the table of rules in `docs/audit.md`.
#[cfg(test)]
fn rules_table() -> String {
    let mut text = String::from("| code | rule | what it finds | what would be right |\n|---|---|---|---|\n");
    for rule in RULES {
        text.push_str(&format!("| {} | `{}` | {} | {} |\n", rule.code, rule.name, rule.what, rule.fix));
    }
    text
}

fn verdict(findings: &[AuditFinding]) -> RunVerdict {
    match findings.iter().map(|finding| finding.level).max() {
        Some(Level::Fail) => RunVerdict::Reject,
        Some(Level::Warn) => RunVerdict::Caution,
        _ => RunVerdict::Pass,
    }
}

fn audited_row(row: &[&CellView<'_>]) -> AuditedRow {
    let first = row[0];
    AuditedRow {
        test: first.test.id.clone(),
        metric: first.cell.metric.name().to_owned(),
        cells: row.iter().map(|cell| audited_cell(cell)).collect(),
    }
}

fn audited_cell(cell: &CellView<'_>) -> AuditedCell {
    let really = match (cell.explanation, cell.unit) {
        (Some(Explanation::Base(base)), Some(unit)) => Some(unit.clear(base).to_owned()),
        _ => None,
    };
    AuditedCell {
        side: cell.cell.side.clone(),
        published: cell.printed(),
        missing: cell.cell.missing.clone(),
        bytes_per_second: cell.value.filter(|_| cell.is_byte_rate()),
        really,
    }
}
