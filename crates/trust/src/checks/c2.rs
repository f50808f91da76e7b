use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use plumb_result::conditions::{Upkeep, UpkeepKind};
use plumb_result::observe::LayerKind;
use plumb_result::{Level, Remedy};

pub(crate) static CHECK: Check = Check {
    code: "C2",
    title: "Rebuild",
    what: "Whether an array, pool or file system on the target's disks was resyncing, rebuilding, reshaping, checking, \
           scrubbing or balancing, or had a device missing, at any time during the phase.",
    why: "A new md array resyncs for hours: a published comparison of two software mirrors built one, made a file \
          system and measured, without mentioning a wait, so the array's own I/O was probably part of one side. md(4), \
          \"SYNCING\"; a degraded parity array computes each read of the missing disk from all others.",
    how: "`md/sync_action` and `md/degraded` of every array that shares a disk with the target, `exclusive_operation` \
          and the scrub record of btrfs, devices of pvmove, the state of a ZFS pool: before the phase, once a second, \
          and after it. LVM RAID and ZFS scrubs report only to their own tools.",
    threshold: "any of these fails; one that the study declares as its factor is noted",
    settled: "Nothing to settle: an array is rebuilding or it is not. Found in 300 of 300 runs on simulated devices \
              (docs/calibration.md).",
    fix: &[Remedy::words(
        "Wait until it is done (`cat /proc/mdstat`, `btrfs scrub status`, `zpool status`), then measure again.",
    )],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    match &view.ground {
        Ground::Nothing | Ground::Memory => return Outcome::NotApplicable,
        Ground::Remote => return Outcome::skipped("the arrays of a server cannot be seen from here"),
        Ground::Unseen(reason) => return Outcome::skipped(reason.clone()),
        Ground::Device => {}
    }
    let seen = &view.seen.conditions;
    let mut going_on: Vec<Upkeep> = Vec::new();
    let looks = [seen.before.upkeep.value(), Some(&seen.meanwhile), seen.after.upkeep.value()];
    for one in looks.into_iter().flatten().flatten().cloned().chain(simulated(view)) {
        if !going_on.iter().any(|known| known.on == one.on && known.kind == one.kind) {
            going_on.push(one);
        }
    }
    let (declared, undeclared): (Vec<&Upkeep>, Vec<&Upkeep>) =
        going_on.iter().partition(|one| seen.declared.contains(&one.kind));
    if !undeclared.is_empty() {
        let message = format!("During the phase {}.", words(&undeclared));
        return Outcome::found(Level::Fail, words(&undeclared), message).remedy(remedy(undeclared[0].kind));
    }
    if !declared.is_empty() {
        let message = format!("During the phase {}, as the study declares.", words(&declared));
        return Outcome::note(words(&declared), message).remedy("");
    }
    if view.is_virtual_time() {
        return Outcome::pass("nothing rebuilds in the simulation");
    }
    if let Err(reason) = seen.before.upkeep.as_result() {
        return Outcome::skipped(reason);
    }
    match seen.before.upkeep_unseen.iter().chain(&seen.after.upkeep_unseen).next() {
        Some(unseen) => Outcome::skipped(unseen.clone()),
        None => Outcome::pass("no rebuild, check, scrub or balance"),
    }
}

/// Returns the rebuild of a simulated device, which reports it as md does.
fn simulated(view: &PhaseView<'_>) -> Option<Upkeep> {
    let layer = view.layers().find(|layer| {
        layer.kind == LayerKind::Sim && layer.settings.get("sync_action").is_some_and(|action| action != "idle")
    })?;
    Some(Upkeep { on: layer.name.clone(), kind: UpkeepKind::Resync, detail: String::new() })
}

fn words(upkeep: &[&Upkeep]) -> String {
    let one = |one: &&Upkeep| match one.detail.as_str() {
        "" => format!("{} was {}", one.on, one.kind.doing()),
        detail => format!("{} was {} ({detail})", one.on, one.kind.doing()),
    };
    upkeep.iter().map(one).collect::<Vec<_>>().join(" and ")
}

const fn remedy(kind: UpkeepKind) -> &'static str {
    match kind {
        UpkeepKind::Resync | UpkeepKind::Recover | UpkeepKind::Reshape => {
            "Wait until it is done (`mdadm --wait`), or create a test array with `--assume-clean`."
        }
        UpkeepKind::Check | UpkeepKind::Repair => {
            "Wait, or stop it with `echo idle > /sys/block/mdN/md/sync_action`, then measure again."
        }
        UpkeepKind::Degraded => "Replace the missing device, or declare the degraded state as a study's factor.",
        UpkeepKind::Balance => "Wait, or stop it with `btrfs balance cancel`, then measure again.",
        UpkeepKind::Scrub => "Wait, or stop it with `btrfs scrub cancel`, then measure again.",
        UpkeepKind::Replace | UpkeepKind::Other => "Wait until it is done, then measure again.",
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Moment, Scene};
    use plumb_result::Level;
    use plumb_result::conditions::{Upkeep, UpkeepKind};

    /// A rebuild during only a part of the phase still affected the number.
    #[test]
    fn a_rebuild_at_any_time_fails() {
        let scene = || Scene::reading(MIB);
        assert_eq!(scene().level("C2"), Some(Level::Pass));
        assert_eq!(scene().upkeep(Moment::Before, UpkeepKind::Resync, "3 % done").level("C2"), Some(Level::Fail));
        assert_eq!(
            scene().upkeep(Moment::After, UpkeepKind::Degraded, "1 of 3 missing").level("C2"),
            Some(Level::Fail)
        );
        let meanwhile = scene().conditions(|seen| {
            let balance = Upkeep { on: "btrfs pool".to_owned(), kind: UpkeepKind::Balance, detail: String::new() };
            seen.meanwhile.push(balance);
        });
        let finding = meanwhile.finding("C2").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.contains("btrfs pool was balancing"), "{}", finding.message);
    }

    #[test]
    fn a_repeated_observation_is_reported_once() {
        let scene = Scene::reading(MIB).upkeep(Moment::Before, UpkeepKind::Resync, "3 % done").upkeep(
            Moment::After,
            UpkeepKind::Resync,
            "4 % done",
        );
        let message = scene.finding("C2").unwrap().message;
        assert_eq!(message, "During the phase md0 was resyncing (3 % done).");
    }

    /// The hook for studies of degraded arrays: only the declared state is accepted.
    #[test]
    fn a_declared_state_is_noted() {
        let degraded = |kind| {
            Scene::reading(MIB).upkeep(Moment::Before, kind, "").conditions(|seen| {
                seen.declared.push(UpkeepKind::Degraded);
            })
        };
        assert_eq!(degraded(UpkeepKind::Degraded).level("C2"), Some(Level::Note));
        assert_eq!(degraded(UpkeepKind::Resync).level("C2"), Some(Level::Fail));
    }

    #[test]
    fn a_simulated_resync_fails() {
        let sim = || Scene::reading(MIB).unseen_conditions().simulated("sim:raid").virtual_time();
        assert_eq!(sim().disk_setting("sync_action", "resync").level("C2"), Some(Level::Fail));
        assert_eq!(sim().level("C2"), Some(Level::Pass));
    }

    #[test]
    fn unseen_upkeep_is_skipped() {
        assert_eq!(Scene::reading(MIB).unseen_conditions().level("C2"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).unseen_upkeep("LVM RAID").level("C2"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).remote().level("C2"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).in_memory().level("C2"), None);
    }
}
