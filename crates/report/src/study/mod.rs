//! The page of a study: the answer, its trustworthiness, the sources of the spread, the effects of the
//! factors, and every planned cell.

mod cells;
mod conformance;
mod devices;
mod expected;
mod pivot;
mod published;
mod systems;
#[cfg(test)]
mod tests;
mod trusted;
mod verdicts;

pub use crate::run::Detail;

use crate::document::{ColumnHead, Item, ReportPart, ReportTable, markdown, terminal};
use crate::format;
use crate::style::{Ink, Style};
use crate::table::Align;
use plumb_result::study::{EffectLine, GatheredFinding, StudyCell, StudyReport};
use plumb_result::{Finding, Level, Metric};
use plumb_text::markdown::escaped;
use std::collections::BTreeMap;

/// Returns the page for a terminal. In full, it has a line for every contrast and every cell, and the
/// steps that build each system.
pub fn page(report: &StudyReport, detail: Detail, style: &Style) -> String {
    terminal(&parts(report, detail), style)
}

/// Returns the full page as Markdown.
pub fn page_markdown(report: &StudyReport) -> String {
    format!("# {}\n\n{}", escaped(&report.name), markdown(&parts(report, Detail::Full), ""))
}

/// Returns all parts of the full page.
pub(crate) fn parts_in_full(report: &StudyReport) -> Vec<ReportPart> {
    parts(report, Detail::Full)
}

fn parts(report: &StudyReport, detail: Detail) -> Vec<ReportPart> {
    let mut parts = Vec::new();
    if !report.question.is_empty() {
        parts.push(ReportPart::Text(Ink::Faint, report.question.clone()));
    }
    parts.push(trusted::sentence(report));
    parts.extend(report.asked.iter().map(|asked| ReportPart::Text(Ink::Caution, asked.note.clone())));
    parts.extend(report.answer.iter().map(|wording| ReportPart::Text(Ink::Strong, wording.clone())));
    parts.extend(verdicts::verdicts(report));
    parts.extend(published::claims(report));
    parts.extend(conformance::conformance(report, detail));
    parts.extend(pivot::pivot(report));
    if detail == Detail::Full {
        parts.extend(verdicts::every_contrast(report));
    }
    parts.extend(trust(report));
    parts.extend(spread(report));
    parts.extend(effects(report));
    parts.extend(cells::cells(report, detail));
    parts.extend(published::published(report));
    parts.extend(expected::expected(report));
    parts.extend(devices::devices(report));
    parts.extend(devices::modelled(report));
    parts.extend(systems::systems(report, detail));
    parts.extend(counts(report, detail));
    parts
}

/// Removes columns that are empty in every row.
fn without_empty(table: &mut ReportTable) {
    let empty: Vec<bool> =
        (0..table.columns.len()).map(|column| table.rows.iter().all(|row| row[column].is_empty())).collect();
    let keep = |index: usize| !empty[index];
    let mut index = 0;
    table.columns.retain(|_| {
        index += 1;
        keep(index - 1)
    });
    for row in &mut table.rows {
        let mut index = 0;
        row.retain(|_| {
            index += 1;
            keep(index - 1)
        });
    }
}

fn trust(report: &StudyReport) -> Vec<ReportPart> {
    let whole = |finding: &Finding| Item::finding(finding.level, &finding.code, &finding.message, &finding.remedy);
    let of_runs = |finding: &GatheredFinding| {
        let message = format!("in {} of {} runs: {}", finding.runs, finding.of, finding.message);
        Item::finding(finding.level, &finding.code, &message, &finding.remedy)
    };
    let note = |note: &String| Item { ink: Ink::Caution, head: "note".to_owned(), text: note.clone() };
    let mut items: Vec<Item> = report.checks.iter().filter(|one| one.level >= Level::Warn).map(whole).collect();
    items.extend(report.findings.iter().filter(|one| one.level >= Level::Warn).map(of_runs));
    items.extend(report.undeclared.iter().map(|difference| Item {
        ink: Ink::Caution,
        head: "differs".to_owned(),
        text: format!("{}: {} | {}", difference.short(), difference.baseline, difference.candidate),
    }));
    items.extend(report.notes.iter().map(note));
    if items.is_empty() {
        items.push(Item::no_warnings());
    }
    vec![ReportPart::Heading("Trust".to_owned()), ReportPart::List(items)]
}

fn spread(report: &StudyReport) -> Vec<ReportPart> {
    if report.spread.is_empty() {
        return Vec::new();
    }
    let item = |one: &plumb_result::study::SpreadSources| Item {
        ink: Ink::Strong,
        head: String::new(),
        text: format!(
            "{} {} {}: {} (between plots {}, between runs {})",
            one.workload,
            one.phase,
            one.metric,
            one.advice,
            format::percent(one.plots_cv),
            format::percent(one.runs_cv)
        ),
    };
    vec![
        ReportPart::Heading("Where the spread comes from".to_owned()),
        ReportPart::List(report.spread.iter().map(item).collect()),
    ]
}

