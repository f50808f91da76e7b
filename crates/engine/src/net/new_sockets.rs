//! What connections are given that ops make.

use super::options::SocketOptions;
use super::socket::{ConnectError, ask, new_socket};
use crate::backend::Errno;
use plumb_workload::net::Transport;
use rustix::net;
use rustix::net::sockopt::{Timeout, set_socket_recv_buffer_size, set_socket_send_buffer_size, set_socket_timeout};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// What connections are given that ops make.
#[derive(Debug, Clone, Default)]
pub struct NewSockets {
    /// This end's address.
    pub bind: Option<SocketAddr>,
    /// Options.
    pub options: SocketOptions,
    /// Bytes of the buffers: for sending, and for receiving.
    pub buffers: [Option<u32>; 2],
}

impl NewSockets {
    /// A socket of this kind, not connected yet; bound where an address is given.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn make(&self, to: &SocketAddr, transport: Transport) -> Result<OwnedFd, ConnectError> {
        let socket = new_socket(to, self.bind, transport, &self.options)?;
        self.set_buffers(socket.as_fd())?;
        Ok(socket)
    }

    /// Gives the sizes of the buffers to a socket.
    ///
    /// # Errors
    /// The system's own.
    pub fn set_buffers(&self, socket: BorrowedFd<'_>) -> Result<(), ConnectError> {
        let [sends, receives] = self.buffers;
        sends.map_or(Ok(()), |bytes| set_socket_send_buffer_size(socket, bytes as usize))?;
        receives.map_or(Ok(()), |bytes| set_socket_recv_buffer_size(socket, bytes as usize))?;
        Ok(())
    }

    /// A connection, made within this time; whoever waits for its data looks around as often as is said. For at most `poll_us`, it is
    /// asked for without sleeping.
    pub(super) fn connect(
        &self,
        to: &SocketAddr,
        longest: Duration,
        look: Duration,
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
                Err(rustix::io::Errno::INPROGRESS) => _ = ask(socket.as_raw_fd(), libc::POLLOUT, poll_us),
                done => done?,
            }
            rustix::io::ioctl_fionbio(&socket, false)?;
            // One that is not there yet is waited for.
            match net::connect(&socket, to) {
                Err(rustix::io::Errno::ISCONN) => {}
                done => done?,
            }
        } else {
            net::connect(&socket, to)?;
        }
        set_socket_timeout(&socket, Timeout::Recv, Some(look))?;
        Ok(socket)
    }
}

/// The system's number of an error.
pub(super) fn errno_of(error: &std::io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(libc::EIO))
}
