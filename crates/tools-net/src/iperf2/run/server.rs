//! The server, for many concurrent clients. It sends data only to TCP clients that request it. A UDP sender gets up
//! to two reports of 128 bytes at the end of its stream, and never more bytes than it sent.

use super::client::{self, first_facts};
use super::running::Running;
use super::{TestError, ahead_us, banner, met, now_us, options};
use plumb_cli::output::{error_line, print};
use plumb_cli::unauthenticated::warn_beyond_loopback;
use plumb_engine::net::{ConnectError, DatagramHeader, Flow, Flows, SocketOptions, datagram_socket, listen_tcp};
use plumb_engine::signals::StopFlag;
use plumb_tools_net::iperf2::{
    Ask, Back, DASHES, Iperf2Settings, Met, OutputStyle, Stream, Test, answer, blocks as blocks_of,
    bounces as bounces_of, flow, form, tcp_head,
};
use plumb_workload::net::NetOp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::time::{Duration, Instant};

/// Limit of concurrent streams, each with a thread and buffers.
const STREAMS_MAX: u64 = 128;

/// Time after which a silent stream is ended.
const IDLE_PATIENCE: Duration = Duration::from_secs(10);

/// Time within which a TCP stream's header must arrive. Otherwise the stream has none.
const HEAD_PATIENCE: Duration = Duration::from_millis(500);

/// Poll interval for shutdown.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Poll interval for the last datagram. It bounds the precision of a stream's duration.
const END_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Number of reports per stream, because datagrams may be lost.
const REPORTS: u64 = 2;

struct Shared {
    settings: Iperf2Settings,
    stop: StopFlag,
    open: AtomicU64,
    /// Number of streams so far.
    count: AtomicU64,
}

/// Returns the server's address, and the options of its sockets.
fn place(settings: &Iperf2Settings, bind: Option<IpAddr>) -> (SocketAddr, SocketOptions) {
    let address = bind.unwrap_or(if settings.is_v6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() });
    if bind.is_none() {
        error_line!("plumb: listening on loopback only; use -B 0.0.0.0 or -B :: to serve other hosts");
    }
    warn_beyond_loopback("plumb", address, "iperf has no keys: use a firewall, or `plumb net --serve --keys FILE`");
    let own = SocketOptions { shares_port: true, ..options(&settings.test) };
    (SocketAddr::new(address, settings.port), own)
}

fn bind_failed(source: ConnectError) -> TestError {
    TestError::Connect { what: "listener bind failed", source }
}

/// Checks that a server could listen, and prints its warnings. A background server has no standard error.
pub(super) fn check(settings: &Iperf2Settings, bind: Option<IpAddr>) -> Result<(), TestError> {
    let (at, own) = place(settings, bind);
    match settings.test.udp {
        true => datagram_socket(None, Some(at), &own).map(drop),
        false => listen_tcp(at, &own).map(drop),
    }
    .map_err(bind_failed)
}

