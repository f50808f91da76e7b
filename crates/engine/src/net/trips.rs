//! Round trips of a socket: over one connection, or with a new connection for each.

use super::backend::NetSocket;
use super::datagram::{DatagramHeader, stamp_bounce};
use super::prepared::STOP_POLL;
use super::socket::{Train, accept_from, busy_poll, send_once};
use crate::backend::{Completion, Errno};
use crate::clock::monotonic_ns;
use plumb_workload::net::{NetWork, Transport};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// Timeout for establishing a connection.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);

/// A response that has not arrived after this time is lost.
const LOST_AFTER_NS: u64 = 1_000_000_000;

impl NetSocket<'_> {
    /// Makes one round trip: sends the request and receives the complete response.
    pub(super) fn request(&mut self) -> Completion {
        let NetWork { transport, block, response, form, bare, .. } = self.made.work;
        let (request_bytes, response_bytes) = (block as usize, response as usize);
        for _ in 0..std::mem::take(&mut self.made.work.ahead) {
            self.transfer_all(request_bytes, |socket, done| {
                send_once(socket.made.fd, &socket.made.buffer[done..request_bytes])
            })?;
        }
        if transport == Transport::Tcp {
            stamp_bounce(&mut self.made.buffer[..request_bytes], form, false);
            self.transfer_all(request_bytes, |socket, done| {
                send_once(socket.made.fd, &socket.made.buffer[done..request_bytes])
            })?;
            return self.receive_all(response_bytes);
        }
        self.number += 1;
        let began_ns = monotonic_ns();
        let header = DatagramHeader { sent_us: began_ns / 1_000, number: self.number };
        if !bare {
            header.write(&mut self.made.buffer, form);
        }
        self.transfer_all(request_bytes, |socket, _| send_once(socket.made.fd, &socket.made.buffer[..request_bytes]))?;
        loop {
            match self.next_train() {
                // A late response belongs to another request.
                Ok(Train { bytes, .. })
                    if bare && bytes > 0
                        || DatagramHeader::read(&self.made.buffer[..bytes], form)
                            .is_some_and(|got| got.number == self.number) =>
                {
                    return Ok(bytes as u64);
                }
                Ok(_) | Err(Errno(libc::EAGAIN | libc::EINTR)) if self.should_stop() => return Err(Errno::ENDED),
                Ok(_) | Err(Errno(libc::EAGAIN | libc::EINTR | libc::ECONNREFUSED)) => {}
                Err(errno) => return Err(errno),
            }
            if monotonic_ns() - began_ns > LOST_AFTER_NS {
                self.tally.count_lost(self.number);
                self.publish();
                return Err(Errno(libc::ETIMEDOUT));
            }
        }
    }

    pub(super) fn respond(&mut self) -> Completion {
        let NetWork { transport, block, response, form, bare, .. } = self.made.work;
        let (request_bytes, response_bytes) = (block as usize, response as usize);
        if transport == Transport::Tcp {
            self.receive_all(request_bytes)?;
            stamp_bounce(&mut self.made.buffer[..request_bytes], form, true);
            return self.transfer_all(response_bytes, |socket, done| {
                send_once(socket.made.fd, &socket.made.buffer[done..response_bytes])
            });
        }
        loop {
            match self.next_train() {
                // A TCP connection has identified the other end, so strangers are not sent anything.
                Ok(Train { bytes, .. }) if bare => match bytes {
                    0 => return Err(Errno::ENDED),
                    _ => return send_once(self.made.fd, &self.made.buffer[..response_bytes]),
                },
                // Never longer than the request: a forged sender address must not turn this end into an amplifier.
                Ok(Train { bytes, .. }) if bytes >= response_bytes && bytes > 0 => {
                    return send_once(self.made.fd, &self.made.buffer[..response_bytes.max(16).min(bytes)]);
                }
                Ok(_) | Err(Errno(libc::EAGAIN | libc::EINTR | libc::ECONNREFUSED)) if self.should_stop() => {
                    return Err(Errno::ENDED);
                }
                Ok(_) | Err(Errno(libc::EAGAIN | libc::EINTR | libc::ECONNREFUSED)) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

/// Ops that are one connection each.
impl NetSocket<'_> {
    /// Opens a connection and waits until the other end closes it, so that no local port remains in TIME_WAIT. If the
    /// service closes only after its peer (`hangs_up`), this end shuts down its side first.
    pub(super) fn connect(&mut self) -> Completion {
        let to = self.made.other.ok_or(Errno(libc::EDESTADDRREQ))?;
        let poll_us = self.made.work.poll_us;
        let socket = self.made.new_sockets.connect(&to, CONNECT_PATIENCE, STOP_POLL, poll_us)?;
        self.with_socket(&socket, |this| {
            let got = if this.made.work.only_connects { 0 } else { this.request()? };
            if this.made.work.hangs_up {
                // Fails only if the connection is closed already.
                let _ = rustix::net::shutdown(&socket, rustix::net::Shutdown::Write);
            }
            match this.receive_all(1) {
                Err(Errno::ENDED) => Ok(got),
                Ok(_) => Err(Errno(libc::EPROTO)),
                Err(errno) => Err(errno),
            }
        })
    }

    pub(super) fn accept(&mut self) -> Completion {
        let of = self.made.other.map(|other| other.ip().to_canonical());
        loop {
            if self.made.work.poll_us > 0 {
                busy_poll(self.made.fd, libc::POLLIN, self.made.work.poll_us);
            }
            match accept_from(self.made.fd, of) {
                // A failed connection does not end the others.
                Ok(_) if self.made.work.only_connects => return Ok(0),
                Ok(socket) => match self.with_socket(&socket, NetSocket::respond) {
                    Err(_) if !self.should_stop() => {}
                    done => return done,
                },
                Err(_) if self.should_stop() => return Err(Errno::ENDED),
                Err(Errno(libc::EAGAIN | libc::EINTR | libc::ECONNABORTED)) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Calls `call` with another socket in place of the worker's own.
    fn with_socket(&mut self, socket: &OwnedFd, call: impl FnOnce(&mut Self) -> Completion) -> Completion {
        let before = std::mem::replace(&mut self.made.fd, socket.as_raw_fd());
        let done = call(self);
        self.made.fd = before;
        done
    }
}
