//! Published numbers, each next to this study's.

use super::{levels, without_empty};
use crate::document::{ColumnHead, Item, ReportPart, ReportTable};
use crate::format::{self, MISSING};
use crate::style::Ink;
use crate::table::Align;
use plumb_result::study::{ClaimBeside, OurNumber, Published, PublishedBeside, StudyReport};

/// Up to this many cells have a row each for a published number; more are summarised by workload and phase.
const CELLS_EACH_MAX: usize = 4;

/// Largest number of values shown from one file; `--json` has all.
const PUBLISHED_MAX: usize = 40;

/// Returns conclusions of published studies, with this study's verdicts.
pub(super) fn claims(report: &StudyReport) -> Vec<ReportPart> {
    if report.claims.is_empty() {
        return Vec::new();
    }
    let beside = |claim: &ClaimBeside| {
        let ours = match (&claim.levels, claim.ours.as_slice()) {
            (None, _) => "this scale has none of its numbers; `--scale published` may have them".to_owned(),
            (Some(_), []) => "nothing was compared that it is about".to_owned(),
            (Some(_), ours) => ours.join("; "),
        };
        let line = |ink, head: &str, text: String| Item { ink, head: head.to_owned(), text };
        [line(Ink::Faint, "published:", claim.text.clone()), line(Ink::Strong, "ours:", ours)]
    };
    vec![
        ReportPart::Heading("Published claims and ours".to_owned()),
        ReportPart::List(report.claims.iter().flat_map(beside).collect()),
    ]
}

pub(super) fn published(report: &StudyReport) -> Vec<ReportPart> {
    if report.published.is_empty() {
        return Vec::new();
    }
    let (left, right) = (Align::Left, Align::Right);
    let mut table = ReportTable {
        columns: vec![
            ColumnHead::new("published", left, None),
            ColumnHead::new("number", left, None),
            ColumnHead::new("as printed", right, Some(6)),
            ColumnHead::new("that is", right, None),
            ColumnHead::new("ours of", left, Some(5)),
            ColumnHead::new("work", left, Some(3)),
            ColumnHead::new("phase", left, Some(2)),
            ColumnHead::new("ours", right, None),
            ColumnHead::new("ratio", right, None),
            ColumnHead::new("conditions", left, Some(4)),
        ],
        rows: Vec::new(),
    };
    for one in &report.published {
        for number in one.numbers.iter().take(PUBLISHED_MAX) {
            table.rows.extend(compare_rows(one, number, report.emulated));
        }
    }
    without_empty(&mut table);
    let source = |one: &Published| {
        let stands_for = match one.levels.is_empty() {
            true => "every cell".to_owned(),
            false => levels(&one.levels),
        };
        let more = match one.numbers.len().saturating_sub(PUBLISHED_MAX) {
            0 => String::new(),
            more => format!("; {more} more numbers are in `--json`"),
        };
        let text = format!("from {} ({}), for {stands_for}{more}", one.file, one.dialect);
        Item { ink: Ink::Strong, head: one.label.clone(), text }
    };
    let mut parts = vec![
        ReportPart::Heading("Published numbers and ours".to_owned()),
        ReportPart::Text(
            Ink::Faint,
            "A published number comes without evidence, from another machine, and it is unknown what it measured: the ratio \
             (ours / published) is not a verdict."
                .to_owned(),
        ),
        ReportPart::List(report.published.iter().map(source).collect()),
        ReportPart::Text(Ink::Faint, String::new()),
        ReportPart::Table(table),
        ReportPart::List(commands(report)),
    ];
    if report.emulated {
        let legend = "Our values were measured under emulation, mean nothing, and are left out here.".to_owned();
        parts.push(ReportPart::Text(Ink::Faint, legend));
    }
    parts
}

/// Lists the commands behind the published numbers, once each.
fn commands(report: &StudyReport) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let numbers = report.published.iter().flat_map(|one| one.numbers.iter().take(PUBLISHED_MAX));
    for (by, what) in numbers.filter_map(|number| number.number.conditions.split_once(": ")) {
        if !items.iter().any(|item| item.head == by && item.text == what) {
            items.push(Item { ink: Ink::Faint, head: by.to_owned(), text: what.to_owned() });
        }
    }
    items
}

/// Returns the rows of a published number: one for each of this study's numbers, or one for each workload and
/// phase if there are many.
fn compare_rows(from: &Published, number: &PublishedBeside, emulated: bool) -> Vec<Vec<String>> {
    let published = &number.number;
    let row = |of: String, work: String, phase: String, ours: String, ratio: String| {
        let about = if published.about { "~" } else { "" };
        vec![
            from.label.clone(),
            published.kind.name().to_owned(),
            published.printed.clone(),
            format!("{about}{}", format::value(published.value, published.unit)),
            of,
            work,
            phase,
            ours,
            ratio,
            published.conditions.split_once(": ").map_or(published.conditions.as_str(), |(by, _)| by).to_owned(),
        ]
    };
    let none = || MISSING.to_owned();
    if number.ours.is_empty() {
        return vec![row(String::new(), String::new(), String::new(), none(), none())];
    }
    let mut groups: Vec<Vec<&OurNumber>> = Vec::new();
    for one in &number.ours {
        let is_same = |group: &&mut Vec<&OurNumber>| {
            let [first, ..] = group.as_slice() else { return false };
            number.ours.len() > CELLS_EACH_MAX && first.workload == one.workload && first.phase == one.phase
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let of_group = |group: &Vec<&OurNumber>| {
        let values = |of: fn(&OurNumber) -> Option<f64>, set: &dyn Fn(f64) -> String| {
            let values: Vec<f64> = group.iter().copied().filter(|_| !emulated).filter_map(of).collect();
            match values.as_slice() {
                [] => MISSING.to_owned(),
                [only] => set(*only),
                many => {
                    let least = many.iter().copied().fold(f64::INFINITY, f64::min);
                    format!("{} – {}", set(least), set(many.iter().copied().fold(0.0, f64::max)))
                }
            }
        };
        let of = match group.as_slice() {
            [only] => {
                let mut others = only.levels.clone();
                others.retain(|factor, level| !from.levels.contains_key(factor) && *level != only.workload);
                levels(&others)
            }
            many => format!("{} cells", many.len()),
        };
        row(
            of,
            group[0].workload.clone(),
            number.metric.map_or(String::new(), |metric| super::number(&group[0].phase, metric)),
            values(|one| one.value, &|value| format::value(value, published.unit)),
            values(|one| one.ratio, &format::ratio),
        )
    };
    groups.iter().map(of_group).collect()
}
