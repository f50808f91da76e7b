//! Pages of `plumb net`: one measurement, and a series of measurements.

use crate::format::{MISSING, count, percent, time};
use crate::style::Style;
use crate::table::{Align, Column, set};
use plumb_result::number::{BITS_PER_SECOND, Digits};
use plumb_result::{Datagrams, Network, PhaseResult, RoundTrips, RunResult, Throughput};

/// Formats bits per second.
pub(crate) fn bits(bits_per_second: f64) -> String {
    BITS_PER_SECOND.set(bits_per_second, Digits::Three)
}

pub(crate) fn ns(value: Option<u64>) -> String {
    value.map_or(MISSING.to_owned(), |ns| time(ns as f64))
}

fn left(title: &str, cells: Vec<String>) -> Column {
    Column { title: title.to_owned(), cells, align: Align::Left, hide_order: None }
}

fn right(title: &str, cells: Vec<String>) -> Column {
    Column { align: Align::Right, ..left(title, cells) }
}

fn table(columns: Vec<Column>, style: &Style) -> String {
    let lines = set(columns, style.width);
    std::iter::once(lines.head).chain(lines.rows).map(|line| line + "\n").collect()
}

/// Lists the facts that the numbers depend on: TCP settings of both ends, the interface, the processors.
pub(crate) fn facts(net: &Network) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(name) = &net.congestion {
        let other = net.congestion_there.as_ref().filter(|other| *other != name);
        let which = if net.protocol.as_deref() == Some("mptcp") { "MPTCP" } else { "TCP" };
        facts.push(other.map_or(format!("{which} {name}"), |other| format!("{which} {name} here, {other} there")));
    } else if let Some(protocol) = &net.protocol {
        facts.push(protocol_words(protocol).to_owned());
    }
    facts.extend(net.path_mtu.map(|bytes| format!("path MTU {bytes}")));
    match (&net.group, net.streams) {
        (None, 1) => facts.push("1 stream each way".to_owned()),
        (None, streams) => facts.push(format!("{streams} streams each way")),
        (Some(_), 1) => facts.push("1 connection".to_owned()),
        (Some(_), connections) => facts.push(format!("{connections} connections")),
    }
    facts.extend(net.passing.clone());
    if net.busy_poll_us > 0 {
        let longest = time(f64::from(net.busy_poll_us) * 1e3);
        facts.push(format!("both ends ask without sleeping for {longest} at most (busy poll)"));
    }
    let mut lines = vec![facts.join(", ")];
    lines.extend(
        net.server_certificate.as_ref().map(|print| format!("control connection: TLS 1.3, certificate {print}")),
    );
    if let Some(name) = &net.interface {
        let speed = net.interface_bits_per_second.map_or("no stated speed".to_owned(), bits);
        let mut facts = vec![format!("{name} ({speed})")];
        facts.extend(net.interface_mtu.map(|bytes| format!("MTU {bytes}")));
        facts.extend(net.interface_driver.clone());
        facts.extend(net.interface_node.map(|node| format!("NUMA node {node}")));
        for (is_on, word) in [(true, "on"), (false, "off")] {
            let names: Vec<&str> =
                net.offloads.iter().filter(|(_, on)| **on == is_on).map(|(name, _)| name.as_str()).collect();
            if !names.is_empty() {
                facts.push(format!("{word}: {}", names.join(" ")));
            }
        }
        lines.push(facts.join(", "));
    }
    lines.extend(net.processors.as_ref().map(|list| format!("processors {list} may be used")));
    lines
}

fn protocol_words(protocol: &str) -> &str {
    match protocol {
        "udp" => "UDP",
        "mptcp" => "MPTCP",
        "unix" => "Unix socket",
        "vsock" => "vsock",
        other => other,
    }
}

/// Formats round trips, one line for each condition of the path.
fn trip_table(trips: &[RoundTrips], style: &Style) -> String {
    let rows = |of: &dyn Fn(&RoundTrips) -> String| trips.iter().map(of).collect::<Vec<_>>();
    let columns = vec![
        left("Round trip", rows(&|trips| trips.during.clone())),
        right("p50", rows(&|trips| ns(trips.p50_ns))),
        right("p90", rows(&|trips| ns(trips.p90_ns))),
        right("p99", rows(&|trips| ns(trips.p99_ns))),
        right("p99.9", rows(&|trips| ns(trips.p999_ns))),
        right("max", rows(&|trips| ns(trips.max_ns))),
        right("requests", rows(&|trips| trips.count.to_string())),
    ];
    table(columns, style)
}

