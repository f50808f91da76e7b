//! Names of NFS exports. Source: exportfs(8).

/// The only client of an export.
const CLIENT: &str = "127.0.0.1";

/// Returns the name under which this host reaches an exported directory.
pub(crate) fn client_of(directory: &str) -> String {
    format!("{CLIENT}:{directory}")
}
