//! Recognises, takes and gives back the files that a run made or took. Its workers recognise them while it lasts, and their
//! final state is registered.

use super::listing::{self, LISTED, MANY_NAMES, share_directory};
use super::made::{FileKey, FileState, Known, MadeFiles, Record};
use super::maker::this_host;
use super::mark::{FileOwner, Mark};
use super::pass::Guard;
use super::path_resolution::Identity;
use super::provenance::Provenance;
use super::taken::{Evidence, KnownFile, TakenFile, WrittenContent};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

impl Guard {
    /// Sets the kind of data that the run writes.
    pub fn writing(self, content: WrittenContent) -> Guard {
        Guard { content, ..self }
    }

    /// Returns the owner of an open file that a run made or took, if only that run or this one has written to it since.
    pub(super) fn known_as(&self, file: BorrowedFd<'_>, stat: &Stat) -> Option<KnownFile> {
        let by_mark = |mark: Mark| KnownFile { owner: mark.owner(), is_of_this_run: mark.is_of(self.run) };
        let register = self.register_name();
        let mark = Mark::read(file, Identity::from_stat(stat).inode);
        if let Some(mark) = mark.filter(|mark| mark.suffices(self.run, register, stat)) {
            return Some(by_mark(mark));
        }
        if let Some(owner) = self.has_opened(file, stat) {
            return Some(KnownFile { owner, is_of_this_run: true });
        }
        let suffices = |known| match known {
            Known::Left { state, .. } => state == FileState::from_stat(stat),
            Known::Taken(mark) => mark.suffices(self.run, register, stat),
        };
        match self.made.as_ref()?.known(FileKey::from_file(file, stat)?, suffices)? {
            Known::Left { owner, .. } => Some(KnownFile { owner, is_of_this_run: false }),
            Known::Taken(mark) => Some(by_mark(mark)),
        }
    }

    /// Returns a name for the register that differs between hosts and users.
    fn register_name(&self) -> u32 {
        let directory = self.made.as_ref().map_or(Path::new(""), MadeFiles::directory);
        crc32c::crc32c_append(this_host(), directory.as_os_str().as_bytes())
    }

    fn has_opened(&self, file: BorrowedFd<'_>, stat: &Stat) -> Option<FileOwner> {
        let Identity { device, inode } = Identity::from_stat(stat);
        let (key, owner) = *self.taken.locked().opened.get(&(device, inode))?;
        (FileKey::from_file(file, stat) == Some(key)).then_some(owner)
    }

    /// Returns `true` if an open file holds what Plumb wrote, and nothing else.
    pub fn holds_test_data(&self, file: BorrowedFd<'_>) -> bool {
        rustix::fs::fstat(file).is_ok_and(|stat| self.known_as(file, &stat).is_some())
    }

    /// Returns `true` if Plumb made a file, even if it has changed since.
    pub(super) fn is_plumbs(&self, file: BorrowedFd<'_>, stat: &Stat) -> bool {
        match Mark::read(file, Identity::from_stat(stat).inode) {
            Some(mark) => mark.owner() == FileOwner::Plumb,
            None => self.last_known(file, stat).is_some_and(|known| match known {
                Known::Left { owner, .. } => owner == FileOwner::Plumb,
                Known::Taken(mark) => mark.owner() == FileOwner::Plumb,
            }),
        }
    }

    pub(super) fn provenance(&self, file: BorrowedFd<'_>, stat: &Stat) -> Provenance {
        let known = self.last_known(file, stat);
        match (Mark::read(file, Identity::from_stat(stat).inode), known) {
            (Some(Mark::Taken { .. }), _) | (None, Some(Known::Taken(_))) => Provenance::Killed,
            (Some(_), _) | (None, Some(Known::Left { .. })) => Provenance::Changed,
            (None, None) => Provenance::Foreign,
        }
    }

    fn last_known(&self, file: BorrowedFd<'_>, stat: &Stat) -> Option<Known> {
        self.made.as_ref()?.known(FileKey::from_file(file, stat)?, |_| true)
    }

    /// Takes an open file for this run, so that other workers recognise it. A file for user
    /// data loses its mark instead.
    pub(super) fn take(&self, file: BorrowedFd<'_>, identity: Identity, path: &Path, owner: FileOwner) {
        if self.content == WrittenContent::Users {
            return Mark::remove(file);
        }
        let mark = Mark::taken(owner, self.run);
        let is_marked = mark.put(file, identity.inode).is_ok();
        if let Some(key) = rustix::fs::fstat(file).ok().and_then(|stat| FileKey::from_file(file, &stat)) {
            // Best effort: the next run does not recognise a file that has neither mark nor record; the
            // user then has to name it.
            if let (false, Some(made)) = (is_marked, &self.made) {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                let _ = made.add(&[Record { key, known: Known::Taken(mark), path }]);
            }
            self.taken.locked().opened.insert((identity.device, identity.inode), (key, owner));
        }
        self.push(path.to_owned(), Evidence::Mark);
    }

    fn push(&self, path: PathBuf, evidence: Evidence) {
        self.taken.locked().files.push(TakenFile { path, evidence });
    }

    /// Takes a file that was just created under a free name.
    pub fn take_made(&self, file: BorrowedFd<'_>, path: &Path) {
        if let Ok(stat) = rustix::fs::fstat(file) {
            self.take(file, Identity::from_stat(&stat), path, FileOwner::Plumb);
        }
    }

    /// Takes a file that replaces a user's blank file in this run: the new one is the user's too.
    pub fn take_lent(&self, file: BorrowedFd<'_>, path: &Path) {
        if let Ok(stat) = rustix::fs::fstat(file) {
            self.take(file, Identity::from_stat(&stat), path, FileOwner::User);
        }
    }

