//! The files that a run made or took: known to all its workers while it lasts, and registered as it leaves them.

use super::made::{FileKey, FileState, Known, MadeFiles, Record};
use super::maker::this_host;
use super::mark::{Mark, Whose};
use super::{Guard, Identity};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a run has made and taken, as far as this process knows.
#[derive(Debug, Clone, Default)]
pub(super) struct TakenFiles(Arc<Mutex<Taken>>);

#[derive(Debug, Default)]
struct Taken {
    files: Vec<TakenFile>,
    /// Files that this process has opened for the run, by device and inode. Another process of the same benchmark may leave
    /// such a file, and mark it as left, while this run goes on.
    opened: HashMap<(u64, u64), (FileKey, Whose)>,
}

#[derive(Debug)]
struct TakenFile {
    path: PathBuf,
    evidence: Evidence,
}

/// Why a file that bears a name at the end of a run is the run's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// This process took it, or a worker did, whose mark it bears.
    Mark,
    /// The run's files bear no marks, because each would cost a call; the name passed the guard when the run began.
    Name(Whose),
}

/// What a run writes into its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenContent {
    /// Bytes that Plumb makes up, and that may be written over later.
    TestData,
    /// Somebody's data, such as that of a copied file: what is written is theirs, whoever made the file.
    Users,
}

/// A file that nothing has written to but Plumb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownFile {
    pub(super) whose: Whose,
    /// This run has taken it already.
    pub(super) is_of_this_run: bool,
}

/// How a file came to be, as far as that is known; for refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// Plumb did not make it.
    Foreign,
    /// A run made or took it, and it has changed since.
    Changed,
    /// A run that made or took it was killed, so that nothing tells whether it has changed since.
    Killed,
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Provenance::Foreign => "Plumb did not make it",
            Provenance::Changed => "it is no longer as Plumb left it",
            Provenance::Killed => "the run that used it was killed, so that nothing tells who wrote to it last",
        })
    }
}

impl Guard {
    /// A guard for a run that writes this.
    pub fn writing(self, content: WrittenContent) -> Guard {
        Guard { content, ..self }
    }

    /// Whose an open file is, where a run made or took it and nothing has written to it since but that run, or this one.
    pub(super) fn known_as(&self, file: BorrowedFd<'_>, stat: &Stat) -> Option<KnownFile> {
        let by_mark = |mark: Mark| KnownFile { whose: mark.whose(), is_of_this_run: mark.is_of(self.run) };
        let register = self.register_name();
        let mark = Mark::read(file, Identity::of(stat).inode);
        if let Some(mark) = mark.filter(|mark| mark.suffices(self.run, register, stat)) {
            return Some(by_mark(mark));
        }
        if let Some(whose) = self.has_opened(file, stat) {
            return Some(KnownFile { whose, is_of_this_run: true });
        }
        let suffices = |known| match known {
            Known::Left { state, .. } => state == FileState::of(stat),
            Known::Taken(mark) => mark.suffices(self.run, register, stat),
        };
        match self.made.as_ref()?.known(FileKey::of(file, stat)?, suffices)? {
            Known::Left { whose, .. } => Some(KnownFile { whose, is_of_this_run: false }),
            Known::Taken(mark) => Some(by_mark(mark)),
        }
    }

    /// The name of the register, different from that of every other host and user.
    fn register_name(&self) -> u32 {
        let directory = self.made.as_ref().map_or(Path::new(""), MadeFiles::directory);
        crc32c::crc32c_append(this_host(), directory.as_os_str().as_bytes())
    }

    fn has_opened(&self, file: BorrowedFd<'_>, stat: &Stat) -> Option<Whose> {
        let Identity { device, inode } = Identity::of(stat);
        let (key, whose) = *self.locked().opened.get(&(device, inode))?;
        (FileKey::of(file, stat) == Some(key)).then_some(whose)
    }

    fn locked(&self) -> MutexGuard<'_, Taken> {
        self.taken.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an open file holds what Plumb put there, and nothing else.
    pub fn holds_test_data(&self, file: BorrowedFd<'_>) -> bool {
        rustix::fs::fstat(file).is_ok_and(|stat| self.known_as(file, &stat).is_some())
    }

    /// Whether Plumb made a file, whatever has happened to it since.
    pub(super) fn is_plumbs(&self, file: BorrowedFd<'_>, stat: &Stat) -> bool {
        match Mark::read(file, Identity::of(stat).inode) {
            Some(mark) => mark.whose() == Whose::Plumb,
            None => self.last_known(file, stat).is_some_and(|known| match known {
                Known::Left { whose, .. } => whose == Whose::Plumb,
                Known::Taken(mark) => mark.whose() == Whose::Plumb,
            }),
        }
    }

    pub(super) fn provenance(&self, file: BorrowedFd<'_>, stat: &Stat) -> Provenance {
        let known = self.last_known(file, stat);
        match (Mark::read(file, Identity::of(stat).inode), known) {
            (Some(Mark::Taken { .. }), _) | (None, Some(Known::Taken(_))) => Provenance::Killed,
            (Some(_), _) | (None, Some(Known::Left { .. })) => Provenance::Changed,
            (None, None) => Provenance::Foreign,
        }
    }

