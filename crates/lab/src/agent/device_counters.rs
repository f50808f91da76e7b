//! Counters of block devices, and each device's work between two readings.

use crate::protocol::{DeviceCounts, DeviceRecord};
use crate::step::MadeNames;
use crate::vm::ROOT_SERIAL;
use plumb_engine::guard::OutputFile;
use plumb_probe::ProbeError;
use plumb_probe::blocks::BlockWatch;
use plumb_result::blocks::{BlockExtent, BlockStat};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Bytes in a sector of the kernel's counters, regardless of the device's own.
const SECTOR_BYTES: u64 = 512;

/// Error from reading device counters.
#[derive(Debug, thiserror::Error)]
pub enum CountersError {
    /// A run's directory cannot be opened.
    #[error("{}: {source}", directory.display())]
    Open { directory: PathBuf, source: io::Error },
    /// Dirty data cannot be written back.
    #[error("{}: writing back its file system: {source}", directory.display())]
    WriteBack {
        /// A directory on the file system to sync.
        directory: PathBuf,
        source: io::Error,
    },
    /// The counters cannot be read.
    #[error(transparent)]
    Counters(#[from] ProbeError),
}

/// Counters of all whole devices at one moment, counted since each device appeared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters(BTreeMap<String, DeviceCounts>);

impl DeviceCounters {
    /// Writes back dirty data on a directory's file system, then reads the counters.
    ///
    /// # Errors
    /// Returns an error if the data cannot be written back or the counters cannot be read.
    pub(crate) fn after_sync(directory: &Path) -> Result<DeviceCounters, CountersError> {
        let file = std::fs::File::open(directory)
            .map_err(|source| CountersError::Open { directory: directory.to_owned(), source })?;
        plumb_engine::sync_file_system(file.as_fd())
            .map_err(|source| CountersError::WriteBack { directory: directory.to_owned(), source: source.into() })?;
        // Counters come from Linux's /proc and /sys. Other systems get times, but no device counters.
        if cfg!(not(target_os = "linux")) {
            return Ok(DeviceCounters::default());
        }
        let devices = BlockWatch::new().read()?.devices;
        let whole =
            devices.into_iter().filter(|device| matches!(device.extent, BlockExtent::Whole) && !is_root(&device.name));
        Ok(DeviceCounters(BTreeMap::from_iter(whole.map(|device| (device.name, counts(&device.stat))))))
    }

    /// Returns each device's work since an earlier reading. Skips devices that never did any.
    pub(super) fn since(&self, before: &DeviceCounters, roles: &DeviceRoles) -> BTreeMap<String, DeviceRecord> {
        let used = |counts: &DeviceCounts| counts.reads + counts.writes + counts.flushes > 0;
        BTreeMap::from_iter(self.0.iter().filter(|(_, counts)| used(counts)).map(|(name, counts)| {
            let done = counts.since(&before.0.get(name).copied().unwrap_or_default());
            (name.clone(), DeviceRecord { role: roles.0.get(name).cloned(), counts: done })
        }))
    }
}

/// Variable that names a run's directory for [`DeviceReadings`].
pub(super) const LOOKS_VARIABLE: &str = "PLUMB_DEVICE_LOOKS";

/// Counter readings that a run takes itself, directly before and after its work. They exclude laying
/// out and removing its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceReadings(PathBuf);

impl DeviceReadings {
    /// Returns the readings to take if an agent asked this process for them.
    pub fn from_env() -> Option<DeviceReadings> {
        std::env::var_os(LOOKS_VARIABLE).filter(|dir| !dir.is_empty()).map(|dir| DeviceReadings(PathBuf::from(dir)))
    }

    pub(super) fn new(directory: &Path) -> DeviceReadings {
        DeviceReadings(directory.to_owned())
    }

    /// Takes the reading before the work. Only the first call in a process counts: a tool with
    /// several runs has one beginning.
    pub fn before(&self, directory: &Path) {
        let path = self.path(BEFORE);
        if !path.exists() {
            keep(&path, directory);
        }
    }

    /// Takes the reading after the work.
    pub fn after(&self, directory: &Path) {
        keep(&self.path(AFTER), directory);
    }

    /// Returns the reading before the work; `None` if the run took none.
    pub(super) fn taken_before(&self) -> Option<DeviceCounters> {
        read(&self.path(BEFORE))
    }

    /// Returns the reading after the work; `None` if the run took none.
    pub(super) fn taken_after(&self) -> Option<DeviceCounters> {
        read(&self.path(AFTER))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

const BEFORE: &str = "devices-before.json";
const AFTER: &str = "devices-after.json";

/// If this fails, the agent's own readings around the whole run are used.
fn keep(path: &Path, directory: &Path) {
    let Ok(look) = DeviceCounters::after_sync(directory) else { return };
    if let Ok(text) = plumb_document::json::to_vec(&look) {
        let _ = OutputFile::made_up("the look", path).private().replace(&text);
    }
}

fn read(path: &Path) -> Option<DeviceCounters> {
    plumb_document::json::from_str(&plumb_text::bounded::read_to_string(path).ok()?).ok()
}

/// Returns `true` for a virtual machine's root disk: it holds programs and is not measured.
fn is_root(name: &str) -> bool {
    std::fs::read_to_string(format!("/sys/block/{name}/serial")).is_ok_and(|serial| serial.trim() == ROOT_SERIAL)
}

/// Maps the kernel's device names to names in the recipe.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DeviceRoles(BTreeMap<String, String>);

impl DeviceRoles {
    /// Collects the devices that steps made and the disks they were given. Follows links below `/dev`.
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
            // Skip mount points, which `made` contains too.
            let Ok(device) = path.canonicalize() else { continue };
            if let (true, Some(name)) = (device.starts_with("/dev"), device.file_name()) {
                roles.entry(name.to_string_lossy().into_owned()).or_insert(role);
            }
        }
        DeviceRoles(roles)
    }
}

fn counts(stat: &BlockStat) -> DeviceCounts {
    DeviceCounts {
        reads: stat.reads.ops,
        read_bytes: stat.reads.sectors.wrapping_mul(SECTOR_BYTES),
        writes: stat.writes.ops,
        written_bytes: stat.writes.sectors.wrapping_mul(SECTOR_BYTES),
        flushes: stat.flushes.ops,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: only the work between a run's own two readings counts, and a tool's second run does not restart it.
    #[test]
    fn counters_of_a_run_are_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let looks = DeviceReadings::new(dir.path());
        assert_eq!((looks.taken_before(), looks.taken_after()), (None, None));
        let look = |written_bytes| {
            DeviceCounters(
                [("sda".to_owned(), DeviceCounts { writes: 9, written_bytes, ..DeviceCounts::default() })].into(),
            )
        };
        std::fs::write(looks.path(BEFORE), plumb_document::json::to_vec(&look(100)).unwrap()).unwrap();
        looks.before(dir.path());
        assert_eq!(looks.taken_before(), Some(look(100)));
        let done = look(300).since(&look(100), &DeviceRoles::default());
        assert_eq!((done["sda"].counts.written_bytes, done["sda"].counts.writes), (200, 0));
        looks.after(dir.path());
        assert!(looks.taken_after().is_some());
    }

    // Protects: a device has the same role in every build, regardless of its kernel name.
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
