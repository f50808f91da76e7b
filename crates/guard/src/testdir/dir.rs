//! A single test directory.

use super::error::TestDirError;
use super::marker::MARKER;
use super::marker::Marker;
use super::remove;
use super::remove::Leftover;
use crate::path_resolution::{Identity, open_entry};
use crate::refusal::Refusal;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Prefix of the names of test directories; the id follows.
pub const PREFIX: &str = "plumb-test-";

/// Maximum number of attempts to find a free name. Ids are random, so that a second attempt is already unlikely.
pub(super) const ATTEMPTS_MAX: u32 = 8;

/// A directory that Plumb created and marked. Dropping it in the process that created it removes the directory.
#[derive(Debug)]
pub struct TestDir {
    path: PathBuf,
    /// Parent directory; the name in it is [`PREFIX`] and the id.
    base: OwnedFd,
    dir: OwnedFd,
    id: String,
    identity: Identity,
    /// Keeps the marker locked while this process or a worker process of it lives, until the directory is removed.
    marker: Option<File>,
    /// Entry in the registry, which is removed together with the directory.
    registered: Option<PathBuf>,
    pub(super) owner: rustix::process::Pid,
    state: DirectoryState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectoryState {
    /// The directory exists and is removed on drop.
    Owned,
    /// The directory is already removed, or is to be kept.
    Released,
}

impl TestDir {
    /// Creates a test directory (mode 0700) in `base`. `label` describes its purpose for people. Without a registry
    /// ([`TestDirs::create`]), `plumb clean` finds it only if it is given the place to search.
    ///
    /// # Errors
    /// [`TestDirError::Make`] if `base` is missing or not writable; [`Refusal::ReadOnly`].
    pub fn create(base: &Path, label: &str) -> Result<TestDir, TestDirError> {
        TestDir::create_with(base, label, |_, _| None)
    }

    /// Calls `register` with id and path before the directory is created, so that no directory is ever unregistered.
    pub(super) fn create_with(
        base: &Path,
        label: &str,
        register: impl Fn(&str, &Path) -> Option<PathBuf>,
    ) -> Result<TestDir, TestDirError> {
        let failed = |source: io::Error| TestDirError::Make { base: base.to_owned(), source };
        let base_path = std::fs::canonicalize(base).map_err(failed)?;
        let base_fd =
            crate::raw_open::open(&base_path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                .map_err(|error| failed(error.into()))?;
        let mut attempts = 0;
        let (id, path, registered) = loop {
            let id = random_id();
            let path = base_path.join(format!("{PREFIX}{id}"));
            let registered = register(&id, &path);
            let made = rustix::fs::mkdirat(&base_fd, format!("{PREFIX}{id}"), Mode::RWXU);
            if made.is_ok() {
                break (id, path, registered);
            }
            if let Some(entry) = registered {
                let _ = std::fs::remove_file(entry);
            }
            match made {
                Err(Errno::EXIST) if attempts < ATTEMPTS_MAX => attempts += 1,
                Err(Errno::ROFS) => {
                    return Err(TestDirError::Refused(Refusal::ReadOnly {
                        path: base.to_owned(),
                        found: "its file system is mounted read-only".to_owned(),
                        way_out: "mount it read-write (`mount -o remount,rw`), or use another path".to_owned(),
                    }));
                }
                Err(error) => return Err(failed(error.into())),
                Ok(()) => {}
            }
        };
        let unmake = |source: io::Error| {
            let _ = rustix::fs::unlinkat(&base_fd, format!("{PREFIX}{id}"), rustix::fs::AtFlags::REMOVEDIR);
            if let Some(entry) = &registered {
                let _ = std::fs::remove_file(entry);
            }
            failed(source)
        };
        let (dir, identity, marker) = mark(&base_fd, &id, label).map_err(unmake)?;
        Ok(TestDir {
            path,
            base: base_fd,
            dir,
            id,
            identity,
            marker: Some(marker),
            registered,
            owner: rustix::process::getpid(),
            state: DirectoryState::Owned,
        })
    }

    /// Returns the absolute path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the random part of the name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns `true` if `plumb clean` will find it without being given the place to search.
    #[cfg(test)]
    pub(crate) fn is_registered(&self) -> bool {
        self.registered.is_some()
    }

    /// Checks that this is still the directory that was marked.
    ///
    /// # Errors
    /// Fails if the marker is gone, or belongs to another directory.
    pub fn verify(&self) -> io::Result<()> {
        let marker = Marker::read(self.dir.as_fd())?;
        if marker.id == self.id && marker.inode == self.identity.inode {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "the marker belongs to another directory"))
        }
    }

    /// Removes the directory and everything in it, like [`Drop`], but reports errors.
    ///
    /// # Errors
    /// [`TestDirError::Remove`] with the remaining entries.
    pub fn remove(mut self) -> Result<(), TestDirError> {
        self.remove_now()
    }

    /// Keeps the directory, marked, for `plumb clean` to remove after this process has ended.
    pub fn keep(mut self) -> PathBuf {
        self.state = DirectoryState::Released;
        self.path.clone()
    }

    fn remove_now(&mut self) -> Result<(), TestDirError> {
        self.state = DirectoryState::Released;
        let name = format!("{PREFIX}{}", self.id);
        let leftovers = match self.verify() {
            Ok(()) => {
                let marker = self.marker.take();
                remove::whole(self.base.as_fd(), OsStr::new(&name), self.dir.as_fd(), &self.path, marker)
            }
            // Without its marker, the directory is not known to be Plumb's.
            Err(source) => vec![Leftover { path: self.path.join(MARKER), reason: source.to_string() }],
        };
        if !leftovers.is_empty() {
            return Err(TestDirError::Remove { path: self.path.clone(), leftovers });
        }
        if let Some(entry) = &self.registered {
            let _ = std::fs::remove_file(entry);
        }
        Ok(())
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        // A worker process has a copy of this value, but its end is not the end of the run.
        if self.state == DirectoryState::Owned && rustix::process::getpid() == self.owner {
            let _ = self.remove_now();
        }
        // Keeps the lock until here; see the field.
        let _ = &self.marker;
    }
}

impl AsFd for TestDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }
}

/// Opens the directory that was just created, and writes the marker durably and locked.
pub(super) fn mark(base: &OwnedFd, id: &str, label: &str) -> io::Result<(OwnedFd, Identity, File)> {
    let name = format!("{PREFIX}{id}");
    let dir = open_entry(base.as_fd(), OsStr::new(&name), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
    let identity = Identity::from_stat(&rustix::fs::fstat(&dir)?);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
    let marker = open_entry(dir.as_fd(), OsStr::new(MARKER), flags, Mode::RUSR | Mode::WUSR)?;
    let mut marker = File::from(marker);
    let written = (|| {
        // Locked first, because readers of the marker may already check whether its owner lives. Some network file
        // systems have no locks; process id and start time must then suffice.
        match rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOLCK | Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
        marker.write_all(Marker::new(id, label, identity.inode).to_string().as_bytes())?;
        marker.sync_all()?;
        rustix::fs::fsync(&dir)?;
        Ok(())
    })();
    if let Err(error) = written {
        let _ = rustix::fs::unlinkat(&dir, MARKER, rustix::fs::AtFlags::empty());
        return Err(error);
    }
    Ok((dir, identity, marker))
}

/// Returns 64 random bits in hexadecimal. Does not use `engine::rng`, because names must differ
/// even with the same seed.
pub(super) fn random_id() -> String {
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u128(std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos()));
    hasher.write_u32(std::process::id());
    format!("{:016x}", hasher.finish())
}
