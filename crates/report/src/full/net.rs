//! The report of network measurements to a host over time.

use super::FullReport;
use super::charts::slug;
use crate::document::{ColumnHead, ReportPart, ReportTable};
use crate::format::{MISSING, percent, time};
use crate::net::{FIGURES, Figure, availability, bits, facts, in_phases, loss, ns, when};
use crate::style::Ink;
use crate::table::Align;
use jiff::Timestamp;
use plumb_chart::{Axis, Body, Chart, Format, Lines, Panel, Point, Scale, Series, SeriesShape};
use plumb_result::tidy::TidyTable;
use plumb_result::{Network, PhaseResult};

/// Creates the report of measurements to one host, ordered by time.
pub fn networks_report(series: &[Network]) -> FullReport {
    let title = series.first().map_or(String::new(), |first| format!("The network to {}", first.host));
    let mut parts = vec![ReportPart::Text(Ink::Strong, availability(series))];
    let charts = charts(series);
    if !charts.is_empty() {
        parts.push(ReportPart::Heading("Charts".to_owned()));
        parts.extend(charts.into_iter().map(ReportPart::chart));
    }
    parts.push(ReportPart::Heading("Measurements".to_owned()));
    parts.push(ReportPart::Table(rows(series)));
    if let Some(last) = series.iter().rev().find(|net| net.error.is_none()) {
        parts.push(ReportPart::Heading("What they depend on".to_owned()));
        parts.extend(facts(last).into_iter().map(|line| ReportPart::Text(Ink::Faint, line)));
    }
    FullReport::new(title, parts, TidyTable::default())
}

fn head(title: &str, align: Align) -> ColumnHead {
    ColumnHead { title: title.to_owned(), align, hide_order: None }
}

/// Creates a table. The first columns name the subject of the numbers in the following ones.
fn numbers(names: &[&str], figures: &[&str], rows: Vec<Vec<String>>) -> Option<ReportPart> {
    let names = names.iter().map(|name| head(name, Align::Left));
    let columns = names.chain(figures.iter().map(|figure| head(figure, Align::Right))).collect();
    (!rows.is_empty()).then_some(ReportPart::Table(ReportTable { columns, rows }))
}

/// Returns the network measurements of a run: rates, datagrams, and round trips, idle and during the load.
pub(super) fn describe_phases(phases: &[PhaseResult]) -> Vec<ReportPart> {
    let (mut streams, mut datagrams, mut trips, mut lines) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (what, net) in in_phases(phases) {
        let names = |second: &str| vec![what.clone(), second.to_owned()];
        let of = |second: &str, figures: Vec<String>| names(second).into_iter().chain(figures).collect::<Vec<_>>();
        let known = |text: Option<String>| text.unwrap_or_else(|| MISSING.to_owned());
        streams.extend(net.throughput.iter().map(|row| {
            let figures = vec![
                bits(row.bytes_per_second * 8.0),
                known(row.link_share.map(percent)),
                known(row.retransmits.map(|again| again.to_string())),
                percent(row.processors),
                percent(row.processors_there),
            ];
            of(&row.direction, figures)
        }));
        datagrams.extend(net.datagrams.iter().map(|row| {
            let counts = [row.packets, row.lost, row.out_of_order].map(|count| count.to_string());
            let [sent, lost, disordered] = counts;
            of(&row.direction, vec![time(row.jitter_ns), sent, lost, known(loss(row).map(percent)), disordered])
        }));
        trips.extend(net.round_trips.iter().map(|row| {
            let times = [row.p50_ns, row.p90_ns, row.p99_ns, row.p999_ns, row.max_ns].map(ns);
            let counts = [row.count, row.lost].map(|count| count.to_string());
            of(&row.during, times.into_iter().chain(counts).collect())
        }));
        let port = if net.port > 0 { format!(" port {}", net.port) } else { String::new() };
        let about = format!("{what}: {}{port}, connected in {}", net.host, ns(net.connect_ns));
        // Facts that several measurements share are printed once.
        let facts = facts(net).into_iter().filter(|line| !lines.contains(line)).collect::<Vec<_>>();
        lines.push(about);
        lines.extend(facts);
    }
    if lines.is_empty() {
        return Vec::new();
    }
    let tables = [
        numbers(
            &["Throughput", "direction"],
            &["rate", "of the link", "retransmits", "CPU here", "CPU there"],
            streams,
        ),
        numbers(&["Datagrams", "direction"], &["jitter", "sent", "lost", "loss", "out of order"], datagrams),
        numbers(&["Round trips", "during"], &["p50", "p90", "p99", "p99.9", "max", "responses", "lost"], trips),
    ];
    let heading = std::iter::once(ReportPart::Heading("Network".to_owned()));
    let facts = lines.into_iter().map(|line| ReportPart::Text(Ink::Faint, line));
    heading.chain(tables.into_iter().flatten()).chain(facts).collect()
}

fn rows(series: &[Network]) -> ReportTable {
    let there: Vec<_> = FIGURES.iter().filter(|(_, of, _)| series.iter().any(|net| of(net).is_some())).collect();
    let mut columns = vec![head("When (UTC)", Align::Left)];
    columns.extend(there.iter().map(|(name, ..)| head(name, Align::Right)));
    columns.push(head("Not measured, because", Align::Left));
    let row = |net: &Network| {
        let cells = there.iter().map(|(_, of, text)| of(net).map_or(MISSING.to_owned(), *text));
        let why = net.error.as_ref().and_then(|error| error.lines().next()).unwrap_or_default();
        [when(net)].into_iter().chain(cells).chain([why.to_owned()]).collect()
    };
    ReportTable { columns, rows: series.iter().map(row).collect() }
}

