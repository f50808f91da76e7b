//! Decisions about what passes the guard, and opening of what does.

use super::blank::Patience;
use super::device::{DeviceNumber, SystemDevices};
use super::made::MadeFiles;
use super::mark::{FileOwner, RunName};
use super::not_blank::NotBlank;
use super::opened::DirectoryEntry;
use super::opened::{GuardedDir, GuardedFile, IoMode, PassReason};
use super::path_resolution;
use super::path_resolution::{Identity, open_entry};
use super::permissions::Permissions;
use super::provenance::Provenance;
use super::refusal::{NotBelow, Refusal};
use super::same::CopySource;
use super::signature;
use super::taken::{KnownFile, TakenFiles, WrittenContent};
use super::test_data::Recognise;
use crate::testdir::TestDir;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, StatVfsMountFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::AtomicI32;

/// Treatment of a file's existing content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// Keep it, and overwrite it in place. A missing file is created.
    Overwrite,
    /// Discard it. A missing file is created.
    Truncate,
}

/// Options for opening a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileOpening {
    pub intent: Intent,
    /// Use of the page cache.
    pub mode: IoMode,
    /// Maximum number of bytes that will be written, for the check of free space. Space that an overwritten file
    /// already occupies is not counted again.
    pub needed_bytes: u64,
}

/// Treatment of a mounted device that the user named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountedDevice {
    /// Refuse it.
    Refused,
    /// Allow writing, because the job requests it too.
    Allowed,
}

/// Ways in which a device may be named.
#[derive(Debug, Clone, Copy)]
pub(super) enum DeviceNaming<'a> {
    /// By one of its serials, which the workload may name too.
    Serial(Option<&'a str>),
    /// By a serial or its path, because other tools' languages have no serials.
    SerialOrPath(MountedDevice),
}

/// Right to write to a device.
pub(super) enum DeviceRight {
    Named,
    /// The device must be provably blank; otherwise this refusal is returned.
    IfBlank(Refusal),
}

/// The guard of a run, with the user's permissions and the files that the run created and took.
#[derive(Debug, Clone)]
pub struct Guard {
    pub(super) permissions: Permissions,
    pub(super) patience: Patience,
    pub(super) taken: TakenFiles,
    /// Recognises blocks of test data.
    pub(super) recognise: Recognise,
    /// The guarded run. Clones of the guard and forked workers share it.
    pub(super) run: RunName,
    /// Register of the files that earlier runs left.
    pub(super) made: Option<MadeFiles>,
    pub(super) content: WrittenContent,
}

impl Guard {
    /// Returns a guard that lets pass what the user has named, test data, and blank files.
    pub fn new(permissions: Permissions, recognise: Recognise) -> Guard {
        Guard {
            permissions,
            patience: Patience::default(),
            taken: TakenFiles::default(),
            recognise,
            run: RunName(RandomState::new().hash_one(std::process::id())),
            made: None,
            content: WrittenContent::TestData,
        }
    }

    /// Recognises the files of earlier runs by this register, and adds those of this run in [`Guard::give_back`].
    pub fn with_register(self, made: MadeFiles) -> Guard {
        Guard { made: Some(made), ..self }
    }

    /// Reports slow checks through `say`, and gives up once `stop` is not 0.
    pub fn patient(self, say: fn(&str), stop: &'static AtomicI32) -> Guard {
        Guard { patience: Patience { say, stop: Some(stop), ..self.patience }, ..self }
    }

    /// Opens a file anywhere. Symbolic links to its directory belong to the user and are followed, but the file
    /// itself must not be a link.
    ///
    /// # Errors
    /// A [`Refusal`] that names what was found and how to proceed.
    pub fn open_file(&self, path: &Path, opening: FileOpening) -> Result<GuardedFile, Refusal> {
        self.open_file_while(path, opening, || {})
    }

