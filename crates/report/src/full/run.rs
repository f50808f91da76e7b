//! The report of one run.

use super::charts::{format_of, slug};
use super::over_time::{self, PhaseOverTime};
use super::{FullReport, method, surface};
use crate::document::{ColumnHead, Item, ReportPart, ReportTable};
use crate::format::{self, MISSING};
use crate::run::{verdict, verdict_ink};
use crate::style::Ink;
use crate::table::Align;
use plumb_chart::{
    Axis, Bar, BarGroup, BarShape, Bars, Body, Chart, Format, Lines, Panel, Point, Scale, Series, SeriesShape,
};
use plumb_result::metric::{Quantity, Stat, Subject};
use plumb_result::tidy::TidyTable;
use plumb_result::{Metric, PhaseResult, RunResult};
use plumb_workload::OpKind;

/// One run, or the medians of several of one work. `over_time`: what the phases of a single run did over time, where that is known. `numbers`: those of all the runs, for the sheet of all numbers.
pub fn of_run(result: &RunResult, runs: usize, over_time: &[PhaseOverTime<'_>], numbers: TidyTable) -> FullReport {
    let name = if result.workload.name.is_empty() { "run" } else { &result.workload.name };
    let mut places: Vec<&str> = result.target.values().map(|facts| facts.path.as_str()).collect();
    places.dedup();
    let title = match (&result.imported, places.as_slice()) {
        (Some(_), _) => format!("{name}, imported"),
        (None, []) => name.to_owned(),
        (None, places) => format!("{name} at {}", places.join(", ")),
    };
    let mut parts: Vec<ReportPart> = Vec::new();
    parts.extend(state(result));
    parts.extend(answer(result));
    parts.push(ReportPart::Heading("Numbers".to_owned()));
    parts.push(ReportPart::Table(table(result)));
    parts.extend(super::net::of_phases(&result.phases));
    parts.extend(method::trust(&[result]));
    let surfaces = surface::surfaces(result);
    // Bars and percentiles of a hundred combinations show less than their surface.
    let charts: Vec<Chart> = if surfaces.is_empty() {
        let over_time = over_time::of_phases(over_time, &result.checks);
        rates(result, runs).into_iter().chain(percentiles(result)).chain(over_time).collect()
    } else {
        surfaces
    };
    if !charts.is_empty() {
        parts.push(ReportPart::Heading("Charts".to_owned()));
        parts.extend(charts.into_iter().map(ReportPart::chart));
    }
    let tool = format!("{} {}", result.tool.name, result.tool.version);
    if result.imported.is_some() {
        let said = format!(
            "The numbers are those of a file that {} wrote. Where it ran, and what answered, is not known.",
            tool.trim_end()
        );
        parts.extend(method::paragraph(said, "Plumb"));
        return FullReport::new(title, parts, numbers);
    }
    parts.extend(method::setups(&[("run".to_owned(), result)]));
    parts.extend(method::not_checked(&[result]));
    let (times, interval) = match runs {
        0 | 1 => ("once".to_owned(), "A single run has no interval."),
        _ => (format!("{runs} times"), "Numbers are medians of the runs; the run named is the first."),
    };
    let said = format!(
        "{name} was run {times} with {tool} on {} (seed {}; run {}, {}). {interval}",
        method::machine(result),
        result.workload.seed,
        result.id,
        result.started_at
    );
    parts.extend(method::paragraph(said, &tool));
    FullReport::new(title, parts, numbers)
}

fn state(result: &RunResult) -> Vec<ReportPart> {
    let mut parts = Vec::new();
    match (&result.error, result.partial) {
        (Some(error), _) => {
            parts.push(ReportPart::Text(Ink::Bad, format!("The run ended early: {}.", error.trim_end_matches('.'))));
        }
        (None, true) => parts
            .push(ReportPart::Text(Ink::Bad, "The run was interrupted. These are the numbers up to then.".to_owned())),
        (None, false) => {}
    }
    if result.imported.is_none() {
        parts.push(ReportPart::Text(verdict_ink(result.verdict), verdict(result)));
    }
    parts
}

fn kinds(phase: &PhaseResult) -> Vec<OpKind> {
    let has = |kind: &OpKind| phase.metrics.keys().any(|metric| metric.subject == Subject::Op(*kind));
    OpKind::ALL.iter().copied().filter(has).collect()
}

fn value(phase: &PhaseResult, metric: Metric) -> Option<f64> {
    phase.metrics.get(&metric).and_then(|value| value.value)
}

/// The rate that a kind of op is spoken of by: bytes where it moves them in large pieces, ops otherwise.
fn spoken(phase: &PhaseResult, kind: OpKind) -> Option<(Metric, f64)> {
    let (bytes, ops) = (Metric::bandwidth(kind), Metric::rate(kind));
    let (of_bytes, of_ops) = (value(phase, bytes), value(phase, ops));
    match (of_bytes, of_ops) {
        (Some(bandwidth), Some(rate)) if rate > 0.0 && bandwidth / rate >= 65536.0 => Some((bytes, bandwidth)),
        (_, Some(rate)) => Some((ops, rate)),
        (Some(bandwidth), None) => Some((bytes, bandwidth)),
        (None, None) => None,
    }
}

/// A run of so many phases has a line for each, without what limited it.
const PHASES_IN_FULL: usize = 3;

/// A list of more says less than a chart.
const PHASES_LISTED: usize = 20;

/// What each phase came to.
fn answer(result: &RunResult) -> Vec<ReportPart> {
    let said = result.phases.iter().filter_map(|phase| Some((phase, headline(phase)?)));
    if result.phases.len() > PHASES_LISTED {
        let text = format!("{} phases: the charts and the table have them all.", result.phases.len());
        return vec![ReportPart::Text(Ink::Faint, text)];
    }
    if result.phases.len() > PHASES_IN_FULL {
        let item =
            |(phase, rate): (&PhaseResult, String)| Item { ink: Ink::Strong, head: phase.name.clone(), text: rate };
        return vec![ReportPart::List(said.map(item).collect())];
    }
    let sentence = |(phase, rate): (&PhaseResult, String)| {
        let limit = crate::run::limit(phase).map_or(String::new(), |limit| format!("; {limit}"));
        ReportPart::Text(Ink::Strong, format!("{}: {rate}{limit}.", phase.name))
    };
    said.map(sentence).collect()
}

/// `read 1.20 GB/s (device)`; of a flow, what it counts.
fn headline(phase: &PhaseResult) -> Option<String> {
    let transactions = Metric { subject: Subject::Transaction, quantity: Quantity::Rate };
    if let Some(rate) = value(phase, transactions) {
        return Some(format!("{} transactions", format::metric(rate, transactions)));
    }
    let said: Vec<String> = kinds(phase)
        .into_iter()
        .filter_map(|kind| {
            let (metric, rate) = spoken(phase, kind)?;
            let tier = phase.metrics.get(&metric).and_then(|value| value.tier);
            let tier = tier.map_or(String::new(), |tier| format!(" ({})", tier.name()));
            Some(format!("{} {}{tier}", kind.name(), format::metric(rate, metric)))
        })
        .take(4)
        .collect();
    (!said.is_empty()).then(|| said.join(", "))
}

fn table(result: &RunResult) -> ReportTable {
    let heads = ["phase", "op", "bytes/s", "ops/s", "p50", "p99", "p99.9", "max", "measured"];
    let align = |index: usize| if (2..8).contains(&index) { Align::Right } else { Align::Left };
    let shown = |phase: &PhaseResult, metric: Metric| {
        value(phase, metric).map_or(MISSING.to_owned(), |value| format::value(value, metric.unit()))
    };
    let mut rows = Vec::new();
    for phase in &result.phases {
        for kind in kinds(phase) {
            let tier = spoken(phase, kind).and_then(|(metric, _)| phase.metrics.get(&metric)?.tier);
            let mut row = vec![phase.name.clone(), kind.name().to_owned()];
            row.push(if kind.moves_bytes() { shown(phase, Metric::bandwidth(kind)) } else { String::new() });
            row.push(shown(phase, Metric::rate(kind)));
            row.extend(
                [Stat::P50, Stat::P99, Stat::P999, Stat::Max].map(|stat| shown(phase, Metric::latency(kind, stat))),
            );
            row.push(tier.map_or(String::new(), |tier| tier.name().to_owned()));
            rows.push(row);
        }
    }
    ReportTable {
        columns: heads.iter().enumerate().map(|(index, head)| ColumnHead::new(head, align(index), None)).collect(),
        rows,
    }
}

/// Rates of all phases, those in bytes and those in ops apart.
fn rates(result: &RunResult, runs: usize) -> Vec<Chart> {
    let spoken: Vec<(String, Metric, f64)> = result
        .phases
        .iter()
        .flat_map(|phase| {
            let of = move |kind| {
                let (metric, rate) = spoken(phase, kind)?;
                let is_said = kind.name() == phase.name || phase.name.ends_with(kind.name());
                let label = if is_said { phase.name.clone() } else { format!("{} {}", phase.name, kind.name()) };
                Some((label, metric, rate))
            };
            kinds(phase).into_iter().filter_map(of).collect::<Vec<_>>()
        })
        .collect();
    let chart = |format: Format, title: &str| {
        let chosen: Vec<&(String, Metric, f64)> =
            spoken.iter().filter(|(_, metric, _)| format_of(*metric) == format).collect();
        // A bar by itself shows no more than its number.
        if chosen.len() < 2 {
            return None;
        }
        let bar = |value: f64| Bar {
            series: 0,
            value: Some(value),
            interval: None,
            runs: Vec::new(),
            missing: String::new(),
        };
        let said: Vec<String> =
            chosen.iter().map(|(label, _, rate)| format!("{label} {}", format.text(*rate))).collect();
        Some(Chart {
            name: slug(title),
            title: title.to_owned(),
            says: if runs > 1 { format!("Medians of {runs} runs.") } else { "One run: no intervals.".to_owned() },
            alt: format!("{title}: {}.", said.join(", ")),
            body: Body::Bars(Bars {
                axis: Axis { title: String::new(), format, scale: Scale::FromZero },
                series: vec!["rate".to_owned()],
                groups: chosen
                    .iter()
                    .map(|(label, _, rate)| BarGroup { label: label.clone(), bars: vec![bar(*rate)] })
                    .collect(),
                shape: BarShape::Bar,
            }),
        })
    };
    [(Format::Rate, "Bytes per second"), (Format::Iops, "IOPS"), (Format::Ops, "Operations per second")]
        .into_iter()
        .filter_map(|(format, title)| chart(format, title))
        .collect()
}

/// More curves than this cannot be told apart.
const CURVES_MAX: usize = 7;

/// Latency by percentile; service and response apart, several charts where there are many.
fn percentiles(result: &RunResult) -> Vec<Chart> {
    let mut curves: Vec<Series> = Vec::new();
    for phase in &result.phases {
        for kind in kinds(phase) {
            let alone = result.phases.len() == 1 && kinds(phase).len() == 1;
            for (word, quantity) in
                [("service", Quantity::Latency as fn(Stat) -> Quantity), ("response", Quantity::Response)]
            {
                let point = |stat: Stat| {
                    let metric = Metric { subject: Subject::Op(kind), quantity: quantity(stat) };
                    Some(Point { x: stat.quantile()?, y: Some(value(phase, metric)?), interval: None })
                };
                let points: Vec<Point> = Stat::ALL.iter().copied().filter_map(point).collect();
                if points.len() > 1 {
                    let name = if alone { word.to_owned() } else { format!("{} {} {word}", phase.name, kind.name()) };
                    curves.push(Series { name, shape: SeriesShape::Line, points });
                }
            }
        }
    }
    let chart = |series: &[Series]| {
        let said: Vec<String> = series
            .iter()
            .filter_map(|one| {
                let at = |x: f64| one.points.iter().find(|point| point.x == x).and_then(|point| point.y);
                Some(format!("{}: median {}, p99 {}", one.name, format::time(at(0.5)?), format::time(at(0.99)?)))
            })
            .collect();
        Chart {
            name: "latency".to_owned(),
            title: "Latency by percentile".to_owned(),
            says: "To the right are the slowest ops, each step ten times as rare. Service counts from the start of an op, response from \
                   when it was due."
                .to_owned(),
            alt: format!("Latency by percentile. {}.", said.join("; ")),
            body: Body::Lines(Lines {
                x: Axis { title: "Share of ops that were as fast or faster".to_owned(), format: Format::Share, scale: Scale::Nines },
                x_names: Vec::new(),
                panels: vec![Panel {
                    y: Axis { title: "Time of an op: less is better".to_owned(), format: Format::Time, scale: Scale::Log },
                    height: 220.0,
                    series: series.to_vec(),
                }],
                marks: Vec::new(),
            }),
        }
    };
    curves.chunks(CURVES_MAX).map(chart).collect()
}
