//! The guard's door for the output of a copy: a file, a device, or a stream that keeps nothing, under a typed name.

use super::{
    CopySource, FILE_MODE, FileLocation, FileOpening, Guard, Identity, Intent, IoMode, MountedDevice, Refusal,
    WrittenContent, blank, is_sink, kind_name,
};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Options for opening the output of a copy.
#[derive(Debug, Clone, Copy)]
pub struct OutputOpening<'a> {
    /// Create the file if it is missing.
    pub creates: bool,
    /// Fail if the file exists.
    pub is_new: bool,
    /// Length to truncate the file to before writing, bytes; no truncation when absent.
    pub cut_to_bytes: Option<u64>,
    /// Name of the input if it yields no data. Truncating the output would then lose data for nothing.
    pub empty_input: Option<&'a Path>,
    /// The kind of data that is written. User data makes the output the user's own file, even if Plumb created it.
    pub content: WrittenContent,
    /// The input, if it is a file that is copied unchanged. An output that already equals the copy loses nothing.
    pub copy_of: Option<CopySource<'a>>,
    /// Flags of open(2) for outputs other than files and block devices.
    pub stream_flags: OFlags,
}

/// Major numbers of terminals. Source: Documentation/admin-guide/devices.txt, 4, 5 and 136 to 143.
const TERMINALS: &[u32] = &[4, 5, 136, 137, 138, 139, 140, 141, 142, 143];

/// Minor numbers of `/dev/random` and `/dev/urandom`, which mix writes into their pool. Source: random(4).
const RANDOM_MINORS: [u32; 2] = [8, 9];

impl Guard {
    /// Opens the output of a copy. Symbolic links are followed, because the user typed the path.
    ///
    /// A file may be written to if it holds nothing, if Plumb made it and it is unchanged since, or if it already equals the
    /// copy. Any other file, and a device, must be named in the permissions. A file never loses its content to an empty input,
    /// unless the file itself was named.
    ///
    /// Truncates the output if it is to be empty; the caller sets any other length.
    ///
    /// # Errors
    /// A [`Refusal`] that names what was found and how to proceed; [`Refusal::Io`] with the system's error.
    pub fn open_output(&self, path: &Path, opening: OutputOpening<'_>) -> Result<File, Refusal> {
        let stat = match rustix::fs::stat(path) {
            Ok(_) if opening.is_new => return Err(Refusal::io(path, "make it")(Errno::EXIST)),
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) if opening.creates => None,
            Err(error) => return Err(Refusal::io(path, "open it for writing")(error)),
        };
        let kind = stat.as_ref().map(|stat| FileType::from_raw_mode(stat.st_mode));
        match (kind, stat) {
            (None | Some(FileType::RegularFile), stat) => self.open_output_file(path, opening, stat.as_ref()),
            (Some(FileType::BlockDevice), _) => {
                self.open_typed_device(path, MountedDevice::Refused).map(|device| device.file)
            }
            (Some(FileType::Directory), _) => Err(Refusal::io(path, "open it for writing")(Errno::ISDIR)),
            (Some(kind), Some(stat)) if keeps_nothing(kind, &stat) || self.names(&stat) => {
                let flags = opening.stream_flags | OFlags::WRONLY | OFlags::CLOEXEC;
                let fd: OwnedFd = crate::raw_open::open(path, flags, Mode::empty())
                    .map_err(Refusal::io(path, "open it for writing"))?;
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
        self.permissions.names_file(Identity::from_stat(stat))
    }

    fn open_output_file(&self, path: &Path, opening: OutputOpening<'_>, stat: Option<&Stat>) -> Result<File, Refusal> {
        // A link is resolved to its target. A missing file is created at its own path.
        let real: PathBuf = match stat {
            Some(_) => path.canonicalize().map_err(Refusal::io(path, "follow it"))?,
            None => path.to_owned(),
        };
        let Some(name) = real.file_name() else {
            return Err(Refusal::io(path, "open it for writing")(Errno::ISDIR));
        };
        let parent = real.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let dir = crate::raw_open::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(Refusal::io(path, "open its directory"))?;
        let copy_of = opening.copy_of.as_ref();
        let place = FileLocation { dir, name, path: &real, within: None, copy_of, mode: FILE_MODE };
        let through = FileOpening { intent: Intent::Overwrite, mode: IoMode::Buffered, needed_bytes: 0 };
        // The free space is not checked, because the size of a copy shows only while it runs.
        let guard = self.clone().writing(opening.content);
        let file = match (guard.open_at(place, through, || {}), stat, opening.empty_input) {
            (Err(Refusal::ExistingFile { path, setting, .. }), Some(stat), Some(input)) => {
                return Err(Refusal::Exchanged { path, bytes: length_of(stat), input: input.to_owned(), setting });
            }
            (passed, _, _) => passed?.file,
        };
        self.refuse_loss(&file, &real, opening)?;
        // An empty file needs no truncation, and the tool itself would not make that call.
        if opening.cut_to_bytes == Some(0) && length_of(&stat_of(&file, path)?) > 0 {
            file.set_len(0).map_err(Refusal::io(path, "truncate it"))?;
        }
        Ok(file)
    }

    /// Refuses if an open output would lose data to an input that yields nothing.
    fn refuse_loss(&self, file: &File, path: &Path, opening: OutputOpening<'_>) -> Result<(), Refusal> {
        let (Some(input), Some(left_bytes)) = (opening.empty_input, opening.cut_to_bytes) else { return Ok(()) };
        let stat = stat_of(file, path)?;
        let bytes = length_of(&stat);
        let loses = bytes > left_bytes && blank::has_written(file.as_fd()).unwrap_or(true);
        if !loses || self.permissions.names_file(Identity::from_stat(&stat)) {
            return Ok(());
        }
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let setting = self.permissions.setting_with(&path.to_string_lossy());
        Err(Refusal::Exchanged { path, bytes: bytes - left_bytes, input: input.to_owned(), setting })
    }
}

fn stat_of(file: &File, path: &Path) -> Result<Stat, Refusal> {
    rustix::fs::fstat(file).map_err(Refusal::io(path, "check the opened file"))
}

fn length_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Returns `true` for terminals, pipes, sockets and devices that discard writes.
pub(super) fn keeps_nothing(kind: FileType, stat: &Stat) -> bool {
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
