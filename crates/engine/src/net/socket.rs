//! System calls on sockets that the standard library lacks. Sources: socket(7), tcp(7), udp(7), splice(2).
#![allow(unsafe_code)]

use super::options::{OptionError, SocketOptions};
use crate::backend::{Completion, Errno, completion};
use crate::clock::monotonic_ns;
use plumb_workload::net::Transport;
use rustix::net::{self, AddressFamily, SocketType};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

/// Sets a numeric option.
pub(super) fn set_number(fd: RawFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    set_bytes(fd, level, name, &value.to_ne_bytes())
}

pub(super) fn set_bytes(fd: RawFd, level: i32, name: i32, value: &[u8]) -> io::Result<()> {
    // SAFETY: reads only the bytes of `value`.
    match unsafe { libc::setsockopt(fd, level, name, value.as_ptr().cast(), value.len() as u32) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads an option's bytes and returns their number.
fn get_bytes(fd: RawFd, level: i32, name: i32, into: &mut [u8]) -> Option<usize> {
    let mut length = into.len() as libc::socklen_t;
    // SAFETY: writes at most `length` bytes.
    let done = unsafe { libc::getsockopt(fd, level, name, into.as_mut_ptr().cast(), &raw mut length) };
    (done == 0).then_some((length as usize).min(into.len()))
}

/// Returns the sizes of a socket's send and receive buffers, bytes.
pub fn buffers(socket: BorrowedFd<'_>) -> [u64; 2] {
    [libc::SO_SNDBUF, libc::SO_RCVBUF].map(|name| {
        let mut value = [0; 4];
        get_bytes(socket.as_raw_fd(), libc::SOL_SOCKET, name, &mut value);
        u64::try_from(i32::from_ne_bytes(value)).unwrap_or(0)
    })
}

/// Returns the maximum segment size of a TCP socket, bytes.
pub fn segment_bytes(socket: BorrowedFd<'_>) -> Option<u32> {
    let mut value = [0; 4];
    get_bytes(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_MAXSEG, &mut value)?;
    u32::try_from(i32::from_ne_bytes(value)).ok()
}

/// Keepalive probing of an idle connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// Idle time before the first probe, seconds.
    pub idle_s: u32,
    /// Interval between probes, seconds.
    pub interval_s: u32,
    /// Unanswered probes that end the connection.
    pub count: u32,
}

impl Default for KeepAlive {
    /// Detects a dead peer within 20 s.
    fn default() -> KeepAlive {
        KeepAlive { idle_s: 5, interval_s: 5, count: 3 }
    }
}

/// Enables keepalive, so that the system detects a dead peer.
pub fn watch(socket: impl AsFd, how: KeepAlive) {
    use net::sockopt::{set_socket_keepalive, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl};
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    // If keepalive is unavailable, deadlines end a test.
    let _ = set_socket_keepalive(&socket, true);
    let _ = set_tcp_keepidle(&socket, seconds(how.idle_s));
    let _ = set_tcp_keepintvl(&socket, seconds(how.interval_s));
    let _ = set_tcp_keepcnt(&socket, how.count);
}

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error(transparent)]
    Option(#[from] OptionError),
    #[error("{0}")]
    System(#[from] io::Error),
}

impl From<rustix::io::Errno> for ConnectError {
    fn from(error: rustix::io::Errno) -> ConnectError {
        ConnectError::System(error.into())
    }
}

pub(super) fn new_socket(
    of: &SocketAddr,
    bind: Option<SocketAddr>,
    transport: Transport,
    options: &SocketOptions,
) -> Result<OwnedFd, ConnectError> {
    let family = if of.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let kind = if transport == Transport::Tcp { SocketType::STREAM } else { SocketType::DGRAM };
    #[cfg(target_os = "linux")]
    let socket = {
        let protocol = match (transport, options.sctp, options.multipath) {
            (Transport::Tcp, true, _) => Some(net::ipproto::SCTP),
            (Transport::Tcp, false, true) => Some(net::ipproto::MPTCP),
            _ => None,
        };
        net::socket_with(family, kind, net::SocketFlags::CLOEXEC, protocol)?
    };
    #[cfg(not(target_os = "linux"))]
    let socket = net::socket(family, kind, None)?;
    #[cfg(not(target_os = "linux"))]
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    options.set(socket.as_fd(), transport, of.is_ipv6())?;
    if let Some(bind) = bind {
        net::bind(&socket, &bind)?;
    }
    Ok(socket)
}

/// Checks that this system supports SCTP.
///
/// # Errors
/// The reason why it does not.
pub fn has_sctp() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    let protocol = net::ipproto::SCTP;
    #[cfg(not(target_os = "linux"))]
    let protocol = net::ipproto::TCP;
    Ok(net::socket(AddressFamily::INET, SocketType::STREAM, Some(protocol)).map(drop)?)
}

