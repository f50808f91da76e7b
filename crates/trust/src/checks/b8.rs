use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::text::bytes;
use plumb_result::Remedy;
use plumb_result::observe::{BlockLayer, LayerKind};
use plumb_workload::{CachePolicy, OpKind};

/// Flash and the page cache work in pages of at least this size, even if the device reports a smaller physical block:
/// most SSDs and all loop devices report 512.
const PAGE_BYTES: u64 = 4096;

pub(crate) static CHECK: Check = Check {
    code: "B8",
    title: "Alignment",
    what: "Whether partitions, loop devices within their files, and the blocks of direct I/O are aligned to the \
           device's physical blocks, and partitions to the stripes of a RAID below them.",
    why: "A misaligned write makes the drive read, modify and write two physical blocks. A published comparison of two \
          systems had one on partitions, which then began at sector 63, and the other on whole disks, with 4 KiB \
          drives.",
    how: "Start of each partition and the kernel's `alignment_offset` against the physical block (on flash and loop \
          devices at least a 4 KiB page, whatever they report) and, over RAID, the optimal I/O size; offset of a loop \
          device in its file against that page; smallest block, offset and alignment of direct I/O against the \
          physical block.",
    threshold: "any misalignment warns",
    settled: "Nothing to settle where the device reports its physical block: any remainder is misaligned. The 4 KiB \
              page is by reasoning: file systems and the page cache work in it, and flash in it or in multiples.",
    fix: &[Remedy::words(
        "Start partitions at multiples of 1 MiB, or of the stripe; use blocks that are a multiple of the physical \
          block size.",
    )],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.ground != Ground::Device {
        return Outcome::NotApplicable;
    }
    if view.facts().any(|facts| facts.stack.is_empty()) {
        return Outcome::skipped("the layers of the block stack are not known");
    }
    for facts in view.facts() {
        if let Some(found) = facts.stack.iter().find_map(|layer| misplaced(layer, &facts.stack)) {
            return found;
        }
    }
    let physical = view.layers().filter_map(|layer| layer.physical_block_bytes).max();
    let Some(physical) = physical.filter(|size| *size > 0) else {
        return Outcome::skipped("no layer reports its physical block size");
    };
    if let Some(found) = small_direct_block(view, physical) {
        return found;
    }
    Outcome::pass(format!("physical block {}", bytes(physical)))
}

fn misplaced(layer: &BlockLayer, stack: &[BlockLayer]) -> Option<Outcome> {
    if let Some(offset) = layer.alignment_offset_bytes.filter(|offset| *offset != 0) {
        return Some(Outcome::warn(
            format!("{} is off by {offset} bytes", layer.name),
            format!("{} is misaligned by {offset} bytes on the device below it, by the kernel's account.", layer.name),
        ));
    }
    if let Some(offset) = offset_in_file(layer).filter(|offset| offset % PAGE_BYTES != 0) {
        return Some(Outcome::warn(
            format!("{} starts at byte {offset} of its file", layer.name),
            format!("{} starts at byte {offset} of its file, not at a multiple of {}.", layer.name, bytes(PAGE_BYTES)),
        ));
    }
    let start = layer.start_bytes.filter(|_| layer.kind == LayerKind::Partition)?;
    let beneath = stack.iter().filter(|other| layer.below.contains(&other.name));
    let unit = beneath.filter_map(stripe_or_block).max().or_else(|| stripe_or_block(layer))?;
    (start % unit != 0).then(|| {
        Outcome::warn(
            format!("{} starts at byte {start}", layer.name),
            format!("{} starts at byte {start}, not at a multiple of {}.", layer.name, bytes(unit)),
        )
    })
}

/// Returns the start of a loop device in its file, in bytes.
fn offset_in_file(layer: &BlockLayer) -> Option<u64> {
    layer.settings.get("offset").filter(|_| layer.kind == LayerKind::Loop)?.parse().ok()
}

