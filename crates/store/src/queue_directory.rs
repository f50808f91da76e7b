//! The directory in which runs wait for their database, and its files.

use crate::StoreError;
use plumb_guard::private_directory;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The name of a run's file ends so.
const EXTENSION: &str = "run";

/// Runs that are not in the database yet although it was opened.
#[derive(Debug)]
pub struct Waiting {
    /// Where they are.
    pub directory: PathBuf,
    /// Why the database did not take them.
    pub reason: StoreError,
}

/// What becomes of a file that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damaged {
    /// It gets another name, which the command tells its user.
    IsPutAside,
    /// It stays: the command tells nothing.
    Stays,
}

/// Makes the queue private; earlier versions created it by the umask.
pub(crate) fn close_queue(database: &Path) {
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

/// How many files of runs there are. Each short run asks, so that nothing is sorted for it.
pub(crate) fn count_in(directory: &Path) -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(directory)? {
        count += usize::from(is_of_run(Path::new(&entry?.file_name())));
    }
    Ok(count)
}

fn is_of_run(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == EXTENSION)
}

/// The files of runs, the oldest first: their names are UUIDv7.
pub(crate) fn files_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| is_of_run(path));
    paths.sort();
    Ok(paths)
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