/// Serves until a signal arrives or its time is over.
pub(super) fn serve(settings: &Iperf2Settings, bind: Option<IpAddr>, stop: StopFlag) -> Result<(), TestError> {
    let udp = settings.test.udp;
    let (at, own) = place(settings, bind);
    let shared =
        Arc::new(Shared { settings: settings.clone(), stop, open: AtomicU64::new(0), count: AtomicU64::new(0) });
    let begin = |socket: BorrowedFd<'_>| {
        if !settings.csv {
            print(&format!("{DASHES}{}{DASHES}", banner(settings, "Server listening on", None, socket)));
        }
    };
    let until = settings.serve_s.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let goes_on = || {
        let is_served = settings.one && shared.count.load(Acquire) > 0;
        !stop.requested() && !is_served && until.is_none_or(|until| Instant::now() < until)
    };
    if udp {
        let mut socket = datagram_socket(None, Some(at), &own).map_err(bind_failed)?;
        begin(socket.as_fd());
        while goes_on() {
            if is_readable(&socket)
                && let Some(from) = first_of(&socket)
            {
                // The socket, with its queued datagrams, becomes the stream's. A new socket receives other senders.
                let next = datagram_socket(None, Some(at), &own).map_err(bind_failed)?;
                let stream = std::mem::replace(&mut socket, next);
                stream.connect(from)?;
                let shared = Arc::clone(&shared);
                spawn(move || datagrams(&shared, &stream, from));
            }
        }
    } else {
        let listener = listen_tcp(at, &own).map_err(bind_failed)?;
        listener.set_nonblocking(true)?;
        begin(listener.as_fd());
        while goes_on() {
            if is_readable(&listener)
                && let Ok((stream, from)) = listener.accept()
                && enter(&shared)
            {
                let shared = Arc::clone(&shared);
                spawn(move || bytes(&shared, stream, from));
            }
        }
    }
    while shared.open.load(Acquire) > 0 {
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn spawn(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().name("iperf".to_owned()).stack_size(256 << 10);
    if let Err(error) = thread.spawn(run) {
        error_line!("iperf: {error}");
    }
}

fn is_readable(socket: &impl AsFd) -> bool {
    let longest = Timespec { tv_sec: 0, tv_nsec: POLL_INTERVAL.subsec_nanos().into() };
    let mut watched = [PollFd::new(socket, PollFlags::IN)];
    // A signal also ends the poll.
    poll(&mut watched, Some(&longest)).is_ok_and(|ready| ready > 0)
}

/// Counts a new stream. Returns `false` at the limit.
fn enter(shared: &Shared) -> bool {
    let is_room = shared.open.fetch_add(1, AcqRel) < STREAMS_MAX;
    if !is_room {
        shared.open.fetch_sub(1, AcqRel);
    }
    is_room
}

/// Returns the sender of the first queued datagram, which stays in the queue. A datagram that cannot
/// start a stream is removed.
fn first_of(socket: &UdpSocket) -> Option<SocketAddr> {
    let mut bytes = [0; 32];
    let (length, from) = socket.peek_from(&mut bytes).ok()?;
    let form = form(&NO_TEST, 0, 0, 0);
    let header = DatagramHeader::read(&bytes[..length], form).filter(|header| header.number <= i64::MAX as u64);
    if header.is_none() {
        let _ = socket.recv_from(&mut bytes);
    }
    header.map(|_| from)
}

/// An empty test, to parse headers.
const NO_TEST: Test = Test {
    udp: true,
    time_s: 0.0,
    bytes: 0,
    block: 1470,
    rate: None,
    streams: 1,
    reverse: false,
    full_duplex: false,
    back: None,
    trip_times: false,
    bins: None,
    bounces: None,
    window: None,
    segment: None,
    no_delay: false,
    service: 0,
    congestion: None,
};

/// Handles a stream of datagrams.
fn datagrams(shared: &Shared, socket: &UdpSocket, from: SocketAddr) {
    if !enter(shared) {
        return;
    }
    if let Err(error) = receive_datagrams(shared, socket, from) {
        error_line!("iperf: {error}");
    }
    shared.open.fetch_sub(1, AcqRel);
}

fn receive_datagrams(shared: &Shared, socket: &UdpSocket, from: SocketAddr) -> Result<(), TestError> {
    let settings = &shared.settings;
    let mut first = [0; 256];
    let length = socket.peek(&mut first)?;
    let ask = Ask::read(first[..length].get(16..).unwrap_or_default());
    let (unit, enhanced, trips) = (settings.unit, settings.enhanced, ask.trip_times);
    let look = OutputStyle { unit, enhanced, udp: true, sends: false, bounces: false, trips };
    let counts = Test { bins: settings.test.bins, ..NO_TEST };
    let work = flow(&settings.test, false, form(&counts, 0, ahead_us(), 0));
    let known = Met { ask, socket: socket.as_raw_fd(), ..Met::default() };
    let streams = [introduce(shared, look, socket.local_addr()?, from, known)];
    let flows = Flows::new(vec![Flow { socket: socket.try_clone()?.into(), other: None, file: None, work }])?;
    let mut running = Running::start(settings, look, &streams, flows, None, 0);
    let (mut came, mut since) = (0, Instant::now());
    while !running.flows.counts(0).datagrams.ended && !shared.stop.requested() {
        running.poll(END_POLL_INTERVAL);
        let now = running.bytes();
        if now != came {
            (came, since) = (now, Instant::now());
        } else if since.elapsed() > IDLE_PATIENCE {
            break;
        }
    }
    let is_ended = running.flows.counts(0).datagrams.ended;
    let rows = running.finish();
    let Some(row) = rows.first().filter(|_| is_ended) else { return Ok(()) };
    let report = Running::report(row).bytes(ask.trip_times);
    for _ in 0..reports(length as u64, row.bytes, report.len() as u64) {
        let _ = socket.send(&report);
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Returns the number of reports to send for a UDP stream. Source addresses can be forged, so the reports never
/// exceed the bytes received: `first` is the size of the first datagram, `all` that of the whole stream.
fn reports(first: u64, all: u64, report: u64) -> u64 {
    (all.max(first) / report.max(1)).min(REPORTS)
}

/// Prints the line of a new stream and the header of its rows.
fn introduce(shared: &Shared, look: OutputStyle, here: SocketAddr, from: SocketAddr, known: Met) -> Stream {
    let (stream, known) = met(shared.count.fetch_add(1, AcqRel) + 1, here, from, known);
    if !shared.settings.csv {
        print(&format!("{}{}", look.met(&stream, &known), look.head()));
    }
    stream
}

/// Handles a TCP stream, and the stream that its client requests in return.
fn bytes(shared: &Arc<Shared>, socket: TcpStream, from: SocketAddr) {
    let own = socket.local_addr().ok().map(|own| own.ip());
    let asked = asked_back(shared, &socket);
    let send = move |shared: &Shared, ask: &Ask, back: Back| {
        if let Err(error) = send_back(shared, from.ip(), own, ask, back) {
            error_line!("iperf: {error}");
        }
    };
    if let Some((ask, back)) = asked.filter(|(_, back)| back.at_once)
        && enter(shared)
    {
        let shared = Arc::clone(shared);
        spawn(move || {
            send(&shared, &ask, back);
            shared.open.fetch_sub(1, AcqRel);
        });
    }
    if let Err(error) = move_bytes(shared, socket, from) {
        error_line!("iperf: {error}");
    }
    if let Some((ask, back)) = asked.filter(|(_, back)| !back.at_once) {
        send(shared, &ask, back);
    }
    shared.open.fetch_sub(1, AcqRel);
}

/// Returns the request for a stream in return, from the first bytes of a stream. Only a server accepts such requests.
fn asked_back(shared: &Shared, socket: &TcpStream) -> Option<(Ask, Back)> {
    let mut first = [0; 80];
    if shared.settings.host.is_some() {
        return None;
    }
    socket.set_nonblocking(false).ok()?;
    socket.set_read_timeout(Some(HEAD_PATIENCE)).ok()?;
    let length = socket.peek(&mut first).ok()?;
    let ask = Ask::read(&first[..length]);
    ask.back.map(|back| (ask, back))
}

/// Sends the requested data over a new connection to the client's address, which its TCP handshake has proven.
fn send_back(shared: &Shared, to: IpAddr, own: Option<IpAddr>, ask: &Ask, back: Back) -> Result<(), TestError> {
    let own_test = &shared.settings.test;
    let test = Test {
        time_s: ask.time_s,
        bytes: ask.bytes,
        rate: ask.rate.or(own_test.rate),
        streams: 1,
        back: None,
        bins: None,
        ..own_test.clone()
    };
    let host = to.to_canonical().to_string();
    let settings = Iperf2Settings { host: Some(host.clone()), port: back.port, test, ..shared.settings.clone() };
    client::run(&settings, &host, own.map(|own| own.to_canonical()), shared.stop)
}

/// The end of a client's -d or -r that receives the server's data.
pub(crate) struct BackServer {
    listener: TcpListener,
    shared: Arc<Shared>,
    back: Back,
    server: IpAddr,
    waits: Option<std::thread::JoinHandle<Result<(), TestError>>>,
}

impl BackServer {
    /// Listens for the server at `server`, and for no other peer.
    pub(super) fn listen(
        settings: &Iperf2Settings,
        back: Back,
        bind: Option<IpAddr>,
        server: IpAddr,
        stop: StopFlag,
    ) -> Result<BackServer, TestError> {
        let any = if server.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let address = bind.unwrap_or(if server.is_loopback() { server } else { any });
        let at = |port| SocketAddr::new(address, port);
        let own = options(&settings.test);
        let failed = |source| TestError::Connect { what: "listener bind failed", source };
        // A server on this host uses the usual port. The header contains the actual port.
        let listener = match listen_tcp(at(back.port), &own) {
            Err(_) if back.port == settings.port => listen_tcp(at(0), &own),
            listener => listener,
        };
        let listener = listener.map_err(failed)?;
        listener.set_nonblocking(true)?;
        let back = Back { port: listener.local_addr()?.port(), ..back };
        if !settings.csv {
            let settings = Iperf2Settings { port: back.port, ..settings.clone() };
            print(&format!("{DASHES}{}{DASHES}", banner(&settings, "Server listening on", None, listener.as_fd())));
        }
        let count = AtomicU64::new(settings.test.streams.into());
        let shared = Arc::new(Shared { settings: settings.clone(), stop, open: AtomicU64::new(0), count });
        Ok(BackServer { listener, shared, back, server, waits: None })
    }

    /// Returns the port and mode that the server needs.
    pub(super) fn back(&self) -> Back {
        self.back
    }

    /// Waits for the server in another thread.
    pub(super) fn begin(&mut self) -> Result<(), TestError> {
        let (listener, shared) = (self.listener.try_clone()?, Arc::clone(&self.shared));
        let (back, server) = (self.back, self.server);
        let thread = std::thread::Builder::new().name("iperf".to_owned()).stack_size(256 << 10);
        self.waits = Some(thread.spawn(move || receive_back(&listener, &shared, back, server))?);
        Ok(())
    }

    /// Waits until the server has sent all data.
    pub(super) fn finish(mut self) -> Result<(), TestError> {
        match self.waits.take() {
            Some(waits) => waits.join().unwrap_or(Err(TestError::NotBack(self.back.port))),
            None => receive_back(&self.listener, &self.shared, self.back, self.server),
        }
    }
}

fn receive_back(listener: &TcpListener, shared: &Arc<Shared>, back: Back, server: IpAddr) -> Result<(), TestError> {
    let until = Instant::now() + IDLE_PATIENCE;
    let mut missing = shared.settings.test.streams;
    while missing > 0 && !shared.stop.requested() {
        if is_readable(listener)
            && let Ok((stream, from)) = listener.accept()
            && from.ip().to_canonical() == server.to_canonical()
            && enter(shared)
        {
            missing -= 1;
            let shared = Arc::clone(shared);
            spawn(move || bytes(&shared, stream, from));
        } else if Instant::now() > until {
            return Err(TestError::NotBack(back.port));
        }
    }
    while shared.open.load(Acquire) > 0 {
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn move_bytes(shared: &Shared, mut socket: TcpStream, from: SocketAddr) -> Result<(), TestError> {
    let settings = &shared.settings;
    let mut first = [0; 80];
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(HEAD_PATIENCE))?;
    // A stream without a header requests nothing, so the server only receives.
    let length = socket.peek(&mut first).unwrap_or(0);
    let ask = Ask::read(&first[..length]);
    if let Some([bytes, hold]) = ask.bounces
        && ask.bounce_bytes().is_none()
    {
        return Err(TestError::Flow(format!(
            "{from} asks for round trips of {bytes} bytes, held for {hold} us: only 64 bytes to 1 MiB without a hold are answered"
        )));
    }
    let bounces = ask.bounces.is_some();
    let (unit, enhanced, trips) = (settings.unit, settings.enhanced, ask.trip_times);
    let look = OutputStyle { unit, enhanced, udp: false, sends: ask.reverse, bounces, trips };
    let known = Met { ask, socket: socket.as_raw_fd(), tcp: first_facts(socket.as_fd()), ..Met::default() };
    let stream = introduce(shared, look, socket.local_addr()?, from, known);
    // The client's request applies, within the server's own options.
    let (full_duplex, trip_times) = (ask.full_duplex, ask.trip_times);
    let (rate, time_s, bytes) = (ask.rate.or(settings.test.rate), ask.time_s, ask.bytes);
    let test = Test { rate, full_duplex, trip_times, time_s, bytes, ..settings.test.clone() };
    let (ahead_us, now_us) = (ahead_us(), now_us());
    let form = blocks_of(&test, settings.port, ahead_us, now_us);
    let sends = ask.reverse || full_duplex;
    if trip_times {
        socket.write_all(&match sends {
            true => tcp_head(&test, settings.port, ahead_us + now_us),
            false => answer(&ask, ahead_us + now_us),
        })?;
    }
    let work = match ask.bounce_bytes() {
        Some(bytes) => bounces_of(&test, bytes, NetOp::Respond, ahead_us),
        None => flow(&test, sends, form),
    };
    if bounces {
        // A response must not wait for more data.
        socket.set_nodelay(true)?;
    }
    let connection = socket.try_clone()?;
    let (mut streams, mut flows) = (Vec::new(), Vec::new());
    if full_duplex {
        streams.push(Stream { sends: false, ..stream.clone() });
        let work = flow(&test, false, form);
        flows.push(Flow { socket: connection.try_clone()?.into(), other: None, file: None, work });
    }
    streams.push(Stream { sends, is_back: full_duplex, ..stream });
    flows.push(Flow { socket: socket.into(), other: None, file: None, work });
    let flows = Flows::new(flows)?;
    if bytes > 0 {
        flows.limit(bytes.div_ceil(test.block.into()), u64::MAX);
    }
    let time = (sends && bytes == 0).then(|| Duration::from_secs_f64(time_s));
    let mut is_told = false;
    let mut running = Running::start(settings, look, &streams, flows, time, 0);
    let (mut moved, mut since) = (0, Instant::now());
    while !running.is_over() && !shared.stop.requested() {
        if !is_told && running.has_sent() {
            is_told = true;
            let _ = connection.shutdown(Shutdown::Write);
        }
        running.poll(POLL_INTERVAL);
        let now = running.bytes();
        if now != moved {
            (moved, since) = (now, Instant::now());
        } else if since.elapsed() > IDLE_PATIENCE {
            break;
        }
    }
    running.finish();
    running.flows.hang_up();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects hosts with forged addresses from amplification: before, 24 bytes returned 256.
    #[test]
    fn reports_never_exceed_the_received_bytes() {
        for (first, all, expected) in
            [(24, 24, 0), (24, 0, 0), (127, 127, 0), (128, 128, 1), (24, 255, 1), (1470, 0, 2), (24, 1 << 30, 2)]
        {
            assert_eq!(reports(first, all, 128), expected, "{first} {all}");
        }
    }
}
