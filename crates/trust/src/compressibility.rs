//! Detects layers below a target that shrink data, and content that they can shrink.

use plumb_result::observe::{BlockLayer, LayerKind, TargetFacts};
use plumb_workload::{Content, Target, WorkerGroup, Workload};
use std::path::Path;

/// Returns the content written to a target; work without its own content counts as random.
pub(crate) fn content(workload: &Workload, target: &str) -> Content {
    let groups = || {
        let groups = workload.phase.iter().flat_map(|phase| &phase.workers);
        groups.filter(|group| group.target == target)
    };
    let job = groups().filter(|group| group.work.foreign_stream().is_some()).find_map(WorkerGroup::own_content);
    let copied = || copies_zeros(workload, target).then_some(Content::Zero);
    if let Some(own) = job.or_else(copied).or_else(|| groups().find_map(WorkerGroup::own_content)) {
        return own;
    }
    match workload.target.get(target) {
        Some(Target::File(target)) => target.content,
        Some(Target::Files(target)) => target.content,
        Some(Target::Tree(target)) => target.content,
        Some(Target::SharedTree(target)) => target.content,
        Some(Target::Recorded(target)) => target.content,
        Some(Target::Device(target)) => target.content,
        Some(Target::JobFiles(_) | Target::Scratch(_) | Target::Host(_) | Target::Null(_) | Target::Sim(_)) | None => {
            Content::Random
        }
    }
}

/// Returns `true` if a copy of `/dev/zero` is written to a target.
fn copies_zeros(workload: &Workload, target: &str) -> bool {
    let mut copies = workload.phase.iter().flat_map(|phase| &phase.workers).filter_map(|group| group.work.copy());
    copies.any(|copy| {
        let from = copy.from.as_ref().and_then(|from| workload.target.get(from));
        let of_zeros = matches!(from, Some(Target::JobFiles(files)) if files.names.path(0).is_some_and(|path| path == Path::new("/dev/zero")));
        of_zeros && copy.to.as_deref() == Some(target) && copy.conversion.is_nothing()
    })
}

/// Names the layer below a target that compresses or deduplicates, as users know it.
pub(crate) fn compressor(facts: &TargetFacts) -> Option<String> {
    let filesystem = facts.filesystem.value().and_then(|fs| {
        let option = fs.options.iter().find(|option| compresses(option));
        match option {
            Some(option) => Some(format!("{} mounted with {option}", fs.kind)),
            // Compression is on by default from OpenZFS 2.2 on. Source: zfsprops(7).
            None if fs.kind == "zfs" => Some("zfs, which compresses by default".to_owned()),
            None => None,
        }
    });
    filesystem.or_else(|| facts.stack.iter().find_map(layer))
}

/// Returns `true` if a mount option enables compression: `compress=zstd:3`, `compress-force=lzo` (btrfs),
/// `compress_algorithm=lz4` (f2fs), `compression=lz4` (bcachefs). Source: btrfs(5),
/// Documentation/filesystems/f2fs.rst.
fn compresses(option: &str) -> bool {
    const ALGORITHM: [&str; 4] = ["compress", "compress-force", "compress_algorithm", "compression"];
    match option.split_once('=') {
        Some((name, value)) => ALGORITHM.contains(&name) && !matches!(value, "no" | "none"),
        None => matches!(option, "compress" | "compress-force"),
    }
}

/// Names a block layer that compresses or deduplicates. VDO is a target of the device mapper: on its own, or as the
/// pool `…-vpool` of an LVM volume. Source: lvmvdo(7).
fn layer(layer: &BlockLayer) -> Option<String> {
    if layer.kind == LayerKind::Zram {
        return Some(format!("{} (zram)", layer.name));
    }
    let setting = |name: &str| layer.settings.get(name).map_or("", String::as_str);
    let is_vdo = setting("dm_type") == "VDO" || setting("dm_uuid").ends_with("-vpool");
    is_vdo.then(|| format!("{} (VDO)", layer.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::Seen;
    use plumb_result::observe::FileSystem;

    fn mounted(kind: &str, option: &str) -> TargetFacts {
        let options = vec!["rw".to_owned(), option.to_owned()];
        let filesystem = Seen::Yes(FileSystem { kind: kind.to_owned(), options, ..FileSystem::default() });
        TargetFacts { filesystem, ..TargetFacts::default() }
    }

    #[test]
    fn each_file_system_has_its_own_option() {
        for (kind, option) in [
            ("btrfs", "compress=zstd:3"),
            ("btrfs", "compress-force=lzo"),
            ("f2fs", "compress_algorithm=lz4"),
            ("zfs", "xattr"),
        ] {
            assert!(compressor(&mounted(kind, option)).is_some(), "{kind} {option}");
        }
        for (kind, option) in [
            ("btrfs", "compress=no"),
            ("ext4", "relatime"),
            ("f2fs", "compress_log_size=2"),
            ("btrfs", "compress=none"),
        ] {
            assert_eq!(compressor(&mounted(kind, option)), None, "{kind} {option}");
        }
    }

    #[test]
    fn vdo_is_recognised_by_its_name_in_the_device_mapper() {
        let facts = |name: &str, value: &str| TargetFacts {
            stack: vec![BlockLayer {
                kind: LayerKind::Lvm,
                settings: [(name.to_owned(), value.to_owned())].into(),
                ..BlockLayer::default()
            }],
            ..TargetFacts::default()
        };
        assert!(compressor(&facts("dm_uuid", "LVM-abc-vpool")).is_some());
        assert!(compressor(&facts("dm_type", "VDO")).is_some());
        assert_eq!(compressor(&facts("dm_uuid", "LVM-abc")), None);
    }
}
