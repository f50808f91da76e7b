//! Agents without keys: a socket in the file system, whose peers the kernel names (`SO_PEERCRED`). Both ends refuse anyone
//! but the same user and root, and where the kernel names no one.

use crate::exit::Stopped;
use plumb_engine::guard::trusted_path::TrustedDir;
use plumb_engine::private_directory::user_directory;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Address of the user's own socket, as typed for `--listen` and `--hosts`.
pub const LOCAL: &str = "local";

/// Prefix of an address that is the path of a socket.
pub const UNIX: &str = "unix:";

const SOCKET: &str = "agent.sock";

/// Parses `local` and `unix:PATH`; `None` for an address of TCP.
///
/// # Errors
/// No directory of the user's own for `local`; `unix:` without a path.
pub fn socket_of(address: &str) -> Result<Option<PathBuf>, Stopped> {
    match address.strip_prefix(UNIX) {
        Some("") => {
            Err(Stopped::usage("`unix:` has no path; use `local`, or a path such as `unix:/run/plumb/agent.sock`"))
        }
        Some(path) => Ok(Some(path.into())),
        None if address == LOCAL => own_socket().map(Some),
        None => Ok(None),
    }
}

/// The user's own socket, in `$XDG_RUNTIME_DIR/plumb`, or in `~/.local/state/plumb`: in a directory that no other user can
/// enter or replace.
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

/// A listening socket, which is removed when this is dropped.
#[derive(Debug)]
pub struct LocalListener {
    pub listener: UnixListener,
    path: PathBuf,
}

impl LocalListener {
    /// Listens at a path. A socket that no process listens at any more is replaced.
    ///
    /// # Errors
    /// Another agent listens there, the path is another file's, or the system's error.
    pub fn bind(path: &Path) -> Result<LocalListener, Stopped> {
        let failed =
            |error: &dyn std::fmt::Display| Stopped::io(format!("cannot listen at {}: {error}", path.display()));
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => match UnixStream::connect(path) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
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

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LocalListener {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether the process at the other end belongs to this user or to root: the one that connected, or that listens. Returns
/// `false` where the kernel does not say. Source: unix(7), `SO_PEERCRED`.
#[cfg(target_os = "linux")]
pub fn is_own(stream: &UnixStream) -> bool {
    let found = rustix::net::sockopt::socket_peercred(stream);
    found.is_ok_and(|peer| peer.uid.is_root() || peer.uid == rustix::process::geteuid())
}

#[cfg(not(target_os = "linux"))]
pub fn is_own(_: &UnixStream) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the same user is known at both ends; a dead agent's socket is replaced, a living one's and other files are not.
    #[test]
    fn a_socket_is_its_agents_while_that_lives() {
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
        assert!(path.exists(), "std leaves it");
        drop(LocalListener::bind(&path).unwrap());
        std::fs::write(&path, "kept").unwrap();
        assert!(LocalListener::bind(&path).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
    }

    #[test]
    fn addresses_of_sockets_are_told_from_others() {
        assert_eq!(socket_of("unix:/run/a").unwrap(), Some("/run/a".into()));
        assert!(socket_of("unix:").is_err());
        for tcp in ["127.0.0.1", "localhost", "local.example", "[::1]:9"] {
            assert_eq!(socket_of(tcp).unwrap(), None, "{tcp}");
        }
    }
}
