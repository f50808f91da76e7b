//! A connected socket before its worker begins: its memory, and its number of blocks per call.

use super::Flow;
use super::datagram::begin_bounces;
use super::new_sockets::NewSockets;
use super::passing::{Block, CALL_BYTES, Passer};
#[cfg(target_os = "linux")]
use super::socket::{UDP, set_number};
use crate::clock::monotonic_ns;
use crate::rng::Rng;
use plumb_workload::net::{DatagramForm, NetOp, NetWork, Passing, Transport};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

/// Interval at which a call that waits for the other end checks for shutdown.
pub(super) const STOP_POLL: Duration = Duration::from_millis(50);

/// Size of the receive buffer of a stream. It is small enough to stay in the cache.
const RECEIVE_BYTES: usize = 128 << 10;

/// Maximum bytes and datagrams of a train. Sources: udp(7); `UDP_MAX_SEGMENTS` of Linux before 6.9.
const TRAIN_BYTES: u32 = 65507;
const TRAIN_DATAGRAMS: u32 = 64;

/// Duration of a call. Datagrams that are due at shorter intervals go in trains.
const CALL_NS: f64 = 2_000.0;

/// A connected socket with its memory, before its worker begins.
pub(super) struct Prepared {
    pub(super) fd: RawFd,
    pub(super) work: NetWork,
    pub(super) other: Option<SocketAddr>,
    /// Moves the bytes of a stream. Declared before its memory, so that nothing is in
    /// flight when the memory is dropped.
    pub(super) passer: Passer,
    pub(super) buffer: Block,
    /// Maximum number of blocks per op.
    pub(super) blocks_at_once: u32,
    /// Whether the kernel splits a call's data into datagrams.
    pub(super) trains: bool,
    /// File that a stream is sent from, or received into.
    pub(super) file: Option<File>,
    /// Settings of the connections that an op creates.
    pub(super) new_sockets: Arc<NewSockets>,
}

impl Prepared {
    pub(super) fn new(flow: &Flow, new_sockets: Arc<NewSockets>) -> io::Result<Prepared> {
        Prepared::with(flow, flow.work, new_sockets)
    }

    /// Creates one with other work than the flow's.
    pub(super) fn with(flow: &Flow, work: NetWork, new_sockets: Arc<NewSockets>) -> io::Result<Prepared> {
        let Flow { socket, other, file, .. } = flow;
        let work = &work;
        for which in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(socket, which, Some(STOP_POLL))?;
        }
        let file = file.as_ref().map(File::try_clone).transpose()?;
        // Send the bytes read from a file before reading more.
        let mut blocks_at_once = if file.is_some() { 1 } else { blocks_at_once(work) };
        let mut trains = work.transport == Transport::Udp && blocks_at_once > work.burst;
        #[cfg(target_os = "linux")]
        {
            let (level, segment, gather) = UDP;
            // Without kernel support for trains, each datagram is sent and received by itself.
            if trains && set_number(socket.as_raw_fd(), level, segment, work.block as i32).is_err() {
                (blocks_at_once, trains) = (work.burst, false);
            }
            if work.transport == Transport::Udp && work.op == NetOp::Receive && work.trains {
                let _ = set_number(socket.as_raw_fd(), level, gather, 1);
            }
        }
        #[cfg(not(target_os = "linux"))]
        if trains {
            (blocks_at_once, trains) = (work.burst, false);
        }
        let length = match (work.transport, work.op) {
            (Transport::Udp, NetOp::Receive | NetOp::Request | NetOp::Respond) => 1 << 16,
            (Transport::Udp, NetOp::Send) => (work.block * blocks_at_once) as usize,
            (Transport::Tcp, NetOp::Receive) if !work.apart => RECEIVE_BYTES,
            (Transport::Tcp, NetOp::Send | NetOp::Receive) => work.block as usize,
            _ => work.block.max(work.response) as usize,
        };
        let mut buffer = Block::new(work, length)?;
        if work.repeats {
            buffer.iter_mut().zip((b'0'..=b'9').cycle()).for_each(|(byte, digit)| *byte = digit);
        } else {
            // Random bytes, which no link can compress.
            let mut rng = Rng::new(monotonic_ns());
            for part in buffer.chunks_mut(8) {
                part.copy_from_slice(&rng.next_u64().to_ne_bytes()[..part.len()]);
            }
        }
        if work.transport == Transport::Tcp && work.op == NetOp::Request {
            begin_bounces(&mut buffer, work.form);
        }
        let (file, passer) = match (file, work.transport, work.passing) {
            #[cfg(target_os = "linux")]
            (Some(file), Transport::Tcp, Passing::SendFile) if work.op == NetOp::Send => (None, Passer::File(file)),
            (None, Transport::Tcp, _) => (None, Passer::new(socket.as_raw_fd(), work, &buffer)?),
            (file, ..) => (file, Passer::Copy),
        };
        Ok(Prepared {
            fd: socket.as_raw_fd(),
            work: *work,
            other: *other,
            buffer,
            blocks_at_once,
            trains,
            file,
            passer,
            new_sockets,
        })
    }

    pub(super) fn work(&self) -> &NetWork {
        &self.work
    }
}

/// Returns the number of blocks per call. It exceeds a burst only if blocks need not start separately.
fn blocks_at_once(work: &NetWork) -> u32 {
    let burst = work.burst.max(1);
    match (work.op, work.transport, work.rate) {
        (NetOp::Send, Transport::Tcp, None) if !work.apart && !matches!(work.form, DatagramForm::Iperf2Bursts(_)) => {
            (CALL_BYTES / work.block).clamp(1, 16).max(burst)
        }
        (NetOp::Send, Transport::Udp, rate) if work.trains => {
            let most = (TRAIN_BYTES / work.block).clamp(1, TRAIN_DATAGRAMS);
            let each_ns = rate.map_or(0.0, |rate| f64::from(work.block) * 1e9 / rate.0);
            if each_ns >= CALL_NS || most < burst {
                return burst;
            }
            // The smallest number that keeps up with the rate.
            if each_ns == 0.0 { most } else { ((CALL_NS / each_ns).ceil() as u32).clamp(burst, most) }
        }
        _ => burst,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::PerSecond;

    // Protects per-packet pacing: trains are used only if single calls cannot keep up, and never
    // for blocks with separate due times.
    #[test]
    fn trains_are_as_short_as_the_rate_allows() {
        let udp = |rate: Option<f64>, trains| {
            let work = NetWork::stream(NetOp::Send, Transport::Udp, 1400);
            blocks_at_once(&NetWork { rate: rate.map(PerSecond), trains, ..work })
        };
        assert_eq!(udp(None, true), 46, "65507 bytes");
        assert_eq!(
            [udp(None, false), udp(Some(125e6), true), udp(Some(125e6), false)],
            [1, 1, 1],
            "1 Gb/s: 11 µs apart"
        );
        assert_eq!(udp(Some(1250e6), true), 2, "10 Gb/s: 1.1 µs apart");
        let tcp = |rate| blocks_at_once(&NetWork { rate, ..NetWork::stream(NetOp::Send, Transport::Tcp, 128 << 10) });
        assert_eq!([tcp(None), tcp(Some(PerSecond(1e9)))], [8, 1]);
    }
}
