//! The backend of network work: one connected socket.

use super::bursts::{Bursts, begin_burst};
use super::datagram::{DatagramCells, DatagramHeader, Tally};
use super::new_sockets::errno_of;
use super::passing::CALL_BYTES;
use super::prepared::Prepared;
use super::socket::{Train, receive_once, receive_train, send_once};
#[cfg(target_os = "linux")]
use super::socket::{UDP, send_from_file, set_number};
use crate::backend::{Completion, Errno, SyncBackend};
use crate::clock::monotonic_ns;
use crate::op::BlockOp;
use plumb_workload::net::{DatagramForm, NetOp, Passing, Transport};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// State that a worker shares with others, known when it starts.
pub(super) struct Ready<'a> {
    /// Returns `true` once the worker should end.
    pub(super) should_stop: &'a dyn Fn() -> bool,
    pub(super) bytes_left: &'a AtomicU64,
    pub(super) cells: &'a DatagramCells,
}

/// A connected socket in use by its worker.
pub(super) struct NetSocket<'a> {
    pub(super) made: Prepared,
    /// Number of the last datagram sent.
    pub(super) number: u64,
    pub(super) tally: Tally,
    pub(super) ready: Ready<'a>,
    ended: bool,
    /// Parser of received bursts; `None` if the stream has none.
    bursts: Option<Box<Bursts>>,
}

