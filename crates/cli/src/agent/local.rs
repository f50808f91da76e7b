//! Agents without keys, on a Unix socket. Each end checks the UID of its peer (`SO_PEERCRED`) and refuses everyone but its
//! own user and root, including peers whose UID is unknown.

use crate::exit::Stopped;
use plumb_engine::guard::trusted_path::TrustedDir;
use plumb_engine::private_directory::user_directory;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Value of `--listen` and `--hosts` for the user's default socket.
pub const LOCAL: &str = "local";

/// Prefix of an address that names a socket by its path.
pub const UNIX: &str = "unix:";

const SOCKET: &str = "agent.sock";

/// Parses `local` and `unix:PATH`. Returns `None` for a TCP address.
///
/// # Errors
/// Returns an error if `local` finds no private directory, or `unix:` has no path.
pub(crate) fn socket_of(address: &str) -> Result<Option<PathBuf>, Stopped> {
    match address.strip_prefix(UNIX) {
        Some("") => {
            Err(Stopped::usage("`unix:` has no path; use `local`, or a path such as `unix:/run/plumb/agent.sock`"))
        }
        Some(path) => Ok(Some(path.into())),
        None if address == LOCAL => own_socket().map(Some),
        None => Ok(None),
    }
}

/// Returns the path of the user's default socket, in `$XDG_RUNTIME_DIR/plumb` or `~/.local/state/plumb`. Other users can
/// neither enter nor replace the directory.
fn own_socket() -> Result<PathBuf, Stopped> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(runtime) = runtime
        && let Ok(found) = TrustedDir::open(&runtime, rustix::process::geteuid().as_raw())
        && TrustedDir::create_private(&runtime.join("plumb")).is_ok()
    {
        return Ok(found.path().join("plumb").join(SOCKET));
    }
    let state = user_directory("XDG_STATE_HOME", ".local/state").map_err(Stopped::io)?.join("plumb");
    let dir = TrustedDir::create_private(&state).map_err(|error| {
        Stopped::io(format!(
            "no directory for the agent's socket: {error}; set XDG_RUNTIME_DIR or XDG_STATE_HOME to one of your own"
        ))
    })?;
    Ok(dir.path().join(SOCKET))
}

/// A listening Unix socket. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct LocalListener {
    /// The socket; non-blocking.
    pub listener: UnixListener,
    path: PathBuf,
}

impl LocalListener {
    /// Binds to a path. Replaces a stale socket that refuses connections.
    ///
    /// # Errors
    /// Returns an error if another agent listens there, the path is some other file, or a system call fails.
    pub(crate) fn bind(path: &Path) -> Result<LocalListener, Stopped> {
        let failed =
            |error: &dyn std::fmt::Display| Stopped::io(format!("cannot listen at {}: {error}", path.display()));
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => match UnixStream::connect(path) {
                // Connecting to a file that is not a socket is refused, too.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && is_socket(path) => {
                    std::fs::remove_file(path).map_err(|error| failed(&error))?;
                    UnixListener::bind(path)
                }
                Ok(_) => return Err(failed(&"another agent listens there; name another with --listen unix:PATH")),
                Err(_) => return Err(failed(&"it exists and is not a socket of an agent")),
            },
            bound => bound,
        };
        let listener = listener.map_err(|error| failed(&error))?;
        let prepared = std::fs::set_permissions(path, Permissions::from_mode(0o600));
        prepared.and_then(|()| listener.set_nonblocking(true)).map_err(|error| failed(&error))?;
        Ok(LocalListener { listener, path: path.to_owned() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LocalListener {
    fn drop(&mut self) {
        if is_socket(&self.path) {
            // The file may be gone already.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn is_socket(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket())
}

/// Returns `true` if the peer, client or server, runs as this user or as root; `false` if its UID is unknown. Source:
/// unix(7), `SO_PEERCRED`.
#[cfg(target_os = "linux")]
pub fn is_own(stream: &UnixStream) -> bool {
    let found = rustix::net::sockopt::socket_peercred(stream);
    found.is_ok_and(|peer| peer.uid.is_root() || peer.uid == rustix::process::geteuid())
}

/// Returns `false`: the user of a peer is unknown on other systems, so every peer is refused.
#[cfg(not(target_os = "linux"))]
pub fn is_own(_: &UnixStream) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: both ends recognise the same user, and only the stale socket of a dead agent is replaced.
    #[test]
    fn a_socket_belongs_to_its_living_agent() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent.sock");
        let living = LocalListener::bind(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let client = UnixStream::connect(&path).unwrap();
        let (server, _) = living.listener.accept().unwrap();
        assert!(is_own(&client) && is_own(&server));
        assert!(LocalListener::bind(&path).unwrap_err().message.contains("another agent"));
        drop(living);
        assert!(!path.exists());
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "std does not remove the socket");
        drop(LocalListener::bind(&path).unwrap());
        std::fs::write(&path, "kept").unwrap();
        assert!(LocalListener::bind(&path).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
    }

    #[test]
    fn socket_addresses_are_distinguished_from_tcp() {
        assert_eq!(socket_of("unix:/run/a").unwrap(), Some("/run/a".into()));
        assert!(socket_of("unix:").is_err());
        for tcp in ["127.0.0.1", "localhost", "local.example", "[::1]:9"] {
            assert_eq!(socket_of(tcp).unwrap(), None, "{tcp}");
        }
    }
}
