//! The server: many clients at once on one port. Connections are told apart by their cookies, and datagrams by the address of
//! a control connection that waits for some; nobody else is ever sent anything.

use super::control::{Control, TestError};
use super::output::{Out, Paper};
use super::running::{Running, blocks_of};
use super::{named, options_of, start_of, system};
use crate::exit::{End, Stopped};
use crate::output::error_line;
use plumb_dialects::iperf3::{
    COOKIE_BYTES, Json, Limits, Output, PARAMS_BYTES_MAX, Params, RESULTS_BYTES_MAX, Refused, Report, Results,
    Server as Asked, Settings, State, flow, udp_reply,
};
use plumb_engine::net::{Flow, Flows, SocketOptions, datagram_socket};
use plumb_engine::signals::StopFlag;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Tests at a time, and those of one address.
const TESTS_MAX: usize = 64;
const TESTS_OF_ADDRESS_MAX: usize = 16;

/// Connections whose cookie has not come yet.
const STRANGERS_MAX: usize = 128;

/// Streams of all tests together: a thread and its buffers each.
const STREAMS_MAX: usize = 1024;

/// A cookie must come within this time, and parameters and streams within that.
const COOKIE_PATIENCE: Duration = Duration::from_secs(5);
const SETUP_PATIENCE: Duration = Duration::from_secs(10);

/// A test may last this much longer than its client said.
const GRACE: Duration = Duration::from_secs(40);

/// How often is looked whether the server is to end.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// What came last before data that was sent is given up.
const DRAIN_PATIENCE: Duration = Duration::from_secs(2);

/// A data connection, in the order in which they were accepted.
struct Arrival {
    order: u64,
    socket: OwnedFd,
    local: std::io::Result<SocketAddr>,
    remote: SocketAddr,
}

/// A test that waits for streams.
struct Waiting {
    cookie: [u8; COOKIE_BYTES],
    peer: IpAddr,
    udp: bool,
    options: SocketOptions,
    streams: Sender<Arrival>,
}

#[derive(Default)]
struct Registry {
    waiting: Vec<Waiting>,
    /// Addresses of clients, one for each test.
    tests: Vec<IpAddr>,
    streams: usize,
    /// Tests that were begun, for the banner.
    count: u64,
    /// The test whose lines are printed as they come.
    foreground: Option<u64>,
}

/// What all connections share.
struct Shared {
    registry: Mutex<Registry>,
    strangers: AtomicUsize,
    settings: Settings,
    limits: Limits,
    one_off: bool,
    /// The test of a server that makes only one is over.
    over: AtomicBool,
    paper: Paper,
    stop: StopFlag,
    port: u16,
}

impl Shared {
    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ends(&self) -> bool {
        self.stop.requested() || self.over.load(Acquire)
    }

    fn banner(&self, number: u64) {
        if self.settings.output == Output::Text {
            let line = "-----------------------------------------------------------\n";
            self.paper.write(&format!("{line}Server listening on {} (test #{number})\n{line}", self.port));
        }
    }

    /// Prints the text of a test: at once where it is the only one, else in one piece at its end.
    fn show(&self, test: u64, held: &mut String, text: &str) {
        let mut registry = self.registry();
        if *registry.foreground.get_or_insert(test) == test {
            drop(registry);
            self.paper.write(&(std::mem::take(held) + text));
        } else {
            held.push_str(text);
        }
    }
}

/// Serves until a signal comes.
pub fn serve(
    settings: &Settings,
    asked: &Asked,
    bind: Option<IpAddr>,
    paper: &Paper,
    stop: StopFlag,
) -> Result<End, Stopped> {
    let sockets = match listen(settings, bind) {
        Ok(sockets) => sockets,
        Err(error) => {
            error_line!("iperf3: error - unable to start listener for connections: {error}");
            return Ok(End::DialectFailed);
        }
    };
    if bind.is_none() {
        error_line!("plumb: listening on loopback only; use -B 0.0.0.0 or -B :: to serve other hosts");
    }
    let port = sockets.tcp.first().and_then(|first| first.local_addr().ok()).map_or(settings.port, |at| at.port());
    let shared = Arc::new(Shared {
        registry: Mutex::default(),
        strangers: AtomicUsize::new(0),
        limits: Limits { rate: asked.rate_limit, time_s: asked.time_limit.unwrap_or(86400) },
        one_off: asked.one_off,
        settings: settings.clone(),
        over: AtomicBool::new(false),
        paper: paper.clone(),
        stop,
        port,
    });
    shared.banner(1);
    let mut order = 0;
    while !shared.ends() {
        for socket in sockets.ready() {
            match socket {
                Ready::Tcp(listener) => {
                    while let Ok((stream, peer)) = listener.accept() {
                        order += 1;
                        meet(&shared, stream, peer, order);
                    }
                }
                Ready::Udp(socket) => greet(&shared, socket, &mut order),
            }
        }
    }
    // Tests that go on say goodbye to their clients.
    let until = Instant::now() + SETUP_PATIENCE;
    while !shared.registry().tests.is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(End::Done)
}

