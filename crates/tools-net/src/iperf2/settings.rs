//! Interprets the command line.

use super::options::WORDS;
use super::wire::BOUNCE_BYTES_MIN;
use crate::iperf3::Unit;
use crate::iperf3::settings::{Iperf3UsageError, split_words};
use plumb_tools::Support;
use plumb_tools::options::Role;
use plumb_workload::net::BURST_HEAD_BYTES;

/// The request of a command line.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    Help,
    Version,
    /// Run a test, or serve tests.
    Run(Box<Iperf2Settings>),
}

/// All settings of a command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Iperf2Settings {
    /// Server's host; `None` on a server.
    pub host: Option<String>,
    pub port: u16,
    /// `-B`: local address.
    pub bind: Option<String>,
    /// `-V`: IPv6.
    pub is_v6: bool,
    /// Seconds between reports; 0 for none.
    pub interval_s: f64,
    /// `-f`: unit of rates.
    pub unit: Unit,
    /// `-e`: more columns.
    pub enhanced: bool,
    /// `-y C`: comma-separated values.
    pub csv: bool,
    /// `-1`: end after one client.
    pub one: bool,
    /// `-D`: serve in the background.
    pub daemon: bool,
    /// `-t` of a server in the foreground, s.
    pub serve_s: Option<f64>,
    pub test: Test,
    /// Options without effect, each with the reason.
    pub ignored: Vec<(&'static str, &'static str)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// Whether the test uses datagrams.
    pub udp: bool,
    /// Duration, s, unless `bytes` ends the test.
    pub time_s: f64,
    /// Bytes after which a stream ends; 0 for none.
    pub bytes: u64,
    /// Size of a block or datagram, bytes.
    pub block: u32,
    /// Bits per second, or round trips per second in a test of round trips.
    pub rate: Option<f64>,
    pub streams: u32,
    pub reverse: bool,
    /// Whether both ends send over one connection.
    pub full_duplex: bool,
    /// Request that the server connects back and sends.
    pub back: Option<Back>,
    /// Whether one-way latencies are measured.
    pub trip_times: bool,
    /// Bins of the latency histogram that a receiver prints.
    pub bins: Option<Bins>,
    /// Round trips per period, and the period in seconds; 0 seconds means one after the other.
    pub bounces: Option<(u32, f64)>,
    /// `-w`: socket buffer, bytes.
    pub window: Option<u32>,
    /// `-M`: maximum segment size, bytes.
    pub segment: Option<u32>,
    /// `-N`: set `TCP_NODELAY`.
    pub no_delay: bool,
    /// `-S`: type of service.
    pub service: u8,
    /// `-Z`: congestion control algorithm.
    pub congestion: Option<String>,
}

impl Test {
    /// Returns the width of latency bins, µs; 0 without a histogram.
    pub fn bin_us(&self) -> u32 {
        self.bins.map_or(0, |bins| bins.width_us)
    }
}

/// A test in both directions, over one connection each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Back {
    /// The client's port, to which the server connects back.
    pub port: u16,
    /// Whether both directions run at the same time.
    pub at_once: bool,
}

/// Bins of a latency histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bins {
    /// Width of a bin, µs.
    pub width_us: u32,
    pub count: u32,
}

/// Default bins of `--histograms`, and the limit of their number. Source: 2.1.8.
const BINS: Bins = Bins { width_us: 100, count: BINS_MAX };
const BINS_MAX: u32 = 10_000;

impl Bins {
    /// Parses `10u,100` or `1m,20`; the empty text means the default.
    fn read(text: &str) -> Option<Bins> {
        if text.is_empty() {
            return Some(BINS);
        }
        let (width, count) = text.split_once(',').unwrap_or((text, "10000"));
        let (digits, factor) = match width.strip_suffix('u') {
            Some(digits) => (digits, 1),
            None => (width.strip_suffix('m')?, 1000),
        };
        let width_us = digits.parse::<u32>().ok()?.checked_mul(factor)?;
        let bins = Bins { width_us, count: count.parse().ok()? };
        ((1..=1_000_000).contains(&bins.width_us) && (1..=BINS_MAX).contains(&bins.count)).then_some(bins)
    }
}

/// Default size of a round trip's message, bytes.
const BOUNCE_BYTES: u32 = 100;

/// Default rate of datagrams, bits per second.
const UDP_RATE: f64 = 1_048_576.0;

