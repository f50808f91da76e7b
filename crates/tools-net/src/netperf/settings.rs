//! What a command line means.

use super::exchange::{Direction, Length};
use super::options::{CLIENT_WORDS, SERVER_WORDS, TEST_WORDS};
use super::selectors::list;
use super::wire::PORT;
use super::words::{Value, getopt, pair};

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked<T> {
    /// The options.
    Help,
    /// The version.
    Version,
    /// The names that `-k`, `-o` and `-O` take.
    Names,
    /// A test, or to serve some.
    Run(Box<T>),
}

/// Of this end and of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pair<T> {
    /// Of this end, or the first.
    pub local: T,
    /// Of the server, or the second.
    pub remote: T,
}

/// The unit of throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Round trips a second, or 10^6 bits a second of a stream.
    OfTest,
    /// As the letter of `-f` says.
    Letter(char),
}

/// A test without a control connection: data goes to a service that any host may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direct {
    /// The service that the test usually has, by its name.
    Usual(&'static str),
    /// The service at the port of `-P`.
    Named,
}

/// The form of the output.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// A table of the test.
    Table,
    /// `NAME=value` lines.
    Keys(Vec<&'static str>),
    /// CSV.
    Csv(Vec<&'static str>),
    /// Columns, in blocks.
    Columns(Vec<&'static str>),
}

/// Everything that was said to netperf.
#[derive(Debug, Clone, PartialEq)]
pub struct NetperfSettings {
    /// The words, for `COMMAND_LINE`.
    pub words: String,
    /// The server.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// `-N`: what data goes to, without a netserver.
    pub direct: Option<Direct>,
    /// This end's address and port.
    pub local: Option<String>,
    /// See above.
    pub local_port: u16,
    /// `-6`, `-4`.
    pub is_v6: Option<bool>,
    /// The test by its own name: for the title.
    pub is_omni: bool,
    /// Where data goes.
    pub direction: Direction,
    /// UDP.
    pub udp: bool,
    /// A connection for each round trip.
    pub connects: bool,
    /// Connections are made and closed without a round trip.
    pub only_connects: bool,
    /// `-b`: requests sent before the first response is awaited.
    pub burst: u32,
    /// A file is sent.
    pub sendfile: bool,
    /// `-F`: the file.
    pub file: Option<String>,
    /// How long it is.
    pub length: Length,
    /// `-I`: level and width, per cent.
    pub confidence: Option<(u32, f64)>,
    /// How often at least and at most.
    pub times: (u32, u32),
    /// `-r`.
    pub result_only: bool,
    /// `-c`, `-C`.
    pub cpu: Pair<bool>,
    /// Seconds between interim results.
    pub interim_s: Option<f64>,
    /// `-f`.
    pub unit: Unit,
    /// `-P`.
    pub headers: bool,
    /// `-v`.
    pub verbosity: u32,
    /// `-B`.
    pub brand: String,
    /// `-s`.
    pub wait_s: u32,
    /// `-Y`.
    pub service: Pair<Option<u8>>,
    /// `-Z`.
    pub passphrase: Option<String>,
    /// The form of the output.
    pub form: Form,
    /// Addresses for data.
    pub data: Pair<Option<String>>,
    /// Family of data.
    pub data_v6: Option<bool>,
    /// Ports for data.
    pub data_ports: Pair<u16>,
    /// Bytes sent at once, and received at once.
    pub send: Pair<Option<u32>>,
    /// See above.
    pub receive: Pair<Option<u32>>,
    /// Buffers of this end, and of the server: for sending and for receiving.
    pub buffers: Pair<[Option<u32>; 2]>,
    /// Bytes of a request and of a response.
    pub trip: [u32; 2],
    /// `TCP_NODELAY`.
    pub no_delay: Pair<bool>,
    /// Bytes of the largest segment.
    pub segment: Option<u32>,
    /// Congestion control.
    pub congestion: Pair<Option<String>>,
    /// Data may pass routers.
    pub routed: bool,
    /// Name of the test.
    pub uuid: Option<String>,
    /// `--plumb-busy-poll`: µs that round trips ask for data without sleeping, at most.
    pub poll_us: u32,
    /// `-T`: the processors that both ends run on.
    pub processor: Pair<Option<u32>>,
    /// Lines about options that netperf prints before the test.
    pub notices: Vec<&'static str>,
    /// Options without effect, and why.
    pub ignored: Vec<(char, &'static str)>,
}

/// Everything that was said to netserver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Server {
    /// Stay in the foreground.
    pub foreground: bool,
    /// Where it listens.
    pub listen: Option<String>,
    /// `-6`, `-4`.
    pub is_v6: Option<bool>,
    /// Its port.
    pub port: u16,
    /// The pass phrase that must come first.
    pub passphrase: Option<String>,
    /// `--plumb-busy-poll`, as for netperf.
    pub poll_us: u32,
    /// Options without effect, and why.
    pub ignored: Vec<(char, &'static str)>,
}

/// What is wrong with a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetperfUsageError {
    /// An option that does not exist.
    #[error("invalid option -- '{0}'")]
    Unknown(char),
    /// A value is missing.
    #[error("option requires an argument -- '{0}'")]
    Lacks(char),
    /// An option that is not supported yet.
    #[error("option -{letter} is not supported yet: {why}")]
    NotYet {
        /// The option.
        letter: char,
        /// What it is about, or what to do instead.
        why: &'static str,
    },
    /// A value that is none.
    #[error("bad value '{given}' of option -{letter}: {expected}")]
    Value {
        /// The option.
        letter: char,
        /// As given.
        given: String,
        /// What it may be.
        expected: &'static str,
    },
    /// A test that does not exist.
    #[error(
        "The test you requested ({0}) is unknown to this netperf.\nPlease verify that you have the correct test name, \nand that \
         test family has been compiled into this netperf."
    )]
    Test(String),
    /// A test that has no usual service.
    #[error("No default port known for the {0} test, please set one yourself")]
    NoUsualPort(&'static str),
    /// A time of `--plumb-busy-poll` that is none.
    #[error("bad value '{0}' of {POLL}: use 1 to {POLL_US_MAX} µs")]
    Poll(String),
    /// A word that is no option.
    #[error("unexpected word '{0}'")]
    Word(String),
    /// A name of `-k`, `-o`, `-O`.
    #[error("unknown output selector '{0}'; `-k ?` prints all")]
    Selector(String),
}

/// Plumb's own option of both ends, in front of all others: `--plumb-busy-poll=US`.
const POLL: &str = "--plumb-busy-poll";

/// Its longest time, µs.
const POLL_US_MAX: u32 = 10_000;

/// The words behind that option, and its value.
fn busy_poll(words: &[String]) -> Result<(u32, &[String]), NetperfUsageError> {
    let first = words.first().and_then(|word| word.strip_prefix(POLL)?.strip_prefix('='));
    let Some(text) = first else { return Ok((0, words)) };
    let us = text
        .parse()
        .ok()
        .filter(|us| (1..=POLL_US_MAX).contains(us))
        .ok_or_else(|| NetperfUsageError::Poll(text.to_owned()))?;
    Ok((us, &words[1..]))
}

/// The largest processor that an affinity can name.
pub const PROCESSOR_MAX: u32 = 1023;

/// The test whose sender passes a file.
const SENDFILE: &str = "TCP_SENDFILE";

/// The test that makes and closes connections.
const CONNECT_CLOSE: &str = "TCP_CC";

/// Tests by their names.
const TESTS: [(&str, Direction, bool, bool); 8] = [
    ("TCP_STREAM", Direction::ToServer, false, false),
    ("TCP_MAERTS", Direction::ToClient, false, false),
    ("TCP_RR", Direction::RoundTrips, false, false),
    ("TCP_CRR", Direction::RoundTrips, false, true),
    (CONNECT_CLOSE, Direction::RoundTrips, false, true),
    ("UDP_STREAM", Direction::ToServer, true, false),
    (SENDFILE, Direction::ToServer, false, false),
    ("UDP_RR", Direction::RoundTrips, true, false),
];

/// Reads netperf's words; `program` is how it was called.
///
/// # Errors
/// What is wrong with them.
pub fn read(program: &str, words: &[String]) -> Result<Asked<NetperfSettings>, NetperfUsageError> {
    let whole = std::iter::once(program).chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    let (poll_us, words) = busy_poll(words)?;
    let global = getopt(CLIENT_WORDS, words)?;
    let mut all = NetperfSettings {
        words: whole,
        poll_us,
        host: "localhost".to_owned(),
        port: PORT,
        direct: None,
        local: None,
        local_port: 0,
        is_v6: None,
        is_omni: false,
        direction: Direction::ToServer,
        udp: false,
        connects: false,
        only_connects: false,
        burst: 0,
        sendfile: false,
        file: None,
        length: Length::Seconds(10),
        confidence: None,
        times: (1, 1),
        result_only: false,
        cpu: Pair::default(),
        interim_s: None,
        unit: Unit::OfTest,
        headers: true,
        verbosity: 1,
        brand: String::new(),
        wait_s: 0,
        service: Pair::default(),
        passphrase: None,
        form: Form::Table,
        data: Pair::default(),
        data_v6: None,
        data_ports: Pair::default(),
        send: Pair::default(),
        receive: Pair::default(),
        buffers: Pair::default(),
        trip: [1, 1],
        no_delay: Pair::default(),
        segment: None,
        congestion: Pair::default(),
        routed: true,
        uuid: None,
        processor: Pair::default(),
        notices: Vec::new(),
        ignored: global.ignored,
    };
    let mut times = None;
    for (letter, text) in &global.said {
        let value = Value(*letter, text);
        match letter {
            '4' | '6' => all.is_v6 = Some(*letter == '6'),
            'b' => all.notice(*letter, text, "Packet burst size is not compiled in. \n"),
            'B' => all.brand.clone_from(text),
            'c' => all.cpu.local = true,
            'C' => all.cpu.remote = true,
            'D' => {
                let seconds = value.seconds(text.split(',').next().unwrap_or_default())?.abs();
                all.interim_s = Some(if seconds > 0.0 { seconds.max(0.001) } else { 1.0 });
            }
            'f' => {
                let letter = text.chars().next().filter(|&letter| text.len() == 1 && "GMKBgmkbx".contains(letter));
                let letter = letter.ok_or_else(|| value.wrong("one of G M K B g m k b x"))?;
                all.unit = if letter == 'x' { Unit::OfTest } else { Unit::Letter(letter) };
            }
            // The server's, behind a comma, is for what it never sends.
            'F' => all.file = text.split(',').next().filter(|name| !name.is_empty()).map(str::to_owned),
            'h' => return Ok(Asked::Help),
            'H' => all.host = value.host(&mut all.is_v6)?.unwrap_or(all.host),
            'i' => {
                let Pair { local, remote } = pair(text);
                let of = |text: Option<&str>| text.map(|text| value.small::<u32>(text, "how often")).transpose();
                let (most, least) = (of(local)?.unwrap_or(10).clamp(3, 30), of(remote)?.unwrap_or(3).clamp(3, 30));
                times = Some((least.min(most), most.max(least)));
                all.confidence = all.confidence.or(Some((99, 5.0)));
            }
            'I' => {
                let (level, width) = text.split_once(',').unwrap_or((text, "5"));
                let level = value.small::<u32>(level, "95 or 99").ok().filter(|level| [95, 99].contains(level));
                let width = value.seconds(width).ok().filter(|width| *width > 0.0);
                all.confidence = level.zip(width);
                all.confidence.ok_or_else(|| value.wrong("95 or 99, and the width in per cent: 99,5"))?;
                times = times.or(Some((3, 10)));
            }
            'l' => {
                all.length = match value.small::<i32>(text, "seconds, or a number below 0")? {
                    seconds @ 1..=86400 => Length::Seconds(seconds as u32),
                    count if count < 0 => Length::Count(count.unsigned_abs().min(i32::MAX as u32)),
                    0 => Length::Seconds(10),
                    _ => return Err(value.wrong("at most 86400 seconds")),
                };
            }
            'L' => all.local = value.host(&mut all.is_v6)?.or(all.local),
            'N' => all.direct = Some(Direct::Named),
            'p' => {
                let (port, local) = text.split_once(',').unwrap_or((text, ""));
                if !port.is_empty() {
                    all.port = value.small(port, "a port")?;
                }
                if !local.is_empty() {
                    all.local_port = value.small(local, "a port")?;
                }
            }
            'P' => all.headers = value.whole(text)? != 0,
            'r' => all.result_only = true,
            's' => all.wait_s = value.small(text, "seconds")?,
            't' => {
                let name = text.to_ascii_uppercase();
                if name == "OMNI" {
                    all.is_omni = true;
                    all.form = Form::Columns(Vec::new());
                } else {
                    let found = TESTS
                        .iter()
                        .find(|test| test.0 == name)
                        .ok_or_else(|| NetperfUsageError::Test(text.clone()))?;
                    (all.direction, all.udp, all.connects) = (found.1, found.2, found.3);
                    all.sendfile = name == SENDFILE;
                    all.only_connects = name == CONNECT_CLOSE;
                }
            }
            'T' => {
                let Pair { local, remote } = pair(text);
                let of = |text: Option<&str>| {
                    let number = text.map(|text| value.small::<u32>(text, "a processor")).transpose()?;
                    match number {
                        Some(number) if number > PROCESSOR_MAX => Err(value.wrong("a processor, from 0 to 1023")),
                        number => Ok(number),
                    }
                };
                all.processor = Pair { local: of(local)?, remote: of(remote)? };
            }
            'v' => all.verbosity = value.small(text, "a level")?,
            'V' => return Ok(Asked::Version),
            'w' => all.notice(*letter, text, "Packet rate control is not compiled in.\n"),
            'Y' => {
                let Pair { local, remote } = pair(text);
                let of = |text: Option<&str>| text.map(|text| value.service(text)).transpose();
                all.service = Pair { local: of(local)?, remote: of(remote)? };
            }
            'Z' => all.passphrase = Some(text.clone()),
            _ => {}
        }
    }
    all.times = times.unwrap_or((1, 1));
    all.routed = !(all.udp && all.direction == Direction::ToServer);
    test_options(&mut all, global.rest)
}

fn test_options(all: &mut NetperfSettings, words: &[String]) -> Result<Asked<NetperfSettings>, NetperfUsageError> {
    let part = getopt(TEST_WORDS, words)?;
    if let Some(word) = part.rest.first() {
        return Err(NetperfUsageError::Word(word.clone()));
    }
    all.ignored.extend(part.ignored);
    for (letter, text) in &part.said {
        let value = Value(*letter, text);
        match letter {
            '4' | '6' => all.data_v6 = Some(*letter == '6'),
            'c' => {
                all.connects = true;
                all.direction = Direction::RoundTrips;
            }
            'd' => all.direction = direction(&value)?,
            'D' => {
                let Pair { local, remote } = pair(text);
                let is = |text: Option<&str>| text.is_some_and(|text| text != "0");
                all.no_delay = if text.is_empty() {
                    Pair { local: true, remote: true }
                } else {
                    Pair { local: is(local), remote: is(remote) }
                };
            }
            'b' => all.burst = value.small(text, "a number of requests")?,
            'e' => _ = value.seconds(text)?,
            'G' => all.segment = Some(value.bytes(text)?),
            'h' => return Ok(Asked::Help),
            'H' => all.data.remote = value.host(&mut all.data_v6)?,
            'L' => all.data.local = value.host(&mut all.data_v6)?,
            'k' | 'o' | 'O' => {
                if text == "?" {
                    return Ok(Asked::Names);
                }
                let names = list(text).map_err(NetperfUsageError::Selector)?;
                all.form = match letter {
                    'k' => Form::Keys(names),
                    'o' => Form::Csv(names),
                    _ => Form::Columns(names),
                };
            }
            'K' => {
                let Pair { local, remote } = pair(text);
                all.congestion = Pair { local: local.map(str::to_owned), remote: remote.map(str::to_owned) };
            }
            'm' => all.send = value.byte_pair()?,
            'M' => all.receive = value.byte_pair()?,
            'P' => {
                let Pair { local, remote } = pair(text);
                let of = |text: Option<&str>| text.map_or(Ok(0), |text| value.small(text, "a port"));
                all.data_ports = Pair { local: of(local)?, remote: of(remote)? };
            }
            'r' => {
                let Pair { local, remote } = value.byte_pair()?;
                all.trip = [local.unwrap_or(all.trip[0]), remote.unwrap_or(all.trip[1])];
            }
            'R' => all.routed = value.whole(text)? != 0,
            's' | 'S' => {
                let Pair { local, remote } = value.byte_pair()?;
                let end = if *letter == 's' { &mut all.buffers.local } else { &mut all.buffers.remote };
                *end = [local, remote];
            }
            't' | 'T' => {
                all.udp = match text.to_ascii_lowercase().trim_start_matches("sock_") {
                    "stream" | "tcp" => false,
                    "dgram" | "udp" => true,
                    _ => return Err(value.wrong("stream, dgram, tcp or udp")),
                };
            }
            'u' => all.uuid = Some(text.clone()),
            _ => {}
        }
    }
    if all.connects && all.udp {
        return Err(NetperfUsageError::Value { letter: 'c', given: String::new(), expected: "a test of TCP" });
    }
    if all.udp && all.direction == Direction::ToClient {
        return Err(NetperfUsageError::NotYet { letter: 'd', why: "datagrams from the server; use a test of TCP" });
    }
    all.go_direct()?;
    if let Form::Table = all.form {
        return Ok(Asked::Run(Box::new(all.clone())));
    }
    if let Form::Columns(names) | Form::Keys(names) | Form::Csv(names) = &mut all.form
        && names.is_empty()
    {
        *names = super::selectors::usual(all.direction, all.cpu.local || all.cpu.remote);
    }
    Ok(Asked::Run(Box::new(all.clone())))
}

impl NetperfSettings {
    /// Keeps what netperf prints about an option of builds with intervals, unless only the server's value is given.
    fn notice(&mut self, letter: char, text: &str, notice: &'static str) {
        if !text.is_empty() && !text.starts_with(',') {
            self.notices.push(notice);
            self.ignored.retain(|ignored| ignored.0 != letter);
        }
    }

    /// Gives a test without a control connection its port, and takes from it what only a netserver can do.
    fn go_direct(&mut self) -> Result<(), NetperfUsageError> {
        if self.direct.is_none() {
            return Ok(());
        }
        if self.data_ports.remote == 0 {
            let (name, port) = match self.direction {
                _ if self.only_connects => return Err(NetperfUsageError::NoUsualPort(CONNECT_CLOSE)),
                Direction::ToServer => ("discard", 9),
                Direction::ToClient => ("chargen", 19),
                Direction::RoundTrips => ("echo", 7),
            };
            self.data_ports.remote = port;
            self.direct = Some(Direct::Usual(name));
            // An echo is as long as what it echoes.
            self.trip[1] = self.trip[0];
        }
        self.cpu.remote = false;
        self.no_delay.remote = false;
        self.service.remote = None;
        self.congestion.remote = None;
        self.buffers.remote = [None; 2];
        Ok(())
    }
}

fn direction(value: &Value<'_>) -> Result<Direction, NetperfUsageError> {
    let mut bits = 0;
    for part in value.1.to_ascii_lowercase().split('|') {
        bits |= match part {
            "send" | "stream" | "xmit" | "transmit" => 2,
            "recv" | "receive" | "maerts" => 4,
            "rr" => 6,
            number => value.small::<u32>(number, "send, recv, rr, or a number")?,
        };
    }
    match bits {
        2 => Ok(Direction::ToServer),
        4 => Ok(Direction::ToClient),
        6 => Ok(Direction::RoundTrips),
        _ => Err(value.wrong("2, 4 or 6")),
    }
}

/// Reads netserver's words.
///
/// # Errors
/// What is wrong with them.
pub fn read_server(words: &[String]) -> Result<Asked<Server>, NetperfUsageError> {
    let (poll_us, words) = busy_poll(words)?;
    let part = getopt(SERVER_WORDS, words)?;
    if let Some(word) = part.rest.first() {
        return Err(NetperfUsageError::Word(word.clone()));
    }
    let mut all = Server { port: PORT, poll_us, ignored: part.ignored, ..Server::default() };
    for (letter, text) in &part.said {
        let value = Value(*letter, text);
        match letter {
            '4' | '6' => all.is_v6 = Some(*letter == '6'),
            'D' => all.foreground = true,
            'h' => return Ok(Asked::Help),
            'L' => all.listen = value.host(&mut all.is_v6)?,
            'p' => all.port = value.small(text, "a port")?,
            'V' => return Ok(Asked::Version),
            'Z' => all.passphrase = Some(text.clone()),
            _ => {}
        }
    }
    Ok(Asked::Run(Box::new(all)))
}
