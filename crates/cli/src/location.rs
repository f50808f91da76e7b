//! Locations that `plumb try` and `plumb sweep` measure: a directory, a device, an existing file, or a simulated device.

use crate::exit::Stopped;
use crate::ranks;
use plumb_bench::place::capacity_bytes;
use plumb_bench::{Place, PlaceError};
use plumb_workload::{Bytes, Content, DeviceTarget, FileTarget, Prepare, Size, Target};
use std::ffi::OsStr;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

pub enum Location {
    Place(Place),
    /// A whole block device.
    Device(PathBuf),
    /// An existing file.
    File(PathBuf),
}

/// Parses a place. Without `--hosts`, it must exist on this host.
///
/// # Errors
/// The place is neither a directory here nor a simulated device.
pub fn place(typed: impl AsRef<OsStr>) -> Result<Place, PlaceError> {
    match ranks::led() {
        None => Place::parse(typed).map(Place::absolute),
        Some(_) => Place::elsewhere(typed),
    }
}

impl Location {
    /// Parses a location, which need not be UTF-8.
    pub fn parse(typed: impl AsRef<OsStr>) -> Result<Location, Stopped> {
        if ranks::led().is_some() {
            return Ok(Location::Place(place(typed)?));
        }
        let path = Path::new(typed.as_ref());
        if !typed.as_ref().as_encoded_bytes().starts_with(b"sim:")
            && let Ok(metadata) = std::fs::metadata(path)
        {
            let absolute =
                || std::path::absolute(path).map_err(|error| Stopped::io(format!("{}: {error}", path.display())));
            if metadata.file_type().is_block_device() {
                return Ok(Location::Device(absolute()?));
            }
            if metadata.is_file() {
                return Ok(Location::File(absolute()?));
            }
        }
        Ok(Location::Place(Place::parse(typed)?.absolute()))
    }

    /// Returns the directory for test data.
    pub fn base(&self) -> &Path {
        match self {
            Location::Place(place) => place.base(),
            Location::Device(_) | Location::File(_) => Path::new("/tmp"),
        }
    }

    /// Returns the device or file as a target with its size; `None` for a place with its own test data.
    pub fn target(&self, content: Content) -> Option<Target> {
        let mut target = match self {
            Location::Place(_) => return None,
            Location::Device(path) => {
                Target::Device(DeviceTarget { path: path.clone(), size: None, destroy_serial: None, content })
            }
            Location::File(path) => {
                Target::File(FileTarget { path: path.clone(), size: None, prepare: Prepare::Nothing, content })
            }
        };
        let there = capacity_bytes(&target).map(|bytes| Size::Bytes(Bytes(bytes)));
        match &mut target {
            Target::Device(device) => device.size = there,
            Target::File(file) => file.size = there,
            _ => {}
        }
        Some(target)
    }
}
