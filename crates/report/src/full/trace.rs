//! The report of a recording, or of two side by side.

use super::FullReport;
use super::charts::slug;
use crate::document::{ColumnHead, Item, ReportPart, ReportTable};
use crate::style::Ink;
use crate::table::Align;
use crate::trace::set;
use plumb_chart::{Axis, Body, Chart, Format, Lines, Panel, Point, Scale, Series, SeriesShape};
use plumb_result::tidy::TidyTable;
use plumb_trace::show::{Histogram, Sheet};

/// Largest number of curves in a chart.
const CURVES_MAX: usize = 6;

/// Creates the report of recordings with their names; `answer` comes first.
pub fn recordings_report(names: &[&str], sheets: &[&Sheet], answer: String) -> FullReport {
    let mut parts = vec![ReportPart::Text(Ink::Strong, answer), ReportPart::Heading("Charts".to_owned())];
    parts.extend(over_time(names, sheets).map(ReportPart::chart));
    for (name, format, title) in [
        ("gaps", Format::Time, "Gaps between op starts"),
        ("sizes", Format::Bytes, "Sizes of reads and writes"),
        ("seeks", Format::Bytes, "Distances of seeks in a file"),
        ("in flight", Format::Count, "Ops in flight"),
    ] {
        let curves = names.iter().zip(sheets).filter_map(|(of, sheet)| Some((*of, distribution(sheet, name)?)));
        parts.extend(shares(title, format, curves.collect()).map(ReportPart::chart));
    }
    parts.extend(durations(names, sheets).into_iter().map(ReportPart::chart));
    parts.extend(misses(names, sheets).map(ReportPart::chart));
    for (name, sheet) in names.iter().zip(sheets) {
        parts.push(ReportPart::Heading(if sheets.len() > 1 { (*name).to_owned() } else { "Numbers".to_owned() }));
        parts.extend(
            tables(sheet)
                .into_iter()
                .flat_map(|(title, table)| [ReportPart::Text(Ink::Strong, title.to_owned()), ReportPart::Table(table)]),
        );
        let note = |note: &String| Item { ink: Ink::Faint, head: "note".to_owned(), text: note.clone() };
        if !sheet.notes.is_empty() {
            parts.push(ReportPart::List(sheet.notes.iter().map(note).collect()));
        }
    }
    FullReport::new(names.join(" and "), parts, TidyTable::default())
}

fn distribution<'a>(sheet: &'a Sheet, name: &str) -> Option<&'a Histogram> {
    sheet.distributions.iter().find(|(known, _)| *known == name).map(|(_, histogram)| histogram)
}

/// Returns the numbers of each section, and the tables.
fn tables(sheet: &Sheet) -> Vec<(&'static str, ReportTable)> {
    let head = |title: &str, align| ColumnHead { title: title.to_owned(), align, hide_order: None };
    let mut found: Vec<(&str, ReportTable)> = Vec::new();
    for metric in &sheet.metrics {
        if found.last().is_none_or(|(section, _)| *section != metric.section) {
            let columns = vec![head("", Align::Left), head("value", Align::Right)];
            found.push((metric.section, ReportTable { columns, rows: Vec::new() }));
        }
        let row = vec![metric.name.to_owned(), set(metric.value, metric.unit)];
        found.last_mut().into_iter().for_each(|(_, table)| table.rows.push(row.clone()));
    }
    for table in sheet.tables.iter().filter(|table| !table.rows.is_empty()) {
        let columns = table.columns.iter().map(|(title, _)| head(title, Align::Right));
        let cells =
            |values: &[f64]| table.columns.iter().zip(values).map(|((_, unit), value)| set(*value, *unit)).collect();
        let row = |(key, values): &(String, Vec<f64>)| [vec![key.clone()], cells(values)].concat();
        let columns = [head(table.key, Align::Left)].into_iter().chain(columns).collect();
        found.push((table.name, ReportTable { columns, rows: table.rows.iter().map(row).collect() }));
    }
    found
}

fn chart(title: &str, caption: &str, alt: String, x: Axis, panel: Panel) -> Chart {
    Chart {
        name: slug(title),
        title: title.to_owned(),
        caption: caption.to_owned(),
        alt: format!("{title}. {alt}."),
        body: Body::Lines(Lines { x, x_names: Vec::new(), panels: vec![panel], marks: Vec::new() }),
    }
}

fn axis(title: &str, format: Format, scale: Scale) -> Axis {
    Axis { title: title.to_owned(), format, scale }
}

fn point(x: f64, y: f64) -> Point {
    Point { x, y: Some(y), interval: None }
}

