//! The place where a side of a comparison or a named workload runs: a directory, or a simulated device.

use plumb_workload::{SimDevice, Target};
use plumb_workload_text::named;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// A directory; test data goes into a subdirectory of its own.
    Directory(PathBuf),
    Sim(SimDevice),
}

/// The reason why a place cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The text begins with `sim:` but names no simulated device.
    #[error(transparent)]
    Sim(#[from] plumb_workload::sim::SimError),
    #[error("`{path}` cannot be used: {reason}; name an existing directory, or a simulated device such as `sim:hdd`")]
    Directory { path: PathBuf, reason: String },
}

impl Place {
    /// Parses a place as typed: `sim:…`, or the path of a directory, which need not be UTF-8.
    pub fn parse(typed: impl AsRef<OsStr>) -> Result<Place, PlaceError> {
        let typed = typed.as_ref();
        if typed.as_encoded_bytes().starts_with(b"sim:") {
            return Ok(Place::Sim(typed.to_string_lossy().parse()?));
        }
        let path = PathBuf::from(typed);
        let error = |reason: String| PlaceError::Directory { path: path.clone(), reason };
        let metadata = std::fs::metadata(&path).map_err(|failure| error(why_not(&path, &failure)))?;
        if metadata.is_dir() {
            return Ok(Place::Directory(path));
        }
        Err(error("it is not a directory".to_owned()))
    }

    /// Parses a place on other hosts. They check whether its path exists.
    ///
    /// # Errors
    /// The text begins with `sim:` but names no simulated device.
    pub fn elsewhere(typed: impl AsRef<OsStr>) -> Result<Place, PlaceError> {
        match typed.as_ref().as_encoded_bytes().starts_with(b"sim:") {
            true => Place::parse(typed),
            false => Ok(Place::Directory(PathBuf::from(typed.as_ref()))),
        }
    }

    /// Makes the path absolute, for reports that are read elsewhere.
    pub fn absolute(self) -> Place {
        match self {
            Place::Directory(path) => Place::Directory(std::path::absolute(&path).unwrap_or(path)),
            Place::Sim(device) => Place::Sim(device),
        }
    }

    /// Returns the directory for test data; `/tmp` for a simulated device, which writes none.
    pub fn base(&self) -> &Path {
        match self {
            Place::Directory(path) => path,
            Place::Sim(_) => Path::new("/tmp"),
        }
    }

    /// Returns the kind of place for the table of named workloads.
    pub fn for_named(&self) -> named::RunPlace {
        match self {
            Place::Directory(_) => named::RunPlace::Directory,
            Place::Sim(device) => named::RunPlace::Sim(device.clone()),
        }
    }
}

/// Explains why a path cannot be resolved, broken symbolic links included.
pub fn why_not(path: &Path, error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match (std::fs::read_link(path), error.kind()) {
        (Ok(to), ErrorKind::NotFound) => {
            format!("it is a symbolic link to `{}`, which does not exist", to.display())
        }
        (Ok(_), _) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            "its symbolic links form a loop".to_owned()
        }
        (Err(_), ErrorKind::NotFound) => "it does not exist".to_owned(),
        _ => error.to_string(),
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Directory(path) => plumb_result::path_text(path).fmt(f),
            Place::Sim(device) => device.fmt(f),
        }
    }
}

/// The free space of a path could not be read. The message omits the path, which the caller knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct FreeSpaceError {
    pub reason: String,
}

/// Returns the bytes that this user may still write to the file system under a path.
pub fn free_bytes(path: &Path) -> Result<u64, FreeSpaceError> {
    plumb_probe::stack::free_bytes(path).map_err(|error| FreeSpaceError { reason: error.to_string() })
}

/// Returns the configured size of a target, or else the size of its existing file or device. `None` if the size is not
/// fixed, or if the kind of target has none.
pub fn capacity_bytes(target: &Target) -> Option<u64> {
    let there = |path: &Path| {
        let length = std::fs::metadata(path).ok()?.len();
        let device = || plumb_probe::stack::of_path(path).stack.first().map(|layer| layer.size_bytes);
        if length > 0 { Some(length) } else { device().filter(|bytes| *bytes > 0) }
    };
    match target {
        Target::File(file) => match file.size {
            Some(size) => size.fixed().map(|bytes| bytes.0),
            None => there(&file.path),
        },
        Target::Files(files) => files.size.fixed().map(|size| size.0.saturating_mul(u64::from(files.count))),
        Target::Device(device) => match device.size {
            Some(size) => size.fixed().map(|bytes| bytes.0),
            None => there(&device.path),
        },
        Target::Sim(sim) => Some(sim.size.0),
        Target::Null(null) => Some(null.size.0),
        Target::Tree(_)
        | Target::JobFiles(_)
        | Target::Scratch(_)
        | Target::SharedTree(_)
        | Target::Recorded(_)
        | Target::Host(_) => None,
    }
}
