//! The settings of a command line.

mod read;
mod take;

pub use read::read;
pub(crate) use read::said;

use super::auth::Padding;
use super::format::Unit;
use super::params::Params;

/// A request: a page, a test or a server.
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
    /// `--bind-dev`, or the name after `%` in an address.
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
    /// Options without effect, and why.
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
    /// The parameters of the test, for the server.
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

/// An error in a command line.
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
        /// The reason, or the way out.
        why: &'static str,
    },
    /// A value that is none.
    #[error("bad value '{given}' of option --{name}: {expected}")]
    Value {
        /// The option.
        name: &'static str,
        /// As given.
        given: String,
        /// Values that it takes.
        expected: &'static str,
    },
}
