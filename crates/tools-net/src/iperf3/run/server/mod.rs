//! The server: many concurrent clients on one port. A cookie assigns a connection to a test. Datagrams are assigned
//! by the address of a control connection that waits for some. Other hosts never get any data.

mod session;

use super::Local;
use super::control::{Control, PURPOSE, TestError};
use super::output::Paper;
use crossbeam_channel::Sender;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::error_line;
use plumb_cli::pending::{Pending, PendingLimits};
use plumb_cli::unauthenticated::warn_beyond_loopback;
use plumb_engine::net::{ConnectError, LocalAddress, SocketOptions, datagram_socket, has_sctp, listen_tcp};
use plumb_engine::signals::StopFlag;
use plumb_tls::{Channel, FIRST_BYTE, Identity, same};
use plumb_tools_net::iperf3::{
    AUTHORIZATION_FAILED, COOKIE_BYTES, Gate, Iperf3Settings, Limits, Output, Server as Invocation, State, udp_reply,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Acquire;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Limits of concurrent tests, in total and per address.
const TESTS_MAX: usize = 64;
const TESTS_OF_ADDRESS_MAX: usize = 16;

/// Limits of connections that have not sent their cookie. One address may open all streams of a test at once.
const PENDING: PendingLimits = PendingLimits { all: 512, of_address: 256 };

/// Limit of datagrams handled per batch.
const DATAGRAMS_MAX: usize = 512;

/// Timeouts: for the cookie, and for parameters and streams.
const COOKIE_PATIENCE: Duration = Duration::from_secs(5);
const SETUP_PATIENCE: Duration = Duration::from_secs(10);

/// Poll interval for shutdown.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A data connection, with its position in the order of acceptance.
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
    /// Addresses of clients, one per test.
    tests: Vec<IpAddr>,
    streams: usize,
    /// Number of tests so far, for the banner.
    count: u64,
    /// The test whose lines are printed immediately.
    foreground: Option<u64>,
}

/// State shared by all connections.
struct Shared {
    registry: Mutex<Registry>,
    /// Connections that have not sent their cookie.
    pending: Arc<Pending>,
    settings: Iperf3Settings,
    limits: Limits,
    /// Seconds over which the rate limit is averaged.
    rate_seconds: u32,
    one_off: bool,
    local: Local,
    /// Identity of a server that serves only clients with its token.
    identity: Option<Identity>,
    /// Gate of a server that serves only iperf3's users.
    gate: Option<Gate>,
    /// Whether streams may use SCTP.
    has_sctp: bool,
    /// Whether the only test of a one-off server is over.
    over: AtomicBool,
    paper: Paper,
    stop: StopFlag,
    /// The port, or another place where the server listens.
    place: String,
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
            self.paper.lines(&format!("{line}Server listening on {} (test #{number})\n{line}", self.place));
        }
    }

    /// Prints the text of a test: immediately if it is in the foreground, otherwise in one piece at its end.
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

/// A server's own settings and credentials.
pub struct Own {
    pub local: Local,
    /// Proves the server to clients, which must prove that they know its token. `None`: any client, in plain text.
    pub identity: Option<Identity>,
    /// Checks iperf3's users; `None`: any user.
    pub gate: Option<Gate>,
}

