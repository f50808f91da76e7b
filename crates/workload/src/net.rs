//! Network work, as data: what a group of workers does to a host ([`NetLoad`]), and what one socket sends, receives, asks or
//! answers ([`NetWork`]). Dialects lower their options to the latter and the engine runs it with the loop, pacer and recorder of
//! all other work.

use crate::op::OpKind;
use crate::units::{Bytes, Nanos, PerSecond};
use serde::{Deserialize, Serialize};

/// What a group of workers does over the network. Each worker has a connection of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum NetLoad {
    /// Bytes in one direction.
    Stream(StreamLoad),
    /// Round trips over one connection: a request, and its response.
    Rr(TripLoad),
    /// Round trips with a connection of their own each: connect, request, response, close.
    Crr(TripLoad),
}

/// Bytes in one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct StreamLoad {
    /// Which way.
    pub direction: Direction,
    /// Over what.
    pub protocol: Protocol,
    /// Bytes of a write, or of a datagram; 128 KiB (datagrams: 1200 bytes) when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Bytes>,
    /// Datagrams per second and stream would be `pace`; this is how fast the other end sends, in bytes per second and stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<PerSecond>,
    /// How the sender passes bytes to the kernel: `copy`, `splice`, `sendfile`, `zerocopy`, `io-uring`.
    pub tx: Passing,
    /// How the receiver takes them: `copy`, `truncate`, `io-uring`.
    pub rx: Passing,
    /// Algorithm of congestion control of both ends; the system's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
}

/// Round trips.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TripLoad {
    /// Over what.
    pub protocol: Protocol,
    /// Bytes of a request.
    pub request: Bytes,
    /// Bytes of a response.
    pub response: Bytes,
    /// Both ends ask the socket again and again for at most this long before they sleep; 0: they sleep at once.
    pub busy_poll: Nanos,
    /// Algorithm of congestion control of both ends; the system's when absent.
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

/// Small round trips to a host beside a phase, each with its own start: what is slow does not hide those behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Probe {
    /// `HOST` or `HOST:PORT`; `plumb net --serve` runs there.
    pub to: String,
    /// Over what.
    #[serde(default)]
    pub protocol: Protocol,
    /// Round trips a second.
    #[serde(default = "Probe::default_rate")]
    pub rate: PerSecond,
    /// How long before the phase they are made on an idle machine.
    #[serde(default = "Probe::default_idle")]
    pub idle: Nanos,
}

impl Probe {
    /// Bytes of a request and of its response.
    pub const BYTES: u64 = 16;

    fn default_rate() -> PerSecond {
        PerSecond(200.0)
    }

    fn default_idle() -> Nanos {
        Nanos(5_000_000_000)
    }

    /// The usual one, to a host.
    pub fn to(host: &str) -> Probe {
        Probe { to: host.to_owned(), protocol: Protocol::Tcp, rate: Probe::default_rate(), idle: Probe::default_idle() }
    }
}

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From here to the host.
    #[default]
    Send,
    /// From the host to here.
    Receive,
}

/// What carries network work.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Protocol {
    /// A stream of bytes.
    #[default]
    Tcp,
    /// Datagrams.
    Udp,
    /// TCP over several paths, where both ends can.
    Mptcp,
    /// A socket of this machine: the address is `unix:PATH`.
    Unix,
    /// Between a virtual machine and its host: the address is `vsock:CID:PORT`.
    Vsock,
    /// SCTP, where the kernel has it.
    Sctp,
}

impl Protocol {
    /// As it is written.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether bytes keep no bounds.
    pub const fn transport(self) -> Transport {
        match self {
            Protocol::Udp => Transport::Udp,
            _ => Transport::Tcp,
        }
    }
}

impl NetLoad {
    /// The kind of its ops.
    pub const fn kind(&self) -> OpKind {
        match self {
            NetLoad::Stream(StreamLoad { direction: Direction::Send, .. }) => OpKind::Send,
            NetLoad::Stream(_) => OpKind::Receive,
            NetLoad::Rr(_) => OpKind::Rr,
            NetLoad::Crr(_) => OpKind::Crr,
        }
    }