/// Where clients come.
struct Sockets {
    tcp: Vec<TcpListener>,
    udp: Vec<UdpSocket>,
}

enum Ready<'a> {
    Tcp(&'a TcpListener),
    Udp(&'a UdpSocket),
}

fn listen(settings: &Settings, bind: Option<IpAddr>) -> std::io::Result<Sockets> {
    let (four, six) = (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST));
    let addresses = match (bind, settings.is_v6) {
        (Some(bind), _) => vec![bind],
        (None, Some(true)) => vec![six],
        (None, Some(false)) => vec![four],
        (None, None) => vec![four, six],
    };
    let mut sockets = Sockets { tcp: Vec::new(), udp: Vec::new() };
    let options = SocketOptions { shares_port: true, ..SocketOptions::default() };
    for (number, address) in addresses.into_iter().enumerate() {
        let at = SocketAddr::new(address, settings.port);
        let opened = TcpListener::bind(at).and_then(|tcp| {
            tcp.set_nonblocking(true)?;
            let udp = datagram_socket(None, Some(at), &options).map_err(std::io::Error::other)?;
            udp.set_nonblocking(true)?;
            Ok((tcp, udp))
        });
        match opened {
            Ok((tcp, udp)) => {
                sockets.tcp.push(tcp);
                sockets.udp.push(udp);
            }
            // A machine without IPv6 has one loopback.
            Err(_) if number > 0 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sockets)
}

impl Sockets {
    /// Those at which somebody is, after a while.
    fn ready(&self) -> Vec<Ready<'_>> {
        let fds = self.tcp.iter().map(AsFd::as_fd).chain(self.udp.iter().map(AsFd::as_fd));
        let mut watched: Vec<PollFd<'_>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let longest = Timespec { tv_sec: 0, tv_nsec: LOOK_AGAIN.subsec_nanos().into() };
        // A signal is another reason to look.
        let _ = poll(&mut watched, Some(&longest));
        let all = self.tcp.iter().map(Ready::Tcp).chain(self.udp.iter().map(Ready::Udp));
        all.zip(&watched).filter(|(_, watched)| !watched.revents().is_empty()).map(|(socket, _)| socket).collect()
    }
}

/// A connection came: of a new client, or a stream of one that is known.
fn meet(shared: &Arc<Shared>, stream: TcpStream, peer: SocketAddr, order: u64) {
    if shared.strangers.fetch_add(1, AcqRel) >= STRANGERS_MAX {
        shared.strangers.fetch_sub(1, AcqRel);
        return;
    }
    let other = Arc::clone(shared);
    let run = move || {
        let shared = &other;
        let begun = stream.set_nonblocking(false).and_then(|()| Control::new(stream));
        let mut cookie = [0; COOKIE_BYTES];
        let until = Instant::now() + COOKIE_PATIENCE;
        let met = begun.map_err(TestError::from).and_then(|mut control| {
            control.read(&mut cookie, until, "a cookie")?;
            Ok(control)
        });
        shared.strangers.fetch_sub(1, AcqRel);
        // Whoever sends no cookie is not heard of.
        let Ok(mut control) = met else { return };
        let known = {
            let registry = shared.registry();
            let mut all = registry.waiting.iter();
            all.find(|test| !test.udp && same(&test.cookie, &cookie)).map(|test| test.streams.clone())
        };
        if let Some(streams) = known {
            let local = control.socket.local_addr();
            // The test may have given up.
            let _ = streams.send(Arrival { order, socket: control.socket.into(), local, remote: peer });
            return;
        }
        let address = peer.ip().to_canonical();
        let Some(number) = admit(shared, address) else {
            let _ = control.say(State::AccessDenied);
            return;
        };
        client(shared, control, &cookie, peer, number);
        let mut registry = shared.registry();
        if let Some(at) = registry.tests.iter().position(|test| *test == address) {
            registry.tests.swap_remove(at);
        }
    };
    if std::thread::Builder::new().name("iperf3".to_owned()).stack_size(256 << 10).spawn(run).is_err() {
        shared.strangers.fetch_sub(1, AcqRel);
    }
}