impl<'a> NetSocket<'a> {
    pub(super) fn new(made: Prepared, ready: Ready<'a>) -> NetSocket<'a> {
        let is_cut = matches!(made.work.form, DatagramForm::Iperf2Bursts(_)) && made.work.op == NetOp::Receive;
        let bursts = is_cut.then(|| Box::new(Bursts::new()));
        NetSocket { made, number: 0, tally: Tally::default(), ready, ended: false, bursts }
    }

    pub(super) fn should_stop(&self) -> bool {
        (self.ready.should_stop)()
    }

    /// Repeats `call` until `length` bytes are done. A call that times out is repeated unless the worker should end.
    pub(super) fn transfer_all(
        &mut self,
        length: usize,
        mut call: impl FnMut(&mut Self, usize) -> Completion,
    ) -> Completion {
        let mut done = 0;
        while done < length {
            match call(self, done) {
                // The other end has closed the connection.
                Ok(0) => return Err(Errno::ENDED),
                Ok(count) => done += count as usize,
                Err(Errno(libc::EAGAIN | libc::EINTR)) if self.should_stop() => break,
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
        if let DatagramForm::Iperf2Bursts(form) = &self.made.work.form {
            self.number += 1;
            begin_burst(&mut self.made.buffer[..length], form, self.number);
        }
        self.transfer_all(length, |socket, done| {
            let Prepared { passer, fd, buffer, .. } = &mut socket.made;
            passer.send(*fd, buffer, done, length - done)
        })
    }

    /// Sends the next bytes of the file. The end of the file ends the work.
    fn send_file(&mut self, length: usize) -> Completion {
        let Some(file) = &self.made.file else { return Err(Errno::ENDED) };
        #[cfg(target_os = "linux")]
        if self.made.work.passing == Passing::Lend {
            let mut done = 0;
            while done < length {
                let sent = self.transfer_all(1, |socket, _| match &socket.made.file {
                    Some(file) => send_from_file(socket.made.fd, file, length - done),
                    None => Err(Errno::ENDED),
                });
                match sent {
                    Ok(count) => done += count as usize,
                    // The last block of a file may be short.
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
        self.transfer_all(got, |socket, done| send_once(socket.made.fd, &socket.made.buffer[done..got]))
    }

    /// Sends datagrams, each with its number and the current time.
    fn send_datagrams(&mut self, length: usize) -> Completion {
        let (block, form) = (self.made.work.block as usize, self.made.work.form);
        if !self.made.work.bare {
            let sent_us = monotonic_ns() / 1_000;
            for datagram in self.made.buffer[..length].chunks_mut(block) {
                self.number += 1;
                DatagramHeader { sent_us, number: self.number }.write(datagram, form);
            }
        }
        self.transfer_all(length, |socket, done| {
            let step = if socket.made.trains { length } else { block };
            match send_once(socket.made.fd, &socket.made.buffer[done..(done + step).min(length)]) {
                // Datagrams that exceed the path MTU are sent one by one, in fragments.
                Err(Errno(libc::EINVAL | libc::EMSGSIZE)) if socket.made.trains => socket.send_apart(),
                sent => sent,
            }
        })
    }

    /// Switches to one call per datagram.
    fn send_apart(&mut self) -> Completion {
        self.made.trains = false;
        #[cfg(target_os = "linux")]
        {
            set_number(self.made.fd, UDP.0, UDP.1, 0).map_err(|_| Errno(libc::EINVAL))?;
        }
        Err(Errno(libc::EINTR))
    }

    /// Receives the next datagram, or a train of them.
    #[inline]
    pub(super) fn next_train(&mut self) -> Result<Train, Errno> {
        self.with_busy_poll(|this, flags| {
            let Prepared { fd, buffer, work, .. } = &mut this.made;
            match work.bare {
                true => receive_once(*fd, buffer, flags).map(|bytes| Train { bytes: bytes as usize, each: 0 }),
                false => receive_train(*fd, buffer, flags),
            }
        })
    }

    /// Repeats a call without sleeping for up to the work's `poll_us`, and then blocks in it.
    #[inline]
    pub(super) fn with_busy_poll<T>(
        &mut self,
        mut call: impl FnMut(&mut Self, i32) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
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

    /// Receives a complete request or response.
    pub(super) fn receive_all(&mut self, bytes: usize) -> Completion {
        self.transfer_all(bytes, |socket, done| {
            socket.with_busy_poll(|this, flags| receive_once(this.made.fd, &mut this.made.buffer[done..bytes], flags))
        })
    }

    fn receive_datagrams(&mut self) -> Completion {
        let Train { bytes, each } = loop {
            match self.next_train() {
                Ok(train) if train.bytes > 0 => break train,
                Ok(_) if self.made.work.bare => return Err(Errno::ENDED),
                // The datagram is empty, or the socket was shut down to wake its worker.
                Ok(_) | Err(Errno(libc::EAGAIN | libc::EINTR | libc::ECONNREFUSED)) if self.should_stop() => {
                    return Err(Errno::ENDED);
                }
                Ok(_) | Err(Errno(libc::EAGAIN | libc::EINTR | libc::ECONNREFUSED)) => {}
                Err(errno) => return Err(errno),
            }
        };
        if self.made.work.bare {
            return Ok(self.subtract_from_limit(bytes as u64));
        }
        let now_us = monotonic_ns() / 1_000;
        let (_, bin_us) = self.made.work.form.ahead_and_bin_us();
        for datagram in self.made.buffer[..bytes].chunks(if each == 0 { bytes } else { each }) {
            // A datagram too short for a header counts as bytes only.
            if let Some(header) = DatagramHeader::read(datagram, self.made.work.form) {
                self.tally.count(header, now_us);
                self.tally.add_to_bin(self.ready.cells, bin_us);
            }
        }
        self.publish();
        Ok(self.subtract_from_limit(bytes as u64))
    }

    pub(super) fn publish(&self) {
        self.tally.publish(self.ready.cells);
    }

    fn receive_stream(&mut self) -> Completion {
        // Data beyond the buffer's size overwrites the buffer.
        let length = match (&self.made.file, self.made.work.apart) {
            (Some(_), _) => self.made.buffer.len(),
            _ if self.bursts.is_some() => self.made.buffer.len(),
            (None, true) => self.made.work.block as usize,
            (None, false) => CALL_BYTES as usize,
        };
        let got = loop {
            let Prepared { passer, fd, buffer, .. } = &mut self.made;
            match passer.receive(*fd, buffer, length) {
                Ok(0) => return Err(Errno::ENDED),
                // The expected bytes may all have arrived over other sockets.
                Err(Errno(libc::EAGAIN | libc::EINTR))
                    if !self.should_stop() && self.ready.bytes_left.load(Relaxed) > 0 => {}
                Err(Errno(libc::EAGAIN | libc::EINTR)) => return Err(Errno::ENDED),
                got => break got?,
            }
        };
        if let Some(mut file) = self.made.file.as_ref() {
            file.write_all(&self.made.buffer[..got as usize]).map_err(|error| errno_of(&error))?;
        }
        if let Some(bursts) = &mut self.bursts {
            let now_us = monotonic_ns() / 1_000;
            let (ahead_us, bin_us) = self.made.work.form.ahead_and_bin_us();
            bursts.parse(&self.made.buffer[..got as usize], ahead_us, |header| {
                self.tally.count(header, now_us);
                self.tally.add_to_bin(self.ready.cells, bin_us);
            });
            self.publish();
        }
        Ok(self.subtract_from_limit(got))
    }

    /// Subtracts received bytes from the limit, if there is one. The worker ends with the op that exhausts it.
    fn subtract_from_limit(&mut self, bytes: u64) -> u64 {
        let left = self.ready.bytes_left;
        if left.load(Relaxed) != u64::MAX {
            let take = |left: u64| Some(left.saturating_sub(bytes));
            let before = left.fetch_update(Relaxed, Relaxed, take).unwrap_or(0);
            self.ended = before <= bytes;
        }
        bytes
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
        let [copied, total] = self.made.passer.take_zero_copy_counts(self.made.fd);
        self.ready.cells.add_zero_copy(copied, total);
        Ok(())
    }

    /// Nothing between two ops takes long enough to justify reading the clock.
    fn works_between_ops(&self) -> bool {
        false
    }

    fn path_of(&self, _op: &BlockOp) -> PathBuf {
        PathBuf::from("socket")
    }
}