    /// What carries it.
    pub const fn protocol(&self) -> Protocol {
        match self {
            NetLoad::Stream(load) => load.protocol,
            NetLoad::Rr(load) | NetLoad::Crr(load) => load.protocol,
        }
    }

    /// The algorithm of congestion control that it asks for.
    pub fn congestion(&self) -> Option<&str> {
        match self {
            NetLoad::Stream(load) => load.congestion.as_deref(),
            NetLoad::Rr(load) | NetLoad::Crr(load) => load.congestion.as_deref(),
        }
    }
}

/// What carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A stream of bytes.
    Tcp,
    /// Datagrams, each with a header of its time and number.
    Udp,
}

/// What one end does with a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetOp {
    /// Sends blocks, one way.
    Send,
    /// Receives what comes.
    Receive,
    /// Sends a request and waits for its response: a round trip.
    Request,
    /// Answers each request.
    Respond,
    /// Connects, sends a request, and waits for its response and the end of the connection.
    Connect,
    /// Accepts connections, answers their request, and closes them.
    Accept,
}

impl NetOp {
    /// Whether it ends with its own time: the other end goes on until it is asked to end.
    pub const fn leads(self) -> bool {
        matches!(self, NetOp::Send | NetOp::Request | NetOp::Connect)
    }

    /// What the other end does.
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

/// How bytes pass between the program and the socket. What is not copied measures something else, so results name it.
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
    /// The kernel copies them, as it does for every program that looks at its data.
    #[default]
    Copy,
    /// The sender lends its pages (vmsplice).
    #[serde(rename = "splice")]
    #[strum(serialize = "splice")]
    Lend,
    /// The receiver drops them unread (MSG_TRUNC).
    #[serde(rename = "truncate")]
    #[strum(serialize = "truncate")]
    Drop,
    /// The sender's pages are sent from where they are (MSG_ZEROCOPY). A kernel that copies all the same says so.
    #[serde(rename = "zerocopy")]
    #[strum(serialize = "zerocopy")]
    ZeroCopy,
    /// By io_uring.
    IoUring,
    /// The sender's pages are those of a file in memory (sendfile).
    #[serde(rename = "sendfile")]
    #[strum(serialize = "sendfile")]
    SendFile,
}

impl Passing {
    /// As it is written.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> Option<Passing> {
        name.parse().ok()
    }

    /// Whether a sender can do it.
    pub const fn sends(self) -> bool {
        !matches!(self, Passing::Drop)
    }

    /// Whether a receiver can do it.
    pub const fn receives(self) -> bool {
        matches!(self, Passing::Copy | Passing::Drop | Passing::IoUring)
    }
}

/// How datagrams begin, by the tool that reads them; of a stream, how its blocks do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DatagramForm {
    /// iperf3's: time and number.
    #[default]
    Iperf3,
    /// The same with a number of 64 bits.
    Iperf3Wide,
    /// iperf2's.
    Iperf2(Iperf2Form),
    /// Of a TCP stream of iperf2: each block begins with the time at which it was sent.
    Iperf2Bursts(Iperf2Form),
}

/// iperf2's: number, time, the rest of the number, and what its client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iperf2Form {
    /// So many microseconds is the wall clock, which its times are of, ahead of the monotonic one.
    pub ahead_us: u64,
    /// What the client asks for, 4 bytes each.
    pub head: [u32; 27],
    /// A receiver counts times on the way in bins of so many microseconds; 0: it does not.
    pub bin_us: u32,
}

impl DatagramForm {
    /// How far the wall clock is ahead, and how wide the bins are in which times on the way are counted, µs; 0 of what there is not.
    pub const fn ahead_and_bin_us(&self) -> (u64, u32) {
        match self {
            DatagramForm::Iperf2(form) | DatagramForm::Iperf2Bursts(form) => (form.ahead_us, form.bin_us),
            DatagramForm::Iperf3 | DatagramForm::Iperf3Wide => (0, 0),
        }
    }
}

