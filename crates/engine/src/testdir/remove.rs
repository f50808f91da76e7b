//! Removing a test directory: only by descriptors, never through a symbolic link, never into another mount.
//!
//! Sub-directories are moved up into the test directory before they are emptied, so that a tree of any depth needs
//! three descriptors and no recursion. The marker goes last: a removal that is killed can be taken up again.

use super::marker::MARKER;
use crate::guard::beneath::{Identity, open_entry};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How many leftovers are remembered by name.
const LEFTOVERS_MAX: usize = 8;

/// Something that could not be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// What.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

pub(super) fn list(leftovers: &[Leftover]) -> String {
    let texts: Vec<String> =
        leftovers.iter().map(|leftover| format!("{}: {}", leftover.path.display(), leftover.reason)).collect();
    texts.join("; ")
}

/// Removes all that is in the directory `dir`, which lies as `name` in `base`, and then itself. The caller has verified
/// the marker. Returns what stayed; then the marker stays as well.
pub(super) fn whole(base: BorrowedFd<'_>, name: &OsStr, dir: BorrowedFd<'_>, path: &Path) -> Vec<Leftover> {
    let mut removal = Removal { root: dir, path, moved: 0, leftovers: vec![] };
    removal.empty_root();
    if !removal.leftovers.is_empty() {
        return removal.leftovers;
    }
    let ended = (|| {
        // The name must still mean this directory. At worst an empty directory would be removed instead.
        let named = rustix::fs::statat(base, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if Identity::of(&named) != Identity::of(&rustix::fs::fstat(dir)?) {
            return Err(Errno::STALE);
        }
        match rustix::fs::unlinkat(dir, MARKER, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
        rustix::fs::unlinkat(base, name, AtFlags::REMOVEDIR)
    })();
    match ended {
        Ok(()) => vec![],
        Err(Errno::STALE) => {
            vec![Leftover { path: path.to_owned(), reason: "its name means another directory now".to_owned() }]
        }
        Err(error) => vec![Leftover { path: path.to_owned(), reason: error.to_string() }],
    }
}

struct Removal<'a> {
    root: BorrowedFd<'a>,
    path: &'a Path,
    moved: u64,
    leftovers: Vec<Leftover>,
}

/// What became of one entry.
enum RemovedEntry {
    Removed,
    Directory,
}

impl Removal<'_> {
    /// Goes through the root until a whole pass changes nothing: removing entries while reading a directory may hide
    /// others on some file systems.
    fn empty_root(&mut self) {
        loop {
            self.leftovers.clear();
            let moved_before = self.moved;
            let mut changed = false;
            let entries = match Dir::read_from(self.root) {
                Ok(entries) => entries,
                Err(error) => return self.stays(OsStr::new(""), error),
            };
            for entry in entries {
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(error) => return self.stays(OsStr::new(""), error),
                };
                let name = entry.file_name();
                if is_dot(name) || name.to_bytes() == MARKER.as_bytes() {
                    continue;
                }
                let name = OsStr::from_bytes(name.to_bytes());
                let removed = match remove_file(self.root, name) {
                    Ok(RemovedEntry::Removed) => Ok(()),
                    Ok(RemovedEntry::Directory) => self.remove_dir(name),
                    Err(error) => Err(error),
                };
                match removed {
                    Ok(()) => changed = true,
                    Err(error) => self.stays(name, error),
                }
            }
            if !changed && self.moved == moved_before {
                return;
            }
        }
    }

    /// Removes a directory that lies in the root: its files are removed, its directories are moved up into the root.
    fn remove_dir(&mut self, name: &OsStr) -> rustix::io::Result<()> {
        let dir = open_dir(self.root, name)?;
        loop {
            let mut changed = false;
            let mut failure = None;
            for entry in Dir::read_from(&dir)? {
                let entry = entry?;
                if is_dot(entry.file_name()) {
                    continue;
                }
                let inner = OsStr::from_bytes(entry.file_name().to_bytes());
                let done = match remove_file(dir.as_fd(), inner) {
                    Ok(RemovedEntry::Removed) => Ok(()),
                    Ok(RemovedEntry::Directory) => self.move_up(&dir, inner),
                    Err(error) => Err(error),
                };
                match done {
                    Ok(()) => changed = true,
                    Err(error) => failure = Some(error),
                }
            }
            match failure {
                Some(error) if !changed => return Err(error),
                None if !changed => break,
                _ => {}
            }
        }
        rustix::fs::unlinkat(self.root, name, AtFlags::REMOVEDIR)
    }

    fn move_up(&mut self, dir: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
        // Opening it refuses what is mounted there, which a rename would only find busy.
        open_dir(dir.as_fd(), name)?;
        loop {
            let above = format!(".plumb-moved-{}", self.moved);
            self.moved += 1;
            match rustix::fs::renameat_with(dir, name, self.root, above.as_str(), rustix::fs::RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                // No RENAME_NOREPLACE on this file system; a plain rename replaces nothing but an empty directory.
                Err(Errno::INVAL | Errno::NOSYS) => match rustix::fs::renameat(dir, name, self.root, above.as_str()) {
                    Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                    done => return done,
                },
                done => return done,
            }
        }
    }

    fn stays(&mut self, name: &OsStr, error: Errno) {
        if self.leftovers.len() < LEFTOVERS_MAX {
            let reason = match error {
                Errno::XDEV | Errno::BUSY => "something is mounted there; unmount it first".to_owned(),
                error => std::io::Error::from(error).to_string(),
            };
            self.leftovers.push(Leftover { path: self.path.join(name), reason });
        }
    }
}

fn is_dot(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// Removes what is no directory; a symbolic link goes itself.
fn remove_file(dir: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<RemovedEntry> {
    match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(RemovedEntry::Removed),
        // Linux says EISDIR, POSIX EPERM, which has other reasons too.
        Err(error @ (Errno::ISDIR | Errno::PERM)) => {
            let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => Ok(RemovedEntry::Directory),
                _ => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// Opens a directory to be emptied, making it accessible if a workload took its own permissions away.
fn open_dir(parent: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let dir = match open_entry(parent, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let path = open_entry(parent, name, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
            // By way of /proc, since a descriptor of O_PATH cannot be changed itself, and a name may be a link by now.
            let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&path));
            rustix::fs::chmod(link, Mode::RWXU)?;
            open_entry(parent, name, flags, Mode::empty())?
        }
        opened => opened?,
    };
    let stat = rustix::fs::fstat(&dir)?;
    let access = Mode::from_raw_mode(stat.st_mode) & Mode::RWXU;
    if access != Mode::RWXU {
        rustix::fs::fchmod(&dir, Mode::RWXU)?;
    }
    Ok(dir)
}
