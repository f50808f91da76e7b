//! btrfs. Source: Documentation/filesystems/btrfs.rst and btrfs(5), section "SYSFS".

use crate::mounts::Mount;
use crate::sysroot::Sysroot;
use plumb_result::Seen;
use std::collections::BTreeMap;

const DIRECTORY: &str = "/sys/fs/btrfs";

/// Returns the UUID of the file system on a device: the name of its directory in sysfs.
fn uuid_with(sys: &Sysroot, device: &str) -> Option<String> {
    sys.names(DIRECTORY).into_iter().find(|uuid| sys.exists(format!("{DIRECTORY}/{uuid}/devices/{device}")))
}

/// Returns the numbers of all devices of the file system that one of `numbers` belongs to.
pub(super) fn devices(sys: &Sysroot, numbers: &[String]) -> Vec<String> {
    let of_number = |number: &String| {
        let directory = sys.follow(format!("/sys/dev/block/{number}"))?;
        uuid_with(sys, directory.file_name()?.to_str()?)
    };
    let Some(uuid) = numbers.iter().find_map(of_number) else { return Vec::new() };
    let devices = format!("{DIRECTORY}/{uuid}/devices");
    sys.names(&devices).iter().filter_map(|name| sys.line(format!("{devices}/{name}/dev"))).collect()
}

/// Adds the features listed in sysfs; needs no privilege.
pub(super) fn features(
    sys: &Sysroot,
    mount: &Mount,
    device: &str,
    features: &mut BTreeMap<String, String>,
    uuid: &mut Seen<String>,
    unseen: &mut Vec<String>,
) {
    for option in ["subvol", "subvolid", "compress", "compress-force"] {
        if let Some(value) = mount.option(option) {
            features.insert(option.to_owned(), value.to_owned());
        }
    }
    let Some(found) = uuid_with(sys, &device.replace('/', "!")) else {
        unseen.push(format!("the features of btrfs: no directory in {DIRECTORY} has the device {device}"));
        return;
    };
    let directory = format!("{DIRECTORY}/{found}");
    features.insert("features".to_owned(), sys.names(format!("{directory}/features")).join(","));
    for (file, label) in [
        ("nodesize", "node_size"),
        ("sectorsize", "block_size"),
        ("checksum", "checksum"),
        ("exclusive_operation", "exclusive_operation"),
        ("read_policy", "read_policy"),
    ] {
        if let Some(value) = sys.line(format!("{directory}/{file}")) {
            features.insert(label.to_owned(), value);
        }
    }
    // A profile is a directory among files; during a conversion there are two.
    const PROFILES: [&str; 9] = ["single", "dup", "raid0", "raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6"];
    for class in ["data", "metadata", "system", "mixed"] {
        let names = sys.names(format!("{directory}/allocation/{class}"));
        let profiles: Vec<String> = names.into_iter().filter(|name| PROFILES.contains(&name.as_str())).collect();
        if !profiles.is_empty() {
            features.insert(format!("{class}_profile"), profiles.join(","));
        }
    }
    let count = sys.names(format!("{directory}/devices")).len();
    features.insert("devices".to_owned(), count.to_string());
    if uuid.value().is_none() {
        *uuid = Seen::Yes(found);
    }
}