    /// Runs `interfere` between checking and opening, where another program could interfere.
    pub(super) fn open_file_while(
        &self,
        path: &Path,
        opening: FileOpening,
        interfere: impl FnOnce(),
    ) -> Result<GuardedFile, Refusal> {
        let Some(name) = path.file_name() else {
            return Err(Refusal::WrongKind { path: path.to_owned(), found: "a directory", expected: "a file" });
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let dir = crate::raw_open::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(Refusal::io(path, "open its directory"))?;
        let place = FileLocation { dir, name, path, within: None, copy_of: None, mode: FILE_MODE };
        self.open_at(place, opening, interfere)
    }

    /// Opens a file inside a test directory. Missing directories along the path are created.
    ///
    /// # Errors
    /// [`Refusal::Outside`] for a path that leaves the directory; otherwise as [`Guard::open_file`].
    pub fn open_in(&self, dir: &TestDir, path: &Path, opening: FileOpening) -> Result<GuardedFile, Refusal> {
        self.open_in_while(dir, path, opening, || {})
    }

    pub(super) fn open_in_while(
        &self,
        dir: &TestDir,
        path: &Path,
        opening: FileOpening,
        interfere: impl FnOnce(),
    ) -> Result<GuardedFile, Refusal> {
        let outside = |found| Refusal::Outside { path: path.to_owned(), dir: dir.path().to_owned(), found };
        dir.verify().map_err(Refusal::io(dir.path(), "find Plumb's marker in the test directory"))?;
        let mut names = path_resolution::steps(path).map_err(outside)?;
        let Some(name) = names.pop() else { return Err(outside(NotBelow::Nothing)) };
        if names.is_empty() && name == crate::testdir::MARKER {
            return Err(outside(NotBelow::Mark));
        }
        let parent = path_resolution::make_dirs(dir.as_fd(), &names).map_err(|error| below(dir, path, error))?;
        let path = dir.path().join(path);
        let mode = Mode::RUSR | Mode::WUSR;
        let place = FileLocation { dir: parent, name, path: &path, within: Some(dir), copy_of: None, mode };
        self.open_at(place, opening, interfere)
    }

    /// Opens a directory for a tree of files inside a test directory, and creates it if missing.
    ///
    /// # Errors
    /// As [`Guard::open_in`]. `needed_bytes` is the size of all files in it.
    pub fn open_dir_in(&self, dir: &TestDir, path: &Path, needed_bytes: u64) -> Result<GuardedDir, Refusal> {
        dir.verify().map_err(Refusal::io(dir.path(), "find Plumb's marker in the test directory"))?;
        let names = path_resolution::steps(path).map_err(|found| Refusal::Outside {
            path: path.to_owned(),
            dir: dir.path().to_owned(),
            found,
        })?;
        let path = dir.path().join(path);
        self.admit(dir.as_fd(), &path, needed_bytes)?;
        let fd = path_resolution::make_dirs(dir.as_fd(), &names).map_err(|error| below(dir, &path, error))?;
        Ok(GuardedDir { fd, path })
    }

    /// Opens a block device exclusively if it is neither mounted nor held and the user named its serial. The user can
    /// type the serial, with `--destroy` or `PLUMB_ALLOW`, or put it into the workload (`destroy_serial`). The latter
    /// suffices only for a device without a known signature, because the workload may be older than the content.
    ///
    /// Links such as `/dev/disk/by-id/…` are followed. The refusal prints the text that names the device.
    ///
    /// # Errors
    /// A [`Refusal`] that names what was found and how to proceed.
    pub fn open_device(&self, path: &Path, destroy_serial: Option<&str>, mode: IoMode) -> Result<GuardedFile, Refusal> {
        self.open_device_of(&SystemDevices::this(), path, DeviceNaming::Serial(destroy_serial), mode)
    }

    /// Works as [`Guard::open_device`], for other tools' languages: the user may also name the device by its path. A
    /// mounted device passes if the user named it and `mounted` allows it.
    ///
    /// # Errors
    /// A [`Refusal`] that names what was found and how to proceed.
    pub fn open_typed_device(&self, path: &Path, mounted: MountedDevice) -> Result<GuardedFile, Refusal> {
        self.open_device_of(&SystemDevices::this(), path, DeviceNaming::SerialOrPath(mounted), IoMode::Buffered)
    }

    fn open_device_of(
        &self,
        machine: &SystemDevices,
        path: &Path,
        naming: DeviceNaming<'_>,
        mode: IoMode,
    ) -> Result<GuardedFile, Refusal> {
        let stat = rustix::fs::stat(path).map_err(Refusal::io(path, "find it"))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::BlockDevice {
            return Err(Refusal::WrongKind {
                path: path.to_owned(),
                found: kind_name(&stat),
                expected: "a block device; name it as a file target",
            });
        }
        let number = DeviceNumber::from_rdev(stat.st_rdev);
        let is_mounted = match (machine.refuse_if_used(path, number), naming) {
            (Err(Refusal::Mounted { .. }), DeviceNaming::SerialOrPath(MountedDevice::Allowed)) => true,
            (outcome, _) => {
                outcome?;
                false
            }
        };
        if machine.is_read_only(number) {
            return Err(read_only_device(path));
        }
        let attachment = machine.attachment(number);
        let right = self.device_right(machine, path, number, naming)?;
        let right = match right {
            DeviceRight::IfBlank(refusal) if machine.image_of(number).is_none() => return Err(refusal),
            right => right,
        };

        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let flags = if is_mounted { flags } else { flags | OFlags::EXCL };
        let fd = crate::raw_open::open(path, flags, Mode::empty()).map_err(|error| match error {
            Errno::BUSY => Refusal::Held {
                path: path.to_owned(),
                holder: "the kernel reports it as in use".to_owned(),
                way_out: "unmount or release it first, in other containers too".to_owned(),
            },
            Errno::ROFS | Errno::ACCESS if machine.is_read_only(number) => read_only_device(path),
            error => Refusal::io(path, "open it for writing")(error),
        })?;
        // O_EXCL prevents mounting from here on. The checked device must be the one that is held.
        let opened = rustix::fs::fstat(&fd).map_err(Refusal::io(path, "check the opened file"))?;
        let is_same = FileType::from_raw_mode(opened.st_mode) == FileType::BlockDevice
            && opened.st_rdev == stat.st_rdev
            && machine.attachment(number) == attachment;
        if !is_same {
            return Err(Refusal::Swapped { path: path.to_owned(), found: "another device is there now".to_owned() });
        }
        if let DeviceRight::IfBlank(refusal) = right {
            match self.prove_blank_device(machine, fd.as_fd(), number) {
                Ok(image) => self.lend_image(&image),
                Err(NotBlank::Stopped) => return Err(Refusal::Stopped { path: path.to_owned() }),
                Err(_) => return Err(refusal),
            }
        }
        let file = GuardedFile {
            file: File::from(fd),
            path: path.to_owned(),
            origin: PassReason::Device,
            identity: Identity::from_stat(&opened),
            entry: None,
        };
        file.set_mode(mode)?;
        Ok(file)
    }

    pub(super) fn device_right(
        &self,
        machine: &SystemDevices,
        path: &Path,
        number: DeviceNumber,
        naming: DeviceNaming<'_>,
    ) -> Result<DeviceRight, Refusal> {
        let serials = machine.serials(number).map_err(Refusal::io(path, "read its serial"))?;
        let by_path = matches!(naming, DeviceNaming::SerialOrPath(_)) && self.permissions.names_device_node(number);
        if self.permissions.names_device(&serials) || by_path {
            return Ok(DeviceRight::Named);
        }
        let serial = serials.first().cloned().unwrap_or_default();
        let setting = self.permissions.setting_with(&serial);
        let named_in_file = match naming {
            DeviceNaming::Serial(serial) => serial.map(str::trim),
            DeviceNaming::SerialOrPath(_) => None,
        };
        if let Some(named) = named_in_file.filter(|named| !serials.iter().any(|serial| serial == named)) {
            return Err(Refusal::WrongSerial { path: path.to_owned(), serial, named: named.to_owned(), setting });
        }
        if let Some(signature) = signature_of(path).map_err(Refusal::io(path, "read its signatures"))? {
            return Err(Refusal::Signed { path: path.to_owned(), signature, serial, setting });
        }
        Ok(match named_in_file {
            Some(_) => DeviceRight::Named,
            None => DeviceRight::IfBlank(Refusal::Unnamed { path: path.to_owned(), serial, setting }),
        })
    }

    pub(super) fn open_at(
        &self,
        place: FileLocation<'_>,
        opening: FileOpening,
        interfere: impl FnOnce(),
    ) -> Result<GuardedFile, Refusal> {
        let path = place.path;
        let found = place.stat()?;
        if let Some(stat) = &found {
            refuse_wrong_kind(path, stat)?;
        }
        let is_sink =
            found.as_ref().is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice);
        if !is_sink {
            place.refuse_read_only()?;
            let occupied_bytes = found.as_ref().map_or(0, occupied_bytes);
            self.admit(place.dir.as_fd(), path, opening.needed_bytes.saturating_sub(occupied_bytes))?;
        }
        interfere();
        let (fd, origin) = match &found {
            None => (place.make()?, PassReason::Made),
            Some(checked) => {
                // Judged by a descriptor for reading, because other programs notice an open for writing. While it is
                // open, no other file can get the same inode number.
                let judged = place.open(checked, OFlags::RDONLY)?;
                let claim = if is_sink { Some(Claim::SINK) } else { self.claim(&place, judged.as_fd(), checked) };
                match claim {
                    Some(Claim { reason, is_taken }) => {
                        let fd = place.open(checked, OFlags::RDWR)?;
                        if !is_taken {
                            self.take(fd.as_fd(), Identity::from_stat(checked), path, FileOwner::Plumb);
                        }
                        (fd, reason)
                    }
                    None => self.take_blank(&place, checked, judged, opening.intent)?,
                }
            }
        };
        let stat = rustix::fs::fstat(&fd).map_err(Refusal::io(path, "check the opened file"))?;
        let identity = Identity::from_stat(&stat);
        let entry = DirectoryEntry { dir: place.dir, name: place.name.to_owned() };
        let file = GuardedFile { file: File::from(fd), path: path.to_owned(), origin, identity, entry: Some(entry) };
        if matches!(origin, PassReason::TestData | PassReason::Blank | PassReason::Allowed) {
            SystemDevices::this().refuse_if_image(path, identity)?;
            if opening.intent == Intent::Truncate {
                rustix::fs::ftruncate(&file.file, 0).map_err(Refusal::io(path, "truncate it"))?;
            }
        }
        if origin == PassReason::Made && place.within.is_none() {
            self.take(file.file.as_fd(), identity, path, FileOwner::Plumb);
        }
        if let Err(refusal) = file.set_mode(opening.mode) {
            if origin == PassReason::Made {
                let _ = file.remove();
            }
            return Err(refusal);
        }
        Ok(file)
    }

