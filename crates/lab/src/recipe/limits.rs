//! I/O limits of the measured processes on a device: a control group, of either version. Sources:
//! the kernel's `admin-guide/cgroup-v1/blkio-controller.rst` and `admin-guide/cgroup-v2.rst`.

use crate::error::Cause;
use crate::site::Site;
use crate::step::IoLimits;
use crate::system::{self, MountPoint};
use crate::undo::{OWN_PREFIX, Undo};
use plumb_engine::guard::write_setting;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// The hierarchy of the blkio controller: throttles direct I/O and buffered reads.
    One,
    /// The unified hierarchy: it also knows whose data writeback writes.
    Two,
}

/// Sets limits on a device for the group of the measured processes. Creates the group if there is none.
pub(super) fn set(device: &Path, limits: &IoLimits, site: &mut Site<'_>) -> Result<(), Cause> {
    let mounts = system::mounts().map_err(Cause::io("read the table of mounts"))?;
    let Some((root, version)) = hierarchy(&mounts) else {
        let text = "`limits`: no control group hierarchy here controls I/O (neither blkio nor cgroup2 with io)";
        return Err(Cause::Unavailable(text.to_owned()));
    };
    let number = system::device_number(device).unwrap_or(0);
    let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
    let group = group(&root, version, site)?;
    for (file, text) in settings(version, &number, limits) {
        let path = group.join(file);
        write_setting(&path, &text).map_err(|error| {
            Cause::Unavailable(format!("`limits`: this kernel rejects `{text}` in {}: {error}", path.display()))
        })?;
    }
    Ok(())
}

fn group(root: &Path, version: Version, site: &mut Site<'_>) -> Result<PathBuf, Cause> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    if let Some(group) = &site.standing.group {
        return Ok(group.clone());
    }
    if version == Version::Two {
        // Not undone: others may depend on it by then.
        let _ = write_setting(root.join("cgroup.subtree_control"), "+io");
    }
    let name = format!("{OWN_PREFIX}{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
    let path = root.join(name);
    site.record_undo(Undo::ControlGroup { path: path.clone() })?;
    fs::create_dir(&path).map_err(Cause::io(format!("make the control group {}", path.display())))?;
    site.standing.group = Some(path.clone());
    Ok(path)
}

/// Returns the hierarchy that controls I/O: blkio's if it is mounted, else the unified one.
fn hierarchy(mounts: &[MountPoint]) -> Option<(PathBuf, Version)> {
    let has_io = |mount: &MountPoint| match mount.kind.as_str() {
        "cgroup" if mount.options.split(',').any(|option| option == "blkio") => Some(Version::One),
        "cgroup2" => system::text(&mount.target.join("cgroup.controllers"))
            .is_ok_and(|text| text.split_whitespace().any(|controller| controller == "io"))
            .then_some(Version::Two),
        _ => None,
    };
    mounts.iter().find_map(|mount| Some((mount.target.clone(), has_io(mount)?)))
}

/// Returns the files and the text to write into each.
fn settings(version: Version, device: &str, limits: &IoLimits) -> Vec<(String, String)> {
    let limits_set = [
        ("read_bps_device", "rbps", limits.read_bps.map(|bytes| bytes.0)),
        ("write_bps_device", "wbps", limits.write_bps.map(|bytes| bytes.0)),
        ("read_iops_device", "riops", limits.read_iops.map(|count| count.0)),
        ("write_iops_device", "wiops", limits.write_iops.map(|count| count.0)),
    ];
    let limits_set = limits_set.into_iter().filter_map(|(one, two, value)| Some((one, two, value?)));
    match version {
        Version::One => {
            limits_set.map(|(file, _, value)| (format!("blkio.throttle.{file}"), format!("{device} {value}"))).collect()
        }
        Version::Two => {
            let words: Vec<String> = limits_set.map(|(_, word, value)| format!("{word}={value}")).collect();
            vec![("io.max".to_owned(), format!("{device} {}", words.join(" ")))]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_get_the_same_limits() {
        let limits: IoLimits = plumb_document::json::from_str(r#"{"read-bps": "10MiB", "write-iops": 100}"#).unwrap();
        let one = settings(Version::One, "7:0", &limits);
        assert_eq!(one[0], ("blkio.throttle.read_bps_device".to_owned(), "7:0 10485760".to_owned()));
        assert_eq!(one[1], ("blkio.throttle.write_iops_device".to_owned(), "7:0 100".to_owned()));
        let two = settings(Version::Two, "7:0", &limits);
        assert_eq!(two, [("io.max".to_owned(), "7:0 rbps=10485760 wiops=100".to_owned())]);
    }

    #[test]
    fn the_hierarchy_of_blkio_is_found_among_others() {
        let mount = |target: &str, kind: &str, options: &str| MountPoint {
            target: target.into(),
            source: "none".into(),
            kind: kind.to_owned(),
            options: options.to_owned(),
        };
        let mounts = [mount("/c/cpu", "cgroup", "rw,cpu"), mount("/c/blkio", "cgroup", "rw,blkio")];
        assert_eq!(hierarchy(&mounts), Some(("/c/blkio".into(), Version::One)));
        assert_eq!(hierarchy(&mounts[..1]), None);
    }
}