/// Whether two cookies are the same, in the same time wherever they differ.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.iter().zip(other).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}

/// The number of a test that there is room for.
fn admit(shared: &Shared, address: IpAddr) -> Option<u64> {
    let mut registry = shared.registry();
    let of_address = registry.tests.iter().filter(|test| **test == address).count();
    let most = if shared.one_off { 1 } else { TESTS_MAX };
    if registry.tests.len() >= most || of_address >= TESTS_OF_ADDRESS_MAX || shared.ends() {
        return None;
    }
    registry.tests.push(address);
    registry.count += 1;
    Some(registry.count)
}

/// Datagrams came to the port: first ones of streams, or nothing that anybody waits for.
fn greet(shared: &Shared, socket: &UdpSocket, order: &mut u64) {
    let mut came = VecDeque::new();
    let take = |socket: &UdpSocket, came: &mut VecDeque<(SocketAddr, [u8; 4])>| {
        let mut bytes = [0; 16];
        while came.len() < STRANGERS_MAX
            && let Ok((length, from)) = socket.recv_from(&mut bytes)
        {
            if length == 4 {
                came.push_back((from, [bytes[0], bytes[1], bytes[2], bytes[3]]));
            }
        }
    };
    take(socket, &mut came);
    while let Some((from, hello)) = came.pop_front() {
        let peer = from.ip().to_canonical();
        let waiting = {
            let registry = shared.registry();
            let mut all = registry.waiting.iter();
            all.find(|test| test.udp && test.peer == peer).map(|test| (test.streams.clone(), test.options.clone()))
        };
        let (Some((streams, options)), Ok(local)) = (waiting, socket.local_addr()) else { continue };
        let options = SocketOptions { shares_port: true, ..options };
        let Ok(stream) = datagram_socket(Some(from), Some(local), &options) else { continue };
        // What came to it before it was connected is another's.
        let _ = stream.set_nonblocking(true);
        take(&stream, &mut came);
        came.retain(|(other, _)| *other != from);
        let _ = stream.set_nonblocking(false);
        *order += 1;
        let local = stream.local_addr();
        if stream.send(&udp_reply(&hello)).is_ok() {
            let _ = streams.send(Arrival { order: *order, socket: stream.into(), local, remote: from });
        }
    }
}

/// A client from its parameters to its end.
fn client(shared: &Arc<Shared>, mut control: Control, cookie: &[u8; COOKIE_BYTES], peer: SocketAddr, number: u64) {
    let host = (peer.ip().to_canonical().to_string(), peer.port());
    // Lines that wait until nobody else prints.
    let held = Arc::new(Mutex::new(String::new()));
    let (prints, keeps) = (Arc::clone(shared), Arc::clone(&held));
    let sink = Box::new(move |text: &str| {
        prints.show(number, &mut keeps.lock().unwrap_or_else(PoisonError::into_inner), text);
    });
    let mut out = Out::new(shared.settings.output, true, &system(), sink);
    out.text(&format!("Accepted connection from {}, port {}\n", host.0, host.1));
    let outcome = test(shared, &mut control, cookie, peer, &host, &mut out);
    if let Err(error) = &outcome {
        out.end(None, None, Some(&error.to_string()));
    }
    let mut held = std::mem::take(&mut *held.lock().unwrap_or_else(PoisonError::into_inner));
    if let Err(error) = &outcome {
        if matches!(error, TestError::Interrupted(_)) {
            let _ = control.say(State::ServerTerminate);
        }
        held += &match shared.settings.output {
            Output::Text => format!("iperf3: error - {error}\n"),
            _ => String::new(),
        };
    }
    shared.paper.write(&held);
    let next = {
        let mut registry = shared.registry();
        registry.foreground.take_if(|test| *test == number);
        registry.count + 1
    };
    if shared.one_off {
        shared.over.store(true, Release);
    } else if !shared.stop.requested() {
        shared.banner(next);
    }
}

