//! netserver: concurrent tests of many clients, each in its own thread. It sends data only to the client of a test,
//! and opens no file that a client names.

use super::control::{Control, PATIENCE, is_readable, until_end};
use super::{TestError, Ticks, any, buffers, is_over, resolve, unexpected};
use plumb_cli::background;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{error_line, print};
use plumb_cli::unauthenticated::warn_beyond_loopback;
use plumb_engine::net::{Flow, Flows, NewSockets, SocketOptions, congestion};
use plumb_tools_net::netperf::{
    Direction, Kind, Length, Message, PROCESSOR_MAX, Refused, Request, Response, Results, Server as NetperfSettings,
    flow, length_ops, trip_bytes,
};
use plumb_tools_run::cpus::run_on;
use plumb_workload::net::{BLOCK_BYTES_MAX, DATAGRAM_BYTES_MAX, NetWork, Transport};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Limits of concurrent clients, in total and per address.
const CLIENTS_MAX: usize = 256;
const CLIENTS_OF_ADDRESS_MAX: usize = 128;

/// Timeouts for the first message, and for a data connection.
const FIRST_PATIENCE: Duration = Duration::from_secs(5);
const DATA_PATIENCE: Duration = Duration::from_secs(10);

/// Timeout between two tests of a client.
const NEXT_PATIENCE: Duration = Duration::from_secs(120);

/// Time that a test may exceed its client's duration, as in netserver.
const GRACE: Duration = Duration::from_secs(4);

/// Limit of the duration of a test that ends with a count.
const COUNTED_MAX: Duration = Duration::from_secs(86400);

/// Time without new connections after which a test of connections has ended. Nothing else shows its end.
const QUIET: Duration = Duration::from_millis(200);

/// Poll interval for the client's end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Serves until the process is terminated.
pub(super) fn serve(settings: &NetperfSettings) -> Result<End, Stopped> {
    let listeners = match listen(settings) {
        Ok(listeners) => listeners,
        Err(error) => {
            error_line!("netserver: cannot listen: {error}");
            return Ok(super::FAILED);
        }
    };
    if settings.passphrase.is_none() {
        for at in listeners.iter().filter_map(|listener| listener.local_addr().ok()) {
            warn_beyond_loopback(
                "plumb",
                at.ip(),
                "use a firewall, or a passphrase (-Z), which netperf sends in plain text",
            );
        }
    }
    if !settings.foreground && !background::is_here() {
        drop(listeners);
        background::start_again()?;
        return Ok(End::Done);
    }
    background::leave_session();
    for listener in &listeners {
        if let Ok(at) = listener.local_addr() {
            let family = if at.is_ipv6() { "AF_INET6" } else { "AF_INET" };
            print(&format!("Starting netserver with host '{}' port '{}' and family {family}\n", at.ip(), at.port()));
        }
    }
    if settings.listen.is_none() {
        error_line!("plumb: listening on loopback only; use -L 0.0.0.0 or -L :: to serve other hosts");
    }
    let shared = Arc::new(Shared {
        poll_us: settings.poll_us,
        passphrase: settings.passphrase.clone(),
        clients: Mutex::default(),
    });
    loop {
        let fds: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
        for (listener, ready) in listeners.iter().zip(is_readable(&fds, Duration::from_secs(60))) {
            if !ready {
                continue;
            }
            match listener.accept() {
                Ok((stream, peer)) => meet(&shared, stream, peer),
                // The client is gone already, or no descriptors are left. The next one may succeed.
                Err(_) => std::thread::sleep(POLL_INTERVAL),
            }
        }
    }
}