/// Draws throughput, round trips, jitter and loss over time. A single measurement has no chart.
fn charts(series: &[Network]) -> Vec<Chart> {
    let at = |net: &Network| net.started_at.parse::<Timestamp>().ok().map(|at| at.as_nanosecond() as f64);
    let Some(begin) = series.first().and_then(at) else { return Vec::new() };
    let chart = |title: &str, caption: &str, format: Format, scale: Scale, names: &[&str]| {
        let curve = |name: &&str| {
            let of: Figure = FIGURES.iter().find(|figure| figure.0 == *name)?.1;
            let point = |net: &Network| Some(Point { x: at(net)? - begin, y: of(net), interval: None });
            let points: Vec<Point> = series.iter().filter_map(point).collect();
            let known = points.iter().filter(|point| point.y.is_some()).count();
            (known > 1).then(|| Series { name: (*name).to_owned(), shape: SeriesShape::Line, points })
        };
        let curves: Vec<Series> = names.iter().filter_map(curve).collect();
        let describe = |curve: &Series| {
            let values = || curve.points.iter().filter_map(|point| point.y);
            let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
            format!("{}: from {} to {}", curve.name, format.text(least), format.text(most))
        };
        let alt = format!("{title}. {}.", curves.iter().map(describe).collect::<Vec<_>>().join("; "));
        let x = Axis { title: "Since the first".to_owned(), format: Format::Time, scale: Scale::Linear };
        let y = Axis { title: title.to_owned(), format, scale };
        let panels = vec![Panel { y, height: 180.0, series: curves.clone() }];
        let body = Body::Lines(Lines { x, x_names: Vec::new(), panels, marks: Vec::new() });
        let (name, title, caption) = (slug(title), title.to_owned(), caption.to_owned());
        (!curves.is_empty()).then_some(Chart { name, title, caption, alt, body })
    };
    let gap_note = "A gap is a measurement that could not be made.";
    [
        chart(
            "Throughput",
            &format!("What the receiver counted in each direction. {gap_note}"),
            Format::Bits,
            Scale::FromZero,
            &["receive", "send"],
        ),
        chart(
            "Capacity",
            "Several streams in each direction, both at the same time.",
            Format::Bits,
            Scale::FromZero,
            &["capacity in", "capacity out"],
        ),
        chart(
            "Round trips",
            "Requests and responses of 16 bytes, idle and while streams load the link.",
            Format::Time,
            Scale::Log,
            &["idle p50", "idle p99", "receiving p99", "sending p99"],
        ),
        chart("Jitter", "Of datagrams, RFC 1889.", Format::Time, Scale::FromZero, &["jitter"]),
        chart("Loss", "The share of datagrams that did not arrive.", Format::Share, Scale::FromZero, &["loss"]),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::tests::net;

    // Protects: the report of a run contains all network numbers of its page, and no section if there are none.
    #[test]
    fn a_run_has_its_network_part() {
        assert!(describe_phases(&[]).is_empty());
        let of = |group: &str| Network { group: Some(group.to_owned()), ..net() };
        let phase = PhaseResult {
            name: "read".to_owned(),
            wall_ns: 1_000_000_000,
            metrics: [].into(),
            done: [].into(),
            replay: None,
            fidelity: Vec::new(),
            network: vec![of("streams"), of("probe")],
            steps: Vec::new(),
            first_done: None,
            notes: Vec::new(),
            caches: None,
            limiter: None,
            ranks: None,
        };
        let text = crate::document::markdown(&describe_phases(&[phase]), "");
        for part in [
            "Network",
            "| read, streams | receive |",
            "8.80 Gbit/s",
            "| probe | idle |",
            "| 50.0 µs | 90.0 µs |",
            "25.0 µs",
            "2.5 %",
            "read, streams: nas port 5201, connected in 412 µs",
            "probe: nas port 5201",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert_eq!(text.matches("processors 0-7 may be used").count(), 1, "{text}");
    }

    // Protects: the curves of a series have a point for each measurement, and a gap for each failed one.
    #[test]
    fn a_series_is_charted_with_its_gaps() {
        let at = |hour: u32| Network { started_at: format!("2026-11-27T{hour:02}:00:00Z"), ..net() };
        let failed = Network {
            started_at: "2026-11-27T09:00:00Z".to_owned(),
            error: Some("no route".to_owned()),
            ..Network::default()
        };
        let series = [at(8), failed, at(10)];
        let charts = charts(&series);
        let names: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(names, ["Throughput", "Capacity", "Round trips", "Jitter", "Loss"]);
        let Body::Lines(lines) = &charts[0].body else { panic!() };
        let receive = &lines.panels[0].series[0];
        assert_eq!(receive.name, "receive");
        let points: Vec<_> = receive.points.iter().map(|point| (point.x / 3.6e12, point.y)).collect();
        assert_eq!(points, [(0.0, Some(8.8e9)), (1.0, None), (2.0, Some(8.8e9))]);
        let text = networks_report(&series).markdown(None);
        assert!(text.contains("available 67 % of the time") && text.contains("no route"), "{text}");
        assert!(super::charts(&series[..1]).is_empty(), "a single measurement has no chart");
    }
}
