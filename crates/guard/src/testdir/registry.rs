//! The registry of test directories: one small file per directory in Plumb's state, with which `plumb clean` finds
//! directories left by a `kill -9` anywhere.

use super::marker::{MARKER, Marker};
use super::owner::Life;
use super::remove::{self, Leftover};
use super::{PREFIX, TestDir, TestDirError};
use crate::made::MadeFiles;
use crate::path_resolution::{Identity, open_entry};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Time for which a directory may be registered without existing, or exist without a marker,
/// because it is being created.
const IN_THE_MAKING: Duration = Duration::from_secs(10);

/// Creates test directories and keeps the registry of them.
#[derive(Debug, Clone)]
pub struct TestDirs {
    state_dir: PathBuf,
}

/// Result of a cleaning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanReport {
    /// Directories that were removed.
    pub removed: Vec<PathBuf>,
    /// Directories of live owners, which were left alone.
    pub living: Vec<Living>,
    /// Directories that were kept for another reason.
    pub kept: Vec<KeptDirectory>,
    /// Registered directories that no longer existed.
    pub forgotten: Vec<PathBuf>,
}

/// A directory in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Living {
    pub path: PathBuf,
    /// Process id of the owner, in the owner's namespace.
    pub pid: u32,
    /// Purpose of the directory.
    pub label: String,
}

/// A directory that was kept, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptDirectory {
    pub path: PathBuf,
    /// Reason and fix.
    pub reason: String,
}

impl TestDirs {
    /// Uses the registry in `state_dir` (such as `~/.local/share/plumb/testdirs`), which is created when needed.
    pub fn new(state_dir: impl Into<PathBuf>) -> TestDirs {
        TestDirs { state_dir: state_dir.into() }
    }

    /// Creates a test directory and registers it. A registry that cannot be written is not
    /// an error; see [`TestDir::is_registered`].
    ///
    /// # Errors
    /// As [`TestDir::create`].
    pub fn create(&self, base: &Path, label: &str) -> Result<TestDir, TestDirError> {
        TestDir::create_with(base, label, |id, path| self.register(id, path).ok())
    }

    /// Returns the registry of files that were created under the user's own names, next to that of directories.
    pub fn made_files(&self) -> MadeFiles {
        MadeFiles::new(self.state_dir.join("made"))
    }

    pub(super) fn register(&self, id: &str, path: &Path) -> io::Result<PathBuf> {
        crate::private_directory(&self.state_dir)?;
        let entry = self.state_dir.join(id);
        let mut file = crate::OutputFile::made_up("the register", &entry).private().create_new()?;
        io::Write::write_all(&mut file, path.as_os_str().as_bytes())?;
        Ok(entry)
    }

    /// Removes the registered test directories whose owners are dead. If `scan` names a directory, also removes test
    /// directories there, registered or not (itself, or one level below).
    ///
    /// # Errors
    /// Fails if `scan` or the registry cannot be read. The report covers errors of single directories.
    pub fn clean(&self, scan: Option<&Path>) -> io::Result<CleanReport> {
        let mut report = CleanReport::default();
        let mut seen: Vec<PathBuf> = vec![];
        for entry in self.entries()? {
            let path = match fs::read(&entry) {
                Ok(bytes) => PathBuf::from(OsString::from_vec(bytes)),
                // The directory was removed in the meantime, together with its entry.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let id = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !path.is_absolute() || path.file_name() != Some(OsStr::new(&format!("{PREFIX}{id}"))) {
                report.kept.push(KeptDirectory {
                    path,
                    reason: format!("the registry's entry {} is damaged; remove that file", entry.display()),
                });
                continue;
            }
            let fate = clean_one(&path);
            match fate {
                Fate::Absent if is_young(fs::metadata(&entry)?.modified()?) => continue,
                Fate::Removed | Fate::Absent => fs::remove_file(&entry)?,
                _ => {}
            }
            report.add(path.clone(), fate, FoundBy::Registered);
            seen.push(path);
        }
        for path in scan.map(candidates).transpose()?.unwrap_or_default() {
            if !seen.contains(&path) {
                let fate = clean_one(&path);
                report.add(path, fate, FoundBy::Scanned);
            }
        }
        Ok(report)
    }

    fn entries(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.state_dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            entries => entries?,
        };
        let mut paths = vec![];
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                paths.push(entry.path());
            }
        }
        paths.sort();
        Ok(paths)
    }
}

/// How a directory was found.
enum FoundBy {
    Registered,
    Scanned,
}

/// Outcome for one directory.
enum Fate {
    Removed,
    Absent,
    Living {
        pid: u32,
        label: String,
    },
    Kept(String),
    /// Only the name looks like that of a test directory.
    NotOurs(String),
}

impl CleanReport {
    fn add(&mut self, path: PathBuf, fate: Fate, found: FoundBy) {
        match (fate, found) {
            (Fate::Removed, _) => self.removed.push(path),
            (Fate::Absent, FoundBy::Registered) => self.forgotten.push(path),
            (Fate::Absent, FoundBy::Scanned) => {}
            (Fate::Living { pid, label }, _) => self.living.push(Living { path, pid, label }),
            (Fate::Kept(reason) | Fate::NotOurs(reason), _) => self.kept.push(KeptDirectory { path, reason }),
        }
    }
}