fn listen(settings: &NetperfSettings) -> Result<Vec<TcpListener>, TestError> {
    let (four, six) = (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST));
    let addresses = match (&settings.listen, settings.is_v6) {
        (Some(host), is_v6) => vec![resolve(host, settings.port, is_v6)?[0].ip()],
        (None, Some(true)) => vec![six],
        (None, Some(false)) => vec![four],
        (None, None) => vec![four, six],
    };
    let mut listeners: Vec<TcpListener> = Vec::new();
    for (number, address) in addresses.into_iter().enumerate() {
        // Both address families use the port of the first listener.
        let port = listeners.first().and_then(|first| Some(first.local_addr().ok()?.port())).unwrap_or(settings.port);
        let opened = TcpListener::bind((address, port)).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        match opened {
            Ok(listener) => listeners.push(listener),
            // Hosts without IPv6 have only one loopback address.
            Err(_) if number > 0 => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(listeners)
}

/// State shared by all clients.
struct Shared {
    poll_us: u32,
    passphrase: Option<String>,
    /// Addresses of the current clients.
    clients: Mutex<Vec<IpAddr>>,
}

/// A client, counted in the limits.
struct Place(Arc<Shared>, IpAddr);

impl Place {
    fn take(shared: &Arc<Shared>, address: IpAddr) -> Option<Place> {
        let mut clients = shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let of_address = clients.iter().filter(|client| **client == address).count();
        if clients.len() >= CLIENTS_MAX || of_address >= CLIENTS_OF_ADDRESS_MAX {
            return None;
        }
        clients.push(address);
        Some(Place(Arc::clone(shared), address))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = clients.iter().position(|client| *client == self.1) {
            clients.swap_remove(at);
        }
    }
}

/// Handles a connection, or closes it at the limit.
fn meet(shared: &Arc<Shared>, stream: TcpStream, peer: SocketAddr) {
    let Some(place) = Place::take(shared, peer.ip().to_canonical()) else { return };
    let run = move || {
        let begun = stream.set_nonblocking(false).and_then(|()| Control::new(stream));
        // Clients that violate the protocol are ignored.
        let _ = begun.map_err(TestError::from).and_then(|control| client(&place.0, control, place.1));
    };
    // If no thread can be started, the connection closes.
    let _ = std::thread::Builder::new().name("netserver".to_owned()).stack_size(256 << 10).spawn(run);
}

/// Serves a client, from its first message to its last.
fn client(shared: &Shared, mut control: Control, peer: IpAddr) -> Result<(), TestError> {
    let mut knows = shared.passphrase.is_none();
    let mut patience = FIRST_PATIENCE;
    loop {
        let message = control.read(Instant::now() + patience, "a request")?;
        match message.kind() {
            Some(Kind::DebugOn | Kind::DebugOff) => control.send(&Message::new(Kind::DebugOk, 0))?,
            Some(Kind::Passphrase) => {
                knows = shared
                    .passphrase
                    .as_deref()
                    .is_none_or(|own| plumb_tls::same(own.as_bytes(), message.passphrase()));
            }
            Some(Kind::Omni | Kind::Stream | Kind::Connects) if knows => {
                match Request::read(&message)
                    .map_err(TestError::from)
                    .and_then(|request| test(&mut control, &request, peer, shared.poll_us))
                {
                    Ok(results) => control.send(&results)?,
                    Err(TestError::Refused(refused)) => {
                        let reply = message.reply().unwrap_or(Kind::OmniResponse);
                        control.send(&Message::new(reply, refused.number()))?;
                    }
                    Err(error) => return Err(error),
                }
            }
            _ => return Err(unexpected(&message)),
        }
        patience = NEXT_PATIENCE;
    }
}

/// Binds this thread, which belongs to one client, to the requested CPU.
fn run_there(processor: u32) -> Result<(), Refused> {
    let refused = Refused::Range("a processor");
    let known = Some(processor).filter(|&number| number <= PROCESSOR_MAX).ok_or(refused)?;
    run_on(&[known]).map_err(|_| refused)
}

/// Runs the server's half of a test.
fn test(control: &mut Control, request: &Request, peer: IpAddr, poll_us: u32) -> Result<Message, TestError> {
    request.processor.map(run_there).transpose()?;
    let own = control.socket.local_addr()?.ip();
    if request.udp && request.direction == Direction::ToClient {
        return Err(Refused::Unsupported.into());
    }
    // Data may take another path than control messages, but datagrams go only to the client's verified address.
    let elsewhere = request.server.filter(|at| at.to_canonical() != own.to_canonical());
    if request.udp && (elsewhere.is_some() || request.client.is_some_and(|at| at.to_canonical() != peer)) {
        return Err(Refused::Forbidden("datagrams to another address").into());
    }
    let peer = if elsewhere.is_some() { request.client } else { Some(peer) };
    let at = elsewhere.unwrap_or_else(|| match request.is_v6 {
        Some(six) if own.is_ipv6() != six => any(six),
        _ => own,
    });
    let bind = SocketAddr::new(at, request.port);
    let options = SocketOptions {
        no_delay: request.no_delay,
        service: request.service,
        congestion: request.congestion.clone(),
        ..SocketOptions::default()
    };
    let new_sockets = NewSockets { bind: Some(bind), options, buffers: request.buffers };
    let most = if request.udp { DATAGRAM_BYTES_MAX } else { BLOCK_BYTES_MAX };
    let work_of = |sizes: [u32; 2]| NetWork { poll_us, ..flow(request, true, sizes.map(|size| size.min(most))) };
    let (socket, work): (OwnedFd, NetWork) = if request.udp {
        let socket = new_sockets.make(&bind, Transport::Udp).map_err(|_| Refused::Range("an address or an option"))?;
        let socket = UdpSocket::from(socket);
        let sizes = answer(control, request, &socket, socket.local_addr()?.port())?;
        meet_datagrams(control, &socket, peer.unwrap_or(any(at.is_ipv6())))?;
        (socket.into(), work_of(sizes))
    } else {
        let listener = TcpListener::bind(bind).map_err(|_| Refused::Range("an address or a port"))?;
        let set = new_sockets.options.set(listener.as_fd(), Transport::Tcp, at.is_ipv6());
        set.map_err(|_| Refused::Range("an option"))?;
        new_sockets.set_buffers(listener.as_fd()).map_err(|_| Refused::Range("a buffer"))?;
        let sizes = answer(control, request, &listener, listener.local_addr()?.port())?;
        match request.connects {
            true => (listener.into(), work_of(sizes)),
            false => (meet_connection(control, &listener, peer)?, work_of(sizes)),
        }
    };
    let other = peer.map(|peer| SocketAddr::new(peer, 0));
    let mut flows = Flows::new(vec![Flow { socket, other, file: None, work }])?;
    let before = Ticks::now();
    flows.limit(length_ops(request.length, &work), u64::MAX);
    let time = match request.length {
        Length::Seconds(seconds) => Duration::from_secs(seconds.into()),
        Length::Count(_) => COUNTED_MAX,
    };
    flows.start(Some(time.as_nanos() as u64));
    let began = Instant::now();
    wait(control, request, &flows, began, time)?;
    let seconds = began.elapsed().min(time + GRACE).as_secs_f64();
    if !request.udp && !request.connects {
        // The receiver ends with the end of the stream; the sender marks that end.
        let _ = rustix::net::shutdown(flows.socket(0), rustix::net::Shutdown::Write);
        // Closing the socket with unread requests would discard the last responses.
        if request.direction != Direction::ToServer {
            until_end(flows.socket(0), PATIENCE);
        }
    }
    let cpu = request.cpu.then(|| Ticks::now().since(&before));
    let at_last = buffers(flows.socket(0));
    let retransmits = flows.tcp(0).map(|tcp| tcp.retransmits);
    let congestion = congestion(flows.socket(0)).filter(|_| !request.udp).unwrap_or_default();
    flows.stop();
    let counts = flows.counts(0);
    let trip = |size: u32| (counts.ops * u64::from(size), counts.ops);
    let (received, sent, trips) = match request.direction {
        Direction::ToServer => ((counts.bytes, counts.ops), (0, 0), 0),
        Direction::ToClient => ((0, 0), (counts.bytes, counts.ops), 0),
        Direction::RoundTrips => {
            let [ask, answer] = trip_bytes(request.trip, request.only_connects);
            (trip(ask), trip(answer), counts.ops)
        }
    };
    let results =
        Results { received, sent, failed_sends: 0, trips, seconds, buffers: at_last, cpu, retransmits, congestion };
    Ok(results.message(request.reply()))
}

/// Sends the response with the port for data. Returns the sizes of calls.
fn answer(control: &mut Control, request: &Request, socket: impl AsFd, port: u16) -> Result<[u32; 2], TestError> {
    let own = buffers(socket);
    let call_sizes = [request.sizes[0].unwrap_or(own[0]), request.sizes[1].unwrap_or(own[1])];
    let sizes = match request.direction {
        Direction::ToServer => [None, Some(call_sizes[1])],
        Direction::ToClient => [Some(call_sizes[0]), None],
        Direction::RoundTrips => [Some(request.trip[1]), Some(request.trip[0])],
    };
    let response = Response { buffers: own, sizes, port, service: request.service, no_delay: request.no_delay };
    control.send(&response.message(request.reply()))?;
    Ok(call_sizes)
}

/// Accepts the client's data connection; closes those of others.
fn meet_connection(control: &Control, listener: &TcpListener, peer: Option<IpAddr>) -> Result<OwnedFd, TestError> {
    let until = Instant::now() + DATA_PATIENCE;
    while Instant::now() < until {
        if is_readable(&[listener.as_fd(), control.socket.as_fd()], POLL_INTERVAL)[0] {
            let (socket, from) = listener.accept()?;
            if peer.is_none_or(|peer| peer.to_canonical() == from.ip().to_canonical()) {
                return Ok(socket.into());
            }
        } else if control.is_closed() {
            return Err(TestError::Closed);
        }
    }
    Err(TestError::Silent("a data connection"))
}

/// Connects a socket to the sender of the client's first datagram; drops those of others.
fn meet_datagrams(control: &Control, socket: &UdpSocket, peer: IpAddr) -> Result<(), TestError> {
    let until = Instant::now() + DATA_PATIENCE;
    socket.set_nonblocking(true)?;
    while Instant::now() < until {
        if is_readable(&[socket.as_fd(), control.socket.as_fd()], POLL_INTERVAL)[0] {
            match socket.peek_from(&mut [0; 1]) {
                Ok((_, from)) if from.ip().to_canonical() == peer.to_canonical() => {
                    socket.connect(from)?;
                    socket.set_nonblocking(false)?;
                    return Ok(());
                }
                Ok(_) => _ = socket.recv_from(&mut [0; 1]),
                // An ICMP error for an earlier datagram.
                Err(_) => {}
            }
        } else if control.is_closed() {
            return Err(TestError::Closed);
        }
    }
    Err(TestError::Silent("a datagram"))
}

/// Waits until the test is over.
fn wait(control: &Control, request: &Request, flows: &Flows, began: Instant, time: Duration) -> Result<(), TestError> {
    let by_ops = request.direction == Direction::RoundTrips;
    let (mut ops, mut quiet) = (0, Instant::now());
    loop {
        flows.wait(&[], POLL_INTERVAL);
        let (now, done) = (Instant::now(), flows.counts(0).ops);
        if done != ops {
            (ops, quiet) = (done, now);
        }
        let passed = now.duration_since(began);
        let ends = flows.is_done()
            || passed > time + GRACE
            || by_ops && is_over(request.length, flows, true)
            || request.connects && passed > time && now.duration_since(quiet) > QUIET;
        if ends {
            return Ok(());
        }
        if control.is_closed() {
            return Err(TestError::Closed);
        }
    }
}
