//! Directories of the user's own, also where the environment names none.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Why there is no directory that only this user can use.
#[derive(Debug, thiserror::Error)]
pub enum PrivateDirectoryError {
    /// It cannot be created or examined.
    #[error("cannot create the private directory {}: {source}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is there, and others own it, can write to it or have put a link in its place.
    #[error("{} is not safe to use: {reason}", path.display())]
    Unsafe {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// A user's directory of the XDG Base Directory Specification: the variable, or `in_home` below `$HOME`. Where neither
/// is set, `in_home` below `/var/tmp/plumb-UID`, which is made for this user alone; journals and registers of
/// directories to remove are believed, so that nobody else may have written them.
///
/// # Errors
/// [`PrivateDirectoryError`] where that directory cannot be made, or is not this user's alone.
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

/// `in_home` below `/var/tmp/plumb-UID`, whatever the environment says: for a process that has become another user.
///
/// # Errors
/// As of [`user_directory`].
pub fn own_directory(in_home: &str) -> Result<PathBuf, PrivateDirectoryError> {
    Ok(private(Path::new("/var/tmp"))?.join(in_home))
}

/// `plumb-UID` in a directory that everybody may write to.
fn private(shared: &Path) -> Result<PathBuf, PrivateDirectoryError> {
    let user = rustix::process::geteuid().as_raw();
    let path = shared.join(format!("plumb-{user}"));
    let failed = |source| PrivateDirectoryError::Io { path: path.clone(), source };
    std::fs::create_dir_all(shared).map_err(failed)?;
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    // It is this user's or it is refused: in a sticky directory nobody else can put another one in its place later.
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
    fn it_is_this_users_alone_or_it_is_refused() {
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
            eprintln!("SKIPPED: only root can give a directory to somebody else");
            return;
        }
        let shared = tempfile::tempdir().unwrap();
        let path = private(shared.path()).unwrap();
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
        assert!(refused(shared.path()).contains("another user"));
    }
}
