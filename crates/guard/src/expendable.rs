//! Devices whose content other programs (mkfs, mdadm, sfdisk) are about to destroy on Plumb's behalf.

use super::device::{DeviceNumber, SystemDevices};
use super::{Guard, Refusal, kind_name, read_only_device, signature_of};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A device that a study lists as expendable. If both fields are set, both must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expendable<'a> {
    /// Path of the device; links are followed.
    pub path: Option<&'a Path>,
    /// One of its serials, as printed by refusals.
    pub serial: Option<&'a str>,
}

/// The right by which a device's content may be destroyed.
#[derive(Debug, Clone, Copy)]
pub enum Right<'a> {
    /// This process created the device, or has already destroyed its content.
    Made,
    /// A study lists the device. The study may be older than the content, so the user must also name a device with a
    /// signature ([`Permissions`](super::Permissions)), by its serial or its path.
    Study(&'a [Expendable<'a>]),
}

/// A block device and its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDevice {
    /// Path such as `/dev/sda`.
    pub path: PathBuf,
    /// Names that the user may use for it, the one to print first; never empty.
    pub serials: Vec<String>,
}

/// Returns the disks of this machine, without their partitions.
///
/// # Errors
/// Fails if `/sys/block` cannot be read.
pub fn disks() -> io::Result<Vec<NamedDevice>> {
    let machine = SystemDevices::this();
    let mut found = vec![];
    for entry in fs::read_dir("/sys/block")? {
        // The kernel writes `!` for the slash in names like `cciss/c0d0`.
        let path = Path::new("/dev").join(entry?.file_name().to_string_lossy().replace('!', "/"));
        if let Some(serials) = DeviceNumber::of_path(&path).and_then(|number| machine.serials(number).ok()) {
            found.push(NamedDevice { path, serials });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Returns the names that the user may use for a block device, the one to print first; never empty.
///
/// # Errors
/// Fails if the path is not a block device, or if the system does not know it.
pub fn serials(path: &Path) -> io::Result<Vec<String>> {
    let number = DeviceNumber::of_path(path).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    SystemDevices::this().serials(number)
}

impl Guard {
    /// Checks whether another program may destroy the content of a block device. The device must be neither mounted
    /// nor held, and `right` must allow it. Also asks the kernel, by opening the device exclusively for a moment.
    ///
    /// # Errors
    /// A [`Refusal`] that names what was found and how to proceed.
    pub fn may_destroy(&self, path: &Path, right: Right<'_>) -> Result<NamedDevice, Refusal> {
        self.may_destroy_on(&SystemDevices::this(), path, right)
    }

    pub(super) fn may_destroy_on(
        &self,
        machine: &SystemDevices,
        path: &Path,
        right: Right<'_>,
    ) -> Result<NamedDevice, Refusal> {
        let stat = rustix::fs::stat(path).map_err(Refusal::io(path, "find it"))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::BlockDevice {
            let expected = "a block device; name the device itself";
            return Err(Refusal::WrongKind { path: path.to_owned(), found: kind_name(&stat), expected });
        }
        let number = DeviceNumber::from_rdev(stat.st_rdev);
        machine.refuse_if_used(path, number)?;
        if machine.is_read_only(number) {
            return Err(read_only_device(path));
        }
        let serials = machine.serials(number).map_err(Refusal::io(path, "read its serial"))?;
        if let Right::Study(list) = right {
            self.refuse_if_not_listed(path, number, &serials, list)?;
        }
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
        match crate::raw_open::open(path, flags, Mode::empty()) {
            Ok(_) => Ok(NamedDevice { path: path.to_owned(), serials }),
            Err(Errno::BUSY) => Err(Refusal::Held {
                path: path.to_owned(),
                holder: "the kernel reports it as in use".to_owned(),
                way_out: "unmount or release it first, in other containers too".to_owned(),
            }),
            Err(error) => Err(Refusal::io(path, "open it")(error)),
        }
    }

    fn refuse_if_not_listed(
        &self,
        path: &Path,
        number: DeviceNumber,
        serials: &[String],
        list: &[Expendable<'_>],
    ) -> Result<(), Refusal> {
        let serial = serials.first().cloned().unwrap_or_default();
        let has_path =
            |entry: &Expendable<'_>| entry.path.is_some_and(|path| DeviceNumber::of_path(path) == Some(number));
        let has_serial = |entry: &Expendable<'_>| {
            entry.serial.is_some_and(|named| serials.iter().any(|known| known == named.trim()))
        };
        let is_it = |entry: &&Expendable<'_>| match (entry.path, entry.serial) {
            (None, None) => false,
            (Some(_), None) => has_path(entry),
            (None, Some(_)) => has_serial(entry),
            (Some(_), Some(_)) => has_path(entry) && has_serial(entry),
        };
        if !list.iter().any(|entry| is_it(&entry)) {
            let other = list.iter().find(|entry| has_path(entry)).and_then(|entry| entry.serial);
            return Err(match other {
                Some(named) => {
                    Refusal::OtherExpendable { path: path.to_owned(), serial, named: named.trim().to_owned() }
                }
                None => Refusal::NotExpendable { path: path.to_owned(), serial },
            });
        }
        if self.permissions.names_device(serials) || self.permissions.names_device_node(number) {
            return Ok(());
        }
        match signature_of(path).map_err(Refusal::io(path, "read its signatures"))? {
            None => Ok(()),
            Some(signature) => {
                let setting = self.permissions.setting_with(&serial);
                Err(Refusal::Signed { path: path.to_owned(), signature, serial, setting })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Permissions;
    use super::super::testing::{LoopDevice, Mounted, guard, is_root, once_released};
    use super::*;

    fn strict() -> Guard {
        guard(Permissions::none())
    }

    // Protects devices outside the list: a study destroys only what it lists, with both parts of an entry matching.
    #[test]
    fn root_only_listed_devices_may_be_destroyed() {
        if !is_root() {
            return;
        }
        let disk = LoopDevice::new(16 << 20);
        let serial = disk.serial();
        let allowed = |list: &[Expendable<'_>]| {
            once_released(|| match strict().may_destroy(&disk.path, Right::Study(list)) {
                Err(Refusal::Held { .. }) => None,
                answer => Some(answer),
            })
        };
        let path = Some(disk.path.as_path());
        for entry in [
            Expendable { path, serial: None },
            Expendable { path: None, serial: Some(&serial) },
            Expendable { path, serial: Some(&serial) },
        ] {
            assert_eq!(allowed(&[entry]).unwrap().serials, [serial.as_str()]);
        }
        let refusal = allowed(&[Expendable { path, serial: Some("WD-1") }]).unwrap_err();
        assert!(matches!(&refusal, Refusal::OtherExpendable { .. }), "{refusal:?}");
        assert!(refusal.to_string().contains("WD-1") && refusal.to_string().contains(&serial), "{refusal}");
        let elsewhere = Expendable { path: Some(Path::new("/dev/null")), serial: None };
        for list in [&[][..], &[Expendable { path: None, serial: None }], &[elsewhere]] {
            let refusal = allowed(list).unwrap_err();
            assert!(matches!(&refusal, Refusal::NotExpendable { .. }), "{refusal:?}");
            assert_eq!(refusal.exit_code(), 5);
        }
    }

    // Protects devices with content, for which a list does not suffice, and mounted
    // devices, for which nothing suffices.
    #[test]
    fn root_a_signed_device_must_be_typed_and_a_mounted_one_is_never_destroyed() {
        if !is_root() {
            return;
        }
        let disk = LoopDevice::new(16 << 20);
        if !disk.format("mkfs.ext4", &["-q"]) {
            return;
        }
        let list = [Expendable { path: Some(&disk.path), serial: None }];
        let look = |guard: &Guard, right: Right<'_>| {
            once_released(|| match guard.may_destroy(&disk.path, right) {
                Err(Refusal::Held { .. }) => None,
                answer => Some(answer),
            })
        };
        assert!(matches!(look(&strict(), Right::Study(&list)), Err(Refusal::Signed { .. })));
        let typed = guard(Permissions::parse(&disk.serial()));
        look(&typed, Right::Study(&list)).unwrap();
        look(&strict(), Right::Made).unwrap();
        let mounted = Mounted::new(&[disk.path.to_str().unwrap()]);
        for right in [Right::Study(&list), Right::Made] {
            let refusal = typed.may_destroy(&disk.path, right).unwrap_err();
            assert!(refusal.to_string().contains(&format!("umount {}", mounted.path().display())), "{refusal}");
        }
    }

    #[test]
    fn every_disk_has_a_name() {
        let before = disks().unwrap();
        let asked: Vec<_> = before.iter().map(|disk| serials(&disk.path).ok()).collect();
        let after = disks().unwrap();
        for (disk, asked) in before.iter().zip(asked) {
            assert!(disk.serials.iter().all(|serial| !serial.is_empty()), "{disk:?}");
            // Loop devices of other tests come and go.
            if after.contains(disk) {
                assert_eq!(asked.as_ref(), Some(&disk.serials), "{disk:?}");
            }
        }
    }
}
