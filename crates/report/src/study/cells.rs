//! Every planned cell, and the reasons why some have no value.

use super::{factors, level, levels, number, pivot, shown, without_empty};
use crate::document::{ColumnHead, Item, ReportPart, ReportTable};
use crate::format::{self, MISSING};
use crate::run::Detail;
use crate::style::Ink;
use crate::table::Align;
use plumb_result::study::{CellValue, StudyCell, StudyReport};

/// Returns the cells. In brief, the table of levels has their numbers, so only the heading and the reasons
/// for missing values are shown.
pub(super) fn cells(report: &StudyReport, detail: Detail) -> Vec<ReportPart> {
    let (heading, reasons) = (heading(report), reasons(report));
    let is_shown = detail == Detail::Brief && pivot::has_rows(report);
    let has_rejected = report.cells.iter().any(|cell| !cell.rejected_values.is_empty());
    if is_shown && reasons.is_empty() && report.counts.cells_with_value == report.counts.cells {
        return Vec::new();
    }
    let mut parts = vec![ReportPart::Heading(heading)];
    if !is_shown {
        parts.push(ReportPart::Table(table(report, |_| true)));
    } else if has_rejected {
        parts.push(ReportPart::Table(table(report, |cell| !cell.rejected_values.is_empty())));
    }
    if !reasons.is_empty() {
        parts.push(ReportPart::List(reasons));
    }
    if report.emulated && !is_shown {
        let legend = "Values in brackets were measured under emulation and mean nothing by themselves.".to_owned();
        parts.push(ReportPart::Text(Ink::Faint, legend));
    }
    parts
}

fn heading(report: &StudyReport) -> String {
    let counts = &report.counts;
    if counts.cells_with_value == counts.cells {
        format!("All {} cells", counts.cells)
    } else {
        format!("Cells: {} of {} have a value", counts.cells_with_value, counts.cells)
    }
}

fn table(report: &StudyReport, is_row: impl Fn(&StudyCell) -> bool) -> ReportTable {
    let factors = factors(report);
    let mut columns: Vec<ColumnHead> =
        factors.iter().map(|factor| ColumnHead::new(factor, Align::Left, None)).collect();
    columns.extend([
        ColumnHead::new("work", Align::Left, Some(3)),
        ColumnHead::new("number", Align::Left, None),
        ColumnHead::new("mean", Align::Right, None),
        ColumnHead::new("spread", Align::Right, Some(4)),
        ColumnHead::new("measured", Align::Left, Some(2)),
        ColumnHead::new("over", Align::Left, Some(5)),
        ColumnHead::new("missing", Align::Left, None),
    ]);
    let mut rows = Vec::new();
    for cell in report.cells.iter().filter(|cell| is_row(cell)) {
        let mut row: Vec<String> = factors.iter().map(|factor| level(cell, factor)).collect();
        row.push(cell.workload.clone());
        let missing = missing(cell);
        // Conformance results are in tables of their own.
        if report.conformance.iter().any(|one| one.workload == cell.workload) && missing.is_empty() {
            continue;
        }
        if cell.values.is_empty() && cell.rejected_values.is_empty() {
            row.extend(["", MISSING, "", "", ""].map(str::to_owned));
            row.push(missing);
            rows.push(row);
            continue;
        }
        // A cell has rejected values only if it has no others; the last column marks them.
        for value in cell.values.iter().chain(&cell.rejected_values) {
            let mut row = row.clone();
            row.extend(format_value(value, report.emulated));
            row.push(missing.clone());
            rows.push(row);
        }
    }
    let mut table = ReportTable { columns, rows };
    without_empty(&mut table);
    table
}

fn format_value(value: &CellValue, emulated: bool) -> [String; 5] {
    let runs = match (value.plots, value.runs) {
        (1, runs) => format!("1 plot, {runs} run{}", if runs == 1 { "" } else { "s" }),
        (plots, runs) => format!("{plots} plots, {runs} runs"),
    };
    [
        number(&value.phase, value.metric),
        shown(value.value, value.metric, emulated),
        value.cv.map_or(MISSING.to_owned(), format::percent),
        value.tier.map_or(String::new(), |tier| tier.name().to_owned()),
        runs,
    ]
}

/// Returns the counts of missing runs: `2 failed, 1 rejected, 3 to come`.
fn missing(cell: &StudyCell) -> String {
    let counts = [(cell.failed, "failed"), (cell.rejected, "rejected"), (cell.open, "to come")];
    let wording = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    wording.collect::<Vec<_>>().join(", ")
}

/// Lists each reason once, with its cells.
fn reasons(report: &StudyReport) -> Vec<Item> {
    let mut all: Vec<(&str, u32, Vec<String>)> = Vec::new();
    for cell in &report.cells {
        for reason in &cell.reasons {
            let name = levels(&cell.levels);
            match all.iter_mut().find(|(known, _, _)| *known == reason.reason) {
                Some((_, runs, cells)) => {
                    *runs += reason.runs;
                    cells.push(name);
                }
                None => all.push((&reason.reason, reason.runs, vec![name])),
            }
        }
    }
    let item = |(reason, runs, cells): (&str, u32, Vec<String>)| {
        const SHOWN: usize = 3;
        let more = if cells.len() > SHOWN { format!(" and {} more", cells.len() - SHOWN) } else { String::new() };
        let cells = format!("{}{more}", cells.into_iter().take(SHOWN).collect::<Vec<_>>().join("; "));
        let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
        Item { ink: Ink::Bad, head: runs, text: format!("of {cells}: {reason}") }
    };
    all.into_iter().map(item).collect()
}
