//! The results as theses print them: a row for each number and context, and a column for each level with
//! its ratio to the baseline.

use super::verdicts::{interval, is_all_exploratory, ratio, word};
use super::{number, shown, without_empty};
use crate::document::{ColumnHead, ReportPart, ReportTable};
use crate::format::{self, MISSING};
use crate::measure;
use crate::style::Ink;
use crate::table::Align;
use plumb_result::Metric;
use plumb_result::run::TierName;
use plumb_result::study::{CellValue, StudyCell, StudyContrast, StudyReport};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of candidates next to the baseline in one table; more make further tables.
const CANDIDATES_MAX: usize = 3;

/// Returns `true` if the table of levels has any rows.
pub(super) fn has_rows(report: &StudyReport) -> bool {
    !report.contrasts.is_empty()
}

/// Returns the table of levels, split into several if there are many.
pub(super) fn pivot(report: &StudyReport) -> Vec<ReportPart> {
    let levels = levels(report);
    let (Some((baseline, candidates)), true) = (levels.split_first(), has_rows(report)) else { return Vec::new() };
    let rows = rows(report, &levels);
    let mut parts = vec![ReportPart::Heading(format!("Results by {}", report.by))];
    for candidates in candidates.chunks(CANDIDATES_MAX) {
        parts.push(ReportPart::Table(table(report, &rows, baseline, candidates)));
    }
    parts.push(ReportPart::Text(Ink::Faint, legend(report, &levels)));
    parts
}

fn legend(report: &StudyReport, levels: &[Level]) -> String {
    let lettered = levels.iter().filter(|level| level.title != level.side);
    let mut wording: Vec<String> = lettered.map(|level| format!("{}: {}.", level.title, level.side)).collect();
    wording.push(format!("Ratio above 1: better than {} (higher rate, lower latency).", levels[0].title));
    if report.contrasts.iter().any(|one| one.contrast.metric.device_count().is_some()) {
        wording.push("For device counts: how many times as many; fewer is better.".to_owned());
    }
    if report.emulated {
        wording.push("Values in brackets were measured under emulation and mean nothing by themselves.".to_owned());
    }
    wording.join(" ")
}

/// A level, as named by the contrasts, by the cells, and by the table.
struct Level {
    side: String,
    text: String,
    title: String,
}

/// Longest name of a level in a column head. Longer ones become a letter, to leave room for the values.
const NAME_MAX: usize = 20;

/// Returns the compared levels, the baseline first. Contrasts name a level by its value, or `level 4` if
/// the value alone is unclear.
fn levels(report: &StudyReport) -> Vec<Level> {
    let mut texts: Vec<String> = Vec::new();
    match &report.asked {
        Some(asked) => texts.clone_from(&asked.asked.levels),
        None => report.cells.iter().filter_map(|cell| cell.levels.get(&report.by)).for_each(|level| {
            if !texts.contains(level) {
                texts.push(level.clone());
            }
        }),
    }
    let is_a_side = |side: &String| {
        report.contrasts.iter().any(|one| [&one.contrast.baseline, &one.contrast.candidate].contains(&side))
    };
    let side = |text: &String| Some(format!("{} {text}", report.by)).filter(is_a_side).unwrap_or_else(|| text.clone());
    let sides: Vec<String> = texts.iter().map(side).collect();
    let is_long = sides.iter().any(|side| measure::width(side) > NAME_MAX);
    let level = |(position, (text, side)): (usize, (String, String))| {
        let letter = (position < 26).then(|| char::from(b'A' + position as u8).to_string());
        Level { title: letter.filter(|_| is_long).unwrap_or_else(|| side.clone()), text, side }
    };
    texts.into_iter().zip(sides).enumerate().map(level).collect()
}

/// One number in one context.
#[derive(PartialEq, Eq)]
struct RowKey {
    workload: String,
    within: BTreeMap<String, String>,
    phase: String,
    metric: Metric,
}

struct Row<'a> {
    key: RowKey,
    /// Contrasts by candidate.
    contrasts: BTreeMap<&'a str, &'a StudyContrast>,
    /// Values of levels that have no counterpart.
    alone: BTreeMap<&'a str, &'a CellValue>,
}

/// Returns the contrasts, each number once, followed by values of levels without a counterpart. If the report answers
/// another question, only rows of that question are filled, because it concerns some of the cells.
fn rows<'a>(report: &'a StudyReport, levels: &'a [Level]) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    for one in &report.contrasts {
        let contrast = &one.contrast;
        let key = RowKey {
            workload: contrast.workload.clone().unwrap_or_default(),
            within: one.within.clone(),
            phase: contrast.phase.clone(),
            metric: contrast.metric,
        };
        row(&mut rows, key).contrasts.insert(&contrast.candidate, one);
    }
    for (cell, level) in report.cells.iter().filter_map(|cell| Some((cell, level_of(report, levels, cell)?))) {
        for value in &cell.values {
            let key = RowKey {
                workload: cell.workload.clone(),
                within: kept_levels(report, cell),
                phase: value.phase.clone(),
                metric: value.metric,
            };
            let is_asked = report.asked.is_none() || rows.iter().any(|row| row.key == key);
            // If the contrasts average over cells, one cell does not represent all.
            if is_asked && key.within.len() + 1 == cell.levels.len() && !compares_works(report) {
                row(&mut rows, key).alone.insert(&level.text, value);
            }
        }
    }
    let place = |row: &Row<'_>| {
        let is_of = |cell: &StudyCell| cell.workload == row.key.workload && kept_levels(report, cell) == row.key.within;
        report.cells.iter().position(is_of)
    };
    rows.sort_by_key(place);
    rows
}