fn effects(report: &StudyReport) -> Vec<ReportPart> {
    if report.effects.is_empty() {
        return Vec::new();
    }
    let mut parts = vec![ReportPart::Heading("Effects of the factors".to_owned())];
    for table in &report.effects {
        let of_number = format!("{} {}", table.workload, number(&table.phase, table.metric));
        parts.push(ReportPart::Text(Ink::Strong, of_number));
        parts.push(ReportPart::Table(ReportTable {
            columns: vec![
                ColumnHead::new("effect of", Align::Left, None),
                ColumnHead::new("ratio", Align::Right, None),
                ColumnHead::new("95 % interval", Align::Left, None),
                ColumnHead::new("p", Align::Right, Some(1)),
                ColumnHead::new("variation", Align::Right, Some(2)),
            ],
            rows: table.lines.iter().map(effect).collect(),
        }));
    }
    let legend = "Ratio above 1: the level is better than the factor's first, averaged over all other factors; of counts, it has more. \
                  Of two factors: how many times larger one ratio is at the other's level. Not corrected for their number: effects are \
                  no verdicts.";
    parts.push(ReportPart::Text(Ink::Faint, legend.to_owned()));
    parts
}

fn effect(line: &EffectLine) -> Vec<String> {
    let of = |(factor, level): (&String, &String)| format!("{factor} {level}");
    let name = match (line.levels.as_slice(), line.against.as_slice()) {
        ([level], [against]) => format!("{} {level} against {against}", line.name),
        ([], _) => line.name.clone(),
        (levels, _) => line.factors.iter().zip(levels).map(of).collect::<Vec<_>>().join(" × "),
    };
    let interval = match (line.lo, line.hi, &line.reason) {
        (Some(lo), Some(hi), _) => format::interval(lo, hi),
        (_, _, Some(reason)) => reason.clone(),
        _ => String::new(),
    };
    vec![
        name,
        line.ratio.map_or(String::new(), format::ratio),
        interval,
        line.p.map_or(String::new(), format::probability),
        line.share.map_or(String::new(), format::percent),
    ]
}

/// Names a number: `write write.bw`. Device counts have no phase, nor have numbers of workloads with different phase names.
fn number(phase: &str, metric: Metric) -> String {
    if metric.device_count().is_some() || phase.is_empty() { metric.to_string() } else { format!("{phase} {metric}") }
}

/// Returns the note in brackets about the correction of `p`.
fn correction(report: &StudyReport) -> &'static str {
    match report.correction.as_str() {
        "none" => "p is not corrected for the number of verdicts",
        "benjamini-hochberg" => "p is corrected for the number of verdicts (Benjamini and Hochberg)",
        _ => "p is corrected for the number of verdicts (Holm)",
    }
}

/// Formats a value with its unit, in brackets if it means nothing by itself.
fn shown(value: f64, metric: Metric, emulated: bool) -> String {
    let text = format::metric(value, metric);
    if emulated && metric.device_count().is_none() { format!("[{text}]") } else { text }
}

/// Returns the counts of planned and completed runs, and how to see more.
fn counts(report: &StudyReport, detail: Detail) -> Vec<ReportPart> {
    let counts = &report.counts;
    let mut wording = format!("{} plots, {} runs: {} done", counts.plots, counts.runs, counts.done);
    for (count, word) in [
        (counts.rejected, "rejected"),
        (counts.failed, "failed"),
        (counts.open, "to come"),
        (counts.not_needed, "not needed"),
    ] {
        if count > 0 {
            wording.push_str(&format!(", {count} {word}"));
        }
    }
    let hash: String = report.plan_hash.chars().take(12).collect();
    let mut parts = vec![
        ReportPart::Text(Ink::Faint, String::new()),
        ReportPart::Text(Ink::Faint, format!("{wording} · scale {} · plan {hash} · study {}", report.scale, report.id)),
    ];
    if detail == Detail::Brief {
        let more = "Every contrast and cell, and how the systems are built: -v".to_owned();
        parts.push(ReportPart::Text(Ink::Faint, more));
    }
    parts
}

/// Returns the names of the cells' factors.
fn factors(report: &StudyReport) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in report.cells.iter().flat_map(|cell| cell.levels.keys()) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    // The compared factor comes first.
    names.sort_by_key(|name| *name != report.by);
    names
}

fn level(cell: &StudyCell, factor: &str) -> String {
    cell.levels.get(factor).cloned().unwrap_or_default()
}

fn levels(levels: &BTreeMap<String, String>) -> String {
    levels.iter().map(|(name, level)| format!("{name} {level}")).collect::<Vec<_>>().join(", ")
}
