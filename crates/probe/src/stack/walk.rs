//! Walks from the top of a stack to its leaves.

use super::serials::Serials;
use super::{btrfs, device, filesystem, unlisted};
use crate::error::ProbeError;
use crate::mounts::{self, Mount};
use crate::platform;
use crate::sysroot::{Sysroot, lexical};
use plumb_result::observe::{BlockLayer, FileSystem, LayerKind};
use std::path::{Path, PathBuf};

/// Maximum depth of file systems on loop devices on file systems. No real stack is deeper.
const DEPTH_MAX: u32 = 16;

/// The storage under a path.
pub(super) struct PathStorage {
    pub(super) filesystem: FileSystem,
    /// Names of the block devices directly under the file system.
    pub(super) tops: Vec<String>,
}

/// Amount of detail to read about each device.
#[derive(Debug, Clone, Copy)]
enum Detail {
    /// All known facts: some fifty files.
    Whole(Serials),
    /// The name, the kind, and the devices below.
    Outline,
}

/// A walk that visits each device once, before those below it.
pub(super) struct Walk<'a> {
    sys: &'a Sysroot,
    detail: Detail,
    layers: Vec<BlockLayer>,
    unseen: Vec<String>,
    depth: u32,
}

impl<'a> Walk<'a> {
    pub(super) fn new(sys: &'a Sysroot, serials: Serials) -> Walk<'a> {
        Walk { sys, detail: Detail::Whole(serials), layers: Vec::new(), unseen: Vec::new(), depth: 0 }
    }

    /// Creates a walk that only finds the devices.
    pub(super) fn outline(sys: &'a Sysroot) -> Walk<'a> {
        Walk { sys, detail: Detail::Outline, layers: Vec::new(), unseen: Vec::new(), depth: 0 }
    }

    /// Returns the layers, the names of the leaves, and the unseen facts.
    pub(super) fn finish(self) -> (Vec<BlockLayer>, Vec<String>, Vec<String>) {
        let leaves: Vec<String> =
            self.layers.iter().filter(|layer| layer.below.is_empty()).map(|layer| layer.name.clone()).collect();
        let mut unseen = self.unseen;
        for layer in self.layers.iter().filter(|layer| layer.below.is_empty()) {
            if layer.settings.get("iostats").is_some_and(|value| value == "0") {
                unseen.push(format!("the counters of {}: its queue/iostats is 0", layer.name));
            }
        }
        (self.layers, leaves, unseen)
    }

    /// Returns the file system of an existing path, and everything below it.
    pub(super) fn storage_under(&mut self, path: &Path) -> Result<PathStorage, ProbeError> {
        if self.depth >= DEPTH_MAX {
            return Err(ProbeError::unavailable(
                path.display().to_string(),
                format!("is below more than {DEPTH_MAX} file systems"),
            ));
        }
        self.depth += 1;
        let under = self.under(path);
        self.depth -= 1;
        under
    }

    fn under(&mut self, path: &Path) -> Result<PathStorage, ProbeError> {
        let (mount, unlisted) = self.mount_of(path)?;
        let mount = &mount;
        let mut found = filesystem::describe(self.sys, mount, path, &mut self.unseen);
        let mut tops = Vec::new();
        if mount.kind == "overlay" {
            tops = self.overlay(mount, &mut found);
        } else if found.remote {
            self.unseen.push(format!("the storage behind {}: {} is served remotely", mount.source, mount.kind));
        } else if found.is_served_by_a_program() {
            self.unseen.push(format!("the storage behind {}: a program serves {}", mount.source, mount.kind));
        } else if !found.in_memory {
            tops = self.devices_of(mount);
        }
        filesystem::describe_on(self.sys, mount, path, &tops, &mut found, &mut self.unseen);
        // Last: the storage itself matters more.
        self.unseen.extend(unlisted.map(|why| format!("the mount options of {}: {why}", mount.point.display())));
        Ok(PathStorage { filesystem: found, tops })
    }

    /// Returns the mount of a path from the kernel's table. Otherwise from statfs(2), with the reason
    /// why it is not listed.
    fn mount_of(&self, path: &Path) -> Result<(Mount, Option<ProbeError>), ProbeError> {
        let table = self.sys.read("/proc/self/mountinfo");
        let mounts = table.as_deref().map(mounts::parse).unwrap_or_default();
        let id = if self.sys.is_real() { platform::mount_id(path) } else { None };
        if let Some(mount) = mounts::find(&mounts, path, id) {
            return Ok((mount.clone(), None));
        }
        let unlisted = table.err().unwrap_or_else(|| {
            ProbeError::lacks("/proc/self/mountinfo", format!("mount that holds {}", path.display()))
        });
        match unlisted::mount_of(self.sys, path).filter(|_| self.sys.is_real()) {
            Some(mount) => Ok((mount, Some(unlisted))),
            None => Err(unlisted),
        }
    }

    /// An overlay writes to its upper directory; one without reads from its first lower one.
    fn overlay(&mut self, mount: &Mount, found: &mut FileSystem) -> Vec<String> {
        let lower = mount.option("lowerdir").and_then(|list| split_colons(list).into_iter().next());
        let Some(directory) = mount.option("upperdir").map(str::to_owned).or(lower) else {
            self.unseen.push("the directories of the overlay: not in its mount options".to_owned());
            return Vec::new();
        };
        // The kernel prints a comma as typed, with a backslash; a name may also contain a real backslash.
        let existing =
            [directory.clone(), without_backslashes(&directory)].iter().find_map(|name| self.existing(Path::new(name)));
        let Some(existing) = existing else {
            self.unseen.push(format!(
                "the storage under the overlay at {}: {directory} is not in this mount namespace",
                mount.point.display()
            ));
            return Vec::new();
        };
        match self.storage_under(&existing) {
            Ok(under) => {
                found.in_memory = under.filesystem.in_memory;
                found.remote = under.filesystem.remote;
                found.features.insert("stands_on".to_owned(), base_of(&under.filesystem));
                for (name, value) in under.filesystem.features {
                    found.features.insert(format!("below.{name}"), value);
                }
                found.features.insert("below.options".to_owned(), under.filesystem.options.join(","));
                under.tops
            }
            Err(error) => {
                self.unseen.push(error.to_string());
                Vec::new()
            }
        }
    }

    /// Returns the devices of a mounted file system, the mounted one first.
    fn devices_of(&mut self, mount: &Mount) -> Vec<String> {
        let mut numbers = Vec::new();
        if self.sys.exists(format!("/sys/dev/block/{}", mount.number)) {
            numbers.push(mount.number.clone());
        } else {
            // An anonymous number: btrfs, bcachefs (several sources separated by colons),
            // or a user-space file system.
            for source in mount.source.split(':') {
                numbers.extend(device::number_of_source(self.sys, Path::new(source)));
            }
        }
        for option in ["logdev", "rtdev"] {
            let source = mount.option(option).filter(|_| mount.kind == "xfs");
            numbers.extend(source.and_then(|source| device::number_of_source(self.sys, Path::new(source))));
        }
        if mount.kind == "btrfs" {
            numbers.extend(btrfs::devices(self.sys, &numbers));
        }
        let mut tops: Vec<String> = Vec::new();
        for number in numbers {
            tops.extend(self.device(&number));
        }
        let mut once = Vec::new();
        tops.retain(|name| {
            let is_new = !once.contains(name);
            once.push(name.clone());
            is_new
        });
        if tops.is_empty() {
            self.unseen.push(format!(
                "the devices under {}: no block device is called {} or {}",
                mount.point.display(),
                mount.number,
                mount.source
            ));
        }
        tops
    }

    /// Visits a device by number, and everything below it. Returns its name.
    pub(super) fn device(&mut self, number: &str) -> Option<String> {
        match self.sys.follow(format!("/sys/dev/block/{number}")) {
            Some(directory) => self.layer(&directory),
            None => {
                self.unseen.push(format!("the block device {number}: not in /sys/dev/block"));
                None
            }
        }
    }

    /// Visits a device by its directory in sysfs.
    fn layer(&mut self, directory: &Path) -> Option<String> {
        let layer = match self.detail {
            Detail::Whole(serials) => device::describe(self.sys, directory, serials)?,
            Detail::Outline => device::outline(self.sys, directory)?,
        };
        let name = layer.name.clone();
        if self.layers.iter().any(|known| known.name == name) {
            return Some(name);
        }
        let at = self.layers.len();
        let backing = layer.backing_file.clone().map(PathBuf::from);
        let kind = layer.kind;
        self.layers.push(layer);
        let mut below = Vec::new();
        for lower in device::below(self.sys, directory) {
            below.extend(self.layer(&lower));
        }
        if kind == LayerKind::Loop {
            below.extend(self.backing(at, backing));
        }
        self.layers[at].below = below;
        if kind == LayerKind::Partition {
            self.inherit(at);
        }
        Some(name)
    }

    /// A partition has no queue of its own: it inherits block sizes and cache from its disk.
    fn inherit(&mut self, at: usize) {
        let Some(name) = self.layers[at].below.first().cloned() else { return };
        let Some(disk) = self.layers.iter().find(|layer| layer.name == name).cloned() else { return };
        let partition = &mut self.layers[at];
        partition.rotational = disk.rotational;
        partition.write_cache = disk.write_cache;
        partition.logical_block_bytes = disk.logical_block_bytes;
        partition.physical_block_bytes = disk.physical_block_bytes;
        partition.optimal_io_bytes = disk.optimal_io_bytes;
        if let Some(iostats) = disk.settings.get("iostats") {
            partition.settings.insert("iostats".to_owned(), iostats.clone());
        }
    }

    /// Visits the storage under a loop device's backing file.
    fn backing(&mut self, at: usize, backing: Option<PathBuf>) -> Vec<String> {
        let Some(backing) = backing else { return Vec::new() };
        if backing.to_string_lossy().starts_with("/memfd:") {
            self.layers[at].settings.insert("stands_on".to_owned(), "memfd".to_owned());
            self.set_medium(at, device::MEMORY);
            return Vec::new();
        }
        let Some(existing) = self.existing(&backing) else {
            return self.lost_backing(at, &backing);
        };
        if let Some(number) = self.block_device(&existing) {
            return self.device(&number).into_iter().collect();
        }
        match self.storage_under(&existing) {
            Ok(under) => {
                let text = base_of(&under.filesystem);
                self.layers[at].settings.insert("stands_on".to_owned(), text);
                if under.filesystem.in_memory {
                    self.set_medium(at, device::MEMORY);
                }
                under.tops
            }
            Err(error) => {
                self.unseen.push(error.to_string());
                self.set_medium(at, device::UNKNOWN_MEDIUM);
                Vec::new()
            }
        }
    }

    fn set_medium(&mut self, at: usize, medium: &str) {
        self.layers[at].settings.insert("medium".to_owned(), medium.to_owned());
    }

    /// Visits the storage under a backing file without a name here: deleted, or in another mount namespace. The
    /// kernel still knows the number of its file system.
    fn lost_backing(&mut self, at: usize, backing: &Path) -> Vec<String> {
        let name = self.layers[at].name.clone();
        let number = if self.sys.is_real() { platform::loop_backing_number(&name) } else { None };
        if let Some(number) = number {
            if self.sys.exists(format!("/sys/dev/block/{number}")) {
                return self.device(&number).into_iter().collect();
            }
            // Another namespace's mounts are those of process 1, if they are readable.
            let tables = ["/proc/self/mountinfo", "/proc/1/mountinfo"];
            let mounts = tables.iter().filter_map(|table| self.sys.read(table).ok());
            let mount = mounts.flat_map(|text| mounts::parse(&text)).find(|mount| mount.number == number);
            if let Some(mount) = mount {
                let text = format!("{} at {}", mount.kind, mount.point.display());
                self.layers[at].settings.insert("stands_on".to_owned(), text);
                if filesystem::is_in_memory(&mount.kind) {
                    self.set_medium(at, device::MEMORY);
                    return Vec::new();
                }
                let tops = self.devices_of(&mount);
                if tops.is_empty() {
                    self.set_medium(at, device::UNKNOWN_MEDIUM);
                }
                return tops;
            }
        }
        let file = backing.display();
        self.unseen.push(format!("the storage under {name}: {file} was deleted, or is in another mount namespace"));
        self.set_medium(at, device::UNKNOWN_MEDIUM);
        Vec::new()
    }

    /// Returns the path with links resolved; `None` if it does not exist. A described machine has
    /// no files, so all exist.
    fn existing(&self, path: &Path) -> Option<PathBuf> {
        match (path.is_absolute(), self.sys.is_real()) {
            (false, _) => None,
            (true, true) => path.canonicalize().ok(),
            (true, false) => Some(lexical(path)),
        }
    }

    fn block_device(&self, path: &Path) -> Option<String> {
        if self.sys.is_real() { platform::block_number(path) } else { device::number_of_source(self.sys, path) }
    }
}

fn base_of(filesystem: &FileSystem) -> String {
    format!("{} at {}", filesystem.kind, filesystem.mount_point)
}

/// Removes the backslashes of escapes.
fn without_backslashes(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        out.push(if letter == '\\' { letters.next().unwrap_or(letter) } else { letter });
    }
    out
}

/// Splits the directories of `lowerdir` at colons; `\:` is a colon in a name. A double
/// colon begins the data-only ones.
fn split_colons(list: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = list.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => parts.last_mut().expect("there is always a part").extend(letters.next()),
            ':' => parts.push(String::new()),
            other => parts.last_mut().expect("there is always a part").push(other),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: colons in the names of an overlay's directories.
    #[test]
    fn lower_directories() {
        assert_eq!(split_colons("/a\\:b:/c::/d"), ["/a:b", "/c", "/d"]);
        assert!(split_colons("").is_empty());
        assert_eq!(without_backslashes("/a\\,b\\\\c"), "/a,b\\c");
    }
}
