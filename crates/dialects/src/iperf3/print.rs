//! What is printed of a test: lines for people, and the same as JSON. Source: goldens of 3.12 and 3.21.

use super::format::{Unit, bytes_text, general, rate_text};
use super::json::Json;
use super::wire::{Params, VERSION};

/// A connected stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opened {
    /// The number of its descriptor, which is what lines call it.
    pub socket: i32,
    /// Whether this end sends.
    pub sends: bool,
    /// This end: address and port.
    pub local: (String, u16),
    /// The other one.
    pub remote: (String, u16),
}

/// What the system knew of a sending TCP stream at the end of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the keys of the JSON: bytes and µs")]
pub struct TcpRow {
    pub window: u64,
    pub receiver_window: u64,
    pub rtt_us: u64,
    pub rtt_variation_us: u64,
    pub path_mtu: u64,
    pub reordering: u64,
}

/// What a stream did in some time, or all of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Row {
    /// Seconds, from the start.
    pub start: f64,
    /// See above.
    pub end: f64,
    /// Bytes.
    pub bytes: u64,
    /// Of a TCP sender that knows.
    pub retransmits: Option<i64>,
    /// Of a TCP sender.
    pub tcp: Option<TcpRow>,
    /// Datagrams: sent, or the highest number that came.
    pub packets: i64,
    /// Of those, missing ones.
    pub lost: i64,
    /// And those that came late.
    pub out_of_order: i64,
    /// Seconds.
    pub jitter_s: f64,
}

impl Row {
    fn bits_per_second(&self) -> f64 {
        let seconds = self.end - self.start;
        if seconds > 0.0 { self.bytes as f64 * 8.0 / seconds } else { 0.0 }
    }

    fn lost_percent(&self) -> f64 {
        if self.packets > 0 { self.lost as f64 * 100.0 / self.packets as f64 } else { 0.0 }
    }

    /// All of them together, over the time of the first; jitter is their mean.
    pub fn sum<'a>(rows: impl Iterator<Item = &'a Row>) -> Row {
        let mut sum = Row::default();
        let mut count = 0;
        for row in rows {
            if count == 0 {
                (sum.start, sum.end) = (row.start, row.end);
            }
            count += 1;
            sum.bytes += row.bytes;
            sum.retransmits = row.retransmits.map(|more| sum.retransmits.unwrap_or(0) + more).or(sum.retransmits);
            sum.packets += row.packets;
            sum.lost += row.lost;
            sum.out_of_order += row.out_of_order;
            sum.jitter_s += row.jitter_s;
        }
        sum.jitter_s /= f64::from(count.max(1));
        sum
    }
}

/// What all streams did in an interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Interval {
    /// By stream.
    pub rows: Vec<Row>,
    /// Before what counts.
    pub omitted: bool,
}

/// What a stream did in all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Whole {
    /// As its sender says; zero where only that knows.
    pub sent: Row,
    /// As its receiver says.
    pub received: Row,
    /// Largest windows, bytes, and round trips, µs: largest, smallest, mean.
    pub largest: TcpRow,
    /// See above.
    pub rtt_us: [u64; 3],
}

/// The end of a test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ending {
    /// By stream.
    pub streams: Vec<Whole>,
    /// Processor time of this end and of the other in per cent: all, user, system.
    pub cpu: [[f64; 3]; 2],
    /// Algorithms of congestion control: the sender's, the receiver's.
    pub congestion: [Option<String>; 2],
    /// The server's report, where it was asked for.
    pub output: Option<Json>,
}

/// What is known when a test starts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Start {
    /// `Linux host release version machine`.
    pub system: String,
    /// As mail has it, GMT.
    pub time: String,
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// The server, or the client: host and port.
    pub peer: (String, u16),
    /// 36 letters.
    pub cookie: String,
    /// Bytes of a segment of the control connection.
    pub segment: u32,
    /// Bytes of the buffers of the first stream: for sending, for receiving.
    pub buffers: [u64; 2],
}

/// Who prints, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The test.
    pub params: Params,
    /// Its streams.
    pub streams: Vec<Opened>,
    /// This end is the server.
    pub is_server: bool,
    /// Of rates.
    pub unit: Unit,
    /// More is printed.
    pub verbose: bool,
    /// Seconds between intervals.
    pub interval_s: f64,
}

