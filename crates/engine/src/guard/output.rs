//! The door for the output of a copy: a file, a device, or something that keeps nothing, under the name that the user said.

use super::made::MadeFiles;
use super::{FileLocation, FileOpening, Guard, Intent, IoMode, MountedDevice, Refusal, is_sink, kind_name};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// How the output of a copy is opened.
#[derive(Debug, Clone, Copy)]
pub struct OutputOpening<'a> {
    /// Make it where it is missing.
    pub creates: bool,
    /// It must be missing.
    pub is_new: bool,
    /// What happens with what it holds.
    pub intent: Intent,
    /// The input holds nothing, and bears this name: what the output holds would be lost for nothing.
    pub empty_input: Option<&'a Path>,
    /// Flags of open(2) for what is neither file nor block device.
    pub stream_flags: OFlags,
}

/// Majors of terminals. Source: Documentation/admin-guide/devices.txt, 4, 5 and 136 to 143.
const TERMINALS: &[u32] = &[4, 5, 136, 137, 138, 139, 140, 141, 142, 143];

/// `/dev/random` and `/dev/urandom`, which take what is written as a gift. Source: random(4).
const RANDOM_MINORS: [u32; 2] = [8, 9];

impl Guard {
    /// Opens the output of a copy. Symbolic links are followed: the user said the name. A file that holds nothing, and one
    /// that Plumb made, may be written to; any other one, and a device, only where it was named.
    ///
    /// # Errors
    /// A [`Refusal`] that names what was found and the way out; [`Refusal::Io`] with the system's error.
    pub fn open_output(&self, path: &Path, made: &MadeFiles, opening: OutputOpening<'_>) -> Result<File, Refusal> {
        let stat = match rustix::fs::stat(path) {
            Ok(_) if opening.is_new => return Err(Refusal::io(path, "make it")(Errno::EXIST)),
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) if opening.creates => None,
            Err(error) => return Err(Refusal::io(path, "open it for writing")(error)),
        };
        let kind = stat.as_ref().map(|stat| FileType::from_raw_mode(stat.st_mode));
        match (kind, stat) {
            (None | Some(FileType::RegularFile), stat) => self.open_output_file(path, made, opening, stat.as_ref()),
            (Some(FileType::BlockDevice), _) => {
                self.open_said_device(path, MountedDevice::Refused).map(|device| device.file)
            }
            (Some(FileType::Directory), _) => Err(Refusal::io(path, "open it for writing")(Errno::ISDIR)),
            (Some(kind), Some(stat)) if keeps_nothing(kind, &stat) || self.names(&stat) => {
                let flags = opening.stream_flags | OFlags::WRONLY | OFlags::CLOEXEC;
                let fd: OwnedFd =
                    rustix::fs::open(path, flags, Mode::empty()).map_err(Refusal::io(path, "open it for writing"))?;
                Ok(File::from(fd))
            }
            (Some(_), Some(stat)) => Err(Refusal::WrongKind {
                path: path.to_owned(),
                found: kind_name(&stat),
                expected: "a file, a block device, a pipe or a terminal; PLUMB_ALLOW may name it",
            }),
            (Some(_), None) => Err(Refusal::io(path, "look at it")(Errno::NOENT)),
        }
    }

    fn names(&self, stat: &Stat) -> bool {
        self.permissions.names_file(stat.st_dev, stat.st_ino)
    }

    fn open_output_file(
        &self,
        path: &Path,
        made: &MadeFiles,
        opening: OutputOpening<'_>,
        stat: Option<&Stat>,
    ) -> Result<File, Refusal> {
        // Of a link, what it points to. What is missing is made where its name is.
        let real: PathBuf = match stat {
            Some(_) => path.canonicalize().map_err(Refusal::io(path, "follow it"))?,
            None => path.to_owned(),
        };
        let Some(name) = real.file_name() else {
            return Err(Refusal::io(path, "open it for writing")(Errno::ISDIR));
        };
        let parent = real.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let dir = rustix::fs::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(Refusal::io(path, "open its directory"))?;
        let place = FileLocation { dir, name, path: &real, within: None, made: Some(made) };
        let through = FileOpening { intent: opening.intent, mode: IoMode::Buffered, needed_bytes: 0 };
        // A file that holds nothing loses nothing (mktemp).
        if stat.is_some_and(|stat| stat.st_size == 0) {
            place.mark_empty()?;
        }
        match (self.open_at(place, through, || {}), stat, opening.empty_input) {
            (Err(Refusal::ExistingFile { path, setting }), Some(stat), Some(input)) => Err(Refusal::Exchanged {
                path,
                bytes: u64::try_from(stat.st_size).unwrap_or(0),
                input: input.to_owned(),
                setting,
            }),
            // The room that is left is not checked: how much a copy moves shows only while it runs.
            (passed, _, _) => passed.map(|passed| passed.file),
        }
    }
}

/// Terminals, pipes, sockets and devices that forget.
fn keeps_nothing(kind: FileType, stat: &Stat) -> bool {
    let major = rustix::fs::major(stat.st_rdev);
    match kind {
        FileType::Fifo | FileType::Socket => true,
        FileType::CharacterDevice => {
            let gives_randomness = major == 1 && RANDOM_MINORS.contains(&rustix::fs::minor(stat.st_rdev));
            is_sink(stat) || gives_randomness || TERMINALS.contains(&major)
        }
        _ => false,
    }
}

impl FileLocation<'_> {
    /// Marks a file that holds nothing as one that may be written to.
    fn mark_empty(&self) -> Result<(), Refusal> {
        let Some(looked_at) = self.look()? else { return Ok(()) };
        let fd = self.open(&looked_at, OFlags::RDWR)?;
        let stat = rustix::fs::fstat(&fd).map_err(Refusal::io(self.path, "check the opened file"))?;
        if stat.st_size == 0 {
            super::mark(&fd, super::Identity::of(&stat), self.path, self.made);
        }
        Ok(())
    }
}
