//! Directories of a process that are recognised as left behind when the process is gone.

use plumb_engine::guard::trusted_path::TrustedDir;
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A directory that is removed when this is dropped, or later by whoever finds it unlocked.
#[derive(Debug)]
pub(crate) struct DirectoryClaim {
    dir: tempfile::TempDir,
    /// Locked as long as this process lives.
    _lock: File,
}

const LOCK: &str = "lock";

impl DirectoryClaim {
    /// Creates one that only this user can enter, with a name that begins with `prefix`.
    pub(crate) fn new(parent: &Path, prefix: &str) -> io::Result<DirectoryClaim> {
        let dir = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
        let lock = File::create_new(dir.path().join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(DirectoryClaim { dir, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Removes those whose process is gone, after something else was done about each. Those that another user made or
    /// could have changed are left alone.
    pub(crate) fn remove_left(parent: &Path, prefix: &str, before: impl Fn(&Path)) {
        for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
            let path: PathBuf = entry.path();
            if !entry.file_name().to_string_lossy().starts_with(prefix) {
                continue;
            }
            let Ok(dir) = TrustedDir::open(&path, rustix::process::geteuid().as_raw()) else { continue };
            // One that has no lock yet is being made.
            let Ok(lock) = dir.open_private_file(OsStr::new(LOCK)) else { continue };
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
                before(&path);
                // What cannot be removed now is found again.
                let _ = std::fs::remove_dir_all(&path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: nobody loses a directory that is in use, and what was left goes.
    #[test]
    fn only_what_is_left_goes() {
        let parent = tempfile::tempdir().unwrap();
        let living = DirectoryClaim::new(parent.path(), "a-").unwrap();
        for name in ["a-left", "b-other", "a-new"] {
            std::fs::create_dir(parent.path().join(name)).unwrap();
        }
        for name in ["a-left", "b-other"] {
            File::create(parent.path().join(name).join(LOCK)).unwrap();
        }
        let seen = std::cell::RefCell::new(Vec::new());
        DirectoryClaim::remove_left(parent.path(), "a-", |path| seen.borrow_mut().push(path.to_owned()));
        assert_eq!(*seen.borrow(), [parent.path().join("a-left")]);
        let exists = |name: &str| parent.path().join(name).exists();
        assert!(!exists("a-left") && exists("b-other") && exists("a-new") && living.path().exists());
    }

    // Protects root: a directory that another user made under such a name is not acted upon. Before, it was.
    #[test]
    fn those_of_other_users_stay() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: only root can give files to somebody else");
            return;
        }
        let parent = tempfile::tempdir().unwrap();
        let theirs = parent.path().join("a-theirs");
        std::fs::create_dir(&theirs).unwrap();
        File::create(theirs.join(LOCK)).unwrap();
        std::os::unix::fs::chown(&theirs, Some(65534), None).unwrap();
        DirectoryClaim::remove_left(parent.path(), "a-", |path| panic!("{}", path.display()));
        assert!(theirs.exists());
    }
}
