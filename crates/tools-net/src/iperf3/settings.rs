//! What a command line means.

use super::auth::Padding;
use super::format::{Unit, number};
use super::options::GRAMMAR;
use super::params::{FLOW_LABEL_MAX, Params};
use super::values::{at_device, byte_of, c_number, port, service_of};
use plumb_tools::Support;
use plumb_tools::options::{Grammar, Opt, Role, Word, Words};

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// The options.
    Help,
    /// The version.
    Version,
    /// A test, or to serve some.
    Run(Box<Iperf3Settings>),
}

/// Everything that was said.
#[derive(Debug, Clone, PartialEq)]
pub struct Iperf3Settings {
    /// Which end.
    pub end: End,
    /// Port of the server.
    pub port: u16,
    /// `-B`.
    pub bind: Option<String>,
    /// `-6`, `-4`.
    pub is_v6: Option<bool>,
    /// Seconds between reports; 0 for none.
    pub interval_s: f64,
    /// `-f`.
    pub unit: Unit,
    /// `-V`.
    pub verbose: bool,
    /// `-J`, `--json-stream`.
    pub output: Output,
    /// `--logfile`.
    pub log: Option<String>,
    /// `-I`.
    pub pid_file: Option<String>,
    /// `--bind-dev`, or what stands behind `%` of an address.
    pub device: Option<String>,
    /// `-F`.
    pub file: Option<String>,
    /// `-A`.
    pub processor: Option<u32>,
    /// `--rcv-timeout`, milliseconds.
    pub receive_ms: u64,
    /// `--snd-timeout`, milliseconds.
    pub send_ms: Option<u32>,
    /// `--cntl-ka`: seconds of idleness, seconds between questions, questions.
    pub keep_alive: [Option<u32>; 3],
    /// `--timestamps`, the format.
    pub stamp: Option<String>,
    /// `--use-pkcs1-padding`, or without.
    pub padding: Padding,
    /// What has no effect, and why.
    pub ignored: Vec<(&'static str, &'static str)>,
}

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// For people.
    Text,
    /// One document at the end.
    Json,
    /// A line for each event.
    JsonStream,
    /// The same, and the whole document at the end.
    JsonStreamFull,
}

impl Output {
    /// Whether events are printed as they come.
    pub fn streams(self) -> bool {
        matches!(self, Output::JsonStream | Output::JsonStreamFull)
    }

    /// Whether there is a document at the end.
    pub fn has_document(self) -> bool {
        matches!(self, Output::Json | Output::JsonStreamFull)
    }
}

/// A test that receives nothing for this long is ended, milliseconds.
const RECEIVE_MS: u64 = 120_000;

impl Iperf3Settings {
    /// What is so where nothing else is said.
    pub fn new(end: End) -> Iperf3Settings {
        Iperf3Settings {
            end,
            port: 5201,
            bind: None,
            is_v6: None,
            interval_s: 1.0,
            unit: Unit::Adaptive,
            verbose: false,
            output: Output::Text,
            log: None,
            pid_file: None,
            device: None,
            file: None,
            processor: None,
            receive_ms: RECEIVE_MS,
            send_ms: None,
            keep_alive: [None; 3],
            stamp: None,
            padding: Padding::Oaep,
            ignored: Vec::new(),
        }
    }
}

/// Which end.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The server.
    Server(Server),
    /// The client.
    Client(Box<Client>),
}

/// Of the server.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// `-1`.
    pub one_off: bool,
    /// `-D`.
    pub daemon: bool,
    /// `--server-bitrate-limit`, bits a second.
    pub rate_limit: Option<u64>,
    /// Seconds whose mean that is about.
    pub rate_seconds: u32,
    /// `--server-max-duration`, seconds.
    pub time_limit: Option<u32>,
    /// `--idle-timeout`, seconds.
    pub idle_s: Option<u32>,
    /// `--rsa-private-key-path`.
    pub key: Option<String>,
    /// `--authorized-users-path`.
    pub users: Option<String>,
    /// `--time-skew-threshold`, seconds.
    pub skew_s: u64,
}

impl Default for Server {
    fn default() -> Server {
        Server {
            one_off: false,
            daemon: false,
            rate_limit: None,
            rate_seconds: 5,
            time_limit: None,
            idle_s: None,
            key: None,
            users: None,
            skew_s: 10,
        }
    }
}

/// Of the client.
#[derive(Debug, Clone, PartialEq)]
pub struct Client {
    /// `-c`.
    pub host: String,
    /// What goes to the server.
    pub params: Params,
    /// `--cport`.
    pub client_port: Option<u16>,
    /// `--connect-timeout`.
    pub connect_ms: Option<u64>,
    /// `--username`.
    pub user: Option<String>,
    /// `--rsa-public-key-path`.
    pub key: Option<String>,
}

