//! What both ends of a test say to each other: the request, the response to it, and the results.

use std::net::IpAddr;

/// Bytes of a socket's buffer that a client may ask for.
pub const BYTES_MAX: u32 = 64 << 20;

/// Seconds of a test at most.
pub(super) const SECONDS_MAX: i32 = 86400;

/// Where data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the server: a stream.
    ToServer,
    /// From the server.
    ToClient,
    /// Requests and their responses.
    RoundTrips,
}

/// How long a test is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Seconds.
    Seconds(u32),
    /// Round trips, or bytes.
    Count(u32),
}

/// A test, as the client asks for it. Sizes and buffers are the server's.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Where data goes.
    pub direction: Direction,
    /// UDP instead of TCP.
    pub udp: bool,
    /// Each round trip has a connection of its own.
    pub connects: bool,
    /// Connections are made and closed without a round trip.
    pub only_connects: bool,
    /// The client sends a file, and the messages are those of that test.
    pub sendfile: bool,
    /// `TCP_NODELAY` at the server.
    pub no_delay: bool,
    /// The server measures how busy its processors are.
    pub cpu: bool,
    /// Data may pass routers.
    pub routed: bool,
    /// Bytes of the server's buffers, for sending and for receiving.
    pub buffers: [Option<u32>; 2],
    /// Bytes that the server sends at once, and receives at once.
    pub sizes: [Option<u32>; 2],
    /// Bytes of a request and of a response.
    pub trip: [u32; 2],
    /// How long it is.
    pub length: Length,
    /// Port for data at the server; 0 for any.
    pub port: u16,
    /// IPv6; `None` as the control connection.
    pub is_v6: Option<bool>,
    /// Port for data at the client.
    pub client_port: u16,
    /// The client's address for data, where it differs from the control connection's.
    pub client: Option<IpAddr>,
    /// The same of the server.
    pub server: Option<IpAddr>,
    /// Type of service of the server's data.
    pub service: Option<u8>,
    /// The server's congestion control.
    pub congestion: Option<String>,
    /// The processor that the server runs this client's tests on.
    pub processor: Option<u32>,
}

/// Why a server does not run a test. The client is told an error number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// A number is out of range.
    #[error("{0} is out of range")]
    Range(&'static str),
    /// Neither TCP nor UDP, or a direction that there is not.
    #[error("this test is not supported")]
    Unsupported,
    /// The server sends only to the address that asks, and reads no files that a client names.
    #[error("not allowed: {0}")]
    Forbidden(&'static str),
}

impl Refused {
    /// EINVAL, EOPNOTSUPP, EPERM of Linux.
    pub fn number(self) -> i32 {
        match self {
            Refused::Range(_) => 22,
            Refused::Unsupported => 95,
            Refused::Forbidden(_) => 1,
        }
    }
}

/// What the server says before data moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Response {
    /// Bytes of its buffers, for sending and for receiving.
    pub buffers: [u32; 2],
    /// Bytes that it sends, and receives, at once; `None` where it does not.
    pub sizes: [Option<u32>; 2],
    /// Port for data.
    pub port: u16,
    /// Type of service.
    pub service: Option<u8>,
    /// `TCP_NODELAY` is set.
    pub no_delay: bool,
}

/// How busy the processors of a host were, per cent of all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cpu {
    /// Not idle.
    pub busy: f64,
    /// User, system, waiting for I/O, interrupts, soft interrupts.
    pub parts: [f64; 5],
    /// How many processors.
    pub count: u32,
}

/// How the processors were measured: by /proc/stat.
pub(super) const METHOD: u32 = 8;

/// What an end did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    /// Bytes received, and calls for them.
    pub received: (u64, u64),
    /// Bytes sent, and calls for them.
    pub sent: (u64, u64),
    /// Calls that sent nothing.
    pub failed_sends: u64,
    /// Round trips.
    pub trips: u64,
    /// Seconds.
    pub seconds: f64,
    /// Bytes of its buffers at the end, for sending and for receiving.
    pub buffers: [u32; 2],
    /// Its processors, where they were measured.
    pub cpu: Option<Cpu>,
    /// Segments sent again.
    pub retransmits: Option<u64>,
    /// Its congestion control.
    pub congestion: String,
}
