//! Interprets the command line.

use super::options::WORDS;
use super::wire::BOUNCE_BYTES_MIN;
use crate::iperf3::Unit;
use crate::iperf3::settings::{Iperf3UsageError, split_words};
use plumb_tools::Support;
use plumb_tools::options::{Opt, Role};
use plumb_workload::net::BURST_HEAD_BYTES;

/// The request of a command line.
#[derive(Debug, Clone, PartialEq)]
pub enum Invocation {
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
pub fn read(words: &[String]) -> Result<Invocation, Iperf3UsageError> {
    let options = split_words(words, WORDS)?;
    let line = Line { options: &options };
    if line.has("help") {
        return Ok(Invocation::Help);
    }
    if line.has("version") {
        return Ok(Invocation::Version);
    }
    if line.has("server") == line.has("client") {
        return Err(Iperf3UsageError::Parameter("give either -c HOST or -s"));
    }
    let mut settings = line.defaults();
    let mut values = LaterValues::default();
    for (row, value) in line.options {
        match row.support {
            Support::NotYet(why) | Support::Never(why) => return Err(Iperf3UsageError::NotYet { name: row.name, why }),
            Support::Ignored(why) => settings.ignored.push((row.name, why)),
            Support::Works => {}
        }
        line.check_role(row)?;
        let given = Given { name: row.name, text: value };
        settings.set(given)?;
        settings.test.set(given, &mut values)?;
        if row.name == "time" {
            settings.serve_s = Some(settings.test.time_s).filter(|_| !settings.daemon);
        }
    }
    if line.has("dualtest") || line.has("tradeoff") {
        let port = values.listen_port.unwrap_or(settings.port);
        settings.test.back = Some(Back { port, at_once: line.has("dualtest") });
    }
    settings.test.check_directions()?;
    if line.has("bandwidth") && settings.test.bounces.is_some() {
        return Err(Iperf3UsageError::Parameter(BOUNCE_CONFLICT));
    }
    let is_v6 = settings.is_v6 || settings.host.as_ref().is_some_and(|host| host.contains(':'));
    settings.test.finish(is_v6, values.packets)?;
    Ok(Invocation::Run(Box::new(settings)))
}

const BOUNCE_CONFLICT: &str = "--bounceback cannot be combined with -u, -R, -P, -b, --full-duplex and --trip-times";

/// The options of a command line, in its order.
struct Line<'a> {
    options: &'a [(&'static Opt, String)],
}

impl Line<'_> {
    fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(row, _)| row.name == name)
    }

    /// Returns the settings by the options without values, with all others at their defaults.
    fn defaults(&self) -> Iperf2Settings {
        let udp = self.has("udp");
        Iperf2Settings {
            host: None,
            port: 5001,
            bind: None,
            is_v6: self.has("ipv6_domain"),
            interval_s: 0.0,
            unit: Unit::Adaptive,
            enhanced: self.has("enhanced") || self.has("histograms"),
            csv: self.has("reportstyle"),
            one: self.has("singleclient"),
            daemon: self.has("daemon"),
            serve_s: None,
            test: Test {
                udp,
                time_s: 10.0,
                bytes: 0,
                block: 0,
                rate: udp.then_some(UDP_RATE),
                streams: 1,
                reverse: self.has("reverse"),
                full_duplex: self.has("full-duplex"),
                back: None,
                trip_times: self.has("trip-times"),
                bins: None,
                bounces: self.has("bounceback").then_some((10, 1.0)),
                window: None,
                segment: None,
                no_delay: self.has("nodelay") || self.has("bounceback"),
                service: 0,
                congestion: None,
            },
            ignored: Vec::new(),
        }
    }

    /// Checks that an option is allowed on this end.
    fn check_role(&self, row: &Opt) -> Result<(), Iperf3UsageError> {
        let message = match row.role {
            Role::Server if row.name == "daemon" && self.has("client") => "a client cannot be run as a daemon",
            Role::Client if self.has("server") => "some option you are trying to set is client only",
            Role::Server if self.has("client") => "some option you are trying to set is server only",
            _ => return Ok(()),
        };
        Err(Iperf3UsageError::Parameter(message))
    }
}

/// Values that other options change, known after the whole line.
#[derive(Default)]
struct LaterValues {
    /// `-L`: port for the connection back.
    listen_port: Option<u16>,
    /// `-b` in packets per second.
    packets: Option<f64>,
}

/// An option with its value.
#[derive(Clone, Copy)]
struct Given<'a> {
    name: &'static str,
    text: &'a str,
}

impl Given<'_> {
    fn invalid(self, expected: &'static str) -> Iperf3UsageError {
        Iperf3UsageError::Value { name: self.name, given: self.text.to_owned(), expected }
    }

    fn at_most(self, most: f64, expected: &'static str) -> Result<f64, Iperf3UsageError> {
        number(self.text).filter(|&number| number <= most).ok_or_else(|| self.invalid(expected))
    }

    fn port(self) -> Result<u16, Iperf3UsageError> {
        let port = self.text.parse().ok().filter(|&port| port > 0);
        port.ok_or_else(|| self.invalid("a port is from 1 to 65535"))
    }
}

