//! The page of `plumb net`: round trips idle and loaded, throughput, datagrams.

use crate::format::{count, percent, time};
use crate::style::Style;
use crate::table::{Align, Column, set};
use plumb_result::Histogram;
use plumb_result::number::{BITS_PER_SECOND, Digits};
use serde_json::{Value, json};

/// Round trips while something went on.
#[derive(Debug, Clone)]
pub struct Trips {
    /// What went on: `idle`, `receiving`, `sending`.
    pub during: &'static str,
    /// Times from the intended start, ns.
    pub times: Histogram,
    /// Requests without a response.
    pub lost: u64,
}

/// Bytes in one direction.
#[derive(Debug, Clone)]
pub struct Throughput {
    /// `receive` or `send`.
    pub direction: &'static str,
    /// Bytes per second, as the receiver counted them.
    pub bytes_per_second: f64,
    /// Segments that were sent again; absent where nobody knows.
    pub retransmits: Option<i64>,
}

/// Datagrams in one direction, at a fixed rate.
#[derive(Debug, Clone)]
pub struct Datagrams {
    /// `receive` or `send`.
    pub direction: &'static str,
    /// Sent.
    pub packets: i64,
    /// Not received.
    pub lost: i64,
    /// Received behind a later one.
    pub out_of_order: i64,
    /// Seconds, RFC 1889.
    pub jitter_s: f64,
}

/// Everything that `plumb net` measured.
#[derive(Debug, Clone)]
pub struct Net {
    /// Host and port.
    pub peer: (String, u16),
    /// Time to connect, ns.
    pub connect_ns: u64,
    /// Round trips, idle first.
    pub trips: Vec<Trips>,
    /// Round trips per second, one behind the other; absent where the other end answers none.
    pub trips_per_second: Option<f64>,
    /// Connections, one behind the other, each with a request and its response; and how many per second.
    pub connections: Option<(Trips, f64)>,
    /// Both directions.
    pub throughput: Vec<Throughput>,
    /// Both directions.
    pub datagrams: Vec<Datagrams>,
    /// Bits per second of the datagrams in each direction.
    pub datagram_rate: u64,
    /// Streams of a direction.
    pub streams: u32,
    /// Congestion control of this end.
    pub congestion: Option<String>,
    /// Largest packet of the path, bytes; 0 where it is not known.
    pub path_mtu: u64,
    /// The smoothed round trip of TCP while it was sent, µs; 0 where it is not known.
    pub rtt_us: u64,
    /// The network interface, and the speed that it states, bits per second.
    pub link: Option<(String, Option<f64>)>,
}

fn bits(bytes_per_second: f64) -> String {
    BITS_PER_SECOND.set(bytes_per_second * 8.0, Digits::Three)
}

const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

impl Net {
    fn utilisation(&self, bytes_per_second: f64) -> Option<f64> {
        let speed = self.link.as_ref()?.1?;
        Some(bytes_per_second * 8.0 / speed)
    }

