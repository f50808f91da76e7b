//! Equal places, and leftovers of killed trials.

use crate::mount::{FileSystem, LoopMode, MountedLoop, Tmpfs};
use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// XFS refuses less than 300 MiB.
const DISK_BYTES: u64 = 400 << 20;
/// Directory prefix of trials in progress.
pub(super) const TRIAL: &str = "trial-";

/// Kinds of storage for a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Storage {
    /// A file system on a loop device.
    Disk(FileSystem),
    Memory,
}

pub(super) const STORAGES: [Storage; 4] = [
    Storage::Disk(FileSystem::Ext4),
    Storage::Disk(FileSystem::Xfs),
    Storage::Disk(FileSystem::Btrfs),
    Storage::Memory,
];

impl Storage {
    /// Returns mount(8)'s name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Storage::Disk(kind) => kind.name(),
            Storage::Memory => "tmpfs",
        }
    }
}

/// A mounted file system, unmounted when it is dropped.
pub(super) enum Mounted {
    Disk(MountedLoop),
    Memory(Tmpfs),
}

impl Mounted {
    /// Mounts a new file system below `folder` for the side `letter`. Disks are images that `work` has for each side.
    pub(super) fn mount(storage: Storage, work: &Path, folder: &Path, letter: char) -> Result<Mounted> {
        let place = folder.join(letter.to_string());
        let mounted = match storage {
            Storage::Disk(kind) => {
                let image = disk(work, letter)?;
                MountedLoop::over(&image, LoopMode::Direct, kind, &place)?.map(Mounted::Disk)
            }
            Storage::Memory => {
                std::fs::create_dir(&place)?;
                Tmpfs::below(&place, DISK_BYTES)?.map(Mounted::Memory)
            }
        };
        mounted.with_context(|| format!("no {} can be mounted here", storage.name()))
    }

    pub(super) fn place(&self) -> &Path {
        match self {
            Mounted::Disk(disk) => disk.place(),
            Mounted::Memory(memory) => memory.place(),
        }
    }
}

/// Returns the image of a side's disk, created once. All of its blocks are written, so that no
/// trial is the first to write one.
fn disk(work: &Path, letter: char) -> Result<PathBuf> {
    let image = work.join(format!("disk-{letter}"));
    let is_whole = std::fs::metadata(&image).is_ok_and(|data| data.len() == DISK_BYTES);
    if !is_whole {
        let half_made = work.join("disk-half-made");
        let mut file = std::fs::File::create(&half_made).with_context(|| half_made.display().to_string())?;
        std::io::copy(&mut std::io::repeat(0x5a).take(DISK_BYTES), &mut file)?;
        file.flush().and_then(|()| file.sync_all())?;
        std::fs::rename(&half_made, &image)?;
    }
    Ok(image)
}

/// Removes leftovers of killed trials below `work`: mounts, loop devices, directories.
pub(super) fn take_down_leftovers(work: &Path) -> Result<()> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").context("/proc/self/mountinfo")?;
    for place in mounted_below(&mounts, work).into_iter().rev() {
        xtask::tools::run(Command::new("umount").arg(place))?;
    }
    for entry in std::fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let backing = std::fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        if Path::new(backing.trim_end()).starts_with(work) {
            let device = Path::new("/dev").join(entry.file_name());
            xtask::tools::run(Command::new("losetup").arg("--detach").arg(device))?;
        }
    }
    for entry in std::fs::read_dir(work)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(TRIAL) {
            std::fs::remove_dir_all(entry.path()).with_context(|| entry.path().display().to_string())?;
        }
    }
    Ok(())
}

/// Returns mount points below a directory, in mount order. Source: proc_pid_mountinfo(5), fifth field.
fn mounted_below(mountinfo: &str, directory: &Path) -> Vec<PathBuf> {
    let points = mountinfo.lines().filter_map(|line| line.split_whitespace().nth(4)).map(PathBuf::from);
    points.filter(|point| point.starts_with(directory) && point != directory).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_below_a_directory_and_no_others() {
        let mountinfo = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 7:0 / /w/trial-1/a rw shared:1 - xfs /dev/loop0 rw\n\
                         3 1 7:1 / /w2/a rw - xfs /dev/loop1 rw\n4 1 0:9 / /w rw - tmpfs tmpfs rw\n";
        assert_eq!(mounted_below(mountinfo, Path::new("/w")), [Path::new("/w/trial-1/a")]);
    }
}