/// Connects to an address within this time, optionally from a given local address.
///
/// # Errors
/// An option that the system refuses, or no connection.
pub fn connect_tcp(
    to: SocketAddr,
    bind: Option<SocketAddr>,
    options: &SocketOptions,
    longest: Duration,
) -> Result<TcpStream, ConnectError> {
    let socket = new_socket(&to, bind, Transport::Tcp, options)?;
    let to = options.with_flow_label(socket.as_fd(), to)?;
    connect_socket(socket, to, longest)
}

/// Listens for connections at an address.
///
/// # Errors
/// An option or the address that the system refuses.
pub fn listen_tcp(at: SocketAddr, options: &SocketOptions) -> Result<TcpListener, ConnectError> {
    let socket = new_socket(&at, Some(at), Transport::Tcp, options)?;
    net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// Maximum number of connections waiting to be accepted.
const BACKLOG: i32 = 512;

/// Restricts a socket to hosts on the same link, without routers. Source: socket(7), `SO_DONTROUTE`.
///
/// # Errors
/// The system's error.
pub fn keep_off_routers(socket: impl AsFd) -> io::Result<()> {
    set_number(socket.as_fd().as_raw_fd(), libc::SOL_SOCKET, libc::SO_DONTROUTE, 1)
}

/// Connects a TCP socket within this time.
///
/// # Errors
/// The connection failed or timed out.
pub fn connect_socket(socket: OwnedFd, to: SocketAddr, longest: Duration) -> Result<TcpStream, ConnectError> {
    // The send timeout also limits connect(2).
    net::sockopt::set_socket_timeout(&socket, net::sockopt::Timeout::Send, Some(longest))?;
    match net::connect(&socket, &to) {
        Err(rustix::io::Errno::INPROGRESS | rustix::io::Errno::AGAIN) => Err(rustix::io::Errno::TIMEDOUT.into()),
        Err(error) => Err(error.into()),
        Ok(()) => {
            net::sockopt::set_socket_timeout(&socket, net::sockopt::Timeout::Send, None)?;
            Ok(socket.into())
        }
    }
}

/// Creates a datagram socket, bound to an address, connected to another, or both.
///
/// # Errors
/// An option or an address that the system refuses.
pub fn datagram_socket(
    to: Option<SocketAddr>,
    bind: Option<SocketAddr>,
    options: &SocketOptions,
) -> Result<UdpSocket, ConnectError> {
    let any = SocketAddr::from(([0, 0, 0, 0], 0));
    let socket = new_socket(&to.or(bind).unwrap_or(any), bind, Transport::Udp, options)?;
    if let Some(to) = to {
        net::connect(&socket, &options.with_flow_label(socket.as_fd(), to)?)?;
    }
    Ok(socket.into())
}

/// Returns the congestion control algorithm of a TCP socket.
pub fn congestion(socket: BorrowedFd<'_>) -> Option<String> {
    let mut name = [0; 16];
    let length = get_bytes(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut name)?;
    let text = name[..length].split(|&byte| byte == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// Kernel statistics of a TCP connection. Source: linux/tcp.h, `struct tcp_info`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpFacts {
    /// Segments retransmitted since the connection began.
    pub retransmits: u64,
    /// Congestion window, bytes.
    pub window: u64,
    /// The receiver's window, bytes.
    pub receiver_window: u64,
    /// Smoothed round trip time, µs.
    pub rtt_us: u64,
    /// Variation of the round trip time, µs.
    pub rtt_variation_us: u64,
    /// Largest packet of the path, bytes.
    pub path_mtu: u64,
    /// Reordering distance of segments up to which none counts as lost.
    pub reordering: u64,
    /// Segment size, bytes.
    pub segment: u64,
    /// Unacknowledged segments plus unsent bytes; 0 if everything has arrived.
    pub in_flight: u64,
}

impl TcpFacts {
    /// Returns the statistics of a socket; `None` if it is not a TCP socket.
    pub fn of_socket(socket: BorrowedFd<'_>) -> Option<TcpFacts> {
        TcpFacts::read(socket.as_raw_fd())
    }

    #[cfg(target_os = "linux")]
    pub(super) fn read(fd: RawFd) -> Option<TcpFacts> {
        let mut info = [0; 232];
        get_bytes(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
        let word = |at: usize| u64::from(u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]));
        let segment = word(16);
        Some(TcpFacts {
            retransmits: word(100),
            window: word(80) * segment,
            receiver_window: word(228),
            rtt_us: word(68),
            rtt_variation_us: word(72),
            path_mtu: word(60),
            reordering: word(88),
            segment,
            in_flight: word(24) + word(144),
        })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn read(_: RawFd) -> Option<TcpFacts> {
        None
    }
}

/// Maximum number of vectors per call.
const VECTORS: usize = 16;

/// Calls `call` with a message that sends from, or receives into, the same block repeatedly. The
/// block stays in the processor's cache.
pub(super) fn with_vectors<R>(
    block: *mut u8,
    size: usize,
    from: usize,
    length: usize,
    call: impl FnOnce(&mut libc::msghdr) -> R,
) -> R {
    let vector =
        |from: usize, length: usize| libc::iovec { iov_base: block.wrapping_add(from).cast(), iov_len: length };
    let mut vectors = [vector(0, 0); VECTORS];
    let (mut at, mut left, mut count) = (from % size, length, 0);
    while left > 0 && count < VECTORS {
        let part = left.min(size - at);
        vectors[count] = vector(at, part);
        (at, left, count) = (0, left - part, count + 1);
    }
    // SAFETY: plain data, valid when zeroed.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = vectors.as_mut_ptr();
    message.msg_iovlen = count as _;
    call(&mut message)
}

/// Receives up to `into.len()` bytes in one call.
#[inline]
pub(super) fn receive_once(fd: RawFd, into: &mut [u8], flags: i32) -> Completion {
    // SAFETY: writes only into `into`.
    completion(unsafe { libc::recv(fd, into.as_mut_ptr().cast(), into.len(), flags) })
}

/// Busy-polls for up to `poll_us` until a descriptor is ready.
pub(super) fn busy_poll(fd: RawFd, events: i16, poll_us: u32) -> bool {
    let until = monotonic_ns() + u64::from(poll_us) * 1000;
    loop {
        let mut asked = libc::pollfd { fd, events, revents: 0 };
        // SAFETY: passes one structure, which outlives the call.
        if unsafe { libc::poll(&raw mut asked, 1, 0) } > 0 {
            return true;
        }
        if monotonic_ns() >= until {
            return false;
        }
        std::hint::spin_loop();
    }
}

/// Accepts the next connection from this address and closes those from others. The connection
/// inherits the timeouts of its listener.
pub(super) fn accept_from(fd: RawFd, of: Option<IpAddr>) -> Result<OwnedFd, Errno> {
    // SAFETY: the descriptor belongs to a flow, which outlives its worker.
    let listener = unsafe { BorrowedFd::borrow_raw(fd) };
    let (socket, from) = net::acceptfrom(listener)?;
    let from = from.and_then(|from| SocketAddr::try_from(from).ok()).map(|from| from.ip().to_canonical());
    if of.is_some() && from != of { Err(Errno(libc::EINTR)) } else { Ok(socket) }
}

/// Sends bytes of an endlessly repeated block, starting at `from`.
#[inline]
pub(super) fn send(fd: RawFd, block: &mut [u8], from: usize, length: usize) -> Completion {
    let flags = libc::MSG_NOSIGNAL;
    with_vectors(block.as_mut_ptr(), block.len(), from, length, |message| {
        // SAFETY: the vectors point into the block, which lives until the call returns.
        completion(unsafe { libc::sendmsg(fd, message, flags) })
    })
}

/// Receives into a block, overwriting it if more arrives.
#[inline]
pub(super) fn receive(fd: RawFd, block: &mut [u8], length: usize) -> Completion {
    with_vectors(block.as_mut_ptr(), block.len(), 0, length, |message| {
        // SAFETY: the vectors point into the block, which is borrowed mutably for the call;
        // the received bytes are never read.
        completion(unsafe { libc::recvmsg(fd, message, 0) })
    })
}

/// Discards received bytes of a stream without copying them. Source: tcp(7), `MSG_TRUNC`.
pub(super) fn drop_received(fd: RawFd, length: usize) -> Completion {
    // SAFETY: with this flag, the kernel drops a stream's bytes and writes no memory.
    completion(unsafe { libc::recv(fd, std::ptr::null_mut(), length, libc::MSG_TRUNC) })
}

/// Sends memory as one datagram, or as a train if the socket segments it.
#[inline]
pub(super) fn send_once(fd: RawFd, bytes: &[u8]) -> Completion {
    // SAFETY: reads only `bytes`.
    completion(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) })
}