    /// For people.
    pub fn page(&self, style: &Style) -> String {
        let mut text = format!("{} port {}: connected in {}\n", self.peer.0, self.peer.1, time(self.connect_ns as f64));
        let mut facts = Vec::new();
        if let Some(name) = &self.congestion {
            facts.push(format!("TCP {name}"));
        }
        if self.path_mtu > 0 {
            facts.push(format!("path MTU {}", self.path_mtu));
        }
        if let Some((name, speed)) = &self.link {
            let speed = speed.map_or("no stated speed".to_owned(), |speed| bits(speed / 8.0));
            facts.push(format!("{name} ({speed})"));
        }
        let streams = if self.streams == 1 { "stream" } else { "streams" };
        facts.push(format!("{} {streams} each way", self.streams));
        text += &format!("{}\n\n", facts.join(", "));

        let left = |title: &str, cells: Vec<String>| Column {
            title: title.to_owned(),
            cells,
            align: Align::Left,
            leaves: None,
        };
        let right = |title: &str, cells: Vec<String>| Column { align: Align::Right, ..left(title, cells) };
        let trips = |of: &dyn Fn(&Trips) -> String| self.trips.iter().map(of).collect::<Vec<_>>();
        let mut columns = vec![left("Round trip", trips(&|trips| trips.during.to_owned()))];
        for (name, quantile) in QUANTILES {
            let cell =
                |trips: &Trips| trips.times.carried_quantile(quantile).map_or("-".to_owned(), |ns| time(ns as f64));
            columns.push(right(name, trips(&cell)));
        }
        columns.push(right("max", trips(&|trips| trips.times.max().map_or("-".to_owned(), |ns| time(ns as f64)))));
        columns.push(right("requests", trips(&|trips| trips.times.count().to_string())));
        match self.trips_per_second {
            Some(rate) => {
                text += &table(columns, style);
                text += &format!("  back to back: {}/s", count(rate));
                if let Some((trips, rate)) = &self.connections {
                    text += &format!("; with a new connection each: {}/s", count(*rate));
                    for (name, quantile) in [("p50", 0.5), ("p99", 0.99)] {
                        let known = trips.times.carried_quantile(quantile);
                        text += &known.map_or_else(String::new, |ns| format!(", {name} {}", time(ns as f64)));
                    }
                }
                text += "\n\n";
            }
            None => {
                let rtt = time(self.rtt_us as f64 * 1e3);
                text += &style.wrap(
                    &format!(
                        "The other end is iperf3, which answers no round trips. TCP's own estimate while sending: {rtt}. \
                         For percentiles, idle and loaded, start `plumb net --serve` there."
                    ),
                    0,
                );
                text += "\n\n";
            }
        }

        let rows = |of: &dyn Fn(&Throughput) -> String| self.throughput.iter().map(of).collect::<Vec<_>>();
        let link = |row: &Throughput| self.utilisation(row.bytes_per_second).map_or("-".to_owned(), percent);
        let columns = vec![
            left("Throughput", rows(&|row| row.direction.to_owned())),
            right("rate", rows(&|row| bits(row.bytes_per_second))),
            right("of the link", rows(&link)),
            right("retransmits", rows(&|row| row.retransmits.map_or("-".to_owned(), |again| again.to_string()))),
        ];
        text += &table(columns, style);
        text.push('\n');

        let rows = |of: &dyn Fn(&Datagrams) -> String| self.datagrams.iter().map(of).collect::<Vec<_>>();
        let share = |row: &Datagrams| percent(row.lost as f64 / row.packets.max(1) as f64);
        let title = format!("Datagrams at {}", bits(self.datagram_rate as f64 / 8.0));
        let columns = vec![
            left(&title, rows(&|row| row.direction.to_owned())),
            right("jitter", rows(&|row| time(row.jitter_s * 1e9))),
            right("lost", rows(&|row| row.lost.to_string())),
            right("of", rows(&|row| row.packets.to_string())),
            right("loss", rows(&share)),
            right("out of order", rows(&|row| row.out_of_order.to_string())),
        ];
        text + &table(columns, style)
    }

