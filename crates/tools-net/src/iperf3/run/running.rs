//! A test during the transfer, at either end: intervals, the omitted start, and sums.

use super::output::Out;
use plumb_engine::net::{Counts, Flows, TcpFacts, congestion};
use plumb_tools_net::iperf3::{Ending, Interval, Params, Report, Results, Row, StreamResult, TcpRow, Whole, stream_id};
use std::time::{Duration, Instant};

/// State of a stream at some time.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    counts: Counts,
    tcp: Option<TcpFacts>,
}

/// Running flows, and the part of their results that was printed.
pub(super) struct Running<'a> {
    report: &'a Report,
    pub flows: Flows,
    began: Instant,
    /// End of the omitted start; `None` after it.
    omit_until: Option<Instant>,
    next_report: Option<Instant>,
    /// State at `began`, and at the end of the last interval.
    base: Vec<Reading>,
    last: Vec<Reading>,
    last_s: f64,
    largest: Vec<(TcpRow, [u64; 3], u64)>,
    /// Bytes received at the last check, and the time since which that number is unchanged.
    came: (u64, Instant),
    end_s: f64,
    cpu_ns: (u64, u64),
}

impl<'a> Running<'a> {
    /// Starts the flows. A client's senders end by themselves; a server's continue until they are asked to end.
    pub(super) fn start(report: &'a Report, flows: Flows) -> Running<'a> {
        let ends = !report.is_server;
        let params = &report.params;
        let count = report.streams.len();
        let omit = Duration::from_secs(params.end.omit_s.into());
        let mut running = Running {
            report,
            flows,
            began: Instant::now(),
            omit_until: None,
            next_report: None,
            base: vec![Reading::default(); count],
            last: vec![Reading::default(); count],
            last_s: 0.0,
            largest: vec![Default::default(); count],
            came: (0, Instant::now()),
            end_s: 0.0,
            cpu_ns: (0, 0),
        };
        running.base = running.read();
        running.last.clone_from(&running.base);
        if omit.is_zero() {
            running.limit();
        }
        let time =
            params.end.time_s.filter(|&seconds| ends && seconds > 0).map(|seconds| Duration::from_secs(seconds.into()));
        running.flows.start(time.map(|time| (omit + time).as_nanos() as u64));
        running.began = Instant::now();
        running.omit_until = (!omit.is_zero()).then(|| running.began + omit);
        running.next_report = running.after(running.began);
        running
    }

    /// Limits a test that ends after blocks or bytes. A server stops at the limit only if its client is sure to
    /// receive all data, and counts the same way.
    fn limit(&self) {
        let Report { params, is_server, .. } = self.report;
        if let Some(blocks) =
            blocks_of(params).filter(|_| !is_server || !(params.transport.udp || params.end.omit_s > 0))
        {
            let bytes = blocks.saturating_mul(params.flow.block.into());
            self.flows.limit(blocks, if *is_server { u64::MAX } else { bytes });
        }
    }

    fn after(&self, from: Instant) -> Option<Instant> {
        (self.report.interval_s > 0.0).then(|| from + Duration::from_secs_f64(self.report.interval_s))
    }

    fn read(&self) -> Vec<Reading> {
        let one = |number| Reading { counts: self.flows.counts(number), tcp: self.flows.tcp(number) };
        (0..self.report.streams.len()).map(one).collect()
    }

    /// Returns the seconds of the measurement.
    pub(super) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    pub(super) fn report(&self) -> &'a Report {
        self.report
    }

    /// Returns the time at which the measurement has lasted `seconds` seconds.
    pub(super) fn ends_at(&self, seconds: u32) -> Instant {
        self.began + Duration::from_secs(seconds.into())
    }

    /// Returns `true` during the omitted start.
    pub(super) fn omits(&self) -> bool {
        self.omit_until.is_some()
    }

    /// Returns the time of the next event.
    pub(super) fn next(&self) -> Option<Instant> {
        [self.omit_until, self.next_report].into_iter().flatten().min()
    }

    /// Returns the bytes received so far.
    pub(super) fn received(&self) -> u64 {
        let of = self.report.streams.iter().enumerate().filter(|(_, stream)| !stream.sends);
        of.map(|(number, _)| self.flows.counts(number).bytes).sum()
    }

