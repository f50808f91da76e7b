//! Predicts the guard's answer for `plumb check`, without opening anything for writing.

use super::blank::Patience;
use super::device::{DeviceNumber, SystemDevices};
use super::pass::{DeviceNaming, DeviceRight, Guard, read_only_device, read_only_file_system};
use super::path_resolution::Identity;
use super::refusal::Refusal;
use rustix::fs::{Access, FileType, StatVfsMountFlags};
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

impl Guard {
    /// Returns the refusal that a run writing to this path would get; `None` if none is foreseeable. A directory
    /// stands for the test files that a run creates in it. Nothing is opened for writing.
    pub fn foresee(&self, path: &Path) -> Option<Refusal> {
        self.predict(path).err()
    }

    fn predict(&self, path: &Path) -> Result<(), Refusal> {
        let stat = rustix::fs::stat(path).map_err(Refusal::io(path, "find it"))?;
        let machine = SystemDevices::this();
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::BlockDevice => {
                let number = DeviceNumber::from_rdev(stat.st_rdev);
                machine.refuse_if_used(path, number)?;
                if machine.is_read_only(number) {
                    return Err(read_only_device(path));
                }
                match self.device_right(&machine, path, number, DeviceNaming::Serial(None))? {
                    DeviceRight::Named => Ok(()),
                    DeviceRight::IfBlank(refusal) => self.foresee_blank(&machine, path, number).ok_or(refusal),
                }
            }
            kind @ (FileType::RegularFile | FileType::Directory) => {
                let mounted = rustix::fs::statvfs(path).map_err(Refusal::io(path, "examine its file system"))?;
                if mounted.f_flag.contains(StatVfsMountFlags::RDONLY) {
                    return Err(read_only_file_system(path));
                }
                if kind == FileType::RegularFile {
                    machine.refuse_if_image(path, Identity::from_stat(&stat))?;
                }
                rustix::fs::access(path, Access::WRITE_OK).map_err(Refusal::io(path, "write to it"))
            }
            _ => Ok(()),
        }
    }

    /// Checks whether a device would pass because its image is blank, as far as that shows without reading it.
    fn foresee_blank(&self, machine: &SystemDevices, path: &Path, number: DeviceNumber) -> Option<()> {
        let device = File::open(path).ok()?;
        let hasty = Guard { patience: Patience { bytes_max: 0, ..self.patience }, ..self.clone() };
        hasty.prove_blank_device(machine, device.as_fd(), number).ok().map(drop)
    }
}
