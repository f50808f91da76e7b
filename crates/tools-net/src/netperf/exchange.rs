//! Messages between both ends of a test: the request, the response, and the results.

use std::net::IpAddr;

/// Limit of a socket buffer that a client may request, bytes.
pub const BYTES_MAX: u32 = 64 << 20;

/// Limit of a test's duration, seconds.
pub(super) const SECONDS_MAX: i32 = 86400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// A stream to the server.
    ToServer,
    /// A stream from the server.
    ToClient,
    RoundTrips,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    Seconds(u32),
    /// Number of round trips or bytes.
    Count(u32),
}

/// A client's request for a test. Sizes and buffers are the server's.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub direction: Direction,
    /// Whether the test uses UDP instead of TCP.
    pub udp: bool,
    /// Whether each round trip opens its own connection.
    pub connects: bool,
    /// Whether connections are opened and closed without a round trip.
    pub only_connects: bool,
    /// Whether the client sends a file. Such a test has its own messages.
    pub sendfile: bool,
    /// Whether the server sets `TCP_NODELAY`.
    pub no_delay: bool,
    /// Whether the server measures its CPU utilization.
    pub cpu: bool,
    /// Whether data may pass routers.
    pub routed: bool,
    /// Server's buffers, bytes: send, receive.
    pub buffers: [Option<u32>; 2],
    /// Bytes per call of the server: send, receive.
    pub sizes: [Option<u32>; 2],
    /// Size of a request and of a response, bytes.
    pub trip: [u32; 2],
    pub length: Length,
    /// Data port of the server; 0 for any.
    pub port: u16,
    /// Whether data uses IPv6; `None`: like the control connection.
    pub is_v6: Option<bool>,
    /// Data port of the client.
    pub client_port: u16,
    /// Client's address for data, if it differs from that of the control connection.
    pub client: Option<IpAddr>,
    /// Server's address for data, if it differs from that of the control connection.
    pub server: Option<IpAddr>,
    /// Type of service of the server's data.
    pub service: Option<u8>,
    /// Congestion control algorithm of the server.
    pub congestion: Option<String>,
    /// CPU on which the server runs this client's tests.
    pub processor: Option<u32>,
}

/// Reason for which a server refuses a test. The client gets its error number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// A number is out of range.
    #[error("{0} is out of range")]
    Range(&'static str),
    /// The protocol is neither TCP nor UDP, or the direction is unknown.
    #[error("this test is not supported")]
    Unsupported,
    /// The server sends only to the client's address, and opens no files that a client names.
    #[error("not allowed: {0}")]
    Forbidden(&'static str),
}

impl Refused {
    /// Returns EINVAL, EOPNOTSUPP or EPERM of Linux.
    pub fn number(self) -> i32 {
        match self {
            Refused::Range(_) => 22,
            Refused::Unsupported => 95,
            Refused::Forbidden(_) => 1,
        }
    }
}

/// A server's response before data moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Response {
    /// Sizes of its buffers, bytes: send, receive.
    pub buffers: [u32; 2],
    /// Bytes per call: send, receive. `None` if it does not send or receive.
    pub sizes: [Option<u32>; 2],
    /// Data port of the server.
    pub port: u16,
    /// Type of service.
    pub service: Option<u8>,
    pub no_delay: bool,
}

/// CPU utilization of a host, in percent of all CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cpu {
    /// Time that was not idle.
    pub busy: f64,
    /// User, system, waiting for I/O, interrupts, soft interrupts.
    pub parts: [f64; 5],
    pub count: u32,
}

/// Code of the CPU measurement method: /proc/stat.
pub(super) const METHOD: u32 = 8;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    /// Bytes received, and number of calls.
    pub received: (u64, u64),
    /// Bytes sent, and number of calls.
    pub sent: (u64, u64),
    /// Number of calls that sent nothing.
    pub failed_sends: u64,
    pub trips: u64,
    /// Duration, s.
    pub seconds: f64,
    /// Sizes of its buffers at the end, bytes: send, receive.
    pub buffers: [u32; 2],
    /// CPU utilization, if it was measured.
    pub cpu: Option<Cpu>,
    pub retransmits: Option<u64>,
    pub congestion: String,
}