    /// Returns the bytes moved so far in both directions.
    pub(super) fn moved(&self) -> u64 {
        (0..self.report.streams.len()).map(|number| self.flows.counts(number).bytes).sum()
    }

    /// Returns `true` if data should arrive and none has for `longest`.
    pub(super) fn is_idle(&mut self, longest: Duration) -> bool {
        let (now, came) = (Instant::now(), self.received());
        if came != self.came.0 {
            self.came = (came, now);
        }
        now.duration_since(self.came.1) > longest && self.report.streams.iter().any(|stream| !stream.sends)
    }

    /// Handles the events that are due.
    pub(super) fn poll(&mut self, out: &mut Out) {
        let now = Instant::now();
        if self.next_report.is_some_and(|at| now >= at) {
            let interval = self.interval(self.seconds());
            out.interval(self.report, &interval);
            self.next_report = self.next_report.and_then(|at| self.after(at)).map(|at| at.max(now));
        }
        if self.omit_until.is_some_and(|at| now >= at) {
            self.omit_until = None;
            self.limit();
            self.base = self.read();
            self.last.clone_from(&self.base);
            (self.began, self.last_s) = (now, 0.0);
            self.largest.fill(Default::default());
            self.next_report = self.after(now);
        }
    }

    fn row(&self, stream: usize, from: &Reading, to: &Reading, start: f64, end: f64) -> Row {
        let (params, sends) = (&self.report.params, self.report.streams[stream].sends);
        let bytes = to.counts.bytes - from.counts.bytes;
        let (before, now) = (from.counts.datagrams, to.counts.datagrams);
        let less = |now: u64, before: u64| now as i64 - before as i64;
        let tcp = to.tcp.filter(|_| sends);
        Row {
            start,
            end,
            bytes,
            retransmits: tcp.map(|tcp| less(tcp.retransmits, from.tcp.map_or(0, |tcp| tcp.retransmits))),
            tcp: tcp.map(|tcp| TcpRow {
                window: tcp.window,
                receiver_window: tcp.receiver_window,
                rtt_us: tcp.rtt_us,
                rtt_variation_us: tcp.rtt_variation_us,
                path_mtu: tcp.path_mtu,
                reordering: tcp.reordering,
            }),
            packets: match (params.transport.udp, sends) {
                (false, _) => 0,
                (true, true) => (bytes / u64::from(params.flow.block.max(1))) as i64,
                (true, false) => less(now.highest, before.highest),
            },
            lost: less(now.lost, before.lost),
            out_of_order: less(now.out_of_order, before.out_of_order),
            jitter_s: now.jitter_us / 1e6,
        }
    }

    /// Returns the interval that ends now.
    fn interval(&mut self, end: f64) -> Interval {
        let now = self.read();
        let mut rows = Vec::new();
        for (number, (from, to)) in self.last.iter().zip(&now).enumerate() {
            let row = self.row(number, from, to, self.last_s, end);
            if let Some(tcp) = row.tcp {
                let (largest, [most, least, sum], count) = &mut self.largest[number];
                largest.window = largest.window.max(tcp.window);
                largest.receiver_window = largest.receiver_window.max(tcp.receiver_window);
                largest.path_mtu = largest.path_mtu.max(tcp.path_mtu);
                largest.rtt_us = tcp.rtt_us;
                largest.reordering = largest.reordering.max(tcp.reordering);
                *most = (*most).max(tcp.rtt_us);
                *least = if *count == 0 { tcp.rtt_us } else { (*least).min(tcp.rtt_us) };
                (*sum, *count) = (*sum + tcp.rtt_us, *count + 1);
            }
            rows.push(row);
        }
        (self.last, self.last_s) = (now, end);
        Interval { rows, omitted: self.omit_until.is_some() }
    }

    pub(crate) fn ends_now(&mut self) {
        self.end_s = self.seconds();
    }

    /// Ends the flows and prints the last interval.
    pub(super) fn stop(&mut self, out: &mut Out) {
        if self.end_s == 0.0 {
            self.ends_now();
        }
        self.flows.stop();
        self.cpu_ns = self.flows.cpu_ns();
        let interval = self.interval(self.end_s);
        let is_long = |row: &Row| row.end - row.start >= self.report.interval_s / 10.0;
        if interval.rows.iter().any(|row| row.bytes > 0 || is_long(row)) {
            out.interval(self.report, &interval);
        }
    }

