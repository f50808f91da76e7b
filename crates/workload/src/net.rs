//! Network work as data.
//!
//! [`NetLoad`] is the load that a group of workers puts on a host. [`NetWork`] is the work of one socket: to send, receive,
//! request or respond. Dialects lower their options to [`NetWork`]. The engine runs it with the same loop, pacer and
//! recorder as all other work.

use crate::op::OpKind;
use crate::units::{Bytes, Nanos, PerSecond};
use serde::{Deserialize, Serialize};

/// Load that a group of workers puts on the network. Each worker has its own connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum NetLoad {
    /// A stream of bytes in one direction.
    Stream(StreamLoad),
    /// Round trips over one connection, each a request and its response.
    Rr(TripLoad),
    /// Round trips that each use a new connection: connect, request, response, close.
    Crr(TripLoad),
}

/// A stream of bytes in one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct StreamLoad {
    /// Direction of the stream, as seen from this host.
    pub direction: Direction,
    /// Transport protocol of the connection.
    pub protocol: Protocol,
    /// Bytes per write or datagram; defaults to 128 KiB, or 1200 bytes for datagrams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Bytes>,
    /// Rate at which the other end sends, in bytes per second per stream. The rate at which this end
    /// sends is set by `pace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<PerSecond>,
    /// Method of passing bytes to the kernel on the sending end: `copy`, `splice`,
    /// `sendfile`, `zerocopy` or `io-uring`.
    pub tx: Passing,
    /// Method of taking bytes from the kernel on the receiving end: `copy`, `truncate` or `io-uring`.
    pub rx: Passing,
    /// Congestion control algorithm of both ends; defaults to the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
}

/// Round trips of a request and its response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TripLoad {
    /// Transport protocol of the connection.
    pub protocol: Protocol,
    /// Bytes per request, sent by this host.
    pub request: Bytes,
    /// Bytes per response, sent by the other host.
    pub response: Bytes,
    /// Maximum time that both ends busy-poll the socket before they sleep; 0 means to sleep at once.
    pub busy_poll: Nanos,
    /// Congestion control algorithm of both ends; defaults to the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
}

impl Default for TripLoad {
    fn default() -> TripLoad {
        TripLoad {
            protocol: Protocol::Tcp,
            request: Bytes(16),
            response: Bytes(16),
            busy_poll: Nanos(0),
            congestion: None,
        }
    }
}

/// Small round trips to a host during a phase. Each has its own intended start, so that a slow one does
/// not hide those after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Probe {
    /// Address as `HOST` or `HOST:PORT`. The host must run `plumb net --serve`.
    pub to: String,
    /// Transport protocol of the probe.
    #[serde(default)]
    pub protocol: Protocol,
    /// Round trips per second; default 200.
    #[serde(default = "Probe::default_rate")]
    pub rate: PerSecond,
    /// Time to probe the idle machine before the phase.
    #[serde(default = "Probe::default_idle")]
    pub idle: Nanos,
}

impl Probe {
    /// Bytes of a request, and of its response.
    pub const BYTES: u64 = 16;

    fn default_rate() -> PerSecond {
        PerSecond(200.0)
    }

    fn default_idle() -> Nanos {
        Nanos(5_000_000_000)
    }

    /// Returns the default probe of a host.
    pub fn to(host: &str) -> Probe {
        Probe { to: host.to_owned(), protocol: Protocol::Tcp, rate: Probe::default_rate(), idle: Probe::default_idle() }
    }
}

/// Direction of a stream, as seen from this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// This host sends to the other.
    #[default]
    Send,
    /// This host receives from the other.
    Receive,
}

/// Transport protocol of network work.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Protocol {
    /// TCP: a stream of bytes.
    #[default]
    Tcp,
    /// UDP: datagrams of fixed size.
    Udp,
    /// Multipath TCP, if both ends support it.
    Mptcp,
    /// A Unix socket on this machine; the address is `unix:PATH`.
    Unix,
    /// A vsock between a virtual machine and its host; the address is `vsock:CID:PORT`.
    Vsock,
    /// SCTP, if the kernel supports it.
    Sctp,
}

impl Protocol {
    /// Returns the name used in workload files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the kind of transport: datagrams, or a stream without message bounds.
    pub const fn transport(self) -> Transport {
        match self {
            Protocol::Udp => Transport::Udp,
            _ => Transport::Tcp,
        }
    }
}

impl NetLoad {
    /// Returns the kind of op that the load is counted as.
    pub const fn kind(&self) -> OpKind {
        match self {
            NetLoad::Stream(StreamLoad { direction: Direction::Send, .. }) => OpKind::Send,
            NetLoad::Stream(_) => OpKind::Receive,
            NetLoad::Rr(_) => OpKind::Rr,
            NetLoad::Crr(_) => OpKind::Crr,
        }
    }

    pub const fn protocol(&self) -> Protocol {
        match self {
            NetLoad::Stream(load) => load.protocol,
            NetLoad::Rr(load) | NetLoad::Crr(load) => load.protocol,
        }
    }

