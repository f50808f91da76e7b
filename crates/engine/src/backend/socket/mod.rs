//! Sockets: a write sends a message to the other side, a read receives one.
//!
//! Streams are plain bytes, and a read waits for its whole length. A datagram is one op. Both sides understand fio's
//! `net` engine: eight-byte messages open and close a datagram exchange, and one closes a stream. Source: packets of
//! fio 3.33, seen with strace.
#![allow(unsafe_code)]

mod link;

use crate::backend::{
    Begun, BlockContext, Completion, Errno, FileAccess, NotBegun, SyncBackend, Unfinished, has_context,
};
use crate::op::BlockOp;
use link::{Link, LinkSide, Message};
pub(crate) use link::{LinkError, LinkRequest};
use plumb_workload::OpKind;

/// Returns `true` to stop waiting for the other side, which may never come.
pub(crate) type StopCheck<'a> = &'a dyn Fn() -> bool;

/// Stop conditions of a worker with a socket.
pub(crate) struct StopChecks<'a> {
    /// Used while it waits for the other side: its own time begins with the connection.
    pub(crate) alone: Box<dyn Fn() -> bool + 'a>,
    /// Used once the connection exists.
    pub(crate) together: Box<dyn Fn() -> bool + 'a>,
}

/// State of a link.
enum LinkEnds {
    /// Not connected yet; `None` while connecting.
    One(Option<LinkSide>),
    Both(Link),
}

/// A connection, or a datagram socket.
pub(crate) struct Socket<'a> {
    context: BlockContext,
    ends: LinkEnds,
    /// Send small messages at once, without waiting for more data.
    no_delay: bool,
    ping_pong: bool,
    writes: bool,
    /// Let small messages wait for more data.
    gathers: bool,
    stops: StopChecks<'a>,
    /// The other side has sent its last message.
    ended: bool,
}

impl<'a> Socket<'a> {
    /// Starts to listen if requested, so that the other side finds it. Waits for the other side only in
    /// [`begin`](SyncBackend::begin), because it may run in the same phase.
    pub(crate) fn new(
        context: BlockContext,
        request: &LinkRequest,
        stops: StopChecks<'a>,
    ) -> Result<Socket<'a>, LinkError> {
        Ok(Socket {
            context,
            ends: LinkEnds::One(Some(LinkSide::new(request)?)),
            gathers: false,
            no_delay: request.no_delay,
            ping_pong: request.ping_pong,
            writes: request.access == FileAccess::ReadWrite,
            stops,
            ended: false,
        })
    }

    /// Connects, or waits for a connection.
    fn meet(&mut self) -> Result<(), LinkError> {
        if let LinkEnds::One(side) = &mut self.ends
            && let Some(side) = side.take()
        {
            let link = side.meet(&*self.stops.alone)?;
            self.gathers = link.is_stream() && !self.ping_pong && !self.no_delay;
            self.ends = LinkEnds::Both(link);
        }
        Ok(())
    }

    fn link(&self) -> Result<&Link, Errno> {
        match &self.ends {
            LinkEnds::Both(link) => Ok(link),
            LinkEnds::One(_) => Err(Errno(libc::ENOTCONN)),
        }
    }

    fn send(&self, memory: *const u8, length: usize) -> Completion {
        let link = self.link()?;
        let gathers = if self.gathers { crate::os::MSG_MORE } else { 0 };
        let mut sent = 0;
        while sent < length {
            // SAFETY: `memory` holds at least `length` bytes; the rest begins at `sent`.
            let rest = unsafe { memory.add(sent) };
            match link.send(rest, length - sent, gathers) {
                Ok(count) => sent += count,
                Err(Errno(libc::EAGAIN | libc::EINTR)) if !(self.stops.together)() => {}
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
        let link = self.link()?;
        let mut got = 0;
        while got < length {
            // SAFETY: `memory` holds at least `length` bytes; the free part begins at `got`.
            let rest = unsafe { memory.add(got) };
            match link.receive(rest, length - got) {
                // The other side has closed the connection.
                Ok(0) if link.is_stream() => break,
                Ok(count) => got += count,
                Err(Errno(libc::EAGAIN | libc::EINTR)) if !(self.stops.together)() => continue,
                Err(Errno(libc::EAGAIN | libc::EINTR)) => break,
                Err(errno) => return Err(errno),
            }
            if !link.is_stream() {
                break;
            }
        }
        // SAFETY: `got` bytes were received into it.
        let received = unsafe { std::slice::from_raw_parts(memory, got) };
        self.ended = got == 0 || Message::parse(received) == Some(Message::Close);
        if self.ended { Err(Errno::ENDED) } else { Ok(got as u64) }
    }
}

impl SyncBackend for Socket<'_> {
    type Op = BlockOp;

    has_context!();

    fn begin(&mut self) -> Result<Begun, NotBegun> {
        match self.meet() {
            Ok(()) => Ok(Begun::AfterOther),
            Err(LinkError::Stopped) => Err(NotBegun::Stopped),
            Err(other) => Err(NotBegun::Failed { errno: other.errno(), reason: other.to_string() }),
        }
    }

    fn execute(&mut self, op: &BlockOp) -> Completion {
        let (_, memory) = self.context.parts(0);
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
            // Sockets have nothing to flush, open or close.
            OpKind::Trim => Err(Errno(libc::EINVAL)),
            _ => Ok(0),
        }
    }

    /// Sends the closing message.
    fn finish(&mut self) -> Result<(), Unfinished> {
        if self.writes
            && let Ok(link) = self.link()
        {
            let message = Message::Close.bytes();
            // The peer may already have exited; that is not an error.
            let _ = link.send(message.as_ptr(), message.len(), 0);
        }
        Ok(())
    }
}

impl Drop for Socket<'_> {
    fn drop(&mut self) {
        if let Ok(link) = self.link()
            && link.is_stream()
        {
            link.end_sending();
        }
    }
}

#[cfg(test)]
mod tests;
