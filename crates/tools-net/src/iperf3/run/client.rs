//! The client: connects, sends the parameters, and decides when the test ends.

use super::control::{Control, PATIENCE, PURPOSE, TestError};
use super::output::Out;
use super::running::{Running, blocks_of};
use super::{Local, named, start_of};
use plumb_engine::net::{
    Flow, Flows, LocalAddress, SocketOptions, connect_tcp, datagram_socket, has_sctp, segment_bytes,
};
use plumb_engine::signals::StopFlag;
use plumb_tls::{Channel, Trust, random};
use plumb_tools_net::iperf3::{
    COOKIE_BYTES, COOKIE_LETTERS, Ending, Opened, PARAMS_BYTES_MAX, Params, RESULTS_BYTES_MAX, Report, Results, State,
    UDP_HELLO, UDP_REPLIES, Unit, flow,
};
use plumb_workload::net::Passing;
use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Longest wait without a pending event.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Timeouts for blocks to arrive, and for the server to read them.
const ARRIVAL_PATIENCE: Duration = Duration::from_secs(2);
const READ_PATIENCE: Duration = Duration::from_millis(20);

/// Number of times that an unanswered first datagram is sent.
const HELLOS: u32 = 10;

/// The server, and how to reach it.
#[derive(Debug, Clone)]
pub struct Place {
    pub host: String,
    /// Port of the control connection, and of the streams.
    pub port: u16,
    /// Address of a server that is not on the Internet.
    pub local_address: Option<LocalAddress>,
    /// Local address.
    pub bind: Option<IpAddr>,
    /// `true` for IPv6 only, `false` for IPv4 only.
    pub is_v6: Option<bool>,
    /// Local port of the first stream.
    pub client_port: Option<u16>,
    pub timeout: Option<Duration>,
    /// Proof in TLS that the server must give. `None`: any server, in plain text.
    pub trust: Option<Trust>,
    /// Settings of this end that are not sent to the server.
    pub local: Local,
}

#[derive(Debug, Clone, Copy)]
pub struct OutputStyle {
    /// Unit of rates.
    pub unit: Unit,
    pub verbose: bool,
    /// Length of an interval, seconds; 0 prints none.
    pub interval_s: f64,
}

pub struct Tested {
    /// The results of both ends.
    pub report: Report,
    pub ending: Ending,
    pub times: plumb_result::Histogram,
    /// Datagrams of round trips without a response.
    pub lost: u64,
    /// Zero-copy calls: those that the kernel copied anyway, and all.
    pub copied: [u64; 2],
    /// Duration of the test, seconds.
    pub seconds: f64,
    /// Time to connect, ns.
    pub connect_ns: u64,
    /// Whether a signal ended the test early.
    pub interrupted: bool,
}

impl Place {
    /// Returns the local address, with a given or an arbitrary port.
    fn from(&self, port: u16, to: &SocketAddr) -> Option<SocketAddr> {
        let any: IpAddr =
            if to.is_ipv6() { std::net::Ipv6Addr::UNSPECIFIED.into() } else { std::net::Ipv4Addr::UNSPECIFIED.into() };
        (self.bind.is_some() || port > 0).then(|| SocketAddr::new(self.bind.unwrap_or(any), port))
    }

    /// Connects to the first address that answers. Also returns the time that TCP took, ns.
    fn connect(&self) -> Result<(Control, SocketAddr, u64), TestError> {
        let failed = |error: &dyn std::fmt::Display| TestError::Connect(plain(&error.to_string()));
        if let Some(address) = &self.local_address {
            let began = Instant::now();
            let socket = address.connect().map_err(|error| failed(&error))?;
            let connect_ns = began.elapsed().as_nanos() as u64;
            let control = secured(Control::new(socket.into(), self.local.keep_alive)?, self.trust.as_ref())?;
            return Ok((control, SocketAddr::from(([0; 4], 0)), connect_ns));
        }
        let all = (self.host.as_str(), self.port).to_socket_addrs().map_err(|error| failed(&error))?;
        let family = self.bind.map(|bind| bind.is_ipv6()).or(self.is_v6);
        let timeout = self.timeout.unwrap_or(Duration::from_secs(120));
        let mut last = TestError::Connect("no address of this kind".to_owned());
        for to in all.filter(|to| family.is_none_or(|v6| to.is_ipv6() == v6)) {
            let began = Instant::now();
            match connect_tcp(to, self.from(0, &to), &self.local.plain(), timeout) {
                Ok(socket) => {
                    let connect_ns = began.elapsed().as_nanos() as u64;
                    let control = Control::new(socket, self.local.keep_alive)?;
                    return Ok((secured(control, self.trust.as_ref())?, to, connect_ns));
                }
                Err(error) => last = failed(&error),
            }
        }
        Err(last)
    }
}

