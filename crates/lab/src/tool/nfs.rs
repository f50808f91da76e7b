//! Names of what is exported by NFS. Source: exportfs(8).

/// To whom it is exported.
const CLIENT: &str = "127.0.0.1";

/// The name under which this host reaches an exported directory.
pub(crate) fn client_of(directory: &str) -> String {
    format!("{CLIENT}:{directory}")
}
