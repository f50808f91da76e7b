//! Addresses and connections. Sources: socket(7), tcp(7), udp(7), unix(7), vsock(7).
#![allow(unsafe_code)]

use crate::backend::socket::StopCheck;
use crate::backend::{Errno, FileAccess};
use plumb_workload::backend::SocketKind;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::addr::SocketAddrArg as _;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, AddressFamily, RecvFlags, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// How long to retry a connection while the other side is not listening yet.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Interval between connection attempts and checks whether the worker must stop.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);
/// [`RETRY_INTERVAL`] as a system type.
const RETRY_TIMESPEC: Timespec = Timespec { tv_sec: 0, tv_nsec: RETRY_INTERVAL.subsec_nanos() as _ };

/// Socket kind, peer and options of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkRequest {
    pub(crate) kind: SocketKind,
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) listens: bool,
    pub(crate) ping_pong: bool,
    pub(crate) no_delay: bool,
    /// Size of the socket's buffers.
    pub(crate) window_bytes: Option<u64>,
    /// Maximum segment size in bytes.
    pub(crate) segment_bytes: Option<u64>,
    pub(crate) access: FileAccess,
}

/// Error from setting up a link.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("{what}: {source}")]
    System { what: String, source: io::Error },
    #[error("no host is given; name the host to connect to, or use `listens = true` to wait for a connection")]
    NoHost,
    #[error("no port is given; use a `port` from 1 to 65535")]
    NoPort,
    #[error("no address of this kind is known for {host}: {reason}")]
    NoAddress { host: String, reason: String },
    #[error("nothing is listening at {address}: {source}; start the listening side first")]
    Nobody { address: String, source: io::Error },
    #[error("the first datagram was not an opening message; send with Plumb or with fio's net engine")]
    NotOpened,
    #[error("stopped while waiting for the other side")]
    Stopped,
}

impl LinkError {
    /// Returns the system's error number, if there is one.
    pub(crate) fn errno(&self) -> Option<i32> {
        match self {
            LinkError::System { source, .. } | LinkError::Nobody { source, .. } => source.raw_os_error(),
            LinkError::NoHost | LinkError::NoPort | LinkError::NoAddress { .. } => Some(libc::EINVAL),
            LinkError::NotOpened => Some(libc::EPROTO),
            LinkError::Stopped => None,
        }
    }
}

/// Builds a [`LinkError::System`] for `map_err`.
fn failed(what: impl Into<String>) -> impl FnOnce(rustix::io::Errno) -> LinkError {
    let what = what.into();
    move |errno| LinkError::System { what, source: errno.into() }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    /// Sent before the first datagram, in network byte order.
    Open,
    /// Sent after the last message, in little-endian byte order.
    Close,
}

impl Message {
    const MAGIC: u32 = u32::from_be_bytes(*b"link");
    const OPEN: u32 = 0x98;
    const CLOSE: u32 = 0x89;

    /// Encodes the message.
    pub(crate) fn bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        let (magic, word) = match self {
            Message::Open => (Message::MAGIC.to_be_bytes(), Message::OPEN.to_be_bytes()),
            Message::Close => (Message::MAGIC.to_le_bytes(), Message::CLOSE.to_le_bytes()),
        };
        bytes[..4].copy_from_slice(&magic);
        bytes[4..].copy_from_slice(&word);
        bytes
    }

    /// Parses received bytes; `None` if they are not a link message.
    pub(crate) fn parse(received: &[u8]) -> Option<Message> {
        [Message::Open, Message::Close].into_iter().find(|message| received == message.bytes())
    }
}

/// A socket address, with its text for messages.
struct Address {
    any: SocketAddrAny,
    words: String,
}

/// Maximum path length of a Unix socket. Source: unix(7), `sun_path` with its NUL.
const PATH_BYTES_MAX: usize = 107;

impl Address {
    fn internet(address: SocketAddr) -> Address {
        Address { any: address.as_any(), words: address.to_string() }
    }

    fn unix(path: &str) -> Result<Address, LinkError> {
        let none = || {
            let reason = format!("use a path of 1 to {PATH_BYTES_MAX} bytes");
            LinkError::NoAddress { host: path.to_owned(), reason }
        };
        if path.is_empty() || path.len() > PATH_BYTES_MAX {
            return Err(none());
        }
        let address = SocketAddrUnix::new(path).map_err(|_| none())?;
        Ok(Address { any: address.as_any(), words: path.to_owned() })
    }