    fn last_known(&self, file: BorrowedFd<'_>, stat: &Stat) -> Option<Known> {
        self.made.as_ref()?.known(FileKey::of(file, stat)?, |_| true)
    }

    /// Takes an open file for this run: its other workers know it from now on. Somebody's data bears no mark.
    pub(super) fn take(&self, file: BorrowedFd<'_>, identity: Identity, path: &Path, whose: Whose) {
        if self.content == WrittenContent::Users {
            return Mark::remove(file);
        }
        let mark = Mark::taken(whose, self.run);
        let is_marked = mark.put(file, identity.inode).is_ok();
        if let Some(key) = rustix::fs::fstat(file).ok().and_then(|stat| FileKey::of(file, &stat)) {
            // Best effort: a file that is neither marked nor registered is unknown next time, and must be named then.
            if let (false, Some(made)) = (is_marked, &self.made) {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                let _ = made.add(&[Record { key, known: Known::Taken(mark), path }]);
            }
            self.locked().opened.insert((identity.device, identity.inode), (key, whose));
        }
        self.push(path.to_owned(), Evidence::Mark);
    }

    fn push(&self, path: PathBuf, evidence: Evidence) {
        self.locked().files.push(TakenFile { path, evidence });
    }

    /// Takes a file that was just made under a name at which there was nothing.
    pub fn take_made(&self, file: BorrowedFd<'_>, path: &Path) {
        if let Ok(stat) = rustix::fs::fstat(file) {
            self.take(file, Identity::of(&stat), path, Whose::Plumb);
        }
    }

    /// Takes a file that replaces, in this run, one of somebody else's that held nothing: the new one is theirs, too.
    pub fn take_lent(&self, file: BorrowedFd<'_>, path: &Path) {
        if let Ok(stat) = rustix::fs::fstat(file) {
            self.take(file, Identity::of(&stat), path, Whose::Owner);
        }
    }

    /// Says where workers in other processes may have made files: those of this run are registered when it gives back.
    pub fn look_later(&self, path: PathBuf) {
        self.push(path, Evidence::Mark);
    }

    /// Registers, when this run gives back, a file that bears no mark. Its name passed the guard when the run began: there was
    /// nothing, or something that may be written to, which is somebody else's where `is_lent` says so.
    pub fn register_later(&self, path: PathBuf, is_lent: bool) {
        let whose = if is_lent { Whose::Owner } else { Whose::Plumb };
        self.push(path, Evidence::Name(whose));
    }

    /// Registers how this run leaves the files that it made and took. Called when all that the run had open is closed. A run
    /// that is killed does not come here: of its files, only their content tells next time whether they may be written to.
    pub fn give_back(&self) {
        let files = std::mem::take(&mut self.locked().files);
        let (mut seen, mut records) = (HashSet::new(), Vec::new());
        // Asked for once: a hundred thousand paths may be relative.
        let base = std::env::current_dir().unwrap_or_default();
        for TakenFile { path, evidence } in &files {
            if seen.insert(path) {
                records.extend(self.leave(&base.join(path), *evidence));
            }
        }
        self.locked().opened.clear();
        if let Some(made) = &self.made {
            // A register that cannot be written makes files less expendable, and is no reason to fail.
            let _ = made.add(&records);
        }
    }

    fn leave(&self, path: &Path, evidence: Evidence) -> Option<Record> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        // The run may have removed it, or replaced it: the mark names this run and the file that it is on.
        let file = crate::raw_open::open(path, flags, Mode::empty()).ok()?;
        let stat = rustix::fs::fstat(&file).ok().filter(is_plain_file)?;
        let inode = Identity::of(&stat).inode;
        let is_mine = |mark: &Mark| mark.is_of(self.run);
        let registered = || {
            let suffices = |known| matches!(known, Known::Taken(mark) if is_mine(&mark));
            match self.made.as_ref()?.known(FileKey::of(file.as_fd(), &stat)?, suffices)? {
                Known::Taken(mark) => Some(mark),
                Known::Left { .. } => None,
            }
        };
        let mark = match Mark::read(file.as_fd(), inode) {
            None => registered(),
            mark => mark.filter(is_mine),
        };
        let whose = match (mark, evidence) {
            (Some(mark), _) => mark.whose(),
            (None, Evidence::Name(whose)) => whose,
            (None, Evidence::Mark) => self.has_opened(file.as_fd(), &stat)?,
        };
        // For other hosts; the register's change time is that of this.
        let _ = Mark::left(whose, self.register_name(), &stat).put(file.as_fd(), inode);
        let stat = rustix::fs::fstat(&file).ok()?;
        let known = Known::Left { whose, state: FileState::of(&stat) };
        Some(Record { key: FileKey::of(file.as_fd(), &stat)?, known, path: path.to_owned() })
    }
}

fn is_plain_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink == 1
}
