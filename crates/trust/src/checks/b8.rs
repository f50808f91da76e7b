use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::text::bytes;
use plumb_result::observe::{BlockLayer, LayerKind};
use plumb_workload::{CachePolicy, OpKind, Work};

pub(crate) static CHECK: Check = Check {
    code: "B8",
    title: "Alignment",
    what: "Whether partitions, and the blocks of direct I/O, start and end on the device's physical blocks, and \
           partitions on the stripes of a RAID beneath them.",
    why: "A misaligned write makes the drive read, change and write two physical blocks. A published comparison of two \
          systems had one on partitions, which partitioning tools then began at sector 63, and the other on whole \
          disks, with 4 KiB drives.",
    how: "Start of each partition and the kernel's `alignment_offset` against the physical block and, over RAID, the \
          optimal I/O size; smallest block, offset and alignment of direct I/O against the physical block.",
    threshold: "any misalignment warns",
    settled: "Nothing to settle: a remainder of the division is misaligned.",
    fix: "Start partitions at multiples of 1 MiB, or of the stripe; use blocks of the physical block size or a \
          multiple.",
    judges: &[Judge::Phase(look)],
};

fn look(view: &PhaseView<'_>) -> Outcome {
    if view.ground != Ground::Device {
        return Outcome::NotApplicable;
    }
    if view.facts().any(|facts| facts.stack.is_empty()) {
        return Outcome::skipped("the layers of the block stack were not seen");
    }
    for facts in view.facts() {
        if let Some(found) = facts.stack.iter().find_map(|layer| misplaced(layer, &facts.stack)) {
            return found;
        }
    }
    let physical = view.layers().filter_map(|layer| layer.physical_block_bytes).max();
    let Some(physical) = physical.filter(|size| *size > 0) else {
        return Outcome::skipped("no layer tells its physical block size");
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
            format!(
                "The kernel says that {} is misaligned by {offset} bytes against the device beneath it.",
                layer.name
            ),
        ));
    }
    let start = layer.start_bytes.filter(|_| layer.kind == LayerKind::Partition)?;
    let beneath = stack.iter().filter(|other| layer.below.contains(&other.name));
    let unit = beneath.filter_map(stripe_or_block).max().or_else(|| stripe_or_block(layer))?;
    (start % unit != 0).then(|| {
        Outcome::warn(
            format!("{} starts at byte {start}", layer.name),
            format!("{} starts at byte {start}, which is no multiple of {}.", layer.name, bytes(unit)),
        )
    })
}

/// What a partition over this layer should be a multiple of. Optimal I/O sizes of single disks are often nonsense (USB
/// bridges report 33 553 920), so that only md's are taken for a stripe.
fn stripe_or_block(layer: &BlockLayer) -> Option<u64> {
    let optimal = layer.optimal_io_bytes.filter(|size| *size > 0 && layer.kind == LayerKind::Md);
    optimal.or(layer.physical_block_bytes).filter(|size| *size > 0)
}

fn small_direct_block(view: &PhaseView<'_>, physical: u64) -> Option<Outcome> {
    if view.plan.cache != CachePolicy::Direct || view.ops(OpKind::Write) == 0 {
        return None;
    }
    view.plan.workers.iter().find_map(|group| {
        let Work::Blocks(blocks) = &group.work else { return None };
        if blocks.mix.write == 0 {
            return None;
        }
        let size = blocks.write_block.as_ref().unwrap_or(&blocks.block).min().0;
        let step = blocks.align.map_or(size, |align| align.0);
        let all = [size, step, blocks.offset.0, blocks.offset_increment.0];
        let worst = all.into_iter().find(|value| value % physical != 0)?;
        Some(
            Outcome::warn(
                format!("{} against {}", bytes(worst), bytes(physical)),
                format!(
                    "Direct writes of or at {} are no multiple of the physical block of {}: the drive reads first.",
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
    use plumb_workload::CachePolicy;

    #[test]
    fn a_partition_at_sector_63_of_a_4_kib_drive_warns() {
        assert_eq!(Scene::reading(MIB).partition(2048 * 512, 4096).level("B8"), Some(Level::Pass));
        let finding = Scene::reading(MIB).partition(63 * 512, 4096).finding("B8").unwrap();
        assert_eq!(finding.level, Level::Warn);
        assert!(finding.message.contains("starts at byte 32256"), "{}", finding.message);
        assert_eq!(Scene::reading(MIB).partition(63 * 512, 512).level("B8"), Some(Level::Pass));
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
