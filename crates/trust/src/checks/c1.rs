use crate::check::{Check, Judge, Outcome, grade};
use crate::evidence::{Ground, PhaseView, share};
use crate::text::{bytes, percent};
use plumb_result::Level;
use plumb_result::observe::LayerKind;

/// Above this share of the traffic, others were part of the number.
const WARN_SHARE: f64 = 0.02;
/// Above this share, the number is not of this load.
const FAIL_SHARE: f64 = 0.10;
/// What any living system writes and reads within a phase.
const TOLERATED_BYTES: u64 = 1 << 20;

pub(crate) static CHECK: Check = Check {
    code: "C1",
    title: "Others' I/O",
    what: "Whether somebody else used the device meanwhile. What a file system adds by itself (journal, metadata, \
           readahead) is the load's own. So reads beyond those that the kernel charged to Plumb count; writes beyond \
           Plumb's count only as far as other processes were seen writing, and so do reads through a layer that reads \
           by itself (parity RAID, snapshots, a loop device). In a phase without reads and writes nothing tells how \
           much I/O is its own, and the check only notes.",
    why: "Cao et al., \"On the Performance Variation in Modern Storage Stacks\", FAST 2017: a quarter of the \
          configurations vary by more than 10 % between runs; what else runs is the first suspect.",
    how: "Bytes that the leaf devices moved, less what was charged to Plumb; `/proc/*/io` of the processes that did \
          most.",
    threshold: "more than 2 % of the traffic, and more than 1 MiB, warns; more than 10 % fails",
    fix: "Stop what is named, wait until it is done, or use a device of its own.",
    judges: &[Judge::Phase(look)],
};

fn look(view: &PhaseView<'_>) -> Outcome {
    match &view.ground {
        Ground::Nothing | Ground::Memory => return Outcome::NotApplicable,
        Ground::Remote => return Outcome::skipped("other clients of a server cannot be seen from here"),
        Ground::Unseen(reason) => return Outcome::skipped(reason.clone()),
        Ground::Device => {}
    }
    let device = match &view.traffic.device {
        Ok(device) => device,
        Err(reason) => return Outcome::skipped(reason.clone()),
    };
    let named = view.seen.other_io.as_result();
    let (named_reads, named_writes) = named.as_ref().map_or((0, 0), |list| {
        (list.iter().map(|other| other.read_bytes).sum(), list.iter().map(|other| other.write_bytes).sum())
    });

    let foreign_reads = match &view.traffic.own {
        Ok(own) => {
            let beyond = device.read_bytes.saturating_sub(own.read_bytes);
            if reads_by_itself(view) { beyond.min(named_reads) } else { beyond }
        }
        Err(_) => device.read_bytes.saturating_sub(view.traffic.app_read).min(named_reads),
    };
    // Over RAID the array's own counters are asked, since a mirror or parity writes more than it is given.
    let written = view.traffic.top.filter(|_| view.has_layer(LayerKind::Md)).unwrap_or(*device).write_bytes;
    let beyond = written.saturating_sub(view.traffic.app_write.saturating_mul(view.traffic.copies));
    let foreign_writes: u64 = beyond.min(named_writes);
    let foreign = foreign_reads + foreign_writes;
    let (app_read, app_write) = (view.traffic.app_read, view.traffic.app_write);
    // Against the load where that is larger: what others do to the device matters little to a read from memory.
    let traffic = (device.read_bytes + device.write_bytes).max(app_read + app_write);
    let of_all = share(foreign, traffic).unwrap_or(0.0);
    let observed = format!("{} by others ({} of the traffic)", bytes(foreign), percent(of_all));
    let level = if foreign > TOLERATED_BYTES { grade(of_all, WARN_SHARE, FAIL_SHARE) } else { None };
    let Some(level) = level else {
        return match named {
            Ok(_) => Outcome::pass(observed),
            Err(reason) if app_write > 0 || view.traffic.own.is_err() => {
                Outcome::skipped(format!("what other processes wrote was not seen ({reason})"))
            }
            Err(_) => Outcome::pass(observed),
        };
    };
    let largest = named.ok().and_then(|list| list.iter().max_by_key(|other| other.read_bytes + other.write_bytes));
    let who = match largest {
        Some(process) if process.read_bytes + process.write_bytes > TOLERATED_BYTES => format!(
            "most by {} (process {}: {} read, {} written)",
            process.command,
            process.pid,
            bytes(process.read_bytes),
            bytes(process.write_bytes)
        ),
        _ => "by no process that could be seen: a rebuild, a scrub or another guest of this device".to_owned(),
    };
    let message = format!("Others did {} of the device's traffic meanwhile, {who}.", percent(of_all));
    // Without reads and writes there is no expectation to hold the traffic against.
    let level = if app_read + app_write == 0 { Level::Note } else { level };
    Outcome::found(level, observed, message)
}