    fn whole(&self, stream: usize) -> Row {
        self.row(stream, &self.base[stream], &self.last[stream], 0.0, self.end_s)
    }

    /// Returns the values of a stream during the omitted start.
    fn omitted(&self, stream: usize) -> Row {
        self.row(stream, &Reading::default(), &self.base[stream], 0.0, 0.0)
    }

    /// Returns the CPU time of this end, in percent of the test's duration.
    fn cpu(&self) -> [f64; 3] {
        let seconds = (self.end_s + f64::from(self.report.params.end.omit_s)).max(1e-9);
        let percent = |ns: u64| ns as f64 / 1e7 / seconds;
        let (user, system) = self.cpu_ns;
        [percent(user + system), percent(user), percent(system)]
    }

    fn congestion(&self) -> Option<String> {
        (!self.report.params.transport.udp && !self.report.streams.is_empty())
            .then(|| congestion(self.flows.socket(0)))?
    }

    /// Returns the results for the other end.
    pub(super) fn results(&self) -> Results {
        let streams: Vec<StreamResult> = (0..self.report.streams.len())
            .map(|number| {
                let (row, before) = (self.whole(number), self.omitted(number));
                // The other end subtracts the omitted values.
                StreamResult {
                    id: stream_id(number),
                    bytes: row.bytes,
                    retransmits: row.retransmits.unwrap_or(-1),
                    jitter_s: row.jitter_s,
                    errors: row.lost + before.lost,
                    omitted_errors: Some(before.lost),
                    packets: row.packets + before.packets,
                    omitted_packets: Some(before.packets),
                    seconds: row.end,
                }
            })
            .collect();
        let sends = self.report.streams.iter().any(|stream| stream.sends);
        Results {
            cpu: self.cpu(),
            has_retransmits: if sends { i64::from(!self.report.params.transport.udp) } else { -1 },
            congestion: self.congestion(),
            output: None,
            streams,
        }
    }

    /// Returns the end of the test, with the other end's results if they are known.
    pub(super) fn ending(&self, other: Option<&Results>) -> Ending {
        let whole = |number: usize| {
            let (own, before) = (self.whole(number), self.omitted(number));
            let far = other.and_then(|other| other.streams.iter().find(|stream| stream.id == stream_id(number)));
            let far = match far {
                Some(far) => Row {
                    end: if far.seconds > 0.0 { far.seconds } else { own.end },
                    bytes: far.bytes,
                    retransmits: Some(far.retransmits).filter(|&again| again >= 0 && !self.report.params.transport.udp),
                    // An end that does not send its omitted values is assumed to have omitted the same ones.
                    packets: far.packets - far.omitted_packets.unwrap_or(before.packets),
                    lost: far.errors - far.omitted_errors.unwrap_or(before.lost),
                    jitter_s: far.jitter_s,
                    ..Row::default()
                },
                None => Row { end: own.end, ..Row::default() },
            };
            let (largest, [most, least, sum], count) = self.largest[number];
            let rtt_us = [most, least, sum / count.max(1)];
            let (sent, received) = if self.report.streams[number].sends { (own, far) } else { (far, own) };
            Whole { sent, received, largest, rtt_us }
        };
        let own = self.congestion();
        let far = other.and_then(|other| other.congestion.clone());
        let sends_first = self.report.streams.first().is_none_or(|stream| stream.sends);
        Ending {
            streams: (0..self.report.streams.len()).map(whole).collect(),
            cpu: [self.cpu(), other.map(|other| other.cpu).unwrap_or_default()],
            congestion: if sends_first { [own, far] } else { [far, own] },
            file: None,
            output: None,
        }
    }
}

/// Returns the number of blocks after which a test ends; `None` if it ends by time.
pub(super) fn blocks_of(params: &Params) -> Option<u64> {
    match (params.end.blocks, params.end.bytes) {
        (0, 0) => None,
        (0, bytes) => Some(bytes.div_ceil(params.flow.block.max(1).into())),
        (blocks, _) => Some(blocks),
    }
}