    /// Returns the reason why an existing file may be written to without reading its content; `None` if there is none.
    fn claim(&self, place: &FileLocation<'_>, fd: BorrowedFd<'_>, stat: &Stat) -> Option<Claim> {
        let identity = Identity::from_stat(stat);
        if place.within.is_some() {
            return Some(Claim { reason: PassReason::TestData, is_taken: true });
        }
        // A user may have added a second name to keep the content.
        let known = if has_one_name(stat) { self.known_as(fd, stat) } else { None };
        match known {
            Some(KnownFile { owner: FileOwner::Plumb, is_of_this_run }) => {
                Some(Claim { reason: PassReason::TestData, is_taken: is_of_this_run })
            }
            Some(KnownFile { owner: FileOwner::User, is_of_this_run: true }) => {
                Some(Claim { reason: PassReason::Blank, is_taken: true })
            }
            _ if self.permissions.names_file(identity) || self.permissions.cover(place.dir.as_fd(), fd) => {
                Some(Claim { reason: PassReason::Allowed, is_taken: true })
            }
            _ => None,
        }
    }

    pub(super) fn existing(&self, path: &Path, provenance: Provenance, why: NotBlank) -> Refusal {
        if matches!(why, NotBlank::Stopped) {
            return Refusal::Stopped { path: path.to_owned() };
        }
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let setting = self.permissions.setting_with(&path.to_string_lossy());
        Refusal::ExistingFile { path, provenance, why, setting }
    }
}

