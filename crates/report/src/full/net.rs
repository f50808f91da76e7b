//! The report of measurements of the network to a host, over time.

use super::FullReport;
use super::charts::slug;
use crate::document::{ColumnHead, ReportPart, ReportTable};
use crate::format::MISSING;
use crate::net::{FIGURES, Figure, availability, facts, when};
use crate::style::Ink;
use crate::table::Align;
use jiff::Timestamp;
use plumb_chart::{Axis, Body, Chart, Format, Lines, Panel, Point, Scale, Series, SeriesShape};
use plumb_result::Network;
use plumb_result::tidy::TidyTable;

/// Measurements of one host, the first one first.
pub fn of_networks(series: &[Network]) -> FullReport {
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
    FullReport { title, parts, numbers: TidyTable::default() }
}

fn rows(series: &[Network]) -> ReportTable {
    let head = |title: &str, align| ColumnHead { title: title.to_owned(), align, leaves: None };
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

/// Throughput, round trips, jitter and loss by time. One measurement is no course.
fn charts(series: &[Network]) -> Vec<Chart> {
    let at = |net: &Network| net.started_at.parse::<Timestamp>().ok().map(|at| at.as_nanosecond() as f64);
    let Some(begin) = series.first().and_then(at) else { return Vec::new() };
    let chart = |title: &str, says: &str, format: Format, scale: Scale, names: &[&str]| {
        let curve = |name: &&str| {
            let of: Figure = FIGURES.iter().find(|figure| figure.0 == *name)?.1;
            let point = |net: &Network| Some(Point { x: at(net)? - begin, y: of(net), interval: None });
            let points: Vec<Point> = series.iter().filter_map(point).collect();
            let known = points.iter().filter(|point| point.y.is_some()).count();
            (known > 1).then(|| Series { name: (*name).to_owned(), shape: SeriesShape::Line, points })
        };
        let curves: Vec<Series> = names.iter().filter_map(curve).collect();
        let said = |curve: &Series| {
            let values = || curve.points.iter().filter_map(|point| point.y);
            let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
            format!("{}: from {} to {}", curve.name, format.text(least), format.text(most))
        };
        let alt = format!("{title}. {}.", curves.iter().map(said).collect::<Vec<_>>().join("; "));
        let x = Axis { title: "Since the first".to_owned(), format: Format::Time, scale: Scale::Linear };
        let y = Axis { title: title.to_owned(), format, scale };
        let panels = vec![Panel { y, height: 180.0, series: curves.clone() }];
        let body = Body::Lines(Lines { x, x_names: Vec::new(), panels, marks: Vec::new() });
        let (name, title, says) = (slug(title), title.to_owned(), says.to_owned());
        (!curves.is_empty()).then_some(Chart { name, title, says, alt, body })
    };
    let says_gap = "A gap is a measurement that could not be made.";
    [
        chart(
            "Throughput",
            &format!("What the receiver counted in each direction. {says_gap}"),
            Format::Bits,
            Scale::FromZero,
            &["receive", "send"],
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

    // Protects the report: the curves of a series have a point for each measurement and a gap for what could not be made.
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
        assert_eq!(names, ["Throughput", "Round trips", "Jitter", "Loss"]);
        let Body::Lines(lines) = &charts[0].body else { panic!() };
        let receive = &lines.panels[0].series[0];
        assert_eq!(receive.name, "receive");
        let points: Vec<_> = receive.points.iter().map(|point| (point.x / 3.6e12, point.y)).collect();
        assert_eq!(points, [(0.0, Some(8.8e9)), (1.0, None), (2.0, Some(8.8e9))]);
        let text = of_networks(&series).markdown(None);
        assert!(text.contains("available 67 % of the time") && text.contains("no route"), "{text}");
        assert!(super::charts(&series[..1]).is_empty(), "one measurement is no course");
    }
}