const SEPARATOR: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -\n";

/// What lines end with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    Interval { omitted: bool },
    Sender,
    Receiver,
}

impl Report {
    fn has_both(&self) -> bool {
        self.params.bidir
    }

    /// What stands behind the number of a stream where both ends send.
    fn role(&self, sends: bool) -> &'static str {
        match (self.has_both(), sends, self.is_server) {
            (false, ..) => "",
            (_, true, false) => "[TX-C]",
            (_, false, false) => "[RX-C]",
            (_, true, true) => "[TX-S]",
            (_, false, true) => "[RX-S]",
        }
    }

    /// The lines that name the streams, and the head of the intervals.
    pub fn opened(&self) -> String {
        let mut text = String::new();
        for Opened { socket, local, remote, .. } in &self.streams {
            let (host, port) = local;
            let (other, other_port) = remote;
            text += &format!("[{socket:>3}] local {host} port {port} connected to {other} port {other_port}\n");
        }
        if self.verbose && !self.is_server {
            text += &self.starting();
        }
        let sends = self.streams.first().is_none_or(|stream| stream.sends);
        text += &self.head(match (self.params.udp, self.has_both(), sends) {
            (false, false, true) | (false, true, _) => "         Retr  Cwnd",
            (false, false, false) => "",
            (true, false, true) => "         Total Datagrams",
            (true, ..) => "         Jitter    Lost/Total Datagrams",
        });
        text
    }

    fn starting(&self) -> String {
        let Params { udp, streams, block, omit_s, time_s, bytes, blocks, service, .. } = &self.params;
        let (protocol, seconds) = (if *udp { "UDP" } else { "TCP" }, time_s.unwrap_or(0));
        let end = match (bytes, blocks) {
            (0, 0) => format!("{seconds} second test"),
            (0, blocks) => format!("{blocks} blocks to send"),
            (bytes, _) => format!("{bytes} bytes to send"),
        };
        format!(
            "Starting Test: protocol: {protocol}, {streams} streams, {block} byte blocks, omitting {omit_s} seconds, {end}, tos {service}\n"
        )
    }

    fn head(&self, more: &str) -> String {
        let role = if self.has_both() { "[Role]" } else { "" };
        format!("[ ID]{role} Interval           Transfer     Bitrate{more}\n")
    }

    fn line(&self, id: Option<i32>, sends: bool, row: &Row, tail: Tail) -> String {
        let id = id.map_or("SUM".to_owned(), |id| format!("{id:>3}"));
        let is_sum = id == "SUM";
        let (transfer, rate) = (bytes_text(row.bytes), rate_text(row.bits_per_second() / 8.0, self.unit));
        let role = self.role(sends);
        let start = format!("[{id}]{role} {:6.2}-{:<6.2} sec  {transfer}  {rate}", row.start, row.end);
        let word = match tail {
            Tail::Interval { omitted: true } => "(omitted)",
            Tail::Interval { omitted: false } => "",
            Tail::Sender => "sender",
            Tail::Receiver => "receiver",
        };
        let datagrams = || {
            let percent = general(row.lost_percent(), 2);
            format!("  {:5.3} ms  {}/{} ({percent}%)  {word}", row.jitter_s * 1e3, row.lost, row.packets)
        };
        let is_interval = matches!(tail, Tail::Interval { .. });
        let end = match (self.params.udp, row.retransmits, row.tcp) {
            (true, ..) if is_interval && sends => {
                let blank = if self.has_both() { "          " } else { "" };
                format!(" {blank} {}  {word}", row.packets)
            }
            (true, ..) => datagrams(),
            (false, Some(again), Some(tcp)) if is_interval && !is_sum => {
                format!("  {again:3}   {}       {word}", bytes_text(tcp.window))
            }
            (false, Some(again), _) if tail != Tail::Receiver => {
                let blanks = if is_sum || is_interval { 13 } else { 12 };
                format!("  {again:3}{:blanks$}{word}", "")
            }
            (false, ..) => format!("{:18}{word}", ""),
        };
        format!("{start}{end}\n")
    }

    /// The lines of an interval; `is_first` of the whole test.
    pub fn interval(&self, interval: &Interval, is_first: bool) -> String {
        let mut text = String::new();
        let many = self.params.streams > 1 || self.has_both();
        if many && !is_first {
            text += SEPARATOR;
        }
        let tail = Tail::Interval { omitted: interval.omitted };
        for sends in [true, false] {
            let of = || self.streams.iter().zip(&interval.rows).filter(|(stream, _)| stream.sends == sends);
            // The server's own order: what it receives comes first.
            let lines: String = of().map(|(stream, row)| self.line(Some(stream.socket), sends, row, tail)).collect();
            let sum = match self.params.streams > 1 && !lines.is_empty() {
                true => self.line(None, sends, &Row::sum(of().map(|(_, row)| row)), tail),
                false => String::new(),
            };
            text = if self.is_server && !sends && self.has_both() {
                let (before, behind) = text.split_at(if is_first { 0 } else { SEPARATOR.len() });
                format!("{before}{lines}{sum}{behind}")
            } else {
                text + &lines + &sum
            };
        }
        text
    }

    /// The lines at the end.
    pub fn ending(&self, ending: &Ending) -> String {
        let mut text = SEPARATOR.to_owned();
        if self.verbose {
            text += "Test Complete. Summary Results:\n";
        }
        let has_retransmits = ending.streams.iter().any(|whole| whole.sent.retransmits.is_some());
        text += &self.head(match (self.params.udp, has_retransmits) {
            (true, _) => "         Jitter    Lost/Total Datagrams",
            (false, true) => "         Retr",
            (false, false) => "",
        });
        let order = if self.is_server { [false, true] } else { [true, false] };
        for sends in order {
            let of: Vec<_> =
                self.streams.iter().zip(&ending.streams).filter(|(stream, _)| stream.sends == sends).collect();
            let mut both = |id: Option<i32>, sent: &Row, received: &Row| {
                // A server knows its own side only.
                if sends || !self.is_server {
                    // Who sent knows of no jitter and no losses.
                    let sent = Row { jitter_s: 0.0, lost: 0, ..*sent };
                    text += &self.line(id, sends, &sent, Tail::Sender);
                }
                if !sends || !self.is_server {
                    text += &self.line(id, sends, received, Tail::Receiver);
                }
            };
            for (stream, whole) in &of {
                both(Some(stream.socket), &whole.sent, &whole.received);
            }
            if of.len() > 1 {
                let sent = Row::sum(of.iter().map(|(_, whole)| &whole.sent));
                both(None, &sent, &Row::sum(of.iter().map(|(_, whole)| &whole.received)));
            }
        }
        if self.verbose && !self.is_server {
            let roles = if self.params.reverse { ["receiver", "sender"] } else { ["sender", "receiver"] };
            let [[all, user, system], [far, far_user, far_system]] = ending.cpu;
            text += &format!(
                "CPU Utilization: local/{} {all:.1}% ({user:.1}%u/{system:.1}%s), remote/{} {far:.1}% ({far_user:.1}%u/{far_system:.1}%s)\n",
                roles[0], roles[1]
            );
            for (key, name) in ["snd", "rcv"].into_iter().zip(&ending.congestion) {
                if let Some(name) = name {
                    text += &format!("{key}_tcp_congestion {name}\n");
                }
            }
        }
        text
    }

    /// What `-J` has under `start` when the streams are connected.
    pub fn start_json(&self, start: &Start) -> Json {
        let endpoint = |(host, port): &(String, u16)| Json::map([("host", Json::text(host)), ("port", int(*port))]);
        let stream = |stream: &Opened| {
            Json::map([
                ("socket", int(stream.socket)),
                ("local_host", Json::text(&stream.local.0)),
                ("local_port", int(stream.local.1)),
                ("remote_host", Json::text(&stream.remote.0)),
                ("remote_port", int(stream.remote.1)),
            ])
        };
        let params = &self.params;
        let rate = params.rate.unwrap_or(0) as i64;
        let mut json = before_start_json(&start.system, self.streams.iter().map(stream).collect());
        json.push(
            "timestamp",
            Json::map([
                ("time", Json::text(&start.time)),
                ("timesecs", Json::Int(start.time_ms / 1000)),
                ("timemillisecs", Json::Int(start.time_ms)),
            ]),
        );
        json.push(if self.is_server { "accepted_connection" } else { "connecting_to" }, endpoint(&start.peer));
        json.push("cookie", Json::text(&start.cookie));
        match (params.udp, params.segment) {
            (true, _) => {}
            (false, Some(bytes)) => json.push("tcp_mss", int(bytes)),
            (false, None) => json.push("tcp_mss_default", int(start.segment)),
        }
        json.push("target_bitrate", Json::Int(rate));
        json.push("fq_rate", Json::Int(0));
        json.push("sock_bufsize", int(params.window.unwrap_or(0)));
        json.push("sndbuf_actual", Json::Int(start.buffers[0] as i64));
        json.push("rcvbuf_actual", Json::Int(start.buffers[1] as i64));
        json.push(
            "test_start",
            Json::map([
                ("protocol", Json::text(if params.udp { "UDP" } else { "TCP" })),
                ("num_streams", int(params.streams)),
                ("blksize", int(params.block)),
                ("omit", int(params.omit_s)),
                ("duration", int(params.time_s.unwrap_or(0))),
                ("bytes", Json::Int(params.bytes as i64)),
                ("blocks", Json::Int(params.blocks as i64)),
                ("reverse", int(params.reverse)),
                ("tos", int(params.service)),
                ("target_bitrate", Json::Int(rate)),
                ("bidir", int(params.bidir)),
                ("fqrate", Json::Int(0)),
                ("interval", Json::Number(self.interval_s)),
                ("gso", int(params.trains)),
                ("gro", int(params.trains)),
            ]),
        );
        json
    }

    /// What `-J` has of an interval.
    pub fn interval_json(&self, interval: &Interval) -> Json {
        let row = |socket: Option<i32>, sends: bool, row: &Row| {
            let mut json = times_json(socket, row);
            match (self.params.udp, sends) {
                (false, true) => {
                    if let Some(again) = row.retransmits {
                        json.push("retransmits", Json::Int(again));
                    }
                    if let Some(tcp) = row.tcp.filter(|_| socket.is_some()) {
                        for (key, value) in [
                            ("snd_cwnd", tcp.window),
                            ("snd_wnd", tcp.receiver_window),
                            ("rtt", tcp.rtt_us),
                            ("rttvar", tcp.rtt_variation_us),
                            ("pmtu", tcp.path_mtu),
                            ("reorder", tcp.reordering),
                        ] {
                            json.push(key, Json::Int(value as i64));
                        }
                    }
                }
                (true, true) => json.push("packets", Json::Int(row.packets)),
                (true, false) => push_datagrams(&mut json, row, None),
                (false, false) => {}
            }
            json.push("omitted", Json::Bool(interval.omitted));
            json.push("sender", Json::Bool(sends));
            json
        };
        let all = || self.streams.iter().zip(&interval.rows);
        let mut streams = Vec::new();
        for (stream, of) in all() {
            streams.push(row(Some(stream.socket), stream.sends, of));
        }
        let mut json = Json::map([("streams", Json::List(streams))]);
        for (key, sends) in self.directions("sum") {
            let of = all().filter(|(stream, _)| stream.sends == sends).map(|(_, row)| row);
            json.push(&key, row(None, sends, &Row::sum(of)));
        }
        json
    }

    /// Keys of sums, with the direction that each is about.
    fn directions(&self, key: &str) -> Vec<(String, bool)> {
        let first = self.streams.first().is_none_or(|stream| stream.sends);
        let mut all = vec![(key.to_owned(), first)];
        if self.has_both() {
            all.push((format!("{key}_bidir_reverse"), !first));
        }
        all
    }

    /// What `-J` has under `end`.
    pub fn end_json(&self, ending: &Ending) -> Json {
        let streams = self.streams.iter().zip(&ending.streams).map(|(stream, whole)| self.whole_json(stream, whole));
        let mut json = Json::map([("streams", Json::List(streams.collect()))]);
        for (suffix, sends) in self.directions("") {
            let of = || self.streams.iter().zip(&ending.streams).filter(|(stream, _)| stream.sends == sends);
            let sent = Row::sum(of().map(|(_, whole)| &whole.sent));
            let received = Row::sum(of().map(|(_, whole)| &whole.received));
            if self.params.udp {
                let sum = Row { start: 0.0, end: received.end, bytes: sent.bytes, ..received };
                let both = [
                    ("sum", sum, sends, sent.bits_per_second()),
                    ("sum_sent", Row { jitter_s: 0.0, lost: 0, ..sent }, true, sent.bits_per_second()),
                    ("sum_received", received, false, received.bits_per_second()),
                ];
                for (key, row, is_sender, rate) in both {
                    let mut one = times_json(None, &row);
                    one.set("bits_per_second", Json::Number(rate));
                    push_datagrams(&mut one, &row, None);
                    one.push("sender", Json::Bool(is_sender));
                    json.push(&format!("{key}{suffix}"), one);
                }
            } else {
                for (key, row, again) in [("sum_sent", sent, sent.retransmits), ("sum_received", received, None)] {
                    let mut one = times_json(None, &row);
                    if let Some(again) = again {
                        one.push("retransmits", Json::Int(again));
                    }
                    one.push("sender", Json::Bool(sends));
                    json.push(&format!("{key}{suffix}"), one);
                }
            }
        }
        let mut cpu = Json::Map(Vec::new());
        for (end, values) in ["host", "remote"].into_iter().zip(ending.cpu) {
            for (part, value) in ["total", "user", "system"].into_iter().zip(values) {
                cpu.push(&format!("{end}_{part}"), Json::Number(value));
            }
        }
        json.push("cpu_utilization_percent", cpu);
        for (key, name) in ["sender", "receiver"].into_iter().zip(&ending.congestion) {
            if let Some(name) = name.as_ref().filter(|_| !self.params.udp) {
                json.push(&format!("{key}_tcp_congestion"), Json::text(name));
            }
        }
        json
    }

    fn whole_json(&self, stream: &Opened, whole: &Whole) -> Json {
        let Whole { sent, received, largest, rtt_us } = whole;
        let socket = Some(stream.socket);
        if self.params.udp {
            // Bytes and rate are the sender's, the rest is the receiver's.
            let packets = if received.packets > 0 { received.packets } else { sent.packets };
            let mut json = times_json(socket, sent);
            push_datagrams(&mut json, &Row { packets, ..*received }, Some(received.out_of_order));
            json.push("sender", Json::Bool(stream.sends));
            return Json::map([("udp", json)]);
        }
        let (mut from, mut to) = (times_json(socket, sent), times_json(socket, received));
        if let Some(again) = sent.retransmits {
            from.push("retransmits", Json::Int(again));
            for (key, value) in [
                ("reorder", largest.reordering),
                ("max_snd_cwnd", largest.window),
                ("max_snd_wnd", largest.receiver_window),
                ("max_rtt", rtt_us[0]),
                ("min_rtt", rtt_us[1]),
                ("mean_rtt", rtt_us[2]),
            ] {
                from.push(key, Json::Int(value as i64));
            }
        }
        from.push("sender", Json::Bool(stream.sends));
        to.push("sender", Json::Bool(stream.sends));
        Json::map([("sender", from), ("receiver", to)])
    }
}

