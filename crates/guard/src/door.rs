//! The guard's door for files named in other tools' languages. They may be anywhere, many of them may be in one
//! directory, and each worker opens them again.

use super::device::SystemDevices;
use super::listing::{self, DirectoryEntry, LISTED};
use super::mark::FileOwner;
use super::pass::has_one_name;
use super::path_resolution::{Identity, Mounts, open_beneath};
use super::taken::KnownFile;
use super::{
    Access, FileLocation, FileOpening, Guard, GuardedFile, IoMode, PassReason, Refusal, open_again_as, wrong_kind,
};
use super::{Intent, Roots, kind_name, read_only_file_system};
use plumb_workload::files::NewModes;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode, Stat, StatVfsMountFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The origin of a file name. For either origin, an existing file passes in three cases: Plumb made it and it is
/// unchanged since, it is proved to be blank, or the user allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// Names that the job's language generates: many files in one directory, and directories that may be removed.
    Generated,
    /// Names that the user typed.
    Typed,
}

/// Kind of file found under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundName {
    /// The name is free.
    Nothing,
    File {
        /// Length of the file, bytes.
        length_bytes: u64,
        /// Bytes that the file occupies on its file system.
        occupied_bytes: u64,
    },
    Device,
    Character,
    Directory,
    /// Another kind, described in words.
    Other(&'static str),
}

/// Opens files of one naming. Keeps the current directory open, so that a hundred thousand files in one directory
/// cost little more than creating them.
pub struct Door {
    guard: Guard,
    naming: Naming,
    file_mode: Mode,
    dir: Option<OpenDir>,
    /// Directories from which paths are resolved. Without them, each path is resolved from its start.
    roots: Option<Arc<Roots>>,
    /// The root that was opened last, with its index in `roots`.
    root: Option<(usize, OwnedFd)>,
    /// Files that the system currently uses as devices.
    in_use: Option<Vec<Identity>>,
}

struct OpenDir {
    path: PathBuf,
    fd: OwnedFd,
    is_read_only: bool,
}

/// A file that passed the door, open for reading and writing.
#[derive(Debug)]
pub struct PassedFile {
    /// The file, opened through the page cache.
    pub file: File,
    /// The reason why it passed.
    pub origin: PassReason,
}

impl Guard {
    /// Returns a door for files of this naming.
    pub fn door(&self, naming: Naming) -> Door {
        let file_mode = Mode::from_raw_mode(NewModes::default().laid_out as RawMode);
        Door { guard: self.clone(), naming, file_mode, dir: None, roots: None, root: None, in_use: None }
    }
}

impl Door {
    /// Sets the mode of new files, from which the umask is taken.
    pub fn making(mut self, mode: u32) -> Door {
        self.make_with(mode);
        self
    }

    /// Sets the mode of new files, from which the umask is taken.
    pub fn make_with(&mut self, mode: u32) {
        self.file_mode = Mode::from_raw_mode(mode as RawMode);
    }

    /// Resolves paths from these directories. Symbolic links below them are not followed.
    pub fn with_roots(self, roots: Arc<Roots>) -> Door {
        Door { roots: Some(roots), ..self }
    }

    /// Returns the kind of file under a name, following symbolic links.
    ///
    /// # Errors
    /// [`Refusal::NoDirectory`]; [`Refusal::Io`].
    pub fn find(&mut self, path: &Path) -> Result<FoundName, Refusal> {
        let (dir, name) = self.enter(path)?;
        match rustix::fs::statat(&dir.fd, name, AtFlags::empty()) {
            Ok(stat) => Ok(FoundName::from_stat(&stat)),
            Err(Errno::NOENT) => Ok(FoundName::Nothing),
            Err(error) => Err(Refusal::io(path, "look at it")(error)),
        }
    }

    /// Returns `true` if nothing bears a name, not even a dangling link.
    ///
    /// # Errors
    /// [`Refusal::NoDirectory`]; [`Refusal::Io`].
    pub fn is_free(&mut self, path: &Path) -> Result<bool, Refusal> {
        let (dir, name) = self.enter(path)?;
        match rustix::fs::statat(&dir.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(false),
            Err(Errno::NOENT) => Ok(true),
            Err(error) => Err(Refusal::io(path, "look at it")(error)),
        }
    }