/// Returns the network measurements in the phases of a run, each with its name: a group of a phase, or the phase's probe.
pub(crate) fn in_phases(phases: &[PhaseResult]) -> impl Iterator<Item = (String, &Network)> {
    let named = |phase: &str, net: &Network| match net.group.as_deref() {
        Some("probe") => "probe".to_owned(),
        group => format!("{phase}, {}", group.unwrap_or_default()),
    };
    phases.iter().flat_map(move |phase| phase.network.iter().map(move |net| (named(&phase.name, net), net)))
}

/// Formats the network measurements in the phases of a run. Facts that were printed before are not repeated.
pub(crate) fn phases_text(result: &RunResult, style: &Style) -> String {
    let (mut text, mut printed) = (String::new(), Vec::new());
    for (what, net) in in_phases(&result.phases) {
        let port = if net.port > 0 { format!(" port {}", net.port) } else { String::new() };
        text += &format!("{what}: {}{port}, connected in {}\n", net.host, ns(net.connect_ns));
        for line in facts(net) {
            if !printed.contains(&line) {
                text += &format!("  {}\n", style.wrap(&line, 4));
                printed.push(line);
            }
        }
        for row in &net.throughput {
            let mut parts = vec![format!("received {}", bits(row.bytes_per_second * 8.0))];
            parts.extend(row.link_share.map(|share| format!("{} of the link", percent(share))));
            parts.extend(row.retransmits.map(|again| format!("{again} retransmits")));
            parts.push(format!("CPU here {}, there {}", percent(row.processors), percent(row.processors_there)));
            text += &format!("  {}\n", style.wrap(&parts.join(", "), 4));
        }
        for row in &net.datagrams {
            let share = loss(row).map_or(MISSING.to_owned(), percent);
            let words = format!(
                "{} of {} datagrams lost ({share}), {} out of order, jitter {}",
                row.lost,
                row.packets,
                row.out_of_order,
                time(row.jitter_ns)
            );
            text += &format!("  {}\n", style.wrap(&words, 4));
        }
        if !net.round_trips.is_empty() {
            text += &trip_table(&net.round_trips, style);
        }
    }
    if text.is_empty() { text } else { text + "\n" }
}

/// Formats the field's five metrics, one line each.
fn summary(net: &Network, style: &Style) -> String {
    let speeds = |rows: &[Throughput]| {
        let one = |direction: &str| {
            let row = rows.iter().find(|row| row.direction == direction);
            row.map_or(MISSING.to_owned(), |row| bits(row.bytes_per_second * 8.0))
        };
        format!("{} in, {} out", one("receive"), one("send"))
    };
    let p50 = |during: &str| ns(trips(net, during).and_then(|trips| trips.p50_ns));
    let response = match net.round_trips.is_empty() {
        false => format!("{} idle, {} receiving, {} sending (p50)", p50("idle"), p50("receiving"), p50("sending")),
        true => format!("{} while sending (TCP's estimate)", ns(net.tcp_rtt_ns)),
    };
    let most = net.throughput.iter().chain(&net.capacity).filter_map(|row| row.link_share).reduce(f64::max);
    let utilisation = match (most, net.interface_bits_per_second) {
        (Some(share), Some(speed)) => format!("{} of the link's {} at most", percent(share), bits(speed)),
        _ => format!("{MISSING}: the link states no speed, or is virtual and has none"),
    };
    let mut rows = Vec::new();
    if net.tried > 0 {
        let share = percent(f64::from(net.answered) / f64::from(net.tried));
        rows.push(("Availability", format!("{share}: {} of {} connections answered", net.answered, net.tried)));
    }
    rows.push(("Response time", response));
    rows.push(("Utilisation", utilisation));
    rows.push(("Throughput", speeds(&net.throughput)));
    if !net.capacity.is_empty() {
        let most = |direction: &str| capacity(net, direction).map_or(MISSING.to_owned(), bits);
        let words = format!(
            "{} in, {} out: the maximum reached; {} streams each way at the same time: {}",
            most("receive"),
            most("send"),
            net.capacity_streams,
            speeds(&net.capacity)
        );
        rows.push(("Capacity", words));
    }
    let lines = rows.iter().map(|(name, words)| format!("  {name:<15}{}\n", style.wrap(words, 17)));
    lines.collect::<String>() + "\n"
}