/// Returns a system error's text without its number.
fn plain(text: &str) -> String {
    text.split(" (os error").next().unwrap_or(text).to_owned()
}

/// Starts TLS if the server has to authenticate.
fn secured(control: Control, trust: Option<&Trust>) -> Result<Control, TestError> {
    match (control, trust) {
        (Control::Plain(socket), Some(trust)) => Ok(Control::Secure(Channel::connect(socket, trust, PURPOSE)?)),
        (control, _) => Ok(control),
    }
}

fn cookie() -> std::io::Result<[u8; COOKIE_BYTES]> {
    let mut cookie = [0; COOKIE_BYTES];
    let letters = &mut cookie[..COOKIE_BYTES - 1];
    random(letters)?;
    for letter in letters {
        *letter = COOKIE_LETTERS[usize::from(*letter % 32)];
    }
    Ok(cookie)
}

/// A test with connected streams and a ready server.
pub struct Begun {
    control: Control,
    /// The parameters that the server received.
    pub params: Params,
    /// Connections, in the order of the streams.
    pub flows: Vec<Flow>,
    /// The streams, as printed.
    pub streams: Vec<Opened>,
    cookie: [u8; COOKIE_BYTES],
    segment: Option<u32>,
    /// Time to connect, ns.
    pub connect_ns: u64,
}

impl Begun {
    /// Ends the test and exchanges the results of both ends.
    pub fn exchange(&mut self, own: &Results) -> Result<Results, TestError> {
        // A state that arrived in the meantime is the reason for the server's exit.
        if let Some(state) = self.control.has_state()? {
            return Err(TestError::Message(format!("{state:?} during the transfer")));
        }
        exchange(&mut self.control, own)
    }
}

/// Connects to a server and begins a test.
pub fn begin(place: &Place, params: &Params, out: &mut Out) -> Result<Begun, TestError> {
    if params.transport.sctp {
        has_sctp().map_err(TestError::NoSctp)?;
    }
    out.text(&format!("Connecting to host {}, port {}\n", place.host, place.port));
    let (mut control, to, connect_ns) = place.connect()?;
    let mut params = Params { is_plumb: true, ..params.clone() };
    let cookie = cookie()?;
    control.send(&cookie)?;
    control.expect(State::ParamExchange, "the start of the exchange of parameters")?;
    // The segment size is known once the first segment was acknowledged.
    let segment = segment_bytes(control.socket().as_fd());
    if params.flow.block == 0 {
        let datagram = segment.unwrap_or(1460).clamp(16, 65507);
        params.flow.block = params.protocol([128 << 10, datagram, 64 << 10]);
    }
    let json = params.json();
    if json.line().len() > PARAMS_BYTES_MAX {
        return Err(TestError::Unable("title and extra data are too long"));
    }
    control.send_json(&json)?;
    let until = Instant::now() + PATIENCE;
    let mut state = control.state(until, "the request for streams")?;
    let is_plumb = state == State::PlumbServer;
    let mut port = [0; 2];
    if is_plumb {
        if params.trips.connects {
            control.read(&mut port, until, "the port of connections")?;
        }
        state = control.state(until, "the request for streams")?;
    }
    if state != State::CreateStreams {
        return Err(TestError::Message(format!("{state:?} instead of a request for streams")));
    }
    if params.trips.response > 0 && !is_plumb {
        return Err(TestError::Unable("the server does not answer round trips; start `plumb net --serve` there"));
    }
    if params.flow.reverse {
        out.text(&format!("Reverse mode, remote host {} is sending\n", place.host));
    }
    let passing =
        if params.flow.reverse { (params.passing.tx, Passing::Lend) } else { (params.passing.rx, Passing::Drop) };
    if !is_plumb && passing.0 != Passing::Copy && passing.0 != passing.1 {
        return Err(TestError::Unable(
            "the server is iperf3 and passes bytes by copying; start `plumb net --serve` there",
        ));
    }
    let (flows, streams) = match params.trips.connects {
        true => to_connect(&params, SocketAddr::new(to.ip(), u16::from_be_bytes(port)))?,
        false => connect_streams(place, &params, &cookie, to, is_plumb)?,
    };
    control.expect(State::TestStart, "the start of the test")?;
    control.expect(State::TestRunning, "the start of data")?;
    Ok(Begun { control, params, flows, streams, cookie, segment, connect_ns })
}