    /// Returns `true` if the directory of `path` may have an entry for which `is_meant` returns `true`. Also
    /// returns `true` if that would take more than looking at `most` names: for a directory with more entries, or
    /// one that cannot be listed.
    ///
    /// # Errors
    /// [`Refusal::NoDirectory`]; [`Refusal::Io`].
    pub fn may_contain(
        &mut self,
        path: &Path,
        most: usize,
        is_meant: impl Fn(DirectoryEntry<'_>) -> bool,
    ) -> Result<bool, Refusal> {
        let (dir, _) = self.enter(path)?;
        // `Dir::read_from` would open the directory by its path, but it is already open here.
        let opened = crate::raw_open::openat(&dir.fd, ".", LISTED | OFlags::CLOEXEC, Mode::empty());
        Ok(opened.map_or(true, |listed| listing::may_contain(listed, most, is_meant)))
    }

    /// Returns `true` if the directory of `path` may have an entry other than a directory. If `false`, no name in
    /// it belongs to a file, even on a file system that ignores case. Also returns `true` for a directory with
    /// more than a few entries.
    ///
    /// # Errors
    /// [`Refusal::NoDirectory`]; [`Refusal::Io`].
    pub fn may_contain_files(&mut self, path: &Path) -> Result<bool, Refusal> {
        self.may_contain(path, listing::FEW, |entry| !entry.is_directory)
    }

    /// Refuses if this many more bytes would leave too little space on the file system of `path`.
    ///
    /// # Errors
    /// [`Refusal::Space`], [`Refusal::NoDirectory`], [`Refusal::Io`].
    pub fn admit(&mut self, path: &Path, needed_bytes: u64) -> Result<(), Refusal> {
        let guard = self.guard.clone();
        let (dir, _) = self.enter(path)?;
        guard.admit(dir.fd.as_fd(), path, needed_bytes)
    }

    /// Refuses to fill a file system that must not be filled.
    ///
    /// # Errors
    /// [`Refusal::NeverFilled`], [`Refusal::NoDirectory`], [`Refusal::Io`].
    pub fn admit_filling(&mut self, path: &Path) -> Result<(), Refusal> {
        let guard = self.guard.clone();
        let (dir, _) = self.enter(path)?;
        guard.admit_filling(dir.fd.as_fd(), path)
    }

    /// Opens a file for reading and writing. Creates it if it is missing and `create` allows it.
    ///
    /// # Errors
    /// A [`Refusal`] that names what was found and how to proceed.
    pub fn open(&mut self, path: &Path, create: Create) -> Result<PassedFile, Refusal> {
        match self.naming {
            Naming::Generated => self.open_generated(path, create),
            Naming::Typed => self.open_typed(path, create),
        }
    }

    /// Opens a file or device for reading only, which needs no permission.
    ///
    /// # Errors
    /// [`Refusal::NoDirectory`], [`Refusal::Io`].
    pub fn open_to_read(&mut self, path: &Path, flags: OFlags) -> Result<File, Refusal> {
        let (dir, name) = self.enter(path)?;
        let fd = crate::raw_open::openat(&dir.fd, name, flags | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        fd.map(File::from).map_err(|error| match error {
            Errno::INVAL if flags.contains(OFlags::DIRECT) => Refusal::NoDirect { path: path.to_owned() },
            error => Refusal::io(path, "open it for reading")(error),
        })
    }

    /// Removes a file that may be written to, or a directory with a generated name. A missing file is not an error.
    ///
    /// # Errors
    /// As [`Door::open`]; a device cannot be removed.
    pub fn remove(&mut self, path: &Path) -> Result<(), Refusal> {
        let (dir, name) = self.enter(path)?;
        let stat = match rustix::fs::statat(&dir.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(Refusal::io(path, "look at it")(error)),
        };
        let flags = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => AtFlags::empty(),
            FileType::Directory if self.naming == Naming::Generated => AtFlags::REMOVEDIR,
            FileType::Directory | FileType::BlockDevice | FileType::CharacterDevice => return Ok(()),
            _ => return Err(wrong_kind(path, &stat)),
        };
        if flags.is_empty() {
            self.open(path, Create::Never)?;
        }
        let (dir, name) = self.enter(path)?;
        match rustix::fs::unlinkat(&dir.fd, name, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(Refusal::io(path, "remove it")(error)),
        }
    }

    /// Checks that a tool may call unlink(2) on a path: the name is free, or belongs to a file that may be written to, or to a
    /// directory, which unlink(2) does not remove.
    ///
    /// # Errors
    /// [`Refusal::WrongKind`] for devices, pipes and sockets, [`Refusal::Symlink`]; else as [`Door::open`].
    pub fn admit_removal(&mut self, path: &Path) -> Result<(), Refusal> {
        let (dir, name) = self.enter(path)?;
        let stat = match rustix::fs::statat(&dir.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(Refusal::io(path, "look at it")(error)),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => self.open(path, Create::Never).map(drop),
            FileType::Directory => Ok(()),
            _ => Err(wrong_kind(path, &stat)),
        }
    }

    /// Checks that a tool may remove numbered items from a tree: the tree does not exist, or holds no pipe,
    /// socket or device. Only reads directories.
    ///
    /// # Errors
    /// [`Refusal::WrongKind`] with the first such entry; [`Refusal::Io`].
    pub fn admit_tree_removal(&mut self, path: &Path) -> Result<(), Refusal> {
        let (dir, name) = match self.enter(path) {
            Err(Refusal::NoDirectory { .. }) => return Ok(()),
            entered => entered?,
        };
        match open_beneath(dir.fd.as_fd(), name.as_bytes(), LISTED, Mode::empty(), Mounts::Entered) {
            // The removal does not follow a link either.
            Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => Ok(()),
            Err(error) => Err(Refusal::io(path, "open it")(error)),
            Ok(tree) => refuse_special(tree.as_fd(), path, 0),
        }
    }

    /// Creates a directory with a generated name. Keeps an existing one.
    ///
    /// # Errors
    /// [`Refusal::NoDirectory`], [`Refusal::Io`].
    pub fn make_dir(&mut self, path: &Path) -> Result<(), Refusal> {
        let (dir, name) = self.enter(path)?;
        match rustix::fs::mkdirat(&dir.fd, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(Refusal::io(path, "make a directory there")(error)),
        }
    }

    /// Opens the directory of a path, and returns it with the name in it.
    fn enter<'p>(&mut self, path: &'p Path) -> Result<(&OpenDir, &'p OsStr), Refusal> {
        let Some(name) = path.file_name() else {
            return Err(Refusal::WrongKind { path: path.to_owned(), found: "a directory", expected: "a file" });
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if self.dir.as_ref().is_none_or(|dir| dir.path != parent) {
            let fd = match self.roots.as_ref().map_or(Ok(None), |roots| roots.open_parent_from(path, &mut self.root))? {
                Some(fd) => fd,
                None => {
                    crate::raw_open::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
                        .map_err(|error| match error {
                            Errno::NOENT => {
                                Refusal::NoDirectory { path: path.to_owned(), directory: parent.to_owned() }
                            }
                            error => Refusal::io(path, "open its directory")(error),
                        })?
                }
            };
            let stat = rustix::fs::fstatvfs(&fd).map_err(Refusal::io(path, "check its file system"))?;
            let is_read_only = stat.f_flag.contains(StatVfsMountFlags::RDONLY);
            self.dir = Some(OpenDir { path: parent.to_owned(), fd, is_read_only });
        }
        match &self.dir {
            Some(dir) => Ok((dir, name)),
            None => Err(Refusal::NoDirectory { path: path.to_owned(), directory: parent.to_owned() }),
        }
    }

    /// Works as [`Door::open_typed`], but needs only three system calls for a missing file or one of this run's.
    fn open_generated(&mut self, path: &Path, create: Create) -> Result<PassedFile, Refusal> {
        let mode = self.file_mode;
        let (dir, name) = self.enter(path)?;
        if dir.is_read_only {
            return Err(read_only_file_system(path));
        }
        let plain = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if create == Create::IfMissing {
            match crate::raw_open::openat(&dir.fd, name, plain | OFlags::CREATE | OFlags::EXCL, mode) {
                Ok(fd) => {
                    self.guard.take_made(fd.as_fd(), path);
                    return passed(fd, path, PassReason::Made);
                }
                Err(Errno::EXIST | Errno::LOOP) => {}
                Err(error) => return Err(Refusal::io(path, "open it for reading and writing")(error)),
            }
        }
        // Opened for reading first, because other programs notice an open for writing. O_NONBLOCK: a pipe of that
        // name must not block the guard.
        let judged = crate::raw_open::openat(&dir.fd, name, (plain - OFlags::RDWR) | OFlags::RDONLY, Mode::empty())
            .map_err(|error| match error {
                Errno::LOOP | Errno::MLINK => Refusal::Symlink { path: path.to_owned() },
                error => Refusal::io(path, "open it for reading and writing")(error),
            })?;
        let stat = rustix::fs::fstat(&judged).map_err(Refusal::io(path, "check the opened file"))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(wrong_kind(path, &stat));
        }
        let known = if has_one_name(&stat) { self.guard.known_as(judged.as_fd(), &stat) } else { None };
        match known {
            Some(KnownFile { owner: FileOwner::Plumb, is_of_this_run }) => {
                let fd = open_again_as(judged.as_fd(), path, Access::ReadWrite, OFlags::empty())?;
                self.refuse_in_use(path, Identity::from_stat(&stat))?;
                if !is_of_this_run {
                    self.guard.take(fd.as_fd(), Identity::from_stat(&stat), path, FileOwner::Plumb);
                }
                Ok(PassedFile { file: fd, origin: PassReason::TestData })
            }
            _ => {
                drop(judged);
                self.open_typed(path, create)
            }
        }
    }