/// Serves until a signal arrives.
pub fn serve(
    settings: &Iperf3Settings,
    asked: &Invocation,
    bind: Bind,
    Own { local, identity, gate }: Own,
    paper: &Paper,
    stop: StopFlag,
) -> Result<End, Stopped> {
    let sockets = match listen(settings, &bind, &local) {
        Ok(sockets) => sockets,
        Err(error) => {
            error_line!("iperf3: error - unable to start listener for connections: {error}");
            return Ok(End::DialectFailed);
        }
    };
    if bind == Bind::Loopback {
        error_line!("plumb: listening on loopback only; use -B 0.0.0.0 or -B :: to serve other hosts");
    }
    warn_of_strangers(&bind, identity.is_some() || gate.is_some());
    let port = sockets.tcp.first().and_then(|first| first.local_addr().ok()).map_or(settings.port, |at| at.port());
    let place = match &bind {
        Bind::Local(LocalAddress::Unix(path)) => path.display().to_string(),
        Bind::Local(LocalAddress::Vsock { port, .. }) => format!("vsock port {port}"),
        Bind::Loopback | Bind::Address(_) => port.to_string(),
    };
    let shared = Arc::new(Shared {
        registry: Mutex::default(),
        pending: Pending::new(PENDING),
        limits: Limits { rate: asked.rate_limit, time_s: asked.time_limit.unwrap_or(86400) },
        rate_seconds: asked.rate_seconds,
        one_off: asked.one_off,
        local,
        identity,
        gate,
        has_sctp: has_sctp().is_ok(),
        settings: settings.clone(),
        over: AtomicBool::new(false),
        paper: paper.clone(),
        stop,
        place,
    });
    shared.banner(1);
    let mut order = 0;
    let idle = asked.idle_s.filter(|_| asked.one_off).map(|seconds| Duration::from_secs(seconds.into()));
    let began = Instant::now();
    while !shared.ends() {
        if idle.is_some_and(|idle| began.elapsed() > idle) && shared.registry().count == 0 {
            break;
        }
        for socket in sockets.ready() {
            match socket {
                Ready::Tcp(listener) => {
                    while let Ok((stream, peer)) = listener.accept() {
                        order += 1;
                        meet(&shared, stream, peer, order);
                    }
                }
                Ready::Udp(socket) => greet(&shared, socket, &mut order),
                Ready::Other(listener) => {
                    while let Ok(stream) = rustix::net::accept(listener) {
                        order += 1;
                        // Local connections have no Internet address.
                        meet(&shared, stream.into(), SocketAddr::from(([127, 0, 0, 1], 0)), order);
                    }
                }
            }
        }
    }
    if let Bind::Local(LocalAddress::Unix(path)) = &bind {
        // This server created the socket file. A failure means that it is gone already.
        let _ = std::fs::remove_file(path);
    }
    // Running tests notify their clients.
    let until = Instant::now() + SETUP_PATIENCE;
    while !shared.registry().tests.is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(End::Done)
}

/// Warns that a server bound beyond loopback serves every host, unless it authenticates its users.
pub fn warn_of_strangers(bind: &Bind, knows_users: bool) {
    if let Bind::Address(address) = bind
        && !knows_users
    {
        warn_beyond_loopback("plumb", *address, "`plumb net --serve --keys FILE` admits only clients with a token");
    }
}

/// Sockets on which clients arrive.
struct Sockets {
    tcp: Vec<TcpListener>,
    udp: Vec<UdpSocket>,
    other: Vec<OwnedFd>,
}

enum Ready<'a> {
    Tcp(&'a TcpListener),
    Udp(&'a UdpSocket),
    Other(&'a OwnedFd),
}

/// Address at which a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bind {
    /// Loopback, for this host only.
    Loopback,
    Address(IpAddr),
    /// An address outside of the Internet.
    Local(LocalAddress),
}

impl From<Option<IpAddr>> for Bind {
    fn from(address: Option<IpAddr>) -> Bind {
        address.map_or(Bind::Loopback, Bind::Address)
    }
}

fn listen(settings: &Iperf3Settings, bind: &Bind, local: &Local) -> Result<Sockets, ConnectError> {
    let (four, six) = (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST));
    let mut sockets = Sockets { tcp: Vec::new(), udp: Vec::new(), other: Vec::new() };
    let addresses = match (bind, settings.is_v6) {
        (Bind::Local(address), _) => {
            let socket = address.listen()?;
            rustix::io::ioctl_fionbio(&socket, true)?;
            sockets.other.push(socket);
            Vec::new()
        }
        (Bind::Address(address), _) => vec![*address],
        (Bind::Loopback, Some(true)) => vec![six],
        (Bind::Loopback, Some(false)) => vec![four],
        (Bind::Loopback, None) => vec![four, six],
    };
    let options = SocketOptions { shares_port: true, ..local.plain() };
    let multipath = SocketOptions { multipath: true, ..options.clone() };
    for (number, address) in addresses.into_iter().enumerate() {
        let at = SocketAddr::new(address, settings.port);
        // Clients without multipath connect as well. Systems without multipath get plain sockets.
        let listening = listen_tcp(at, &multipath).or_else(|_| listen_tcp(at, &options));
        let opened = listening.and_then(|tcp| {
            tcp.set_nonblocking(true)?;
            let udp = datagram_socket(None, Some(at), &options)?;
            udp.set_nonblocking(true)?;
            Ok((tcp, udp))
        });
        match opened {
            Ok((tcp, udp)) => {
                sockets.tcp.push(tcp);
                let sctp = SocketOptions { sctp: true, ..options.clone() };
                if let Ok(listener) = listen_tcp(at, &sctp)
                    && listener.set_nonblocking(true).is_ok()
                {
                    sockets.tcp.push(listener);
                }
                sockets.udp.push(udp);
            }
            // Hosts without IPv6 have only one loopback address.
            Err(_) if number > 0 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sockets)
}

impl Sockets {
    /// Waits, then returns the sockets with a client.
    fn ready(&self) -> Vec<Ready<'_>> {
        let fds = self.tcp.iter().map(AsFd::as_fd).chain(self.udp.iter().map(AsFd::as_fd));
        let fds = fds.chain(self.other.iter().map(AsFd::as_fd));
        let mut watched: Vec<PollFd<'_>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let longest = Timespec { tv_sec: 0, tv_nsec: POLL_INTERVAL.subsec_nanos().into() };
        // A signal also ends the poll.
        let _ = poll(&mut watched, Some(&longest));
        let all = self.tcp.iter().map(Ready::Tcp).chain(self.udp.iter().map(Ready::Udp));
        let all = all.chain(self.other.iter().map(Ready::Other));
        all.zip(&watched).filter(|(_, watched)| !watched.revents().is_empty()).map(|(socket, _)| socket).collect()
    }
}

