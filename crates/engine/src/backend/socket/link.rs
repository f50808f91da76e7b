//! Addresses and connections. Sources: socket(7), tcp(7), udp(7), unix(7), vsock(7).
#![allow(unsafe_code)]

use crate::backend::socket::StopCheck;
use crate::backend::{Errno, FileAccess};
use plumb_workload::backend::SocketKind;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// So long the other side may take to be there when a connection is made.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// How often is looked whether it is there, or whether the worker is to end.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What kind of socket, to whom, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkRequest {
    pub(crate) kind: SocketKind,
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) listens: bool,
    pub(crate) ping_pong: bool,
    pub(crate) no_delay: bool,
    /// Bytes of the socket's buffers.
    pub(crate) window_bytes: Option<u64>,
    /// Bytes of the largest segment.
    pub(crate) segment_bytes: Option<u64>,
    pub(crate) access: FileAccess,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("{what}: {source}")]
    System { what: String, source: io::Error },
    #[error("no host is said; say whom to connect to, or use `listens = true` to wait for a connection")]
    NoHost,
    #[error("no port is said; use a `port` from 1 to 65535")]
    NoPort,
    #[error("no address of this kind is known for {host}: {reason}")]
    NoAddress { host: String, reason: String },
    #[error("nobody waits at {address}: {source}; start the listening side first")]
    Nobody { address: String, source: io::Error },
    #[error("the first datagram was no opening message; send with Plumb or with fio's net engine")]
    NotOpened,
    #[error("stopped while it waited for the other side")]
    Stopped,
}

impl LinkError {
    /// The system's number for it, where there is one.
    pub(crate) fn errno(&self) -> Option<i32> {
        match self {
            LinkError::System { source, .. } | LinkError::Nobody { source, .. } => source.raw_os_error(),
            LinkError::NoHost | LinkError::NoPort | LinkError::NoAddress { .. } => Some(libc::EINVAL),
            LinkError::NotOpened => Some(libc::EPROTO),
            LinkError::Stopped => None,
        }
    }
}

fn failed(what: impl Into<String>) -> LinkError {
    LinkError::System { what: what.into(), source: io::Error::last_os_error() }
}

/// A message about the link itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    /// Before the first datagram. In the order of the network.
    Open,
    /// After the last message. Least significant byte first.
    Close,
}

impl Message {
    const MAGIC: u32 = u32::from_be_bytes(*b"link");
    const OPEN: u32 = 0x98;
    const CLOSE: u32 = 0x89;

    /// As it travels.
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

    /// Which message this is, if it is one.
    pub(crate) fn of(received: &[u8]) -> Option<Message> {
        [Message::Open, Message::Close].into_iter().find(|message| received == message.bytes())
    }
}

/// An address as the system has it.
struct Address {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
    words: String,
}

