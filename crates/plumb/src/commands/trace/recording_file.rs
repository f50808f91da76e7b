//! The file that `plumb trace record` writes.
//!
//! The file is linked into its directory once it is complete, so a kill leaves nothing. File systems without `O_TMPFILE`
//! (FUSE, NFS) get a named file at the start, which holds a valid recording without ops.

use plumb_engine::guard::OutputFile;
use plumb_trace::{Facts, Names, OwnWriter};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, ErrorKind, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Number of names to try if another process takes the name during the recording.
const OTHER_NAMES: u32 = 100;

/// A recording that is being written. Only its owner can read it, since it names files in private directories.
pub(super) struct RecordingFile {
    file: File,
    path: PathBuf,
    naming: Naming,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// Unnamed (`O_TMPFILE`) until the recording is complete.
    AtTheEnd,
    /// Named, and holding a recording without ops.
    Placeholder,
    /// Named, and holding part of the recording.
    Done,
}

impl RecordingFile {
    /// Opens a new file for the recording `path`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::AlreadyExists`] if the path exists, or an error if the directory is not writable.
    #[expect(clippy::disallowed_methods, reason = "creates an unnamed file, which replaces nothing")]
    pub(super) fn create(path: &Path, facts: &Facts) -> io::Result<RecordingFile> {
        if path.symlink_metadata().is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        match rustix::fs::open(parent, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => Ok(RecordingFile { file: file.into(), path: path.to_owned(), naming: Naming::AtTheEnd }),
            // On any error, try a named file: its error message is the useful one.
            Err(_) => RecordingFile::named(path, facts),
        }
    }

    /// Creates the file under its final name, for file systems without `O_TMPFILE`.
    fn named(path: &Path, facts: &Facts) -> io::Result<RecordingFile> {
        let file = new_file(path)?;
        let mut empty = Vec::new();
        OwnWriter::new(&mut empty, facts)?.finish(&Names::default(), &Facts::default())?;
        (&file).write_all(&empty)?;
        Ok(RecordingFile { file, path: path.to_owned(), naming: Naming::Placeholder })
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.naming == Naming::Placeholder {
            self.file.set_len(0)?;
            self.file.rewind()?;
            self.naming = Naming::Done;
        }
        self.file.write_all(bytes)
    }

    /// Links the complete recording to its name. Returns the path, with a numeric suffix if another file took the name
    /// in the meantime (`a.trace.1`).
    pub(super) fn finish(mut self) -> io::Result<PathBuf> {
        self.append(&[])?;
        if self.naming == Naming::Done {
            return Ok(self.path);
        }
        for number in 0..OTHER_NAMES {
            let mut path = self.path.clone().into_os_string();
            if number > 0 {
                path.push(format!(".{number}"));
            }
            let path = PathBuf::from(path);
            let linked = link(&self.file, &path);
            match linked {
                Ok(()) => return Ok(path),
                Err(Errno::EXIST) => {}
                // Linking fails without /proc, for example. Copy the content instead.
                Err(_) => match new_file(&path) {
                    Ok(mut named) => {
                        self.file.rewind()?;
                        io::copy(&mut self.file, &mut named)?;
                        return Ok(path);
                    }
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error),
                },
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Removes the file after a failed recording.
    pub(super) fn discard(self) {
        if self.naming != Naming::AtTheEnd {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn new_file(path: &Path) -> io::Result<File> {
    Ok(OutputFile::named("--output", path).private().create_new()?)
}

/// Links an unnamed file to a path that must not exist. Source: open(2), O_TMPFILE.
fn link(file: &File, path: &Path) -> rustix::io::Result<()> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_trace::iolog::Waits;

    fn read(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    /// Protects: the name does not exist until the recording is complete, and a file that takes the name meanwhile is kept.
    #[test]
    fn only_a_complete_recording_gets_the_name_and_replaces_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.trace");
        let mut recording = RecordingFile::create(&path, &Facts::default()).unwrap();
        if recording.naming != Naming::AtTheEnd {
            return plumb_cli::output::error_line!("SKIPPED: this file system has no `O_TMPFILE`");
        }
        recording.append(b"one ").unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        recording.append(b"two").unwrap();
        let other = recording.finish().unwrap();
        assert_eq!((other.clone(), read(&other)), (dir.path().join("a.trace.1"), "one two".to_owned()));
        assert!(!dir.path().join("elsewhere").exists());
        let error = RecordingFile::create(&path, &Facts::default()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    }

    /// Protects: without `O_TMPFILE`, a kill during the recording leaves a readable recording instead of an empty file.
    #[test]
    fn a_placeholder_is_a_recording_without_ops() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.trace");
        let mut recording = RecordingFile::named(&path, &Facts::default()).unwrap();
        assert_eq!(plumb_trace::open(&path, Waits::default()).unwrap().count(), 0);
        recording.append(b"all").unwrap();
        assert_eq!((recording.finish().unwrap(), read(&path)), (path.clone(), "all".to_owned()));
        std::fs::remove_file(&path).unwrap();
        RecordingFile::named(&path, &Facts::default()).unwrap().discard();
        assert!(!path.exists());
    }
}
