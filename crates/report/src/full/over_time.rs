//! Charts of a phase over time: rates and latency, lanes of its devices below them, findings as marks, and latency maps.

use super::charts::slug;
use plumb_chart::{
    Axis, Body, Chart, Density, DensityCell, DensityColumn, Format, Lines, Panel, Place, Point, Scale, Series,
    SeriesShape,
};
use plumb_result::latency_map::bucket_range;
use plumb_result::measurement::Interval;
use plumb_result::{BucketCount, Finding, Lane, LaneMeasure, LatencyColumn, LatencyMap, Level, OpCounts};
use plumb_workload::OpKind;

/// Data of a phase over time.
#[derive(Debug, Clone, Copy)]
pub struct PhaseOverTime<'a> {
    pub name: &'a str,
    /// One interval per second.
    pub intervals: &'a [Interval],
    /// Activity of devices and the machine in each interval.
    pub lanes: &'a [Lane],
    pub latency_map: &'a LatencyMap,
}

/// Smallest number of seconds for a chart.
const SECONDS_MIN: usize = 3;

/// Largest number of curves that can be distinguished.
const CURVES_MAX: usize = 7;

/// Largest number of devices with lanes; those that moved most are drawn.
const DEVICES_MAX: usize = 4;

/// Largest number of latency maps per phase; the kinds of op that took most time are drawn.
const MAPS_MAX: usize = 3;

/// Largest number of points in a curve, so that the page of a day's run stays small.
const POINTS_MAX: usize = 240;

/// Largest number of latency maps in a report. A run of twenty phases would otherwise make a page of a megabyte.
const MAPS_OF_REPORT_MAX: usize = 8;

/// Draws the charts of all phases. `checks` are all findings of the run.
pub(super) fn draw_phases(phases: &[PhaseOverTime<'_>], checks: &[Finding]) -> Vec<Chart> {
    let mut charts: Vec<Chart> = phases.iter().flat_map(|phase| charts(phase, checks)).collect();
    let mut maps = 0;
    charts.retain(|chart| {
        maps += usize::from(matches!(chart.body, Body::Density(_)));
        maps <= MAPS_OF_REPORT_MAX || !matches!(chart.body, Body::Density(_))
    });
    charts
}

fn charts(phase: &PhaseOverTime<'_>, checks: &[Finding]) -> Vec<Chart> {
    if phase.intervals.len() < SECONDS_MIN {
        return Vec::new();
    }
    // A partial second at the end has too few ops to be drawn as a point next to whole seconds.
    let (first, last) = (phase.intervals.first(), phase.intervals.last());
    let is_rest = first.zip(last).is_some_and(|(first, last)| last.length_ns < first.length_ns / 2);
    let whole = &phase.intervals[..phase.intervals.len() - usize::from(is_rest)];
    let maps = latency_maps(phase);
    std::iter::once(series(&PhaseOverTime { intervals: whole, ..*phase }, checks)).chain(maps).collect()
}

/// Neighbouring seconds, joined to one point.
struct Span<'a> {
    intervals: &'a [Interval],
    /// Indexes of these seconds in the phase.
    places: std::ops::Range<usize>,
}

impl Span<'_> {
    fn seconds(&self) -> f64 {
        self.intervals.iter().map(|one| one.length_ns).sum::<u64>().max(1) as f64 / 1e9
    }

    fn end_ns(&self) -> f64 {
        self.intervals.last().map_or(0.0, |last| (last.start_ns + last.length_ns) as f64)
    }

    fn ops(&self, kind: OpKind) -> impl Iterator<Item = &OpCounts> {
        self.intervals.iter().filter_map(move |one| one.ops.get(&kind))
    }

    /// Returns the sum of a lane over the span; `None` if one of its seconds is missing.
    fn sum(&self, lane: &Lane) -> Option<f64> {
        self.places.clone().map(|place| lane.values.get(place).copied().flatten().map(|value| value as f64)).sum()
    }
}

fn spans(intervals: &[Interval]) -> Vec<Span<'_>> {
    let length = intervals.len().div_ceil(POINTS_MAX).max(1);
    let parts = intervals.chunks(length).enumerate();
    parts
        .map(|(number, part)| Span { intervals: part, places: number * length..number * length + part.len() })
        .collect()
}