/// Parses a number with a suffix: lowercase letters are powers of 1000, uppercase ones of 1024.
fn number(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor: f64 = match &text[digits.len()..] {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        "K" => 1024.0,
        "M" => 1_048_576.0,
        "G" => 1_073_741_824.0,
        "T" => 1_099_511_627_776.0,
        _ => return None,
    };
    let value = digits.parse::<f64>().ok()? * factor;
    (0.0..=9e18).contains(&value).then_some(value)
}

/// Parses a command line, without the name of the program.
///
/// # Errors
/// The first error.
pub fn read(words: &[String]) -> Result<Asked, Iperf3UsageError> {
    let options = split_words(words, WORDS)?;
    let has = |name: &str| options.iter().any(|(row, _)| row.name == name);
    for asked in [("help", Asked::Help), ("version", Asked::Version)] {
        if has(asked.0) {
            return Ok(asked.1);
        }
    }
    if has("server") == has("client") {
        return Err(Iperf3UsageError::Parameter("give either -c HOST or -s"));
    }
    let udp = has("udp");
    let mut test = Test {
        udp,
        time_s: 10.0,
        bytes: 0,
        block: 0,
        rate: udp.then_some(UDP_RATE),
        streams: 1,
        reverse: has("reverse"),
        full_duplex: has("full-duplex"),
        back: None,
        trip_times: has("trip-times"),
        bins: None,
        bounces: has("bounceback").then_some((10, 1.0)),
        window: None,
        segment: None,
        no_delay: has("nodelay") || has("bounceback"),
        service: 0,
        congestion: None,
    };
    let mut settings = Iperf2Settings {
        host: None,
        port: 5001,
        bind: None,
        is_v6: has("ipv6_domain"),
        interval_s: 0.0,
        unit: Unit::Adaptive,
        enhanced: has("enhanced") || has("histograms"),
        csv: has("reportstyle"),
        one: has("singleclient"),
        daemon: has("daemon"),
        serve_s: None,
        test: test.clone(),
        ignored: Vec::new(),
    };
    let (mut packets, mut listen_port) = (None, None);
    for (row, value) in &options {
        let invalid = |expected| Iperf3UsageError::Value { name: row.name, given: value.clone(), expected };
        let within =
            |most: f64, expected| number(value).filter(|&number| number <= most).ok_or_else(|| invalid(expected));
        match row.support {
            Support::NotYet(why) | Support::Never(why) => return Err(Iperf3UsageError::NotYet { name: row.name, why }),
            Support::Ignored(why) => settings.ignored.push((row.name, why)),
            Support::Works => {}
        }
        match row.role {
            Role::Server if row.name == "daemon" && has("client") => {
                return Err(Iperf3UsageError::Parameter("a client cannot be run as a daemon"));
            }
            Role::Client if has("server") => {
                return Err(Iperf3UsageError::Parameter("some option you are trying to set is client only"));
            }
            Role::Server if has("client") => {
                return Err(Iperf3UsageError::Parameter("some option you are trying to set is server only"));
            }
            _ => {}
        }
        match row.name {
            "client" => settings.host = Some(value.clone()),
            "port" => {
                let port = value.parse().ok().filter(|&port| port > 0);
                settings.port = port.ok_or_else(|| invalid("a port is from 1 to 65535"))?;
            }
            "listenport" => {
                let port = value.parse::<u16>().ok().filter(|&port| port > 0);
                listen_port = Some(port.ok_or_else(|| invalid("a port is from 1 to 65535"))?);
            }
            "interval" => {
                let expected = "0, or from 0.1 to 86400 seconds";
                settings.interval_s = within(86400.0, expected)?;
                if settings.interval_s > 0.0 && settings.interval_s < 0.1 {
                    return Err(invalid(expected));
                }
            }
            "format" => settings.unit = Unit::of(value).ok_or_else(|| invalid("use one of k, m, g, t, K, M, G, T"))?,
            "len" => {
                let most = if udp { 65507.0 } else { 1_048_576.0 };
                test.block = within(most, "at most 1M, with -u at most 65507")? as u32;
                if test.block < if udp { 64 } else { 1 } {
                    return Err(invalid("at least 1, with -u at least 64"));
                }
            }
            "bounceback" if !value.is_empty() => {
                let count = value.parse().ok().filter(|count| (1..=1000).contains(count));
                test.bounces =
                    Some((count.ok_or_else(|| invalid("from 1 to 1000"))?, test.bounces.unwrap_or_default().1));
            }
            "bounceback-period" => {
                let seconds = within(86400.0, "0, or at most 86400 seconds")?;
                let bounces = test
                    .bounces
                    .as_mut()
                    .ok_or(Iperf3UsageError::Parameter("--bounceback-period needs --bounceback"))?;
                bounces.1 = seconds;
            }
            "histograms" => {
                let bins = Bins::read(value);
                test.bins =
                    Some(bins.ok_or_else(|| invalid("the width of a bin, and at most 10000 of them: 100u,10000"))?);
            }
            "window" => test.window = Some(within(536_870_912.0, "at most 512M")? as u32),
            "bind" => settings.bind = Some(value.clone()),
            "mss" => test.segment = Some(within(32767.0, "at most 32767")? as u32),
            "tos" => test.service = crate::iperf3::values::byte_of(value).ok_or_else(|| invalid("from 0 to 255"))?,
            "tcp-congestion" => test.congestion = Some(value.clone()),
            "reportstyle" if value != "C" && value != "c" => return Err(invalid("only C")),
            "time" => {
                let seconds = within(86400.0, "at most 86400 seconds")?;
                (test.time_s, settings.serve_s) = (seconds, Some(seconds).filter(|_| !settings.daemon));
            }
            "bandwidth" => match value.strip_suffix("pps") {
                Some(rate) => {
                    packets = Some(number(rate).ok_or_else(|| invalid("packets per second, such as 1000pps"))?)
                }
                None => test.rate = Some(within(1e15, "bits per second, such as 10m")?).filter(|&rate| rate > 0.0),
            },
            "num" => test.bytes = within(9e18, "bytes, such as 1G")? as u64,
            "parallel" => {
                test.streams = within(128.0, "from 1 to 128")? as u32;
                if test.streams == 0 {
                    return Err(invalid("from 1 to 128"));
                }
            }
            _ => {}
        }
    }
    if has("dualtest") || has("tradeoff") {
        let port = listen_port.unwrap_or(settings.port);
        test.back = Some(Back { port, at_once: has("dualtest") });
        if udp {
            let why = "-d and -r work with TCP only: datagrams would go to the sender of the first one";
            return Err(Iperf3UsageError::Parameter(why));
        }
        if test.reverse || test.full_duplex || test.bounces.is_some() || test.trip_times {
            return Err(Iperf3UsageError::Parameter(
                "-d and -r cannot be combined with -R, --full-duplex, --bounceback and --trip-times",
            ));
        }
    }
    if (test.reverse || test.full_duplex) && udp {
        let why = "-R and --full-duplex work with TCP only: datagrams would go to the sender of the first one";
        return Err(Iperf3UsageError::Parameter(why));
    }
    if test.reverse && test.full_duplex {
        return Err(Iperf3UsageError::Parameter("-R cannot be combined with --full-duplex"));
    }
    if let Some((count, period_s)) = test.bounces {
        if udp
            || test.reverse
            || test.full_duplex
            || test.streams > 1
            || test.trip_times
            || options.iter().any(|(row, _)| row.name == "bandwidth")
        {
            return Err(Iperf3UsageError::Parameter(
                "--bounceback cannot be combined with -u, -R, -P, -b, --full-duplex and --trip-times",
            ));
        }
        if test.block == 0 {
            test.block = BOUNCE_BYTES;
        }
        if test.block < BOUNCE_BYTES_MIN {
            return Err(Iperf3UsageError::Parameter("--bounceback takes messages of at least 64 bytes (-l)"));
        }
        test.rate = Some(f64::from(count) / period_s).filter(|rate| rate.is_finite());
    }
    let is_v6 = settings.is_v6 || settings.host.as_ref().is_some_and(|host| host.contains(':'));
    if test.block == 0 {
        test.block = match (udp, is_v6) {
            (false, _) => 128 << 10,
            (true, false) => 1470,
            (true, true) => 1450,
        };
    }
    if test.trip_times && !udp && test.block < BURST_HEAD_BYTES {
        return Err(Iperf3UsageError::Parameter("--trip-times takes blocks of at least 92 bytes (-l)"));
    }
    if let Some(packets) = packets {
        test.rate = Some(packets * f64::from(test.block) * 8.0).filter(|&rate| rate > 0.0);
    }
    settings.test = test;
    Ok(Asked::Run(Box::new(settings)))
}
