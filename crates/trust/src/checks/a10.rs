use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::passes;
use crate::plan;
use crate::shares::share;
use crate::text::{bytes, percent, short};
use plumb_result::Remedy;
use plumb_result::observe::{BlockLayer, LayerKind};
use plumb_workload::{CachePolicy, ClockScope, Flush, OpKind, Phase, Prepare, Size, Target, Workload};

/// A second pass this many times as fast as the first did not have to allocate.
const FASTER: f64 = 1.2;
/// Above this share of new blocks in a backing file, first writes were measured.
const GROWN_SHARE: f64 = 0.10;
/// With this share of a target already written, its first write is over.
const WRITTEN_BEFORE: f64 = 0.90;

pub(crate) static CHECK: Check = Check {
    code: "A10",
    title: "First write of thin storage",
    what: "Whether the first write of each block had to allocate it: on a thin volume, a virtual disk, a loop device \
           over a sparse file, or in the file system itself. Where the range was written only once, the check passes \
           only if it had been written before the clock; storage known to be thin is noted.",
    why: "Thin storage allocates each block at its first write, and often zeroes it; the second write goes straight \
          there. A benchmark of a new virtual disk then measures the allocator, and a comparison measures which side \
          had been written before. SNIA's Performance Test Specification requires the same of flash: precondition, \
          then measure.",
    how: "Where a phase writes its range twice with O_DIRECT, or two phases write it alike and durably: the rates of \
          both passes, each 2 s or longer; the blocks that a loop device's backing file occupies before and after (stat(2)); \
          the layers below (dm-thin pools, loop devices, hypervisors) and how the \
          file was prepared.",
    threshold: "second pass more than 1.2 times as fast as the first warns, and so does a loop device's backing file that \
                grew by more than 10 % of the bytes written; one pass over a thin pool is noted",
    settled: "By reasoning: two passes of 2 s over a quiet device differ by a few per cent, and finding, recording and \
              zeroing a block costs more than a fifth. With 90 % of a file written before, first writes are a tenth, \
              as in A1.",
    fix: &[Remedy::setting("prepare", "write", "Write the range once before the clock")],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    let block_io = plan::is_block_io(view.plan);
    if view.ops(OpKind::Write) == 0 || !block_io {
        return Outcome::NotApplicable;
    }
    match &view.ground {
        Ground::Nothing | Ground::Memory => return Outcome::NotApplicable,
        Ground::Remote => return Outcome::skipped("a client cannot see how a server allocates"),
        Ground::Unseen(reason) => return Outcome::skipped(reason.clone()),
        Ground::Device => {}
    }
    if let Some(Passes { ratio, first_was_new }) = passes_of(view) {
        let observed = format!("second pass {} times as fast", short(ratio));
        if first_was_new && ratio > FASTER {
            let message = format!("The first pass had to allocate: the second was {} times as fast.", short(ratio));
            return Outcome::warn(observed, message);
        }
        return Outcome::pass(observed);
    }
    if let Some(grown) = grown(view) {
        let share = share(grown.bytes, view.traffic.app_write).unwrap_or(0.0).min(1.0);
        let observed = format!("the backing file of {} grew by {}", grown.device, bytes(grown.bytes));
        if share > GROWN_SHARE {
            let message = format!(
                "First write of a sparse file: the backing file of {} grew by {} while the clock ran ({} of the bytes).",
                grown.device,
                bytes(grown.bytes),
                percent(share)
            );
            return Outcome::warn(observed, message);
        }
        return Outcome::pass(observed);
    }
    if written_before(view, view.earlier.len()) {
        return Outcome::pass("the range was written before the clock started");
    }
    if let Some(pool) = view.layers().find(|layer| is_thin(layer)) {
        let message = format!("First write of this range: the thin pool {} allocated it meanwhile.", pool.name);
        return Outcome::note(format!("{} is thin", pool.name), message);
    }
    let suspect = if view.has_layer(LayerKind::Loop) {
        Some("whether the loop device's backing file was allocated is not known")
    } else if view.is_virtual_machine() && !view.has_layer(LayerKind::Sim) {
        Some("whether the host had allocated the virtual disk's blocks is not known")
    } else {
        None
    };
    match suspect {
        Some(reason) => Outcome::skipped(format!("the range was written only once, and {reason}")),
        None => Outcome::NotApplicable,
    }
}

