//! Streams during the transfer, at either end, and their rows.

use jiff::Zoned;
use plumb_cli::output::print;
use plumb_engine::net::{Counts, Flows, TcpFacts};
use plumb_result::Histogram;
use plumb_tools_net::iperf2::{Iperf2Settings, Latency, OutputStyle, Row, ServerReport, Stream};
use std::time::{Duration, Instant};

/// Converts a histogram of round trips (ns) to statistics.
fn trips(times: &Histogram) -> Latency {
    let mean = times.mean().unwrap_or(0.0);
    let squares: f64 = times
        .buckets()
        .map(|bucket| {
            let middle = bucket.lowest as f64 / 2.0 + bucket.highest as f64 / 2.0;
            (middle - mean).powi(2) * bucket.count as f64
        })
        .sum();
    Latency {
        mean_us: mean / 1e3,
        least_us: times.min().unwrap_or(0) as f64 / 1e3,
        most_us: times.max().unwrap_or(0) as f64 / 1e3,
        deviation_us: (squares / (times.count().saturating_sub(1)).max(1) as f64).sqrt() / 1e3,
    }
}

/// State of a stream at some time.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    counts: Counts,
    tcp: Option<TcpFacts>,
}

/// Running flows, and the part of their results that was printed.
pub(super) struct Running<'a> {
    settings: &'a Iperf2Settings,
    look: OutputStyle,
    streams: &'a [Stream],
    pub flows: Flows,
    began: Instant,
    last: Vec<Reading>,
    last_s: f64,
    next: Option<Instant>,
    /// Smallest and largest one-way latency since the start, µs, by stream.
    extremes: Vec<Option<[i64; 2]>>,
    /// Bytes sent before the flows began.
    before: u64,
    shown: Histogram,
    /// One-way latencies already printed, by stream.
    shown_bins: Vec<Vec<(u32, u32)>>,
    /// End of each stream, seconds.
    ends: Vec<Option<f64>>,
    /// Whether the header was printed: for streams that send, for others, and for sums.
    named: [bool; 3],
}

