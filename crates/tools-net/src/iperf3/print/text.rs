//! Text output.

use super::{Ending, Interval, Opened, Report, Row};
use crate::iperf3::format::{bytes_text, general, rate_text};
use crate::iperf3::params::{FlowParams, TestEnd};

const SEPARATOR: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -\n";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    Interval { omitted: bool },
    Sender,
    Receiver,
}

impl Report {
    /// Returns the label after a stream's number if both ends send.
    fn role(&self, sends: bool) -> &'static str {
        match (self.has_both(), sends, self.is_server) {
            (false, ..) => "",
            (_, true, false) => "[TX-C]",
            (_, false, false) => "[RX-C]",
            (_, true, true) => "[TX-S]",
            (_, false, true) => "[RX-S]",
        }
    }

    /// Formats the lines of the streams, and the header of intervals.
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
        text += &self.head(match (self.params.transport.udp, self.has_both(), sends) {
            (false, false, true) | (false, true, _) => "         Retr  Cwnd",
            (false, false, false) => "",
            (true, false, true) => "         Total Datagrams",
            (true, ..) => "         Jitter    Lost/Total Datagrams",
        });
        text
    }

    fn starting(&self) -> String {
        let FlowParams { streams, block, .. } = self.params.flow;
        let TestEnd { omit_s, time_s, bytes, blocks } = self.params.end;
        let service = self.params.socket.service;
        let (protocol, seconds) = (self.params.protocol(["TCP", "UDP", "SCTP"]), time_s.unwrap_or(0));
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
        let end = match (self.params.transport.udp, row.retransmits, row.tcp) {
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

    /// Formats the lines of an interval. `is_first` is `true` for the first one of the test.
    pub fn interval(&self, interval: &Interval, is_first: bool) -> String {
        let mut text = String::new();
        let many = self.params.flow.streams > 1 || self.has_both();
        if many && !is_first {
            text += SEPARATOR;
        }
        let tail = Tail::Interval { omitted: interval.omitted };
        for sends in [true, false] {
            let of = || self.streams.iter().zip(&interval.rows).filter(|(stream, _)| stream.sends == sends);
            // As in iperf3, a server prints received streams first.
            let lines: String = of().map(|(stream, row)| self.line(Some(stream.socket), sends, row, tail)).collect();
            let sum = match self.params.flow.streams > 1 && !lines.is_empty() {
                true => self.line(None, sends, &Row::sum(of().map(|(_, row)| row)), tail),
                false => String::new(),
            };
            text = if self.is_server && !sends && self.has_both() {
                let (before, after) = text.split_at(if is_first { 0 } else { SEPARATOR.len() });
                format!("{before}{lines}{sum}{after}")
            } else {
                text + &lines + &sum
            };
        }
        text
    }

    /// Formats the lines at the end.
    pub fn ending(&self, ending: &Ending) -> String {
        let mut text = SEPARATOR.to_owned();
        if self.verbose {
            text += "Test Complete. Summary Results:\n";
        }
        let has_retransmits = ending.streams.iter().any(|whole| whole.sent.retransmits.is_some());
        text += &self.head(match (self.params.transport.udp, has_retransmits) {
            (true, _) => "         Jitter    Lost/Total Datagrams",
            (false, true) => "         Retr",
            (false, false) => "",
        });
        let order = if self.is_server { [false, true] } else { [true, false] };
        for sends in order {
            let of: Vec<_> =
                self.streams.iter().zip(&ending.streams).filter(|(stream, _)| stream.sends == sends).collect();
            let mut both = |id: Option<i32>, sent: &Row, received: &Row| {
                let moved = if sends { sent } else { received }.bytes;
                // A server knows only its own side.
                if sends || !self.is_server {
                    // A sender does not know jitter and losses.
                    let sent = Row { jitter_s: 0.0, lost: 0, ..*sent };
                    text += &self.line(id, sends, &sent, Tail::Sender);
                }
                if let Some((name, length)) = ending.file.as_ref().filter(|_| id.is_some()) {
                    let (moved, percent) = Report::of_file(moved, *length);
                    // Without a plural `s`, as in iperf3.
                    let [moved, length] =
                        [moved, *length].map(|bytes| bytes_text(bytes).trim_end_matches('s').to_owned());
                    text += &format!("        Sent {moved} / {length} ({percent}%) of {name}\n");
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
            let roles = if self.params.flow.reverse { ["receiver", "sender"] } else { ["sender", "receiver"] };
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
}