/// The reason why an existing file may be written to, and whether this run has already taken it.
struct Claim {
    reason: PassReason,
    is_taken: bool,
}

impl Claim {
    const SINK: Claim = Claim { reason: PassReason::Sink, is_taken: true };
}

// The type of the field differs between architectures.
#[allow(clippy::unnecessary_cast)]
pub(super) fn has_one_name(stat: &Stat) -> bool {
    stat.st_nlink as u64 == 1
}

/// Location of a file that may not exist yet: an open directory and a name in it.
pub(super) struct FileLocation<'a> {
    pub(super) dir: OwnedFd,
    pub(super) name: &'a OsStr,
    /// Path for messages.
    pub(super) path: &'a Path,
    /// The test directory, if it is inside one.
    pub(super) within: Option<&'a TestDir>,
    /// Source of the copy that is about to be written there.
    pub(super) copy_of: Option<&'a CopySource<'a>>,
    /// Mode of a new file, before the umask is applied.
    pub(super) mode: Mode,
}

/// Mode of a new file, as for any program.
pub(super) const FILE_MODE: Mode = Mode::from_raw_mode(0o666);

impl FileLocation<'_> {
    pub(super) fn stat(&self) -> Result<Option<Stat>, Refusal> {
        match rustix::fs::statat(&self.dir, self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(Refusal::io(self.path, "look at it")(error)),
        }
    }

    fn refuse_read_only(&self) -> Result<(), Refusal> {
        let stat = rustix::fs::fstatvfs(&self.dir).map_err(Refusal::io(self.path, "check its file system"))?;
        if stat.f_flag.contains(StatVfsMountFlags::RDONLY) { Err(read_only_file_system(self.path)) } else { Ok(()) }
    }

    fn openat(&self, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
        match self.within {
            Some(_) => open_entry(self.dir.as_fd(), self.name, flags, mode),
            None => crate::raw_open::openat(&self.dir, self.name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode),
        }
    }

    /// Creates the file, which did not exist a moment ago.
    fn make(&self) -> Result<OwnedFd, Refusal> {
        self.openat(OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, self.mode).map_err(|error| match error {
            Errno::EXIST | Errno::LOOP => {
                Refusal::Swapped { path: self.path.to_owned(), found: "something appeared there".to_owned() }
            }
            error => self.refusal(error),
        })
    }

    /// Opens the file that was checked, without changing it.
    pub(super) fn open(&self, checked: &Stat, access: OFlags) -> Result<OwnedFd, Refusal> {
        // O_NONBLOCK: a pipe in its place must not block the guard.
        let fd =
            self.openat(access | OFlags::NONBLOCK | OFlags::NOCTTY, Mode::empty()).map_err(|error| match error {
                Errno::LOOP => {
                    Refusal::Swapped { path: self.path.to_owned(), found: "a symbolic link is there now".to_owned() }
                }
                Errno::NOENT | Errno::NXIO => {
                    Refusal::Swapped { path: self.path.to_owned(), found: "it no longer exists".to_owned() }
                }
                error => self.refusal(error),
            })?;
        let opened = rustix::fs::fstat(&fd).map_err(Refusal::io(self.path, "check the opened file"))?;
        // A new file may have reused the inode number of a removed one. It is judged as opened, but
        // must have the same kind.
        let kind = |stat: &Stat| FileType::from_raw_mode(stat.st_mode);
        if Identity::from_stat(&opened) != Identity::from_stat(checked) || kind(&opened) != kind(checked) {
            return Err(Refusal::Swapped { path: self.path.to_owned(), found: "another file is there now".to_owned() });
        }
        // io_uring would interpret O_NONBLOCK as never wait.
        rustix::fs::fcntl_getfl(&fd)
            .and_then(|flags| rustix::fs::fcntl_setfl(&fd, flags - OFlags::NONBLOCK))
            .map_err(Refusal::io(self.path, "set its flags"))?;
        Ok(fd)
    }

    fn refusal(&self, error: Errno) -> Refusal {
        match (error, self.within) {
            (Errno::ROFS, _) => read_only_file_system(self.path),
            (error, Some(dir)) => below(dir, self.path, error),
            (error, None) => Refusal::io(self.path, "open it for reading and writing")(error),
        }
    }
}

