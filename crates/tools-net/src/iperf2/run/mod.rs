//! `plumb as iperf`: client and server of a small part of iperf2. Its streams use the common network engine; iperf2
//! has no control connection.

mod client;
mod running;
mod server;

use plumb_cli::background;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{error_line, print};
use plumb_engine::net::{ConnectError, SocketOptions, buffers};
use plumb_engine::signals;
use plumb_tools_net::iperf2::{self, Invocation, Iperf2Settings, Met, Stream, Test, VERSION, help};
use plumb_tools_net::iperf3::bytes_text;
use plumb_tools_run::{ToolCall, dashes};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Error that prevents or ends a test.
#[derive(Debug, thiserror::Error)]
enum TestError {
    /// A connection failed, or no port is free.
    #[error("{what}: {source}")]
    Connect {
        /// The attempted action.
        what: &'static str,
        source: ConnectError,
    },
    /// The host name cannot be resolved.
    #[error("{host}: {why}")]
    Host { host: String, why: String },
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The server did not connect back for -d or -r.
    #[error("the server did not connect back to port {0}; if a firewall is in between, use -R or --full-duplex")]
    NotBack(u16),
    /// A stream failed during the transfer.
    #[error("data stream: {0}")]
    Flow(String),
}

/// Runs `iperf`. As in iperf, the exit code is 0 after success, else 1.
pub fn as_iperf(call: &ToolCall<'_>) -> Result<End, Stopped> {
    dashes::hint(call);
    let settings = match iperf2::read(call.words) {
        Ok(Invocation::Help) => return Ok(printed(&help())),
        Ok(Invocation::Version) => return Ok(printed(&format!("iperf version {VERSION} (Plumb) pthreads\n"))),
        Ok(Invocation::Run(settings)) => settings,
        Err(error) => {
            error_line!("iperf: {error}\nTry `iperf --help' for more information.");
            return Ok(End::DialectFailed);
        }
    };
    for (name, why) in &settings.ignored {
        error_line!("plumb: option --{name} has no effect: {why}");
    }
    let bind = settings.bind.as_deref().map(str::parse::<IpAddr>);
    let Ok(bind) = bind.transpose() else {
        error_line!("iperf: -B must be an address, such as 192.0.2.1 or ::");
        return Ok(End::DialectFailed);
    };
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    let done = match &settings.host {
        Some(host) => client::run(&settings, host, bind, stop),
        None if settings.daemon && !background::is_here() => match server::check(&settings, bind) {
            Ok(()) => {
                error_line!("Running Iperf Server as a daemon");
                return background::start_again().map(|()| End::Done);
            }
            Err(error) => Err(error),
        },
        None => {
            background::leave_session();
            server::serve(&settings, bind, stop)
        }
    };
    Ok(done.map_or_else(
        |error| {
            error_line!("iperf: {error}");
            End::DialectFailed
        },
        |()| End::Done,
    ))
}

fn printed(text: &str) -> End {
    print(text);
    End::Done
}

/// Returns the options of sockets.
fn options(test: &Test) -> SocketOptions {
    SocketOptions {
        no_delay: test.no_delay,
        window: test.window,
        segment: test.segment,
        service: Some(test.service).filter(|&service| service > 0),
        congestion: test.congestion.clone(),
        large_receive_buffer: test.udp,
        ..SocketOptions::default()
    }
}

/// Returns the monotonic clock, µs.
fn now_us() -> u64 {
    let clock = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    clock.tv_sec as u64 * 1_000_000 + clock.tv_nsec as u64 / 1000
}

/// Returns the difference between the wall clock and the monotonic clock, µs.
fn ahead_us() -> u64 {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    (wall.as_micros() as u64).saturating_sub(now_us())
}

fn ends(here: SocketAddr, there: SocketAddr) -> [(String, u16); 2] {
    [here, there].map(|end| (end.ip().to_canonical().to_string(), end.port()))
}

/// Returns a connected stream for the output, and the facts about it.
fn met(number: u64, here: SocketAddr, there: SocketAddr, met: Met) -> (Stream, Met) {
    let link = plumb_probe::link::of_address(here.ip().to_canonical());
    let device = link.map(|link| link.name).unwrap_or_default();
    let at = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S (UTC)").to_string();
    (Stream { number, sends: false, is_back: false, ends: ends(here, there) }, Met { device, at, ..met })
}

/// Returns a program's banner, with the buffer size of its first socket.
fn banner(settings: &Iperf2Settings, verb: &str, streams: Option<u32>, socket: BorrowedFd<'_>) -> String {
    let Test { udp, block, window, rate, service, no_delay, bounces, .. } = &settings.test;
    let protocol = if *udp { "UDP" } else { "TCP" };
    let mut text = format!("{verb} {protocol} port {}", settings.port);
    if settings.enhanced {
        text += &format!(" with pid {}", std::process::id());
        if let Some(streams) = streams {
            text += &format!(" ({streams} flows)");
        }
    }
    text.push('\n');
    if settings.enhanced && streams.is_some() {
        if !udp {
            text += &format!("Write buffer size: {block:4} Byte\n");
        }
        if let Some((count, period_s)) = bounces {
            if *period_s > 0.0 {
                let each = format!("{block:4} Byte writes {count} times every {period_s:.2} second(s)");
                text += &format!("Bursting: {each} (each has its own start)\n");
            }
            text += &format!("Bounce-back test (size={block:4} Byte) (server hold req=0 usecs)\n");
        }
        let nagle = match (*no_delay, bounces) {
            (true, Some(_)) => "and nodelay (Nagle off)",
            (true, None) => "(Nagle off)",
            (false, _) => "(Nagle on)",
        };
        text += &format!("TOS set to 0x{service:x} {nagle}\n");
    }
    if let Some(rate) = rate.filter(|_| *udp && streams.is_some()) {
        let gap_us = f64::from(*block) * 8.0 / rate * 1e6;
        text += &format!("Sending {block} byte datagrams, IPG target: {gap_us:.2} us (each has its own start)\n");
    }
    if let Some(bins) = settings.test.bins {
        let width_ms = f64::from(bins.width_us) / 1e3;
        let bins = format!("bin-width={width_ms:.3} ms, bins={}", bins.count);
        text += &format!("Enabled receive histograms {bins} (clients should use --trip-times)\n");
    }
    let [sends, receives] = buffers(socket);
    let room = bytes_text(if streams.is_some() { sends } else { receives });
    let name = if *udp { "UDP buffer size" } else { "TCP window size" };
    let default = if window.is_none() { " (default)" } else { "" };
    text + &format!("{name}: {}{default}\n", room.trim_end_matches('s'))
}
