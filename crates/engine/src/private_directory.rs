//! Private directories of the user, even if the environment names none.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Error from finding a directory that only this user can use.
#[derive(Debug, thiserror::Error)]
pub enum PrivateDirectoryError {
    /// The directory cannot be created or examined.
    #[error("cannot create the private directory {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The directory exists, but others own it, can write to it, or have replaced it with a link.
    #[error("{} is not safe to use: {reason}", path.display())]
    Unsafe { path: PathBuf, reason: &'static str },
}

/// Returns a directory of the XDG Base Directory Specification: the one in the variable, or `in_home` below `$HOME`. If
/// neither is set, returns `in_home` below `/var/tmp/plumb-UID`, which is created for this user alone. Plumb trusts the
/// journals and registers of directories to remove, so nobody else may be able to write them.
///
/// # Errors
/// [`PrivateDirectoryError`] if that directory cannot be created, or others can access it.
pub fn user_directory(variable: &str, in_home: &str) -> Result<PathBuf, PrivateDirectoryError> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(directory) = absolute(variable) {
        return Ok(directory);
    }
    let home = match absolute("HOME") {
        Some(home) => home,
        None => private(Path::new("/var/tmp"))?,
    };
    Ok(home.join(in_home))
}

/// Returns `in_home` below `/var/tmp/plumb-UID`, regardless of the environment: for a process that
/// has changed its user ID.
///
/// # Errors
/// Those of [`user_directory`].
pub fn own_directory(in_home: &str) -> Result<PathBuf, PrivateDirectoryError> {
    Ok(private(Path::new("/var/tmp"))?.join(in_home))
}

/// Returns `plumb-UID` in a world-writable directory, and creates it if needed.
fn private(shared: &Path) -> Result<PathBuf, PrivateDirectoryError> {
    let user = rustix::process::geteuid().as_raw();
    let path = shared.join(format!("plumb-{user}"));
    let failed = |source| PrivateDirectoryError::Io { path: path.clone(), source };
    std::fs::create_dir_all(shared).map_err(failed)?;
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    // Accept it only if it belongs to this user: in a sticky directory, nobody else can replace it later.
    let found = std::fs::symlink_metadata(&path).map_err(failed)?;
    let reason = if found.is_symlink() {
        "it is a symbolic link"
    } else if !found.is_dir() {
        "it is not a directory"
    } else if found.uid() != user {
        "it belongs to another user"
    } else if found.mode() & 0o077 != 0 {
        "other users can access it"
    } else {
        return Ok(path);
    };
    Err(PrivateDirectoryError::Unsafe { path, reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn refused(shared: &Path) -> String {
        private(shared).unwrap_err().to_string()
    }

    #[test]
    fn a_directory_that_others_can_access_is_refused() {
        let shared = tempfile::tempdir().unwrap();
        let path = private(shared.path()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert_eq!(private(shared.path()).unwrap(), path, "it is found again");
        set_permissions(&path, Permissions::from_mode(0o770)).unwrap();
        assert!(refused(shared.path()).contains("other users can access it"));
        std::fs::remove_dir(&path).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), &path).unwrap();
        assert!(refused(shared.path()).contains("symbolic link"));
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "").unwrap();
        assert!(refused(shared.path()).contains("not a directory"));
    }

    #[test]
    fn another_users_directory_is_refused() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: only root can change the owner of a directory");
            return;
        }
        let shared = tempfile::tempdir().unwrap();
        let path = private(shared.path()).unwrap();
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
        assert!(refused(shared.path()).contains("another user"));
    }
}
