//! The backend of network work: one connected socket.

use super::Flow;
use super::datagram::{DatagramCells, DatagramHeader, Tally, begin_bounces, stamp_bounce};
use super::new_sockets::{NewSockets, errno_of};
use super::passing::{Block, CALL_BYTES, Passer};
use super::socket::{Train, accepted, ask, receive_once, receive_train, send_once};
#[cfg(target_os = "linux")]
use super::socket::{UDP, send_from_file, set_number};
use crate::backend::{Completion, Errno, SyncBackend};
use crate::clock::monotonic_ns;
use crate::op::BlockOp;
use crate::rng::Rng;
use plumb_workload::net::{NetOp, NetWork, Passing, Transport};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How often a call that waits for the other end looks whether the worker is to end.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A connection must be there within this time.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);

/// A response that has not come by then is lost.
const LOST_AFTER_NS: u64 = 1_000_000_000;

/// Bytes that a stream is received into: what is copied there again and again stays in the cache.
const RECEIVE_BYTES: usize = 128 << 10;

/// Bytes of a train of datagrams at most, and how many. Sources: udp(7); `UDP_MAX_SEGMENTS` of Linux before 6.9.
const TRAIN_BYTES: u32 = 65507;
const TRAIN_DATAGRAMS: u32 = 64;

/// Datagrams that are due sooner one after another than this go in trains: a call takes as long.
const CALL_NS: f64 = 2_000.0;

/// What a flow shares with others, known when it starts.
pub(super) struct Ready<'a> {
    /// Whether the worker is to end.
    pub(super) stops: &'a dyn Fn() -> bool,
    pub(super) bytes_left: &'a AtomicU64,
    pub(super) cells: &'a DatagramCells,
}

/// A connected socket with its memory, before its worker begins.
pub(super) struct Prepared {
    fd: RawFd,
    work: NetWork,
    other: Option<SocketAddr>,
    /// How bytes of a stream pass. Before its memory, so that nothing of it is in flight when that goes.
    passer: Passer,
    buffer: Block,
    /// How many blocks an op has at most.
    pub(super) blocks_at_once: u32,
    /// The socket cuts what is sent at once into datagrams.
    trains: bool,
    /// What a stream is sent from, or received into.
    file: Option<File>,
    /// What connections are given that an op makes.
    new_sockets: Arc<NewSockets>,
}

/// The same at work.
pub(super) struct NetSocket<'a> {
    made: Prepared,
    /// The number of the last datagram that was sent.
    number: u64,
    tally: Tally,
    ready: Ready<'a>,
    ended: bool,
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
}

impl Prepared {
    /// What is done.
    pub(super) fn work(&self) -> &NetWork {
        &self.work
    }
}

