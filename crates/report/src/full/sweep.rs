//! The report of a sweep.

use super::charts::slug;
use super::{FullReport, method};
use crate::compare::unexplained;
use crate::document::{ColumnHead, Item, ReportPart, ReportTable};
use crate::format::{self, MISSING};
use crate::style::Ink;
use crate::table::Align;
use plumb_chart::{Axis, Body, Chart, Format, Lines, Panel, Place, Point, Scale, Series, SeriesShape};
use plumb_result::sweep::{Arrivals, KneeFound, LatencySummary, RunSpread, SweepCurve, SweepPoint};
use plumb_result::tidy::TidyTable;
use plumb_result::{RunResult, Sweep, SweepKey};

/// Creates the report of a sweep. `example` is the result of one of its runs, for the method.
pub fn sweep_report(sweep: &Sweep, example: Option<&RunResult>, numbers: TidyTable) -> FullReport {
    let title = format!("{} at {}", sweep.workload, sweep.path);
    let mut parts = vec![ReportPart::Text(Ink::Strong, sweep.verdict_note.clone())];
    parts.push(ReportPart::Heading("Numbers".to_owned()));
    for curve in &sweep.curves {
        parts.push(ReportPart::Text(Ink::Strong, name(curve)));
        parts.push(ReportPart::Table(table(curve)));
    }
    parts.extend(trust(sweep));
    parts.push(ReportPart::Heading("Charts".to_owned()));
    for &key in SweepKey::ALL {
        let curves: Vec<&SweepCurve> =
            sweep.curves.iter().filter(|curve| curve.key == key && has_points(curve)).collect();
        if !curves.is_empty() {
            parts.push(ReportPart::chart(by_level(sweep, key, &curves)));
            parts.extend(knee(key, &curves).map(ReportPart::chart));
        }
    }
    if let Some(result) = example {
        parts.extend(method::setups(&[("sweep".to_owned(), result)]));
        parts.extend(method::not_checked(&[result]));
        let tool = format!("{} {}", result.tool.name, result.tool.version);
        let text = format!(
            "The phase {} of {} was run with {tool} on {}, each level {} times in blocks of balanced random order (seed {}). Values are geometric \
             means over runs with 95 % intervals by Student's t on logarithms.",
            sweep.phase,
            sweep.workload,
            method::machine(result),
            sweep.repeats,
            sweep.seed
        );
        parts.extend(method::paragraph(text, &tool));
    }
    FullReport::new(title, parts, numbers)
}

fn has_points(curve: &SweepCurve) -> bool {
    curve.points.iter().any(|point| point.rate.is_some())
}

fn name(curve: &SweepCurve) -> String {
    let fixed: Vec<String> = curve.fixed.iter().map(|(key, at)| format!("{} {}", key.name(), key.text(*at))).collect();
    if fixed.is_empty() { format!("by {}", curve.key.name()) } else { fixed.join(", ") }
}

fn trust(sweep: &Sweep) -> Vec<ReportPart> {
    let mut items: Vec<Item> = Vec::new();
    for left_out in unexplained(&sweep.left_out, &sweep.run_checks) {
        let text = format!("run {} at {}: {}", left_out.run, left_out.side, left_out.reason);
        items.push(Item { ink: Ink::Bad, head: "left out".to_owned(), text });
    }
    items.extend(sweep.run_checks.iter().map(|check| {
        let finding = &check.finding;
        let message = format!("{} ({} of {} runs): {}", check.side, check.runs, check.of, finding.message);
        Item::finding(finding.level, &finding.code, &message, &finding.remedy)
    }));
    // Sweeps of earlier versions have only the codes of the checks.
    let curves = sweep.curves.iter().filter(|_| sweep.run_checks.is_empty());
    for (curve, point) in curves.flat_map(|curve| curve.points.iter().map(move |point| (curve, point))) {
        for (code, level) in point.checks.iter().filter(|(_, level)| **level >= plumb_result::Level::Warn) {
            let head = format!("{} {code}", level.name());
            let at = curve.key.text(point.level);
            match items.iter_mut().find(|item| item.head == head) {
                Some(item) => item.text.push_str(&format!(", {at}")),
                None => items.push(Item { ink: Ink::Caution, head, text: format!("at {} {at}", curve.key.name()) }),
            }
        }
    }
    items.extend(sweep.notes.iter().map(|note| Item { ink: Ink::Faint, head: "note".to_owned(), text: note.clone() }));
    if items.is_empty() {
        items.push(Item::no_warnings());
    }
    vec![ReportPart::Heading("How far to trust it".to_owned()), ReportPart::List(items)]
}

const fn level_format(key: SweepKey) -> Format {
    match key {
        SweepKey::Block | SweepKey::Size => Format::Bytes,
        SweepKey::Rate => Format::Ops,
        SweepKey::Depth | SweepKey::Threads | SweepKey::Read => Format::Count,
    }
}