/// Returns the size that a partition over this layer should be aligned to. Optimal I/O sizes of single disks are
/// often nonsense (USB bridges report 33 553 920), so only md's count as a stripe.
fn stripe_or_block(layer: &BlockLayer) -> Option<u64> {
    let optimal = layer.optimal_io_bytes.filter(|size| *size > 0 && layer.kind == LayerKind::Md);
    let has_pages = layer.kind == LayerKind::Loop || layer.rotational == Some(false);
    let block = layer.physical_block_bytes.map(|size| if has_pages { size.max(PAGE_BYTES) } else { size });
    optimal.or(block).filter(|size| *size > 0)
}

fn small_direct_block(view: &PhaseView<'_>, physical: u64) -> Option<Outcome> {
    if view.cache() != CachePolicy::Direct || view.ops(OpKind::Write) == 0 {
        return None;
    }
    view.plan.workers.iter().find_map(|group| {
        let worst = group.work.write_steps().into_iter().find(|value| value % physical != 0)?;
        Some(
            Outcome::warn(
                format!("{} against {}", bytes(worst), bytes(physical)),
                format!(
                    "Direct writes of or at {} are smaller than a physical block of {}: the drive must read first.",
                    bytes(worst),
                    bytes(physical)
                ),
            )
            .remedy(format!("Use blocks and offsets that are multiples of {}.", bytes(physical))),
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_result::observe::LayerKind;
    use plumb_workload::CachePolicy;

    #[test]
    fn a_partition_at_sector_63_of_a_4_kib_drive_warns() {
        assert_eq!(Scene::reading(MIB).partition(2048 * 512, 4096).level("B8"), Some(Level::Pass));
        let finding = Scene::reading(MIB).partition(63 * 512, 4096).finding("B8").unwrap();
        assert_eq!(finding.level, Level::Warn);
        assert!(finding.message.contains("starts at byte 32256"), "{}", finding.message);
        assert_eq!(Scene::reading(MIB).partition(63 * 512, 512).level("B8"), Some(Level::Pass));
    }

    /// Most SSDs report a physical block of 512 bytes, and have pages of 4 KiB and more.
    #[test]
    fn a_partition_at_sector_63_of_flash_and_of_a_loop_device_always_warns() {
        let at = |start: u64, kind, rotational| {
            Scene::reading(MIB).disk_kind(kind, rotational).partition(start * 512, 512).level("B8")
        };
        assert_eq!(at(63, LayerKind::Disk, true), Some(Level::Pass), "a disk of 512-byte sectors");
        for (kind, rotational) in [(LayerKind::Disk, false), (LayerKind::Loop, true)] {
            assert_eq!(at(63, kind, rotational), Some(Level::Warn), "{kind:?}");
            assert_eq!(at(2048, kind, rotational), Some(Level::Pass), "{kind:?}");
        }
    }

    #[test]
    fn a_loop_device_that_starts_within_a_page_of_its_file_warns() {
        let at = |offset: &str| {
            Scene::reading(MIB).leaf_layer(|disk| {
                disk.kind = LayerKind::Loop;
                disk.settings.insert("offset".to_owned(), offset.to_owned());
            })
        };
        assert_eq!(at("0").level("B8"), Some(Level::Pass));
        assert_eq!(at("1048576").level("B8"), Some(Level::Pass));
        let finding = at("32256").finding("B8").unwrap();
        assert_eq!(finding.level, Level::Warn);
        assert_eq!(finding.message, "vda starts at byte 32256 of its file, not at a multiple of 4 KiB.");
    }

    #[test]
    fn small_direct_writes_warn_and_buffered_ones_do_not() {
        let scene = |block| Scene::writing(MIB).partition(MIB, 4096).block(block);
        assert_eq!(scene(512).cache(CachePolicy::Direct).level("B8"), Some(Level::Warn));
        assert_eq!(scene(4096).cache(CachePolicy::Direct).level("B8"), Some(Level::Pass));
        assert_eq!(scene(512).level("B8"), Some(Level::Pass));
    }

    #[test]
    fn an_unknown_block_size_is_skipped() {
        assert_eq!(Scene::reading(MIB).no_block_sizes().level("B8"), Some(Level::Skipped));
    }
}
