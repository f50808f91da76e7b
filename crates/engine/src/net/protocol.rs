//! The protocol that connects sockets for network work, as the engine sees it.

use super::{Counts, Flow, TcpFacts};
use crate::signals::StopFlag;
use plumb_result::Network;
use plumb_workload::Nanos;
use plumb_workload::net::NetLoad;

/// Connects sockets for network work, by a protocol that both ends know.
pub trait NetProtocol: Sync {
    /// Connects, and tells the other end what the work is. From then on the other end is at work.
    ///
    /// # Errors
    /// In words, with the way out.
    fn connect(&self, request: &NetRequest<'_>) -> Result<Box<dyn NetSession>, String>;
}

/// A request for connections.
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
    /// Round trips per second of each connection, where their starts are given.
    pub rate: Option<f64>,
    /// Set when a signal asks for an end.
    pub stop: StopFlag,
}

/// Connections to another end that is at work. Dropped, it ends the work there.
pub trait NetSession: Send {
    /// Its sockets with their work; once.
    fn flows(&mut self) -> Vec<Flow>;

    /// Ends the work there, and says what both ends know of it.
    ///
    /// # Errors
    /// The other end's results cannot be had; the text says why.
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
    /// Calls of [`Passing::ZeroCopy`](plumb_workload::net::Passing::ZeroCopy) of which the kernel copied the data, and all that it told of.
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