/// Returns `true` if the levels are workloads, which then have no rows of their own.
fn compares_works(report: &StudyReport) -> bool {
    report.contrasts.iter().any(|one| one.contrast.workload.is_none())
}

fn row<'a, 'b>(rows: &'b mut Vec<Row<'a>>, key: RowKey) -> &'b mut Row<'a> {
    let at = rows.iter().position(|row| row.key == key).unwrap_or_else(|| {
        rows.push(Row { key, contrasts: BTreeMap::new(), alone: BTreeMap::new() });
        rows.len() - 1
    });
    &mut rows[at]
}

fn level_of<'a>(report: &StudyReport, levels: &'a [Level], cell: &StudyCell) -> Option<&'a Level> {
    let text = cell.levels.get(&report.by)?;
    levels.iter().find(|level| level.text == *text)
}

/// Returns the levels of a cell for the factors that the contrasts keep apart.
fn kept_levels(report: &StudyReport, cell: &StudyCell) -> BTreeMap<String, String> {
    let is_kept_apart = |name: &str| report.contrasts.iter().any(|one| one.within.contains_key(name));
    let kept = cell.levels.iter().filter(|(name, _)| is_kept_apart(name));
    BTreeMap::from_iter(kept.map(|(name, level)| (name.clone(), level.clone())))
}

fn table(report: &StudyReport, rows: &[Row<'_>], baseline: &Level, candidates: &[Level]) -> ReportTable {
    let (left, right) = (Align::Left, Align::Right);
    let all_exploratory = is_all_exploratory(report);
    let factors = BTreeSet::from_iter(rows.iter().flat_map(|row| row.key.within.keys()));
    let mut columns = vec![ColumnHead::new("work", left, Some(3))];
    columns.extend(factors.iter().map(|factor| ColumnHead::new(factor, left, None)));
    columns.push(ColumnHead::new("number", left, None));
    columns.push(ColumnHead::new(&baseline.title, right, Some(7)));
    for candidate in candidates {
        let lettered = candidate.title != candidate.side;
        columns.push(ColumnHead::new(&candidate.title, right, Some(7)));
        let ratio = if lettered { format!("{}/{}", candidate.title, baseline.title) } else { "ratio".to_owned() };
        columns.push(ColumnHead::new(&ratio, right, None));
        columns.push(ColumnHead::new("interval", left, Some(2)));
        columns.push(ColumnHead::new(if all_exploratory { "exploratory" } else { "" }, left, None));
    }
    columns.push(ColumnHead::new("measured", left, Some(1)));
    let set = |row: &Row<'_>| {
        let value = |value: Option<f64>| {
            value.map_or(MISSING.to_owned(), |value| shown(value, row.key.metric, report.emulated))
        };
        let alone = |level: &Level| row.alone.get(level.text.as_str()).map(|cell| cell.value);
        let of = |level: &Level| row.contrasts.get(level.side.as_str()).copied();
        let of_baseline = row.contrasts.values().next().and_then(|one| one.contrast.baseline_value);
        let mut cells = vec![row.key.workload.clone()];
        cells.extend(factors.iter().map(|factor| row.key.within.get(*factor).cloned().unwrap_or_default()));
        // If the phase has the workload's name, the row already contains it.
        let phase = if row.key.phase == row.key.workload { "" } else { &row.key.phase };
        cells.push(number(phase, row.key.metric));
        cells.push(value(of_baseline.or_else(|| alone(baseline))));
        for candidate in candidates {
            let Some(one) = of(candidate) else {
                cells.extend([value(alone(candidate)), String::new(), String::new(), String::new()]);
                continue;
            };
            cells.push(value(one.contrast.candidate_value));
            cells.push(ratio(one).map_or(MISSING.to_owned(), |ratio| format!("{}×", format::ratio(ratio))));
            cells.push(interval(one).unwrap_or_default());
            // The head of the column marks it for all rows.
            let marked = one.exploratory && all_exploratory;
            cells.push(if marked { one.contrast.word().to_owned() } else { word(one) });
        }
        cells.push(tiers(row, baseline, candidates));
        cells
    };
    let mut table = ReportTable { columns, rows: rows.iter().map(set).collect() };
    without_empty(&mut table);
    table
}

/// Returns the tier of the values: `device`, or of each level if they differ: `cache | device`.
fn tiers(row: &Row<'_>, baseline: &Level, candidates: &[Level]) -> String {
    let alone = |level: &Level| row.alone.get(level.text.as_str()).and_then(|cell| cell.tier);
    let first = row.contrasts.values().next().and_then(|one| one.contrast.baseline_tier);
    let of = |level: &Level| match row.contrasts.get(level.side.as_str()) {
        Some(one) => one.contrast.candidate_tier,
        None => alone(level),
    };
    let all: Vec<Option<TierName>> =
        std::iter::once(first.or_else(|| alone(baseline))).chain(candidates.iter().map(of)).collect();
    let known = BTreeSet::from_iter(all.iter().flatten().map(|tier| tier.name()));
    match known.len() {
        0 => String::new(),
        1 => known.into_iter().next().unwrap_or_default().to_owned(),
        _ => all.iter().map(|tier| tier.map_or(MISSING, TierName::name)).collect::<Vec<_>>().join(" | "),
    }
}
