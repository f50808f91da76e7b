//! Text output and comma-separated values. Source of the layouts: goldens of 2.1.8.

use super::settings::Bins;
use super::wire::{Ask, Latency, ServerReport};
use crate::iperf3::{Unit, bytes_text, general, rate_text};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutputStyle {
    /// Unit of rates.
    pub unit: Unit,
    /// `-e`: more columns.
    pub enhanced: bool,
    /// Whether the test uses datagrams.
    pub udp: bool,
    /// Whether this end sends.
    pub sends: bool,
    /// Whether the test measures round trips.
    pub bounces: bool,
    /// Whether one-way latencies are known.
    pub trips: bool,
}

/// A stream, as output lines name it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stream {
    pub number: u64,
    /// Whether this end sends.
    pub sends: bool,
    /// Whether it is the stream from server to client, next to one in the other direction.
    pub is_back: bool,
    /// Addresses and ports: local, then remote.
    pub ends: [(String, u16); 2],
}

impl Stream {
    /// Returns the name in rows.
    pub fn name(&self) -> String {
        match self.is_back {
            true => format!("{:>3}", format!("*{}", self.number)),
            false => format!("{:3}", self.number),
        }
    }
}

/// Facts that are known after a stream is connected.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Met {
    pub ask: Ask,
    /// TCP only: first congestion window (KiB), maximum segment size (bytes), and first round trip (µs).
    pub tcp: Option<[u64; 3]>,
    /// Time to connect, ms; only on a TCP client.
    pub connect_ms: Option<f64>,
    /// File descriptor of the socket.
    pub socket: i32,
    /// Name of the network interface.
    pub device: String,
    pub at: String,
}

/// Values of a stream in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Row {
    /// Start of the interval, s.
    pub start: f64,
    /// End of the interval, s.
    pub end: f64,
    pub bytes: u64,
    /// Calls, or datagrams that were sent or received.
    pub ops: u64,
    /// TCP blocks whose one-way latency is known.
    pub bursts: u64,
    /// TCP sender only: retransmitted segments, congestion window (KiB), round trip and its variation (µs).
    pub tcp: Option<[u64; 4]>,
    /// Received datagrams: lost, sent, out of order.
    pub lost: [u64; 3],
    /// Smoothed variation of one-way latencies, µs.
    pub jitter_us: f64,
    /// One-way latencies, if known.
    pub latency: Option<Latency>,
}

impl Row {
    fn rate(&self) -> f64 {
        self.bytes as f64 / (self.end - self.start).max(1e-9)
    }

    /// Converts a server's report on received data.
    pub fn from_report(report: &ServerReport) -> Row {
        let ServerReport { bytes, seconds, lost, out_of_order, datagrams, jitter_us, latency } = *report;
        Row {
            end: seconds,
            bytes,
            ops: datagrams.saturating_sub(lost),
            lost: [lost, datagrams, out_of_order],
            jitter_us,
            latency: Some(latency),
            ..Row::default()
        }
    }

    /// Sums up the rows of all streams.
    pub fn sum<'a>(rows: impl Iterator<Item = &'a Row>) -> Row {
        let mut sum = Row::default();
        for (number, row) in rows.enumerate() {
            if number == 0 {
                (sum.start, sum.end) = (row.start, row.end);
            }
            sum.end = sum.end.max(row.end);
            sum.bytes += row.bytes;
            sum.ops += row.ops;
            for (all, one) in sum.lost.iter_mut().zip(row.lost) {
                *all += one;
            }
        }
        sum
    }
}

/// Header of a client's rows about round trips.
const BOUNCE_COLUMNS: &str =
    "[ ID] Interval            Transfer    Bandwidth         BB cnt=avg/min/max/stdev         Rtry  Cwnd/RTT    RPS\n";

pub const DASHES: &str = "------------------------------------------------------------\n";

impl OutputStyle {
    fn is_received(&self) -> bool {
        self.udp && !self.sends
    }

    /// Header of rows with sums.
    pub const SUM_HEAD: &str = "[ ID] Interval       Transfer     Bandwidth\n";

