//! Directories that are recognised as left over once their process is gone.
//!
//! Their parents, such as `/tmp`, may be writable by others. So a directory counts as Plumb's only if its name,
//! owner, mode and lock file match, and as left over only if no process holds the lock.

use plumb_engine::guard::OutputFile;
use plumb_engine::guard::trusted_path::others_write;
use plumb_probe::read_only;
use rustix::fs::{AtFlags, FileType, FlockOperation, OFlags, flock};
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A directory that is removed on drop, or by [`DirectoryClaim::remove_left`] once its process is gone.
#[derive(Debug)]
pub(crate) struct DirectoryClaim {
    dir: tempfile::TempDir,
    /// Locked until this process exits.
    _lock: File,
}

const LOCK: &str = "lock";

/// Age up to which a directory without a lock may still be under construction.
const UNLOCKED_AGE_MAX: Duration = Duration::from_secs(60);

impl DirectoryClaim {
    /// Creates a directory with mode 0700 and an unpredictable name that starts with `prefix`.
    pub(crate) fn new(parent: &Path, prefix: &str) -> io::Result<DirectoryClaim> {
        let private = Permissions::from_mode(0o700);
        let dir = tempfile::Builder::new().prefix(prefix).permissions(private).tempdir_in(parent)?;
        let lock = OutputFile::made_up("the lock", &dir.path().join(LOCK)).private().create_new()?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(DirectoryClaim { dir, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Removes directories whose process is gone, and returns their paths. `prepare` first cleans up everything that
    /// belongs to a directory; if it returns `false`, the directory stays.
    pub(crate) fn remove_left(parent: &Path, prefix: &str, prepare: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let mut removed = Vec::new();
        for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
            let path: PathBuf = entry.path();
            if !entry.file_name().to_string_lossy().starts_with(prefix) {
                continue;
            }
            let Ok(Some(claimed)) = FoundDirectory::open(&path) else { continue };
            let is_gone = match claimed.lock() {
                Some(lock) => {
                    // The next call retries a failed removal.
                    flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
                        && prepare(&path)
                        && std::fs::remove_dir_all(&path).is_ok()
                }
                // A process that was killed before it created the lock leaves an empty directory; others are not
                // Plumb's.
                None => claimed.age() > UNLOCKED_AGE_MAX && std::fs::remove_dir(&path).is_ok(),
            };
            if is_gone {
                removed.push(path);
            }
        }
        removed.sort();
        removed
    }
}

/// A directory that this user owns and no other user can write to.
pub(crate) struct FoundDirectory(File);

impl FoundDirectory {
    /// Opens a directory without following links; `None` if another user owns it or can write to it.
    pub(crate) fn open(path: &Path) -> io::Result<Option<FoundDirectory>> {
        let dir = File::from(read_only::open(path, OFlags::DIRECTORY | OFlags::NOFOLLOW)?);
        let found = rustix::fs::fstat(&dir)?;
        let user = rustix::process::geteuid().as_raw();
        let is_own = found.st_uid == user && !others_write(&found, user);
        Ok(is_own.then_some(FoundDirectory(dir)))
    }

    /// Opens the lock, which must be a regular file of the same user.
    fn lock(&self) -> Option<File> {
        let found = rustix::fs::statat(&self.0, LOCK, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_lock = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
            && found.st_uid == rustix::process::geteuid().as_raw();
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        is_lock.then(|| read_only::openat(&self.0, LOCK, flags).ok().map(File::from)).flatten()
    }

    /// Returns the time since an entry was created or removed.
    pub(crate) fn age(&self) -> Duration {
        let changed = self.0.metadata().and_then(|found| found.modified()).unwrap_or_else(|_| SystemTime::now());
        changed.elapsed().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::Mode;
    use std::os::unix::fs::symlink;

    /// Creates a directory as a killed process leaves it: mode 0700, and a lock that is not held.
    fn left(parent: &Path, name: &str) -> PathBuf {
        let path = parent.join(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        File::create(path.join(LOCK)).unwrap();
        path
    }

    // Protects: directories in use stay, left ones are removed.
    #[test]
    fn only_left_directories_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let living = DirectoryClaim::new(parent.path(), "a-").unwrap();
        for name in ["a-kept", "a-left", "b-other"] {
            left(parent.path(), name);
        }
        std::fs::create_dir(parent.path().join("a-new")).unwrap();
        let seen = std::cell::RefCell::new(Vec::new());
        let removed = DirectoryClaim::remove_left(parent.path(), "a-", |path| {
            seen.borrow_mut().push(path.to_owned());
            !path.ends_with("a-kept")
        });
        seen.borrow_mut().sort();
        assert_eq!(*seen.borrow(), [parent.path().join("a-kept"), parent.path().join("a-left")]);
        assert_eq!(removed, [parent.path().join("a-left")]);
        let exists = |name: &str| parent.path().join(name).exists();
        assert!(
            !exists("a-left") && exists("a-kept") && exists("b-other") && exists("a-new") && living.path().exists()
        );
    }

    /// Protects other users' directories in `/tmp`: the previous version took all of these for left directories, and
    /// hung on a FIFO in place of a lock.
    #[test]
    fn directories_with_similar_names_stay() {
        let (parent, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let open = left(parent.path(), "a-open");
        std::fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        symlink(left(elsewhere.path(), "target"), parent.path().join("a-link")).unwrap();
        for (name, kind) in [("a-fifo", FileType::Fifo), ("a-socket", FileType::Socket)] {
            let path = left(parent.path(), name);
            std::fs::remove_file(path.join(LOCK)).unwrap();
            rustix::fs::mknodat(rustix::fs::CWD, path.join(LOCK), kind, Mode::RUSR | Mode::WUSR, 0).unwrap();
        }
        let linked = left(parent.path(), "a-linked");
        std::fs::rename(linked.join(LOCK), elsewhere.path().join("file")).unwrap();
        symlink(elsewhere.path().join("file"), linked.join(LOCK)).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(left(parent.path(), "a-others"), Some(65534), None).unwrap();
            // Root's group may have other members.
            std::fs::set_permissions(left(parent.path(), "a-group"), Permissions::from_mode(0o775)).unwrap();
        }
        let count = || std::fs::read_dir(parent.path()).unwrap().count();
        let before = count();
        assert!(DirectoryClaim::remove_left(parent.path(), "a-", |_| true).is_empty());
        assert_eq!(count(), before);
        assert!(elsewhere.path().join("target").join(LOCK).exists());
    }

    /// Protects: the directory of a process killed before it created the lock is removed later.
    #[test]
    fn an_unfinished_directory_is_removed_once_it_is_old() {
        let parent = tempfile::tempdir().unwrap();
        for name in ["a-empty", "a-full", "a-young"] {
            let path = left(parent.path(), name);
            std::fs::remove_file(path.join(LOCK)).unwrap();
        }
        std::fs::write(parent.path().join("a-full/data"), "x").unwrap();
        for name in ["a-empty", "a-full"] {
            let long_ago = SystemTime::now() - 2 * UNLOCKED_AGE_MAX;
            File::open(parent.path().join(name)).unwrap().set_modified(long_ago).unwrap();
        }
        assert_eq!(DirectoryClaim::remove_left(parent.path(), "a-", |_| true), [parent.path().join("a-empty")]);
    }

    /// Protects: other users cannot list names in a claimed directory below `/tmp`, regardless of the umask.
    #[test]
    fn others_cannot_list_a_claimed_directory() {
        let parent = tempfile::tempdir().unwrap();
        let claim = DirectoryClaim::new(parent.path(), "a-").unwrap();
        assert_eq!(std::fs::metadata(claim.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
