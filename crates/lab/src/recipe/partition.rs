//! Partitions. Source: sfdisk(8), partx(8).

use crate::command::{Command, word};
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::{Partition, PartitionTable};
use crate::system;
use crate::undo::Undo;
use plumb_engine::guard;
use plumb_workload::units::Bytes;
use std::path::Path;
use std::time::Duration;

/// Time limit for the nodes of partitions to appear.
const NODE_PATIENCE: Duration = Duration::from_secs(10);

/// Space for a table at the end of the device: the copy of a GPT takes 33 sectors of up to 4 KiB.
const TABLE_BYTES: u64 = 33 * 4096;

/// Word for a partition that takes the rest of the disk.
const REST: &str = "rest";

pub(super) fn build(step: &Partition, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    let disk = site.claim_one("device", &step.device)?;
    let bytes = system::device_bytes(&disk).map_err(Cause::io(format!("see how large {} is", disk.display())))?;
    let queue = system::sys_dir(&disk).map_err(Cause::io("find the device in /sys"))?.join("queue/logical_block_size");
    let sector: u64 = system::text(&queue).ok().and_then(|text| text.parse().ok()).unwrap_or(512);
    let layout = layout(step, bytes, sector)?;
    let serial = guard::serials(&disk).ok().and_then(|serials| serials.into_iter().next()).unwrap_or_default();
    site.record_undo(Undo::Partitions { device: disk.clone(), serial })?;
    site.run_all(&commands(step, &layout, sector, &disk))?;
    let count = layout.len();
    let is_there = || {
        let found = system::partitions(&disk).unwrap_or_default();
        found.len() == count && found.iter().all(|(_, path)| path.exists())
    };
    if !system::wait_until(NODE_PATIENCE, is_there) {
        let text = format!(
            "{} was partitioned, but the kernel shows other partitions than the {count} that were made",
            disk.display()
        );
        return Err(Cause::Unavailable(text));
    }
    let found = system::partitions(&disk).map_err(Cause::io("list the partitions"))?;
    let made: MadePaths = found.into_iter().map(|(_, path)| path).collect();
    made.iter().for_each(|path| site.own(path));
    Ok(made)
}

/// Position of a partition in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    start: u64,
    bytes: u64,
}

/// Returns the sizes of the partitions on a disk of this size with sectors of 512 bytes.
pub(crate) fn sizes(step: &Partition, disk_bytes: u64) -> Result<Vec<u64>, Cause> {
    Ok(layout(step, disk_bytes, 512)?.into_iter().map(|extent| extent.bytes).collect())
}

fn layout(step: &Partition, disk_bytes: u64, sector: u64) -> Result<Vec<Extent>, Cause> {
    let align = step.align.map_or(1 << 20, |align| align.0);
    if align < sector || !align.is_multiple_of(sector) {
        return Err(Cause::field("align", Bytes(align), format!("write a multiple of the sector size, {sector}")));
    }
    // The table itself comes first.
    let first = align.max((1 << 20_u64).min(TABLE_BYTES)).next_multiple_of(align);
    let end = disk_bytes.saturating_sub(TABLE_BYTES) / align * align;
    let whole = [crate::step::Word::from(REST)];
    let sizes = if step.sizes.is_empty() { &whole[..] } else { &step.sizes };
    let mut extents = vec![];
    let mut start = first;
    for (index, size) in sizes.iter().enumerate() {
        let bytes = match size.0.as_str() {
            REST if index + 1 == sizes.len() => end.saturating_sub(start),
            REST => return Err(Cause::field("sizes", REST, "only the last partition takes what is left")),
            text => text.parse::<Bytes>().map_err(|error| Cause::field("sizes", text, error.to_string()))?.0,
        };
        let bytes = bytes / sector * sector;
        if bytes == 0 || start.checked_add(bytes).is_none_or(|partition_end| partition_end > end) {
            let left = Bytes(end.saturating_sub(start));
            let expected = format!("partition {} does not fit: {left} are left of {}", index + 1, Bytes(disk_bytes));
            return Err(Cause::field("sizes", size, expected));
        }
        extents.push(Extent { start, bytes });
        start = (start + bytes).next_multiple_of(align);
    }
    let count_max = if step.table == PartitionTable::Dos { 4 } else { 128 };
    if extents.len() > count_max {
        return Err(Cause::field("sizes", extents.len(), format!("this table has {count_max} partitions at most")));
    }
    Ok(extents)
}

fn commands(step: &Partition, layout: &[Extent], sector: u64, disk: &Path) -> Vec<Command> {
    let label = match step.table {
        PartitionTable::Gpt => "gpt",
        PartitionTable::Dos => "dos",
    };
    let mut script = format!("label: {label}\nunit: sectors\n");
    for Extent { start, bytes } in layout {
        script.push_str(&format!("start={}, size={}\n", start / sector, bytes / sector));
    }
    vec![
        // Wipe old signatures, which would show through otherwise. partx informs the kernel: it reads the table
        // even if the kernel cannot.
        Command::new("sfdisk", ["--quiet", "--no-reread", "--no-tell-kernel", "--wipe", "always", "--wipe-partitions"])
            .args(["always".to_owned(), word(disk)])
            .stdin(script),
        Command::new("partx", ["--update".to_owned(), word(disk)]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: &str) -> Partition {
        plumb_document::json::from_str(&format!(r#"{{"device": "@d"{text}}}"#)).unwrap()
    }

    #[test]
    fn partitions_start_where_they_are_aligned() {
        let mib = 1 << 20;
        let found = layout(&step(r#", "sizes": ["10MiB", "1000k", "rest"]"#), 64 * mib, 512).unwrap();
        assert_eq!(found[0], Extent { start: mib, bytes: 10 * mib });
        assert_eq!(found[1], Extent { start: 11 * mib, bytes: 1000 << 10 });
        assert_eq!(found[2].start, 12 * mib);
        assert!(found[2].start + found[2].bytes < 64 * mib);
        // Old tools start at sector 63, which is misaligned on a disk with 4 KiB sectors.
        let old = layout(&step(r#", "align": 32256"#), 64 * mib, 512).unwrap();
        assert_eq!(old[0].start % 32256, 0);
        assert_ne!(old[0].start % 4096, 0);
    }

    #[test]
    fn oversized_partitions_are_rejected() {
        for (text, word) in [
            (r#", "sizes": ["100MiB"]"#, "does not fit"),
            (r#", "sizes": ["rest", "1MiB"]"#, "only the last"),
            (r#", "sizes": ["much"]"#, "much"),
            (r#", "align": 100"#, "sector size"),
            (r#", "table": "dos", "sizes": ["1M", "1M", "1M", "1M", "1M"]"#, "4 partitions"),
        ] {
            let error = layout(&step(text), 64 << 20, 512).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn sectors_are_the_devices_own() {
        let layout = [Extent { start: 1 << 20, bytes: 8 << 20 }];
        let lines = commands(&step(""), &layout, 4096, Path::new("/dev/loop0"));
        assert_eq!(
            lines[0].to_string(),
            r"printf 'label: gpt\nunit: sectors\nstart=256, size=2048\n' | sfdisk --quiet --no-reread --no-tell-kernel --wipe always --wipe-partitions always /dev/loop0"
        );
        assert_eq!(lines[1].to_string(), "partx --update /dev/loop0");
    }
}
