//! Rules about the layers below the system under test: caches of hosts and devices, file systems that store less
//! than is written, and unwritten blocks.

use super::moved::reads_its_file;
use super::rule::{AppliedTo, Draft, Rule, distinct, grouped, ids, listed};
use crate::command::{self, CommandAction};
use crate::form::Durability;
use crate::prepare::Prepared;
use crate::view::{CellView, View};
use plumb_result::Level;
use plumb_trust::text::{bytes, bytes_exact};

pub(crate) static HOLES: Rule = Rule {
    code: "A1",
    name: "holes",
    what: "Reads of files or devices that were lengthened, allocated or discarded, and never written.",
    fix: "Write the whole file before it is read.",
    stage: AppliedTo::Study(holes),
};

pub(crate) static DEVICE_CACHE: Rule = Rule {
    code: "B6",
    name: "device-cache",
    what: "Data that a disk's or controller's own cache holds, around the page cache and without a flush.",
    fix: "Transfer many times what the device caches, or flush within the measured time.",
    stage: AppliedTo::Study(device_cache),
};

pub(crate) static HOST_CACHE: Rule = Rule {
    code: "C14",
    name: "host-cache",
    what: "Direct I/O or dropped caches in a virtual machine whose host caches its disks.",
    fix: "Use cache=none or a passed-through disk and say so, or files much larger than the host's memory.",
    stage: AppliedTo::Study(host_cache),
};

/// Returns the study's own words for a compressing or deduplicating file system of a side.
pub(super) fn shrinks(view: &View<'_>, side: &str) -> Option<String> {
    const SHRINKING: [&str; 7] = ["compress", "dedup", "lz4", "zstd", "zlib", "lzo", "vdo"];
    let is_off = |text: &str| {
        ["off", "none", "no", "disabled", "uncompressed", "false"]
            .iter()
            .any(|word| text.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part == *word))
    };
    let of_side = view.study.side.iter().find(|known| known.id == side)?;
    let facts: Vec<String> = of_side.facts.iter().map(|(key, value)| format!("{key} {value}").to_lowercase()).collect();
    let stated_off = facts.iter().any(|fact| fact.contains("compress") && is_off(fact));
    for (key, value) in &of_side.facts {
        let fact = format!("{key} {value}").to_lowercase();
        if SHRINKING.iter().any(|word| fact.contains(word)) && !is_off(&fact) {
            return Some(value.clone());
        }
        // ZFS compresses zeros away unless compression was turned off.
        if key == "fs" && fact.contains("zfs") && !stated_off {
            return Some(value.clone());
        }
    }
    let steps = view.study.setup.iter().filter(|step| step.side.as_ref().is_none_or(|of| of == side));
    let prepared = Prepared::from_lines(steps.map(|step| step.command.as_str()));
    let named = |name: &str| ["compress", "compress-force", "compression", "dedup"].contains(&name);
    let setting = prepared.settings.iter().find(|(name, setting)| named(name) && !is_off(&setting.value));
    setting.map(|(name, setting)| format!("{name}={}", setting.value))
}

/// A file or device that was never written, and the program that created it.
struct Unwritten {
    path: String,
    by: &'static str,
}

fn holes(view: &View<'_>) -> Vec<Draft> {
    let mut found: Vec<Draft> = Vec::new();
    for side in &view.study.side {
        let mut unwritten: Vec<Unwritten> = Vec::new();
        for step in view.study.setup.iter().filter(|step| step.side.as_ref().is_none_or(|of| *of == side.id)) {
            follow(&step.command, &mut unwritten);
        }
        let mut lines: Vec<&str> = Vec::new();
        for cell in view.cells.iter().filter(|cell| cell.cell.side == side.id) {
            // A line that yields several numbers runs once; it creates its files before it reads them.
            if let Some(line) = cell.command().filter(|line| lines.last() != Some(line)) {
                lines.push(line);
                follow(line, &mut unwritten);
            }
            let reads = cell.actions.iter().flat_map(CommandAction::read_only_files);
            let hit = reads.into_iter().find_map(|path| unwritten.iter().find(|known| known.path == path));
            let Some(Unwritten { path, by }) = hit.filter(|_| cell.cell.metric.reads()) else { continue };
            let message = format!(
                "{} reads {path}, which {by} made and nothing wrote: the file system or the device answers with zeros, \
                 without reading anything.",
                cell.test.id
            );
            match found.iter_mut().find(|draft| draft.message == message) {
                Some(draft) => draft.cells.push(cell.id()),
                None => {
                    let observed = format!("{path} by {by}");
                    found.push(Draft { level: Level::Fail, cells: vec![cell.id()], observed, message });
                }
            }
        }
    }
    found
}

