//! Temporary file systems and devices of a benchmark or trial, removed when they are dropped.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Access of a loop device to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopMode {
    Cached,
    /// Through the page cache, read-only.
    ReadOnly,
    /// With direct I/O: reads of the device are not served from memory.
    Direct,
}

/// A loop device over a file.
pub(crate) struct LoopDevice {
    node: String,
}

impl LoopDevice {
    /// Creates a device over `file`; `None` if that is impossible.
    pub(crate) fn attach(file: &Path, mode: LoopMode) -> Option<LoopDevice> {
        let mut command = Command::new("losetup");
        let option = match mode {
            LoopMode::Cached => None,
            LoopMode::ReadOnly => Some("--read-only"),
            LoopMode::Direct => Some("--direct-io=on"),
        };
        command.args(["--find", "--show"]).args(option).arg(file);
        let output = command.output().ok()?;
        let node = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !node.is_empty()).then_some(LoopDevice { node })
    }

    pub(crate) fn node(&self) -> &str {
        &self.node
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.node]).status();
    }
}

/// A type of file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileSystem {
    /// ext4, without lazy initialisation.
    Ext4,
    Xfs,
    Btrfs,
}

impl FileSystem {
    /// Returns mount(8)'s name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            FileSystem::Ext4 => "ext4",
            FileSystem::Xfs => "xfs",
            FileSystem::Btrfs => "btrfs",
        }
    }

    /// Returns options of its mkfs: be quiet, and overwrite existing content.
    const fn mkfs_options(self) -> &'static [&'static str] {
        match self {
            FileSystem::Ext4 => &["-q", "-F", "-E", "lazy_itable_init=0"],
            FileSystem::Xfs | FileSystem::Btrfs => &["-q", "-f"],
        }
    }
}

/// A file system on a loop device.
pub(crate) struct MountedLoop {
    kind: FileSystem,
    place: PathBuf,
    /// Dropped before the device.
    limit: Option<SpeedLimit>,
    device: LoopDevice,
}

impl MountedLoop {
    /// Mounts an ext4 of this size, with image and mount point below `folder`; `None` if mounting is impossible.
    pub(crate) fn ext4_below(folder: &Path, bytes: u64) -> Result<Option<MountedLoop>> {
        let image = folder.join("image");
        let file = std::fs::File::create(&image).with_context(|| format!("making {}", image.display()))?;
        file.set_len(bytes)?;
        MountedLoop::over(&image, LoopMode::Cached, FileSystem::Ext4, &folder.join("mounted"))
    }

    /// Mounts a new file system in `image` at `place`, which is created if necessary; `None` without loop devices.
    pub(crate) fn over(image: &Path, mode: LoopMode, kind: FileSystem, place: &Path) -> Result<Option<MountedLoop>> {
        std::fs::create_dir_all(place).with_context(|| format!("making {}", place.display()))?;
        let Some(device) = LoopDevice::attach(image, mode) else { return Ok(None) };
        // A killed benchmark may have left its limit on this device.
        drop(SpeedLimit::apply(&device, 0));
        let mounted = MountedLoop { kind, place: place.to_owned(), limit: None, device };
        mounted.make()?;
        Ok(Some(mounted))
    }

    fn make(&self) -> Result<()> {
        let mkfs = format!("mkfs.{}", self.kind.name());
        xtask::tools::run_quietly(Command::new(mkfs).args(self.kind.mkfs_options()).arg(self.device.node()))?;
        xtask::tools::run(Command::new("mount").args([self.device.node()]).arg(&self.place))
    }

    /// Recreates the file system, so that no run pays for leftovers of another one. For example, recently freed inodes
    /// are skipped one by one when files are created. Source: `recently_deleted` in fs/ext4/ialloc.c.
    pub(crate) fn renew(&self) -> Result<()> {
        xtask::tools::run(Command::new("umount").arg(&self.place))?;
        self.make()
    }

    /// Limits the speed of its device; returns `false` if that is impossible.
    pub(crate) fn slow_down(&mut self, bytes_per_second: u64) -> bool {
        self.limit = SpeedLimit::apply(&self.device, bytes_per_second);
        self.limit.is_some()
    }

    pub(crate) fn place(&self) -> &Path {
        &self.place
    }
}

impl Drop for MountedLoop {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.place).status();
    }
}

/// Limits reads and writes of a device while it exists.
///
/// Source: Documentation/admin-guide/cgroup-v1/blkio-controller.rst, "Throttling/Upper limit policy". A limit of the
/// root group applies to all I/O, including writeback. Control groups of version 2 have no limits at their root.
pub(crate) struct SpeedLimit {
    number: String,
}

const LIMITS: [&str; 2] = ["read_bps_device", "write_bps_device"];

impl SpeedLimit {
    /// Limits each direction to this rate; `None` if the kernel or its control groups do not support it.
    pub(crate) fn apply(device: &LoopDevice, bytes_per_second: u64) -> Option<SpeedLimit> {
        let name = Path::new(device.node()).file_name()?;
        let number = std::fs::read_to_string(Path::new("/sys/class/block").join(name).join("dev")).ok()?;
        let limit = SpeedLimit { number: number.trim().to_owned() };
        limit.set(bytes_per_second).is_ok().then_some(limit)
    }

    fn set(&self, bytes_per_second: u64) -> std::io::Result<()> {
        LIMITS.iter().try_for_each(|file| {
            let path = format!("/sys/fs/cgroup/blkio/blkio.throttle.{file}");
            std::fs::write(path, format!("{} {bytes_per_second}", self.number))
        })
    }
}

impl Drop for SpeedLimit {
    fn drop(&mut self) {
        let _ = self.set(0);
    }
}

/// A file system in memory, on which only the program limits the speed.
pub(crate) struct Tmpfs {
    place: PathBuf,
}

impl Tmpfs {
    /// Mounts a tmpfs of at most this size, with a mount point below `folder`; `None` if mounting is impossible.
    pub(crate) fn below(folder: &Path, bytes: u64) -> Result<Option<Tmpfs>> {
        let place = folder.join("memory");
        std::fs::create_dir(&place)?;
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"]).arg(&place);
        Ok(command.output()?.status.success().then_some(Tmpfs { place }))
    }

    pub(crate) fn place(&self) -> &Path {
        &self.place
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.place).status();
    }
}

/// An overlay over directories of a tmpfs: the same memory, through a file system that adds a little to every op.
pub(crate) struct Overlay {
    place: PathBuf,
}

impl Overlay {
    /// Mounts it over empty directories of `memory`; `None` if mounting is impossible.
    pub(crate) fn on(memory: &Tmpfs) -> Result<Option<Overlay>> {
        let [lower, upper, work, place] = ["lower", "upper", "work", "merged"].map(|name| memory.place().join(name));
        for directory in [&lower, &upper, &work, &place] {
            std::fs::create_dir(directory)?;
        }
        let layers = format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
        let mut command = Command::new("mount");
        command.args(["-t", "overlay", "-o", &layers, "overlay"]).arg(&place);
        Ok(command.output()?.status.success().then_some(Overlay { place }))
    }

    pub(crate) fn place(&self) -> &Path {
        &self.place
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.place).status();
    }
}