/// The work of one socket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetWork {
    /// What is done.
    pub op: NetOp,
    /// Over what.
    pub transport: Transport,
    /// Bytes of a block: a write, a datagram, or a request.
    pub block: u32,
    /// Bytes of a response.
    pub response: u32,
    /// Bytes (of streams) or round trips per second at most; each block or request has its own intended start.
    pub rate: Option<PerSecond>,
    /// Blocks that start together.
    pub burst: u32,
    /// How bytes pass.
    pub passing: Passing,
    /// Round trips ask the socket again and again for at most this long before they sleep, µs.
    pub poll_us: u32,
    /// How datagrams, or blocks of a stream, begin.
    pub form: DatagramForm,
    /// Datagrams may pass the system in trains (UDP_SEGMENT, UDP_GRO) where one call for each would be too slow.
    pub trains: bool,
    /// Datagrams have no header, and an empty one ends the stream.
    pub bare: bool,
    /// Each block has a call of its own, because the price of a call is what is measured.
    pub apart: bool,
    /// Data is the digits from 0 to 9, again and again, instead of random bytes.
    pub repeats: bool,
    /// Connections are made and closed, and carry nothing.
    pub only_connects: bool,
    /// The end that makes a connection for a round trip is the first to close it.
    pub hangs_up: bool,
    /// Requests sent before the first response is awaited. This many plus one are then always in flight.
    pub ahead: u32,
}

/// Largest block of a stream.
pub const BLOCK_BYTES_MAX: u32 = 1 << 20;

/// Largest datagram: 65535 without the headers of IPv4 and UDP.
pub const DATAGRAM_BYTES_MAX: u32 = 65507;

/// Smallest: room for its time and number.
pub const DATAGRAM_BYTES_MIN: u32 = 16;

/// What each block of a TCP stream of iperf2 with times on the way begins with.
pub const BURST_HEAD_BYTES: u32 = 92;

/// Blocks of a burst at most.
pub(crate) const BURST_MAX: u32 = 1000;

impl NetWork {
    /// A stream at full speed.
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

    /// The number that is out of range, and what it may be; `None` where it can be run.
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

    // Protects files and pages from two names for one thing: serde and strum each have the case of an enum.
    #[test]
    fn names_are_those_of_files() {
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

    // Protects the engine's buffers and headers: nothing is run that has no room for a header or more than a datagram.
    #[test]
    fn sizes_out_of_range_are_found() {
        let of = |transport, block| NetWork::stream(NetOp::Send, transport, block).problem().map(|problem| problem.0);
        assert_eq!([1, 1 << 20].map(|block| of(Transport::Tcp, block)), [None, None]);
        assert_eq!([0, (1 << 20) + 1].map(|block| of(Transport::Tcp, block)), [Some("block"); 2]);
        assert_eq!([16, 65507].map(|block| of(Transport::Udp, block)), [None, None]);
        assert_eq!([15, 65508].map(|block| of(Transport::Udp, block)), [Some("block"); 2]);
        let bare = NetWork { bare: true, ..NetWork::stream(NetOp::Send, Transport::Udp, 1) };
        assert_eq!(bare.problem(), None, "no header, no room for it");
        let form = DatagramForm::Iperf2Bursts(Iperf2Form { ahead_us: 0, head: [0; 27], bin_us: 0 });
        let bursts = |op, block| NetWork { form, ..NetWork::stream(op, Transport::Tcp, block) }.problem();
        assert_eq!(bursts(NetOp::Send, 91), Some(("block", 92, 1 << 20)), "its head");
        assert_eq!([bursts(NetOp::Send, 92), bursts(NetOp::Receive, 1)], [None, None]);
        let work = NetWork { burst: 1001, ..NetWork::stream(NetOp::Send, Transport::Tcp, 1) };
        assert_eq!(work.problem(), Some(("burst", 1, 1000)));
        assert_eq!(NetWork { response: 0, ..work }.problem().map(|problem| problem.0), Some("response"));
    }
}
