//! Connections to agents that build systems for a study.

use crate::hosts::{HostPlace, connect};
use crate::k8s::K8S;
use crate::slurm::SLURM;
use plumb_cluster::JoinError;
use plumb_cluster::star::{Link, build_session};
use plumb_lab::ssh::SshSpec;
use plumb_lab::{FarAgent, Host, HostError, Ssh, Surroundings};
use plumb_tls::Trust;
use rustix::net::Shutdown;
use rustix::net::sockopt::{set_socket_keepalive, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

/// Silence of the other host's kernel after which it is probed, and the interval between probes.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// Unanswered probes after which a host counts as lost.
const PROBES: u32 = 4;

/// Connects to the agent of a host, to build systems there. What it built is taken down when the connection ends.
///
/// # Errors
/// Returns [`HostError::Lost`] if the agent cannot be reached, and [`HostError::Failed`] if it refuses.
pub fn open(
    place: &HostPlace,
    keys: Option<&Path>,
    surroundings: &Surroundings,
) -> Result<Box<dyn Host + Send>, HostError> {
    let name = &place.name;
    if let Some(to) = place.address.strip_prefix("ssh:") {
        // Over ssh, a client may do what the account there may do.
        let spec = SshSpec { to: to.to_owned(), boot: None, kernel: None, agent: None };
        return Ok(Box::new(Ssh::connect(&spec, surroundings)?));
    }
    let failed = |reason: String| HostError::Failed { reason: format!("host {name}: {reason}"), refused: false };
    for (prefix, what) in [(SLURM, "nodes of a Slurm job build"), (K8S, "pods that a selector means build")] {
        if place.address.starts_with(prefix) {
            return Err(failed(format!(
                "{what} nothing; name the addresses where `plumb agent --listen --allow-build` runs, or use ssh"
            )));
        }
    }
    let trust = keys.map(Trust::load).transpose().map_err(|error| failed(error.to_string()))?;
    let mut reached =
        connect(&place.address, trust.as_ref()).map_err(|error| HostError::Lost(format!("host {name}: {error}")))?;
    build_session::ask(&mut reached.link).map_err(|error| match error {
        JoinError::Refused(reason) => failed(reason),
        error @ (JoinError::Io(_) | JoinError::Closed) => HostError::Lost(format!("host {name}: the agent {error}")),
        error => failed(format!("the agent {error}")),
    })?;
    if let Some(socket) = &reached.socket {
        probe_silence(socket);
    }
    let Link { reader, writer } = reached.link;
    let writer = ClosingWriter { writer, socket: reached.socket };
    Ok(Box::new(FarAgent::over(name, reader, writer, surroundings.interrupted)?))
}

/// Has the kernel end the connection if the other host vanishes: nothing else comes from it during a long build. Unix
/// sockets have no such options.
fn probe_silence(socket: &OwnedFd) {
    let _ = set_socket_keepalive(socket, true)
        .and_then(|()| set_tcp_keepidle(socket, PROBE_INTERVAL))
        .and_then(|()| set_tcp_keepintvl(socket, PROBE_INTERVAL))
        .and_then(|()| set_tcp_keepcnt(socket, PROBES));
}

/// A writer whose socket is shut down with it, while a thread still reads from the socket.
struct ClosingWriter {
    writer: Box<dyn Write + Send>,
    socket: Option<OwnedFd>,
}

impl Write for ClosingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for ClosingWriter {
    fn drop(&mut self) {
        if let Some(socket) = &self.socket {
            let _ = rustix::net::shutdown(socket, Shutdown::Both);
        }
    }
}