pub(super) fn signature_of(path: &Path) -> io::Result<Option<signature::Signature>> {
    let device = File::open(path)?;
    let size_bytes = rustix::fs::seek(&device, rustix::fs::SeekFrom::End(0))?;
    signature::find(&device, size_bytes)
}

// The type of the field differs between architectures.
#[allow(clippy::unnecessary_cast)]
pub(super) fn occupied_bytes(stat: &Stat) -> u64 {
    (stat.st_blocks as u64).saturating_mul(512)
}

pub(super) fn kind_name(stat: &Stat) -> &'static str {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => "a file",
        FileType::Directory => "a directory",
        FileType::BlockDevice => "a block device",
        FileType::CharacterDevice => "a character device",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::Symlink => "a symbolic link",
        FileType::Unknown => "of a kind that Plumb does not know",
    }
}

/// Returns the refusal for anything that is not a regular file.
pub(super) fn wrong_kind(path: &Path, stat: &Stat) -> Refusal {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => Refusal::Symlink { path: path.to_owned() },
        _ => Refusal::WrongKind { path: path.to_owned(), found: kind_name(stat), expected: "a file" },
    }
}

pub(super) fn refuse_wrong_kind(path: &Path, stat: &Stat) -> Result<(), Refusal> {
    let expected = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::CharacterDevice if is_sink(stat) => return Ok(()),
        FileType::Symlink => return Err(Refusal::Symlink { path: path.to_owned() }),
        FileType::BlockDevice => "a file; make it a device target, and name its serial",
        _ => "a file",
    };
    Err(Refusal::WrongKind { path: path.to_owned(), found: kind_name(stat), expected })
}

