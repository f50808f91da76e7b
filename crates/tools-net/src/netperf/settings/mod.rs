//! The settings of a command line.

mod read;
mod take;

pub use read::{read, read_server};
pub use take::PROCESSOR_MAX;

use super::exchange::{Direction, Length};
use super::wire::PORT;
use read::{POLL, POLL_US_MAX};

/// The request of a command line: a page, a test or a server.
#[derive(Debug, Clone, PartialEq)]
pub enum Invocation<T> {
    Help,
    Version,
    /// Print the names for `-k`, `-o` and `-O`.
    Names,
    /// Run a test, or serve tests.
    Run(Box<T>),
}

/// Values of this end and of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pair<T> {
    /// Value of this end, or the first value.
    pub local: T,
    /// Value of the server, or the second value.
    pub remote: T,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Round trips per second, or 10^6 bits per second for a stream.
    OfTest,
    /// The unit of a letter of `-f`.
    Letter(char),
}

/// A test without a control connection. Data goes to a standard service of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direct {
    /// The usual service for the test, by name.
    Usual(&'static str),
    /// The service at the port of `-P`.
    Named,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// The table of the test.
    Table,
    /// Lines of `NAME=value`.
    Keys(Vec<&'static str>),
    /// CSV with these columns.
    Csv(Vec<&'static str>),
    /// Columns, in blocks.
    Columns(Vec<&'static str>),
}

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
    /// `-T`: CPUs on which both ends run.
    pub processor: Pair<Option<u32>>,
    /// netperf's notices about options, printed before the test.
    pub notices: Vec<&'static str>,
    /// Options without effect, each with the reason.
    pub ignored: Vec<(char, &'static str)>,
}

impl NetperfSettings {
    /// Returns the settings without any options, except Plumb's own.
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
    /// `-H`: host of netserver.
    pub host: String,
    /// `-p`: port of netserver.
    pub port: u16,
    /// `-L`: local address.
    pub local: Option<String>,
    /// `-p`: local port.
    pub local_port: u16,
    /// `-6`, `-4`: `true` for IPv6 only, `false` for IPv4 only.
    pub is_v6: Option<bool>,
    /// `-N`: test against a plain service, without a netserver.
    pub direct: Option<Direct>,
    /// `-s`: seconds to wait before the test.
    pub wait_s: u32,
    /// `-Z`: passphrase for netserver.
    pub passphrase: Option<String>,
}

/// The test: its protocol, its direction and its end.
#[derive(Debug, Clone, PartialEq)]
pub struct TestOptions {
    /// Whether the test is `OMNI`, which has another title.
    pub is_omni: bool,
    /// `-d`: direction of the data.
    pub direction: Direction,
    /// `-T`: whether datagrams carry the data.
    pub udp: bool,
    /// `-c`: whether each round trip opens its own connection.
    pub connects: bool,
    /// Whether connections are opened and closed without a round trip.
    pub only_connects: bool,
    /// `-b`: requests sent before the first response is awaited.
    pub burst: u32,
    /// Whether data is sent by `sendfile`.
    pub sendfile: bool,
    /// `-F`: path of the file to send.
    pub file: Option<String>,
    /// `-l`: length of the test.
    pub length: Length,
}

/// Repetitions up to a confidence, and interim results.
#[derive(Debug, Clone, PartialEq)]
pub struct RepetitionOptions {
    /// `-I`: level and width of the confidence interval, in percent.
    pub confidence: Option<(u32, f64)>,
    /// `-i`: smallest and largest number of repetitions.
    pub times: (u32, u32),
    /// `-D`: seconds between interim results.
    pub interim_s: Option<f64>,
}

/// The output, its form and its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputOptions {
    /// `-r`: whether only the result is printed.
    pub result_only: bool,
    /// `-c`, `-C`: whether CPU utilization is measured.
    pub cpu: Pair<bool>,
    /// `-f`: unit of throughput.
    pub unit: Unit,
    /// `-P`: whether headers are printed.
    pub headers: bool,
    /// `-v`: verbosity.
    pub verbosity: u32,
    /// `-B`: text printed with the result.
    pub brand: String,
    /// `-k`, `-o`, `-O`: form of the output.
    pub form: Form,
    /// `-u`: name of the run.
    pub uuid: Option<String>,
}

/// The ends of the data connection, and the bytes per call.
#[derive(Debug, Clone, PartialEq)]
pub struct DataOptions {
    /// `-L`, `-H` after `--`: addresses of the data connection.
    pub hosts: Pair<Option<String>>,
    /// `-4`, `-6` after `--`: address family of the data connection.
    pub is_v6: Option<bool>,
    /// `-P` after `--`: ports of the data connection.
    pub ports: Pair<u16>,
    /// `-m`: bytes per send.
    pub send: Pair<Option<u32>>,
    /// `-M`: bytes per receive.
    pub receive: Pair<Option<u32>>,
    /// `-r` after `--`: size of a request and of a response, bytes.
    pub trip: [u32; 2],
}

/// Options of the data sockets.
#[derive(Debug, Clone, PartialEq)]
pub struct SocketSettings {
    /// `-Y`: type of service.
    pub service: Pair<Option<u8>>,
    /// `-s`, `-S` after `--`: socket buffers, bytes: send, receive.
    pub buffers: Pair<[Option<u32>; 2]>,
    /// `-D` after `--`: whether `TCP_NODELAY` is set.
    pub no_delay: Pair<bool>,
    /// `-G`: maximum segment size, bytes.
    pub segment: Option<u32>,
    /// `-K`: congestion control algorithm.
    pub congestion: Pair<Option<String>>,
    /// `-R`: whether data may pass routers.
    pub routed: bool,
    /// `--plumb-busy-poll`: time for which round trips poll before they sleep, µs.
    pub poll_us: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Server {
    /// `-D`: whether it stays in the foreground.
    pub foreground: bool,
    /// `-L`: address on which it listens.
    pub listen: Option<String>,
    /// `-6`, `-4`: `true` for IPv6 only, `false` for IPv4 only.
    pub is_v6: Option<bool>,
    /// `-p`: port on which it listens.
    pub port: u16,
    /// `-Z`: passphrase that clients must send first.
    pub passphrase: Option<String>,
    /// `--plumb-busy-poll`, as for netperf.
    pub poll_us: u32,
    /// Options without effect, each with the reason.
    pub ignored: Vec<(char, &'static str)>,
}

/// Error in a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetperfUsageError {
    /// The option does not exist.
    #[error("invalid option -- '{0}'")]
    Unknown(char),
    #[error("option requires an argument -- '{0}'")]
    Lacks(char),
    /// The option is not supported yet.
    #[error("option -{letter} is not supported yet: {why}")]
    NotYet {
        letter: char,
        /// Reason, or a hint.
        why: &'static str,
    },
    #[error("bad value '{given}' of option -{letter}: {expected}")]
    Value { letter: char, given: String, expected: &'static str },
    /// The test does not exist.
    #[error(
        "The test you requested ({0}) is unknown to this netperf.\nPlease verify that you have the correct test name, \nand that \
         test family has been compiled into this netperf."
    )]
    Test(String),
    /// The test has no usual service.
    #[error("No default port known for the {0} test, please set one yourself")]
    NoUsualPort(&'static str),
    /// The time of `--plumb-busy-poll` is invalid.
    #[error("bad value '{0}' of {POLL}: use 1 to {POLL_US_MAX} µs")]
    Poll(String),
    /// The argument is not an option.
    #[error("unexpected word '{0}'")]
    Word(String),
    /// The name for `-k`, `-o` or `-O` does not exist.
    #[error("unknown output selector '{0}'; `-k ?` prints all")]
    Selector(String),
}
