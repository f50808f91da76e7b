use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::not_seen::NotSeen;
use crate::shares::share;
use crate::text::{bytes, percent};
use plumb_result::{Level, Remedy};
use plumb_workload::{OpKind, Phase, Prepare};

/// Above this share of never written blocks, the read measured nothing.
const FAIL_SHARE: f64 = 0.10;
/// If the device served at least this share, no hole can have been read.
const ALL_SERVED: f64 = 0.98;

pub(crate) static CHECK: Check = Check {
    code: "A4",
    title: "Holes and unwritten blocks",
    what: "Whether the blocks that were read had ever been written. A hole, or a block that fallocate reserved, \
           returns zeros without any device I/O; O_DIRECT does not change that, and `st_blocks` does not show it.",
    why: "O_DIRECT reads of a hole ran at 20.6 GB/s and of fallocated blocks at 19.7 GB/s, on a disk that does 1.2 \
          GB/s (measured on ext4 over virtio, Linux 6.18). Every benchmark that lays out its file with fallocate falls \
          into this trap.",
    how: "FIEMAP with its UNWRITTEN flag, else SEEK_HOLE, before the clock starts, and after it for holes that others \
          made meanwhile; else how the workload says the file \
          was made. If the device served all bytes, there was no hole.",
    threshold: "any such block warns, more than 10 % of the file fails",
    settled: "By reasoning: extents are exact and a written file has no holes, so any hole counts; 10 % as in A1. \
              Found in 300 of 300 runs on simulated devices (docs/calibration.md).",
    fix: &[Remedy::setting("prepare", "write", "Write the whole file before reading it")],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    let app = view.traffic.app_read;
    if app == 0 || matches!(view.ground, Ground::Nothing) {
        return Outcome::NotApplicable;
    }
    let served = view.traffic.read_from_device().ok().and_then(|moved| share(moved.bytes, app));
    if view.ground == Ground::Device && served.is_some_and(|served| served >= ALL_SERVED) {
        return Outcome::pass("the device served every byte");
    }
    let extents = match view.extents() {
        Ok(extents) => extents,
        Err(reason) => return by_declaration(view, reason),
    };
    if let Some(emptied) = view.emptied() {
        let blank = emptied.hole_bytes + emptied.unwritten_bytes;
        let share = share(blank, emptied.total_bytes).unwrap_or(0.0);
        let observed = format!("{} of {} in holes at the stop", bytes(blank), bytes(emptied.total_bytes));
        let message =
            format!("{} of the file became holes while the clock ran: no device served reads of them.", percent(share));
        let level = if share > FAIL_SHARE { Level::Fail } else { Level::Warn };
        return Outcome::found(level, observed, message).remedy(
            "Find who punched or trimmed the file (fallocate, fstrim, a backup), and keep it from the test data.",
        );
    }
    let blank = extents.hole_bytes + extents.unwritten_bytes;
    let share = share(blank, extents.total_bytes).unwrap_or(0.0);
    let observed = format!(
        "{} in holes, {} unwritten, of {}",
        bytes(extents.hole_bytes),
        bytes(extents.unwritten_bytes),
        bytes(extents.total_bytes)
    );
    if blank == 0 {
        return Outcome::pass(observed);
    }
    let kind = match (extents.hole_bytes > 0, extents.unwritten_bytes > 0) {
        (true, false) => "holes",
        (false, true) => "allocated but never written",
        _ => "holes or never written",
    };
    let message = format!("{} of the file is {kind}: no device served those reads.", percent(share));
    if share > FAIL_SHARE { Outcome::fail(observed, message) } else { Outcome::warn(observed, message) }
}

/// Judges by the workload's own declaration of a blank file, because extents are unknown.
fn by_declaration(view: &PhaseView<'_>, reason: NotSeen) -> Outcome {
    let blank = view.target_names().into_iter().find_map(|name| {
        let prepare = view.workload.target.get(name)?.prepare()?;
        let word = match prepare {
            Prepare::Sparse => "sparse",
            Prepare::Allocate => "allocate",
            Prepare::Write | Prepare::Nothing => return None,
        };
        (!written_before(view, name)).then(|| (name.to_owned(), word))
    });
    match blank {
        Some((name, word)) => Outcome::fail(
            format!("`{name}` was made with `prepare = \"{word}\"`"),
            format!("`{name}` was read before it was ever written: no device served those reads."),
        ),
        None => Outcome::skipped(reason),
    }
}

/// Returns `true` if an earlier phase, or this one, writes to the target.
fn written_before(view: &PhaseView<'_>, target: &str) -> bool {
    let writes = |phase: &Phase| phase.workers.iter().any(|group| group.target == target);
    let wrote = view.earlier.iter().filter(|measured| measured.ops.get(&OpKind::Write).is_some_and(|op| op.bytes > 0));
    view.traffic.app_write > 0
        || wrote.filter_map(|measured| view.workload.phase.iter().find(|phase| phase.name == measured.name)).any(writes)
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::{Level, RunVerdict, Tier};
    use plumb_workload::{CachePolicy, OpKind, Prepare};

    /// The trap: 20 GB/s from an empty file, under O_DIRECT.
    #[test]
    fn a_direct_read_of_a_hole_is_called_that() {
        let scene = Scene::reading(1000 * MIB).cache(CachePolicy::Direct).holes(1000 * MIB).device_read(0).own_read(0);
        let finding = scene.finding("A4").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.contains("100 % of the file is holes"), "{}", finding.message);
        let judgement = scene.judge();
        assert_eq!(judgement.verdict, RunVerdict::Reject);
        assert_eq!(judgement.tiers[0].tiers[&OpKind::Read].tier, Tier::Cache);
        assert!(judgement.tiers[0].tiers[&OpKind::Read].because.contains("holes"));
        assert_eq!(scene.level("A1"), Some(Level::Skipped), "memory is not to blame");
    }

    #[test]
    fn a_read_of_fallocated_blocks_is_called_that() {
        let scene =
            Scene::reading(1000 * MIB).cache(CachePolicy::Direct).unwritten(1000 * MIB).device_read(0).own_read(0);
        let finding = scene.finding("A4").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.contains("allocated but never written"), "{}", finding.message);
    }

    #[test]
    fn a_few_holes_warn() {
        let scene = |hole: u64| {
            Scene::reading(1000 * MIB).holes(hole * MIB).device_read((1000 - hole) * MIB).own_read((1000 - hole) * MIB)
        };
        assert_eq!(scene(50).level("A4"), Some(Level::Warn));
        assert_eq!(scene(100).level("A4"), Some(Level::Warn));
        assert_eq!(scene(101).level("A4"), Some(Level::Fail));
        assert_eq!(scene(50).device_read(500 * MIB).holes(0).level("A4"), Some(Level::Pass));
    }

    #[test]
    fn a_device_that_served_everything_disproves_holes() {
        assert_eq!(Scene::reading(1000 * MIB).unseen_files("no FIEMAP").level("A4"), Some(Level::Pass));
    }

    #[test]
    fn the_workloads_declaration_counts_if_extents_are_unseen() {
        let unseen = || Scene::reading(1000 * MIB).unseen_files("no FIEMAP").device_read(0).own_read(0);
        assert_eq!(unseen().level("A4"), Some(Level::Skipped));
        assert_eq!(unseen().prepare(Prepare::Sparse).level("A4"), Some(Level::Fail));
        assert_eq!(unseen().prepare(Prepare::Allocate).level("A4"), Some(Level::Fail));
    }
}