impl Address {
    /// Puts an address of the type `T` into storage.
    fn from_parts<T>(address: T, length: usize, words: String) -> Address {
        debug_assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>());
        // SAFETY: plain data, valid when zeroed.
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        // SAFETY: every socket address fits into the storage, and is aligned as it.
        unsafe { std::ptr::from_mut(&mut storage).cast::<T>().write(address) };
        Address { storage, length: length as libc::socklen_t, words }
    }

    fn pointer(&self) -> *const libc::sockaddr {
        std::ptr::from_ref(&self.storage).cast()
    }

    fn internet(address: SocketAddr) -> Address {
        let words = address.to_string();
        match address {
            SocketAddr::V4(address) => Address::from_parts(
                libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: address.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
                    sin_zero: [0; 8],
                },
                size_of::<libc::sockaddr_in>(),
                words,
            ),
            SocketAddr::V6(address) => Address::from_parts(
                libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: address.port().to_be(),
                    sin6_flowinfo: address.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                    sin6_scope_id: address.scope_id(),
                },
                size_of::<libc::sockaddr_in6>(),
                words,
            ),
        }
    }

    fn unix(path: &str) -> Result<Address, LinkError> {
        // SAFETY: plain data, valid when zeroed.
        let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let bytes = Path::new(path).as_os_str().as_bytes();
        if bytes.is_empty() || bytes.len() >= address.sun_path.len() || bytes.contains(&0) {
            let reason = format!("use a path of 1 to {} bytes", address.sun_path.len() - 1);
            return Err(LinkError::NoAddress { host: path.to_owned(), reason });
        }
        for (to, from) in address.sun_path.iter_mut().zip(bytes) {
            *to = *from as libc::c_char;
        }
        let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + bytes.len() + 1;
        Ok(Address::from_parts(address, length, path.to_owned()))
    }

    fn vsock(cid: u32, port: u16) -> Address {
        // SAFETY: plain data, valid when zeroed.
        let mut address: libc::sockaddr_vm = unsafe { std::mem::zeroed() };
        address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
        address.svm_cid = cid;
        address.svm_port = u32::from(port);
        Address::from_parts(address, size_of::<libc::sockaddr_vm>(), format!("vsock {cid}:{port}"))
    }

    /// Where to listen, or whom to connect to.
    fn of(request: &LinkRequest) -> Result<Address, LinkError> {
        let host = request.host.as_deref();
        if request.kind == SocketKind::Unix {
            return Address::unix(host.ok_or(LinkError::NoHost)?);
        }
        let port = request.port.filter(|&port| port > 0).ok_or(LinkError::NoPort)?;
        let none = |host: &str, reason: String| LinkError::NoAddress { host: host.to_owned(), reason };
        match (request.kind, host) {
            (SocketKind::Vsock, None) if request.listens => Ok(Address::vsock(libc::VMADDR_CID_ANY, port)),
            (SocketKind::Vsock, Some(host)) => {
                let cid = host.parse().map_err(|_| none(host, "use the number of the machine (CID)".to_owned()))?;
                Ok(Address::vsock(cid, port))
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
                .ok_or_else(|| none(host, "it has addresses of the other version only".to_owned())),
        }
    }
}

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
        let domain = match self.kind {
            SocketKind::Tcp | SocketKind::Udp => libc::AF_INET,
            SocketKind::Tcp6 | SocketKind::Udp6 => libc::AF_INET6,
            SocketKind::Unix => libc::AF_UNIX,
            SocketKind::Vsock => libc::AF_VSOCK,
        };
        let kind = if self.is_datagram() { libc::SOCK_DGRAM } else { libc::SOCK_STREAM };
        // SAFETY: no memory is passed.
        let fd = unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(failed("socket"));
        }
        // SAFETY: a fresh descriptor that nothing else owns.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let word = |bytes: u64| bytes.min(i32::MAX as u64) as libc::c_int;
        if let Some(window) = self.window_bytes.map(word) {
            set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, window, &format!("SO_RCVBUF {window}"))?;
            set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, window, &format!("SO_SNDBUF {window}"))?;
        }
        if let Some(segment) = self.segment_bytes.filter(|_| self.is_tcp()).map(word) {
            set(&socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, segment, &format!("TCP_MAXSEG {segment}"))?;
        }
        Ok(socket)
    }
}

/// Sets an option whose value is a `T` of the C library.
fn set<T: Copy>(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: T,
    what: &str,
) -> Result<(), LinkError> {
    let (pointer, length) = (std::ptr::from_ref(&value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: an option of this size, which lives through the call.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, pointer, length) } {
        0 => Ok(()),
        _ => Err(failed(what)),
    }
}

/// A file system's socket that was made here, removed with it.
struct Made(String);

impl Drop for Made {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A connection, or a socket of datagrams.
pub(crate) struct Link {
    socket: OwnedFd,
    stream: bool,
    /// Where datagrams go: the address that was said, or that the first one came from.
    peer: Option<Address>,
    _made: Option<Made>,
}

impl AsRawFd for Link {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// This side of a link: it knows whom to connect to, or listens.
pub(crate) struct Side {
    request: LinkRequest,
    address: Address,
    listening: Option<Listening>,
}

impl Side {
    pub(crate) fn new(request: &LinkRequest) -> Result<Side, LinkError> {
        let address = Address::of(request)?;
        let listening = request.listens.then(|| listen(request, &address)).transpose()?;
        Ok(Side { request: request.clone(), address, listening })
    }