fn series(name: &str, curve: &SweepCurve, of: impl Fn(&SweepPoint) -> Option<RunSpread>) -> Series {
    let point = |point: &SweepPoint| {
        let spread = of(point);
        Point {
            x: point.level,
            y: spread.map(|spread| spread.value),
            interval: spread.and_then(|spread| spread.lo.zip(spread.hi)),
        }
    };
    Series { name: name.to_owned(), shape: SeriesShape::Line, points: curve.points.iter().map(point).collect() }
}

/// Returns the response time for an open load, because the time spent queueing counts as well, and the service time otherwise.
fn latency<'a>(curve: &SweepCurve, point: &'a SweepPoint) -> &'a LatencySummary {
    point.response.as_ref().filter(|_| curve.arrivals == Arrivals::Poisson).unwrap_or(&point.service)
}

/// Draws rate and latency at each level.
fn by_level(sweep: &Sweep, key: SweepKey, curves: &[&SweepCurve]) -> Chart {
    // A curve over block sizes is in bytes; all others count ops.
    let in_bytes = matches!(key, SweepKey::Block)
        && curves.iter().all(|curve| curve.points.iter().any(|point| point.bandwidth.is_some()));
    let scale = if key == SweepKey::Read { Scale::Linear } else { Scale::Log };
    let alone = curves.len() == 1;
    let label = |curve: &SweepCurve, what: &str| {
        if alone { what.to_owned() } else { format!("{} {what}", name(curve)).trim().to_owned() }
    };
    let rate = |curve: &&SweepCurve| {
        series(&label(curve, if alone { "rate" } else { "" }), curve, |point| {
            if in_bytes { point.bandwidth } else { point.rate }
        })
    };
    let mut slow: Vec<Series> = Vec::new();
    for curve in curves {
        slow.push(series(&label(curve, "p50"), curve, |point| latency(curve, point).p50));
        slow.push(series(&label(curve, "p99"), curve, |point| latency(curve, point).p99));
    }
    slow.retain(|series| series.points.iter().any(|point| point.y.is_some()));
    let format = if in_bytes { Format::Rate } else { Format::Ops };
    let mut panels = vec![Panel {
        y: Axis { title: "Rate: more is better".to_owned(), format, scale: Scale::FromZero },
        height: 180.0,
        series: curves.iter().map(rate).collect(),
    }];
    if !slow.is_empty() {
        panels.push(Panel {
            y: Axis { title: "Time of an op: less is better".to_owned(), format: Format::Time, scale: Scale::Log },
            height: 130.0,
            series: slow,
        });
    }
    let (marks, memory) = if key == SweepKey::Size { cache_edges(sweep, curves) } else { (Vec::new(), String::new()) };
    if key == SweepKey::Size {
        let shares: Vec<Series> = curves
            .iter()
            .map(|curve| series_of_share(&label(curve, if alone { "rate" } else { "" }), curve))
            .filter(|series| series.points.iter().any(|point| point.y.is_some()))
            .collect();
        if !shares.is_empty() {
            let y = Axis {
                title: "Share of the bytes that the device moved".to_owned(),
                format: Format::Share,
                scale: Scale::FromZero,
            };
            panels.push(Panel { y, height: 48.0, series: shares });
        }
    }
    Chart {
        name: format!("by-{}", key.name()),
        title: format!("{} by {}", sweep.phase, key.name()),
        caption: format!("Geometric means over runs with 95 % intervals.{memory}"),
        alt: format!("{} by {}. {}{memory}", sweep.phase, key.name(), sweep.verdict_note),
        body: Body::Lines(Lines {
            x: Axis { title: key.name().to_owned(), format: level_format(key), scale },
            x_names: Vec::new(),
            panels,
            marks,
        }),
    }
}

fn series_of_share(name: &str, curve: &SweepCurve) -> Series {
    let point = |point: &SweepPoint| Point { x: point.level, y: point.device_share, interval: None };
    Series { name: name.to_owned(), shape: SeriesShape::Line, points: curve.points.iter().map(point).collect() }
}

