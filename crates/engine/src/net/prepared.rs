//! A connected socket before its worker begins: its memory, and how many blocks its calls have.

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

/// How often a call that waits for the other end looks whether the worker is to end.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Bytes that a stream is received into: what is copied there again and again stays in the cache.
const RECEIVE_BYTES: usize = 128 << 10;

/// Bytes of a train of datagrams at most, and how many. Sources: udp(7); `UDP_MAX_SEGMENTS` of Linux before 6.9.
const TRAIN_BYTES: u32 = 65507;
const TRAIN_DATAGRAMS: u32 = 64;

/// Datagrams that are due sooner one after another than this go in trains: a call takes as long.
const CALL_NS: f64 = 2_000.0;

/// A connected socket with its memory, before its worker begins.
pub(super) struct Prepared {
    pub(super) fd: RawFd,
    pub(super) work: NetWork,
    pub(super) other: Option<SocketAddr>,
    /// How bytes of a stream pass. Before its memory, so that nothing of it is in flight when that goes.
    pub(super) passer: Passer,
    pub(super) buffer: Block,
    /// How many blocks an op has at most.
    pub(super) blocks_at_once: u32,
    /// The socket cuts what is sent at once into datagrams.
    pub(super) trains: bool,
    /// What a stream is sent from, or received into.
    pub(super) file: Option<File>,
    /// What connections are given that an op makes.
    pub(super) new_sockets: Arc<NewSockets>,
}

impl Prepared {
    pub(super) fn new(flow: &Flow, new_sockets: Arc<NewSockets>) -> io::Result<Prepared> {
        Prepared::with(flow, flow.work, new_sockets)
    }

    /// The same with other work than the flow says.
    pub(super) fn with(flow: &Flow, work: NetWork, new_sockets: Arc<NewSockets>) -> io::Result<Prepared> {
        let Flow { socket, other, file, .. } = flow;
        let work = &work;
        for which in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(socket, which, Some(LOOK_AGAIN))?;
        }
        let file = file.as_ref().map(File::try_clone).transpose()?;
        // What is read from a file goes out before more is read.
        let mut blocks_at_once = if file.is_some() { 1 } else { blocks_at_once(work) };
        let mut trains = work.transport == Transport::Udp && blocks_at_once > work.burst;
        #[cfg(target_os = "linux")]
        {
            let (level, segment, gather) = UDP;
            // A kernel that knows no trains gives and takes each datagram by itself.
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
            // Bytes that no link can make smaller.
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

    /// What is done.
    pub(super) fn work(&self) -> &NetWork {
        &self.work
    }
}

/// How many blocks a call has: more than a burst only where nothing has to start apart from the others.
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
            // As few as keep up with the rate.
            if each_ns == 0.0 { most } else { ((CALL_NS / each_ns).ceil() as u32).clamp(burst, most) }
        }
        _ => burst,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::PerSecond;

    // Protects pacing to the packet: trains are made only where single calls cannot keep up, and never with blocks that
    // are due apart.
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