/// Returns the most that a path carried in a direction, bits per second: with a single stream, or with several in
/// both directions. `None` if the latter was not measured.
fn capacity(net: &Network, direction: &str) -> Option<f64> {
    let together = rate(&net.capacity, direction)?;
    Some(rate(&net.throughput, direction).map_or(together, |alone| alone.max(together)))
}

/// Share of a processor above which it counts as full.
const FULL: f64 = 0.9;

/// Counts the processors of a list such as `0-3,8`.
fn processors_in(list: &str) -> Option<f64> {
    let count = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.split(',').map(count).sum::<Option<u32>>().map(f64::from)
}

/// Reports full processors, which limit the numbers more than the network does.
fn finding(net: &Network) -> Option<String> {
    let most = net.processors.as_deref().and_then(processors_in).unwrap_or(f64::MAX);
    // A single stream is processed by one processor.
    let full = |used: f64, streams: u32| used >= FULL * f64::from(streams.max(1)).min(most);
    let single = net.throughput.iter().map(|row| (row, net.streams));
    let rows = single.chain(net.capacity.iter().map(|row| (row, net.capacity_streams)));
    let ends: Vec<[bool; 2]> =
        rows.map(|(row, streams)| [row.processors, row.processors_there].map(|used| full(used, streams))).collect();
    let (what, fix) = match ends
        .iter()
        .fold([false, false, false], |[here, there, both], [a, b]| [here || *a, there || *b, both || *a && *b])
    {
        [_, _, true] => ("The processors of both ends were full", "both ends"),
        [true, true, _] => ("The processors of each end were full at times", "each end"),
        [true, false, _] => ("This end's processors were full", "this end"),
        [false, true, _] => ("The other end's processors were full", "the other end"),
        [false, false, _] => return None,
    };
    Some(format!(
        "⚠ {what}: they limit the rates, and the network may carry more. Free processors at {fix}, or use --parallel."
    ))
}

/// Returns the page of one measurement.
pub fn page(net: &Network, style: &Style) -> String {
    let port = if net.port > 0 { format!(" port {}", net.port) } else { String::new() };
    let mut text = finding(net).map_or(String::new(), |finding| format!("{}\n\n", style.wrap(&finding, 2)));
    text += &format!("{}{port}: connected in {}\n", net.host, ns(net.connect_ns));
    text.extend(facts(net).iter().map(|line| style.wrap(line, 0) + "\n"));
    text.push('\n');
    text += &summary(net, style);
    match net.round_trips_per_second {
        Some(rate) => {
            text += &trip_table(&net.round_trips, style);
            text += &format!("  back to back: {}/s", count(rate));
            if let (Some(trips), Some(rate)) = (&net.connections, net.connections_per_second) {
                text += &format!("; with a new connection each: {}/s", count(rate));
                for (name, value) in [("p50", trips.p50_ns), ("p99", trips.p99_ns)] {
                    text += &value.map_or_else(String::new, |ns| format!(", {name} {}", time(ns as f64)));
                }
            }
        }
        None => {
            let estimate = ns(net.tcp_rtt_ns);
            text += &style.wrap(
                &format!(
                    "The other end is iperf3, which answers no round trips. TCP's own estimate while sending: {estimate}. \
                     For percentiles, idle and loaded, start `plumb net --serve` there."
                ),
                0,
            );
        }
    }
    text += "\n\n";
    let rows = |of: &dyn Fn(&Throughput) -> String| net.throughput.iter().map(of).collect::<Vec<_>>();
    let columns = vec![
        left("Throughput", rows(&|row| row.direction.clone())),
        right("rate", rows(&|row| bits(row.bytes_per_second * 8.0))),
        right("of the link", rows(&|row| row.link_share.map_or(MISSING.to_owned(), percent))),
        right("retransmits", rows(&|row| row.retransmits.map_or(MISSING.to_owned(), |again| again.to_string()))),
        right("CPU here", rows(&|row| percent(row.processors))),
        right("CPU there", rows(&|row| percent(row.processors_there))),
    ];
    text += &table(columns, style);
    if net.datagrams.is_empty() {
        return text;
    }
    text.push('\n');
    let rows = |of: &dyn Fn(&Datagrams) -> String| net.datagrams.iter().map(of).collect::<Vec<_>>();
    let columns = vec![
        left(
            &format!("Datagrams at {}", bits(net.datagram_bits_per_second as f64)),
            rows(&|row| row.direction.clone()),
        ),
        right("jitter", rows(&|row| time(row.jitter_ns))),
        right("lost", rows(&|row| row.lost.to_string())),
        right("of", rows(&|row| row.packets.to_string())),
        right("loss", rows(&|row| loss(row).map_or(MISSING.to_owned(), percent))),
        right("out of order", rows(&|row| row.out_of_order.to_string())),
    ];
    text + &table(columns, style)
}

