//! Socket addresses outside the Internet families: Unix sockets (unix(7)), and sockets between a
//! virtual machine and its host (vsock(7)).
#![allow(unsafe_code)]

use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// Maximum number of connections waiting to be accepted.
const BACKLOG: i32 = 512;

/// A Unix or vsock address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocalAddress {
    Unix(PathBuf),
    /// `vsock:CID:PORT`; `vsock::PORT` listens for any machine.
    Vsock {
        /// Context ID of the machine: 1 is this one, 2 is the host of a virtual machine.
        cid: u32,
        port: u32,
    },
}

/// Error from parsing a [`LocalAddress`] with a known prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocalAddressError {
    /// `unix:` without a path.
    #[error("`unix:` has no path; use `unix:/run/plumb`")]
    NoPath,
    /// `vsock:` without two numbers.
    #[error("`{text}` is not an address of vsock; use `vsock:CID:PORT`, such as `vsock:2:5201`")]
    Vsock {
        /// The complete argument.
        text: String,
    },
}

/// Any machine. Source: vsock(7), `VMADDR_CID_ANY`.
const ANY: u32 = u32::MAX;

impl LocalAddress {
    /// Parses a local address; `None` if the text has neither prefix.
    ///
    /// # Errors
    /// The text after the prefix is not an address.
    pub fn parse(text: &str) -> Option<Result<LocalAddress, LocalAddressError>> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Some(match path.is_empty() {
                true => Err(LocalAddressError::NoPath),
                false => Ok(LocalAddress::Unix(path.into())),
            });
        }
        let rest = text.strip_prefix("vsock:")?;
        let parts = rest.split_once(':').and_then(|(cid, port)| {
            let cid = if cid.is_empty() { ANY } else { cid.parse().ok()? };
            Some(LocalAddress::Vsock { cid, port: port.parse().ok()? })
        });
        Some(parts.ok_or_else(|| LocalAddressError::Vsock { text: text.to_owned() }))
    }

    fn socket(&self) -> io::Result<OwnedFd> {
        let family = match self {
            LocalAddress::Unix(_) => AddressFamily::UNIX,
            #[cfg(target_os = "linux")]
            LocalAddress::Vsock { .. } => AddressFamily::VSOCK,
            #[cfg(not(target_os = "linux"))]
            LocalAddress::Vsock { .. } => {
                return Err(io::Error::new(io::ErrorKind::Unsupported, "vsock exists on Linux only"));
            }
        };
        #[cfg(target_os = "linux")]
        let made = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        #[cfg(not(target_os = "linux"))]
        let made = net::socket(family, SocketType::STREAM, None);
        made.map_err(|error| match self {
            LocalAddress::Vsock { .. } if error == rustix::io::Errno::AFNOSUPPORT => {
                io::Error::new(io::ErrorKind::Unsupported, "this kernel has no vsock")
            }
            _ => error.into(),
        })
    }

    /// Opens a stream connection.
    ///
    /// # Errors
    /// The system's error.
    pub fn connect(&self) -> io::Result<OwnedFd> {
        let socket = self.socket()?;
        match self {
            LocalAddress::Unix(path) => net::connect(&socket, &SocketAddrUnix::new(path)?)?,
            #[cfg(target_os = "linux")]
            LocalAddress::Vsock { cid, port } => with_address(*cid, *port, |address, length| {
                // SAFETY: reads only the bytes of the address.
                unsafe { libc::connect(socket.as_raw_fd(), address, length) }
            })?,
            #[cfg(not(target_os = "linux"))]
            LocalAddress::Vsock { .. } => {}
        }
        Ok(socket)
    }

    /// Listens for connections. A Unix path must not exist yet, and is not removed afterwards.
    ///
    /// # Errors
    /// The system's error.
    pub fn listen(&self) -> io::Result<OwnedFd> {
        let socket = self.socket()?;
        match self {
            LocalAddress::Unix(path) => net::bind(&socket, &SocketAddrUnix::new(path)?)?,
            #[cfg(target_os = "linux")]
            LocalAddress::Vsock { cid, port } => with_address(*cid, *port, |address, length| {
                // SAFETY: reads only the bytes of the address.
                unsafe { libc::bind(socket.as_raw_fd(), address, length) }
            })?,
            #[cfg(not(target_os = "linux"))]
            LocalAddress::Vsock { .. } => {}
        }
        net::listen(&socket, BACKLOG)?;
        Ok(socket)
    }
}

#[cfg(target_os = "linux")]
fn with_address(cid: u32, port: u32, call: impl FnOnce(*const libc::sockaddr, u32) -> i32) -> io::Result<()> {
    // SAFETY: plain data, valid when zeroed.
    let mut address: libc::sockaddr_vm = unsafe { std::mem::zeroed() };
    address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
    (address.svm_cid, address.svm_port) = (cid, port);
    match call((&raw const address).cast(), size_of::<libc::sockaddr_vm>() as u32) {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: host names are not mistaken for local addresses, and errors say what is text with an address.
    #[test]
    fn local_addresses_are_recognised() {
        assert_eq!(LocalAddress::parse("nas:5201"), None);
        assert_eq!(LocalAddress::parse("unix:/run/x"), Some(Ok(LocalAddress::Unix("/run/x".into()))));
        assert_eq!(LocalAddress::parse("vsock:2:5201"), Some(Ok(LocalAddress::Vsock { cid: 2, port: 5201 })));
        assert_eq!(LocalAddress::parse("vsock::5201"), Some(Ok(LocalAddress::Vsock { cid: u32::MAX, port: 5201 })));
        for text in ["unix:", "vsock:2", "vsock:host:1"] {
            assert!(LocalAddress::parse(text).is_some_and(|parsed| parsed.is_err()), "{text}");
        }
    }
}
