//! Names and users of block devices, read from /sys and /proc.

use crate::Refusal;
use crate::path_resolution::Identity;
use rustix::fs::{FileType, RawMode};
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A device number such as `8:1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeviceNumber {
    major: u32,
    minor: u32,
}

impl DeviceNumber {
    pub(crate) fn from_rdev(rdev: u64) -> DeviceNumber {
        DeviceNumber { major: rustix::fs::major(rdev), minor: rustix::fs::minor(rdev) }
    }

    fn parse(text: &str) -> Option<DeviceNumber> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }

    /// Returns the number of the block device at a path, following links.
    pub(crate) fn of_path(path: &Path) -> Option<DeviceNumber> {
        let meta = fs::metadata(path).ok()?;
        (FileType::from_raw_mode(meta.mode() as RawMode) == FileType::BlockDevice)
            .then(|| DeviceNumber::from_rdev(meta.rdev()))
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// Source of the system's information about devices. A struct, so that tests can simulate RAID and partitions.
pub(crate) struct SystemDevices {
    sys: PathBuf,
    proc: PathBuf,
}

/// A device with its kernel name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Device {
    name: String,
    number: DeviceNumber,
    dir: PathBuf,
}

/// A device and all devices that share its content.
struct Family {
    /// The device, its partitions, and the disk that contains it.
    own: Vec<Device>,
    /// Devices built on top of these, such as RAID, LVM and encryption, at all levels.
    above: Vec<Device>,
}

impl Family {
    fn find(&self, number: DeviceNumber) -> Option<&Device> {
        self.own.iter().chain(&self.above).find(|device| device.number == number)
    }
}

impl SystemDevices {
    /// Returns the running system.
    pub(crate) fn this() -> SystemDevices {
        SystemDevices { sys: "/sys".into(), proc: "/proc".into() }
    }

    fn device(&self, number: DeviceNumber) -> io::Result<Device> {
        let dir = fs::canonicalize(self.sys.join("dev/block").join(number.to_string()))?;
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Device { name, number, dir })
    }

    fn family(&self, number: DeviceNumber) -> io::Result<Family> {
        let device = self.device(number)?;
        let mut own = vec![];
        if let Some(disk) = self.disk_of(&device)? {
            own.push(disk);
        }
        own.extend(self.partitions(&device)?);
        own.push(device);
        let mut above: Vec<Device> = vec![];
        let mut looked_at = 0;
        while let Some(below) = own.iter().chain(&above).nth(looked_at).cloned() {
            looked_at += 1;
            for holder in self.holders(&below)? {
                for device in self.partitions(&holder)?.into_iter().chain([holder]) {
                    if !own.contains(&device) && !above.contains(&device) {
                        above.push(device);
                    }
                }
            }
        }
        Ok(Family { own, above })
    }

    /// Returns the disk that contains a partition.
    fn disk_of(&self, device: &Device) -> io::Result<Option<Device>> {
        match device.dir.parent() {
            Some(parent) if device.dir.join("partition").exists() => Ok(Some(self.device_at(parent)?)),
            _ => Ok(None),
        }
    }

    fn device_at(&self, dir: &Path) -> io::Result<Device> {
        let text = fs::read_to_string(dir.join("dev"))?;
        let number = DeviceNumber::parse(&text)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("{}/dev: `{text}`", dir.display())))?;
        self.device(number)
    }

    fn partitions(&self, device: &Device) -> io::Result<Vec<Device>> {
        let mut found = vec![];
        for entry in fs::read_dir(&device.dir)? {
            let dir = entry?.path();
            if dir.join("partition").exists() {
                found.push(self.device_at(&dir)?);
            }
        }
        Ok(found)
    }

    fn holders(&self, device: &Device) -> io::Result<Vec<Device>> {
        let entries = match fs::read_dir(device.dir.join("holders")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            entries => entries?,
        };
        entries.map(|entry| self.device_at(&fs::canonicalize(entry?.path())?)).collect()
    }

    /// Refuses a device if it, a part of it, or a device built on it is mounted or held.
    ///
    /// The kernel's own check, `O_EXCL`, follows in addition: it also knows about mounts in other mount namespaces.
    /// This check can name the user, and knows about loop devices, which do not hold their images.
    pub(crate) fn refuse_if_used(&self, path: &Path, number: DeviceNumber) -> Result<(), Refusal> {
        let family = self.family(number).map_err(Refusal::io(path, "find its users in /sys"))?;
        self.refuse_if_mounted(path, &family)?;
        self.refuse_if_swap(path, &family)?;
        if let Some(holder) = family.above.first() {
            return Err(Refusal::Held {
                path: path.to_owned(),
                holder: self.describe(holder),
                way_out: release(holder),
            });
        }
        for loop_device in self.loop_devices().map_err(Refusal::io(path, "list the loop devices"))? {
            if DeviceNumber::of_path(&loop_device.image).is_some_and(|image| family.find(image).is_some()) {
                return Err(Refusal::Held {
                    path: path.to_owned(),
                    holder: format!("the image of /dev/{}", loop_device.name),
                    way_out: format!("`losetup -d /dev/{}` first", loop_device.name),
                });
            }
        }
        Ok(())
    }

    fn refuse_if_mounted(&self, path: &Path, family: &Family) -> Result<(), Refusal> {
        let mounts = self.mounts().map_err(Refusal::io(path, "read the table of mounts"))?;
        for mount in mounts {
            // A file system over several devices (btrfs) has its own device number; its source is one of the devices.
            let by_source = || DeviceNumber::of_path(&mount.source).and_then(|number| family.find(number));
            if let Some(device) = family.find(mount.number).or_else(by_source) {
                return Err(Refusal::Mounted {
                    path: path.to_owned(),
                    device: format!("/dev/{}", device.name),
                    mount_point: mount.point,
                });
            }
        }
        // The other devices of a btrfs are not listed anywhere else.
        for volume in fs::read_dir(self.sys.join("fs/btrfs")).into_iter().flatten().flatten() {
            let devices = volume.path().join("devices");
            let member = family.own.iter().chain(&family.above).find(|device| devices.join(&device.name).exists());
            if member.is_some() {
                return Err(Refusal::Held {
                    path: path.to_owned(),
                    holder: format!("the mounted btrfs {}", volume.file_name().display()),
                    way_out: "unmount that file system first".to_owned(),
                });
            }
        }
        Ok(())
    }

    fn refuse_if_swap(&self, path: &Path, family: &Family) -> Result<(), Refusal> {
        for swap in self.swaps() {
            if DeviceNumber::of_path(&swap).is_some_and(|number| family.find(number).is_some()) {
                return Err(Refusal::Held {
                    path: path.to_owned(),
                    holder: "it is swap space in use".to_owned(),
                    way_out: format!("`swapoff {}` first", swap.display()),
                });
            }
        }
        Ok(())
    }

    /// Refuses a file that the system uses as a device: the image of a loop device, or a swap file.
    pub(crate) fn refuse_if_image(&self, path: &Path, file: Identity) -> Result<(), Refusal> {
        let same = |other: &Path| fs::metadata(other).is_ok_and(|meta| Identity::from_metadata(&meta) == file);
        for loop_device in self.loop_devices().map_err(Refusal::io(path, "list the loop devices"))? {
            if same(&loop_device.image) {
                return Err(Refusal::FileInUse {
                    path: path.to_owned(),
                    holder: format!("it is the image of /dev/{}", loop_device.name),
                    way_out: format!("`losetup -d /dev/{}` first", loop_device.name),
                });
            }
        }
        if let Some(swap) = self.swaps().into_iter().find(|swap| same(swap)) {
            return Err(Refusal::FileInUse {
                path: path.to_owned(),
                holder: "it is swap space in use".to_owned(),
                way_out: format!("`swapoff {}` first", swap.display()),
            });
        }
        Ok(())
    }

    /// Returns the files that [`refuse_if_image`](SystemDevices::refuse_if_image) refuses, for checking many files.
    pub(crate) fn images(&self) -> io::Result<Vec<Identity>> {
        let images = self.loop_devices()?.into_iter().map(|device| device.image);
        let identity = |path: PathBuf| Some(Identity::from_metadata(&fs::metadata(path).ok()?));
        Ok(images.chain(self.swaps()).filter_map(identity).collect())
    }

    /// Returns `true` if the kernel treats the device as read-only.
    pub(crate) fn is_read_only(&self, number: DeviceNumber) -> bool {
        self.device(number).ok().and_then(|device| read_text(&device.dir.join("ro"))).is_some_and(|ro| ro != "0")
    }

    /// Returns the sequence number of the disk's attachment. It changes with another medium, or another image of a
    /// loop device. `None` before Linux 5.15. Source: Documentation/ABI/stable/sysfs-block.
    pub(crate) fn attachment(&self, number: DeviceNumber) -> Option<u64> {
        let device = self.device(number).ok()?;
        let disk = self.disk_of(&device).ok()?.unwrap_or(device);
        read_text(&disk.dir.join("diskseq"))?.parse().ok()
    }

    /// Returns the names that the user may use for this device, the one to print first; never empty. A partition has
    /// the names of its disk.
    ///
    /// - a loop device: `loop:` and the path of its image, because its number is arbitrary;
    /// - others: the serial from the drive, the virtual machine or udev, then world-wide names and UUIDs;
    /// - without any of these: the kernel's name and the size in bytes, `vdb:10737418240`.
    pub(crate) fn serials(&self, number: DeviceNumber) -> io::Result<Vec<String>> {
        let device = self.device(number)?;
        let disk = self.disk_of(&device)?.unwrap_or(device);
        if let Some(image) = read_path(&disk.dir.join("loop/backing_file")) {
            return Ok(vec![format!("loop:{}", image.display())]);
        }
        let mut found: Vec<String> = vec![];
        let mut add = |serial: Option<String>| match serial {
            Some(serial) if !serial.is_empty() && !found.contains(&serial) => found.push(serial),
            _ => {}
        };
        for file in ["device/serial", "serial"] {
            add(read_text(&disk.dir.join(file)));
        }
        // SCSI page 0x80, unit serial number: four bytes of header, then text. Source: SPC-4.
        add(fs::read(disk.dir.join("device/vpd_pg80")).ok().and_then(|page| {
            let serial = page.get(4..)?;
            Some(String::from_utf8_lossy(serial).trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned())
        }));
        if let Ok(text) = fs::read_to_string(Path::new("/run/udev/data").join(format!("b{}", disk.number))) {
            for name in ["E:ID_SERIAL_SHORT=", "E:ID_SERIAL="] {
                add(text.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned()));
            }
        }
        for file in ["wwid", "device/wwid", "device/cid", "uuid", "dm/uuid", "md/uuid"] {
            add(read_text(&disk.dir.join(file)));
        }
        if found.is_empty() {
            let sectors: u64 = read_text(&disk.dir.join("size")).and_then(|text| text.parse().ok()).unwrap_or(0);
            found.push(format!("{}:{}", disk.name, sectors.saturating_mul(512)));
        }
        Ok(found)
    }

    fn describe(&self, device: &Device) -> String {
        match read_text(&device.dir.join("dm/name")) {
            Some(name) => format!("/dev/mapper/{name} is built on it"),
            None => format!("/dev/{} is built on it", device.name),
        }
    }

    fn loop_devices(&self) -> io::Result<Vec<LoopDevice>> {
        let mut found = vec![];
        for entry in fs::read_dir(self.sys.join("block"))? {
            let entry = entry?;
            if !entry.file_name().as_encoded_bytes().starts_with(b"loop") {
                continue;
            }
            if let Some(image) = read_path(&entry.path().join("loop/backing_file")) {
                found.push(LoopDevice { name: entry.file_name().to_string_lossy().into_owned(), image });
            }
        }
        Ok(found)
    }

    /// Source: proc_pid_mountinfo(5).
    fn mounts(&self) -> io::Result<Vec<Mount>> {
        let text = fs::read(self.proc.join("self/mountinfo"))?;
        Ok(text.split(|byte| *byte == b'\n').filter_map(Mount::parse).collect())
    }

    /// Returns the mount with this number, as found in `/proc/self/fdinfo`.
    pub(super) fn mount_of(&self, id: u64) -> Option<Mount> {
        self.mounts().ok()?.into_iter().find(|mount| mount.id == id)
    }

    /// Returns the image of a loop device; `None` for its partitions and for other devices.
    pub(super) fn image_of(&self, number: DeviceNumber) -> Option<PathBuf> {
        read_path(&self.device(number).ok()?.dir.join("loop/backing_file"))
    }

    /// Returns the number of loop devices with this image.
    pub(super) fn count_images(&self, image: Identity) -> io::Result<usize> {
        let is_it = |path: &Path| fs::metadata(path).is_ok_and(|meta| Identity::from_metadata(&meta) == image);
        Ok(self.loop_devices()?.iter().filter(|device| is_it(&device.image)).count())
    }

    /// Returns `true` if a file is swap space in use.
    pub(super) fn is_swap(&self, file: Identity) -> bool {
        self.swaps().iter().any(|swap| fs::metadata(swap).is_ok_and(|meta| Identity::from_metadata(&meta) == file))
    }

    /// Returns the files and devices used as swap space. Source: proc_swaps(5).
    fn swaps(&self) -> Vec<PathBuf> {
        let text = fs::read(self.proc.join("swaps")).unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n').skip(1);
        lines
            .filter_map(|line| line.split(u8::is_ascii_whitespace).next())
            .filter(|name| !name.is_empty())
            .map(unescaped)
            .collect()
    }
}

struct LoopDevice {
    name: String,
    image: PathBuf,
}

/// One row of the mount table.
pub(super) struct Mount {
    id: u64,
    /// Number of the file system, shared by all its mounts and subvolumes.
    pub(super) number: DeviceNumber,
    /// Path of the mount point.
    pub(super) point: PathBuf,
    source: PathBuf,
}

impl Mount {
    fn parse(line: &[u8]) -> Option<Mount> {
        let mut fields = line.split(|byte| *byte == b' ');
        let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let number = DeviceNumber::parse(std::str::from_utf8(fields.nth(1)?).ok()?)?;
        let point = unescaped(fields.nth(1)?);
        // Optional fields end with a dash; type and source follow.
        fields.find(|field| *field == b"-")?;
        let source = unescaped(fields.nth(1)?);
        Some(Mount { id, number, point, source })
    }
}

/// Decodes escapes such as `\040`, which /proc uses for blanks in names.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, tail)) = rest.split_first() {
        let code = (*first == b'\\').then(|| tail.get(..3)).flatten();
        let code = code.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Returns instructions for releasing the holder of a device.
fn release(holder: &Device) -> String {
    if holder.name.starts_with("md") {
        format!("`mdadm --stop /dev/{}` first", holder.name)
    } else if holder.name.starts_with("dm-") {
        "deactivate it first (`vgchange -an`, `cryptsetup close` or `dmsetup remove`)".to_owned()
    } else {
        format!("take /dev/{} apart first", holder.name)
    }
}

fn read_text(path: &Path) -> Option<String> {
    Some(String::from_utf8_lossy(&fs::read(path).ok()?).trim().to_owned())
}

/// Reads a path that the kernel wrote to a file, followed by a line feed.
fn read_path(path: &Path) -> Option<PathBuf> {
    let mut bytes = fs::read(path).ok()?;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    (!bytes.is_empty()).then(|| PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A simulated machine: `sda` with `sda1` (mounted) and `sda2` (in md127, with dm-0 on top); `sdb` is free.
    struct Pretended {
        root: tempfile::TempDir,
    }

    impl Pretended {
        fn new() -> Pretended {
            let machine = Pretended { root: tempfile::tempdir().unwrap() };
            machine.device("sda", "8:0", &[]);
            machine.device("sda/sda1", "8:1", &[("partition", "1")]);
            machine.device("sda/sda2", "8:2", &[("partition", "2")]);
            machine.device("sdb", "8:16", &[("size", "2048"), ("ro", "0")]);
            machine.device("md127", "9:127", &[]);
            machine.device("dm-0", "252:0", &[("dm/name", "vg-data"), ("dm/uuid", "LVM-abc")]);
            machine.hold("sda/sda2", "md127");
            machine.hold("md127", "dm-0");
            machine.write("proc/self/mountinfo", "25 1 8:1 / /mnt/with\\040blank rw shared:1 - ext4 /dev/sda1 rw\n");
            machine.write("proc/swaps", "Filename Type Size Used Priority\n");
            machine
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn device(&self, name: &str, number: &str, files: &[(&str, &str)]) {
            self.write(&format!("sys/block/{name}/dev"), &format!("{number}\n"));
            fs::create_dir_all(self.root.path().join(format!("sys/block/{name}/holders"))).unwrap();
            for (file, text) in files {
                self.write(&format!("sys/block/{name}/{file}"), &format!("{text}\n"));
            }
            let numbers = self.root.path().join("sys/dev/block");
            fs::create_dir_all(&numbers).unwrap();
            symlink(self.root.path().join("sys/block").join(name), numbers.join(number)).unwrap();
        }

        fn hold(&self, device: &str, holder: &str) {
            let block = self.root.path().join("sys/block");
            symlink(block.join(holder), block.join(device).join("holders").join(holder)).unwrap();
        }

        fn machine(&self) -> SystemDevices {
            SystemDevices { sys: self.root.path().join("sys"), proc: self.root.path().join("proc") }
        }

        fn used(&self, number: &str) -> Result<(), Refusal> {
            self.machine().refuse_if_used(Path::new("/dev/x"), DeviceNumber::parse(number).unwrap())
        }
    }

    #[test]
    fn a_disk_is_mounted_if_a_partition_is() {
        let machine = Pretended::new();
        for number in ["8:0", "8:1"] {
            let Err(Refusal::Mounted { device, mount_point, .. }) = machine.used(number) else { panic!("{number}") };
            assert_eq!((device.as_str(), mount_point.to_str().unwrap()), ("/dev/sda1", "/mnt/with blank"));
        }
    }

    #[test]
    fn a_partition_is_not_mounted_because_its_neighbour_is() {
        let machine = Pretended::new();
        let Err(Refusal::Held { holder, way_out, .. }) = machine.used("8:2") else { panic!() };
        assert_eq!(holder, "/dev/md127 is built on it");
        assert!(way_out.contains("mdadm --stop"), "{way_out}");
    }

    #[test]
    fn a_raid_member_is_mounted_if_a_device_built_on_it_is() {
        let machine = Pretended::new();
        machine.write("proc/self/mountinfo", "25 1 252:0 / /data rw - xfs /dev/mapper/vg-data rw\n");
        let Err(Refusal::Mounted { device, .. }) = machine.used("8:2") else { panic!() };
        assert_eq!(device, "/dev/dm-0");
    }

    #[test]
    fn a_free_disk_is_free_and_an_unknown_device_is_not() {
        let machine = Pretended::new();
        machine.used("8:16").unwrap();
        assert!(!machine.machine().is_read_only(DeviceNumber::parse("8:16").unwrap()));
        assert!(matches!(machine.used("8:99"), Err(Refusal::Io { .. })));
    }

    #[test]
    fn serials_come_from_wherever_a_kind_of_device_keeps_them() {
        let machine = Pretended::new();
        let serials = |number: &str| machine.machine().serials(DeviceNumber::parse(number).unwrap()).unwrap();
        assert_eq!(serials("8:16"), ["sdb:1048576"], "without a serial: name and size");
        assert_eq!(serials("252:0"), ["LVM-abc"]);
        machine.write("sys/block/sda/device/serial", "  WD 123 \n");
        machine.write("sys/block/sda/device/vpd_pg80", "\0\u{80}\0\u{8}PAGE80  ");
        machine.write("sys/block/sda/wwid", "naa.5000c5\n");
        assert_eq!(serials("8:1")[0], "WD 123", "a partition has its disk's serial");
        assert!(serials("8:0").contains(&"naa.5000c5".to_owned()));
        machine.device("loop3", "7:3", &[("loop/backing_file", "/a/disk image.img")]);
        assert_eq!(serials("7:3"), ["loop:/a/disk image.img"]);
    }

    #[test]
    fn mountinfo_lines_without_optional_fields_and_with_several_are_read() {
        let mount = Mount::parse(b"1 0 0:44 / / rw - overlay overlay rw").unwrap();
        assert_eq!(mount.source, Path::new("overlay"));
        let mount = Mount::parse(b"1 0 8:1 / /a\\134b rw shared:1 master:2 - ext4 /dev/sda1 rw").unwrap();
        assert_eq!(mount.point, Path::new("/a\\b"));
        assert!(Mount::parse(b"").is_none());
        assert!(Mount::parse(b"1 0 8:1 / /x rw").is_none());
    }
}