impl<'a> Running<'a> {
    /// Starts the flows. `time` limits flows that end by themselves.
    pub(super) fn start(
        settings: &'a Iperf2Settings,
        look: OutputStyle,
        streams: &'a [Stream],
        flows: Flows,
        time: Option<Duration>,
        before: u64,
    ) -> Running<'a> {
        flows.start(time.map(|time| time.as_nanos() as u64));
        let began = Instant::now();
        let interval = Some(settings.interval_s).filter(|&seconds| seconds > 0.0).map(Duration::from_secs_f64);
        Running {
            settings,
            look,
            streams,
            flows,
            began,
            last: vec![Reading::default(); streams.len()],
            last_s: 0.0,
            next: interval.map(|interval| began + interval),
            extremes: vec![None; streams.len()],
            before,
            shown: Histogram::new(),
            shown_bins: vec![Vec::new(); streams.len()],
            ends: vec![None; streams.len()],
            named: [look.sends, !look.sends, false],
        }
    }

    /// Returns the seconds since the start.
    pub(super) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Waits for the next event, but at most `longest`, and prints the rows that are due.
    pub(super) fn poll(&mut self, longest: Duration) {
        let left = self.next.map_or(longest, |at| at.saturating_duration_since(Instant::now()).min(longest));
        if !left.is_zero() {
            self.flows.wait(&[], left);
        }
        let now = self.seconds();
        for (number, end) in self.ends.iter_mut().enumerate() {
            if end.is_none() && self.flows.has_ended(number) {
                *end = Some(now);
            }
        }
        if self.next.is_some_and(|at| Instant::now() >= at) {
            let end = self.seconds();
            let mut rows = self.rows(end);
            if self.look.bounces
                && let Some(row) = rows.first_mut()
            {
                row.latency = Some(self.new_trips());
            }
            self.show(&rows, false);
            self.next = self.next.map(|at| at + Duration::from_secs_f64(self.settings.interval_s));
        }
    }

    /// Returns `true` if each connection has a stream in each direction, with the same number.
    fn is_both(&self) -> bool {
        matches!(self.streams, [one, other, ..] if one.number == other.number)
    }

    /// Returns `true` if all flows have ended.
    pub(super) fn is_over(&self) -> bool {
        match self.is_both() {
            true => self.flows.is_over(true) && self.flows.is_over(false),
            false => self.flows.is_done(),
        }
    }

    /// Returns `true` if this end has sent all data of a bidirectional test, so that the other
    /// end has to be notified.
    pub(crate) fn has_sent(&self) -> bool {
        self.is_both() && self.flows.is_over(true)
    }

    /// Returns the bytes moved by all streams so far.
    pub(super) fn bytes(&self) -> u64 {
        (0..self.streams.len()).map(|number| self.flows.counts(number).bytes).sum()
    }

    fn rows(&mut self, end: f64) -> Vec<Row> {
        let from = std::mem::replace(&mut self.last_s, end);
        (0..self.streams.len())
            .map(|number| {
                let now = Reading { counts: self.flows.counts(number), tcp: self.flows.tcp(number) };
                let before = std::mem::replace(&mut self.last[number], now);
                let extremes = self.flows.take_extremes(number);
                self.extremes[number] = match (self.extremes[number], extremes) {
                    (Some([least, most]), Some([low, high])) => Some([least.min(low), most.max(high)]),
                    (one, other) => one.or(other),
                };
                self.row(number, &before, &now, [from, end], extremes)
            })
            .collect()
    }

    /// Returns the round trips since the last row.
    fn new_trips(&mut self) -> Latency {
        let times = self.flows.times(0);
        trips(&times.since(&std::mem::replace(&mut self.shown, times.clone())))
    }

    fn row(
        &self,
        number: usize,
        before: &Reading,
        now: &Reading,
        [start, end]: [f64; 2],
        extremes: Option<[i64; 2]>,
    ) -> Row {
        let sends = self.streams[number].sends;
        let (was, is) = (before.counts.datagrams, now.counts.datagrams);
        let lost =
            [is.lost.wrapping_sub(was.lost) as i64, (is.highest - was.highest) as i64].map(|count| count.max(0) as u64);
        let bytes = now.counts.bytes - before.counts.bytes;
        // A message goes in both directions.
        let bytes = if self.look.bounces { bytes * 2 } else { bytes };
        let received = lost[1].saturating_sub(lost[0]);
        let mean = (is.transit_us - was.transit_us) / (received.max(1)) as f64;
        let square = (is.transit_squares - was.transit_squares) / (received.max(1)) as f64;
        let [least, most] = extremes.unwrap_or_default();
        let is_first = start == 0.0;
        Row {
            start,
            end,
            // The first bytes of a stream are sent separately.
            bytes: bytes + if is_first && sends { self.before } else { 0 },
            bursts: received,
            ops: match (self.look.udp, sends) {
                (true, true) => bytes / u64::from(self.settings.test.block.max(1)),
                (true, false) => received,
                (false, _) => now.counts.ops - before.counts.ops,
            },
            tcp: now.tcp.filter(|_| sends).map(|tcp| {
                let again = tcp.retransmits.saturating_sub(before.tcp.map_or(0, |tcp| tcp.retransmits));
                [again, tcp.window / 1024, tcp.rtt_us, tcp.rtt_variation_us]
            }),
            lost: [lost[0], lost[1], is.out_of_order - was.out_of_order],
            jitter_us: is.jitter_us,
            latency: Some(Latency {
                mean_us: mean,
                least_us: least as f64,
                most_us: most as f64,
                deviation_us: (square - mean * mean).max(0.0).sqrt(),
            }),
        }
    }

    /// Prints rows: final ones, or those of an interval.
    fn show(&mut self, rows: &[Row], is_last: bool) {
        let mut text = String::new();
        let is_both = self.is_both();
        for (number, (stream, row)) in self.streams.iter().zip(rows).enumerate() {
            let look = OutputStyle { sends: stream.sends, ..self.look };
            if self.settings.csv {
                text += &look.csv(&Zoned::now().strftime("%Y%m%d%H%M%S").to_string(), stream, row);
                continue;
            }
            text += self.columns(if stream.sends { 0 } else { 1 });
            text += &look.row(&stream.name(), row);
            if let Some(bins) = self.settings.test.bins.filter(|_| !stream.sends && look.trips) {
                let now = self.flows.bins(number);
                let before = match is_last {
                    true => Vec::new(),
                    false => std::mem::replace(&mut self.shown_bins[number], now.clone()),
                };
                let of = |bin| before.iter().find(|(was, _)| *was == bin).map_or(0, |(_, count)| *count);
                let new = now.into_iter().map(|(bin, count)| (bin, count.saturating_sub(of(bin))));
                let new: Vec<_> = new.filter(|(_, count)| *count > 0).collect();
                text += &look.histogram(&stream.name(), row, is_last, bins, &new);
            }
            if is_both && self.look.enhanced && number % 2 == 1 {
                text += self.columns(2);
                text += &self.look.sum(&format!("FD{}", stream.number), &Row::sum(rows[number - 1..=number].iter()));
            }
        }
        if rows.len() > if is_both { 2 } else { 1 } && !self.settings.csv {
            text += &self.look.sum("SUM", &Row::sum(rows.iter()));
        }
        print(&text);
    }

    /// Returns the header of a kind of rows on its first use.
    fn columns(&mut self, kind: usize) -> &'static str {
        let is_named = std::mem::replace(&mut self.named[kind], true);
        match kind {
            _ if is_named || !self.look.enhanced => "",
            2 => OutputStyle::SUM_HEAD,
            _ => OutputStyle { sends: kind == 0, ..self.look }.head(),
        }
    }

    /// Ends the flows and prints their totals.
    pub(super) fn finish(&mut self) -> Vec<Row> {
        let end = self.seconds();
        self.flows.stop();
        // The last interval counts in the totals.
        self.rows(end);
        let zero = Reading::default();
        let mut rows: Vec<Row> = (0..self.streams.len())
            .map(|number| {
                let times = [0.0, self.ends[number].unwrap_or(end)];
                self.row(number, &zero, &self.last[number], times, self.extremes[number])
            })
            .collect();
        if self.look.bounces
            && let Some(row) = rows.first_mut()
        {
            row.latency = Some(trips(&self.flows.times(0)));
        }
        self.show(&rows, true);
        rows
    }

    /// Returns the server's report on a stream of datagrams.
    pub(super) fn report(row: &Row) -> ServerReport {
        ServerReport {
            bytes: row.bytes,
            seconds: row.end,
            lost: row.lost[0],
            out_of_order: row.lost[2],
            datagrams: row.lost[1],
            jitter_us: row.jitter_us,
            latency: row.latency.unwrap_or_default(),
        }
    }
}
