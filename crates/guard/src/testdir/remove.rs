//! Removal of a test directory: only by descriptors, never through a symbolic link, and never into another mount.
//!
//! Subdirectories are moved up into the test directory before they are emptied, so that a tree of any depth needs
//! three descriptors and no recursion. The marker is removed last, so that an interrupted removal can be resumed.
//!
//! FUSE and NFS do not remove a file that is still open. They rename it to `.fuse_hidden…` or `.nfs…` and remove it
//! when it is closed; on FUSE, some time after close(2) has returned. The marker is therefore closed before the
//! directory is removed, and such files get a moment to disappear.
//!
//! A broken file system may report that an entry was removed but keep its name. From the second pass over a directory
//! on, each removal is checked. Such an entry is then a leftover, and the passes end.

use super::marker::MARKER;
use crate::path_resolution::{Identity, open_entry};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum number of leftovers to record by name.
const LEFTOVERS_MAX: usize = 8;

/// Maximum number of pauses for files that are being closed, and the length of each: 2 s in total.
const PAUSES_MAX: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// An entry that could not be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    pub path: PathBuf,
    /// Reason why it remains.
    pub reason: String,
}

pub(super) fn list(leftovers: &[Leftover]) -> String {
    let texts: Vec<String> =
        leftovers.iter().map(|leftover| format!("{}: {}", leftover.path.display(), leftover.reason)).collect();
    texts.join("; ")
}

