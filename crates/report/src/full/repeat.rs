//! Reports of rounds and of ladders.

use super::{FullReport, method};
use crate::document::{FactTable, ReportPart};
use crate::repeat::{head, ladder_parts, mix, places, rounds_parts, title, trust, work};
use plumb_chart::{Axis, Body, Chart, Format, Heat, Lines, Panel, Place, Point, Scale, Series, SeriesShape};
use plumb_result::repeat::{LadderStep, RoundSpan, RoundsPhase, TrackedRounds};
use plumb_result::tidy::TidyTable;
use plumb_result::{LadderResult, RoundsResult, RunResult};
use plumb_workload::{Bytes, Content, Figure, Target};

/// Largest number of curves that can be distinguished.
const CURVES_MAX: usize = 8;

/// Creates the report of rounds. `example` is the result of one of them, for the method.
pub fn rounds_report(result: &RoundsResult, example: Option<&RunResult>, numbers: TidyTable) -> FullReport {
    let title = format!("{} at {}", result.of.workload, result.of.path);
    let mut parts = head(&result.of, &result.verdict_note, result.verdict, result.steady.is_some());
    parts.push(ReportPart::Heading("How far to trust it".to_owned()));
    parts.extend(trust(&result.of));
    parts.extend(rounds_parts(result));
    parts.push(ReportPart::Heading("Charts".to_owned()));
    let shown: Vec<Figure> =
        result.phases.first().map_or(Vec::new(), |phase| phase.figures.iter().map(|figure| figure.figure).collect());
    parts.extend(result.tracked.iter().filter_map(|tracked| window_chart(result, tracked)).map(ReportPart::chart));
    for figure in shown {
        parts.extend(convergence(result, figure).map(ReportPart::chart));
        parts.extend(by_size(result, figure).into_iter().map(ReportPart::chart));
    }
    if let Some(run) = example {
        parts.extend(setup(run));
        parts.extend(method::setups(&[("rounds".to_owned(), run)]));
        let tool = format!("{} {}", run.tool.name, run.tool.version);
        let text = format!(
            "{} was run in rounds with {tool} on {}, until over {} rounds the range of each tracked figure was at most {:.0} % and \
             its slope at most {:.0} % of the mean, or for {} rounds. Values are means of the last {} rounds.",
            result.of.workload,
            method::machine(run),
            result.rule.window,
            result.rule.range * 100.0,
            result.rule.slope * 100.0,
            result.rule.max_rounds,
            result.rule.window
        );
        parts.extend(method::paragraph(text, &tool));
    }
    FullReport::new(title, parts, numbers)
}

/// Creates the report of a ladder. `example` is the result of one of its runs, for the method.
pub fn ladder_report(result: &LadderResult, example: Option<&RunResult>, numbers: TidyTable) -> FullReport {
    let title = format!("{} at {}", result.of.workload, result.of.path);
    let mut parts = head(&result.of, &result.verdict_note, result.verdict, result.within_limit != Some(false));
    parts.push(ReportPart::Heading("How far to trust it".to_owned()));
    parts.extend(trust(&result.of));
    parts.extend(ladder_parts(result));
    parts.extend(response_curve(result).map(ReportPart::chart));
    if let Some(run) = example {
        parts.extend(setup(run));
        parts.extend(method::setups(&[("ladder".to_owned(), run)]));
        let tool = format!("{} {}", run.tool.name, run.tool.version);
        let text = format!(
            "{} was run at {} loads with {tool} on {}, one run each.",
            result.of.workload,
            result.steps.len(),
            method::machine(run)
        );
        parts.extend(method::paragraph(text, &tool));
    }
    FullReport::new(title, parts, numbers)
}

/// Describes the work asked of the storage, in the terms of drive reports.
fn setup(run: &RunResult) -> Vec<ReportPart> {
    let workload = &run.workload;
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    let mut row = |name: &str, values: Vec<String>| {
        let mut values = values;
        values.dedup();
        if !values.is_empty() {
            rows.push((name.to_owned(), vec![values.join(", ")]));
        }
    };
    let ranges = workload.target.iter().filter_map(|(name, target)| {
        let size = match target {
            Target::File(file) => file.size?.fixed()?,
            Target::Device(device) => device.size?.fixed()?,
            Target::Sim(sim) => sim.size,
            _ => return None,
        };
        Some(format!("{name}: {size}"))
    });
    row("active range", ranges.collect());
    let groups = || workload.phase.iter().flat_map(|phase| &phase.workers);
    row("outstanding I/O", groups().map(|group| format!("{} × {}", group.count, group.depth)).collect());
    row("page cache", workload.phase.iter().map(|phase| phase.cache_mode().to_owned()).collect());
    let written = workload.target.values().filter_map(|target| match target {
        Target::File(file) => Some(content_words(file.content)),
        Target::Device(device) => Some(content_words(device.content)),
        _ => None,
    });
    row("data written", written.collect());
    row("purge", vec!["none: Plumb does not erase drives".to_owned()]);
    vec![
        ReportPart::Heading("Set-up of the test".to_owned()),
        ReportPart::Facts(FactTable { columns: vec![workload.name.clone()], rows }),
    ]
}