fn curve(name: &str, spans: &[Span<'_>], of: impl Fn(&Span<'_>) -> Option<f64>) -> Option<Series> {
    let points: Vec<Point> = spans.iter().map(|span| Point { x: span.end_ns(), y: of(span), interval: None }).collect();
    points.iter().any(|point| point.y.is_some()).then(|| Series {
        name: name.to_owned(),
        shape: SeriesShape::Line,
        points,
    })
}

fn panel(title: &str, format: Format, scale: Scale, height: f64, series: Vec<Series>) -> Option<Panel> {
    let y = Axis { title: title.to_owned(), format, scale };
    (!series.is_empty()).then_some(Panel { y, height, series })
}

/// Draws rates and latency over the seconds of a phase, with the lanes of its devices.
fn series(phase: &PhaseOverTime<'_>, checks: &[Finding]) -> Chart {
    let spans = spans(phase.intervals);
    let mut kinds: Vec<OpKind> = Vec::new();
    for kind in phase.intervals.iter().flat_map(|interval| interval.ops.keys()) {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    }
    kinds.truncate(CURVES_MAX);
    let moves_bytes = phase.intervals.iter().flat_map(|interval| interval.ops.values()).any(|ops| ops.bytes > 0);
    let rate = |kind: &OpKind| {
        let done = |ops: &OpCounts| if moves_bytes { ops.bytes } else { ops.count };
        let of = |span: &Span<'_>| {
            let is_there = span.ops(*kind).next().is_some();
            let done: u64 = span.ops(*kind).map(done).sum();
            (is_there && (done > 0 || !moves_bytes)).then(|| done as f64 / span.seconds())
        };
        curve(kind.name(), &spans, of)
    };
    let slow = |kind: &OpKind| {
        curve(kind.name(), &spans, |span| span.ops(*kind).filter_map(|ops| ops.p99_ns).max().map(|ns| ns as f64))
    };
    let format = if moves_bytes { Format::Rate } else { Format::Ops };
    let rates: Vec<Series> = kinds.iter().filter_map(rate).collect();
    let values: Vec<f64> = rates.iter().flat_map(|one| &one.points).filter_map(|point| point.y).collect();
    let (least, most) = values.iter().fold((f64::MAX, 0.0_f64), |(lo, hi), x| (lo.min(*x), hi.max(*x)));
    let slow: Vec<Series> = kinds.iter().filter_map(slow).collect();
    let mut panels: Vec<Panel> = Vec::new();
    panels.extend(panel("Rate", format, Scale::FromZero, 160.0, rates));
    panels.extend(panel("99th percentile of the time of an op", Format::Time, Scale::Log, 90.0, slow));
    let (lanes, left_out) = lanes(phase.lanes, &spans);
    let has_lanes = !lanes.is_empty();
    panels.extend(lanes);
    let marks = marks(phase.name, checks);
    let group = phase.intervals.len().div_ceil(POINTS_MAX);
    let mut caption = match group {
        0 | 1 => "One point per second.".to_owned(),
        group => format!("A point is the mean of {group} seconds, and the largest of their percentiles."),
    };
    if has_lanes {
        caption.push_str(" Below the load: activity of its devices and the machine, including all other I/O.");
    }
    if !marks.is_empty() {
        caption.push_str(" A line with a code: a finding, at the time it became true.");
    }
    if left_out > 0 {
        caption.push_str(&format!(" {left_out} devices that moved less are left out."));
    }
    let found: Vec<String> =
        marks.iter().map(|mark| format!(" At {}: {}", Format::Time.text(mark.at), mark.label)).collect();
    Chart {
        name: format!("time-{}", slug(phase.name)),
        title: format!("{} over time", phase.name),
        caption,
        alt: format!(
            "{} over {} s: from {} to {} in a second.{}",
            phase.name,
            phase.intervals.len(),
            format.text(least.min(most)),
            format.text(most),
            found.concat()
        ),
        body: Body::Lines(Lines {
            x: Axis {
                title: "Time from the start of the phase".to_owned(),
                format: Format::Time,
                scale: Scale::FromZero,
            },
            x_names: Vec::new(),
            panels,
            marks,
        }),
    }
}