    /// Adds a path where workers in other processes may have created a file. [`Guard::give_back`] registers
    /// it if it is this run's.
    pub fn check_later(&self, path: PathBuf) {
        self.push(path, Evidence::Mark);
    }

    /// Adds an unmarked file for [`Guard::give_back`] to register. Its name passed the guard when the run began: it was free,
    /// or the file there may be written to and is a user's if `is_lent` is set.
    pub fn register_later(&self, path: PathBuf, is_lent: bool) {
        let owner = if is_lent { FileOwner::User } else { FileOwner::Plumb };
        self.push(path, Evidence::Name(owner));
    }

    /// Registers the final state of the files that this run made and took, after all of them are closed. A killed run does not
    /// get here: later, only the content of its files can prove that they may be written to.
    pub fn give_back(&self) {
        let files = std::mem::take(&mut self.taken.locked().files);
        let (mut seen, mut records) = (HashSet::new(), Vec::new());
        // Read only once, because a hundred thousand paths may be relative.
        let base = std::env::current_dir().unwrap_or_default();
        for of_directory in files.chunk_by(|one, next| share_directory(&one.path, &next.path)) {
            let Some(first) = of_directory.first().map(|file| base.join(&file.path)) else { continue };
            // A run may have removed all its files, with or without their directory.
            if of_directory.len() >= MANY_NAMES && first.parent().is_some_and(|directory| !may_hold_files(directory)) {
                continue;
            }
            for TakenFile { path, evidence } in of_directory {
                let path = base.join(path);
                if seen.insert(path.as_os_str().to_owned()) {
                    records.extend(self.leave(&path, *evidence));
                }
            }
        }
        self.taken.locked().opened.clear();
        if let Some(made) = &self.made {
            // Not fatal: without a record, a file is only less expendable.
            let _ = made.add(&records);
        }
    }

    fn leave(&self, path: &Path, evidence: Evidence) -> Option<Record> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        // The run may have removed or replaced it; the mark identifies both the run and the file.
        let file = crate::raw_open::open(path, flags, Mode::empty()).ok()?;
        let stat = rustix::fs::fstat(&file).ok().filter(is_plain_file)?;
        let inode = Identity::from_stat(&stat).inode;
        let is_mine = |mark: &Mark| mark.is_of(self.run);
        // The register does not know unmarked files yet. Asking it takes more calls than everything else together.
        let registered = || {
            if matches!(evidence, Evidence::Name(_)) {
                return None;
            }
            let suffices = |known| matches!(known, Known::Taken(mark) if is_mine(&mark));
            match self.made.as_ref()?.known(FileKey::from_file(file.as_fd(), &stat)?, suffices)? {
                Known::Taken(mark) => Some(mark),
                Known::Left { .. } => None,
            }
        };
        let mark = match Mark::read(file.as_fd(), inode) {
            None => registered(),
            mark => mark.filter(is_mine),
        };
        let owner = match (mark, evidence) {
            (Some(mark), _) => mark.owner(),
            (None, Evidence::Name(owner)) => owner,
            (None, Evidence::Mark) => self.has_opened(file.as_fd(), &stat)?,
        };
        // The mark serves other hosts. Setting it moves the change time, so the record is made afterwards.
        let _ = Mark::left(owner, self.register_name(), &stat).put(file.as_fd(), inode);
        let stat = rustix::fs::fstat(&file).ok()?;
        let known = Known::Left { owner, state: FileState::from_stat(&stat) };
        Some(Record { key: FileKey::from_file(file.as_fd(), &stat)?, known, path: path.to_owned() })
    }
}

/// Returns `false` if a directory is gone, or holds nothing but a few directories.
fn may_hold_files(directory: &Path) -> bool {
    match crate::raw_open::open(directory, LISTED | OFlags::CLOEXEC, Mode::empty()) {
        Ok(opened) => listing::may_contain(opened, listing::FEW, |entry| !entry.is_directory),
        Err(error) => !matches!(error, Errno::NOENT | Errno::NOTDIR),
    }
}

fn is_plain_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::guard;
    use crate::{FileOpening, Intent, IoMode, PassReason, Permissions};
    use std::fs;

    /// Protects files that a run leaves among directories, or in a directory whose other files it removed. They are
    /// registered, so that the next run may write to them. Nothing of a removed directory is.
    #[test]
    fn files_that_are_left_are_registered_however_many_were_removed() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let opening = FileOpening { intent: Intent::Overwrite, mode: IoMode::Buffered, needed_bytes: 0 };
        for (kept, subdirectories) in [("kept", 0), ("among", 1), ("many", 100)] {
            for number in 0..subdirectories {
                fs::create_dir_all(at(kept).join(format!("d{number}"))).unwrap();
            }
            fs::create_dir_all(at(kept)).unwrap();
            let first = guard(Permissions::none());
            for directory in [kept, "gone"] {
                for number in 0..2 * MANY_NAMES {
                    first.register_later(at(directory).join(number.to_string()), false);
                }
            }
            let path = at(kept).join((2 * MANY_NAMES - 1).to_string());
            fs::write(&path, "measured").unwrap();
            first.give_back();
            let again = guard(Permissions::none()).open_file(&path, opening).unwrap();
            assert_eq!(again.origin(), PassReason::TestData, "{kept}");
        }
    }

    #[test]
    fn a_directory_without_files_is_not_asked_for_each_name() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("d")).unwrap();
        assert!(!may_hold_files(place.path()) && !may_hold_files(&place.path().join("none")));
        fs::write(place.path().join("file"), "").unwrap();
        assert!(may_hold_files(place.path()) && !may_hold_files(&place.path().join("file")));
    }
}
