//! `plumb as netperf`, `plumb as netserver`: both ends of netperf's protocol.

mod client;
mod control;
mod server;

use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{error_line, error_text, print};
use plumb_engine::net::{ConnectError, Flows, OptionError};
use plumb_tools_net::netperf::{
    self, Cpu, Invocation, Length, Message, NetperfSettings, NetperfUsageError, SELECTORS, help,
};
use plumb_tools_run::cpus::CpuError;
use plumb_tools_run::{ToolCall, dashes};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;

/// Output of `-V`: the emulated version.
const VERSION: &str = "2.7.0";

/// Exit status of a failed client: -1, as truncated by the system.
const FAILED: End = End::DialectCode(255);

/// Error that prevents or ends a test.
#[derive(Debug, thiserror::Error)]
pub enum TestError {
    /// The host name cannot be resolved.
    #[error("Netperf could not resolve {0} as a host name")]
    Resolve(String),
    #[error(
        "establish control: are you sure there is a netserver listening on {host} at port {port}?\nestablish_control could \
         not establish the control connection to {host} port {port}: {source}"
    )]
    Control { host: String, port: u16, source: ConnectError },
    /// The other end closed the control connection.
    #[error("the control connection was closed before the test was over")]
    Closed,
    /// The other end did not answer in time.
    #[error("the other end did not answer in time: {0} expected")]
    Silent(&'static str),
    /// The server refused the test with this error number.
    #[error("netserver refused the test: remote error {0}: {source}", source = std::io::Error::from_raw_os_error(*.0))]
    Remote(i32),
    /// The message is malformed or out of range.
    #[error("unexpected message from the other end: {0}")]
    Message(String),
    /// The server does not support the client's request.
    #[error(transparent)]
    Refused(#[from] netperf::Refused),
    /// Error of the control connection.
    #[error("control connection: {0}")]
    Io(#[from] std::io::Error),
    #[error("data connection: {0}")]
    Data(#[from] ConnectError),
    /// An option of the data connection could not be set.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A data connection failed during the transfer.
    #[error("data connection: {0}")]
    Flow(String),
    /// The file of `-F` cannot be read.
    #[error("-F {path}: {source}")]
    File { path: String, source: std::io::Error },
    /// The file of `-F` is too short, or is not a regular file.
    #[error("-F {0}: a file of at least {1} bytes, as many as -m says, is needed")]
    FileSize(String, u32),
    /// The CPU of `-T` cannot be used.
    #[error("-T {processor}: {source}")]
    Processor {
        /// Number of the CPU, from 0.
        processor: u32,
        source: CpuError,
    },
    /// A size is out of range.
    #[error("{0} must be from 1 to {1} bytes")]
    Size(&'static str, u32),
}

/// Runs `netperf`. As in netperf, the exit code is 0 after success, 1 for an invalid command line,
/// and 255 without a test.
pub fn as_netperf(call: &ToolCall<'_>) -> Result<End, Stopped> {
    dashes::hint(call);
    match netperf::read(call.called, call.words) {
        Ok(Invocation::Help) => Ok(printed(&help(false))),
        Ok(Invocation::Version) => Ok(printed(&format!("Netperf version {VERSION}\n"))),
        Ok(Invocation::Names) => {
            let names: Vec<&str> = SELECTORS.iter().map(|row| row.0).collect();
            Ok(printed(&format!("OUTPUT_NONE,{},OUTPUT_END\n", names.join(","))))
        }
        Ok(Invocation::Run(settings)) => {
            say_ignored(&settings.ignored);
            say_poll(settings.socket.poll_us);
            settings.notices.iter().for_each(|notice| print(notice));
            match client::run(&settings) {
                Ok(()) => Ok(End::Done),
                Err(error) => {
                    error_line!("{error}");
                    // netperf has another exit code if the data connection is refused.
                    Ok(if settings.control.direct.is_some() { End::DialectFailed } else { FAILED })
                }
            }
        }
        Err(error) => Ok(complain("netperf", &error)),
    }
}

/// Runs `netserver` until it is terminated.
pub fn as_netserver(call: &ToolCall<'_>) -> Result<End, Stopped> {
    dashes::hint(call);
    match netperf::read_server(call.words) {
        Ok(Invocation::Help | Invocation::Names) => Ok(printed(&help(true))),
        Ok(Invocation::Version) => Ok(printed(&format!("Netperf version {VERSION}\n"))),
        Ok(Invocation::Run(settings)) => {
            say_ignored(&settings.ignored);
            say_poll(settings.poll_us);
            server::serve(&settings)
        }
        Err(error) => Ok(complain("netserver", &error)),
    }
}

fn printed(text: &str) -> End {
    print(text);
    End::Done
}

fn complain(tool: &str, error: &NetperfUsageError) -> End {
    match error {
        NetperfUsageError::NoUsualPort(_) => {
            print(&format!("{error}\n"));
            return FAILED;
        }
        NetperfUsageError::Test(_) => print(&format!("{error}\n")),
        _ => error_text!("{tool}: {error}\nTry `{tool} -h'.\n"),
    }
    End::DialectFailed
}

fn say_ignored(ignored: &[(char, &'static str)]) {
    for (letter, why) in ignored {
        error_line!("plumb: option -{letter} has no effect: {why}");
    }
}

/// Prints a note, because such round trips are faster than those of a program that sleeps.
fn say_poll(us: u32) {
    if us > 0 {
        error_line!("plumb: round trips poll for data for at most {us} µs before they sleep");
    }
}

/// Resolves a host, optionally for one address family.
fn resolve(host: &str, port: u16, is_v6: Option<bool>) -> Result<Vec<SocketAddr>, TestError> {
    let found = (host, port).to_socket_addrs().map(Iterator::collect::<Vec<_>>).unwrap_or_default();
    let found: Vec<SocketAddr> = found.into_iter().filter(|at| is_v6.is_none_or(|six| at.is_ipv6() == six)).collect();
    if found.is_empty() { Err(TestError::Resolve(host.to_owned())) } else { Ok(found) }
}

/// Returns the unspecified address of a family.
fn any(is_v6: bool) -> IpAddr {
    if is_v6 { std::net::Ipv6Addr::UNSPECIFIED.into() } else { std::net::Ipv4Addr::UNSPECIFIED.into() }
}

/// Returns the buffer sizes of a socket: send, receive.
fn buffers(socket: impl AsFd) -> [u32; 2] {
    plumb_engine::net::buffers(socket.as_fd()).map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX))
}

/// CPU time of all CPUs: total, idle, and its parts. Source: proc(5), /proc/stat.
#[derive(Debug, Clone, Copy, Default)]
struct Ticks {
    all: [f64; 8],
    count: u32,
}

impl Ticks {
    fn now() -> Ticks {
        Ticks::parse(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn parse(text: &str) -> Ticks {
        let mut ticks = Ticks::default();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("cpu ") {
                for (tick, word) in ticks.all.iter_mut().zip(rest.split_ascii_whitespace()) {
                    *tick = word.parse().unwrap_or(0.0);
                }
            } else if line.starts_with("cpu") {
                ticks.count += 1;
            }
        }
        ticks
    }

    /// Returns the CPU utilization since `before`.
    fn since(&self, before: &Ticks) -> Cpu {
        let mut spent = [0.0; 8];
        for (at, spent) in spent.iter_mut().enumerate() {
            *spent = (self.all[at] - before.all[at]).max(0.0);
        }
        let total: f64 = spent.iter().sum();
        let percent = |ticks: f64| 100.0 * ticks / total.max(1.0);
        let [user, nice, system, idle, wait, interrupts, soft, _] = spent;
        Cpu {
            busy: percent(total - idle - wait).clamp(0.0, 100.0),
            parts: [user + nice, system, wait, interrupts, soft].map(percent),
            count: self.count,
        }
    }
}

/// Returns `true` if the flows have moved the number of bytes or round trips that ends the test.
fn is_over(length: Length, flows: &Flows, by_ops: bool) -> bool {
    let Length::Count(count) = length else { return false };
    let done = flows.counts(0);
    u64::from(count) <= if by_ops { done.ops } else { done.bytes }
}

/// Creates the error for an unexpected message.
fn unexpected(message: &Message) -> TestError {
    TestError::Message(format!("type {}", message.number()))
}

/// Returns the host name or address for titles.
fn host_of(settings: &NetperfSettings) -> &str {
    settings.data.hosts.remote.as_deref().unwrap_or(&settings.control.host)
}

#[cfg(test)]
mod tests {
    use super::*;

    // By hand: 10 of 40 ticks idle or waiting, so 75 % busy; 2 processors.
    #[test]
    fn cpu_utilization_follows_from_proc_stat() {
        let before = Ticks::parse("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0\ncpu1 0\n");
        let cpu = Ticks::parse("cpu  10 2 8 8 2 4 6 0 0 0\ncpu0 1\ncpu1 1\nintr 5\n").since(&before);
        assert_eq!((cpu.busy, cpu.count), (75.0, 2));
        assert_eq!(cpu.parts, [30.0, 20.0, 5.0, 10.0, 15.0]);
        assert_eq!(Ticks::parse("").since(&Ticks::parse("nonsense\ncpu x y\n")).busy, 0.0);
    }
}