/// Runs a whole test against a server.
pub fn test(
    place: &Place,
    params: &Params,
    look: OutputStyle,
    out: &mut Out,
    stop: StopFlag,
) -> Result<Tested, TestError> {
    let Begun { mut control, params, flows, streams, cookie, segment, connect_ns } = begin(place, params, out)?;
    let control = &mut control;
    let start = start_of(&cookie, (place.host.clone(), place.port), segment, flows.first());
    if look.verbose {
        out.text(&verbose_head(&params, &start, segment));
    }
    let report = Report {
        streams,
        is_server: false,
        unit: look.unit,
        verbose: look.verbose,
        interval_s: look.interval_s,
        params,
    };
    out.opened(&report, &start);
    let flows = Flows::new(flows).map_err(|error| TestError::Stream(error.to_string()))?;
    let mut running = Running::start(&report, flows);
    let ended = wait(&mut running, control, out, place.local.receive, stop);
    running.ends_now();
    if ended.is_ok() && (blocks_of(&report.params).is_some() || place.local.file.is_some()) {
        await_arrival(&running);
    }
    running.stop(out);
    let interrupted = matches!(ended, Err(TestError::Interrupted(_)));
    let mut ending = match ended {
        Ok(()) => {
            let other = exchange(control, &running.results())?;
            let mut ending = running.ending(Some(&other));
            ending.output = other.output;
            ending
        }
        Err(TestError::Interrupted(_)) => {
            // A failure means that the server is gone already.
            let _ = control.say(State::ClientTerminate);
            running.ending(None)
        }
        Err(error) => return Err(error),
    };
    ending.file = place.local.file_facts(&report.params);
    let (mut times, mut lost) = (running.flows.times(0), running.flows.counts(0).datagrams.lost);
    for number in 1..report.streams.len() {
        times.merge(&running.flows.times(number));
        lost += running.flows.counts(number).datagrams.lost;
    }
    let (seconds, copied) = (running.seconds(), running.flows.copied());
    drop(running);
    if !report.params.report.get_output {
        ending.output = None;
    }
    Ok(Tested { report, ending, times, lost, copied, seconds, connect_ns, interrupted })
}

fn verbose_head(params: &Params, start: &plumb_tools_net::iperf3::Start, segment: Option<u32>) -> String {
    let mut text = format!("      Cookie: {}\n", start.cookie);
    match (params.transport.udp || params.transport.sctp, params.socket.segment) {
        (true, _) => {}
        (false, Some(bytes)) => text += &format!("      TCP MSS: {bytes}\n"),
        (false, None) => text += &format!("      TCP MSS: {} (default)\n", segment.unwrap_or(0)),
    }
    if let Some(rate) = params.pace.rate.filter(|&rate| rate > 0) {
        text += &format!("      Target Bitrate: {rate}\n");
    }
    text
}

/// Connects the streams in the order that both ends expect: the client's own direction first.
fn connect_streams(
    place: &Place,
    params: &Params,
    cookie: &[u8],
    to: SocketAddr,
    is_plumb: bool,
) -> Result<(Vec<Flow>, Vec<Opened>), TestError> {
    let failed = |error: &dyn std::fmt::Display| TestError::Stream(plain(&error.to_string()));
    let options = place.local.options(params);
    let directions: &[bool] = if params.flow.bidir { &[true, false] } else { &[!params.flow.reverse] };
    let all = directions.iter().flat_map(|&sends| (0..params.flow.streams).map(move |_| sends));
    let (mut flows, mut opened) = (Vec::new(), Vec::new());
    for (number, sends) in (0u16..).zip(all) {
        let from = place.from(place.client_port.map_or(0, |port| port.saturating_add(number)), &to);
        let socket: OwnedFd = if let Some(address) = &place.local_address {
            let mut socket = TcpStream::from(address.connect().map_err(|error| failed(&error))?);
            socket.write_all(cookie).map_err(|error| failed(&error))?;
            opened.push(named(socket.local_addr(), socket.peer_addr(), socket.as_raw_fd(), sends));
            socket.into()
        } else if params.transport.udp {
            let socket = datagram_socket(Some(to), from, &options).map_err(|error| failed(&error))?;
            greet(&socket).map_err(|error| failed(&error))?;
            opened.push(named(socket.local_addr(), Ok(to), socket.as_raw_fd(), sends));
            socket.into()
        } else {
            let mut socket = connect_tcp(to, from, &options, PATIENCE).map_err(|error| failed(&error))?;
            socket.write_all(cookie).map_err(|error| failed(&error))?;
            opened.push(named(socket.local_addr(), Ok(to), socket.as_raw_fd(), sends));
            socket.into()
        };
        let file = place.local.open_file(params, sends)?;
        flows.push(Flow { socket, other: None, file, work: flow(params, sends, is_plumb) });
    }
    Ok((flows, opened))
}

