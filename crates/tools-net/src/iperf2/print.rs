//! The text, and comma-separated values. Source of the layouts: goldens of 2.1.8.

use super::settings::Bins;
use super::wire::{Ask, Latency, ServerReport};
use crate::iperf3::{Unit, bytes_text, general, rate_text};

/// How it is printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Of rates.
    pub unit: Unit,
    /// `-e`.
    pub enhanced: bool,
    /// Datagrams.
    pub udp: bool,
    /// This end sends.
    pub sends: bool,
    /// Round trips.
    pub bounces: bool,
    /// Times on the way are known.
    pub trips: bool,
}

/// One stream, as lines name it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stream {
    /// Its number.
    pub number: u64,
    /// This end sends.
    pub sends: bool,
    /// It goes from the server to the client while another goes the other way.
    pub is_back: bool,
    /// Address and port here and there.
    pub ends: [(String, u16); 2],
}

impl Stream {
    /// What rows call it.
    pub fn name(&self) -> String {
        match self.is_back {
            true => format!("{:>3}", format!("*{}", self.number)),
            false => format!("{:3}", self.number),
        }
    }
}

/// What is known when it is connected.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Met {
    /// What the client asks for.
    pub ask: Ask,
    /// The first congestion window in KiB, the largest segment, and the first round trip in µs, of TCP.
    pub tcp: Option<[u64; 3]>,
    /// Time to connect, ms, of a client of TCP.
    pub connect_ms: Option<f64>,
    /// Descriptor, network interface, and the time.
    pub socket: i32,
    /// See above.
    pub device: String,
    /// See above.
    pub at: String,
}

/// What a stream did in some time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Row {
    /// Seconds.
    pub start: f64,
    /// Seconds.
    pub end: f64,
    /// Bytes.
    pub bytes: u64,
    /// Calls, or datagrams that went or came.
    pub ops: u64,
    /// Blocks of TCP whose times on the way are known.
    pub bursts: u64,
    /// Of a TCP sender: segments that were sent again, the congestion window in KiB, the round trip and its variation in µs.
    pub tcp: Option<[u64; 4]>,
    /// Of received datagrams: those lost, those sent, those out of order.
    pub lost: [u64; 3],
    /// Smoothed variation of the times on the way, µs.
    pub jitter_us: f64,
    /// The times themselves.
    pub latency: Option<Latency>,
}

impl Row {
    fn rate(&self) -> f64 {
        self.bytes as f64 / (self.end - self.start).max(1e-9)
    }

    /// What the server has received, as the server says it.
    pub fn of(report: &ServerReport) -> Row {
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

    /// Of all streams together.
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

/// Names of columns of a client of round trips.
const BOUNCE_COLUMNS: &str =
    "[ ID] Interval            Transfer    Bandwidth         BB cnt=avg/min/max/stdev         Rtry  Cwnd/RTT    RPS\n";

/// A line of dashes.
pub const DASHES: &str = "------------------------------------------------------------\n";

impl Look {
    fn is_received(&self) -> bool {
        self.udp && !self.sends
    }

    /// Names of columns of sums.
    pub const SUM_HEAD: &str = "[ ID] Interval       Transfer     Bandwidth\n";

    /// Names of columns.
    pub fn head(&self) -> &'static str {
        if self.bounces {
            // A server has no times of round trips to print.
            return match self.sends {
                true => BOUNCE_COLUMNS,
                false => Look::SUM_HEAD,
            };
        }
        match (self.enhanced, self.udp, self.sends) {
            (false, true, false) => {
                "[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams\n"
            }
            (false, ..) => Look::SUM_HEAD,
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

    /// A stream that is connected.
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

    /// A row of a stream.
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

    /// A row of several streams: what adds up.
    pub fn sum(&self, name: &str, row: &Row) -> String {
        let Row { start, end, bytes, .. } = row;
        let (transfer, rate) = (bytes_text(*bytes), rate_text(row.rate(), self.unit));
        let losses = if self.is_received() { format!("   {}", self.losses(row)) } else { String::new() };
        format!("[{name}] {start:.4}-{end:.4} sec  {transfer}  {rate}{losses}\n")
    }

    /// How times on the way are distributed: how many are in each bin, of bins that are not empty, from 0 for those below 0.
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
        // Source of the distance: J. W. Tukey, Exploratory Data Analysis, 1977, of what is far out.
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

    /// Times of round trips, and how many a second there would be one after the other.
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

    /// One row of comma-separated values. The time is `YYYYMMDDhhmmss`.
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