    fn refuse_in_use(&mut self, path: &Path, file: Identity) -> Result<(), Refusal> {
        let machine = SystemDevices::this();
        if self.in_use.is_none() {
            self.in_use = Some(machine.images().map_err(Refusal::io(path, "list the loop devices"))?);
        }
        match self.in_use.as_ref().is_some_and(|images| images.contains(&file)) {
            // Checks again to get the error message.
            true => machine.refuse_if_image(path, file),
            false => Ok(()),
        }
    }

    fn open_typed(&mut self, path: &Path, create: Create) -> Result<PassedFile, Refusal> {
        if create == Create::Never && self.find(path)? == FoundName::Nothing {
            return Err(Refusal::io(path, "open it for reading and writing")(Errno::NOENT));
        }
        // Any of the workers that share a file may create or take it; those that come later must find it marked.
        let first = making(path);
        let began = Instant::now();
        let passed = loop {
            match self.open_once(path) {
                // Another host may be creating the file, so it is judged again as if it had existed before.
                Err(refusal)
                    if create == Create::IfMissing && may_be_new(&refusal) && began.elapsed() < MAKING_TIME =>
                {
                    std::thread::sleep(MAKING_TIME / 100);
                }
                passed => break passed?,
            }
        };
        drop(first);
        Ok(PassedFile { origin: passed.origin(), file: passed.file })
    }

