//! What each block device did between two looks.

use crate::protocol::{DeviceCounts, DeviceRecord};
use crate::step::MadeNames;
use crate::vm::ROOT_SERIAL;
use plumb_probe::ProbeError;
use plumb_probe::blocks::BlockWatch;
use plumb_result::blocks::{BlockExtent, BlockStat};
use plumb_result::short_list;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Bytes in a sector of the kernel's counters, whatever the device says.
const SECTOR_BYTES: u64 = 512;

/// Why devices could not be looked at.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookError {
    /// The directory of a run cannot be opened.
    #[error("{}: {source}", directory.display())]
    Open {
        /// The directory.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What was written cannot be written back.
    #[error("{}: writing back its file system: {source}", directory.display())]
    WriteBack {
        /// A directory on the file system.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The counters cannot be read.
    #[error(transparent)]
    Counters(#[from] ProbeError),
}

/// Counters of all whole devices at one moment.
pub(super) struct DeviceLook(BTreeMap<String, BlockStat>);

impl DeviceLook {
    /// Writes back what is dirty on the file system of a directory, then looks.
    ///
    /// # Errors
    /// What cannot be read or written back.
    pub(super) fn after_sync(directory: &Path) -> Result<DeviceLook, LookError> {
        let file = std::fs::File::open(directory)
            .map_err(|source| LookError::Open { directory: directory.to_owned(), source })?;
        plumb_engine::sync_file_system(file.as_fd())
            .map_err(|source| LookError::WriteBack { directory: directory.to_owned(), source: source.into() })?;
        let devices = BlockWatch::new().look()?.devices;
        let whole =
            devices.into_iter().filter(|device| matches!(device.extent, BlockExtent::Whole) && !is_root(&device.name));
        Ok(DeviceLook(short_list::keyed(whole.map(|device| (device.name, device.stat)))))
    }

    /// What was done since an earlier look, by devices that have ever done anything.
    pub(super) fn since(&self, before: &DeviceLook, roles: &DeviceRoles) -> BTreeMap<String, DeviceRecord> {
        let used = |stat: &BlockStat| stat.reads.ops + stat.writes.ops + stat.flushes.ops + stat.discards.ops > 0;
        short_list::keyed(self.0.iter().filter(|(_, stat)| used(stat)).map(|(name, stat)| {
            let done = stat.since(&before.0.get(name).copied().unwrap_or_default());
            (name.clone(), DeviceRecord { role: roles.0.get(name).cloned(), counts: counts(&done) })
        }))
    }
}

/// Whether a virtual machine's userland lies on it: from there come programs, and nothing that is measured.
fn is_root(name: &str) -> bool {
    std::fs::read_to_string(format!("/sys/block/{name}/serial")).is_ok_and(|serial| serial.trim() == ROOT_SERIAL)
}

/// What devices are called in the recipe, by the kernel's name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DeviceRoles(BTreeMap<String, String>);

impl DeviceRoles {
    /// Devices that steps made, and the disks that the steps were given. Links below `/dev` are followed.
    pub(super) fn new(made: &MadeNames, disks: &[PathBuf]) -> DeviceRoles {
        let disks = disks.iter().enumerate().map(|(index, path)| (path.clone(), format!("@disks.{}", index + 1)));
        let of_steps = made.iter().flat_map(|(name, paths)| {
            let role = move |index: usize| match paths.len() {
                1 => format!("@{name}"),
                _ => format!("@{name}.{}", index + 1),
            };
            paths.iter().enumerate().map(move |(index, path)| (PathBuf::from(path), role(index)))
        });
        let mut roles = BTreeMap::new();
        for (path, role) in of_steps.chain(disks) {
            // Mount points are made, too.
            let Ok(device) = path.canonicalize() else { continue };
            if let (true, Some(name)) = (device.starts_with("/dev"), device.file_name()) {
                roles.entry(name.to_string_lossy().into_owned()).or_insert(role);
            }
        }
        DeviceRoles(roles)
    }
}

fn counts(done: &BlockStat) -> DeviceCounts {
    DeviceCounts {
        reads: done.reads.ops,
        read_bytes: done.reads.sectors * SECTOR_BYTES,
        writes: done.writes.ops,
        written_bytes: done.writes.sectors * SECTOR_BYTES,
        flushes: done.flushes.ops,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a device is the same in every build, whatever the kernel calls it.
    #[test]
    fn roles_are_names_of_the_recipe() {
        let made = MadeNames::from([
            ("null".to_owned(), vec!["/dev/null".to_owned()]),
            ("pair".to_owned(), vec!["/dev/zero".to_owned(), "/dev/full".to_owned()]),
            ("place".to_owned(), vec!["/tmp".to_owned()]),
        ]);
        let disks = ["/dev/random", "/dev/zero", "/dev/not-there"].map(PathBuf::from);
        let roles = DeviceRoles::new(&made, &disks).0;
        let expected = [("full", "@pair.2"), ("null", "@null"), ("random", "@disks.1"), ("zero", "@pair.1")];
        assert_eq!(roles, expected.map(|(name, role)| (name.to_owned(), role.to_owned())).into());
    }
}