impl<'a> NetSocket<'a> {
    pub(super) fn new(made: Prepared, ready: Ready<'a>) -> NetSocket<'a> {
        NetSocket { made, number: 0, tally: Tally::default(), ready, ended: false }
    }

    fn stops(&self) -> bool {
        (self.ready.stops)()
    }

    /// Calls until all of this many bytes are there. A call that waits too long is made again, unless the worker is to end.
    fn whole(&mut self, length: usize, mut call: impl FnMut(&mut Self, usize) -> Completion) -> Completion {
        let mut done = 0;
        while done < length {
            match call(self, done) {
                // The other end has closed.
                Ok(0) => return Err(Errno::ENDED),
                Ok(count) => done += count as usize,
                Err(Errno(libc::EAGAIN | libc::EINTR)) if self.stops() => break,
                Err(Errno(libc::EAGAIN | libc::EINTR | libc::ENOBUFS)) => {}
                Err(errno) => return Err(errno),
            }
        }
        if done == 0 { Err(Errno::ENDED) } else { Ok(done as u64) }
    }

    fn send_stream(&mut self, length: usize) -> Completion {
        if self.made.file.is_some() {
            return self.send_file(length);
        }
        self.whole(length, |socket, done| {
            let Prepared { passer, fd, buffer, .. } = &mut socket.made;
            passer.send(*fd, buffer, done, length - done)
        })
    }

    /// Sends what comes next in the file. Its end is that of the work.
    fn send_file(&mut self, length: usize) -> Completion {
        let Some(file) = &self.made.file else { return Err(Errno::ENDED) };
        #[cfg(target_os = "linux")]
        if self.made.work.passing == Passing::Lend {
            let mut done = 0;
            while done < length {
                let sent = self.whole(1, |socket, _| match &socket.made.file {
                    Some(file) => send_from_file(socket.made.fd, file, length - done),
                    None => Err(Errno::ENDED),
                });
                match sent {
                    Ok(count) => done += count as usize,
                    // The last block of a file is a short one.
                    Err(Errno::ENDED) if done > 0 => break,
                    Err(errno) => return Err(errno),
                }
            }
            return Ok(done as u64);
        }
        let mut got = 0;
        while got < length {
            match (&*file).read(&mut self.made.buffer[got..length]) {
                Ok(0) => break,
                Ok(count) => got += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(errno_of(&error)),
            }
        }
        self.whole(got, |socket, done| send_once(socket.made.fd, &socket.made.buffer[done..got]))
    }

    /// Sends datagrams, each with its number and the time at hand.
    fn send_datagrams(&mut self, length: usize) -> Completion {
        let (block, form) = (self.made.work.block as usize, self.made.work.form);
        if !self.made.work.bare {
            let sent_us = monotonic_ns() / 1_000;
            for datagram in self.made.buffer[..length].chunks_mut(block) {
                self.number += 1;
                DatagramHeader { sent_us, number: self.number }.write(datagram, form);
            }
        }
        self.whole(length, |socket, done| {
            let step = if socket.made.trains { length } else { block };
            match send_once(socket.made.fd, &socket.made.buffer[done..(done + step).min(length)]) {
                // Datagrams that are longer than the path takes go by themselves, in fragments.
                Err(Errno(libc::EINVAL | libc::EMSGSIZE)) if socket.made.trains => socket.send_apart(),
                sent => sent,
            }
        })
    }

    /// From now on, each datagram has a call of its own.
    fn send_apart(&mut self) -> Completion {
        self.made.trains = false;
        #[cfg(target_os = "linux")]
        {
            set_number(self.made.fd, UDP.0, UDP.1, 0).map_err(|_| Errno(libc::EINVAL))?;
        }
        Err(Errno(libc::EINTR))
    }

    /// What comes next: a datagram, or a train of them.
    #[inline]
    fn next_train(&mut self) -> Result<Train, Errno> {
        self.polled(|this, flags| {
            let Prepared { fd, buffer, work, .. } = &mut this.made;
            match work.bare {
                true => receive_once(*fd, buffer, flags).map(|bytes| Train { bytes: bytes as usize, each: 0 }),
                false => receive_train(*fd, buffer, flags),
            }
        })
    }

    /// Calls again and again without sleeping, for as long as the work says, and then once as long as it takes.
    #[inline]
    fn polled<T>(&mut self, mut call: impl FnMut(&mut Self, i32) -> Result<T, Errno>) -> Result<T, Errno> {
        let poll_us = self.made.work.poll_us;
        if poll_us > 0 {
            let until = monotonic_ns() + u64::from(poll_us) * 1000;
            loop {
                match call(self, libc::MSG_DONTWAIT) {
                    Err(Errno(libc::EAGAIN)) if monotonic_ns() < until => std::hint::spin_loop(),
                    Err(Errno(libc::EAGAIN)) => break,
                    got => return got,
                }
            }
        }
        call(self, 0)
    }

    /// Receives all of a request or of a response.
    fn take(&mut self, bytes: usize) -> Completion {
        self.whole(bytes, |socket, done| {
            socket.polled(|this, flags| receive_once(this.made.fd, &mut this.made.buffer[done..bytes], flags))
        })
    }

    fn receive_datagrams(&mut self) -> Completion {
        let Train { bytes, each } = loop {
            match self.next_train() {
                Ok(train) if train.bytes > 0 => break train,
                Ok(_) if self.made.work.bare => return Err(Errno::ENDED),
                // An empty datagram, or the socket was shut down to wake its worker.
                Ok(_) | Err(Errno(libc::EAGAIN | libc::EINTR | libc::ECONNREFUSED)) if self.stops() => {
                    return Err(Errno::ENDED);
                }
                Ok(_) | Err(Errno(libc::EAGAIN | libc::EINTR | libc::ECONNREFUSED)) => {}
                Err(errno) => return Err(errno),
            }
        };
        if self.made.work.bare {
            return Ok(self.arrived(bytes as u64));
        }
        let now_us = monotonic_ns() / 1_000;
        for datagram in self.made.buffer[..bytes].chunks(if each == 0 { bytes } else { each }) {
            // What is too short to be of the test is counted as bytes only.
            if let Some(header) = DatagramHeader::read(datagram, self.made.work.form) {
                self.tally.count(header, now_us);
            }
        }
        self.publish();
        Ok(self.arrived(bytes as u64))
    }

    fn publish(&self) {
        self.tally.publish(self.ready.cells);
    }

    fn receive_stream(&mut self) -> Completion {
        // More than there is room for goes over itself.
        let length = match (&self.made.file, self.made.work.apart) {
            (Some(_), _) => self.made.buffer.len(),
            (None, true) => self.made.work.block as usize,
            (None, false) => CALL_BYTES as usize,
        };
        let got = loop {
            let Prepared { passer, fd, buffer, .. } = &mut self.made;
            match passer.receive(*fd, buffer, length) {
                Ok(0) => return Err(Errno::ENDED),
                Err(Errno(libc::EAGAIN | libc::EINTR)) if !self.stops() => {}
                Err(Errno(libc::EAGAIN | libc::EINTR)) => return Err(Errno::ENDED),
                got => break got?,
            }
        };
        if let Some(mut file) = self.made.file.as_ref() {
            file.write_all(&self.made.buffer[..got as usize]).map_err(|error| errno_of(&error))?;
        }
        Ok(self.arrived(got))
    }

    /// Takes what came from the limit, where there is one. The worker ends with the op that uses it up.
    fn arrived(&mut self, bytes: u64) -> u64 {
        let left = self.ready.bytes_left;
        if left.load(Relaxed) != u64::MAX {
            let take = |left: u64| Some(left.saturating_sub(bytes));
            let before = left.fetch_update(Relaxed, Relaxed, take).unwrap_or(0);
            self.ended = before <= bytes;
        }
        bytes
    }

    /// A round trip: the request, and the whole of its response.
    fn request(&mut self) -> Completion {
        let NetWork { transport, block, response, form, bare, .. } = self.made.work;
        let (ask, answer) = (block as usize, response as usize);
        if transport == Transport::Tcp {
            stamp_bounce(&mut self.made.buffer[..ask], form, false);
            self.whole(ask, |socket, done| send_once(socket.made.fd, &socket.made.buffer[done..ask]))?;
            return self.take(answer);
        }
        self.number += 1;
        let began_ns = monotonic_ns();
        let header = DatagramHeader { sent_us: began_ns / 1_000, number: self.number };
        if !bare {
            header.write(&mut self.made.buffer, form);
        }
        self.whole(ask, |socket, _| send_once(socket.made.fd, &socket.made.buffer[..ask]))?;
        loop {
            match self.next_train() {
                // One that comes late is the response to another request.
                Ok(Train { bytes, .. })
                    if bare && bytes > 0
                        || DatagramHeader::read(&self.made.buffer[..bytes], form)
                            .is_some_and(|got| got.number == self.number) =>
                {
                    return Ok(bytes as u64);
                }
                Ok(_) | Err(Errno(libc::EAGAIN | libc::EINTR)) if self.stops() => return Err(Errno::ENDED),
                Ok(_) | Err(Errno(libc::EAGAIN | libc::EINTR | libc::ECONNREFUSED)) => {}
                Err(errno) => return Err(errno),
            }
            if monotonic_ns() - began_ns > LOST_AFTER_NS {
                self.tally.lose(self.number);
                self.publish();
                return Err(Errno(libc::ETIMEDOUT));
            }
        }
    }

    fn respond(&mut self) -> Completion {
        let NetWork { transport, block, response, form, bare, .. } = self.made.work;
        let (ask, answer) = (block as usize, response as usize);
        if transport == Transport::Tcp {
            self.take(ask)?;
            stamp_bounce(&mut self.made.buffer[..ask], form, true);
            return self.whole(answer, |socket, done| send_once(socket.made.fd, &socket.made.buffer[done..answer]));
        }
        loop {
            match self.next_train() {
                // The other end is known by a connection of TCP, so nobody else is sent anything.
                Ok(Train { bytes, .. }) if bare => match bytes {
                    0 => return Err(Errno::ENDED),
                    _ => return send_once(self.made.fd, &self.made.buffer[..answer]),
                },
                // Never longer than the request: a forged sender address must not turn this end into an amplifier.
                Ok(Train { bytes, .. }) if bytes >= answer && bytes > 0 => {
                    return send_once(self.made.fd, &self.made.buffer[..answer.max(16).min(bytes)]);
                }
                Ok(_) | Err(Errno(libc::EAGAIN | libc::EINTR | libc::ECONNREFUSED)) if self.stops() => {
                    return Err(Errno::ENDED);
                }
                Ok(_) | Err(Errno(libc::EAGAIN | libc::EINTR | libc::ECONNREFUSED)) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

/// How many blocks a call has: more than a burst only where nothing has to start apart from the others.
fn blocks_at_once(work: &NetWork) -> u32 {
    let burst = work.burst.max(1);
    match (work.op, work.transport, work.rate) {
        (NetOp::Send, Transport::Tcp, None) if !work.apart => (CALL_BYTES / work.block).clamp(1, 16).max(burst),
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

/// Connections, one for each op.
impl NetSocket<'_> {
    /// Makes one and sees it to its end, which the other end makes: so no port of this one is kept back afterwards.
    fn connect(&mut self) -> Completion {
        let to = self.made.other.ok_or(Errno(libc::EDESTADDRREQ))?;
        let poll_us = self.made.work.poll_us;
        let socket = self.made.new_sockets.connect(&to, CONNECT_PATIENCE, LOOK_AGAIN, poll_us)?;
        self.on(socket, |this| {
            let got = this.request()?;
            match this.take(1) {
                Err(Errno::ENDED) => Ok(got),
                Ok(_) => Err(Errno(libc::EPROTO)),
                Err(errno) => Err(errno),
            }
        })
    }

    fn accept(&mut self) -> Completion {
        let of = self.made.other.map(|other| other.ip().to_canonical());
        loop {
            if self.made.work.poll_us > 0 {
                ask(self.made.fd, libc::POLLIN, self.made.work.poll_us);
            }
            match accepted(self.made.fd, of) {
                // One that came to nothing is not the end of the others.
                Ok(socket) => match self.on(socket, NetSocket::respond) {
                    Err(_) if !self.stops() => {}
                    done => return done,
                },
                Err(_) if self.stops() => return Err(Errno::ENDED),
                Err(Errno(libc::EAGAIN | libc::EINTR | libc::ECONNABORTED)) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Does something on a connection, and closes it.
    fn on(&mut self, socket: OwnedFd, what: impl FnOnce(&mut Self) -> Completion) -> Completion {
        let before = std::mem::replace(&mut self.made.fd, socket.as_raw_fd());
        let done = what(self);
        self.made.fd = before;
        done
    }
}

impl SyncBackend for NetSocket<'_> {
    type Op = BlockOp;

    fn execute(&mut self, op: &BlockOp) -> Completion {
        if self.ended {
            return Err(Errno::ENDED);
        }
        let length = op.length as usize;
        match (self.made.work.op, self.made.work.transport) {
            (NetOp::Send, Transport::Tcp) => self.send_stream(length),
            (NetOp::Send, Transport::Udp) => self.send_datagrams(length),
            (NetOp::Receive, Transport::Tcp) => self.receive_stream(),
            (NetOp::Receive, Transport::Udp) => self.receive_datagrams(),
            (NetOp::Request, _) => self.request(),
            (NetOp::Respond, _) => self.respond(),
            (NetOp::Connect, _) => self.connect(),
            (NetOp::Accept, _) => self.accept(),
        }
    }

    fn finish(&mut self) -> Result<(), crate::backend::Unfinished> {
        let [copied, told] = self.made.passer.take_told(self.made.fd);
        self.ready.cells.tell(copied, told);
        Ok(())
    }

    /// Nothing is done between two ops that is worth a reading of the clock.
    fn works_between_ops(&self) -> bool {
        false
    }

    fn path_of(&self, _op: &BlockOp) -> PathBuf {
        PathBuf::from("socket")
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