/// A layer that reads what nobody asked for: parity of a partial stripe, a snapshot's original, readahead of a backing
/// file.
fn reads_by_itself(view: &PhaseView<'_>) -> bool {
    const PLAIN: [LayerKind; 4] = [LayerKind::Disk, LayerKind::Partition, LayerKind::Crypt, LayerKind::Sim];
    view.has_layer(LayerKind::Loop)
        || (view.traffic.app_write > 0 && view.layers().any(|layer| !PLAIN.contains(&layer.kind)))
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;

    #[test]
    fn a_quiet_machine_passes() {
        assert_eq!(Scene::reading(1000 * MIB).level("C1"), Some(Level::Pass));
        assert_eq!(Scene::writing(1000 * MIB).level("C1"), Some(Level::Pass));
        // Readahead, metadata and a journal are the load's own.
        assert_eq!(
            Scene::reading(1000 * MIB).device_read(1001 * MIB).own_read(1001 * MIB).level("C1"),
            Some(Level::Pass)
        );
        assert_eq!(Scene::writing(MIB).device_write(5 * MIB).level("C1"), Some(Level::Pass));
        assert_eq!(Scene::stats(1000).device_write(4 * MIB).level("C1"), Some(Level::Pass));
    }

    #[test]
    fn a_reader_beside_is_named() {
        let scene =
            |other: u64| Scene::reading(1000 * MIB).device_read((1000 + other) * MIB).other("updatedb", other * MIB, 0);
        assert_eq!(scene(20).level("C1"), Some(Level::Pass));
        assert_eq!(scene(21).level("C1"), Some(Level::Warn));
        let finding = scene(200).finding("C1").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.contains("updatedb"), "{}", finding.message);
    }

    #[test]
    fn a_writer_counts_only_where_the_device_wrote_more_than_it_was_given() {
        let scene = |wrote: u64| Scene::writing(1000 * MIB).device_write(wrote * MIB).other("backup", 0, 500 * MIB);
        assert_eq!(scene(1000).level("C1"), Some(Level::Pass));
        assert_eq!(scene(1500).level("C1"), Some(Level::Fail));
    }

    /// A resync reads without being anybody's.
    #[test]
    fn reads_of_nobody_still_count() {
        let finding = Scene::reading(1000 * MIB).device_read(2000 * MIB).finding("C1").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.contains("no process"), "{}", finding.message);
    }

    /// Readahead of the backing file is nobody's but the load's.
    #[test]
    fn a_loop_device_may_read_ahead() {
        let scene = || Scene::reading(1000 * MIB).on_loop().device_read(1100 * MIB);
        assert_eq!(scene().level("C1"), Some(Level::Pass));
        assert_eq!(scene().other("updatedb", 90 * MIB, 0).level("C1"), Some(Level::Warn));
    }

    #[test]
    fn the_second_copy_of_a_mirror_is_not_anothers() {
        let scene = Scene::writing(1000 * MIB).mirror(1000 * MIB).other("backup", 0, 1000 * MIB);
        assert_eq!(scene.level("C1"), Some(Level::Pass));
    }

    #[test]
    fn metadata_has_no_expectation() {
        let scene = Scene::stats(1000).device_read(100 * MIB).other("updatedb", 100 * MIB, 0);
        assert_eq!(scene.level("C1"), Some(Level::Note));
    }

    #[test]
    fn writers_that_were_not_seen_are_not_absent() {
        assert_eq!(Scene::writing(MIB).unseen_others("EPERM").level("C1"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).unseen_devices("x").level("C1"), Some(Level::Skipped));
    }
}