/// Tracks the files that a line creates without writing them, and those that it writes.
fn follow(line: &str, unwritten: &mut Vec<Unwritten>) {
    for part in command::parts(line) {
        let words = command::without_launcher(part);
        let Some((program, arguments)) = words.split_first() else { continue };
        let program = program.rsplit('/').next().unwrap_or(program);
        let by = match program {
            "truncate" => Some("truncate"),
            "fallocate" => Some("fallocate"),
            "blkdiscard" => Some("blkdiscard"),
            "fstrim" => None,
            "nvme" if arguments.iter().any(|word| word == "format" || word == "sanitize") => Some("nvme format"),
            "hdparm" if arguments.iter().any(|word| word.starts_with("--security-erase")) => Some("a secure erase"),
            "xfs_io" if arguments.iter().any(|word| ["truncate", "falloc", "resvsp"].contains(&word.as_str())) => {
                Some("xfs_io")
            }
            _ => None,
        };
        if let (Some(by), Some(path)) = (by, arguments.iter().rfind(|word| word.starts_with('/'))) {
            unwritten.retain(|known| known.path != *path);
            unwritten.push(Unwritten { path: path.clone(), by });
        }
        if let ("cp" | "shred" | "rsync", Some(path)) = (program, arguments.last()) {
            unwritten.retain(|known| known.path != *path);
        }
    }
    for action in command::read(line) {
        if let CommandAction::Dd(dd) = &action
            && let Some(path) = dd.output().filter(|path| *path != "/dev/null")
        {
            // One block after a gap makes a file that is almost only a hole.
            let is_hole = dd.seeks_to() > 0 && dd.bytes().is_some_and(|bytes| bytes < dd.seeks_to() / 2);
            if is_hole {
                unwritten.push(Unwritten { path: path.to_owned(), by: "dd with seek" });
                continue;
            }
        }
        let written = action.files_written();
        unwritten.retain(|known| !written.contains(&known.path));
    }
}

/// Words for a virtual disk that the host does not cache.
const UNCACHED: [&str; 8] = [
    "cache=none",
    "cache none",
    "cache=directsync",
    "no host cache",
    "host cache off",
    "passthrough",
    "pass-through",
    "passed through",
];

fn host_cache(view: &View<'_>) -> Vec<Draft> {
    let machine = &view.study.machine;
    let Some(by) = &machine.virtual_by else { return Vec::new() };
    let texts = [Some(by), machine.disks.as_ref()];
    let facts = view.study.side.iter().flat_map(|side| side.facts.iter().map(|(key, value)| format!("{key}={value}")));
    let descriptions: Vec<String> =
        texts.into_iter().flatten().cloned().chain(facts).map(|text| text.to_lowercase()).collect();
    let is_container = ["docker", "podman", "lxc", "container"].iter().any(|name| descriptions[0].contains(name));
    if is_container || descriptions.iter().any(|text| UNCACHED.iter().any(|word| text.contains(word))) {
        return Vec::new();
    }
    let goes_around = |cell: &&CellView<'_>| {
        let around = if reads_its_file(cell) {
            cell.is_cold()
        } else {
            cell.cell.metric.writes() && cell.durability == Some(Durability::Direct)
        };
        // Ratio of file to memory up to which a part of the file stays cached.
        const CLIFF: f64 = 1.5;
        let fits = |ram: u64| cell.set_bytes.is_some_and(|set| set as f64 <= CLIFF * ram as f64);
        around && cell.cell.value.is_some() && machine.host_ram.is_none_or(|ram| fits(ram.0))
    };
    let cells: Vec<&CellView<'_>> = view.cells.iter().filter(goes_around).collect();
    if cells.is_empty() {
        return Vec::new();
    }
    let memory = match machine.host_ram {
        Some(ram) => format!("its {} of memory can hold the files", bytes_exact(ram.0)),
        None => "its memory is not stated".to_owned(),
    };
    vec![Draft {
        level: Level::Warn,
        cells: ids(cells.iter().copied()),
        observed: format!("{by}, {memory}"),
        message: format!(
            "Direct I/O and dropped caches in a guest of {by} go around the guest's cache alone: the study does not say \
             that the host caches nothing, and {memory}."
        ),
    }]
}

