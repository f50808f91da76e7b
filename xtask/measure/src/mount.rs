//! File systems and devices of a benchmark's or a trial's own, given back when they are dropped.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How a loop device goes about its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopMode {
    /// Through the page cache.
    Cached,
    /// Through the page cache, and never written.
    ReadOnly,
    /// Past the page cache: what is read from the device is not read from memory.
    Direct,
}

/// A loop device over a file.
pub(crate) struct LoopDevice {
    node: String,
}

impl LoopDevice {
    /// A device over `file`; `None` where none can be made.
    pub(crate) fn of(file: &Path, mode: LoopMode) -> Option<LoopDevice> {
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

    /// Its path.
    pub(crate) fn node(&self) -> &str {
        &self.node
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.node]).status();
    }
}

/// A file system that can be made on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileSystem {
    /// Linux's ext4; nothing of it is written later than it is made.
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs.
    Btrfs,
}

impl FileSystem {
    /// As mount(8) calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            FileSystem::Ext4 => "ext4",
            FileSystem::Xfs => "xfs",
            FileSystem::Btrfs => "btrfs",
        }
    }

    /// Options of its mkfs: say little, and take a device that has content.
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
    /// Ends before the device goes.
    limit: Option<SpeedLimit>,
    device: LoopDevice,
}

impl MountedLoop {
    /// An ext4 of this many bytes, its image and mount point below `folder`; `None` where nothing can be mounted.
    pub(crate) fn ext4_below(folder: &Path, bytes: u64) -> Result<Option<MountedLoop>> {
        let image = folder.join("image");
        let file = std::fs::File::create(&image).with_context(|| format!("making {}", image.display()))?;
        file.set_len(bytes)?;
        MountedLoop::over(&image, LoopMode::Cached, FileSystem::Ext4, &folder.join("mounted"))
    }

    /// A new file system in `image`, mounted at `place`, which is made if need be; `None` where there are no loop devices.
    pub(crate) fn over(image: &Path, mode: LoopMode, kind: FileSystem, place: &Path) -> Result<Option<MountedLoop>> {
        std::fs::create_dir_all(place).with_context(|| format!("making {}", place.display()))?;
        let Some(device) = LoopDevice::of(image, mode) else { return Ok(None) };
        // A bench that was killed may have left its limit to whoever has the device next.
        drop(SpeedLimit::of(&device, 0));
        let mounted = MountedLoop { kind, place: place.to_owned(), limit: None, device };
        mounted.make()?;
        Ok(Some(mounted))
    }

    fn make(&self) -> Result<()> {
        let mkfs = format!("mkfs.{}", self.kind.name());
        xtask::tools::run_quietly(Command::new(mkfs).args(self.kind.mkfs_options()).arg(self.device.node()))?;
        xtask::tools::run(Command::new("mount").args([self.device.node()]).arg(&self.place))
    }

    /// As it was when it was made: what one run leaves behind is another one's to pay. Inodes that were freed a moment ago,
    /// for one, are skipped one by one when files are made. Source: `recently_deleted` in fs/ext4/ialloc.c.
    pub(crate) fn renew(&self) -> Result<()> {
        xtask::tools::run(Command::new("umount").arg(&self.place))?;
        self.make()
    }

    /// Makes its device as slow as that; `false` where that is not possible.
    pub(crate) fn slow_down(&mut self, bytes_per_second: u64) -> bool {
        self.limit = SpeedLimit::of(&self.device, bytes_per_second);
        self.limit.is_some()
    }

    /// Where it is mounted.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }
}

impl Drop for MountedLoop {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.place).status();
    }
}

/// How fast a device may be read and written, for as long as this lives.
///
/// Source: Documentation/admin-guide/cgroup-v1/blkio-controller.rst, "Throttling/Upper limit policy": a limit of the root
/// group holds for all that anybody does, writeback too. Control groups of version 2 have no limits at their root.
pub(crate) struct SpeedLimit {
    number: String,
}

const LIMITS: [&str; 2] = ["read_bps_device", "write_bps_device"];

impl SpeedLimit {
    /// So many bytes a second in each direction; `None` where the kernel or its control groups do not offer it.
    pub(crate) fn of(device: &LoopDevice, bytes_per_second: u64) -> Option<SpeedLimit> {
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

/// A file system in memory, where only the program decides how fast it goes.
pub(crate) struct Tmpfs {
    place: PathBuf,
}

impl Tmpfs {
    /// Of at most this many bytes, its mount point below `folder`; `None` where nothing can be mounted.
    pub(crate) fn below(folder: &Path, bytes: u64) -> Result<Option<Tmpfs>> {
        let place = folder.join("memory");
        std::fs::create_dir(&place)?;
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"]).arg(&place);
        Ok(command.output()?.status.success().then_some(Tmpfs { place }))
    }

    /// Where it is mounted.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.place).status();
    }
}

/// An overlay over directories of a tmpfs: the same memory, behind a file system that adds a little to every op.
pub(crate) struct Overlay {
    place: PathBuf,
}

impl Overlay {
    /// Over empty directories of `memory`; `None` where nothing can be mounted.
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

    /// Where it is mounted.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.place).status();
    }
}
