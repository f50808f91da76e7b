//! The settings of a command line.

mod read;
mod take;

pub use read::read;
pub(crate) use read::split_words;

use super::auth::Padding;
use super::format::Unit;
use super::params::Params;

/// The request of a command line: a page, a test or a server.
#[derive(Debug, Clone, PartialEq)]
pub enum Invocation {
    Help,
    Version,
    /// Run a test, or serve tests.
    Run(Box<Iperf3Settings>),
}

/// All settings of a command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Iperf3Settings {
    /// Client or server.
    pub end: End,
    pub port: u16,
    /// `-B`: local address.
    pub bind: Option<String>,
    /// `-6`, `-4`: `true` for IPv6 only, `false` for IPv4 only.
    pub is_v6: Option<bool>,
    /// Seconds between reports; 0 for none.
    pub interval_s: f64,
    /// `-f`: unit of rates.
    pub unit: Unit,
    /// `-V`: more output.
    pub verbose: bool,
    /// `-J`, `--json-stream`: form of the output.
    pub output: Output,
    /// `--logfile`: path of the output; `None` for standard output.
    pub log: Option<String>,
    /// `-I`: path of the file for the process id.
    pub pid_file: Option<String>,
    /// `--bind-dev`, or the name after `%` in an address: network interface.
    pub device: Option<String>,
    /// `-F`: path of the file to send or to receive into.
    pub file: Option<String>,
    /// `-A`: CPU of this end.
    pub processor: Option<u32>,
    /// `--rcv-timeout`, ms.
    pub receive_ms: u64,
    /// `--snd-timeout`, ms.
    pub send_ms: Option<u32>,
    /// `--cntl-ka`: idle seconds before probes, seconds between probes, number of probes.
    pub keep_alive: [Option<u32>; 3],
    /// `--timestamps`: format.
    pub stamp: Option<String>,
    /// Padding of tokens, from `--use-pkcs1-padding`.
    pub padding: Padding,
    /// Options without effect, each with the reason.
    pub ignored: Vec<(&'static str, &'static str)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Text for people.
    Text,
    /// One JSON document at the end.
    Json,
    /// One line of JSON per event.
    JsonStream,
    /// One line of JSON per event, and the whole document at the end.
    JsonStreamFull,
}

impl Output {
    /// Returns `true` if events are printed immediately.
    pub fn streams(self) -> bool {
        matches!(self, Output::JsonStream | Output::JsonStreamFull)
    }

    /// Returns `true` if a document is printed at the end.
    pub fn has_document(self) -> bool {
        matches!(self, Output::Json | Output::JsonStreamFull)
    }
}

/// Default time after which a test that receives nothing is ended, ms.
const RECEIVE_MS: u64 = 120_000;

impl Iperf3Settings {
    /// Returns the settings of a command line without options.
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

/// The end that this process is.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    Server(Server),
    Client(Box<Client>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// `-1`: end after one test.
    pub one_off: bool,
    /// `-D`: run in the background.
    pub daemon: bool,
    /// `--server-bitrate-limit`: bits per second.
    pub rate_limit: Option<u64>,
    /// Seconds over which `rate_limit` is averaged.
    pub rate_seconds: u32,
    /// `--server-max-duration`: seconds.
    pub time_limit: Option<u32>,
    /// `--idle-timeout`: seconds.
    pub idle_s: Option<u32>,
    /// `--rsa-private-key-path`: path of the server's key.
    pub key: Option<String>,
    /// `--authorized-users-path`: path of the file with users.
    pub users: Option<String>,
    /// `--time-skew-threshold`: seconds.
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

#[derive(Debug, Clone, PartialEq)]
pub struct Client {
    /// `-c`: the server's host.
    pub host: String,
    /// Parameters of the test, which are sent to the server.
    pub params: Params,
    /// `--cport`: local port of the first stream.
    pub client_port: Option<u16>,
    /// `--connect-timeout`: milliseconds; `None` for no limit.
    pub connect_ms: Option<u64>,
    /// `--username`: name of the user.
    pub user: Option<String>,
    /// `--rsa-public-key-path`: path of the server's public key.
    pub key: Option<String>,
}

/// Error in a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Iperf3UsageError {
    /// An error in iperf3's words.
    #[error("{0}")]
    Parameter(&'static str),
    /// The option does not exist.
    #[error("unrecognized option '{given}'{}", .nearest.map(|name| format!("; did you mean --{name}?")).unwrap_or_default())]
    Unknown { given: String, nearest: Option<&'static str> },
    /// The option is not supported yet.
    #[error("option --{name} is not supported yet: {why}")]
    NotYet {
        name: &'static str,
        /// Reason, or a hint.
        why: &'static str,
    },
    #[error("bad value '{given}' of option --{name}: {expected}")]
    Value { name: &'static str, given: String, expected: &'static str },
}