/// Returns the share of datagrams that did not arrive.
pub(crate) fn loss(row: &Datagrams) -> Option<f64> {
    (row.packets > 0).then(|| row.lost as f64 / row.packets as f64)
}

/// Returns a figure of a measurement.
pub(crate) type Figure = fn(&Network) -> Option<f64>;

/// Formats a figure with its unit.
pub(crate) type Printed = fn(f64) -> String;

fn rate(rows: &[Throughput], direction: &str) -> Option<f64> {
    rows.iter().find(|row| row.direction == direction).map(|row| row.bytes_per_second * 8.0)
}

fn trips<'a>(net: &'a Network, during: &str) -> Option<&'a RoundTrips> {
    net.round_trips.iter().find(|trips| trips.during == during)
}

fn worst_loss(net: &Network) -> Option<f64> {
    net.datagrams.iter().filter_map(loss).reduce(f64::max)
}

/// Figures of each measurement in a series: name, value, and format.
pub(crate) const FIGURES: [(&str, Figure, Printed); 10] = [
    ("receive", |net| rate(&net.throughput, "receive"), bits),
    ("send", |net| rate(&net.throughput, "send"), bits),
    ("capacity in", |net| capacity(net, "receive"), bits),
    ("capacity out", |net| capacity(net, "send"), bits),
    ("idle p50", |net| trips(net, "idle")?.p50_ns.map(|ns| ns as f64), time),
    ("idle p99", |net| trips(net, "idle")?.p99_ns.map(|ns| ns as f64), time),
    ("receiving p99", |net| trips(net, "receiving")?.p99_ns.map(|ns| ns as f64), time),
    ("sending p99", |net| trips(net, "sending")?.p99_ns.map(|ns| ns as f64), time),
    ("jitter", |net| net.datagrams.iter().map(|row| row.jitter_ns).reduce(f64::max), time),
    ("loss", worst_loss, percent),
];

/// Returns a sentence with the share of measurements that succeeded.
pub(crate) fn availability(series: &[Network]) -> String {
    let there = series.iter().filter(|net| net.error.is_none()).count();
    let share = percent(there as f64 / series.len().max(1) as f64);
    format!("{there} of {} measurements reached the other end: available {share} of the time.", series.len())
}

/// Returns the start time to the second (UTC).
pub(crate) fn when(net: &Network) -> String {
    net.started_at.get(..19).unwrap_or(&net.started_at).replace('T', " ")
}

/// Returns the line of one measurement in a series, printed as it completes.
pub fn line(net: &Network) -> String {
    let at = when(net);
    if let Some(error) = &net.error {
        return format!("{at}  not measured: {}\n", error.lines().next().unwrap_or_default());
    }
    let figures = FIGURES.iter().filter_map(|(name, of, text)| Some(format!("{name} {}", text(of(net)?))));
    format!("{at}  {}\n", figures.collect::<Vec<_>>().join(", "))
}

