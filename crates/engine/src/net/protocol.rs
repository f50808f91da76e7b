//! The protocol that connects sockets for network work, from the engine's point of view.

use super::{Counts, Flow, TcpFacts};
use crate::signals::StopFlag;
use plumb_result::Network;
use plumb_workload::Nanos;
use plumb_workload::net::NetLoad;

/// Connects sockets for network work, by a protocol that both ends know.
pub trait NetProtocol: Sync {
    /// Connects, and sends the work to the other end, which then starts to work.
    ///
    /// # Errors
    /// A complete message with the way out.
    fn connect(&self, request: &NetRequest<'_>) -> Result<Box<dyn NetSession>, String>;
}

#[derive(Debug, Clone, Copy)]
pub struct NetRequest<'a> {
    /// `HOST`, `HOST:PORT`, `unix:PATH` or `vsock:CID:PORT`.
    pub address: &'a str,
    /// Streams or round trips to run.
    pub load: &'a NetLoad,
    /// Number of connections.
    pub connections: u32,
    /// Duration, if it is known.
    pub time: Option<Nanos>,
    /// Round trips per second of each connection, if their start times are scheduled.
    pub rate: Option<f64>,
    /// Set when a signal requests a stop.
    pub stop: StopFlag,
}

/// Connections to a peer that is at work. Dropping the session ends the peer's work.
pub trait NetSession: Send {
    /// Takes the sockets with their work; call it once.
    fn flows(&mut self) -> Vec<Flow>;

    /// Ends the peer's work, and returns the results of both ends.
    ///
    /// # Errors
    /// The peer's results are not available; the text says why.
    fn finish(self: Box<Self>, ended: &NetEnd) -> Result<Network, String>;
}

/// Totals of this end.
#[derive(Debug, Clone, Default)]
pub struct NetEnd {
    /// Duration of the work, s.
    pub seconds: f64,
    /// Totals of each connection, in the order of [`NetSession::flows`].
    pub flows: Vec<FlowEnd>,
    /// Processor time, user and system, ns.
    pub cpu_ns: (u64, u64),
    /// Calls of [`Passing::ZeroCopy`](plumb_workload::net::Passing::ZeroCopy) that the kernel copied after all, and all
    /// calls that it reported on.
    pub copied: [u64; 2],
}

/// Totals of one connection.
#[derive(Debug, Clone, Copy, Default)]
pub struct FlowEnd {
    /// Bytes and operations.
    pub counts: Counts,
    /// The kernel's `TCP_INFO`; `None` for other protocols.
    pub tcp: Option<TcpFacts>,
}
