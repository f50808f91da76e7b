//! The JSON document.

use super::{Ending, Interval, Opened, Report, Row, Start, Whole};
use crate::iperf3::json::Json;
use crate::iperf3::wire::VERSION;

impl Report {
    /// Returns the `start` object of `-J` after the streams are connected.
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
        let [rate, kernel_rate] = [params.pace.rate, params.pace.kernel_rate].map(|rate| rate.unwrap_or(0) as i64);
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
        match (params.transport.udp || params.transport.sctp, params.socket.segment) {
            (true, _) => {}
            (false, Some(bytes)) => json.push("tcp_mss", int(bytes)),
            (false, None) => json.push("tcp_mss_default", int(start.segment)),
        }
        json.push("target_bitrate", Json::Int(rate));
        json.push("fq_rate", Json::Int(kernel_rate));
        json.push("sock_bufsize", int(params.socket.window.unwrap_or(0)));
        json.push("sndbuf_actual", Json::Int(start.buffers[0] as i64));
        json.push("rcvbuf_actual", Json::Int(start.buffers[1] as i64));
        json.push(
            "test_start",
            Json::map([
                ("protocol", Json::text(params.protocol(["TCP", "UDP", "SCTP"]))),
                ("num_streams", int(params.flow.streams)),
                ("blksize", int(params.flow.block)),
                ("omit", int(params.end.omit_s)),
                ("duration", int(params.end.time_s.unwrap_or(0))),
                ("bytes", Json::Int(params.end.bytes as i64)),
                ("blocks", Json::Int(params.end.blocks as i64)),
                ("reverse", int(params.flow.reverse)),
                ("tos", int(params.socket.service)),
                ("target_bitrate", Json::Int(rate)),
                ("bidir", int(params.flow.bidir)),
                ("fqrate", Json::Int(kernel_rate)),
                ("interval", Json::Number(self.interval_s)),
                ("gso", int(params.passing.trains)),
                ("gro", int(params.passing.trains)),
            ]),
        );
        json
    }

    /// Returns the object of an interval in `-J`.
    pub fn interval_json(&self, interval: &Interval) -> Json {
        let row = |socket: Option<i32>, sends: bool, row: &Row| {
            let mut json = times_json(socket, row);
            match (self.params.transport.udp, sends) {
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

    /// Returns the keys of sums, each with its direction.
    fn directions(&self, key: &str) -> Vec<(String, bool)> {
        let first = self.streams.first().is_none_or(|stream| stream.sends);
        let mut all = vec![(key.to_owned(), first)];
        if self.has_both() {
            all.push((format!("{key}_bidir_reverse"), !first));
        }
        all
    }

    /// Returns the `end` object of `-J`.
    pub fn end_json(&self, ending: &Ending) -> Json {
        let all = self.streams.iter().zip(&ending.streams);
        let streams = all.map(|(stream, whole)| self.whole_json(stream, whole, ending.file.as_ref()));
        let mut json = Json::map([("streams", Json::List(streams.collect()))]);
        for (suffix, sends) in self.directions("") {
            let of = || self.streams.iter().zip(&ending.streams).filter(|(stream, _)| stream.sends == sends);
            let sent = Row::sum(of().map(|(_, whole)| &whole.sent));
            let received = Row::sum(of().map(|(_, whole)| &whole.received));
            if self.params.transport.udp {
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
            if let Some(name) = name.as_ref().filter(|_| !self.params.transport.udp) {
                json.push(&format!("{key}_tcp_congestion"), Json::text(name));
            }
        }
        json
    }

    fn whole_json(&self, stream: &Opened, whole: &Whole, file: Option<&(String, u64)>) -> Json {
        let Whole { sent, received, largest, rtt_us } = whole;
        let socket = Some(stream.socket);
        if self.params.transport.udp {
            // Bytes and rate are the sender's; the other values are the receiver's.
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
        let mut json = Json::map([("sender", from)]);
        if let Some((name, length)) = file {
            let (sent, sent_percent) = Report::of_file(sent.bytes, *length);
            let (received, received_percent) = Report::of_file(received.bytes, *length);
            let numbers = [
                ("sent", sent),
                ("received", received),
                ("size", *length),
                ("percent_sent", sent_percent),
                ("percent_received", received_percent),
            ];
            let mut of_file = Json::Map(Vec::new());
            for (key, value) in numbers {
                of_file.push(key, Json::Int(value as i64));
            }
            of_file.push("filename", Json::text(name));
            json.push("diskfile", of_file);
        }
        json.push("receiver", to);
        json
    }
}

/// Returns the `start` object of `-J` before anything is connected.
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