/// Growth of a backing file while the clock ran.
struct Grown<'a> {
    device: &'a str,
    bytes: u64,
}

/// Returns the loop device of the stack whose backing file grew most; `None` if no growth is visible.
fn grown<'a>(view: &PhaseView<'a>) -> Option<Grown<'a>> {
    let of = |layer: &'a BlockLayer| {
        let before = view.seen.before.backing_bytes.get(&layer.name)?;
        let after = view.seen.after.backing_bytes.get(&layer.name)?;
        Some(Grown { device: &layer.name, bytes: after.saturating_sub(*before) })
    };
    view.layers().filter_map(of).max_by_key(|grown| grown.bytes)
}

/// Two passes over the same range.
struct Passes {
    /// Rate of the second over that of the first.
    ratio: f64,
    /// Whether the range had never been written before the first pass.
    first_was_new: bool,
}

/// Returns the two passes of this phase, or of this phase and an earlier one, if both write durably.
fn passes_of(view: &PhaseView<'_>) -> Option<Passes> {
    if let Some(ratio) = passes::pass_ratio(view, OpKind::Write) {
        return Some(Passes { ratio, first_was_new: !written_before(view, view.earlier.len()) });
    }
    let end = view.plan.end;
    let durable = matches!(end.flush, Flush::Fsync | Flush::Fdatasync) && end.clock == ClockScope::Inside;
    let against = passes::against_earlier(view, OpKind::Write)?;
    (durable || view.cache() == CachePolicy::Direct)
        .then(|| Passes { ratio: against.ratio, first_was_new: !written_before(view, against.position) })
}

/// Returns `true` if every target that the phase writes was written by its preparation, or by one
/// of the first `phases` phases.
fn written_before(view: &PhaseView<'_>, phases: usize) -> bool {
    let written = view.plan.workers.iter().filter(|group| group.work.writes()).map(|group| group.target.as_str());
    written.into_iter().all(|name| {
        let prepared = view.workload.target.get(name).and_then(Target::prepare) == Some(Prepare::Write);
        prepared
            || view.earlier[..phases].iter().any(|measured| {
                let plan = view.workload.phase.iter().find(|plan| plan.name == measured.name);
                let bytes = measured.ops.get(&OpKind::Write).map_or(0, |op| op.bytes);
                plan.is_some_and(|plan| fills(plan, name, bytes, size(view, name)))
            })
    })
}

/// Returns `true` if a phase that wrote `bytes` wrote nearly all of a target.
fn fills(plan: &Phase, target: &str, bytes: u64, size: Option<u64>) -> bool {
    let only = plan.workers.iter().all(|group| group.target == target && group.work.writes());
    let whole = size.is_some_and(|size| bytes as f64 >= WRITTEN_BEFORE * size as f64);
    only && whole
}

fn size(view: &PhaseView<'_>, name: &str) -> Option<u64> {
    let fixed = |size: Size| size.fixed().map(|bytes| bytes.0);
    match view.workload.target.get(name)? {
        Target::File(target) => target.size.and_then(fixed),
        Target::Files(target) => fixed(target.size).map(|each| each.saturating_mul(u64::from(target.count))),
        Target::Device(target) => target.size.and_then(fixed),
        Target::Sim(target) => Some(target.size.0),
        Target::JobFiles(files) => {
            Some((0..files.names.count()).filter_map(|file| files.length(file)).map(|length| length.0).sum())
        }
        Target::Scratch(_) => scratch_bytes(view.workload, name),
        Target::Tree(_) | Target::SharedTree(_) | Target::Recorded(_) | Target::Host(_) | Target::Null(_) => None,
    }
}