    /// Connects, or waits for a connection.
    pub(crate) fn meet(self, stops: StopCheck<'_>) -> Result<Link, LinkError> {
        let Side { request, address, listening } = self;
        let link = match listening {
            Some(listening) => listening.accept(&request, &address, stops)?,
            None => connect(&request, address, stops)?,
        };
        link.opened(&request, stops)
    }
}

impl Link {
    /// Sets what is to be set, and announces datagrams.
    fn opened(self, request: &LinkRequest, stops: StopCheck<'_>) -> Result<Link, LinkError> {
        let mut link = self;
        if request.no_delay && request.is_tcp() {
            set(&link.socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1 as libc::c_int, "TCP_NODELAY")?;
        }
        link.look_up_now_and_then()?;
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

    /// Waiting calls return now and then, to see whether the worker is to end.
    fn look_up_now_and_then(&self) -> Result<(), LinkError> {
        let time = libc::timeval { tv_sec: 0, tv_usec: LOOK_AGAIN.as_micros() as _ };
        for option in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
            let (pointer, length) = (std::ptr::from_ref(&time).cast(), size_of::<libc::timeval>() as libc::socklen_t);
            // SAFETY: an option of the size of a timeval, which lives through the call.
            if unsafe { libc::setsockopt(self.as_raw_fd(), libc::SOL_SOCKET, option, pointer, length) } != 0 {
                return Err(failed("SO_RCVTIMEO"));
            }
        }
        Ok(())
    }

    fn await_opening(&mut self, stops: StopCheck<'_>) -> Result<(), LinkError> {
        let mut first = [0u8; 64];
        // SAFETY: plain data, valid when zeroed.
        let mut from: Address = Address { storage: unsafe { std::mem::zeroed() }, length: 0, words: String::new() };
        loop {
            if stops() {
                return Err(LinkError::Stopped);
            }
            from.length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            // SAFETY: as much memory as is said, for the datagram and for the address.
            let got = unsafe {
                libc::recvfrom(
                    self.as_raw_fd(),
                    first.as_mut_ptr().cast(),
                    first.len(),
                    0,
                    std::ptr::from_mut(&mut from.storage).cast(),
                    &raw mut from.length,
                )
            };
            match usize::try_from(got) {
                Ok(got) if Message::of(&first[..got]) == Some(Message::Open) => {
                    self.peer = Some(from);
                    return Ok(());
                }
                Ok(_) => return Err(LinkError::NotOpened),
                Err(_) => match Errno::last() {
                    Errno(libc::EAGAIN | libc::EINTR) => {}
                    _ => return Err(failed("waiting for the opening message")),
                },
            }
        }
    }

    /// Whether bytes have no borders.
    pub(crate) fn is_stream(&self) -> bool {
        self.stream
    }

    /// Sends some of these bytes, or the one datagram that they are.
    #[inline]
    pub(crate) fn send(&self, from: *const u8, length: usize, flags: libc::c_int) -> Result<usize, Errno> {
        let (peer, peer_length) =
            self.peer.as_ref().map_or((std::ptr::null(), 0), |peer| (peer.pointer(), peer.length));
        let flags = flags | libc::MSG_NOSIGNAL;
        // SAFETY: the caller's memory of this length; an address that lives through the call, or none.
        let sent = unsafe { libc::sendto(self.as_raw_fd(), from.cast(), length, flags, peer, peer_length) };
        if sent < 0 { Err(Errno::last()) } else { Ok(sent as usize) }
    }

