//! A database file, and the files that SQLite creates next to it.

use super::place::OF_NAME;
use super::place::{followed, parent};
use super::private::open_to_read;
use super::{OutputError, OutputFile, make_private};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Suffixes of SQLite's files next to a database. Source: <https://sqlite.org/tempfiles.html>.
pub const DATABASE_SIDE_FILES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Modes that result from SQLite's default, 0644, and a umask. A mode that lets a group write was chosen by the user.
const MODES_BY_UMASK: [Mode; 3] =
    [Mode::from_bits_retain(0o644), Mode::from_bits_retain(0o640), Mode::from_bits_retain(0o604)];

/// The path of a database with its directory resolved. The database and its side files are neither links nor devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    path: PathBuf,
}

impl Database {
    /// Resolves the directory of `path`. Refuses a link, or anything else but a regular file, as the database
    /// or one of its side files.
    ///
    /// # Errors
    /// [`OutputError`]; also if the directory does not exist.
    pub fn at(path: &Path) -> Result<Database, OutputError> {
        let output = OutputFile::made_up("--db", path);
        let name = path.file_name().ok_or(Errno::ISDIR).map_err(output.failed())?;
        let directory = parent(path).canonicalize().map_err(output.failed())?;
        let database = Database { path: directory.join(name) };
        database.check("")?;
        DATABASE_SIDE_FILES.iter().try_for_each(|suffix| database.check(suffix))?;
        Ok(database)
    }

    /// Resolves all links of a path that the user typed.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn followed(path: &Path) -> Result<PathBuf, OutputError> {
        match rustix::fs::lstat(path) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_symlink() => {
                followed(path).map_err(OutputFile::named("--db", path).failed())
            }
            _ => Ok(path.to_owned()),
        }
    }

    /// Returns the path, with its directory resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the file with mode 0600 if it is missing; otherwise calls [`Database::close_to_others`].
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn make(&self) -> Result<(), OutputError> {
        match OutputFile::made_up("--db", &self.path).private().create_new() {
            Ok(_) => Ok(()),
            Err(OutputError::Exists { .. }) => {
                self.close_to_others();
                self.check("")
            }
            Err(error) => Err(error),
        }
    }

    /// Removes the permissions that the umask left for others on the files of an earlier version. SQLite gives side
    /// files the mode of the database.
    pub(crate) fn close_to_others(&self) {
        for suffix in [""].iter().chain(&DATABASE_SIDE_FILES) {
            let Ok(file) = self.open(suffix) else { continue };
            let is_by_umask = rustix::fs::fstat(&file).is_ok_and(|stat| {
                let mode = Mode::from_raw_mode(stat.st_mode);
                FileType::from_raw_mode(stat.st_mode).is_file() && MODES_BY_UMASK.contains(&mode)
            });
            if is_by_umask {
                // Another user's file is left unchanged.
                let _ = make_private(&file);
            }
        }
    }

    /// Opens the database for reading its first page.
    ///
    /// # Errors
    /// The error of open(2), such as `ENOENT`.
    pub fn open_to_read(&self) -> std::io::Result<File> {
        self.open("")
    }

    fn open(&self, suffix: &str) -> std::io::Result<File> {
        open_to_read(&self.with(suffix), OFlags::NOFOLLOW)
    }

    fn with(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    }

    fn check(&self, suffix: &str) -> Result<(), OutputError> {
        let path = self.with(suffix);
        let output = OutputFile::made_up("--db", &path);
        match rustix::fs::statat(CWD, &path, OF_NAME) {
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(output.failed()(error)),
            Ok(stat) => {
                output.judge(&stat)?;
                match suffix {
                    "" => Ok(()),
                    _ => output.refuse_second_name(&stat),
                }
            }
        }
    }
}