impl Iperf2Settings {
    /// Sets the option if it is one of the program's, and not of the test.
    fn set(&mut self, given: Given<'_>) -> Result<(), Iperf3UsageError> {
        match given.name {
            "client" => self.host = Some(given.text.to_owned()),
            "port" => self.port = given.port()?,
            "interval" => {
                let expected = "0, or from 0.1 to 86400 seconds";
                self.interval_s = given.at_most(86400.0, expected)?;
                if self.interval_s > 0.0 && self.interval_s < 0.1 {
                    return Err(given.invalid(expected));
                }
            }
            "format" => {
                self.unit =
                    Unit::from_letter(given.text).ok_or_else(|| given.invalid("use one of k, m, g, t, K, M, G, T"))?;
            }
            "bind" => self.bind = Some(given.text.to_owned()),
            "reportstyle" if !given.text.eq_ignore_ascii_case("c") => return Err(given.invalid("only C")),
            _ => {}
        }
        Ok(())
    }
}

impl Test {
    /// Sets the option if it is one of the test.
    fn set(&mut self, given: Given<'_>, later: &mut LaterValues) -> Result<(), Iperf3UsageError> {
        match given.name {
            "listenport" => later.listen_port = Some(given.port()?),
            "len" => {
                let most = if self.udp { 65507.0 } else { 1_048_576.0 };
                self.block = given.at_most(most, "at most 1M, with -u at most 65507")? as u32;
                if self.block < if self.udp { 64 } else { 1 } {
                    return Err(given.invalid("at least 1, with -u at least 64"));
                }
            }
            "bounceback" if !given.text.is_empty() => {
                let count = given.text.parse().ok().filter(|count| (1..=1000).contains(count));
                let count = count.ok_or_else(|| given.invalid("from 1 to 1000"))?;
                self.bounces = Some((count, self.bounces.unwrap_or_default().1));
            }
            "bounceback-period" => {
                let seconds = given.at_most(86400.0, "0, or at most 86400 seconds")?;
                let missing = Iperf3UsageError::Parameter("--bounceback-period needs --bounceback");
                self.bounces.as_mut().ok_or(missing)?.1 = seconds;
            }
            "histograms" => {
                let expected = "the width of a bin, and at most 10000 of them: 100u,10000";
                self.bins = Some(Bins::read(given.text).ok_or_else(|| given.invalid(expected))?);
            }
            "window" => self.window = Some(given.at_most(536_870_912.0, "at most 512M")? as u32),
            "mss" => self.segment = Some(given.at_most(32767.0, "at most 32767")? as u32),
            "tos" => {
                let service = crate::iperf3::values::byte_of(given.text);
                self.service = service.ok_or_else(|| given.invalid("from 0 to 255"))?;
            }
            "tcp-congestion" => self.congestion = Some(given.text.to_owned()),
            "time" => self.time_s = given.at_most(86400.0, "at most 86400 seconds")?,
            "bandwidth" => match given.text.strip_suffix("pps") {
                Some(rate) => {
                    let packets = number(rate);
                    later.packets = Some(packets.ok_or_else(|| given.invalid("packets per second, such as 1000pps"))?);
                }
                None => {
                    let rate = given.at_most(1e15, "bits per second, such as 10m")?;
                    self.rate = Some(rate).filter(|&rate| rate > 0.0);
                }
            },
            "num" => self.bytes = given.at_most(9e18, "bytes, such as 1G")? as u64,
            "parallel" => {
                self.streams = given.at_most(128.0, "from 1 to 128")? as u32;
                if self.streams == 0 {
                    return Err(given.invalid("from 1 to 128"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that the directions go together.
    fn check_directions(&self) -> Result<(), Iperf3UsageError> {
        let both = self.reverse || self.full_duplex;
        let message = if self.back.is_some() && self.udp {
            "-d and -r work with TCP only: datagrams would go to the sender of the first one"
        } else if self.back.is_some() && (both || self.bounces.is_some() || self.trip_times) {
            "-d and -r cannot be combined with -R, --full-duplex, --bounceback and --trip-times"
        } else if both && self.udp {
            "-R and --full-duplex work with TCP only: datagrams would go to the sender of the first one"
        } else if self.reverse && self.full_duplex {
            "-R cannot be combined with --full-duplex"
        } else if self.bounces.is_some() && (self.udp || both || self.streams > 1 || self.trip_times) {
            BOUNCE_CONFLICT
        } else {
            return Ok(());
        };
        Err(Iperf3UsageError::Parameter(message))
    }

    /// Derives the block and the rate from other settings.
    fn finish(&mut self, is_v6: bool, packets: Option<f64>) -> Result<(), Iperf3UsageError> {
        if let Some((count, period_s)) = self.bounces {
            if self.block == 0 {
                self.block = BOUNCE_BYTES;
            }
            if self.block < BOUNCE_BYTES_MIN {
                return Err(Iperf3UsageError::Parameter("--bounceback takes messages of at least 64 bytes (-l)"));
            }
            self.rate = Some(f64::from(count) / period_s).filter(|rate| rate.is_finite());
        }
        if self.block == 0 {
            self.block = match (self.udp, is_v6) {
                (false, _) => 128 << 10,
                (true, false) => 1470,
                (true, true) => 1450,
            };
        }
        if self.trip_times && !self.udp && self.block < BURST_HEAD_BYTES {
            return Err(Iperf3UsageError::Parameter("--trip-times takes blocks of at least 92 bytes (-l)"));
        }
        if let Some(packets) = packets {
            self.rate = Some(packets * f64::from(self.block) * 8.0).filter(|&rate| rate > 0.0);
        }
        Ok(())
    }
}