/// Returns the findings of the phase that have a time.
fn marks(phase: &str, checks: &[Finding]) -> Vec<Place> {
    let mut marks: Vec<Place> = checks
        .iter()
        .filter(|finding| finding.level >= Level::Warn && finding.phase.as_deref() == Some(phase))
        .filter_map(|finding| {
            let label = format!("{} {}: {}", finding.level.name(), finding.code, finding.message);
            Some(Place { at: finding.at_ns? as f64, sign: finding.code.clone(), label })
        })
        .collect();
    marks.sort_by(|a, b| a.at.total_cmp(&b.at));
    marks
}

/// Returns the panels of devices and machine, and the number of devices without a panel.
fn lanes(lanes: &[Lane], spans: &[Span<'_>]) -> (Vec<Panel>, usize) {
    let mut devices: Vec<(&str, u64)> = Vec::new();
    for lane in lanes.iter().filter(|lane| !lane.of.is_empty()) {
        let moved = match lane.measure {
            LaneMeasure::ReadBytes | LaneMeasure::WriteBytes => lane.values.iter().flatten().sum(),
            _ => 0,
        };
        match devices.iter_mut().find(|(name, _)| *name == lane.of) {
            Some((_, all)) => *all += moved,
            None => devices.push((&lane.of, moved)),
        }
    }
    devices.sort_by_key(|(_, moved)| std::cmp::Reverse(*moved));
    let left_out = devices.len().saturating_sub(DEVICES_MAX);
    devices.truncate(DEVICES_MAX);
    let mut panels = Vec::new();
    for (title, format, measure, of) in DRAWN {
        let of_name = |name: &str, shown: &str| {
            let lane = lanes.iter().find(|lane| lane.of == name && lane.measure == *measure)?;
            curve(shown, spans, |span| Some(of(span.sum(lane)?, span)))
        };
        let series: Vec<Series> = match measure {
            LaneMeasure::CpuPermille | LaneMeasure::DirtyBytes => of_name("", "machine").into_iter().collect(),
            _ => devices.iter().filter_map(|(name, _)| of_name(name, name)).collect(),
        };
        panels.extend(panel(title, *format, Scale::FromZero, 48.0, series));
    }
    (panels, left_out)
}

/// Title of a lane, its format, its measure, and the function that derives a value from the sum over a span.
type Drawn = (&'static str, Format, LaneMeasure, fn(f64, &Span<'_>) -> f64);

const DRAWN: &[Drawn] = &[
    ("Devices: busy", Format::Share, LaneMeasure::BusyMs, |ms, span| (ms / 1e3 / span.seconds()).min(1.0)),
    ("Devices: requests in flight", Format::Count, LaneMeasure::WeightedMs, |ms, span| ms / 1e3 / span.seconds()),
    ("Devices: read", Format::Rate, LaneMeasure::ReadBytes, |bytes, span| bytes / span.seconds()),
    ("Devices: written", Format::Rate, LaneMeasure::WriteBytes, |bytes, span| bytes / span.seconds()),
    ("Processors: busy", Format::Share, LaneMeasure::CpuPermille, |sum, span| {
        sum / 1e3 / span.intervals.len().max(1) as f64
    }),
    ("Memory: not yet written back", Format::Bytes, LaneMeasure::DirtyBytes, |sum, span| {
        sum / span.intervals.len().max(1) as f64
    }),
];

/// Draws a latency map for each of the kinds of op that took most of the time.
fn latency_maps(phase: &PhaseOverTime<'_>) -> Vec<Chart> {
    let columns = phase.latency_map.columns.as_slice();
    let (first, last) = (columns.first(), columns.last());
    let is_rest = first.zip(last).is_some_and(|(first, last)| last.length_ns < first.length_ns / 2);
    let columns = &columns[..columns.len() - usize::from(is_rest)];
    let took = |of: &BucketCount| bucket_range(of.bucket).map_or(0.0, |(from, _)| from as f64 * of.count as f64);
    let mut kinds: Vec<(OpKind, f64)> = Vec::new();
    for (kind, counts) in columns.iter().flat_map(|column| &column.ops) {
        let took: f64 = counts.iter().map(took).sum();
        match kinds.iter_mut().find(|(known, _)| known == kind) {
            Some((_, all)) => *all += took,
            None => kinds.push((*kind, took)),
        }
    }
    kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
    let is_map = |kind: &OpKind| columns.iter().filter(|column| column.ops.contains_key(kind)).count() >= SECONDS_MIN;
    kinds
        .into_iter()
        .map(|(kind, _)| kind)
        .filter(is_map)
        .take(MAPS_MAX)
        .map(|kind| latency_map(phase.name, columns, kind))
        .collect()
}