/// What is wrong with a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Iperf3UsageError {
    /// As iperf3 says it.
    #[error("{0}")]
    Parameter(&'static str),
    /// An option that does not exist.
    #[error("unrecognized option '{given}'{}", .nearest.map(|name| format!("; did you mean --{name}?")).unwrap_or_default())]
    Unknown {
        /// As given.
        given: String,
        /// The closest name.
        nearest: Option<&'static str>,
    },
    /// An option that is not supported yet.
    #[error("option --{name} is not supported yet: {why}")]
    NotYet {
        /// The option.
        name: &'static str,
        /// What it is about, or what to do instead.
        why: &'static str,
    },
    /// A value that is none.
    #[error("bad value '{given}' of option --{name}: {expected}")]
    Value {
        /// The option.
        name: &'static str,
        /// As given.
        given: String,
        /// What is expected.
        expected: &'static str,
    },
}

/// With the NUL behind it. Source: `IFNAMSIZ` of linux/if.h.
const DEVICE_BYTES_MAX: usize = 16;

/// Largest number of a processor. Source: `CPU_SETSIZE` of sched.h.
const PROCESSOR_MAX: u32 = 1023;

/// The words, taken apart: rows of the table with their values.
pub(crate) fn said(words: &[String], grammar: Grammar) -> Result<Vec<(&'static Opt, String)>, Iperf3UsageError> {
    let mut found = Vec::new();
    for word in Words::new(grammar, words) {
        let (row, value) = match word {
            Ok(Word::Option(row, value)) => (row, value),
            Ok(Word::Operand(given)) => return Err(Iperf3UsageError::Unknown { given, nearest: None }),
            Err(unknown) => {
                let nearest = unknown.name.and_then(|name| grammar.table.nearest(&name));
                return Err(Iperf3UsageError::Unknown { given: unknown.word, nearest });
            }
        };
        if value.is_none() && row.takes.needs_value() {
            return Err(Iperf3UsageError::Value { name: row.name, given: String::new(), expected: "give a value" });
        }
        found.push((row, value.unwrap_or_default()));
    }
    Ok(found)
}