/// Handles a connection: a new client, or a stream of a known one.
fn meet(shared: &Arc<Shared>, stream: TcpStream, peer: SocketAddr, order: u64) {
    let Ok(place) = shared.pending.enter(&stream, peer.ip()) else { return };
    let other = Arc::clone(shared);
    let run = move || {
        let shared = &other;
        let mut cookie = [0; COOKIE_BYTES];
        let until = Instant::now() + COOKIE_PATIENCE;
        let met = open(shared, stream).and_then(|mut control| {
            control.read(&mut cookie, until, "a cookie")?;
            Ok(control)
        });
        drop(place);
        // Connections without a cookie are ignored.
        let Ok(mut control) = met else { return };
        let known = {
            let registry = shared.registry();
            let mut all = registry.waiting.iter();
            all.find(|test| !test.udp && same(&test.cookie, &cookie)).map(|test| test.streams.clone())
        };
        if let Some(streams) = known {
            // Data streams are not encrypted.
            if let Control::Plain(socket) = control {
                let local = socket.local_addr();
                // A failure means that the test has given up.
                let _ = streams.send(Arrival { order, socket: socket.into(), local, remote: peer });
            }
            return;
        }
        if shared.identity.is_some() && matches!(control, Control::Plain(_)) {
            let number = AUTHORIZATION_FAILED.to_be_bytes();
            let _ = control.say(State::ServerError).and_then(|()| control.send(&[number, [0; 4]].concat()));
            return;
        }
        let address = peer.ip().to_canonical();
        let Some(number) = admit(shared, address) else {
            let _ = control.say(State::AccessDenied);
            return;
        };
        session::client(shared, control, &cookie, peer, number);
        let mut registry = shared.registry();
        if let Some(at) = registry.tests.iter().position(|test| *test == address) {
            registry.tests.swap_remove(at);
        }
    };
    // If no thread can be started, the connection closes.
    let _ = std::thread::Builder::new().name("iperf3".to_owned()).stack_size(256 << 10).spawn(run);
}

/// Sets up a connection: in TLS if its first byte starts TLS and there is a key. TLS without a key is not answered.
fn open(shared: &Shared, stream: TcpStream) -> Result<Control, TestError> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(COOKIE_PATIENCE))?;
    let mut first = [0];
    let is_tls = stream.peek(&mut first)? > 0 && first[0] == FIRST_BYTE;
    match (Control::new(stream, shared.local.keep_alive)?, &shared.identity, is_tls) {
        (Control::Plain(socket), Some(identity), true) => {
            Ok(Control::Secure(Channel::accept(socket, identity, PURPOSE)?))
        }
        (_, None, true) => Err(TestError::Closed),
        (control, ..) => Ok(control),
    }
}

/// Returns the number of a new test, if there is capacity for it.
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

/// Handles datagrams on the port: first ones of streams, or stray ones.
fn greet(shared: &Shared, socket: &UdpSocket, order: &mut u64) {
    let mut came = VecDeque::new();
    let take = |socket: &UdpSocket, came: &mut VecDeque<(SocketAddr, [u8; 4])>| {
        let mut bytes = [0; 16];
        while came.len() < DATAGRAMS_MAX
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
        // Datagrams that arrived before the socket was connected may belong to other clients.
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