/// Returns marks for the cache edges on a curve over working sets, where the rate drops and where memory ends;
/// and a sentence about memory.
fn cache_edges(sweep: &Sweep, curves: &[&SweepCurve]) -> (Vec<Place>, String) {
    let mut marks: Vec<Place> = Vec::new();
    for edge in curves.iter().filter_map(|curve| curve.found.edge) {
        let [below, above] = [edge.below_bytes, edge.above_bytes].map(|bytes| SweepKey::Size.text(bytes));
        let fall = format::percent(edge.ratio.value);
        let label = format!("a cache ends between {below} and {above}: the rate falls to {fall}");
        marks.push(Place { at: (edge.below_bytes * edge.above_bytes).sqrt(), sign: "cache".to_owned(), label });
    }
    let memory = sweep.memory_bytes as f64;
    let levels = || curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.level));
    let (least, most) = levels().fold((f64::MAX, 0.0_f64), |(lo, hi), level| (lo.min(level), hi.max(level)));
    let memory_text = format::bytes_iec(memory);
    let words = match memory {
        // A simulation has no memory that the sweep could know.
        _ if sweep.memory_bytes == 0 => String::new(),
        _ if memory > most => format!(" All sizes are smaller than memory ({memory_text}), which could hold them."),
        _ if memory < least => format!(" All sizes are larger than memory ({memory_text})."),
        _ => {
            let label = "all memory that could cache".to_owned();
            marks.push(Place { at: memory, sign: "memory".to_owned(), label });
            format!(" Memory that could cache ends at {memory_text}.")
        }
    };
    marks.sort_by(|a, b| a.at.total_cmp(&b.at));
    (marks, words)
}

/// Draws latency by achieved rate, in which the knee is the upward turn.
fn knee(key: SweepKey, curves: &[&SweepCurve]) -> Option<Chart> {
    if !matches!(key, SweepKey::Depth | SweepKey::Rate | SweepKey::Threads) {
        return None;
    }
    let mut all: Vec<Series> = Vec::new();
    for curve in curves {
        for (what, of) in [("mean", 0), ("p99", 1)] {
            let point = |point: &SweepPoint| {
                let summary = latency(curve, point);
                let time = if of == 0 { summary.mean } else { summary.p99 }?;
                Some(Point { x: point.rate?.value, y: Some(time.value), interval: time.lo.zip(time.hi) })
            };
            let points: Vec<Point> = curve.points.iter().filter_map(point).collect();
            if points.len() > 2 {
                let name = if curves.len() == 1 { what.to_owned() } else { format!("{} {what}", name(curve)) };
                all.push(Series { name, shape: SeriesShape::Line, points });
            }
        }
    }
    if all.is_empty() {
        return None;
    }
    // A knee that the runs do not locate is not marked on the chart.
    let located = |curve: &&SweepCurve| curve.found.knee.filter(|knee| knee.found() == KneeFound::Located);
    let knee = curves.iter().find_map(located);
    let marks = knee.map(|knee| Place {
        at: knee.rate,
        sign: String::new(),
        label: format!("the knee, at {} {}", key.name(), key.text(knee.level)),
    });
    let wording = marks
        .as_ref()
        .map_or("No knee was found.".to_owned(), |mark| format!("{} at {}.", mark.label, Format::Ops.text(mark.at)));
    Some(Chart {
        name: format!("load-{}", slug(key.name())),
        title: "Latency by achieved rate".to_owned(),
        caption: "Each point is a level. Beyond the knee, latency grows faster than the rate.".to_owned(),
        alt: format!("Latency by achieved rate. {wording}"),
        body: Body::Lines(Lines {
            x: Axis { title: "Achieved rate".to_owned(), format: Format::Ops, scale: Scale::FromZero },
            x_names: Vec::new(),
            panels: vec![Panel {
                y: Axis { title: "Time of an op: less is better".to_owned(), format: Format::Time, scale: Scale::Log },
                height: 200.0,
                series: all,
            }],
            marks: marks.into_iter().collect(),
        }),
    })
}

fn table(curve: &SweepCurve) -> ReportTable {
    let heads = [curve.key.name(), "ops/s", "95 % interval", "bytes/s", "p50", "p99", "in flight", "measured", "runs"];
    let align = |index: usize| if index == 7 { Align::Left } else { Align::Right };
    let row = |point: &SweepPoint| {
        let shown = |spread: Option<RunSpread>, of: fn(f64) -> String| {
            spread.map_or(MISSING.to_owned(), |spread| of(spread.value))
        };
        let interval = point.rate.and_then(|rate| rate.lo.zip(rate.hi));
        let latency = point.response.as_ref().unwrap_or(&point.service);
        vec![
            curve.key.text(point.level),
            shown(point.rate, format::per_second),
            interval.map_or(MISSING.to_owned(), |(lo, hi)| {
                format!("{} – {}", format::per_second(lo), format::per_second(hi))
            }),
            shown(point.bandwidth, format::rate_si),
            shown(latency.p50, format::time),
            shown(latency.p99, format::time),
            shown(point.in_flight, |value| format!("{value:.1}")),
            point.tier.map_or(String::new(), |tier| tier.name().to_owned()),
            crate::sweep::runs(point),
        ]
    };
    ReportTable {
        columns: heads.iter().enumerate().map(|(index, head)| ColumnHead::new(head, align(index), None)).collect(),
        rows: curve.points.iter().map(row).collect(),
    }
}
