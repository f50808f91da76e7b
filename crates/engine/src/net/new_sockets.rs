//! Settings of the connections that ops create.

use super::options::SocketOptions;
use super::socket::{ConnectError, busy_poll, new_socket};
use crate::backend::Errno;
use plumb_workload::net::Transport;
use rustix::net;
use rustix::net::sockopt::{Timeout, set_socket_recv_buffer_size, set_socket_send_buffer_size, set_socket_timeout};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

#[derive(Debug, Clone, Default)]
pub struct NewSockets {
    /// Local address to bind to.
    pub bind: Option<SocketAddr>,
    pub options: SocketOptions,
    /// Buffer sizes in bytes: for sending, and for receiving.
    pub buffers: [Option<u32>; 2],
}

impl NewSockets {
    /// Creates an unconnected socket of this kind, bound if a local address is set.
    ///
    /// # Errors
    /// The option or address that the system refuses.
    pub fn make(&self, to: &SocketAddr, transport: Transport) -> Result<OwnedFd, ConnectError> {
        let socket = new_socket(to, self.bind, transport, &self.options)?;
        self.set_buffers(socket.as_fd())?;
        Ok(socket)
    }

    /// Sets the buffer sizes of a socket.
    ///
    /// # Errors
    /// The system's error.
    pub fn set_buffers(&self, socket: BorrowedFd<'_>) -> Result<(), ConnectError> {
        let [sends, receives] = self.buffers;
        sends.map_or(Ok(()), |bytes| set_socket_send_buffer_size(socket, bytes as usize))?;
        receives.map_or(Ok(()), |bytes| set_socket_recv_buffer_size(socket, bytes as usize))?;
        Ok(())
    }

    /// Connects within `longest`. A thread that waits for data on the connection wakes up every `stop_poll` to check
    /// for shutdown. For up to `poll_us`, it busy-polls instead of sleeping.
    pub(super) fn connect(
        &self,
        to: &SocketAddr,
        longest: Duration,
        stop_poll: Duration,
        poll_us: u32,
    ) -> Result<OwnedFd, Errno> {
        let socket = self.make(to, Transport::Tcp).map_err(|error| match error {
            ConnectError::System(error) => errno_of(&error),
            ConnectError::Option(refused) => errno_of(&refused.source),
        })?;
        set_socket_timeout(&socket, Timeout::Send, Some(longest))?;
        if poll_us > 0 {
            rustix::io::ioctl_fionbio(&socket, true)?;
            match net::connect(&socket, to) {
                Err(rustix::io::Errno::INPROGRESS) => _ = busy_poll(socket.as_raw_fd(), libc::POLLOUT, poll_us),
                done => done?,
            }
            rustix::io::ioctl_fionbio(&socket, false)?;
            // Wait for a connection that is not established yet.
            match net::connect(&socket, to) {
                Err(rustix::io::Errno::ISCONN) => {}
                done => done?,
            }
        } else {
            net::connect(&socket, to)?;
        }
        set_socket_timeout(&socket, Timeout::Recv, Some(stop_poll))?;
        Ok(socket)
    }
}

/// Converts an I/O error to its errno.
pub(super) fn errno_of(error: &std::io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(libc::EIO))
}
