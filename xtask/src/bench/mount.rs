//! File systems and devices of a benchmark's own, given back when they are dropped.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A loop device over a file.
pub struct LoopDevice {
    node: String,
}

impl LoopDevice {
    /// A device over `file`; `None` where none can be had.
    pub fn of(file: &Path, read_only: bool) -> Option<LoopDevice> {
        let mut command = Command::new("losetup");
        command.args(["--find", "--show"]).args(read_only.then_some("--read-only")).arg(file);
        let output = command.output().ok()?;
        let node = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !node.is_empty()).then_some(LoopDevice { node })
    }

    /// Its path.
    pub fn node(&self) -> &str {
        &self.node
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.node]).status();
    }
}

/// An ext4 on a loop device.
pub struct Ext4 {
    place: PathBuf,
    _device: LoopDevice,
}

impl Ext4 {
    /// A file system of so many bytes, its image and mount point below `folder`; `None` where nothing can be mounted.
    pub fn on_loop(folder: &Path, bytes: u64) -> Result<Option<Ext4>> {
        let (image, place) = (folder.join("image"), folder.join("mounted"));
        let file = std::fs::File::create(&image).with_context(|| format!("making {}", image.display()))?;
        file.set_len(bytes)?;
        std::fs::create_dir(&place)?;
        let Some(device) = LoopDevice::of(&image, false) else { return Ok(None) };
        crate::run(Command::new("mkfs.ext4").args(["-q", "-E", "lazy_itable_init=0", device.node()]))?;
        crate::run(Command::new("mount").args([device.node()]).arg(&place))?;
        Ok(Some(Ext4 { place, _device: device }))
    }

    /// Where it is mounted.
    pub fn place(&self) -> &Path {
        &self.place
    }
}

impl Drop for Ext4 {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.place).status();
    }
}