    #[cfg(target_os = "linux")]
    fn vsock(cid: Option<u32>, port: u16) -> Result<Address, LinkError> {
        let address = libc::sockaddr_vm {
            svm_family: libc::AF_VSOCK as libc::sa_family_t,
            svm_reserved1: 0,
            svm_port: u32::from(port),
            svm_cid: cid.unwrap_or(libc::VMADDR_CID_ANY),
            svm_zero: [0; 4],
        };
        let length = size_of::<libc::sockaddr_vm>() as u32;
        // SAFETY: a socket address of this length, which is copied.
        let any = unsafe { SocketAddrAny::read((&raw const address).cast(), length) };
        let machine = cid.map_or_else(|| "any".to_owned(), |cid| cid.to_string());
        Ok(Address { any, words: format!("vsock {machine}:{port}") })
    }

    #[cfg(not(target_os = "linux"))]
    fn vsock(_: Option<u32>, _: u16) -> Result<Address, LinkError> {
        Err(failed("vsock")(rustix::io::Errno::AFNOSUPPORT))
    }

    /// Resolves the address to listen at or to connect to.
    fn resolve(request: &LinkRequest) -> Result<Address, LinkError> {
        let host = request.host.as_deref();
        if request.kind == SocketKind::Unix {
            return Address::unix(host.ok_or(LinkError::NoHost)?);
        }
        let port = request.port.filter(|&port| port > 0).ok_or(LinkError::NoPort)?;
        let none = |host: &str, reason: String| LinkError::NoAddress { host: host.to_owned(), reason };
        match (request.kind, host) {
            (SocketKind::Vsock, None) if request.listens => Address::vsock(None, port),
            (SocketKind::Vsock, Some(host)) => {
                let cid = host.parse().map_err(|_| none(host, "use the number of the machine (CID)".to_owned()))?;
                Address::vsock(Some(cid), port)
            }
            (_, None) if request.listens => {
                let any: std::net::IpAddr = if request.is_v6() {
                    std::net::Ipv6Addr::UNSPECIFIED.into()
                } else {
                    std::net::Ipv4Addr::UNSPECIFIED.into()
                };
                Ok(Address::internet(SocketAddr::new(any, port)))
            }
            (_, None) => Err(LinkError::NoHost),
            (_, Some(host)) => (host, port)
                .to_socket_addrs()
                .map_err(|error| none(host, error.to_string()))?
                .find(|address| address.is_ipv6() == request.is_v6())
                .map(Address::internet)
                .ok_or_else(|| none(host, "it has only addresses of the other IP version".to_owned())),
        }
    }
}

#[cfg(target_os = "linux")]
const VSOCK: AddressFamily = AddressFamily::VSOCK;
/// A family without any addresses.
#[cfg(not(target_os = "linux"))]
const VSOCK: AddressFamily = AddressFamily::UNSPEC;

impl LinkRequest {
    fn is_v6(&self) -> bool {
        matches!(self.kind, SocketKind::Tcp6 | SocketKind::Udp6)
    }

    fn is_tcp(&self) -> bool {
        matches!(self.kind, SocketKind::Tcp | SocketKind::Tcp6)
    }

    fn is_datagram(&self) -> bool {
        matches!(self.kind, SocketKind::Udp | SocketKind::Udp6)
    }

    fn socket(&self) -> Result<OwnedFd, LinkError> {
        let family = match self.kind {
            SocketKind::Tcp | SocketKind::Udp => AddressFamily::INET,
            SocketKind::Tcp6 | SocketKind::Udp6 => AddressFamily::INET6,
            SocketKind::Unix => AddressFamily::UNIX,
            SocketKind::Vsock => VSOCK,
        };
        let kind = if self.is_datagram() { SocketType::DGRAM } else { SocketType::STREAM };
        let socket = net::socket_with(family, kind, SocketFlags::CLOEXEC, None).map_err(failed("socket"))?;
        let word = |bytes: u64| bytes.min(i32::MAX as u64);
        if let Some(window) = self.window_bytes.map(word) {
            let bytes = usize::try_from(window).unwrap_or(usize::MAX);
            sockopt::set_socket_recv_buffer_size(&socket, bytes).map_err(failed(format!("SO_RCVBUF {window}")))?;
            sockopt::set_socket_send_buffer_size(&socket, bytes).map_err(failed(format!("SO_SNDBUF {window}")))?;
        }
        if let Some(segment) = self.segment_bytes.filter(|_| self.is_tcp()).map(word) {
            set_segment(&socket, segment as libc::c_int).map_err(failed(format!("TCP_MAXSEG {segment}")))?;
        }
        Ok(socket)
    }
}