fn device_cache(view: &View<'_>) -> Vec<Draft> {
    /// Assumed cache size of disks and controllers.
    const ASSUMED_BYTES: u64 = 256 << 20;
    let stated = view.study.machine.device_cache.map(|cache| cache.0);
    let cache = stated.unwrap_or(ASSUMED_BYTES);
    let small = view.cells.iter().filter(|cell| {
        let around = if reads_its_file(cell) {
            cell.is_cold()
        } else {
            cell.cell.metric.writes() && cell.durability == Some(Durability::Direct)
        };
        around && cell.cell.value.is_some() && cell.set_bytes.is_some_and(|set| set > 0 && set <= cache)
    });
    grouped(small, |cell| cell.test.tool.clone())
        .into_iter()
        .map(|(tool, cells)| {
            let largest = cells.iter().filter_map(|cell| cell.set_bytes).max().unwrap_or(0);
            let whose = if stated.is_some() { "of the device's cache" } else { "that caches of disks hold" };
            Draft {
                level: Level::Warn,
                cells: ids(cells.iter().copied()),
                observed: format!("{} against {}", bytes(largest), bytes_exact(cache)),
                message: format!(
                    "{tool} moved at most {} of data over and over, within the {} {whose}: the medium may not have \
                     been asked.",
                    bytes(largest),
                    bytes_exact(cache)
                ),
            }
        })
        .collect()
}

/// Returns the file systems, among the sides of cells, that store less than is written.
pub(super) fn shrinking_sides(view: &View<'_>, cells: &[&CellView<'_>]) -> Vec<String> {
    let of_cells = cells.iter().filter_map(|cell| shrinks(view, &cell.cell.side));
    let mut names = distinct(of_cells);
    let disks = view.study.machine.disks.clone().unwrap_or_default();
    let lower = disks.to_lowercase();
    if ["sandforce", "dedup", "compress", "vdo"].iter().any(|word| lower.contains(word)) {
        names.push(disks);
    }
    names
}

/// Formats the names: `, onto btrfs and zfs, which store little of them`.
pub(super) fn shrinking_words(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    format!(", onto storage that compresses or deduplicates ({}), so that hardly anything was written", listed(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(lines: &[&str]) -> Vec<String> {
        let mut unwritten = Vec::new();
        lines.iter().for_each(|line| follow(line, &mut unwritten));
        unwritten.into_iter().map(|known| format!("{} by {}", known.path, known.by)).collect()
    }

    #[test]
    fn unwritten_files_are_tracked() {
        assert_eq!(left(&["truncate -s 64g /mnt/f"]), ["/mnt/f by truncate"]);
        assert_eq!(left(&["sudo fallocate -l 64g /mnt/f"]), ["/mnt/f by fallocate"]);
        assert_eq!(left(&["truncate -s 64g /mnt/f", "dd if=/dev/urandom of=/mnt/f bs=1M"]), [] as [&str; 0]);
        assert_eq!(
            left(&["truncate -s 1g /mnt/f", "fio --name=x --filename=/mnt/f --rw=write --size=1g"]),
            [] as [&str; 0]
        );
        assert_eq!(
            left(&["truncate -s 1g /mnt/f", "fio --name=x --filename=/mnt/f --rw=read"]),
            ["/mnt/f by truncate"]
        );
        assert_eq!(left(&["dd if=/dev/zero of=/mnt/f bs=1M count=0 seek=65536"]), ["/mnt/f by dd with seek"]);
        assert_eq!(left(&["dd if=/dev/zero of=/mnt/f bs=1M count=64 seek=1"]), [] as [&str; 0], "it writes nearly all");
        assert_eq!(left(&["blkdiscard -f /dev/nvme0n1"]), ["/dev/nvme0n1 by blkdiscard"]);
    }
}