/// Returns `true` for `/dev/null`, `/dev/zero` and `/dev/full`. Source: Documentation/admin-guide/devices.txt.
pub(super) fn is_sink(stat: &Stat) -> bool {
    rustix::fs::major(stat.st_rdev) == 1 && matches!(rustix::fs::minor(stat.st_rdev), 3 | 5 | 7)
}

pub(super) fn read_only_file_system(path: &Path) -> Refusal {
    Refusal::ReadOnly {
        path: path.to_owned(),
        found: "its file system is mounted read-only".to_owned(),
        way_out: "mount it read-write (`mount -o remount,rw`), or use another path".to_owned(),
    }
}

pub(super) fn read_only_device(path: &Path) -> Refusal {
    Refusal::ReadOnly {
        path: path.to_owned(),
        found: "the device is read-only".to_owned(),
        way_out: format!("`blockdev --setrw {}` to make it writable, or only read from it", path.display()),
    }
}

/// Converts an error from resolving a path below a test directory.
pub(super) fn below(dir: &TestDir, path: &Path, error: Errno) -> Refusal {
    let outside = |found| Refusal::Outside { path: path.to_owned(), dir: dir.path().to_owned(), found };
    match error {
        Errno::LOOP => outside(NotBelow::Symlink),
        Errno::XDEV => outside(NotBelow::Mount),
        Errno::ROFS => read_only_file_system(path),
        error => Refusal::io(path, "open it for writing")(error),
    }
}