/// Directories in `base` with a test directory's name, or `base` itself if it has one.
fn candidates(base: &Path) -> io::Result<Vec<PathBuf>> {
    let base = fs::canonicalize(base)?;
    let is_candidate = |name: &OsStr| name.as_bytes().starts_with(PREFIX.as_bytes());
    if base.file_name().is_some_and(is_candidate) {
        return Ok(vec![base]);
    }
    let mut paths = vec![];
    for entry in fs::read_dir(&base)? {
        let entry = entry?;
        if is_candidate(&entry.file_name()) && entry.file_type()?.is_dir() {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

fn is_young(since: SystemTime) -> bool {
    since.elapsed().is_ok_and(|age| age < IN_THE_MAKING)
}

fn clean_one(path: &Path) -> Fate {
    match try_clean(path) {
        Ok(fate) => fate,
        Err(Errno::NOENT) => Fate::Absent,
        Err(Errno::LOOP | Errno::NOTDIR) => Fate::NotOurs("it is no longer a directory; it was left alone".to_owned()),
        Err(error) => Fate::Kept(io::Error::from(error).to_string()),
    }
}

/// Removes a directory whose maker was killed between creating the marker and writing it, if it holds nothing else.
fn remove_unwritten(
    base: &OwnedFd,
    name: &OsStr,
    dir: &OwnedFd,
    marker: &fs::File,
    path: &Path,
) -> rustix::io::Result<Fate> {
    let is_held = rustix::fs::flock(marker, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
    let changed = marker.metadata().and_then(|found| found.modified()).unwrap_or_else(|_| SystemTime::now());
    if is_held || is_young(changed) || !Marker::is_unwritten(marker) {
        return Ok(Fate::Kept("it may be under construction; try again in a few seconds".to_owned()));
    }
    if !remove::holds_only_marker(dir.as_fd())? {
        let reason = "its marker is empty, and other files are in it; remove it by hand if it is not needed";
        return Ok(Fate::NotOurs(reason.to_owned()));
    }
    rustix::fs::unlinkat(dir, MARKER, AtFlags::empty())?;
    match rustix::fs::unlinkat(base, name, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(Fate::Removed),
        // Another entry has appeared; the next cleaning reports the directory, which has no marker now.
        Err(error) => Ok(Fate::Kept(format!("{}: {}", path.display(), io::Error::from(error)))),
    }
}

fn try_clean(path: &Path) -> rustix::io::Result<Fate> {
    let (Some(base), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::NOTDIR) };
    let base = crate::raw_open::open(base, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let dir = open_entry(base.as_fd(), name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
    let stat = rustix::fs::fstat(&dir)?;
    let me = rustix::process::geteuid();
    if !me.is_root() && stat.st_uid != me.as_raw() {
        return Ok(Fate::Kept("it belongs to another user; let that user run `plumb clean`".to_owned()));
    }
    let file = match Marker::open(dir.as_fd()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // The process was killed between creating and marking it, or between emptying and removing
            // it: it must be empty.
            let changed_s = u64::try_from(stat.st_mtime).unwrap_or(0);
            if is_young(SystemTime::UNIX_EPOCH + Duration::from_secs(changed_s)) {
                return Ok(Fate::Kept("it may be under construction; try again in a few seconds".to_owned()));
            }
            return Ok(match rustix::fs::unlinkat(&base, name, AtFlags::REMOVEDIR) {
                Ok(()) => Fate::Removed,
                Err(_) => Fate::NotOurs("it has no marker of Plumb; remove it by hand if it is not needed".to_owned()),
            });
        }
        Err(error) => return Ok(Fate::Kept(format!("its marker cannot be read: {error}"))),
    };
    let marker = match Marker::read_from(&file) {
        Ok(marker) => marker,
        Err(_) if Marker::is_unwritten(&file) => return remove_unwritten(&base, name, &dir, &file, path),
        Err(error) => return Ok(Fate::NotOurs(format!("{error}; remove it by hand if it is not needed"))),
    };
    let is_itself =
        marker.inode == Identity::from_stat(&stat).inode && name == OsStr::new(&format!("{PREFIX}{}", marker.id));
    if !is_itself {
        let reason = "it is a copy of a test directory, or was renamed; remove it by hand if it is not needed";
        return Ok(Fate::NotOurs(reason.to_owned()));
    }
    match marker.owner.life(&file) {
        Life::Alive => return Ok(Fate::Living { pid: marker.owner.pid, label: marker.label }),
        Life::Unknown(reason) => return Ok(Fate::Kept(reason)),
        Life::Dead => {}
    }
    // From here on, `file` holds the lock, so that a concurrent cleaning skips this directory.
    let leftovers: Vec<Leftover> = remove::whole(base.as_fd(), name, dir.as_fd(), path, Some(file));
    if leftovers.is_empty() { Ok(Fate::Removed) } else { Ok(Fate::Kept(remove::list(&leftovers))) }
}
