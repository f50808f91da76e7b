//! The report of stored runs: each number over time, and a table.

use super::charts::{axis_of, format_of, slug};
use super::numbers::{RunNumber, accepted, mean};
use super::{FullReport, ecdf};
use crate::document::{ColumnHead, ReportPart, ReportTable};
use crate::format::{self, MISSING};
use crate::style::Ink;
use crate::table::Align;
use plumb_chart::{Axis, Body, Chart, Format, Lines, Panel, Place, Point, Scale, Series, SeriesShape};
use plumb_result::Metric;
use plumb_result::metric::Quantity;
use plumb_result::tidy::TidyTable;
use plumb_stats::change::{History, history};

/// Largest number of charts; the table has all numbers.
const CHARTS_MAX: usize = 24;

/// Creates the report of runs in the order in which they began. `selection` is the selection as typed.
pub fn runs_report(selection: &str, numbers: TidyTable) -> FullReport {
    let mut parts: Vec<ReportPart> = Vec::new();
    let mut all = accepted(&numbers);
    all.sort_by(|a, b| a.started.cmp(b.started));
    let mut runs: Vec<&str> = all.iter().map(|number| number.run).collect();
    runs.dedup();
    let headline = |number: &&RunNumber<'_>| matches!(number.metric.quantity, Quantity::Bandwidth | Quantity::Rate);
    let mut series: Vec<(&str, &str, Metric, Vec<&RunNumber<'_>>)> = Vec::new();
    for number in all.iter().filter(headline) {
        let is_same = |known: &&mut (&str, &str, Metric, Vec<&RunNumber<'_>>)| {
            (known.0, known.1, known.2) == (number.workload, number.phase, number.metric)
        };
        match series.iter_mut().find(is_same) {
            Some((.., values)) => values.push(number),
            None => series.push((number.workload, number.phase, number.metric, vec![number])),
        }
    }
    parts.push(ReportPart::Text(
        Ink::Strong,
        format!("{selection}: {} runs that the checks accept, {} numbers.", runs.len(), series.len()),
    ));
    let text = "Runs that were made at different times, and perhaps in different places: nothing is claimed of their differences. \
                `plumb compare` measures both again in turns, or compares stored runs by its rules.";
    parts.push(ReportPart::Text(Ink::Faint, text.to_owned()));
    let over_time = series.iter().filter(|(.., values)| values.len() > 2).take(CHARTS_MAX).map(chart);
    let charts: Vec<Chart> = over_time.chain(series.iter().filter_map(distribution).take(ecdf::CHARTS_MAX)).collect();
    if !charts.is_empty() {
        parts.push(ReportPart::Heading("Charts".to_owned()));
        parts.extend(charts.into_iter().map(ReportPart::chart));
    }
    parts.push(ReportPart::Heading("Numbers".to_owned()));
    parts.push(ReportPart::Table(table(&series)));
    FullReport::new(format!("Runs: {selection}"), parts, numbers)
}

fn table(series: &[(&str, &str, Metric, Vec<&RunNumber<'_>>)]) -> ReportTable {
    let heads = ["work", "phase", "number", "runs", "mean", "95 % interval", "least", "most"];
    let align = |index: usize| if index < 3 { Align::Left } else { Align::Right };
    let row = |(work, phase, metric, values): &(&str, &str, Metric, Vec<&RunNumber<'_>>)| {
        let shown = |value: f64| format::metric(value, *metric);
        let (middle, interval) = mean(values).unzip();
        let interval = interval.flatten();
        let ends =
            values.iter().map(|number| number.value).fold((f64::MAX, f64::MIN), |(lo, hi), x| (lo.min(x), hi.max(x)));
        vec![
            (*work).to_owned(),
            (*phase).to_owned(),
            metric.to_string(),
            values.len().to_string(),
            middle.map_or(MISSING.to_owned(), shown),
            interval.map_or(MISSING.to_owned(), |(lo, hi)| format!("{} – {}", shown(lo), shown(hi))),
            shown(ends.0),
            shown(ends.1),
        ]
    };
    ReportTable {
        columns: heads.iter().enumerate().map(|(index, head)| ColumnHead::new(head, align(index), None)).collect(),
        rows: series.iter().map(row).collect(),
    }
}

/// Largest number of points in a chart. More runs are drawn in groups of neighbours, so that the page stays
/// small and points stay apart.
const POINTS_MAX: usize = 120;

/// Returns a point for each run; for many runs, the mean of neighbours with their minimum and maximum.
fn points(numbers: &[f64]) -> Vec<Point> {
    let group = numbers.len().div_ceil(POINTS_MAX).max(1);
    let point = |(index, values): (usize, &[f64])| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(lo, hi), x| (lo.min(*x), hi.max(*x)));
        let first = (index * group + 1) as f64;
        Point {
            x: first + (values.len() - 1) as f64 / 2.0,
            y: Some(mean),
            interval: (group > 1).then_some((least, most)),
        }
    };
    numbers.chunks(group).enumerate().map(point).collect()
}

/// Draws the distribution of a number over all runs.
fn distribution((work, phase, metric, values): &(&str, &str, Metric, Vec<&RunNumber<'_>>)) -> Option<Chart> {
    let numbers: Vec<f64> = values.iter().map(|number| number.value).collect();
    let title = format!("{} {metric}", name(work, phase));
    ecdf::ecdf(&title, &format!("{title}: all runs"), &axis_of(*metric, Scale::Linear), &[("runs", &numbers)])
}

/// Returns the name of a phase of a workload, or only the workload's if it is its only phase.
fn name(work: &str, phase: &str) -> String {
    if phase.is_empty() || phase == work { work.to_owned() } else { format!("{work} {phase}") }
}

fn chart((work, phase, metric, values): &(&str, &str, Metric, Vec<&RunNumber<'_>>)) -> Chart {
    let numbers: Vec<f64> = values.iter().map(|number| number.value).collect();
    let changes = history(&numbers, &History::default()).unwrap_or_default();
    let day = |at: usize| {
        values.get(at).map_or(String::new(), |number| number.started.get(..16).unwrap_or_default().replace('T', " "))
    };
    let marks: Vec<Place> = changes
        .iter()
        .map(|change| Place {
            at: (change.at + 1) as f64,
            sign: String::new(),
            label: format!(
                "the level changes here by {} ({} UTC)",
                format::percent(change.magnitude()),
                day(change.at)
            ),
        })
        .collect();
    let name = name(work, phase);
    let wording = match marks.as_slice() {
        [] => "no change of level found".to_owned(),
        marks => marks.iter().map(|mark| format!("run {}: {}", mark.at, mark.label)).collect::<Vec<_>>().join("; "),
    };
    Chart {
        name: format!("history-{}-{}", slug(&name), slug(&metric.to_string())),
        title: format!("{name} {metric}"),
        caption: format!(
            "{}, in time order, from {} to {} UTC; {wording}.",
            if numbers.len() > POINTS_MAX {
                "Means of neighbouring runs, with their minimum and maximum"
            } else {
                "One point per run"
            },
            day(0),
            day(values.len() - 1)
        ),
        alt: format!("{name} {metric} over {} runs; {wording}.", values.len()),
        body: Body::Lines(Lines {
            x: Axis { title: "Run".to_owned(), format: Format::Count, scale: Scale::Linear },
            x_names: Vec::new(),
            panels: vec![Panel {
                y: Axis { format: format_of(*metric), ..axis_of(*metric, Scale::FromZero) },
                height: 130.0,
                series: vec![Series { name: metric.to_string(), shape: SeriesShape::Points, points: points(&numbers) }],
            }],
            marks,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: ten thousand runs give a page of a few hundred points, and no run is left out.
    #[test]
    fn many_runs_are_drawn_in_groups() {
        let numbers: Vec<f64> = (1..=10_000).map(f64::from).collect();
        let points = points(&numbers);
        assert!(points.len() <= POINTS_MAX);
        assert_eq!((points[0].x, points[0].y, points[0].interval), (42.5, Some(42.5), Some((1.0, 84.0))));
        assert_eq!(points.last().and_then(|last| last.interval).map(|(_, most)| most), Some(10_000.0));
        assert_eq!(super::points(&[5.0, 6.0])[1], Point { x: 2.0, y: Some(6.0), interval: None });
    }
}
