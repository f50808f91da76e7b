//! Named workloads on a device. Their files become consecutive parts of the device, from its beginning.

use super::MIB;
use plumb_workload::target::{DeviceTarget, Target};
use plumb_workload::units::{Bytes, Size};
use plumb_workload::{Content, Workload};
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the only target.
const DEVICE: &str = "device";

/// Reason why a workload cannot run on a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotOnDevice {
    /// The workload creates, names or counts files.
    #[error(
        "{workload} works on files (`{target}`), but a device has none; name a directory on one of its file systems"
    )]
    NeedsFiles { workload: String, target: String },
    /// The workload does not fit on the device.
    #[error("{workload} needs {needed}, but the device has {capacity}; name a larger one")]
    TooSmall { workload: String, needed: Bytes, capacity: Bytes },
}

/// Part of the device that stands for a file.
struct Part {
    start: u64,
    length: u64,
}

/// Converts a workload on files to one on a device of this many bytes.
///
/// # Errors
/// Fails if the workload needs files, or more space.
pub fn on_device(mut workload: Workload, path: &Path, capacity: u64) -> Result<Workload, NotOnDevice> {
    let needs_files =
        |target: &str| NotOnDevice::NeedsFiles { workload: workload.name.clone(), target: target.to_owned() };
    let mut parts = BTreeMap::new();
    let mut end = 0u64;
    let mut content = Content::default();
    for (name, target) in &workload.target {
        let Target::File(file) = target else { return Err(needs_files(name)) };
        let Some(Size::Bytes(length)) = file.size else { return Err(needs_files(name)) };
        parts.insert(name.clone(), Part { start: end, length: length.0 });
        end = end.saturating_add(length.0).div_ceil(MIB).saturating_mul(MIB);
        content = file.content;
    }
    for group in workload.phase.iter().flat_map(|phase| &phase.workers) {
        if group.work.blocks().is_none() {
            return Err(needs_files(&group.target));
        }
    }
    if end > capacity {
        let (needed, capacity) = (Bytes(end), Bytes(capacity));
        return Err(NotOnDevice::TooSmall { workload: workload.name, needed, capacity });
    }
    for group in workload.phase.iter_mut().flat_map(|phase| &mut phase.workers) {
        let Some(part) = parts.get(&group.target) else { continue };
        if let Some(blocks) = group.work.blocks_mut() {
            let room = part.length.saturating_sub(blocks.offset.0);
            blocks.span.get_or_insert(Bytes(room));
            blocks.offset.0 += part.start;
        }
        DEVICE.clone_into(&mut group.target);
    }
    let size = Some(Size::Bytes(Bytes(end)));
    let device = DeviceTarget { path: path.to_owned(), size, destroy_serial: None, content };
    workload.target = BTreeMap::from([(DEVICE.to_owned(), Target::Device(device))]);
    Ok(workload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named::{RunPlace, Scale, load_of, use_named};
    use crate::validate::validate;

    fn named_on_device(name: &str, capacity: u64) -> Result<Workload, NotOnDevice> {
        let workload = load_of(use_named(name).unwrap()).workload(&Scale::moderate(RunPlace::Directory));
        on_device(workload, Path::new("/dev/x"), capacity)
    }

    // Protects against overlap: each worker stays in its own part, and no part is outside the space in use.
    #[test]
    fn files_become_parts_of_the_device() {
        let mysql = named_on_device("mysql", 4 << 30).unwrap();
        assert_eq!(validate(&mysql), []);
        let parts: Vec<(u64, u64, &str)> = mysql.phase[0]
            .workers
            .iter()
            .map(|group| {
                let blocks = group.work.blocks().unwrap();
                (blocks.offset.0, blocks.span.unwrap().0, group.target.as_str())
            })
            .collect();
        assert_eq!(parts, [(0, 256 << 20, "device"), (256 << 20, 64 << 20, "device")]);
        let Some(Target::Device(device)) = mysql.target.get("device") else { panic!("{:?}", mysql.target) };
        assert_eq!((device.size, device.destroy_serial.as_deref()), (Some(Size::Bytes(Bytes(320 << 20))), None));
        for name in ["etcd", "kubernetes", "vm-image", "ceph-osd"] {
            assert_eq!(validate(&named_on_device(name, 4 << 30).unwrap()), [], "{name}");
        }
    }

    #[test]
    fn loads_that_need_files_or_more_space_are_refused() {
        for name in ["kafka", "mail", "nfs-home", "video"] {
            assert!(matches!(named_on_device(name, 1 << 40), Err(NotOnDevice::NeedsFiles { .. })), "{name}");
        }
        assert_eq!(
            named_on_device("mysql", 1 << 20).unwrap_err().to_string(),
            "innodb-like needs 320MiB, but the device has 1MiB; name a larger one"
        );
    }
}