/// What `-J` has under `start` before anything is connected.
pub fn before_start_json(system: &str, connected: Vec<Json>) -> Json {
    Json::map([
        ("connected", Json::List(connected)),
        ("version", Json::Text(format!("iperf {VERSION}"))),
        ("system_info", Json::text(system)),
    ])
}

fn int(value: impl Into<i64>) -> Json {
    Json::Int(value.into())
}

fn times_json(socket: Option<i32>, row: &Row) -> Json {
    let mut json = Json::Map(Vec::new());
    if let Some(socket) = socket {
        json.push("socket", int(socket));
    }
    for (key, value) in [("start", row.start), ("end", row.end), ("seconds", row.end - row.start)] {
        json.push(key, Json::Number(value));
    }
    json.push("bytes", Json::Int(row.bytes as i64));
    json.push("bits_per_second", Json::Number(row.bits_per_second()));
    json
}

fn push_datagrams(json: &mut Json, row: &Row, out_of_order: Option<i64>) {
    json.push("jitter_ms", Json::Number(row.jitter_s * 1e3));
    json.push("lost_packets", Json::Int(row.lost));
    json.push("packets", Json::Int(row.packets));
    json.push("lost_percent", Json::Number(row.lost_percent()));
    if let Some(late) = out_of_order {
        json.push("out_of_order", Json::Int(late));
    }
}
