//! Sockets: a write is a message to the other side, a read is one from it.
//!
//! Streams are plain bytes, and a read gathers the whole of its op. A datagram is one op. Both ends understand fio's
//! `net` engine: datagrams are announced and ended by messages of eight bytes, and a stream ends with one. Source: what
//! fio 3.33 sends, seen with strace.
#![allow(unsafe_code)]

mod link;

use crate::backend::blocks::BlockCalls;
use crate::backend::{BlockFiles, Completion, Errno, FileAccess, Unfinished};
use crate::op::BlockOp;
use link::{Link, Message};
pub(crate) use link::{LinkError, LinkRequest};
use plumb_workload::OpKind;
use std::os::fd::AsRawFd;

/// Whether the worker is to end. Sockets wait for others, who may never come.
pub(crate) type StopCheck<'a> = &'a dyn Fn() -> bool;

/// A connection, or a socket of datagrams.
pub(crate) struct Socket<'a> {
    link: Link,
    ping_pong: bool,
    writes: bool,
    /// Small messages may wait for more of them to come.
    gathers: bool,
    stops: StopCheck<'a>,
    /// The other side has said that no more will come.
    ended: bool,
}

impl<'a> Socket<'a> {
    /// Connects, or waits for a connection. Returns when the other side is there.
    pub(crate) fn new(request: &LinkRequest, stops: StopCheck<'a>) -> Result<Socket<'a>, LinkError> {
        let link = Link::new(request, stops)?;
        Ok(Socket {
            gathers: link.is_stream() && !request.ping_pong && !request.no_delay,
            link,
            ping_pong: request.ping_pong,
            writes: request.access == FileAccess::ReadWrite,
            stops,
            ended: false,
        })
    }

    fn send(&self, memory: *const u8, length: usize) -> Completion {
        let gathers = if self.gathers { libc::MSG_MORE } else { 0 };
        let mut sent = 0;
        while sent < length {
            // SAFETY: `memory` holds at least `length` bytes, of which those from `sent` on are left.
            let rest = unsafe { memory.add(sent) };
            match self.link.send(rest, length - sent, gathers) {
                Ok(count) => sent += count,
                Err(Errno(libc::EAGAIN | libc::EINTR)) if !(self.stops)() => {}
                Err(Errno(libc::EAGAIN | libc::EINTR)) => return Err(Errno::ENDED),
                Err(errno) => return Err(errno),
            }
        }
        Ok(sent as u64)
    }

    fn receive(&mut self, memory: *mut u8, length: usize) -> Completion {
        if self.ended {
            return Err(Errno::ENDED);
        }
        let mut got = 0;
        while got < length {
            // SAFETY: `memory` holds at least `length` bytes, of which those from `got` on are free.
            let rest = unsafe { memory.add(got) };
            match self.link.receive(rest, length - got) {
                // The other side has closed.
                Ok(0) if self.link.is_stream() => break,
                Ok(count) => got += count,
                Err(Errno(libc::EAGAIN | libc::EINTR)) if !(self.stops)() => continue,
                Err(Errno(libc::EAGAIN | libc::EINTR)) => break,
                Err(errno) => return Err(errno),
            }
            if !self.link.is_stream() {
                break;
            }
        }
        // SAFETY: `got` bytes have been received into it.
        let received = unsafe { std::slice::from_raw_parts(memory, got) };
        self.ended = got == 0 || Message::of(received) == Some(Message::Close);
        if self.ended { Err(Errno::ENDED) } else { Ok(got as u64) }
    }
}

impl BlockCalls for Socket<'_> {
    fn execute(&mut self, _files: &mut BlockFiles, memory: *mut u8, op: &BlockOp) -> Completion {
        let length = op.length as usize;
        match op.kind {
            OpKind::Read => {
                let got = self.receive(memory, length)?;
                if self.ping_pong {
                    self.send(memory, got as usize)?;
                }
                Ok(got)
            }
            OpKind::Write => {
                let sent = self.send(memory, length)?;
                if self.ping_pong {
                    self.receive(memory, length)?;
                }
                Ok(sent)
            }
            // There is nothing to flush, to open or to close.
            OpKind::Trim => Err(Errno(libc::EINVAL)),
            _ => Ok(0),
        }
    }

    /// Tells the other side that no more will come.
    fn finish(&mut self, _files: &BlockFiles) -> Result<(), Unfinished> {
        if self.writes {
            let message = Message::Close.bytes();
            // Who has gone already need not be told.
            let _ = self.link.send(message.as_ptr(), message.len(), 0);
        }
        Ok(())
    }
}

impl Drop for Socket<'_> {
    fn drop(&mut self) {
        if self.link.is_stream() {
            // SAFETY: no memory is passed; what is queued still goes out.
            unsafe { libc::shutdown(self.link.as_raw_fd(), libc::SHUT_WR) };
        }
    }
}

#[cfg(test)]
mod tests;
