//! Output files: reports, logs, recordings, databases and state. The program opens all its outputs here.
//!
//! An [`OutputFile`] is never a block device, or a character device that stores data. A name that the user typed may lead
//! through symbolic links, which are followed once. A name that Plumb or a tool made up may not, because other users can
//! predict it. In both cases the opened descriptor is checked before the file is truncated or written.

mod channel;
mod database;
mod error;
mod place;
mod private;
mod replace;
mod setting;

pub use channel::open_channel;
pub use database::{DATABASE_SIDE_FILES, Database};
pub use error::OutputError;
pub use private::{make_private, private_directory};
pub use setting::write_setting;

use super::device::SystemDevices;
use super::output::keeps_nothing;
use super::path_resolution::Identity;
use super::{kind_name, os};
use place::{Entry, NameOrigin, Place};
use rustix::fs::{FileType, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Attempts to open a name that other programs keep creating and removing.
const ATTEMPTS_MAX: u32 = 100;

/// Mode of a new file that others may read, subject to the umask.
const SHARED_MODE: Mode = Mode::from_bits_retain(0o666);

/// Mode of files that hold state or secrets, regardless of the umask.
const PRIVATE_MODE: Mode = Mode::from_bits_retain(0o600);

/// An output file that is not opened yet.
///
/// ```no_run
/// # use plumb_guard::OutputFile;
/// # use std::path::Path;
/// OutputFile::named("--html", Path::new("report.html")).replace(b"<html>")?;
/// # Ok::<(), plumb_guard::OutputError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct OutputFile<'a> {
    option: &'a str,
    path: &'a Path,
    origin: NameOrigin,
    mode: Mode,
}

/// An opened output and its metadata.
struct Opened {
    file: File,
    stat: Stat,
}

/// Handling of a file that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IfMissing {
    Make,
    Fail,
}

