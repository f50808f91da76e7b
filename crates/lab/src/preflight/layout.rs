//! Predicts what steps make, and the upper bound of its size. `None` means unknown.

use super::Ground;
use crate::error::Cause;
use crate::names;
use crate::step::{LvmLayout, Mdadm, Step};
use plumb_workload::units::Bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The predicted result of the steps so far.
pub(super) struct Layout<'a> {
    ground: &'a dyn Ground,
    /// Sizes of devices or mounts, by step name.
    made: BTreeMap<String, Vec<Option<u64>>>,
    /// Mount points and their sizes.
    mounts: Vec<(PathBuf, Option<u64>)>,
}

impl<'a> Layout<'a> {
    pub(super) fn on(ground: &'a dyn Ground) -> Layout<'a> {
        Layout { ground, made: BTreeMap::new(), mounts: Vec::new() }
    }

    /// Whether a step has this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.made.contains_key(name)
    }

    /// Returns the size of the first item that a step made.
    pub(super) fn first_of(&self, name: &str) -> Option<u64> {
        self.made.get(name)?.first().copied().flatten()
    }

    /// Returns the sizes of the named devices: `@name`, or paths.
    ///
    /// # Errors
    /// Returns an error if a name is unknown or a device may not be destroyed.
    pub(super) fn devices(&self, names: &[String]) -> Result<Vec<Option<u64>>, Cause> {
        let mut found = Vec::new();
        for name in names {
            match name.strip_prefix('@') {
                Some(name) => found.extend(self.named(name)?),
                None => found.push(self.ground.device(Path::new(name))?),
            }
        }
        Ok(found)
    }

    /// Returns the size of a single named device.
    ///
    /// # Errors
    /// Returns the errors of [`Layout::devices`], or an error if the name refers to several devices.
    pub(super) fn device(&self, field: &'static str, name: &str) -> Result<Option<u64>, Cause> {
        names::only(field, name, self.devices(&[name.to_owned()])?)
    }

    fn named(&self, name: &str) -> Result<Vec<Option<u64>>, Cause> {
        let all = |name: &str| match (self.made.get(name), name) {
            (Some(made), _) => Ok(Some(made.clone())),
            (None, "expendable" | "disks") => self.ground.expendable().map(Some),
            (None, _) => Ok(None),
        };
        names::resolve(name, all, || self.made.keys().cloned().collect())
    }

    /// Returns the mount that a path would be on: its mount point and size.
    pub(super) fn mount_above(&self, path: &Path) -> Option<(&Path, Option<u64>)> {
        let above = self.mounts.iter().filter(|(target, _)| path.starts_with(target));
        above.max_by_key(|(target, _)| target.components().count()).map(|(target, bytes)| (target.as_path(), *bytes))
    }

    /// Returns the free bytes of a directory that must exist: on the mount of an earlier step, which creates no
    /// directories, or on the existing system.
    pub(super) fn directory(&self, name: &str) -> Result<Option<u64>, String> {
        let path = match name.strip_prefix('@') {
            // Usually a mount point.
            Some(step) => {
                return self
                    .named(step)
                    .map(|found| found.first().copied().flatten())
                    .map_err(|error| error.to_string());
            }
            None => Path::new(name),
        };
        match self.mount_above(path) {
            Some((_, bytes)) => Ok(bytes),
            None => self.ground.directory(path),
        }
    }

    /// Adds the result of a step.
    pub(super) fn add(&mut self, step: &Step, sizes: Vec<Option<u64>>) {
        let mount = match step {
            Step::Mkfs(step) => step.mount.as_ref(),
            Step::Btrfs(step) => step.mount.as_ref(),
            Step::Newfs(step) => step.mount.as_ref(),
            Step::Mount(step) => Some(&step.mount),
            Step::Overlay(step) => Some(&step.mount),
            Step::Tmpfs(step) => Some(&step.mount),
            Step::Nfs(step) => Some(&step.mount),
            Step::Zpool(step) => step.mount.as_ref(),
            _ => None,
        };
        if let Some(target) = mount {
            self.mounts.push((PathBuf::from(target), sizes.first().copied().flatten()));
        }
        if let Some(name) = step.name() {
            self.made.insert(name.to_owned(), sizes);
        }
    }
}

/// Returns the sum if all sizes are known.
pub(super) fn sum(sizes: &[Option<u64>]) -> Option<u64> {
    sizes.iter().try_fold(0_u64, |sum, size| Some(sum.saturating_add((*size)?)))
}

/// Returns the smallest known size, and the number of sizes.
fn smallest(sizes: &[Option<u64>]) -> Option<(u64, u64)> {
    Some((sizes.iter().copied().collect::<Option<Vec<u64>>>()?.into_iter().min()?, sizes.len() as u64))
}

/// Returns the maximum capacity of an array over these members. Source: md(4).
pub(super) fn array_bytes(step: &Mdadm, level: &str, members: &[Option<u64>]) -> Option<u64> {
    let (least, count) = smallest(members)?;
    let least = step.size.map_or(least, |size| size.0.min(least));
    match level {
        // RAID 0 also uses the excess of larger members.
        "0" if step.size.is_none() => sum(members),
        "0" => Some(least * count),
        "1" => Some(least),
        "4" | "5" => Some(least * count.saturating_sub(1)),
        "6" => Some(least * count.saturating_sub(2)),
        // Two copies, unless the layout asks for more.
        _ => Some(least * count / 2),
    }
}

/// Returns the maximum capacity of a logical volume.
pub(super) fn volume_bytes(layout: LvmLayout, size: Option<Bytes>, devices: &[Option<u64>]) -> Option<u64> {
    if let Some(size) = size {
        return Some(size.0);
    }
    match layout {
        LvmLayout::Linear | LvmLayout::Thin => sum(devices),
        LvmLayout::Striped => smallest(devices).map(|(least, count)| least * count),
        LvmLayout::Mirror => smallest(devices).map(|(least, _)| least),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: no array or volume is underestimated, so only data that really do not fit are reported.
    #[test]
    fn sizes_of_arrays_and_volumes_follow_from_their_members() {
        let step = |text: &str| -> Mdadm { plumb_document::json::from_str(text).unwrap() };
        let plain = step(r#"{"name": "a", "level": 5, "devices": "@disks"}"#);
        let members = [Some(100), Some(80), Some(120)];
        let bytes = |level| array_bytes(&plain, level, &members).unwrap();
        assert_eq!(["0", "1", "4", "5", "6", "10"].map(bytes), [300, 80, 160, 160, 80, 120]);
        let part = step(r#"{"name": "a", "level": 5, "devices": "@disks", "size": 50}"#);
        assert_eq!((array_bytes(&part, "5", &members), array_bytes(&part, "0", &members)), (Some(100), Some(150)));
        assert_eq!(array_bytes(&plain, "5", &[Some(1), None, Some(3)]), None);
        let volume = |layout| volume_bytes(layout, None, &members).unwrap();
        assert_eq!([LvmLayout::Linear, LvmLayout::Striped, LvmLayout::Mirror].map(volume), [300, 240, 80]);
        assert_eq!(volume_bytes(LvmLayout::Thin, Some(Bytes(7)), &members), Some(7));
    }
}