    /// For programs: times in ns, rates in bytes per second.
    pub fn json(&self) -> Value {
        let trips = |trips: &Trips| {
            let mut json = json!({ "during": trips.during, "count": trips.times.count(), "lost": trips.lost,
                "mean_ns": trips.times.mean(), "max_ns": trips.times.max() });
            for (name, quantile) in QUANTILES {
                json[format!("{name}_ns")] = trips.times.carried_quantile(quantile).into();
            }
            json
        };
        let throughput = |row: &Throughput| {
            json!({ "direction": row.direction, "bytes_per_second": row.bytes_per_second,
                "link_share": self.utilisation(row.bytes_per_second), "retransmits": row.retransmits })
        };
        let datagrams = |row: &Datagrams| {
            json!({ "direction": row.direction, "packets": row.packets, "lost": row.lost,
                "out_of_order": row.out_of_order, "jitter_ns": row.jitter_s * 1e9 })
        };
        json!({
            "host": self.peer.0,
            "port": self.peer.1,
            "connect_ns": self.connect_ns,
            "round_trips": self.trips.iter().map(trips).collect::<Vec<_>>(),
            "round_trips_per_second": self.trips_per_second,
            "connections": self.connections.as_ref().map(|connections| trips(&connections.0)),
            "connections_per_second": self.connections.as_ref().map(|connections| connections.1),
            "throughput": self.throughput.iter().map(throughput).collect::<Vec<_>>(),
            "datagrams": self.datagrams.iter().map(datagrams).collect::<Vec<_>>(),
            "datagram_bits_per_second": self.datagram_rate,
            "streams": self.streams,
            "congestion": self.congestion,
            "tcp_rtt_ns": Some(self.rtt_us * 1000).filter(|&ns| ns > 0),
            "path_mtu": Some(self.path_mtu).filter(|&bytes| bytes > 0),
            "interface": self.link.as_ref().map(|link| &link.0),
            "interface_bits_per_second": self.link.as_ref().and_then(|link| link.1),
        })
    }
}

fn table(columns: Vec<Column>, style: &Style) -> String {
    let lines = set(columns, style.width);
    std::iter::once(lines.head).chain(lines.rows).map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net() -> Net {
        let mut times = Histogram::new();
        (1..=100).for_each(|number| times.record(number * 1000));
        let trips = |during| Trips { during, times: times.clone(), lost: 0 };
        let throughput = |direction, bytes_per_second| Throughput { direction, bytes_per_second, retransmits: Some(3) };
        let datagrams = |direction, lost| Datagrams { direction, packets: 200, lost, out_of_order: 1, jitter_s: 25e-6 };
        Net {
            peer: ("nas".to_owned(), 5201),
            connect_ns: 412_000,
            trips: vec![trips("idle"), trips("receiving"), trips("sending")],
            trips_per_second: Some(10_400.0),
            connections: Some((trips("connecting"), 5_210.0)),
            throughput: vec![throughput("receive", 1.1e9), throughput("send", 0.5e9)],
            datagrams: vec![datagrams("receive", 0), datagrams("send", 5)],
            datagram_rate: 10_000_000,
            streams: 1,
            congestion: Some("cubic".to_owned()),
            path_mtu: 1500,
            rtt_us: 80,
            link: Some(("eth0".to_owned(), Some(10e9))),
        }
    }

    // Protects the page: every figure that the command promises is on it, with its unit.
    #[test]
    fn the_page_has_all_figures() {
        let text = net().page(&Style::PLAIN);
        for part in [
            "nas port 5201: connected in 412 µs",
            "TCP cubic, path MTU 1500, eth0 (10.0 Gbit/s), 1 stream each way",
            "Round trip",
            "p99.9",
            "back to back: 10.4 k/s; with a new connection each: 5.21 k/s, p50",
            "8.80 Gbit/s",
            "88 %",
            "Datagrams at 10.0 Mbit/s",
            "25.0 µs",
            "2.5 %",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    // Protects users of stock servers: what is missing is said, with what to do.
    #[test]
    fn a_stock_server_has_no_percentiles() {
        let text = Net { trips: Vec::new(), trips_per_second: None, connections: None, ..net() }.page(&Style::PLAIN);
        assert!(text.contains("estimate while sending: 80.0 µs") && text.contains("plumb net --serve"), "{text}");
        assert!(!text.contains("p99") && text.contains("8.80 Gbit/s"), "{text}");
    }

    // Protects programs: what is not known is null, never 0.
    #[test]
    fn what_is_unknown_is_null() {
        let unknown = Net { link: None, path_mtu: 0, congestion: None, ..net() }.json();
        for key in ["interface", "interface_bits_per_second", "path_mtu", "congestion"] {
            assert!(unknown[key].is_null(), "{key}");
        }
        assert!(unknown["throughput"][0]["link_share"].is_null());
        let known = net().json();
        assert_eq!(known["throughput"][0]["link_share"], 0.88);
        assert_eq!(known["round_trips"][0]["count"], 100);
    }
}
