//! What beneath a target makes bytes smaller, and what content gives way to it.

use plumb_result::observe::{BlockLayer, LayerKind, TargetFacts};
use plumb_workload::job::JobContent;
use plumb_workload::script::ScriptContent;
use plumb_workload::{Content, Target, Work, Workload};
use std::path::Path;

/// What is written to a target; what has no content of its own counts as random.
pub(crate) fn content(workload: &Workload, target: &str) -> Content {
    let mut groups = workload.phase.iter().flat_map(|phase| &phase.workers).filter(|group| group.target == target);
    let job = groups.find_map(|group| match &group.work {
        Work::Job(job) if job.moves().write => Some(job),
        _ => None,
    });
    if let Some(job) = job {
        return of_job(&job.content);
    }
    if copies_zeros(workload, target) {
        return Content::Zero;
    }
    let mut groups = workload.phase.iter().flat_map(|phase| &phase.workers).filter(|group| group.target == target);
    let script = groups.find_map(|group| match &group.work {
        Work::Script(script) if script.writes() => Some(script),
        _ => None,
    });
    if let Some(script) = script {
        if script.postmarks().next().is_some() {
            return POSTMARK;
        }
        return of_script(&script.content);
    }
    match workload.target.get(target) {
        Some(Target::File(target)) => target.content,
        Some(Target::Files(target)) => target.content,
        Some(Target::Tree(target)) => target.content,
        Some(Target::Device(target)) => target.content,
        Some(Target::JobFiles(_) | Target::Scratch(_) | Target::Null(_) | Target::Sim(_)) | None => Content::Random,
    }
}

/// PostMark's files are all the same text from its beginning, of 95 characters: a byte holds 6.6 bits of chance, and no
/// block of 4 KiB is new where another file has it.
const POSTMARK: Content = Content::Reducible { compress_percent: 18, duplicate_percent: 99 };

/// What a script's records are to something that makes bytes smaller.
fn of_script(content: &ScriptContent) -> Content {
    match content {
        ScriptContent::Zeros => Content::Zero,
        // All records are the same, but for a byte.
        ScriptContent::Words { .. } | ScriptContent::Counted | ScriptContent::Ascending => {
            Content::Reducible { compress_percent: 99, duplicate_percent: 99 }
        }
        ScriptContent::Reducible { compress_percent, duplicate_percent } => {
            Content::Reducible { compress_percent: *compress_percent, duplicate_percent: *duplicate_percent }
        }
        ScriptContent::Told { .. } | ScriptContent::Random => Content::Random,
    }
}

/// A copy of `/dev/zero` is written to a target.
fn copies_zeros(workload: &Workload, target: &str) -> bool {
    workload.phase.iter().flat_map(|phase| &phase.workers).any(|group| match &group.work {
        Work::Copy(copy) if copy.to.as_deref() == Some(target) && copy.conversion.is_nothing() => {
            let from = copy.from.as_ref().and_then(|from| workload.target.get(from));
            matches!(from, Some(Target::JobFiles(files)) if files.names.path(0).is_some_and(|path| path == Path::new("/dev/zero")))
        }
        _ => false,
    })
}

/// What a job's blocks are to something that makes bytes smaller.
fn of_job(content: &JobContent) -> Content {
    match (content.zero || content.compress_percent >= 100, content.pattern.is_empty()) {
        (true, _) => Content::Zero,
        // A pattern repeats itself within a few bytes.
        (false, false) => Content::Reducible { compress_percent: 99, duplicate_percent: 99 },
        (false, true) if content.compress_percent == 0 && content.dedupe_percent == 0 => Content::Random,
        (false, true) => {
            Content::Reducible { compress_percent: content.compress_percent, duplicate_percent: content.dedupe_percent }
        }
    }
}

/// What beneath a target compresses or deduplicates, as people know it.
pub(crate) fn squeezer(facts: &TargetFacts) -> Option<String> {
    let filesystem = facts.filesystem.value().and_then(|fs| {
        let option = fs.options.iter().find(|option| compresses(option));
        match option {
            Some(option) => Some(format!("{} mounted with {option}", fs.kind)),
            // Compression is on by default from OpenZFS 2.2 on. Source: zfsprops(7).
            None if fs.kind == "zfs" => Some("zfs, which compresses unless told otherwise".to_owned()),
            None => None,
        }
    });
    filesystem.or_else(|| facts.stack.iter().find_map(layer))
}

/// `compress=zstd:3`, `compress-force=lzo` (btrfs), `compress_algorithm=lz4` (f2fs), `compression=lz4` (bcachefs).
/// Source: btrfs(5), Documentation/filesystems/f2fs.rst.
fn compresses(option: &str) -> bool {
    const ALGORITHM: [&str; 4] = ["compress", "compress-force", "compress_algorithm", "compression"];
    match option.split_once('=') {
        Some((name, value)) => ALGORITHM.contains(&name) && !matches!(value, "no" | "none"),
        None => matches!(option, "compress" | "compress-force"),
    }
}

/// VDO is a target of the device mapper: on its own, or as the pool `…-vpool` of an LVM volume. Source: lvmvdo(7).
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
    fn each_file_system_says_it_in_its_own_words() {
        for (kind, option) in [
            ("btrfs", "compress=zstd:3"),
            ("btrfs", "compress-force=lzo"),
            ("f2fs", "compress_algorithm=lz4"),
            ("zfs", "xattr"),
        ] {
            assert!(squeezer(&mounted(kind, option)).is_some(), "{kind} {option}");
        }
        for (kind, option) in [
            ("btrfs", "compress=no"),
            ("ext4", "relatime"),
            ("f2fs", "compress_log_size=2"),
            ("btrfs", "compress=none"),
        ] {
            assert_eq!(squeezer(&mounted(kind, option)), None, "{kind} {option}");
        }
    }

    #[test]
    fn vdo_is_known_by_its_name_in_the_device_mapper() {
        let facts = |name: &str, value: &str| TargetFacts {
            stack: vec![BlockLayer {
                kind: LayerKind::Lvm,
                settings: [(name.to_owned(), value.to_owned())].into(),
                ..BlockLayer::default()
            }],
            ..TargetFacts::default()
        };
        assert!(squeezer(&facts("dm_uuid", "LVM-abc-vpool")).is_some());
        assert!(squeezer(&facts("dm_type", "VDO")).is_some());
        assert_eq!(squeezer(&facts("dm_uuid", "LVM-abc")), None);
    }
}