    /// Returns the requested congestion control algorithm, if any.
    pub fn congestion(&self) -> Option<&str> {
        match self {
            NetLoad::Stream(load) => load.congestion.as_deref(),
            NetLoad::Rr(load) | NetLoad::Crr(load) => load.congestion.as_deref(),
        }
    }
}

/// Kind of transport below the work of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Tcp,
    /// Datagrams, each with a header for its time and number.
    Udp,
}

/// Role of one end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetOp {
    /// Sends blocks in one direction.
    Send,
    Receive,
    /// Sends a request and waits for its response: one round trip.
    Request,
    Respond,
    /// Connects, sends a request, and waits for the response and the end of the connection.
    Connect,
    /// Accepts connections, responds to their request, and closes them.
    Accept,
}

impl NetOp {
    /// Returns `true` if this end stops when its own time is up. The other end goes on until it is asked to stop.
    pub const fn leads(self) -> bool {
        matches!(self, NetOp::Send | NetOp::Request | NetOp::Connect)
    }

    /// Returns the role of the other end.
    pub const fn peer(self) -> NetOp {
        match self {
            NetOp::Send => NetOp::Receive,
            NetOp::Receive => NetOp::Send,
            NetOp::Request => NetOp::Respond,
            NetOp::Respond => NetOp::Request,
            NetOp::Connect => NetOp::Accept,
            NetOp::Accept => NetOp::Connect,
        }
    }
}

/// Method of passing bytes between the program and the socket. Anything but copying measures something else,
/// so results name the method.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Passing {
    /// The kernel copies the bytes, as for every program that looks at its data.
    #[default]
    Copy,
    /// The sender lends its pages to the kernel (vmsplice).
    #[serde(rename = "splice")]
    #[strum(serialize = "splice")]
    Lend,
    /// The receiver drops the bytes unread (MSG_TRUNC).
    #[serde(rename = "truncate")]
    #[strum(serialize = "truncate")]
    Drop,
    /// The kernel sends directly from the sender's pages (MSG_ZEROCOPY). It reports if it had to copy after all.
    #[serde(rename = "zerocopy")]
    #[strum(serialize = "zerocopy")]
    ZeroCopy,
    /// Send and receive through io_uring.
    IoUring,
    /// The kernel sends the pages of a file in memory (sendfile).
    #[serde(rename = "sendfile")]
    #[strum(serialize = "sendfile")]
    SendFile,
}

impl Passing {
    /// Returns the name used in workload files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the method with this name.
    pub fn from_name(name: &str) -> Option<Passing> {
        name.parse().ok()
    }

    /// Returns `true` if a sender supports the method.
    pub const fn sends(self) -> bool {
        !matches!(self, Passing::Drop)
    }

    /// Returns `true` if a receiver supports the method.
    pub const fn receives(self) -> bool {
        matches!(self, Passing::Copy | Passing::Drop | Passing::IoUring)
    }
}

/// Header of each datagram, or of each block of a stream, by the tool that reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DatagramForm {
    /// iperf3's header: time and number.
    #[default]
    Iperf3,
    /// iperf3's header with a 64-bit number.
    Iperf3Wide,
    /// iperf2's header of a datagram.
    Iperf2(Iperf2Form),
    /// iperf2's header for TCP streams: each block begins with its time of sending.
    Iperf2Bursts(Iperf2Form),
}

/// iperf2's header: number, time, upper half of the number, and the client's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iperf2Form {
    /// Microseconds by which the wall clock is ahead of the monotonic clock. Times in the
    /// header are wall clock times.
    pub ahead_us: u64,
    /// Options of the client, as 4-byte words.
    pub head: [u32; 27],
    /// Bin width of the receiver's histogram of transit times, µs; 0 disables the histogram.
    pub bin_us: u32,
}

