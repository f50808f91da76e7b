//! Network work, as data: what one socket sends, receives, asks or answers. Dialects lower their options to it and the engine
//! runs it with the loop, pacer and recorder of all other work.

use crate::units::PerSecond;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Passing {
    /// The kernel copies them, as it does for every program that looks at its data.
    #[default]
    Copy,
    /// The sender lends its pages (vmsplice); a receiver copies.
    Lend,
    /// The receiver drops them unread (MSG_TRUNC); a sender copies.
    Drop,
}

/// How datagrams begin, by the tool that reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DatagramForm {
    /// iperf3's: time and number.
    #[default]
    Iperf3,
    /// The same with a number of 64 bits.
    Iperf3Wide,
    /// iperf2's.
    Iperf2(Iperf2Form),
}

/// iperf2's: number, time, the rest of the number, and what its client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iperf2Form {
    /// So many microseconds is the wall clock, which its times are of, ahead of the monotonic one.
    pub ahead_us: u64,
    /// What the client asks for, 4 bytes each.
    pub head: [u32; 27],
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
    /// How datagrams begin.
    pub form: DatagramForm,
    /// Datagrams may pass the system in trains (UDP_SEGMENT, UDP_GRO) where one call for each would be too slow.
    pub trains: bool,
    /// Datagrams have no header, and an empty one ends the stream.
    pub bare: bool,
    /// Each block has a call of its own, because the price of a call is what is measured.
    pub apart: bool,
    /// Data is the digits from 0 to 9, again and again, instead of random bytes.
    pub repeats: bool,
}

/// Largest block of a stream.
pub const BLOCK_BYTES_MAX: u32 = 1 << 20;

/// Largest datagram: 65535 without the headers of IPv4 and UDP.
pub const DATAGRAM_BYTES_MAX: u32 = 65507;

/// Smallest: room for its time and number.
pub const DATAGRAM_BYTES_MIN: u32 = 16;

/// Blocks of a burst at most.
pub const BURST_MAX: u32 = 1000;

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
            form: DatagramForm::Iperf3,
            trains: false,
            bare: false,
            apart: false,
            repeats: false,
        }
    }

    /// The number that is out of range, and what it may be; `None` where it can be run.
    pub fn problem(&self) -> Option<(&'static str, u32, u32)> {
        let (least, most) = match (self.transport, self.op) {
            (Transport::Udp, _) => (if self.bare { 1 } else { DATAGRAM_BYTES_MIN }, DATAGRAM_BYTES_MAX),
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
        let work = NetWork { burst: 1001, ..NetWork::stream(NetOp::Send, Transport::Tcp, 1) };
        assert_eq!(work.problem(), Some(("burst", 1, 1000)));
        assert_eq!(NetWork { response: 0, ..work }.problem().map(|problem| problem.0), Some("response"));
    }
}