/// Returns the length that programs reach in the files of a scratch directory.
fn scratch_bytes(workload: &Workload, name: &str) -> Option<u64> {
    let groups = workload.phase.iter().flat_map(|phase| &phase.workers).filter(|group| group.target == name);
    groups.filter_map(|group| Some(group.work.reach_bytes()?.saturating_mul(group.count.into()))).max()
}

/// LVM's thin pools end their device-mapper UUID in `-tpool`. Source: lvmthin(7), lib/activate/dev_manager.c of LVM2.
fn is_thin(layer: &BlockLayer) -> bool {
    let setting = |name: &str| layer.settings.get(name).map_or("", String::as_str);
    setting("dm_uuid").ends_with("-tpool") || setting("dm_name").ends_with("-tpool")
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_workload::{CachePolicy, Prepare};

    fn fresh() -> Scene {
        Scene::writing(800 * MIB).cache(CachePolicy::Direct).prepare(Prepare::Nothing)
    }

    fn two_passes(second_as_fast: f64) -> Scene {
        fresh().working_set(400 * MIB).write_pass_seconds(&[(13.0, 400 * MIB), (13.0 / second_as_fast, 400 * MIB)])
    }

    #[test]
    fn a_second_pass_that_is_faster_did_not_allocate() {
        assert_eq!(two_passes(1.0).level("A10"), Some(Level::Pass));
        assert_eq!(two_passes(1.15).level("A10"), Some(Level::Pass));
        assert_eq!(two_passes(1.25).level("A10"), Some(Level::Warn));
        // A range written before the clock needs no allocation: it is faster for another reason.
        assert_eq!(two_passes(1.25).prepare(Prepare::Write).level("A10"), Some(Level::Pass));
    }

    #[test]
    fn two_identical_phases_are_two_passes() {
        assert_eq!(fresh().after_itself_at(0.5).level_last("A10"), Some(Level::Warn));
        assert_eq!(fresh().after_itself_at(1.0).level_last("A10"), Some(Level::Pass));
        assert_eq!(fresh().prepare(Prepare::Write).after_itself_at(0.5).level_last("A10"), Some(Level::Pass));
    }

    #[test]
    fn one_pass_over_possibly_thin_storage_is_reported() {
        assert_eq!(fresh().level("A10"), None, "nothing speaks for a thin disk");
        assert_eq!(fresh().virtualisation("kvm").level("A10"), Some(Level::Skipped));
        assert_eq!(fresh().on_loop().level("A10"), Some(Level::Skipped));
        assert_eq!(fresh().on_thin_pool().level("A10"), Some(Level::Note));
        assert_eq!(fresh().on_thin_pool().prepare(Prepare::Write).level("A10"), Some(Level::Pass));
    }

    /// The backing file shows whether it was sparse.
    #[test]
    fn a_backing_file_that_grows_was_sparse() {
        let scene = |grew: u64| fresh().on_loop().backing("loop0", 100 * MIB, (100 + grew) * MIB);
        assert_eq!(scene(80).level("A10"), Some(Level::Pass), "a tenth of what was written");
        let finding = scene(800).finding("A10").unwrap();
        assert_eq!(finding.level, Level::Warn);
        assert!(finding.message.contains("the backing file of loop0 grew by 800 MiB"), "{}", finding.message);
        assert_eq!(scene(0).level("A10"), Some(Level::Pass), "it was allocated before");
    }

    #[test]
    fn reads_and_memory_allocate_nothing() {
        assert_eq!(Scene::reading(MIB).virtualisation("kvm").level("A10"), None);
        assert_eq!(Scene::writing(MIB).in_memory().level("A10"), None);
        assert_eq!(fresh().remote().level("A10"), Some(Level::Skipped));
    }
}
