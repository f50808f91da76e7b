//! Options set on a socket before it is connected. Sources: socket(7), ip(7), ipv6(7), tcp(7), linux/in6.h.

use super::socket::{set_bytes, set_number};
use plumb_workload::net::Transport;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Options set on a socket before it is connected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Disables Nagle's algorithm (`TCP_NODELAY`).
    pub no_delay: bool,
    /// Size of both buffers, bytes.
    pub window: Option<u32>,
    /// Maximum segment size, bytes.
    pub segment: Option<u32>,
    /// Type of service (IPv4), or traffic class (IPv6).
    pub service: Option<u8>,
    /// Congestion control algorithm.
    pub congestion: Option<String>,
    /// Allows another socket to use the same port.
    pub shares_port: bool,
    /// Requests a large receive buffer, for datagrams that arrive while their receiver is busy.
    pub large_receive_buffer: bool,
    /// Network interface to bind to (`SO_BINDTODEVICE`).
    pub device: Option<String>,
    /// Pacing rate of the kernel, bytes per second.
    pub pacing: Option<u64>,
    /// Milliseconds without acknowledgement after which the connection ends (`TCP_USER_TIMEOUT`).
    pub unacknowledged_ms: Option<u32>,
    /// Forbids fragmentation of IPv4 datagrams.
    pub whole: bool,
    /// IPv6 flow label.
    pub flow_label: Option<u32>,
    pub multipath: bool,
    /// Uses SCTP instead of TCP, with one connection per socket.
    pub sctp: bool,
}

/// Receive buffer of a datagram socket, bytes; the system may grant less.
const MUCH_ROOM: i32 = 8 << 20;

/// IPv6 options: to create a flow label, and to send with it. Source: linux/in6.h.
#[cfg(target_os = "linux")]
const FLOW: (i32, i32) = (32, 33);

/// An option that the system refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot set {name}: {source}")]
pub struct OptionError {
    /// Name of the option, for the message.
    pub name: &'static str,
    pub source: io::Error,
}

impl SocketOptions {
    /// Sets the options of a TCP or UDP socket.
    ///
    /// # Errors
    /// The first option that the system refuses.
    pub fn set(&self, socket: BorrowedFd<'_>, transport: Transport, is_v6: bool) -> Result<(), OptionError> {
        let fd = socket.as_raw_fd();
        let number = |name, level, option, value: u32| {
            set_number(fd, level, option, value as i32).map_err(|source| OptionError { name, source })
        };
        if self.shares_port {
            number("SO_REUSEADDR", libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        }
        if let Some(bytes) = self.window {
            number("the window", libc::SOL_SOCKET, libc::SO_SNDBUF, bytes)?;
            number("the window", libc::SOL_SOCKET, libc::SO_RCVBUF, bytes)?;
        } else if self.large_receive_buffer {
            // The largest size allowed; only root may exceed the limit.
            let _ = set_number(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, MUCH_ROOM);
            #[cfg(target_os = "linux")]
            let _ = set_number(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, MUCH_ROOM);
        }
        if let Some(service) = self.service {
            let (level, option) =
                if is_v6 { (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) } else { (libc::IPPROTO_IP, libc::IP_TOS) };
            number("the type of service", level, option, service.into())?;
        }
        #[cfg(target_os = "linux")]
        self.set_of_linux(fd)?;
        if transport == Transport::Udp {
            #[cfg(target_os = "linux")]
            if self.whole && !is_v6 {
                let value = libc::IP_PMTUDISC_DO as u32;
                number("the don't-fragment flag", libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, value)?;
            }
            return Ok(());
        }
        if self.sctp {
            return self.set_of_sctp(fd);
        }
        if self.no_delay {
            number("TCP_NODELAY", libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        }
        if let Some(bytes) = self.segment {
            number("the segment size", libc::IPPROTO_TCP, libc::TCP_MAXSEG, bytes)?;
        }
        #[cfg(target_os = "linux")]
        if let Some(ms) = self.unacknowledged_ms {
            number("the send timeout", libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, ms)?;
        }
        if let Some(name) = &self.congestion {
            set_bytes(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes())
                .map_err(|source| OptionError { name: "the congestion control", source })?;
        }
        Ok(())
    }

    /// Sets the stream options that SCTP also has. Source: linux/sctp.h.
    fn set_of_sctp(&self, fd: i32) -> Result<(), OptionError> {
        const NODELAY: i32 = 3;
        const MAXSEG: i32 = 13;
        let number = |name, option, value: u32| {
            set_number(fd, libc::IPPROTO_SCTP, option, value as i32).map_err(|source| OptionError { name, source })
        };
        if self.no_delay {
            number("SCTP_NODELAY", NODELAY, 1)?;
        }
        if let Some(bytes) = self.segment {
            number("the segment size", MAXSEG, bytes)?;
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn set_of_linux(&self, fd: i32) -> Result<(), OptionError> {
        let bytes = |name, level, option, value: &[u8]| {
            set_bytes(fd, level, option, value).map_err(|source| OptionError { name, source })
        };
        if let Some(device) = &self.device {
            bytes("the network interface", libc::SOL_SOCKET, libc::SO_BINDTODEVICE, device.as_bytes())?;
        }
        if let Some(rate) = self.pacing {
            bytes("the pacing rate", libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &rate.to_ne_bytes())?;
        }
        Ok(())
    }

    /// Sets the options of a TCP socket that is already connected.
    ///
    /// # Errors
    /// The first option that the system refuses.
    pub fn set_connected(&self, socket: impl AsFd, is_v6: bool) -> Result<(), OptionError> {
        self.set(socket.as_fd(), Transport::Tcp, is_v6)
    }

    /// Returns the address to connect to, with a flow label that this function registers.
    pub(super) fn with_flow_label(&self, socket: BorrowedFd<'_>, to: SocketAddr) -> Result<SocketAddr, OptionError> {
        let Some(label) = self.flow_label else { return Ok(to) };
        let SocketAddr::V6(mut to) = to else {
            let source = io::Error::other("only IPv6 has flow labels; use -6");
            return Err(OptionError { name: "the flow label", source });
        };
        #[cfg(target_os = "linux")]
        {
            // Address, label, action (0: get), share (any), flags (1: create).
            let mut request = [0; 32];
            request[..16].copy_from_slice(&to.ip().octets());
            request[16..20].copy_from_slice(&label.to_be_bytes());
            request[21] = 255;
            request[22..24].copy_from_slice(&1u16.to_ne_bytes());
            for (option, value) in [(FLOW.0, request.as_slice()), (FLOW.1, &1i32.to_ne_bytes())] {
                set_bytes(socket.as_raw_fd(), libc::IPPROTO_IPV6, option, value)
                    .map_err(|source| OptionError { name: "the flow label", source })?;
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = socket;
        to.set_flowinfo(label);
        Ok(to.into())
    }
}
