//! The settings of a command line.

mod read;
mod take;

pub use read::{read, read_server};
pub use take::PROCESSOR_MAX;

use super::exchange::{Direction, Length};
use super::wire::PORT;
use read::{POLL, POLL_US_MAX};

/// A request: a page, a test or a server.
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
    /// The command line, for `COMMAND_LINE`.
    pub words: String,
    pub control: ControlOptions,
    pub test: TestOptions,
    pub repetition: RepetitionOptions,
    pub output: OutputOptions,
    pub socket: SocketSettings,
    pub data: DataOptions,
    /// `-T`: the processors that both ends run on.
    pub processor: Pair<Option<u32>>,
    /// Lines about options that netperf prints before the test.
    pub notices: Vec<&'static str>,
    /// Options without effect, and why.
    pub ignored: Vec<(char, &'static str)>,
}

impl NetperfSettings {
    /// The settings where nothing is given but the words that begin with Plumb's own option.
    fn new(words: String, poll_us: u32, ignored: Vec<(char, &'static str)>) -> NetperfSettings {
        NetperfSettings {
            words,
            socket: SocketSettings {
                poll_us,
                service: Pair::default(),
                buffers: Pair::default(),
                no_delay: Pair::default(),
                segment: None,
                congestion: Pair::default(),
                routed: true,
            },
            control: ControlOptions {
                host: "localhost".to_owned(),
                port: PORT,
                direct: None,
                local: None,
                local_port: 0,
                is_v6: None,
                wait_s: 0,
                passphrase: None,
            },
            test: TestOptions {
                is_omni: false,
                direction: Direction::ToServer,
                udp: false,
                connects: false,
                only_connects: false,
                burst: 0,
                sendfile: false,
                file: None,
                length: Length::Seconds(10),
            },
            repetition: RepetitionOptions { confidence: None, times: (1, 1), interim_s: None },
            output: OutputOptions {
                result_only: false,
                cpu: Pair::default(),
                unit: Unit::OfTest,
                headers: true,
                verbosity: 1,
                brand: String::new(),
                form: Form::Table,
                uuid: None,
            },
            data: DataOptions {
                hosts: Pair::default(),
                is_v6: None,
                ports: Pair::default(),
                send: Pair::default(),
                receive: Pair::default(),
                trip: [1, 1],
            },
            processor: Pair::default(),
            notices: Vec::new(),
            ignored,
        }
    }
}

/// The control connection to netserver.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlOptions {
    /// `-H`: the host of netserver.
    pub host: String,
    /// `-p`: the port of netserver.
    pub port: u16,
    /// `-L`: the address of this end.
    pub local: Option<String>,
    /// `-p`: the port of this end.
    pub local_port: u16,
    /// `-6`, `-4`.
    pub is_v6: Option<bool>,
    /// `-N`: a test against a plain service, without a netserver.
    pub direct: Option<Direct>,
    /// `-s`: seconds before the test.
    pub wait_s: u32,
    /// `-Z`: pass phrase for netserver.
    pub passphrase: Option<String>,
}

/// The test: its protocol, its direction and its end.
#[derive(Debug, Clone, PartialEq)]
pub struct TestOptions {
    /// Whether the test is `OMNI`, which has another title.
    pub is_omni: bool,
    /// `-d`: the direction of data.
    pub direction: Direction,
    /// `-T`: whether datagrams carry the data.
    pub udp: bool,
    /// `-c`: whether each round trip has a connection of its own.
    pub connects: bool,
    /// Whether connections are made and closed without a round trip.
    pub only_connects: bool,
    /// `-b`: requests that are sent before the first response is awaited.
    pub burst: u32,
    /// Whether `sendfile` sends the data.
    pub sendfile: bool,
    /// `-F`: the file that is sent.
    pub file: Option<String>,
    /// `-l`: seconds or operations of the test.
    pub length: Length,
}

/// Repetitions up to a confidence, and results in between.
#[derive(Debug, Clone, PartialEq)]
pub struct RepetitionOptions {
    /// `-I`: level and width of the confidence interval, in percent.
    pub confidence: Option<(u32, f64)>,
    /// `-i`: fewest and most repetitions.
    pub times: (u32, u32),
    /// `-D`: seconds between interim results.
    pub interim_s: Option<f64>,
}

/// The output, its form and its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputOptions {
    /// `-r`: whether only the result is printed.
    pub result_only: bool,
    /// `-c`, `-C`: whether processor utilization is measured.
    pub cpu: Pair<bool>,
    /// `-f`: the unit of throughput.
    pub unit: Unit,
    /// `-P`: whether headers are printed.
    pub headers: bool,
    /// `-v`: level of detail.
    pub verbosity: u32,
    /// `-B`: text that is printed with the result.
    pub brand: String,
    /// `-k`, `-o`, `-O`: the form of the output.
    pub form: Form,
    /// `-u`: name of the run.
    pub uuid: Option<String>,
}

/// The ends of the data connection, and the bytes of its calls.
#[derive(Debug, Clone, PartialEq)]
pub struct DataOptions {
    /// `-L`, `-H` after `--`: addresses of the data connection.
    pub hosts: Pair<Option<String>>,
    /// Family of data.
    pub is_v6: Option<bool>,
    /// `-P` after `--`: ports of the data connection.
    pub ports: Pair<u16>,
    /// `-m`: bytes of a send.
    pub send: Pair<Option<u32>>,
    /// `-M`: bytes of a receive.
    pub receive: Pair<Option<u32>>,
    /// `-r` after `--`: bytes of a request and of a response.
    pub trip: [u32; 2],
}

/// Options of the data sockets.
#[derive(Debug, Clone, PartialEq)]
pub struct SocketSettings {
    /// `-Y`: type of service.
    pub service: Pair<Option<u8>>,
    /// `-s`, `-S` after `--`: socket buffers for sending and for receiving.
    pub buffers: Pair<[Option<u32>; 2]>,
    /// `-D` after `--`: `TCP_NODELAY`.
    pub no_delay: Pair<bool>,
    /// `-G`: bytes of the largest segment.
    pub segment: Option<u32>,
    /// `-K`: congestion control.
    pub congestion: Pair<Option<String>>,
    /// `-R`: whether data may pass routers.
    pub routed: bool,
    /// `--plumb-busy-poll`: longest time that round trips poll without sleeping, in µs.
    pub poll_us: u32,
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

/// An error in a command line.
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
        /// The reason, or the way out.
        why: &'static str,
    },
    /// A value that is none.
    #[error("bad value '{given}' of option -{letter}: {expected}")]
    Value {
        /// The option.
        letter: char,
        /// As given.
        given: String,
        /// Values that it takes.
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
    /// An argument that is not an option.
    #[error("unexpected word '{0}'")]
    Word(String),
    /// A name of `-k`, `-o`, `-O`.
    #[error("unknown output selector '{0}'; `-k ?` prints all")]
    Selector(String),
}