impl DatagramForm {
    /// Returns how far the wall clock is ahead and the bin width for transit times, both in µs.
    /// Both are 0 for iperf3.
    pub const fn ahead_and_bin_us(&self) -> (u64, u32) {
        match self {
            DatagramForm::Iperf2(form) | DatagramForm::Iperf2Bursts(form) => (form.ahead_us, form.bin_us),
            DatagramForm::Iperf3 | DatagramForm::Iperf3Wide => (0, 0),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetWork {
    pub op: NetOp,
    pub transport: Transport,
    /// Bytes per block: a write, a datagram or a request.
    pub block: u32,
    /// Bytes per response.
    pub response: u32,
    /// Maximum bytes (of streams) or round trips per second. Each block or request has its own intended start.
    pub rate: Option<PerSecond>,
    /// Number of blocks that start together.
    pub burst: u32,
    /// Method of passing bytes between the program and the socket.
    pub passing: Passing,
    /// Maximum time that round trips busy-poll the socket before they sleep, µs.
    pub poll_us: u32,
    /// Header of each datagram, or of each block of a stream.
    pub form: DatagramForm,
    /// Allow trains of datagrams (UDP_SEGMENT, UDP_GRO) if one call per datagram would be too slow.
    pub trains: bool,
    /// Datagrams have no header, and an empty datagram ends the stream.
    pub bare: bool,
    /// Make one call per block, because the cost of a call is being measured.
    pub apart: bool,
    /// Send the digits 0 to 9 repeatedly instead of random bytes.
    pub repeats: bool,
    /// Open and close connections without sending anything.
    pub only_connects: bool,
    /// The end that opens a connection for a round trip also closes it first.
    pub hangs_up: bool,
    /// Requests to send before waiting for the first response. From then on, this many plus one are in flight.
    pub ahead: u32,
}

/// Largest block of a stream, in bytes.
pub const BLOCK_BYTES_MAX: u32 = 1 << 20;

/// Largest datagram: 65535 bytes without the IPv4 and UDP headers.
pub const DATAGRAM_BYTES_MAX: u32 = 65507;

/// Smallest datagram with a header: room for its time and number.
pub const DATAGRAM_BYTES_MIN: u32 = 16;

/// Bytes of the header of each block in an iperf2 TCP stream with transit times.
pub const BURST_HEAD_BYTES: u32 = 92;

/// Largest number of blocks in a burst.
pub(crate) const BURST_MAX: u32 = 1000;

impl NetWork {
    /// Returns a stream at full speed.
    pub const fn stream(op: NetOp, transport: Transport, block: u32) -> NetWork {
        NetWork {
            op,
            transport,
            block,
            response: 1,
            rate: None,
            burst: 1,
            passing: Passing::Copy,
            poll_us: 0,
            form: DatagramForm::Iperf3,
            trains: false,
            bare: false,
            apart: false,
            repeats: false,
            only_connects: false,
            hangs_up: false,
            ahead: 0,
        }
    }

    /// Returns the name of the number that is out of range and its limits; `None` if the work is valid.
    pub fn problem(&self) -> Option<(&'static str, u32, u32)> {
        let (least, most) = match (self.transport, self.op) {
            (Transport::Udp, _) => (if self.bare { 1 } else { DATAGRAM_BYTES_MIN }, DATAGRAM_BYTES_MAX),
            (Transport::Tcp, NetOp::Send) if matches!(self.form, DatagramForm::Iperf2Bursts(_)) => {
                (BURST_HEAD_BYTES, BLOCK_BYTES_MAX)
            }
            (Transport::Tcp, _) => (1, BLOCK_BYTES_MAX),
        };
        if !(least..=most).contains(&self.block) {
            return Some(("block", least, most));
        }
        if !(1..=most).contains(&self.response) {
            return Some(("response", 1, most));
        }
        (!(1..=BURST_MAX).contains(&self.burst)).then_some(("burst", 1, BURST_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::VariantArray;

    // Protects workload files and pages from two names for one thing: serde and strum each define
    // the case of an enum.
    #[test]
    fn names_match_workload_files() {
        fn agree<T: VariantArray + Serialize + Copy + Into<&'static str>>() {
            for &one in T::VARIANTS {
                let name: &str = one.into();
                assert_eq!(plumb_document::json::to_value(&one).unwrap(), name);
            }
        }
        agree::<Protocol>();
        agree::<Passing>();
        agree::<crate::repeat::Figure>();
        assert_eq!(Passing::from_name("splice"), Some(Passing::Lend));
        assert_eq!(Passing::from_name("lend"), None);
    }

    // Protects the engine's buffers and headers: work that lacks room for a header, or
    // exceeds a datagram, is refused.
    #[test]
    fn sizes_out_of_range_are_found() {
        let of = |transport, block| NetWork::stream(NetOp::Send, transport, block).problem().map(|problem| problem.0);
        assert_eq!([1, 1 << 20].map(|block| of(Transport::Tcp, block)), [None, None]);
        assert_eq!([0, (1 << 20) + 1].map(|block| of(Transport::Tcp, block)), [Some("block"); 2]);
        assert_eq!([16, 65507].map(|block| of(Transport::Udp, block)), [None, None]);
        assert_eq!([15, 65508].map(|block| of(Transport::Udp, block)), [Some("block"); 2]);
        let bare = NetWork { bare: true, ..NetWork::stream(NetOp::Send, Transport::Udp, 1) };
        assert_eq!(bare.problem(), None, "bare datagrams need no room for a header");
        let form = DatagramForm::Iperf2Bursts(Iperf2Form { ahead_us: 0, head: [0; 27], bin_us: 0 });
        let bursts = |op, block| NetWork { form, ..NetWork::stream(op, Transport::Tcp, block) }.problem();
        assert_eq!(bursts(NetOp::Send, 91), Some(("block", 92, 1 << 20)), "blocks must have room for the header");
        assert_eq!([bursts(NetOp::Send, 92), bursts(NetOp::Receive, 1)], [None, None]);
        let work = NetWork { burst: 1001, ..NetWork::stream(NetOp::Send, Transport::Tcp, 1) };
        assert_eq!(work.problem(), Some(("burst", 1, 1000)));
        assert_eq!(NetWork { response: 0, ..work }.problem().map(|problem| problem.0), Some("response"));
    }
}