fn test(
    shared: &Shared,
    control: &mut Control,
    cookie: &[u8; COOKIE_BYTES],
    peer: SocketAddr,
    host: &(String, u16),
    out: &mut Out,
) -> Result<(), TestError> {
    control.say(State::ParamExchange)?;
    let bytes = control.read_json(PARAMS_BYTES_MAX, "parameters")?;
    let params = Params::read(&bytes, &shared.limits).map_err(|refused| refuse(control, &refused))?;
    let count = params.streams as usize * if params.bidir { 2 } else { 1 };
    let _room = Room::take(shared, count).ok_or_else(|| {
        let _ = control.say(State::AccessDenied);
        TestError::Busy
    })?;
    let arrivals = gather(shared, control, cookie, peer, &params, count)?;
    let mut flows = Vec::new();
    let mut streams = Vec::new();
    for (number, arrival) in arrivals.into_iter().enumerate() {
        // The client's own direction comes first.
        let sends = if params.bidir { number >= params.streams as usize } else { params.reverse };
        streams.push(named(arrival.local, Ok(arrival.remote), arrival.socket.as_raw_fd(), sends));
        // Of round trips, it is the client who asks.
        flows.push(Flow { socket: arrival.socket, work: flow(&params, sends, params.is_plumb) });
    }
    let start = start_of(cookie, host.clone(), Some(0), flows.first());
    let report = Report {
        streams,
        is_server: true,
        unit: shared.settings.unit,
        verbose: shared.settings.verbose,
        interval_s: shared.settings.interval_s,
        params,
    };
    let flows = Flows::new(flows).map_err(|error| TestError::Stream(error.to_string()))?;
    out.opened(&report, &start);
    control.say(State::TestStart)?;
    control.say(State::TestRunning)?;
    let mut running = Running::start(&report, flows);
    let ended = wait(shared, &mut running, control, out);
    if ended.is_ok() {
        drain(&running);
    }
    running.stop(out);
    // A client that still waits for data hears of the end.
    running.flows.hang_up();
    let own = running.ending(None);
    out.text(&report.ending(&own));
    ended?;
    control.say(State::ExchangeResults)?;
    let bytes = control.read_json(RESULTS_BYTES_MAX, "results")?;
    let other = Results::read(&bytes).ok_or_else(|| TestError::Message("results that cannot be read".to_owned()))?;
    let mut results = running.results();
    if report.params.get_output {
        results.output = Some(match shared.settings.output {
            Output::Json => out.document(report.end_json(&own)),
            _ => Json::text(&out.kept),
        });
    }
    control.send_json(&results.json())?;
    control.say(State::DisplayResults)?;
    let mut ending = own;
    ending.cpu[1] = other.cpu;
    out.end(Some(&report), Some(&ending), None);
    // A client that is gone has what it wanted.
    let _ = control.expect(State::Done, "the end");
    Ok(())
}

/// Tells the client why there is no test.
fn refuse(control: &mut Control, refused: &Refused) -> TestError {
    let numbers = [refused.number().to_be_bytes(), [0; 4]].concat();
    let _ = control.say(State::ServerError).and_then(|()| control.send(&numbers));
    TestError::Server(refused.to_string())
}

/// Streams of a test, counted among those of all.
struct Room<'a> {
    shared: &'a Shared,
    streams: usize,
}