fn content_words(content: Content) -> String {
    match content {
        Content::Random => "random, incompressible".to_owned(),
        Content::Zero => "zeros".to_owned(),
        Content::Byte(byte) => format!("the byte {byte:#04x}"),
        Content::Reducible { compress_percent, duplicate_percent } => {
            format!("{compress_percent} % compressible, {duplicate_percent} % repeated")
        }
    }
}

const fn axis_format(figure: Figure) -> Format {
    match figure {
        Figure::Iops => Format::Iops,
        Figure::Bandwidth => Format::Rate,
        Figure::Latency | Figure::LatencyMax => Format::Time,
    }
}

fn axis(figure: Figure, scale: Scale) -> Axis {
    let better = match figure {
        Figure::Iops | Figure::Bandwidth => "more",
        Figure::Latency | Figure::LatencyMax => "less",
    };
    Axis { title: format!("{}: {better} is better", title(figure)), format: axis_format(figure), scale }
}

fn rounds_axis() -> Axis {
    Axis { title: "Round".to_owned(), format: Format::Count, scale: Scale::Linear }
}

fn by_round(values: &[Option<f64>], from: u32) -> Vec<Point> {
    let point = |(round, value): (u32, &Option<f64>)| Point { x: f64::from(round), y: *value, interval: None };
    (from..).zip(values).map(point).collect()
}

/// Draws how the figures of each phase became steady. If there are many phases, only those that write are drawn,
/// because drives change most in those.
fn convergence(result: &RoundsResult, figure: Figure) -> Option<Chart> {
    let of = |phase: &&RoundsPhase| phase.figure(figure).is_some_and(|of| of.rounds.iter().any(Option::is_some));
    let all: Vec<&RoundsPhase> = result.phases.iter().filter(of).collect();
    let writes: Vec<&RoundsPhase> = all.iter().copied().filter(|phase| phase.read == Some(0)).collect();
    let mut shown = if all.len() > CURVES_MAX && !writes.is_empty() { writes } else { all };
    shown.truncate(CURVES_MAX);
    if shown.is_empty() || result.of.runs.len() < 2 {
        return None;
    }
    let series = shown.iter().filter_map(|phase| {
        let points = by_round(&phase.figure(figure)?.rounds, 1);
        Some(Series { name: phase.name.clone(), shape: SeriesShape::Line, points })
    });
    let marks = result.steady.map(|RoundSpan { first, last }| {
        let mark = |at: u32, label: &str| Place { at: f64::from(at), sign: String::new(), label: label.to_owned() };
        vec![mark(first, "the steady window begins"), mark(last, "the steady window ends")]
    });
    Some(Chart {
        name: format!("rounds-{}", figure.name()),
        title: format!("{} by round", title(figure)),
        caption: "One curve per phase; if there are many, only phases that only write.".to_owned(),
        alt: format!("{} of {} phases by round. {}", title(figure), shown.len(), result.verdict_note),
        body: Body::Lines(Lines {
            x: rounds_axis(),
            x_names: Vec::new(),
            panels: vec![Panel { y: axis(figure, Scale::Log), height: 200.0, series: series.collect() }],
            marks: marks.unwrap_or_default(),
        }),
    })
}

/// Draws a tracked figure in its window, with its mean, the bounds of the range and the fitted line.
fn window_chart(result: &RoundsResult, tracked: &TrackedRounds) -> Option<Chart> {
    let RoundSpan { first, last } = result.window?;
    let (mean, slope) = (tracked.mean?, tracked.slope?);
    let phase = result.phases.iter().find(|phase| phase.name == tracked.phase)?;
    let values = phase.figure(tracked.figure)?.rounds.get(first as usize - 1..last as usize)?;
    let level = |name: &str, from: f64, to: f64| Series {
        name: name.to_owned(),
        shape: SeriesShape::Line,
        points: vec![
            Point { x: f64::from(first), y: Some(from), interval: None },
            Point { x: f64::from(last), y: Some(to), interval: None },
        ],
    };
    // A range of 20 % is 10 % on each side.
    let half = result.rule.range / 2.0;
    let (rise, upper, lower) = (slope * mean / 2.0, mean * (1.0 + half), mean * (1.0 - half));
    let series = vec![
        Series { name: "measured".to_owned(), shape: SeriesShape::Points, points: by_round(values, first) },
        level("mean", mean, mean),
        level("fitted line", mean - rise, mean + rise),
        level("upper bound", upper, upper),
        level("lower bound", lower, lower),
    ];
    let steady = if tracked.is_steady { "steady" } else { "not steady" };
    Some(Chart {
        name: format!("window-{}-{}", super::charts::slug(&tracked.phase), tracked.figure.name()),
        title: format!("Steady-state window: {} of {}", title(tracked.figure), tracked.phase),
        caption: format!(
            "Rounds {first} to {last} with their mean, the line fitted through them, and the allowed range around the mean."
        ),
        alt: format!("{} of {} in rounds {first} to {last}: {steady}.", title(tracked.figure), tracked.phase),
        body: Body::Lines(Lines {
            x: rounds_axis(),
            x_names: Vec::new(),
            panels: vec![Panel { y: axis(tracked.figure, Scale::Linear), height: 180.0, series }],
            marks: Vec::new(),
        }),
    })
}