    fn open_once(&mut self, path: &Path) -> Result<GuardedFile, Refusal> {
        let (dir, name) = self.enter(path)?;
        let dir = dir.fd.try_clone().map_err(Refusal::io(path, "open its directory"))?;
        let place = FileLocation { dir, name, path, within: None, copy_of: None, mode: self.file_mode };
        let opening = FileOpening { intent: Intent::Overwrite, mode: IoMode::Buffered, needed_bytes: 0 };
        self.guard.open_at(place, opening, || {})
    }
}

/// Wraps a file that the door opened itself.
fn passed(fd: OwnedFd, path: &Path, origin: PassReason) -> Result<PassedFile, Refusal> {
    // With O_NONBLOCK set, io_uring would fail with EAGAIN instead of waiting.
    rustix::fs::fcntl_setfl(&fd, OFlags::empty()).map_err(Refusal::io(path, "set its flags"))?;
    Ok(PassedFile { file: File::from(fd), origin })
}

/// Maximum depth of the search; the tools' own paths are shorter.
const LEVELS_MAX: usize = 300;

/// Refuses a directory that holds a pipe, socket or device, at any depth.
fn refuse_special(dir: BorrowedFd<'_>, path: &Path, level: usize) -> Result<(), Refusal> {
    let failed = |error| Refusal::io(path, "look through it")(error);
    for entry in Dir::read_from(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if matches!(name.as_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            kind => kind,
        };
        match kind {
            FileType::Directory if level < LEVELS_MAX => {
                match open_beneath(dir, name.as_bytes(), LISTED, Mode::empty(), Mounts::Entered) {
                    Ok(inner) => refuse_special(inner.as_fd(), &path.join(name), level + 1)?,
                    Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => {}
                    Err(error) => return Err(Refusal::io(&path.join(name), "open it")(error)),
                }
            }
            FileType::Fifo | FileType::Socket | FileType::BlockDevice | FileType::CharacterDevice => {
                let path = path.join(name);
                return match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => Err(wrong_kind(&path, &stat)),
                    Err(error) => Err(Refusal::io(&path, "look at it")(error)),
                };
            }
            _ => {}
        }
    }
    Ok(())
}

/// Time within which another host has created a file and marked it.
const MAKING_TIME: Duration = Duration::from_secs(1);

/// Returns `true` if the refused file may just have been created by another host and not marked yet.
fn may_be_new(refusal: &Refusal) -> bool {
    use super::NotBlank::{Changed, InUse};
    matches!(refusal, Refusal::Swapped { .. } | Refusal::ExistingFile { why: InUse { .. } | Changed, .. })
}

/// Maximum number of files that can be created at once under typed names.
const MAKING_MAX: usize = 64;

/// Prevents other workers of this process from creating the same file.
fn making(path: &Path) -> MutexGuard<'static, ()> {
    static MAKING: [Mutex<()>; MAKING_MAX] = [const { Mutex::new(()) }; MAKING_MAX];
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    MAKING[(hasher.finish() % MAKING_MAX as u64) as usize].lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether to create a missing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Create {
    /// Create it.
    IfMissing,
    /// Fail without creating it.
    Never,
}

impl FoundName {
    fn from_stat(stat: &Stat) -> FoundName {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => FoundName::File {
                length_bytes: u64::try_from(stat.st_size).unwrap_or(0),
                occupied_bytes: super::occupied_bytes(stat),
            },
            FileType::BlockDevice => FoundName::Device,
            FileType::CharacterDevice => FoundName::Character,
            FileType::Directory => FoundName::Directory,
            _ => FoundName::Other(kind_name(stat)),
        }
    }
}
