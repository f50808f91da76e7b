//! What a socket is given before it is connected. Sources: socket(7), ip(7), ipv6(7), tcp(7), linux/in6.h.

use super::socket::{set_bytes, set_number};
use plumb_workload::net::Transport;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// What a socket is given before it is connected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Small segments need not wait for more.
    pub no_delay: bool,
    /// Bytes of both buffers.
    pub window: Option<u32>,
    /// Bytes of the largest segment.
    pub segment: Option<u32>,
    /// Type of service, or traffic class.
    pub service: Option<u8>,
    /// Algorithm of congestion control.
    pub congestion: Option<String>,
    /// Another socket may have the same port.
    pub shares_port: bool,
    /// Datagrams that come while their receiver is busy need room.
    pub much_room: bool,
    /// Network interface that everything passes.
    pub device: Option<String>,
    /// Bytes per second at which the kernel lets data go.
    pub pacing: Option<u64>,
    /// Milliseconds after which a connection ends whose data nobody acknowledges.
    pub unacknowledged_ms: Option<u32>,
    /// Datagrams of IPv4 are not cut into fragments.
    pub whole: bool,
    /// Label of the flow, of IPv6.
    pub flow_label: Option<u32>,
    /// Multipath TCP.
    pub multipath: bool,
    /// SCTP in place of TCP, one connection a socket.
    pub sctp: bool,
}

/// Receive buffer of a datagram socket, bytes; the system may give less.
const MUCH_ROOM: i32 = 8 << 20;

/// Options of IPv6: to make a label, and to send with it. Source: linux/in6.h.
#[cfg(target_os = "linux")]
const FLOW: (i32, i32) = (32, 33);

/// An option that the system refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot set {name}: {source}")]
pub struct OptionError {
    /// What was to be set.
    pub name: &'static str,
    /// Why not.
    pub source: io::Error,
}

impl SocketOptions {
    /// Gives them to a socket of TCP or UDP.
    ///
    /// # Errors
    /// The first that the system refuses.
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
        } else if self.much_room {
            // As much as there may be; only root may have more.
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
                number("that datagrams stay whole", libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, value)?;
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

    /// Of the options of a stream, those that SCTP has as well. Source: linux/sctp.h.
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
            bytes("the rate of pacing", libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &rate.to_ne_bytes())?;
        }
        Ok(())
    }

    /// The same for a TCP socket that is connected already.
    ///
    /// # Errors
    /// The first that the system refuses.
    pub fn set_connected(&self, socket: impl AsFd, is_v6: bool) -> Result<(), OptionError> {
        self.set(socket.as_fd(), Transport::Tcp, is_v6)
    }

    /// The address to connect to, with the label of the flow, which is made for it.
    pub(super) fn labelled(&self, socket: BorrowedFd<'_>, to: SocketAddr) -> Result<SocketAddr, OptionError> {
        let Some(label) = self.flow_label else { return Ok(to) };
        let SocketAddr::V6(mut to) = to else {
            let source = io::Error::other("only IPv6 has flow labels; use -6");
            return Err(OptionError { name: "the flow label", source });
        };
        #[cfg(target_os = "linux")]
        {
            // An address, the label, what is to be done (0: get it), who shares it (any), flags (1: make it).
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