/// Sets the maximum segment size. No safe wrapper exists. Source: tcp(7), `TCP_MAXSEG`.
fn set_segment(socket: &OwnedFd, bytes: libc::c_int) -> rustix::io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    let option = (&raw const bytes).cast();
    // SAFETY: an option of this size, which outlives the call.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_MAXSEG, option, length) } {
        0 => Ok(()),
        _ => Err(rustix::io::Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(rustix::io::Errno::INVAL)),
    }
}

/// The path of a Unix socket that this process created. Removed on drop.
struct SocketPath(String);

impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A connection, or a datagram socket.
pub(crate) struct Link {
    socket: OwnedFd,
    stream: bool,
    /// Destination of datagrams: the configured address, or the source of the first datagram.
    peer: Option<Address>,
    _made: Option<SocketPath>,
}

impl AsRawFd for Link {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// This side of a link: it listens, or knows the address to connect to.
pub(crate) struct LinkSide {
    request: LinkRequest,
    address: Address,
    listening: Option<Listening>,
}

impl LinkSide {
    pub(crate) fn new(request: &LinkRequest) -> Result<LinkSide, LinkError> {
        let address = Address::resolve(request)?;
        let listening = request.listens.then(|| listen(request, &address)).transpose()?;
        Ok(LinkSide { request: request.clone(), address, listening })
    }

    /// Connects, or waits for a connection.
    pub(crate) fn meet(self, stops: StopCheck<'_>) -> Result<Link, LinkError> {
        let LinkSide { request, address, listening } = self;
        let link = match listening {
            Some(listening) => listening.accept(&request, &address, stops)?,
            None => connect(&request, address, stops)?,
        };
        link.opened(&request, stops)
    }
}

impl Link {
    /// Sets socket options and exchanges the opening message of datagrams.
    fn opened(self, request: &LinkRequest, stops: StopCheck<'_>) -> Result<Link, LinkError> {
        let mut link = self;
        if request.no_delay && request.is_tcp() {
            sockopt::set_tcp_nodelay(&link.socket, true).map_err(failed("TCP_NODELAY"))?;
        }
        link.set_wakeups()?;
        if request.is_datagram() {
            if request.access == FileAccess::ReadWrite {
                let open = Message::Open.bytes();
                link.send(open.as_ptr(), open.len(), 0).map_err(|errno| LinkError::System {
                    what: "the opening message".to_owned(),
                    source: io::Error::from_raw_os_error(errno.0),
                })?;
            } else {
                link.await_opening(stops)?;
            }
        }
        Ok(link)
    }

    /// Sets timeouts on the socket, so that blocked calls return regularly to check whether the worker must stop.
    fn set_wakeups(&self) -> Result<(), LinkError> {
        for direction in [Timeout::Recv, Timeout::Send] {
            sockopt::set_socket_timeout(&self.socket, direction, Some(RETRY_INTERVAL))
                .map_err(failed("SO_RCVTIMEO"))?;
        }
        Ok(())
    }

    fn await_opening(&mut self, stops: StopCheck<'_>) -> Result<(), LinkError> {
        let mut first = [0u8; 64];
        loop {
            if stops() {
                return Err(LinkError::Stopped);
            }
            match net::recvfrom(&self.socket, &mut first[..], RecvFlags::empty()) {
                Ok((got, _, from)) if Message::parse(&first[..got]) == Some(Message::Open) => {
                    self.peer = from.map(|any| Address { any, words: String::new() });
                    return Ok(());
                }
                Ok(_) => return Err(LinkError::NotOpened),
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(failed("waiting for the opening message")(errno)),
            }
        }
    }

    /// Shuts down the sending direction. Queued data is still sent.
    pub(crate) fn end_sending(&self) {
        let _ = net::shutdown(&self.socket, net::Shutdown::Write);
    }

    /// Returns `true` for a byte stream, `false` for datagrams.
    pub(crate) fn is_stream(&self) -> bool {
        self.stream
    }

    /// Sends some of the bytes on a stream, or all of them as one datagram.
    #[inline]
    pub(crate) fn send(&self, from: *const u8, length: usize, flags: libc::c_int) -> Result<usize, Errno> {
        let (peer, peer_length) =
            self.peer.as_ref().map_or((std::ptr::null(), 0), |peer| (peer.any.as_ptr().cast(), peer.any.addr_len()));
        let flags = flags | libc::MSG_NOSIGNAL;
        // SAFETY: the caller's memory has this length; the address outlives the call or is null.
        let sent = unsafe { libc::sendto(self.as_raw_fd(), from.cast(), length, flags, peer, peer_length) };
        if sent < 0 { Err(Errno::last()) } else { Ok(sent as usize) }
    }