/// Empties the directory `dir`, which is `name` in `base`, and removes it. The caller has verified the marker, and
/// passes its open file with the lock. Returns the remaining entries. If there are any, the marker stays too, unless
/// only the removal of the directory itself failed.
pub(super) fn whole(
    base: BorrowedFd<'_>,
    name: &OsStr,
    dir: BorrowedFd<'_>,
    path: &Path,
    marker: Option<File>,
) -> Vec<Leftover> {
    let mut removal = Removal { root: dir, path, moved: 0, pauses: 0, leftovers: vec![] };
    removal.empty_root();
    if !removal.leftovers.is_empty() {
        return removal.leftovers;
    }
    let ended = (|| {
        // The name must still refer to this directory. In the worst case, an empty directory is removed instead.
        rustix::fs::statat(base, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if !is_same(base, name, dir) {
            return Err(Errno::STALE);
        }
        match rustix::fs::unlinkat(dir, MARKER, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
        drop(marker);
        loop {
            match rustix::fs::unlinkat(base, name, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::BUSY)
                    if holds_only_closing(dir).unwrap_or(false) && removal.pause() => {}
                ended => return ended,
            }
        }
    })();
    match ended {
        Ok(()) if is_same(base, name, dir) => {
            vec![Leftover { path: path.to_owned(), reason: KEPT_REASON.to_owned() }]
        }
        Ok(()) => vec![],
        Err(Errno::STALE) => {
            vec![Leftover { path: path.to_owned(), reason: "another directory has its name now".to_owned() }]
        }
        Err(error) => vec![Leftover { path: path.to_owned(), reason: std::io::Error::from(error).to_string() }],
    }
}

/// Returns `true` if a name refers to the open directory.
fn is_same(base: BorrowedFd<'_>, name: &OsStr, dir: BorrowedFd<'_>) -> bool {
    let named = rustix::fs::statat(base, name, AtFlags::SYMLINK_NOFOLLOW);
    named.is_ok_and(|named| {
        rustix::fs::fstat(dir).is_ok_and(|open| Identity::from_stat(&named) == Identity::from_stat(&open))
    })
}

/// Empties the directory `dir` but keeps it. The caller has checked that its contents may be
/// removed. Returns the remaining entries.
pub fn contents(dir: BorrowedFd<'_>, path: &Path) -> Vec<Leftover> {
    let mut removal = Removal { root: dir, path, moved: 0, pauses: 0, leftovers: vec![] };
    removal.empty_root();
    removal.leftovers
}

/// Returns `true` for the name of a file that was removed while open and disappears when it is closed.
fn goes_when_closed(name: &CStr) -> bool {
    let name = name.to_bytes();
    name.starts_with(b".fuse_hidden") || name.starts_with(b".nfs")
}

/// Returns `true` if a directory contains only files that disappear when they are closed.
fn holds_only_closing(dir: BorrowedFd<'_>) -> rustix::io::Result<bool> {
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        if !is_dot(entry.file_name()) && !goes_when_closed(entry.file_name()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns `true` if a directory holds nothing but its marker.
pub(super) fn holds_only_marker(dir: BorrowedFd<'_>) -> rustix::io::Result<bool> {
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        if !is_dot(entry.file_name()) && entry.file_name().to_bytes() != MARKER.as_bytes() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reason for a file that remains because it is open.
const STILL_OPEN: &str = "a program still has a file in it open";

/// Error for an entry that remains after a successful removal. On Linux, no removal itself fails with it.
const KEPT: Errno = Errno::EXIST;
const KEPT_REASON: &str = "the file system reported its removal and kept it";

/// Whether this is the first pass over a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    First,
    Again,
}

impl Pass {
    /// Checks that a removed entry is gone. The first pass has no reason for doubt yet.
    fn check(self, dir: BorrowedFd<'_>, name: &OsStr, goes_when_closed: bool) -> rustix::io::Result<()> {
        if self == Pass::First || goes_when_closed || !is_there(dir, name) { Ok(()) } else { Err(KEPT) }
    }
}

fn is_there(dir: BorrowedFd<'_>, name: &OsStr) -> bool {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

struct Removal<'a> {
    root: BorrowedFd<'a>,
    path: &'a Path,
    moved: u64,
    pauses: u32,
    leftovers: Vec<Leftover>,
}

/// Outcome for one entry.
enum RemovedEntry {
    Removed,
    Directory,
}

impl Removal<'_> {
    /// Pauses for files that are being closed. Returns `false` once all pauses are used up.
    fn pause(&mut self) -> bool {
        self.pauses += 1;
        if self.pauses <= PAUSES_MAX {
            std::thread::sleep(PAUSE);
        }
        self.pauses <= PAUSES_MAX
    }

    /// Repeats passes over the root until one changes nothing. On some file systems, removing entries while
    /// reading a directory can hide others.
    fn empty_root(&mut self) {
        let mut pass = Pass::First;
        loop {
            self.leftovers.clear();
            let moved_before = self.moved;
            let (mut changed, mut closing) = (false, false);
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
                let goes_when_closed = goes_when_closed(name);
                let name = OsStr::from_bytes(name.to_bytes());
                let removed = match remove_file(self.root, name) {
                    Ok(RemovedEntry::Removed) => Ok(()),
                    Ok(RemovedEntry::Directory) => self.remove_dir(name),
                    Err(error) => Err(error),
                };
                let removed = removed.and_then(|()| pass.check(self.root, name, goes_when_closed));
                match removed {
                    // It may exist again under another name.
                    Ok(()) if goes_when_closed => closing = true,
                    Ok(()) => changed = true,
                    Err(error) => {
                        closing |= goes_when_closed;
                        self.stays(name, error);
                    }
                }
            }
            if changed || self.moved != moved_before || (closing && self.pause()) {
                pass = Pass::Again;
                continue;
            }
            if closing && self.leftovers.is_empty() && !self.is_empty() {
                self.leftovers.push(Leftover { path: self.path.to_owned(), reason: STILL_OPEN.to_owned() });
            }
            return;
        }
    }

    /// Removes a directory in the root: deletes its files, and moves its directories up into the root.
    fn remove_dir(&mut self, name: &OsStr) -> rustix::io::Result<()> {
        let dir = open_dir(self.root, name)?;
        let mut pass = Pass::First;
        loop {
            let (mut changed, mut closing) = (false, false);
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
                let goes_when_closed = goes_when_closed(entry.file_name());
                let done = done.and_then(|()| pass.check(dir.as_fd(), inner, goes_when_closed));
                match done {
                    Ok(()) if goes_when_closed => closing = true,
                    Ok(()) => changed = true,
                    Err(error) => {
                        closing |= goes_when_closed;
                        failure = Some(error);
                    }
                }
            }
            if changed || (closing && self.pause()) {
                pass = Pass::Again;
                continue;
            }
            match failure {
                Some(error) => return Err(error),
                None => break,
            }
        }
        rustix::fs::unlinkat(self.root, name, AtFlags::REMOVEDIR)
    }

    fn move_up(&mut self, dir: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
        // Opening it refuses a mount point, which a rename would only report as busy.
        open_dir(dir.as_fd(), name)?;
        loop {
            let above = format!(".plumb-moved-{}", self.moved);
            self.moved += 1;
            match rename_to_new(dir, name, self.root, above.as_str()) {
                Err(Errno::EXIST) => {}
                // This file system lacks RENAME_NOREPLACE. A plain rename replaces nothing but an empty directory.
                Err(Errno::INVAL | Errno::NOSYS) => match rustix::fs::renameat(dir, name, self.root, above.as_str()) {
                    Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                    done => return done,
                },
                done => return done,
            }
        }
    }

    /// Returns `true` if nothing but the marker remains.
    fn is_empty(&self) -> bool {
        holds_only_marker(self.root).unwrap_or(false)
    }

    fn stays(&mut self, name: &OsStr, error: Errno) {
        if self.leftovers.len() < LEFTOVERS_MAX {
            let reason = match error {
                Errno::XDEV | Errno::BUSY => "something is mounted there; unmount it first".to_owned(),
                KEPT => KEPT_REASON.to_owned(),
                error => std::io::Error::from(error).to_string(),
            };
            self.leftovers.push(Leftover { path: self.path.join(name), reason });
        }
    }
}

