//! A control connection: messages within deadlines. `plumb_tools_net::netperf` interprets them.

use super::TestError;
use plumb_tools_net::netperf::{MESSAGE_BYTES, Message};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Time within which the other end must answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Control {
    pub socket: TcpStream,
}

impl Control {
    /// Sets up a new connection.
    pub(super) fn new(socket: TcpStream) -> std::io::Result<Control> {
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(PATIENCE))?;
        plumb_engine::net::watch(&socket, plumb_engine::net::KeepAlive::default());
        Ok(Control { socket })
    }

    /// Reads the next whole message before a deadline.
    pub(super) fn read(&mut self, until: Instant, what: &'static str) -> Result<Message, TestError> {
        let mut bytes = [0; MESSAGE_BYTES];
        let mut got = 0;
        while got < bytes.len() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(TestError::Silent(what));
            }
            self.socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            match self.socket.read(&mut bytes[got..]) {
                Ok(0) => return Err(TestError::Closed),
                Ok(count) => got += count,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Err(TestError::Closed),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Message(bytes))
    }

    pub(super) fn send(&mut self, message: &Message) -> Result<(), TestError> {
        self.socket.write_all(&message.0).map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => TestError::Closed,
            _ => error.into(),
        })
    }

    /// Returns `true` if the other end has closed the connection.
    pub(super) fn is_closed(&self) -> bool {
        is_readable(&[self.socket.as_fd()], Duration::ZERO)[0] && !matches!(self.socket.peek(&mut [0]), Ok(1..))
    }
}

/// Waits until a socket is readable or at its end. Returns whether each one is.
pub(super) fn is_readable(sockets: &[BorrowedFd<'_>], longest: Duration) -> Vec<bool> {
    let mut watched: Vec<PollFd<'_>> = sockets.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let longest = Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
    // A signal also ends the poll.
    let _ = poll(&mut watched, Some(&longest));
    watched.iter().map(|watched| !watched.revents().is_empty()).collect()
}

/// Waits until the other end of a data connection stops sending. Returns `false` after the timeout.
pub(crate) fn until_end(socket: BorrowedFd<'_>, longest: Duration) -> bool {
    let until = Instant::now() + longest;
    let mut bytes = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        if is_readable(&[socket], left)[0] {
            match rustix::net::recv(socket, &mut bytes, rustix::net::RecvFlags::DONTWAIT) {
                Ok((0, _)) => return true,
                Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Err(_) => return true,
            }
        }
    }
}