    /// Receives `length` bytes from a stream, or fewer if interrupted, or one datagram. 0 means the end of a stream.
    #[inline]
    pub(crate) fn receive(&self, into: *mut u8, length: usize) -> Result<usize, Errno> {
        let flags = if self.stream { libc::MSG_WAITALL } else { 0 };
        // SAFETY: the caller's memory has this length.
        let got = unsafe { libc::recv(self.as_raw_fd(), into.cast(), length, flags) };
        if got < 0 { Err(Errno::last()) } else { Ok(got as usize) }
    }
}

/// A bound socket that waits for the other side.
struct Listening {
    socket: OwnedFd,
    made: Option<SocketPath>,
}

fn listen(request: &LinkRequest, address: &Address) -> Result<Listening, LinkError> {
    let socket = request.socket()?;
    let mut made = None;
    if request.kind == SocketKind::Unix {
        remove_stale(&address.words)?;
    } else {
        sockopt::set_socket_reuseaddr(&socket, true).map_err(failed("SO_REUSEADDR"))?;
    }
    net::bind(&socket, &address.any).map_err(failed(format!("bind to {}", address.words)))?;
    if request.kind == SocketKind::Unix {
        made = Some(SocketPath(address.words.clone()));
    }
    if request.is_datagram() {
        join_group(&socket, request)?;
    }
    if !request.is_datagram() {
        net::listen(&socket, 1).map_err(failed(format!("listen at {}", address.words)))?;
    }
    Ok(Listening { socket, made })
}

impl Listening {
    fn accept(self, request: &LinkRequest, address: &Address, stops: StopCheck<'_>) -> Result<Link, LinkError> {
        let Listening { socket, made } = self;
        if request.is_datagram() {
            return Ok(Link { socket, stream: false, peer: None, _made: made });
        }
        loop {
            if stops() {
                return Err(LinkError::Stopped);
            }
            let ready = poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&RETRY_TIMESPEC));
            if ready.is_ok_and(|ready| ready > 0) {
                break;
            }
        }
        let accepted = net::accept_with(&socket, SocketFlags::CLOEXEC);
        let socket = accepted.map_err(failed(format!("accept at {}", address.words)))?;
        Ok(Link { socket, stream: true, peer: None, _made: made })
    }
}

/// Joins the multicast group of the configured address, on the interface that the
/// system chooses. Source: ip(7), ipv6(7).
fn join_group(socket: &OwnedFd, request: &LinkRequest) -> Result<(), LinkError> {
    let Some(host) = &request.host else { return Ok(()) };
    let what = format!("joining the group {host}");
    match host.parse() {
        Ok(IpAddr::V4(group)) if group.is_multicast() => {
            sockopt::set_ip_add_membership(socket, &group, &Ipv4Addr::UNSPECIFIED).map_err(failed(what))
        }
        Ok(IpAddr::V6(group)) if group.is_multicast() => {
            sockopt::set_ipv6_add_membership(socket, &group, 0).map_err(failed(what))
        }
        _ => Ok(()),
    }
}

/// Removes a stale socket of an earlier run. Any other file of this name is left alone, and `bind` will fail.
fn remove_stale(path: &str) -> Result<(), LinkError> {
    use std::os::unix::fs::FileTypeExt;
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => {
            std::fs::remove_file(path).map_err(|source| LinkError::System { what: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

fn connect(request: &LinkRequest, address: Address, stops: StopCheck<'_>) -> Result<Link, LinkError> {
    if request.is_datagram() {
        return Ok(Link { socket: request.socket()?, stream: false, peer: Some(address), _made: None });
    }
    let patience = Instant::now() + CONNECT_PATIENCE;
    loop {
        // A socket cannot be reused after a refused connection.
        let socket = request.socket()?;
        let Err(errno) = net::connect(&socket, &address.any) else {
            return Ok(Link { socket, stream: true, peer: None, _made: None });
        };
        let source = io::Error::from(errno);
        if stops() {
            return Err(LinkError::Stopped);
        }
        let may_come =
            matches!(source.raw_os_error(), Some(libc::ECONNREFUSED | libc::ENOENT | libc::EINTR | libc::ECONNRESET));
        if !may_come || Instant::now() > patience {
            return Err(LinkError::Nobody { address: address.words, source });
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
}