fn latency_map(phase: &str, columns: &[LatencyColumn], kind: OpKind) -> Chart {
    let shown = columns.iter().filter_map(|column| density_column(column, kind)).collect::<Vec<_>>();
    let ends = shown
        .iter()
        .flat_map(|column| &column.cells)
        .fold((f64::MAX, 0.0_f64), |(lo, hi), cell| (lo.min(cell.from), hi.max(cell.to)));
    let name = if kind.name() == phase { phase.to_owned() } else { format!("{phase} {}", kind.name()) };
    Chart {
        name: format!("latency-time-{}-{}", slug(phase), kind.name()),
        title: format!("{name}: latency over time"),
        caption: "Darker cells have more ops of that latency at that time. Two bands are two modes; a gap is a stall."
            .to_owned(),
        alt: format!(
            "{name}: service times over time, all between {} and {}. {}",
            Format::Time.text(ends.0.min(ends.1)),
            Format::Time.text(ends.1),
            shown.last().map_or(String::new(), |last| format!("Last: {}.", last.hover_text))
        ),
        body: Body::Density(Density {
            x: Axis {
                title: "Time from the start of the phase".to_owned(),
                format: Format::Time,
                scale: Scale::FromZero,
            },
            y: Axis { title: "Time of an op: less is better".to_owned(), format: Format::Time, scale: Scale::Log },
            values: Format::Ops,
            values_title: "Ops of that latency".to_owned(),
            columns: shown,
        }),
    }
}