fn is_dot(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// Removes an entry that is not a directory. A symbolic link itself is removed.
fn remove_file(dir: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<RemovedEntry> {
    match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(RemovedEntry::Removed),
        // Linux returns EISDIR, POSIX EPERM, which has other causes too.
        Err(error @ (Errno::ISDIR | Errno::PERM)) => {
            let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => Ok(RemovedEntry::Directory),
                _ if error == Errno::PERM && take_flags(dir, name) => {
                    rustix::fs::unlinkat(dir, name, AtFlags::empty()).map(|()| RemovedEntry::Removed)
                }
                _ => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// Clears the immutable and append-only flags (chattr) of an entry and of its directory, which conformance tests set.
/// Returns `true` if any was set.
#[cfg(target_os = "linux")]
fn take_flags(dir: BorrowedFd<'_>, name: &OsStr) -> bool {
    let file = open_entry(dir, name, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty());
    let of_file = file.is_ok_and(|file| take_flags_of(file.as_fd()));
    take_flags_of(dir) || of_file
}

#[cfg(target_os = "linux")]
fn take_flags_of(file: BorrowedFd<'_>) -> bool {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
    let both = IFlags::IMMUTABLE | IFlags::APPEND;
    let flags = ioctl_getflags(file).unwrap_or(IFlags::empty());
    flags.intersects(both) && ioctl_setflags(file, flags - both).is_ok()
}

/// Returns `false`, because there are no such flags.
#[cfg(not(target_os = "linux"))]
fn take_flags(_: BorrowedFd<'_>, _: &OsStr) -> bool {
    false
}

/// Opens a directory to be emptied. Restores access if a workload removed its own permissions.
fn open_dir(parent: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let dir = match open_entry(parent, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let path = open_entry(parent, name, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
            // Through /proc, because an `O_PATH` descriptor cannot be changed itself, and the name may
            // be a link by now.
            let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&path));
            rustix::fs::chmod(link, Mode::RWXU)?;
            open_entry(parent, name, flags, Mode::empty())?
        }
        opened => opened?,
    };
    #[cfg(target_os = "linux")]
    take_flags_of(dir.as_fd());
    let stat = rustix::fs::fstat(&dir)?;
    let access = Mode::from_raw_mode(stat.st_mode) & Mode::RWXU;
    if access != Mode::RWXU {
        rustix::fs::fchmod(&dir, Mode::RWXU)?;
    }
    Ok(dir)
}
/// Renames without replacing anything. Source: renameat2(2).
#[cfg(target_os = "linux")]
fn rename_to_new(from: &OwnedFd, name: &OsStr, to: BorrowedFd<'_>, new: &str) -> rustix::io::Result<()> {
    rustix::fs::renameat_with(from, name, to, new, rustix::fs::RenameFlags::NOREPLACE)
}

/// Fails, because there is no such call.
#[cfg(not(target_os = "linux"))]
fn rename_to_new(_: &OwnedFd, _: &OsStr, _: BorrowedFd<'_>, _: &str) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    // Protects the end of the passes: from the second pass on, an entry that remains after its removal is a leftover.
    // Files that disappear when they are closed may reappear under another name.
    #[test]
    fn remaining_entries_are_noticed_in_the_second_pass() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("kept"), "").unwrap();
        let dir = File::open(place.path()).unwrap();
        let check = |pass: Pass, name: &str, closes| pass.check(dir.as_fd(), OsStr::new(name), closes);
        assert_eq!(check(Pass::First, "kept", false), Ok(()));
        assert_eq!(check(Pass::Again, "kept", false), Err(KEPT));
        assert_eq!(check(Pass::Again, "kept", true), Ok(()));
        assert_eq!(check(Pass::Again, "gone", false), Ok(()));
    }
}