impl<'a> Room<'a> {
    fn take(shared: &'a Shared, streams: usize) -> Option<Room<'a>> {
        let mut registry = shared.registry();
        if registry.streams + streams > STREAMS_MAX {
            return None;
        }
        registry.streams += streams;
        drop(registry);
        Some(Room { shared, streams })
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.shared.registry().streams -= self.streams;
    }
}

/// Asks for the streams and waits for all of them.
fn gather(
    shared: &Shared,
    control: &mut Control,
    cookie: &[u8; COOKIE_BYTES],
    peer: SocketAddr,
    params: &Params,
    count: usize,
) -> Result<Vec<Arrival>, TestError> {
    let (streams, arrivals): (Sender<Arrival>, Receiver<Arrival>) = channel();
    let address = peer.ip().to_canonical();
    let until = Instant::now() + SETUP_PATIENCE;
    let waiting = Waiting { cookie: *cookie, peer: address, udp: params.udp, options: options_of(params), streams };
    let mut waiting = Some(waiting);
    // Datagrams have no cookie: of one address, only one test may wait for them.
    while let Some(mine) = waiting.take() {
        let mut registry = shared.registry();
        if params.udp && registry.waiting.iter().any(|test| test.udp && test.peer == address) {
            drop(registry);
            waiting = Some(mine);
            if Instant::now() > until || shared.ends() {
                return Err(TestError::Silent("the streams of another test"));
            }
            std::thread::sleep(Duration::from_millis(2));
        } else {
            registry.waiting.push(mine);
        }
    }
    let gathered = (|| {
        if params.is_plumb {
            control.say(State::PlumbServer)?;
        }
        control.say(State::CreateStreams)?;
        let until = Instant::now() + SETUP_PATIENCE;
        let mut found: Vec<Arrival> = Vec::new();
        while found.len() < count {
            let left = until.saturating_duration_since(Instant::now());
            match arrivals.recv_timeout(left.min(LOOK_AGAIN)) {
                Ok(arrival) => found.push(arrival),
                Err(RecvTimeoutError::Timeout) if !left.is_zero() && !shared.stop.requested() => {
                    control.has_state()?;
                }
                Err(_) => return Err(TestError::Silent("a stream")),
            }
        }
        Ok(found)
    })();
    shared.registry().waiting.retain(|test| !(same(&test.cookie, cookie) && test.peer == address));
    let mut found = gathered?;
    found.sort_unstable_by_key(|arrival| arrival.order);
    if !params.udp {
        for arrival in &found {
            // A size or an algorithm that cannot be set here is the client's wish only.
            let _ = options_of(params).set_connected(&arrival.socket, arrival.remote.is_ipv6());
        }
    }
    Ok(found)
}

/// Waits until the client ends the test.
fn wait(shared: &Shared, running: &mut Running<'_>, control: &mut Control, out: &mut Out) -> Result<(), TestError> {
    let params = &running.report().params;
    let seconds = Some(params.time_s.unwrap_or(0)).filter(|&seconds| seconds > 0);
    let longest = Duration::from_secs(seconds.unwrap_or(shared.limits.time_s).into());
    let until = Instant::now() + longest + Duration::from_secs(params.omit_s.into()) + GRACE;
    loop {
        let left = running.next().map_or(LOOK_AGAIN, |at| at.saturating_duration_since(Instant::now()).min(LOOK_AGAIN));
        if !left.is_zero() {
            running.flows.wait(&[control.socket.as_fd()], left);
        }
        if shared.stop.requested() {
            return Err(TestError::Interrupted("server"));
        }
        match control.has_state()? {
            Some(State::TestEnd) => return Ok(()),
            Some(state) => return Err(TestError::Message(format!("{state:?} while data moves"))),
            None => {}
        }
        if Instant::now() > until {
            let _ = refuse_time(control);
            return Err(TestError::Silent("the end of the test"));
        }
        running.look(out);
    }
}

fn refuse_time(control: &mut Control) -> Result<(), TestError> {
    control.say(State::ServerError)?;
    // "server test duration expired".
    control.send(&[160i32.to_be_bytes(), [0; 4]].concat())
}

/// The client has sent all blocks of the test when it says so; the last of them may still be on their way.
fn drain(running: &Running<'_>) {
    let params = &running.report().params;
    let Some(blocks) = blocks_of(params).filter(|_| !params.udp && !params.reverse && params.omit_s == 0) else {
        return;
    };
    let bytes = blocks.saturating_mul(params.block.into());
    let (mut before, mut until) = (0, Instant::now() + DRAIN_PATIENCE);
    while Instant::now() < until {
        let now = running.received();
        if now >= bytes || running.flows.is_done() {
            return;
        }
        if now != before {
            (before, until) = (now, Instant::now() + DRAIN_PATIENCE);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