/// Creates flows that connect repeatedly by themselves. Their own sockets stay unused.
fn to_connect(params: &Params, to: SocketAddr) -> Result<(Vec<Flow>, Vec<Opened>), TestError> {
    let (mut flows, mut opened) = (Vec::new(), Vec::new());
    for _ in 0..params.flow.streams {
        let socket = datagram_socket(None, None, &SocketOptions::default())
            .map_err(|error| TestError::Stream(plain(&error.to_string())))?;
        opened.push(named(socket.local_addr(), Ok(to), socket.as_raw_fd(), true));
        flows.push(Flow { socket: socket.into(), other: Some(to), file: None, work: flow(params, true, true) });
    }
    Ok((flows, opened))
}

/// Announces a stream of datagrams to the server. Other datagrams may arrive before the reply.
fn greet(socket: &std::net::UdpSocket) -> std::io::Result<()> {
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut last = std::io::Error::from(std::io::ErrorKind::TimedOut);
    for _ in 0..HELLOS {
        socket.send(&UDP_HELLO)?;
        let mut reply = [0; 64];
        for _ in 0..8 {
            match socket.recv(&mut reply) {
                Ok(4) if UDP_REPLIES.iter().any(|known| reply[..4] == *known) => return Ok(()),
                // Data that overtook the reply.
                Ok(_) => {}
                Err(error) => {
                    last = error;
                    break;
                }
            }
        }
    }
    Err(last)
}

/// Waits until the test is over.
fn wait(
    running: &mut Running<'_>,
    control: &mut Control,
    out: &mut Out,
    receive: Duration,
    stop: StopFlag,
) -> Result<(), TestError> {
    let time_s = running.report().params.end.time_s.unwrap_or(0);
    loop {
        let end = (time_s > 0 && !running.omits()).then(|| running.ends_at(time_s));
        let next = [running.next(), end].into_iter().flatten().min();
        let left = next.map_or(POLL_INTERVAL, |at| at.saturating_duration_since(Instant::now()).min(POLL_INTERVAL));
        if !left.is_zero() {
            running.flows.wait(&[control.socket().as_fd()], left);
        }
        if stop.requested() {
            return Err(TestError::Interrupted("client"));
        }
        if let Some(state) = control.has_state()? {
            return Err(TestError::Message(format!("{state:?} during the transfer")));
        }
        if let Some(failure) = running.flows.failure() {
            return Err(TestError::Flow(failure));
        }
        if running.flows.is_done() || end.is_some_and(|at| Instant::now() >= at) {
            return Ok(());
        }
        if running.is_idle(receive) {
            return Err(TestError::Idle);
        }
        running.poll(out);
    }
}

/// Waits until the last blocks have arrived. An iperf3 server drops blocks that arrive after the end of the test.
fn await_arrival(running: &Running<'_>) {
    let until = Instant::now() + ARRIVAL_PATIENCE;
    while !running.flows.is_acknowledged() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    // The server still has to read the acknowledged data.
    std::thread::sleep(READ_PATIENCE);
}

/// Ends the test and exchanges the results of both ends.
fn exchange(control: &mut Control, own: &Results) -> Result<Results, TestError> {
    control.say(State::TestEnd)?;
    control.expect(State::ExchangeResults, "the exchange of results")?;
    control.send_json(&own.json())?;
    let bytes = control.read_json(RESULTS_BYTES_MAX, "results")?;
    let other = Results::read(&bytes).ok_or_else(|| TestError::Message("results that cannot be read".to_owned()))?;
    control.expect(State::DisplayResults, "the end of the test")?;
    control.say(State::Done)?;
    Ok(other)
}
