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
use plumb_result::run::TierName;
use plumb_result::tidy::TidyTable;
use plumb_result::{Metric, MetricValue, PhaseResult, RunResult};
use plumb_workload::OpKind;
use std::collections::BTreeMap;

/// Creates the report of one run, or of the medians of several runs of one workload. `over_time` has the phases of a
/// single run over time, if known. `numbers` are those of all runs, for the sheet of all numbers.
pub fn run_report(result: &RunResult, runs: usize, over_time: &[PhaseOverTime<'_>], numbers: TidyTable) -> FullReport {
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
    parts.extend(super::net::describe_phases(&result.phases));
    parts.extend(method::trust(&[result]));
    let surfaces = surface::surfaces(result);
    // Bars and percentiles of a hundred combinations are less clear than their surface.
    let charts: Vec<Chart> = if surfaces.is_empty() {
        let over_time = over_time::draw_phases(over_time, &result.checks);
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
        let wording = format!(
            "The numbers are those of a file that {} wrote. The machine and the storage that answered are unknown.",
            tool.trim_end()
        );
        parts.extend(method::paragraph(wording, "Plumb"));
        return FullReport::new(title, parts, numbers);
    }
    parts.extend(method::setups(&[("run".to_owned(), result)]));
    parts.extend(method::not_checked(&[result]));
    let (times, interval) = match runs {
        0 | 1 => ("once".to_owned(), "A single run has no interval."),
        _ => (format!("{runs} times"), "Numbers are medians of the runs; the run named is the first."),
    };
    let wording = format!(
        "{name} was run {times} with {tool} on {} (seed {}; run {}, {}). {interval}",
        method::machine(result),
        result.workload.seed,
        result.id,
        result.started_at
    );
    parts.extend(method::paragraph(wording, &tool));
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

fn kinds(metrics: &Metrics) -> Vec<OpKind> {
    let has = |kind: &OpKind| metrics.keys().any(|metric| metric.subject == Subject::Op(*kind));
    OpKind::ALL.iter().copied().filter(has).collect()
}

/// The values of a phase.
type Metrics = BTreeMap<Metric, MetricValue>;

fn value(metrics: &Metrics, metric: Metric) -> Option<f64> {
    metrics.get(&metric).and_then(|value| value.value)
}

/// Returns the rate by which a kind of op is described: bytes if it moves large pieces, ops otherwise.
fn spoken(metrics: &Metrics, kind: OpKind) -> Option<(Metric, f64)> {
    let (bytes, ops) = (Metric::bandwidth(kind), Metric::rate(kind));
    let (of_bytes, of_ops) = (value(metrics, bytes), value(metrics, ops));
    match (of_bytes, of_ops) {
        (Some(bandwidth), Some(rate)) if rate > 0.0 && bandwidth / rate >= 65536.0 => Some((bytes, bandwidth)),
        (_, Some(rate)) => Some((ops, rate)),
        (Some(bandwidth), None) => Some((bytes, bandwidth)),
        (None, None) => None,
    }
}

/// The rate by which one kind of op of a phase is described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headline {
    /// Kind of op, such as `read`; `transactions` for a flow.
    pub what: &'static str,
    /// The metric that the rate is of.
    pub metric: Metric,
    /// The rate with its unit, such as `1.20 GB/s`.
    pub rate: String,
    /// Origin of the bytes, for byte rates and rates of ops that move bytes.
    pub tier: Option<TierName>,
}

/// Returns the rates that describe a phase, one for each kind of op, at most four.
pub fn headlines(metrics: &BTreeMap<Metric, MetricValue>) -> Vec<Headline> {
    let transactions = Metric { subject: Subject::Transaction, quantity: Quantity::Rate };
    if let Some(rate) = value(metrics, transactions) {
        let rate = format::metric(rate, transactions);
        return vec![Headline { what: "transactions", metric: transactions, rate, tier: None }];
    }
    let of_kind = |kind: OpKind| {
        let (metric, rate) = spoken(metrics, kind)?;
        let tier = metrics.get(&metric).and_then(|value| value.tier);
        Some(Headline { what: kind.name(), metric, rate: format::metric(rate, metric), tier })
    };
    kinds(metrics).into_iter().filter_map(of_kind).take(4).collect()
}

/// Up to this many phases are described in sentences with their limits; more have a line each without limits.
const PHASES_IN_FULL: usize = 3;

/// Largest number of phases in the list; a chart shows more of them better.
const PHASES_LISTED: usize = 20;

/// Returns the result of each phase.
fn answer(result: &RunResult) -> Vec<ReportPart> {
    let headlines = result.phases.iter().filter_map(|phase| Some((phase, headline(phase)?)));
    if result.phases.len() > PHASES_LISTED {
        let text = format!("{} phases: the charts and the table have them all.", result.phases.len());
        return vec![ReportPart::Text(Ink::Faint, text)];
    }
    if result.phases.len() > PHASES_IN_FULL {
        let item =
            |(phase, rate): (&PhaseResult, String)| Item { ink: Ink::Strong, head: phase.name.clone(), text: rate };
        return vec![ReportPart::List(headlines.map(item).collect())];
    }
    let sentence = |(phase, rate): (&PhaseResult, String)| {
        let limit = crate::run::limit(phase).map_or(String::new(), |limit| format!("; {limit}"));
        ReportPart::Text(Ink::Strong, format!("{}: {rate}{limit}.", phase.name))
    };
    headlines.map(sentence).collect()
}

/// Returns `read 1.20 GB/s (device)`; for a flow, its transactions.
pub(crate) fn headline(phase: &PhaseResult) -> Option<String> {
    let line = |headline: Headline| match (headline.what, headline.tier) {
        ("transactions", _) => format!("{} transactions", headline.rate),
        (what, None) => format!("{what} {}", headline.rate),
        (what, Some(tier)) => format!("{what} {} ({})", headline.rate, tier.name()),
    };
    let wording: Vec<String> = headlines(&phase.metrics).into_iter().map(line).collect();
    (!wording.is_empty()).then(|| wording.join(", "))
}

fn table(result: &RunResult) -> ReportTable {
    let heads = ["phase", "op", "bytes/s", "ops/s", "p50", "p99", "p99.9", "max", "measured"];
    let align = |index: usize| if (2..8).contains(&index) { Align::Right } else { Align::Left };
    let shown = |phase: &PhaseResult, metric: Metric| {
        value(&phase.metrics, metric).map_or(MISSING.to_owned(), |value| format::value(value, metric.unit()))
    };
    let mut rows = Vec::new();
    for phase in &result.phases {
        for kind in kinds(&phase.metrics) {
            let tier = spoken(&phase.metrics, kind).and_then(|(metric, _)| phase.metrics.get(&metric)?.tier);
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

/// Draws the rates of all phases, in bytes and in ops separately.
fn rates(result: &RunResult, runs: usize) -> Vec<Chart> {
    let spoken: Vec<(String, Metric, f64)> = result
        .phases
        .iter()
        .flat_map(|phase| {
            let of = move |kind| {
                let (metric, rate) = spoken(&phase.metrics, kind)?;
                let is_stated = kind.name() == phase.name || phase.name.ends_with(kind.name());
                let label = if is_stated { phase.name.clone() } else { format!("{} {}", phase.name, kind.name()) };
                Some((label, metric, rate))
            };
            kinds(&phase.metrics).into_iter().filter_map(of).collect::<Vec<_>>()
        })
        .collect();
    let chart = |format: Format, title: &str| {
        let chosen: Vec<&(String, Metric, f64)> =
            spoken.iter().filter(|(_, metric, _)| format_of(*metric) == format).collect();
        // A single bar shows no more than its number.
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
        let wording: Vec<String> =
            chosen.iter().map(|(label, _, rate)| format!("{label} {}", format.text(*rate))).collect();
        Some(Chart {
            name: slug(title),
            title: title.to_owned(),
            caption: if runs > 1 { format!("Medians of {runs} runs.") } else { "One run: no intervals.".to_owned() },
            alt: format!("{title}: {}.", wording.join(", ")),
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

/// Largest number of curves that can be distinguished.
const CURVES_MAX: usize = 7;

/// Draws latency by percentile: service and response time separately, in several charts if there are many curves.
fn percentiles(result: &RunResult) -> Vec<Chart> {
    let mut curves: Vec<Series> = Vec::new();
    for phase in &result.phases {
        for kind in kinds(&phase.metrics) {
            let alone = result.phases.len() == 1 && kinds(&phase.metrics).len() == 1;
            for (word, quantity) in
                [("service", Quantity::Latency as fn(Stat) -> Quantity), ("response", Quantity::Response)]
            {
                let point = |stat: Stat| {
                    let metric = Metric { subject: Subject::Op(kind), quantity: quantity(stat) };
                    Some(Point { x: stat.quantile()?, y: Some(value(&phase.metrics, metric)?), interval: None })
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
        let wording: Vec<String> = series
            .iter()
            .filter_map(|one| {
                let at = |x: f64| one.points.iter().find(|point| point.x == x).and_then(|point| point.y);
                Some(format!("{}: median {}, p99 {}", one.name, format::time(at(0.5)?), format::time(at(0.99)?)))
            })
            .collect();
        Chart {
            name: "latency".to_owned(),
            title: "Latency by percentile".to_owned(),
            caption: "To the right are the slowest ops, each step ten times as rare. Service counts from the start of an op, response from \
                   when it was due."
                .to_owned(),
            alt: format!("Latency by percentile. {}.", wording.join("; ")),
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