/// Returns the page of a series: the availability of the other end, and minimum, median and maximum of each figure.
pub fn series(series: &[Network], style: &Style) -> String {
    let Some(first) = series.first() else { return String::new() };
    let mut text = format!("{} port {}: ", first.host, first.port) + &availability(series) + "\n";
    let last = series.last().unwrap_or(first);
    text += &format!("From {} to {} (UTC).\n", when(first), when(last));
    let mut rows: Vec<[String; 5]> = Vec::new();
    for (name, of, text) in FIGURES {
        let values: Vec<f64> = series.iter().filter_map(of).collect();
        if let Some(middle) = plumb_stats::median(&values) {
            let (least, most) =
                (values.iter().copied().fold(middle, f64::min), values.iter().copied().fold(middle, f64::max));
            rows.push([name.to_owned(), text(least), text(middle), text(most), values.len().to_string()]);
        }
    }
    if rows.is_empty() {
        return text;
    }
    let column = |at: usize| rows.iter().map(|row| row[at].clone()).collect::<Vec<_>>();
    let heads = ["least", "median", "most", "measurements"].into_iter().enumerate();
    let columns = heads.map(|(at, head)| right(head, column(at + 1)));
    text + "\n" + &table([left("Figure", column(0))].into_iter().chain(columns).collect(), style)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::BTreeMap;

    pub(crate) fn net() -> Network {
        let trips = |during: &str| RoundTrips {
            during: during.to_owned(),
            count: 100,
            p50_ns: Some(50_000),
            p90_ns: Some(90_000),
            max_ns: Some(100_000),
            ..RoundTrips::default()
        };
        let throughput = |direction: &str, bytes_per_second: f64| Throughput {
            direction: direction.to_owned(),
            bytes_per_second,
            link_share: Some(bytes_per_second * 8.0 / 10e9),
            retransmits: Some(3),
            processors: 0.97,
            processors_there: 0.41,
        };
        let datagrams = |direction: &str, lost| Datagrams {
            direction: direction.to_owned(),
            packets: 200,
            lost,
            out_of_order: 1,
            jitter_ns: 25e3,
        };
        Network {
            started_at: "2026-11-27T08:00:00Z".to_owned(),
            host: "nas".to_owned(),
            port: 5201,
            server_certificate: Some("sha256:41ab".to_owned()),
            connect_ns: Some(412_000),
            round_trips: ["idle", "receiving", "sending"].map(trips).into(),
            round_trips_per_second: Some(10_400.0),
            connections: Some(trips("connecting")),
            connections_per_second: Some(5_210.0),
            throughput: vec![throughput("receive", 1.1e9), throughput("send", 0.5e9)],
            capacity: vec![throughput("receive", 0.9e9), throughput("send", 0.9e9)],
            capacity_streams: 4,
            tried: 9,
            answered: 8,
            datagrams: vec![datagrams("receive", 0), datagrams("send", 5)],
            datagram_bits_per_second: 10_000_000,
            streams: 1,
            congestion: Some("cubic".to_owned()),
            congestion_there: Some("bbr".to_owned()),
            path_mtu: Some(1500),
            tcp_rtt_ns: Some(80_000),
            interface: Some("eth0".to_owned()),
            interface_bits_per_second: Some(10e9),
            interface_mtu: Some(9000),
            interface_driver: Some("ixgbe".to_owned()),
            interface_node: Some(1),
            offloads: BTreeMap::from_iter([("tso".to_owned(), true), ("lro".to_owned(), false)]),
            processors: Some("0-7".to_owned()),
            ..Network::default()
        }
    }

    // Protects: every figure and fact that the command promises is on the page, with its unit.
    #[test]
    fn the_page_has_all_figures() {
        let text = page(&net(), &Style::PLAIN);
        for part in [
            "nas port 5201: connected in 412 µs",
            "control connection: TLS 1.3, certificate sha256:41ab",
            "TCP cubic here, bbr there, path MTU 1500, 1 stream each way",
            "eth0 (10.0 Gbit/s), MTU 9000, ixgbe, NUMA node 1, on: tso, off: lro",
            "processors 0-7 may be used",
            "Round trip",
            "p99.9",
            "back to back: 10.4 k/s; with a new connection each: 5.21 k/s, p50",
            "8.80 Gbit/s",
            "Availability   89 %: 8 of 9 connections answered",
            "Response time  50.0 µs idle",
            "Utilisation    88 % of the link's 10.0 Gbit/s at most",
            "Throughput     8.80 Gbit/s in, 4.00 Gbit/s out",
            "Capacity       8.80 Gbit/s in, 7.20 Gbit/s out: the maximum reached",
            "88 %",
            "97 %",
            "41 %",
            "Datagrams at 10.0 Mbit/s",
            "25.0 µs",
            "2.5 %",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    // Protects: the reported capacity of a path is never below its measured throughput.
    #[test]
    fn capacity_is_at_least_the_throughput() {
        for (name, of, _) in FIGURES.iter().filter(|(name, ..)| name.starts_with("capacity")) {
            let direction = if name.ends_with("in") { "receive" } else { "send" };
            assert!(of(&net()).unwrap() >= rate(&net().throughput, direction).unwrap(), "{name}");
        }
        assert_eq!(capacity(&Network { capacity: Vec::new(), ..net() }, "send"), None);
    }

    // Protects: if processors were full, the first line says so and names their end.
    #[test]
    fn full_processors_are_the_first_finding() {
        let busy = |here: f64, there: f64| {
            let mut busy = net();
            for row in busy.throughput.iter_mut().chain(&mut busy.capacity) {
                (row.processors, row.processors_there) = (here, there);
            }
            page(&busy, &Style::PLAIN).lines().next().unwrap().to_owned()
        };
        assert!(busy(0.97, 0.95).starts_with("⚠ The processors of both ends were full"), "{}", busy(0.97, 0.95));
        assert!(busy(0.97, 0.2).starts_with("⚠ This end's processors were full"), "{}", busy(0.97, 0.2));
        assert!(busy(0.2, 0.97).starts_with("⚠ The other end's"), "{}", busy(0.2, 0.97));
        assert!(busy(0.5, 0.5).starts_with("nas port 5201"), "{}", busy(0.5, 0.5));
        // Four streams have four processors, of which only two may be used.
        let mut two = Network { processors: Some("0-1".to_owned()), throughput: Vec::new(), ..net() };
        two.capacity.iter_mut().for_each(|row| (row.processors, row.processors_there) = (1.9, 1.9));
        assert!(page(&two, &Style::PLAIN).starts_with("⚠ The processors of both ends were full"));
        two.processors = Some("0-7".to_owned());
        assert!(page(&two, &Style::PLAIN).starts_with("nas"));
        assert_eq!((processors_in("0-3,8"), processors_in("x"), processors_in("3-1")), (Some(5.0), None, None));
    }

    // Protects users of stock servers: missing numbers are reported, with a way to get them.
    #[test]
    fn a_stock_server_has_no_percentiles() {
        let stock = Network {
            round_trips: Vec::new(),
            round_trips_per_second: None,
            connections: None,
            connections_per_second: None,
            ..net()
        };
        let text = page(&stock, &Style::PLAIN);
        assert!(text.contains("estimate while sending: 80.0 µs") && text.contains("plumb net --serve"), "{text}");
        assert!(!text.contains("p99") && text.contains("8.80 Gbit/s"), "{text}");
    }

    // Protects: a failed measurement counts against availability and affects no figure.
    #[test]
    fn a_series_has_its_range_and_its_gaps() {
        let failed = Network {
            host: "nas".to_owned(),
            started_at: "2026-11-27T09:00:00Z".to_owned(),
            error: Some("Connection refused\nmore".to_owned()),
            ..Network::default()
        };
        let mut slower = net();
        slower.throughput[0].bytes_per_second = 0.1e9;
        let text = series(&[net(), failed.clone(), slower], &Style::PLAIN);
        assert!(text.contains("2 of 3 measurements reached the other end: available 67 % of the time."), "{text}");
        let row = text.lines().find(|line| line.trim_start().starts_with("receive ")).unwrap();
        assert_eq!(
            row.split_whitespace().collect::<Vec<_>>().join(" "),
            "receive 800 Mbit/s 4.80 Gbit/s 8.80 Gbit/s 2"
        );
        assert_eq!(line(&failed), "2026-11-27 09:00:00  not measured: Connection refused\n");
        assert!(
            line(&net()).starts_with("2026-11-27 08:00:00  receive 8.80 Gbit/s, send 4.00 Gbit/s, capacity in 8.80 Gbit/s, capacity out 7.20 Gbit/s, idle p50 50.0 µs")
        );
    }
}