    /// Returns the header of a stream's rows.
    pub fn head(&self) -> &'static str {
        if self.bounces {
            // A server has no round-trip times to print.
            return match self.sends {
                true => BOUNCE_COLUMNS,
                false => OutputStyle::SUM_HEAD,
            };
        }
        match (self.enhanced, self.udp, self.sends) {
            (false, true, false) => {
                "[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams\n"
            }
            (false, ..) => OutputStyle::SUM_HEAD,
            (true, true, true) => "[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS\n",
            (true, true, false) => {
                "[ ID] Interval            Transfer     Bandwidth        Jitter   Lost/Total  Latency avg/min/max/stdev PPS  Rx/inP  NetPwr\n"
            }
            (true, false, true) => {
                "[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr\n"
            }
            (true, false, false) if self.trips => {
                "[ ID] Interval            Transfer    Bandwidth    Burst Latency avg/min/max/stdev (cnt/size) inP NetPwr  Reads\n"
            }
            (true, false, false) => "[ ID] Interval            Transfer    Bandwidth       Reads\n",
        }
    }

    /// Formats the line of a connected stream.
    pub fn met(&self, stream: &Stream, met: &Met) -> String {
        let [(here, port), (there, other)] = &stream.ends;
        let mut text = format!("[{:3}] local {here}", stream.number);
        if self.enhanced && !met.device.is_empty() {
            text += &format!("%{}", met.device);
        }
        text += &format!(" port {port} connected with {there} port {other}");
        let mut note = |part: String| text += &format!(" ({part})");
        if met.ask.reverse {
            note("reverse".to_owned());
        }
        if met.ask.full_duplex {
            note("full-duplex".to_owned());
        }
        if met.ask.trip_times {
            note("trip-times".to_owned());
        }
        if self.enhanced {
            if let Some([bytes, hold]) = met.ask.bounces {
                note(format!("bb len/hold={bytes}/{hold}"));
            }
            note(format!("sock={}", met.socket));
            if let Some([major, minor, patch]) = met.ask.version {
                note(format!("peer {major}.{minor}.{patch}"));
            }
        }
        if let Some([window, segment, rtt]) = met.tcp {
            note(format!("icwnd/mss/irtt={window}/{segment}/{rtt}"));
        }
        if let Some(ms) = met.connect_ms.filter(|_| self.enhanced) {
            note(format!("ct={ms:.2} ms"));
        }
        if self.enhanced {
            text += &format!(" on {}", met.at);
        }
        text + "\n"
    }

    /// Formats the row of a stream.
    pub fn row(&self, name: &str, row: &Row) -> String {
        let Row { start, end, bytes, ops, .. } = row;
        let (transfer, rate) = (bytes_text(*bytes), rate_text(row.rate(), self.unit));
        let mut text = format!("[{name}] {start:.4}-{end:.4} sec  {transfer}  {rate}");
        if self.bounces {
            return text + &if self.sends { self.bounce_times(row) } else { String::new() } + "\n";
        }
        let seconds = (end - start).max(1e-9);
        let power = |delay_us: f64| match row.rate() / delay_us {
            power if delay_us <= 0.0 || power <= 0.0 => "0".to_owned(),
            power if power < 10.0 => format!("{power:.6}"),
            power if power < 100.0 => format!("{power:.2}"),
            power => format!("{power:.0}"),
        };
        match (self.enhanced, row.tcp) {
            _ if self.is_received() => {
                text += &format!("  {:6.3} ms {}", row.jitter_us / 1e3, self.losses(row));
                if self.enhanced {
                    let latency = row.latency.unwrap_or_default();
                    text += &format!(
                        " {} ms {:.0} pps {ops}/{}(0) pkts {}",
                        latency.milliseconds(),
                        *ops as f64 / seconds,
                        row.lost[2],
                        power(latency.mean_us)
                    );
                }
            }
            (true, _) if self.udp => text += &format!("  {ops}/0{:9.0} pps", *ops as f64 / seconds),
            (true, Some([again, window, rtt, variation])) => {
                text += &format!("  {ops}/0 {again:10}     {window}K/{rtt}({variation}) us  {}", power(rtt as f64));
            }
            (true, None) if self.trips => {
                let latency = row.latency.unwrap_or_default();
                // By Little's law.
                let under_way = bytes_text((row.rate() * latency.mean_us / 1e6) as u64);
                text += &format!(
                    "  {} ms ({}/{}) {} {}  {ops}",
                    latency.milliseconds(),
                    row.bursts,
                    bytes / row.bursts.max(1),
                    under_way.trim_end_matches('s'),
                    power(latency.mean_us)
                );
            }
            (true, None) => text += &format!("  {ops}"),
            (false, _) => {}
        }
        text + "\n"
    }

    /// Formats the row of several streams, with the columns that can be summed.
    pub fn sum(&self, name: &str, row: &Row) -> String {
        let Row { start, end, bytes, .. } = row;
        let (transfer, rate) = (bytes_text(*bytes), rate_text(row.rate(), self.unit));
        let losses = if self.is_received() { format!("   {}", self.losses(row)) } else { String::new() };
        format!("[{name}] {start:.4}-{end:.4} sec  {transfer}  {rate}{losses}\n")
    }

    /// Formats the histogram of one-way latencies. `counts` holds the used bins with their counts. Bin
    /// 0 holds latencies below 0.
    pub fn histogram(&self, name: &str, row: &Row, is_last: bool, of: Bins, counts: &[(u32, u32)]) -> String {
        let all: u64 = counts.iter().map(|&(_, count)| u64::from(count)).sum();
        let within = || counts.iter().filter(|&&(bin, _)| (1..=of.count).contains(&bin));
        let outside = |is_outside: fn(u32, u32) -> bool| -> u64 {
            let outside = counts.iter().filter(|&&(bin, _)| is_outside(bin, of.count));
            outside.map(|&(_, count)| u64::from(count)).sum()
        };
        let (below, above) = (outside(|bin, _| bin == 0), outside(|bin, most| bin > most));
        let share = |percent: f64| {
            let mut so_far = below;
            let is_there = |&&(_, count): &&(u32, u32)| {
                so_far += u64::from(count);
                so_far as f64 >= all as f64 * percent / 100.0
            };
            within().find(is_there).map_or(of.count, |&(bin, _)| bin)
        };
        let [low, high, most] = [5.0, 95.0, 99.7].map(share);
        let [first, third] = [25.0, 75.0].map(share);
        // Source of the distance: J. W. Tukey, Exploratory Data Analysis, 1977, on "far out" values.
        let fence = third + 3 * (third - first).max(1);
        let far: u64 = within().filter(|&&(bin, _)| bin > fence).map(|&(_, count)| u64::from(count)).sum();
        let (width, unit) =
            if of.width_us.is_multiple_of(1000) { (of.width_us / 1000, "ms") } else { (of.width_us, "us") };
        let bins = within().map(|(bin, count)| format!("{bin}:{count}")).collect::<Vec<_>>().join(",");
        format!(
            "[{name}] {:.4}-{:.4} sec {}8{}-PDF: bin(w={width}{unit}):cnt({all})={bins} \
             (5.00/95.00/99.7%={low}/{high}/{most},Outliers={far},obl/obu={below}/{above})\n",
            row.start,
            row.end,
            if self.udp { 'T' } else { 'F' },
            if is_last { "(f)" } else { "" },
        )
    }

    /// Formats the round-trip times, and the rate of sequential round trips per second.
    fn bounce_times(&self, row: &Row) -> String {
        let latency = row.latency.unwrap_or_default();
        let each_second = if latency.mean_us > 0.0 { 1e6 / latency.mean_us } else { 0.0 };
        let [again, window, rtt, _] = row.tcp.unwrap_or_default();
        format!("    {}={} ms {again:4}  {window}K/{rtt} us    {each_second:.0} rps", row.ops, latency.milliseconds())
    }

    fn losses(&self, row: &Row) -> String {
        let [lost, all, _] = row.lost;
        let percent = 100.0 * lost as f64 / (all.max(1)) as f64;
        format!("{lost}/{all} ({}%)", general(percent, 2))
    }

    /// Formats a row of comma-separated values. `at` is a time in the form `YYYYMMDDhhmmss`.
    pub fn csv(&self, at: &str, stream: &Stream, row: &Row) -> String {
        let [(here, port), (there, other)] = &stream.ends;
        let bits = (row.rate() * 8.0) as u64;
        let Row { start, end, bytes, .. } = row;
        let mut text =
            format!("{at},{here},{port},{there},{other},{},{start:.1}-{end:.1},{bytes},{bits}", stream.number);
        if self.is_received() {
            let [lost, all, disordered] = row.lost;
            let percent = 100.0 * lost as f64 / (all.max(1)) as f64;
            text += &format!(",{:.3},{lost},{all},{percent:.3},{disordered}", row.jitter_us / 1e3);
        }
        text + "\n"
    }
}