impl<'a> OutputFile<'a> {
    /// Describes an output under a name that the user typed. Errors name `option`, such as `--html`.
    ///
    /// Symbolic links are followed once. `/dev/stdout`, `/dev/fd/N`, terminals, pipes and `/dev/null` can be written.
    pub fn named(option: &'a str, path: &'a (impl AsRef<Path> + ?Sized)) -> OutputFile<'a> {
        OutputFile { option, path: path.as_ref(), origin: NameOrigin::Typed, mode: SHARED_MODE }
    }

    /// Describes an output under a name that Plumb or a tool made up. `option` identifies the output in errors.
    ///
    /// A symbolic link under this name is refused. So is a file with a second hard link, unless it is replaced.
    pub fn made_up(option: &'a str, path: &'a (impl AsRef<Path> + ?Sized)) -> OutputFile<'a> {
        OutputFile { option, path: path.as_ref(), origin: NameOrigin::MadeUp, mode: SHARED_MODE }
    }

    /// Sets the mode of a new file to 0600, regardless of the umask.
    pub fn private(self) -> OutputFile<'a> {
        OutputFile { mode: PRIVATE_MODE, ..self }
    }

    /// Sets the mode of a new file, subject to the umask.
    pub fn with_mode(self, mode: u32) -> OutputFile<'a> {
        OutputFile { mode: Mode::from_raw_mode(mode as RawMode), ..self }
    }

    /// Opens and truncates the file. An open descriptor such as `/dev/stdout` is written from its current offset.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn create(self) -> Result<File, OutputError> {
        let place = self.place()?;
        let is_named_file = matches!(place, Place::Entry(_));
        let opened = self.open(place, OFlags::empty(), IfMissing::Make)?;
        if is_named_file && opened.stat.st_size > 0 {
            opened.file.set_len(0).map_err(self.failed())?;
        }
        Ok(opened.file)
    }

    /// Creates the file, which must not exist yet.
    ///
    /// # Errors
    /// [`OutputError::Exists`] if anything has this name; otherwise as [`OutputFile::create`].
    pub fn create_new(self) -> Result<File, OutputError> {
        match self.place()? {
            Place::Entry(entry) => match self.make(&entry) {
                Err(Errno::EXIST) => Err(OutputError::Exists { option: self.option.into(), path: self.path.into() }),
                Err(error) => Err(self.failed()(error)),
                Ok(file) => Ok(file),
            },
            _ => Err(OutputError::Exists { option: self.option.into(), path: self.path.into() }),
        }
    }

    /// Opens the file for appending. A missing file is created.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn append(self) -> Result<File, OutputError> {
        self.open(self.place()?, OFlags::APPEND, IfMissing::Make).map(|opened| opened.file)
    }

    /// Appends text to the file. A missing file is created.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn append_all(self, text: &[u8]) -> Result<(), OutputError> {
        self.append()?.write_all(text).map_err(self.failed())
    }

    /// Truncates the file and writes `content` to it.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn write(self, content: &[u8]) -> Result<(), OutputError> {
        self.create()?.write_all(content).map_err(self.failed())
    }

    /// Checks that the output can be written, before anything is measured for it. Creates nothing.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn check(self) -> Result<(), OutputError> {
        match self.place()? {
            // Opening a pipe waits for its reader.
            Place::Stream(stat) => self.judge(&stat),
            Place::Entry(entry) if matches!(entry.stat(), Err(Errno::NOENT)) => {
                entry.can_be_made().map_err(self.failed())
            }
            place => self.open(place, OFlags::empty(), IfMissing::Fail).map(drop),
        }
    }

    /// Wraps a system error that occurred while the output was written.
    pub fn failed<E: Into<std::io::Error>>(self) -> impl FnOnce(E) -> OutputError {
        move |source| OutputError::Io { option: self.option.into(), path: self.path.into(), source: source.into() }
    }

    fn place(&self) -> Result<Place, OutputError> {
        Place::resolve(self.path, self.origin).map_err(self.failed())
    }

    fn open(&self, place: Place, flags: OFlags, missing: IfMissing) -> Result<Opened, OutputError> {
        match place {
            Place::Descriptor(number) => {
                let file = os::duplicate(number).map_err(|error| match error {
                    Errno::BADF => OutputError::NoDescriptor { option: self.option.into(), path: self.path.into() },
                    error => self.failed()(error),
                })?;
                self.judged(file)
            }
            Place::Stream(stat) => {
                // Opening a device can have side effects: a tape is rewound.
                self.judge(&stat)?;
                let flags = flags | OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
                let file = place::open_stream(self.path, flags).map_err(self.failed())?;
                self.judged(file)
            }
            Place::Entry(entry) => self.open_entry(&entry, flags, missing),
        }
    }

    fn open_entry(&self, entry: &Entry, flags: OFlags, missing: IfMissing) -> Result<Opened, OutputError> {
        for _ in 0..ATTEMPTS_MAX {
            let stat = match entry.stat() {
                Err(Errno::NOENT) if missing == IfMissing::Make => match self.make(entry) {
                    // Another program has just created it.
                    Err(Errno::EXIST) => continue,
                    made => return self.judged(made.map_err(self.failed())?),
                },
                found => found.map_err(self.failed())?,
            };
            self.judge(&stat)?;
            self.refuse_second_name(&stat)?;
            match entry.open(flags | OFlags::WRONLY) {
                // Another program has just removed or replaced it.
                Err(Errno::NOENT | Errno::LOOP) => continue,
                opened => {
                    let opened = self.judged(opened.map_err(self.failed())?)?;
                    self.refuse_second_name(&opened.stat)?;
                    return Ok(opened);
                }
            }
        }
        Err(self.failed()(Errno::AGAIN))
    }

    /// Creates a file that does not exist yet.
    fn make(&self, entry: &Entry) -> Result<File, Errno> {
        let file = entry.make(self.mode)?;
        if self.mode == PRIVATE_MODE {
            rustix::fs::fchmod(&file, PRIVATE_MODE)?;
        }
        Ok(file)
    }

    fn judged(&self, file: impl Into<OwnedFd>) -> Result<Opened, OutputError> {
        let file = File::from(file.into());
        let stat = rustix::fs::fstat(&file).map_err(self.failed())?;
        self.judge(&stat)?;
        Ok(Opened { file, stat })
    }

    /// Refuses files that no output may be written to.
    fn judge(&self, stat: &Stat) -> Result<(), OutputError> {
        let (option, path) = (self.option.to_owned(), self.path.to_owned());
        let kind = FileType::from_raw_mode(stat.st_mode);
        match kind {
            FileType::RegularFile if stat.st_size > 0 => SystemDevices::this()
                .refuse_if_image(self.path, Identity::from_stat(stat))
                .map_err(|source| OutputError::InUse { option, source: Box::new(source) }),
            FileType::RegularFile => Ok(()),
            FileType::Directory => Err(self.failed()(Errno::ISDIR)),
            FileType::Symlink => Err(OutputError::Link { option, path }),
            FileType::BlockDevice => Err(OutputError::Device { option, path }),
            kind if self.origin == NameOrigin::Typed && keeps_nothing(kind, stat) => Ok(()),
            _ => Err(OutputError::WrongKind { option, path, found: kind_name(stat) }),
        }
    }

    /// Refuses a file under a made-up name if it has a second hard link: it may be a user's data.
    fn refuse_second_name(&self, stat: &Stat) -> Result<(), OutputError> {
        let is_regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if self.origin == NameOrigin::MadeUp && is_regular && stat.st_nlink > 1 {
            return Err(OutputError::SecondName { option: self.option.into(), path: self.path.into() });
        }
        Ok(())
    }
}

/// Returns `true` if two results of stat(2) describe the same file.
fn is_same(one: &Stat, other: &Stat) -> bool {
    Identity::from_stat(one) == Identity::from_stat(other)
}

#[cfg(test)]
mod tests;