    /// Receives as many bytes, as far as they come at once, or one datagram. 0 is the end of a stream.
    #[inline]
    pub(crate) fn receive(&self, into: *mut u8, length: usize) -> Result<usize, Errno> {
        let flags = if self.stream { libc::MSG_WAITALL } else { 0 };
        // SAFETY: the caller's memory of this length.
        let got = unsafe { libc::recv(self.as_raw_fd(), into.cast(), length, flags) };
        if got < 0 { Err(Errno::last()) } else { Ok(got as usize) }
    }
}

/// A socket that can be found.
struct Listening {
    socket: OwnedFd,
    made: Option<Made>,
}

fn listen(request: &LinkRequest, address: &Address) -> Result<Listening, LinkError> {
    let socket = request.socket()?;
    let mut made = None;
    if request.kind == SocketKind::Unix {
        remove_stale(&address.words)?;
    } else {
        set(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1 as libc::c_int, "SO_REUSEADDR")?;
    }
    // SAFETY: an address of this length.
    if unsafe { libc::bind(socket.as_raw_fd(), address.pointer(), address.length) } < 0 {
        return Err(failed(format!("bind to {}", address.words)));
    }
    if request.kind == SocketKind::Unix {
        made = Some(Made(address.words.clone()));
    }
    if request.is_datagram() {
        join_group(&socket, request)?;
    }
    // SAFETY: no memory is passed.
    if !request.is_datagram() && unsafe { libc::listen(socket.as_raw_fd(), 1) } < 0 {
        return Err(failed(format!("listen at {}", address.words)));
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
            let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one pollfd that lives through the call.
            if unsafe { libc::poll(&raw mut poll, 1, LOOK_AGAIN.as_millis() as libc::c_int) } > 0 {
                break;
            }
        }
        let none = std::ptr::null_mut();
        // SAFETY: nobody wants the address.
        let fd = unsafe { libc::accept4(socket.as_raw_fd(), none, std::ptr::null_mut(), libc::SOCK_CLOEXEC) };
        if fd < 0 {
            return Err(failed(format!("accept at {}", address.words)));
        }
        // SAFETY: a fresh descriptor that nothing else owns.
        Ok(Link { socket: unsafe { OwnedFd::from_raw_fd(fd) }, stream: true, peer: None, _made: made })
    }
}

/// Joins the group whose address was said, on the interface that the system chooses. Source: ip(7), ipv6(7).
fn join_group(socket: &OwnedFd, request: &LinkRequest) -> Result<(), LinkError> {
    let Some(host) = &request.host else { return Ok(()) };
    let what = format!("joining the group {host}");
    match host.parse() {
        Ok(IpAddr::V4(group)) if group.is_multicast() => {
            let membership = libc::ip_mreq {
                imr_multiaddr: libc::in_addr { s_addr: u32::from_ne_bytes(group.octets()) },
                imr_interface: libc::in_addr { s_addr: libc::INADDR_ANY },
            };
            set(socket, libc::IPPROTO_IP, libc::IP_ADD_MEMBERSHIP, membership, &what)
        }
        Ok(IpAddr::V6(group)) if group.is_multicast() => {
            let membership =
                libc::ipv6_mreq { ipv6mr_multiaddr: libc::in6_addr { s6_addr: group.octets() }, ipv6mr_interface: 0 };
            set(socket, libc::IPPROTO_IPV6, libc::IPV6_ADD_MEMBERSHIP, membership, &what)
        }
        _ => Ok(()),
    }
}

/// Removes a socket that an earlier run left. Anything else of this name stays, and is an error.
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
        // A socket whose connection was refused is not tried again.
        let socket = request.socket()?;
        // SAFETY: an address of this length.
        if unsafe { libc::connect(socket.as_raw_fd(), address.pointer(), address.length) } == 0 {
            return Ok(Link { socket, stream: true, peer: None, _made: None });
        }
        let source = io::Error::last_os_error();
        if stops() {
            return Err(LinkError::Stopped);
        }
        let may_come =
            matches!(source.raw_os_error(), Some(libc::ECONNREFUSED | libc::ENOENT | libc::EINTR | libc::ECONNRESET));
        if !may_come || Instant::now() > patience {
            return Err(LinkError::Nobody { address: address.words, source });
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}
