//! Sockets: a write is a message to the other side, a read is one from it.
//!
//! Streams are plain bytes, and a read gathers the whole of its op. A datagram is one op. Both ends understand fio's
//! `net` engine: datagrams are announced and ended by messages of eight bytes, and a stream ends with one. Source: what
//! fio 3.33 sends, seen with strace.
#![allow(unsafe_code)]

mod link;

use crate::backend::{
    Begun, BlockContext, Completion, Errno, FileAccess, NotBegun, SyncBackend, Unfinished, has_context,
};
use crate::op::BlockOp;
use link::{Link, LinkSide, Message};
pub(crate) use link::{LinkError, LinkRequest};
use plumb_workload::OpKind;

/// Whether to wait no longer. Sockets wait for others, who may never come.
pub(crate) type StopCheck<'a> = &'a dyn Fn() -> bool;

/// When a worker with a socket ends.
pub(crate) struct StopChecks<'a> {
    /// While it waits for the other side: its own time begins with the connection.
    pub(crate) alone: Box<dyn Fn() -> bool + 'a>,
    /// From then on.
    pub(crate) together: Box<dyn Fn() -> bool + 'a>,
}

/// What there is of a link.
enum LinkEnds {
    /// This side of it, until the other side is waited for.
    One(Option<LinkSide>),
    Both(Link),
}

/// A connection, or a socket of datagrams.
pub(crate) struct Socket<'a> {
    context: BlockContext,
    ends: LinkEnds,
    /// Small messages need not wait for more of them to come.
    no_delay: bool,
    ping_pong: bool,
    writes: bool,
    /// Small messages may wait for more of them to come.
    gathers: bool,
    stops: StopChecks<'a>,
    /// The other side has said that no more will come.
    ended: bool,
}

impl<'a> Socket<'a> {
    /// Listens where it is to listen, so that the other side finds it. The other side may be of the same phase: it is
    /// waited for in [`begin`](SyncBackend::begin).
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

    /// Connects, or waits for a connection. Returns when the other side is there.
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
            // SAFETY: `memory` holds at least `length` bytes, of which those from `sent` on are left.
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
            // SAFETY: `memory` holds at least `length` bytes, of which those from `got` on are free.
            let rest = unsafe { memory.add(got) };
            match link.receive(rest, length - got) {
                // The other side has closed.
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
        // SAFETY: `got` bytes have been received into it.
        let received = unsafe { std::slice::from_raw_parts(memory, got) };
        self.ended = got == 0 || Message::of(received) == Some(Message::Close);
        if self.ended { Err(Errno::ENDED) } else { Ok(got as u64) }
    }
}

impl SyncBackend for Socket<'_> {
    type Op = BlockOp;

    has_context!();

    fn begin(&mut self) -> Result<Begun, NotBegun> {
        match self.meet() {
            Ok(()) => Ok(Begun::BehindOther),
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
            // There is nothing to flush, to open or to close.
            OpKind::Trim => Err(Errno(libc::EINVAL)),
            _ => Ok(0),
        }
    }

    /// Tells the other side that no more will come.
    fn finish(&mut self) -> Result<(), Unfinished> {
        if self.writes
            && let Ok(link) = self.link()
        {
            let message = Message::Close.bytes();
            // Who has gone already need not be told.
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