/// Reads a command line, without the name of the program.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn read(words: &[String]) -> Result<Asked, Iperf3UsageError> {
    let said = said(words, GRAMMAR)?;
    for asked in [("help", Asked::Help), ("version", Asked::Version)] {
        if said.iter().any(|(row, _)| row.name == asked.0) {
            return Ok(asked.1);
        }
    }
    let has = |name: &str| said.iter().any(|(row, _)| row.name == name);
    if has("server") && has("client") {
        return Err(Iperf3UsageError::Parameter("cannot be both server and client"));
    }
    if !has("server") && !has("client") {
        return Err(Iperf3UsageError::Parameter("must either be a client (-c) or server (-s)"));
    }
    let is_server = has("server");
    let mut settings = Iperf3Settings {
        verbose: has("verbose"),
        output: match (has("json-stream-full-output"), has("json-stream"), has("json")) {
            (true, ..) => Output::JsonStreamFull,
            (_, true, _) => Output::JsonStream,
            (.., true) => Output::Json,
            _ => Output::Text,
        },
        ..Iperf3Settings::new(End::Server(Server::default()))
    };
    let mut server = Server { one_off: has("one-off"), daemon: has("daemon"), ..Server::default() };
    let mut params = Params { udp: has("udp"), sctp: has("sctp"), ..Params::default() };
    let (mut host, mut client_port, mut connect_ms) = (String::new(), None, None);
    let (mut user, mut key) = (None, None);
    for (row, value) in &said {
        match row.support {
            Support::NotYet(why) | Support::Never(why) => return Err(Iperf3UsageError::NotYet { name: row.name, why }),
            Support::Ignored(why) => settings.ignored.push((row.name, why)),
            Support::Works => {}
        }
        match row.role {
            Role::Client if is_server => {
                return Err(Iperf3UsageError::Parameter("some option you are trying to set is client only"));
            }
            Role::Server if !is_server => {
                return Err(Iperf3UsageError::Parameter("some option you are trying to set is server only"));
            }
            _ => {}
        }
        let wrong = |expected| Iperf3UsageError::Value { name: row.name, given: value.clone(), expected };
        let ranged = |base: f64, most: f64, expected: &'static str| {
            number(value, base).filter(|&number| number <= most).ok_or_else(|| wrong(expected))
        };
        let size = |most: u64, expected| ranged(1024.0, most as f64, expected).map(|number| number as u64);
        match row.name {
            "client" => host = at_device(value, &mut settings.device),
            "port" => settings.port = port(value).ok_or_else(|| wrong("a port is from 1 to 65535"))?,
            "cport" => client_port = Some(port(value).ok_or_else(|| wrong("a port is from 1 to 65535"))?),
            "format" => settings.unit = Unit::of(value).ok_or_else(|| wrong("use one of k, m, g, t, K, M, G, T"))?,
            "interval" => {
                let expected = "use 0, or from 0.1 to 60 seconds";
                settings.interval_s = ranged(1.0, 60.0, expected)?;
                if settings.interval_s > 0.0 && settings.interval_s < 0.1 {
                    return Err(wrong(expected));
                }
            }
            "pidfile" => settings.pid_file = Some(value.clone()),
            "bind" => settings.bind = Some(at_device(value, &mut settings.device)),
            "bind-dev" => settings.device = Some(value.clone()),
            "file" => settings.file = Some(value.clone()),
            "affinity" => {
                let (own, far) = value.split_once([',', '/']).map_or((&**value, None), |(own, far)| (own, Some(far)));
                let processor = |text: &str| text.parse().ok().filter(|&number| number <= PROCESSOR_MAX);
                let expected = "a processor, such as 0, or two, such as 0,1";
                settings.processor = Some(processor(own).ok_or_else(|| wrong(expected))?);
                params.server_processor = far
                    .map(|far| processor(far).ok_or_else(|| wrong(expected)))
                    .transpose()?
                    .or(params.server_processor);
                if far.is_some() && is_server {
                    return Err(Iperf3UsageError::Parameter("some option you are trying to set is client only"));
                }
            }
            "mptcp" => params.multipath = true,
            "rcv-timeout" => {
                let expected = "milliseconds, from 100 to 86400000";
                settings.receive_ms = ranged(1.0, 864e5, expected)? as u64;
                if settings.receive_ms < 100 {
                    return Err(wrong(expected));
                }
            }
            "snd-timeout" => settings.send_ms = Some(ranged(1.0, 864e5, "milliseconds, at most 86400000")? as u32),
            "cntl-ka" => {
                for (part, into) in value.split('/').zip(&mut settings.keep_alive) {
                    let number = part.parse().ok().filter(|number| (1..=32767).contains(number));
                    *into = match part {
                        "" => None,
                        _ => Some(number.ok_or_else(|| wrong("idle/interval/count, such as 20/5/3"))?),
                    };
                }
            }
            "timestamps" => settings.stamp = Some(if value.is_empty() { "%c ".to_owned() } else { value.clone() }),
            "logfile" => settings.log = Some(value.clone()),
            "version4" => settings.is_v6 = Some(false),
            "version6" => settings.is_v6 = Some(true),
            "server-bitrate-limit" => {
                let (rate, seconds) = value.split_once('/').unwrap_or((value, "5"));
                let rate = number(rate, 1000.0).ok_or_else(|| wrong("bits a second, such as 1G"))?;
                let seconds = seconds.parse().ok().filter(|seconds| (1..=1000).contains(seconds));
                server.rate_seconds = seconds.ok_or_else(|| wrong("the mean is of 1 to 1000 seconds"))?;
                server.rate_limit = Some(rate as u64).filter(|&rate| rate > 0);
            }
            "server-max-duration" => {
                server.time_limit = Some(ranged(1.0, 86400.0, "at most 86400 seconds")? as u32);
            }
            "idle-timeout" => {
                server.idle_s = Some(ranged(1.0, 86400.0, "at most 86400 seconds")? as u32).filter(|&idle| idle > 0);
            }
            "rsa-private-key-path" => server.key = Some(value.clone()),
            "authorized-users-path" => server.users = Some(value.clone()),
            "time-skew-threshold" => server.skew_s = ranged(1.0, 86400.0, "at most 86400 seconds")? as u64,
            "username" => user = Some(value.clone()),
            "rsa-public-key-path" => key = Some(value.clone()),
            "use-pkcs1-padding" => settings.padding = Padding::Pkcs1,
            "fq-rate" => {
                let rate = number(value, 1000.0).ok_or_else(|| wrong("bits a second, such as 100M"))?;
                params.kernel_rate = Some(rate as u64).filter(|&rate| rate > 0);
            }
            "bitrate" => {
                let (rate, burst) = value.split_once('/').unwrap_or((value, "1"));
                let rate = number(rate, 1000.0).ok_or_else(|| wrong("bits a second, such as 100M"))?;
                params.rate = Some(rate as u64);
                let burst = burst.parse().ok().filter(|burst| (1..=1000).contains(burst));
                params.burst = burst.ok_or_else(|| wrong("a burst is from 1 to 1000 blocks"))?;
            }
            "time" => params.time_s = Some(ranged(1.0, 86400.0, "at most 86400 seconds")? as u32),
            "bytes" => params.bytes = size(u64::MAX >> 1, "bytes, such as 1G")?,
            "blockcount" => params.blocks = size(u64::MAX >> 1, "blocks, such as 1K")?,
            "length" => {
                params.block = size(1 << 20, "at most 1M")? as u32;
                // 0 is the default: 128 KiB, and of UDP what the control connection's segments hold.
                if params.udp && params.block > 0 && !(16..=65507).contains(&params.block) {
                    return Err(wrong("from 1 to 1M, and with -u from 16 to 65507"));
                }
            }
            "parallel" => {
                params.streams = ranged(1.0, 128.0, "from 1 to 128")? as u32;
                if params.streams == 0 {
                    return Err(wrong("from 1 to 128"));
                }
            }
            "reverse" => params.reverse = true,
            "bidir" => params.bidir = true,
            "window" => params.window = Some(size(512 << 20, "at most 512M")? as u32),
            "congestion" => params.congestion = Some(value.clone()),
            "set-mss" => params.segment = Some(ranged(1.0, 32767.0, "at most 32767")? as u32),
            "no-delay" => params.no_delay = true,
            "tos" => {
                params.service = byte_of(value).ok_or_else(|| wrong("from 0 to 255"))?;
            }
            "dscp" => params.service = service_of(value).ok_or_else(|| wrong("from 0 to 63, or a name such as ef"))?,
            "flowlabel" => {
                let label = c_number(value).filter(|label| (1..=FLOW_LABEL_MAX).contains(label));
                params.flow_label = Some(label.ok_or_else(|| wrong("from 1 to 1048575"))?);
            }
            "dont-fragment" => params.whole = true,
            "repeating-payload" => params.repeats = true,
            "omit" => params.omit_s = ranged(1.0, 600.0, "at most 600 seconds")? as u32,
            "title" => params.title = Some(value.clone()),
            "extra-data" => params.extra_data = Some(value.clone()),
            "zerocopy" => params.lend = true,
            "skip-rx-copy" => params.drop = true,
            "gsro" => params.trains = true,
            "udp-counters-64bit" => params.wide = true,
            "get-server-output" => params.get_output = true,
            // 0 means unlimited, as in iperf3.
            "connect-timeout" => {
                connect_ms = Some(ranged(1024.0, 1e9, "milliseconds")? as u64).filter(|milliseconds| *milliseconds > 0);
            }
            _ => {}
        }
    }
    if server.key.is_some() != server.users.is_some() {
        return Err(Iperf3UsageError::Parameter(
            "give both --rsa-private-key-path and --authorized-users-path, or none",
        ));
    }
    if user.is_some() != key.is_some() {
        return Err(Iperf3UsageError::Parameter("give both --username and --rsa-public-key-path, or none"));
    }
    // Source: iperf3 3.21, `iperf_parse_arguments`: a part that is left out counts as 0.
    let [idle, interval, count] = settings.keep_alive.map(|part| u64::from(part.unwrap_or(0)));
    if idle > 0 && idle <= interval * count {
        return Err(Iperf3UsageError::Parameter(
            "control connection Keepalive period should be larger than the full retry period (interval * count)",
        ));
    }
    if is_server {
        settings.end = End::Server(server);
        return Ok(Asked::Run(Box::new(settings)));
    }
    if has("rcv-timeout") && !(params.reverse || params.bidir) {
        return Err(Iperf3UsageError::Parameter(
            "client receive timeout is valid only in receiving mode: add -R or --bidir",
        ));
    }
    if params.reverse && params.bidir {
        return Err(Iperf3UsageError::Parameter("cannot be both reverse and bidirectional"));
    }
    let ends = [params.time_s.is_some(), params.bytes > 0, params.blocks > 0];
    if ends.into_iter().filter(|&end| end).count() > 1 {
        return Err(Iperf3UsageError::Parameter("only one test end condition (-t, -n, -k) may be specified"));
    }
    let has_file = settings.file.is_some();
    // The length of a file that is sent is where it ends.
    if !ends.contains(&true) && (params.reverse || !has_file) {
        params.time_s = Some(10);
    }
    if params.sctp && (params.udp || params.multipath || params.congestion.is_some()) {
        return Err(Iperf3UsageError::Parameter("--sctp goes with none of -u, -m, -C"));
    }
    if has_file && (params.udp || params.bidir) {
        return Err(Iperf3UsageError::Parameter("a file is transferred by TCP, in one direction"));
    }
    if settings.device.as_ref().is_some_and(|device| device.len() >= DEVICE_BYTES_MAX) {
        return Err(Iperf3UsageError::Parameter("the name of a network interface has at most 15 letters"));
    }
    if params.udp && params.rate.is_none() {
        // 2^20, as iperf3 has it.
        params.rate = Some(1 << 20);
    }
    settings.end = End::Client(Box::new(Client { host, params, client_port, connect_ms, user, key }));
    Ok(Asked::Run(Box::new(settings)))
}