/// Draws a figure by op size: a curve for each mix, and a coloured table.
fn by_size(result: &RoundsResult, figure: Figure) -> Vec<Chart> {
    let phases = &result.phases;
    let mixes = places(phases, |phase| phase.read);
    let mut sizes = places(phases, |phase| phase.block);
    sizes.sort_unstable();
    if sizes.len() < 2 || phases.iter().any(|phase| work(phase) == phase.name) {
        return Vec::new();
    }
    let at = |read: u32, size: u64| {
        let here = |phase: &&RoundsPhase| phase.read == Some(read) && phase.block == Some(size);
        phases.iter().find(here).and_then(|phase| phase.figure(figure)?.value)
    };
    let curve = |read: &u32| Series {
        name: mix(*read),
        shape: SeriesShape::Line,
        points: sizes.iter().map(|size| Point { x: *size as f64, y: at(*read, *size), interval: None }).collect(),
    };
    let alt = format!("{} by size of op for {} mixes of reads and writes.", title(figure), mixes.len());
    let curves = Chart {
        name: format!("size-{}", figure.name()),
        title: format!("{} by size of op", title(figure)),
        caption: "One curve per mix of reads and writes.".to_owned(),
        alt: alt.clone(),
        body: Body::Lines(Lines {
            x: Axis { title: "Size of op".to_owned(), format: Format::Bytes, scale: Scale::Log },
            x_names: Vec::new(),
            panels: vec![Panel {
                y: axis(figure, Scale::Log),
                height: 200.0,
                series: mixes.iter().take(CURVES_MAX).map(curve).collect(),
            }],
            marks: Vec::new(),
        }),
    };
    let heat = Chart {
        name: format!("matrix-{}", figure.name()),
        title: format!("{} by size of op and mix", title(figure)),
        caption: "Darker is more.".to_owned(),
        alt,
        body: Body::Heat(Heat {
            x: mixes.iter().map(|read| mix(*read)).collect(),
            x_title: "Reads/writes, per cent".to_owned(),
            y: sizes.iter().map(|size| Bytes(*size).to_string()).collect(),
            y_title: "Size of op".to_owned(),
            cells: sizes.iter().map(|size| mixes.iter().map(|read| at(*read, *size)).collect()).collect(),
            values: axis_format(figure),
            values_title: title(figure).to_owned(),
            print_values: true,
            edges: Vec::new(),
        }),
    };
    if mixes.len() > 1 { vec![curves, heat] } else { vec![curves] }
}

/// Draws response time over achieved rate.
fn response_curve(result: &LadderResult) -> Option<Chart> {
    let series = |name: &str, of: fn(&LadderStep) -> Option<f64>| {
        let mut points: Vec<Point> = result
            .steps
            .iter()
            .filter(|step| !step.is_again)
            .filter_map(|step| Some(Point { x: step.rate?, y: Some(of(step)?), interval: None }))
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series { name: name.to_owned(), shape: SeriesShape::Line, points }
    };
    let all = [series("mean", |step| step.response_ns), series("p99", |step| step.response_p99_ns)];
    let series: Vec<Series> = all.into_iter().filter(|series| series.points.len() > 1).collect();
    if series.is_empty() {
        return None;
    }
    Some(Chart {
        name: "response-by-load".to_owned(),
        title: "Response time by load".to_owned(),
        caption: "Each point is a load.".to_owned(),
        alt: format!("Response time by load. {}", result.verdict_note),
        body: Body::Lines(Lines {
            x: Axis { title: "Achieved rate".to_owned(), format: Format::Ops, scale: Scale::FromZero },
            x_names: Vec::new(),
            panels: vec![Panel {
                y: Axis { title: "Response time: less is better".to_owned(), format: Format::Time, scale: Scale::Log },
                height: 200.0,
                series,
            }],
            marks: Vec::new(),
        }),
    })
}