/// Draws ops per second: by kind for one recording, as totals for two.
fn over_time(names: &[&str], sheets: &[&Sheet]) -> Option<Chart> {
    const KINDS: [&str; 4] = ["reads", "writes", "flushes", "other"];
    let curve = |name: &str, sheet: &Sheet, kinds: &[usize]| {
        let piece_ns = sheet.rates.piece_ns() as f64;
        let value = |counts: &[u64; 4]| kinds.iter().map(|kind| counts[*kind]).sum::<u64>() as f64 / (piece_ns / 1e9);
        let at = |(place, counts): (usize, &[u64; 4])| point((place as f64 + 0.5) * piece_ns, value(counts));
        let points: Vec<Point> = sheet.rates.pieces().iter().enumerate().map(at).collect();
        let is_there = points.iter().any(|point| point.y > Some(0.0));
        is_there.then(|| Series { name: name.to_owned(), shape: SeriesShape::Line, points })
    };
    let series: Vec<Series> = match sheets {
        [sheet] => KINDS.iter().enumerate().filter_map(|(kind, name)| curve(name, sheet, &[kind])).collect(),
        _ => names.iter().zip(sheets).filter_map(|(name, sheet)| curve(name, sheet, &[0, 1, 2, 3])).collect(),
    };
    let longest = sheets.iter().map(|sheet| sheet.rates.pieces().len()).max().unwrap_or(0);
    let describe = |series: &Series| {
        let most = series.points.iter().filter_map(|point| point.y).fold(0.0, f64::max);
        format!("{}: at most {}", series.name, Format::Ops.text(most))
    };
    let alt = series.iter().map(describe).collect::<Vec<_>>().join("; ");
    let panel = Panel { y: axis("Ops that start", Format::Ops, Scale::FromZero), height: 180.0, series };
    let x = axis("Since the first op", Format::Time, Scale::Linear);
    (longest > 1).then(|| chart("Ops over time", "Number of ops that start in each interval.", alt, x, panel))
}

/// Draws the cumulative share of ops up to each value.
fn shares(title: &str, format: Format, curves: Vec<(&str, &Histogram)>) -> Option<Chart> {
    let curves: Vec<_> = curves.into_iter().filter(|(_, histogram)| histogram.total() > 1).take(CURVES_MAX).collect();
    let describe = |(name, histogram): &(&str, &Histogram)| {
        let at = |share| format.text(histogram.quantile(share) as f64);
        format!("{name}: half up to {}, 99 % up to {}", at(0.5), at(0.99))
    };
    let alt = curves.iter().map(describe).collect::<Vec<_>>().join("; ");
    let series = |(name, histogram): &(&str, &Histogram)| Series {
        name: (*name).to_owned(),
        shape: SeriesShape::Steps,
        // A logarithmic axis has no zero.
        points: histogram.shares().into_iter().map(|(value, share)| point(value.max(1) as f64, share)).collect(),
    };
    let series: Vec<Series> = curves.iter().map(series).collect();
    let is_there = !series.is_empty();
    let panel = Panel { y: axis("Share of ops", Format::Share, Scale::FromZero), height: 150.0, series };
    let caption = "The share of ops up to each value.";
    is_there.then(|| chart(title, caption, alt, axis(title, format, Scale::Log), panel))
}

/// Draws durations of ops: in one chart for one recording, in a chart for each kind for two.
fn durations(names: &[&str], sheets: &[&Sheet]) -> Vec<Chart> {
    let Some(first) = sheets.first() else { return Vec::new() };
    let ops = first.table("ops").map_or(&[][..], |table| &table.rows);
    let kinds: Vec<&str> = ops.iter().map(|(name, _)| name.as_str()).take(CURVES_MAX).collect();
    if let [sheet] = sheets {
        let curves = kinds.iter().filter_map(|kind| Some((*kind, distribution(sheet, kind)?)));
        return shares("Durations of ops", Format::Time, curves.collect()).into_iter().collect();
    }
    let of = |kind: &&str| {
        let curves = names.iter().zip(sheets).filter_map(|(name, sheet)| Some((*name, distribution(sheet, kind)?)));
        shares(&format!("How long {kind} took"), Format::Time, curves.collect())
    };
    kinds.iter().filter_map(of).collect()
}

/// Draws the miss ratios of caches by size.
fn misses(names: &[&str], sheets: &[&Sheet]) -> Option<Chart> {
    let curve = |(name, sheet): (&&str, &&Sheet)| {
        let rows = &sheet.table("miss ratios")?.rows;
        let at = |(mib, values): &(String, Vec<f64>)| Some(point(mib.parse::<f64>().ok()? * 1_048_576.0, values[0]));
        let points: Vec<Point> = rows.iter().filter_map(at).collect();
        (points.len() > 1).then(|| Series { name: (*name).to_owned(), shape: SeriesShape::Line, points })
    };
    let series: Vec<Series> = names.iter().zip(sheets).filter_map(curve).collect();
    let is_there = !series.is_empty();
    let describe = |series: &Series| {
        let last = series.points.last().and_then(|point| Some((point.x, point.y?)));
        last.map(|(x, y)| format!("{}: {} with {}", series.name, Format::Share.text(y), Format::Bytes.text(x)))
    };
    let alt = series.iter().filter_map(describe).collect::<Vec<_>>().join("; ");
    let panel = Panel { y: axis("Misses", Format::Share, Scale::FromZero), height: 150.0, series };
    let caption = "The share of accesses to blocks of 4 KiB that a cache of this size would miss (LRU).";
    is_there
        .then(|| chart("Misses of a cache", caption, alt, axis("Size of the cache", Format::Bytes, Scale::Log), panel))
}