fn density_column(column: &LatencyColumn, kind: OpKind) -> Option<DensityColumn> {
    let counts = column.ops.get(&kind)?;
    let seconds = column.length_ns.max(1) as f64 / 1e9;
    let cell = |of: &BucketCount| {
        let (from, to) = bucket_range(of.bucket)?;
        // The first bucket begins at 0, which a logarithmic axis cannot show.
        Some(DensityCell { from: from.max(1) as f64, to: to as f64, value: of.count as f64 / seconds })
    };
    let all: u64 = counts.iter().map(|of| of.count).sum();
    let quantile = |share: f64| {
        let mut seen = 0;
        let of = counts.iter().find(|of| {
            seen += of.count;
            seen as f64 >= share * all as f64
        })?;
        Some(Format::Time.text(bucket_range(of.bucket)?.1 as f64))
    };
    let from = column.start_ns as f64;
    let hover_text = format!(
        "from {}: {} ops, half of them within {}, 99 % within {}",
        if from > 0.0 { Format::Time.text(from) } else { "the start".to_owned() },
        Format::Count.text(all as f64),
        quantile(0.5)?,
        quantile(0.99)?
    );
    Some(DensityColumn {
        from,
        to: from + column.length_ns as f64,
        hover_text,
        cells: counts.iter().filter_map(cell).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::Histogram;

    const SECOND: u64 = 1_000_000_000;

    fn intervals(count: u64) -> Vec<Interval> {
        let ops = |second: u64| OpCounts { count: 100, bytes: 100 << 12, p99_ns: Some(second), ..OpCounts::default() };
        (0..count)
            .map(|second| Interval {
                start_ns: second * SECOND,
                length_ns: SECOND,
                ops: [(OpKind::Read, ops(second))].into(),
            })
            .collect()
    }

    fn lane(of: &str, measure: LaneMeasure, value: u64, count: usize) -> Lane {
        Lane { of: of.to_owned(), measure, values: vec![Some(value); count] }
    }

    fn panels(chart: &Chart) -> Vec<(&str, usize, Option<f64>)> {
        let Body::Lines(lines) = &chart.body else { return Vec::new() };
        let of = |panel: &'_ Panel| panel.series[0].points.last().and_then(|point| point.y);
        lines.panels.iter().map(|panel| (panel.y.title.as_str(), panel.series[0].points.len(), of(panel))).collect()
    }

    // Protects: lanes show rates and shares on the same axis as the load, and a finding is marked where it became true.
    #[test]
    fn lanes_and_findings_share_the_axis_of_the_load() {
        let intervals = intervals(4);
        let lanes = [
            lane("sda", LaneMeasure::BusyMs, 500, 4),
            lane("sda", LaneMeasure::WeightedMs, 4_000, 4),
            lane("sda", LaneMeasure::ReadBytes, 1 << 20, 4),
            lane("", LaneMeasure::CpuPermille, 250, 4),
        ];
        let finding = |code: &str, phase: &str, level, at_ns| Finding {
            code: code.to_owned(),
            level,
            phase: Some(phase.to_owned()),
            at_ns,
            observed: String::new(),
            threshold: String::new(),
            message: "Others used the device.".to_owned(),
            remedy: String::new(),
            remedies: Vec::new(),
        };
        let checks = [
            finding("C1", "p", Level::Warn, Some(3 * SECOND)),
            finding("C2", "p", Level::Warn, None),
            finding("C3", "other", Level::Warn, Some(SECOND)),
            finding("C5", "p", Level::Note, Some(SECOND)),
        ];
        let map = LatencyMap::default();
        let phase = PhaseOverTime { name: "p", intervals: &intervals, lanes: &lanes, latency_map: &map };
        let charts = charts(&phase, &checks);
        assert_eq!(charts.len(), 1);
        assert_eq!(
            panels(&charts[0])[2..],
            [
                ("Devices: busy", 4, Some(0.5)),
                ("Devices: requests in flight", 4, Some(4.0)),
                ("Devices: read", 4, Some(1_048_576.0)),
                ("Processors: busy", 4, Some(0.25))
            ]
        );
        let Body::Lines(lines) = &charts[0].body else { return };
        assert_eq!(lines.marks.len(), 1);
        assert_eq!((lines.marks[0].at, lines.marks[0].sign.as_str()), (3e9, "C1"));
        assert!(charts[0].alt.contains("warn C1: Others"), "{}", charts[0].alt);
    }

    // Protects: the page of a day-long run has a few hundred points, and means stay means.
    #[test]
    fn a_long_run_is_drawn_in_means() {
        let intervals = intervals(86_400);
        let lanes = [lane("sda", LaneMeasure::BusyMs, 500, 86_400)];
        let map = LatencyMap::default();
        let chart = series(&PhaseOverTime { name: "p", intervals: &intervals, lanes: &lanes, latency_map: &map }, &[]);
        assert_eq!(
            panels(&chart),
            [
                ("Rate", 240, Some(409_600.0)),
                ("99th percentile of the time of an op", 240, Some(86_399.0)),
                ("Devices: busy", 240, Some(0.5))
            ]
        );
        assert!(chart.caption.contains("the mean of 360 seconds"), "{}", chart.caption);
    }

    // Protects: the map shows rates, so that a short last column is not paler than its load was.
    #[test]
    fn a_map_has_rates_of_latencies() {
        let mut map = LatencyMap::default();
        for second in 0..4 {
            let mut histogram = Histogram::new();
            let is_short = second == 3;
            histogram.record_n(100_000, if is_short { 50 } else { 100 });
            let length_ns = if is_short { SECOND / 2 } else { SECOND };
            map.push(second * SECOND, length_ns, [(OpKind::Read, &histogram)].into_iter());
        }
        let phase = PhaseOverTime { name: "p", intervals: &[], lanes: &[], latency_map: &map };
        let charts = latency_maps(&phase);
        let Body::Density(density) = &charts[0].body else { panic!("no density") };
        let rates: Vec<f64> = density.columns.iter().map(|column| column.cells[0].value).collect();
        assert_eq!(rates, [100.0; 4]);
        assert!(density.columns[0].cells[0].from <= 1e5 && density.columns[0].cells[0].to > 1e5);
        assert!(density.columns[0].hover_text.starts_with("from the start: 100 ops, half of them within 115"));
    }
}
