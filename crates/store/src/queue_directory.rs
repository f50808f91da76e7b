//! The directory of the queue and its files.

use crate::StoreError;
use plumb_guard::private_directory;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Extension of the file of a run.
const EXTENSION: &str = "run";

/// Runs that are not in the database although it was opened.
#[derive(Debug)]
pub struct Waiting {
    pub directory: PathBuf,
    /// Reason why the database did not import them.
    pub reason: StoreError,
}

/// Treatment of files that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DamagedFiles {
    /// The file is renamed, and the command reports it.
    SetAside,
    /// The file stays, and the command reports nothing.
    Keep,
}

/// Makes the queue private; earlier versions created it with the umask's permissions.
pub(crate) fn make_queue_private(database: &Path) {
    let directory = directory_of(database);
    if directory.exists() {
        // Ignore errors: the queue may belong to another user.
        let _ = is_plain_directory(&directory);
    }
}

/// Creates the private directory of a queue. Returns `false` if its path is a symbolic link, which is not followed.
pub(crate) fn is_plain_directory(directory: &Path) -> io::Result<bool> {
    if fs::symlink_metadata(directory).is_ok_and(|found| found.is_symlink()) {
        return Ok(false);
    }
    match private_directory(directory) {
        // If the path is a file, `begin_run` notices and stores the run in the database.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(true),
    }
}

pub(crate) fn directory_of(database: &Path) -> PathBuf {
    with_suffix(database, "-queue")
}

pub(crate) fn file_name(id: &str) -> String {
    format!("{id}.{EXTENSION}")
}

/// Returns the number of run files, without sorting, because each short run asks for it.
pub(crate) fn count_in(directory: &Path) -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(directory)? {
        count += usize::from(is_run_file(Path::new(&entry?.file_name())));
    }
    Ok(count)
}

fn is_run_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == EXTENSION)
}

/// Returns the files of runs, oldest first: their names are UUIDv7.
pub(crate) fn files_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| is_run_file(path));
    paths.sort();
    Ok(paths)
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