/// Datagrams received in one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Train {
    pub(super) bytes: usize,
    /// Length of each datagram but the last; 0 for a single datagram.
    pub(super) each: usize,
}

/// Option names of udp(7), of the level `SOL_UDP`.
#[cfg(target_os = "linux")]
pub(super) const UDP: (i32, i32, i32) = (17, 103, 104);

/// Receives a datagram, or a train if the socket accepts trains.
#[cfg(target_os = "linux")]
#[inline]
pub(super) fn receive_train(fd: RawFd, into: &mut [u8], flags: i32) -> Result<Train, Errno> {
    let (level, _, name) = UDP;
    // Aligned as control messages require.
    let mut control = [0u64; 8];
    let got = with_vectors(into.as_mut_ptr(), into.len(), 0, into.len(), |message| {
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        // SAFETY: writes into the block and the control memory only.
        completion(unsafe { libc::recvmsg(fd, message, flags) })
    })?;
    // The first message: length (8 bytes), level, type, then the size.
    let (heads, size) = (control[1].to_ne_bytes(), control[2].to_ne_bytes());
    let word = |bytes: &[u8]| i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let is_size = word(&heads) == level && word(&heads[4..]) == name;
    let each = if is_size { usize::try_from(word(&size)).unwrap_or(0) } else { 0 };
    Ok(Train { bytes: got as usize, each })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn receive_train(fd: RawFd, into: &mut [u8], flags: i32) -> Result<Train, Errno> {
    receive_once(fd, into, flags).map(|bytes| Train { bytes: bytes as usize, each: 0 })
}

/// Sends bytes at an offset of a file without copying them through this program. Source: sendfile(2).
#[cfg(target_os = "linux")]
pub(super) fn send_from(fd: RawFd, file: &std::fs::File, from: usize, length: usize) -> Completion {
    // SAFETY: the descriptor belongs to a flow, which outlives its worker.
    let socket = unsafe { BorrowedFd::borrow_raw(fd) };
    Ok(rustix::fs::sendfile(socket, file, Some(&mut (from as u64)), length)? as u64)
}

/// Sends the next bytes of a file without copying them through this program. Source: sendfile(2).
#[cfg(target_os = "linux")]
pub(super) fn send_from_file(fd: RawFd, file: &std::fs::File, length: usize) -> Completion {
    // SAFETY: the descriptor belongs to a flow, which outlives its worker.
    let socket = unsafe { BorrowedFd::borrow_raw(fd) };
    Ok(rustix::fs::sendfile(socket, file, None, length)? as u64)
}
