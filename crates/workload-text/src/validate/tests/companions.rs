//! Tests of the rules for companions.

use super::*;
use plumb_workload::companion::{Activity, Busy, Companion, Exec};

/// Adds a companion to a phase, with real targets only.
fn with_companion(workload: &mut Workload, change: impl FnOnce(&mut Companion)) {
    workload.target.retain(|_, target| !matches!(target, Target::Sim(_)));
    let does = Busy { percent: 50, piece: Nanos(1_000_000), sorts: false, ends_with_others: false };
    let mut companion = Companion::new("burn", Activity::Busy(does));
    change(&mut companion);
    workload.phase[0].companions.push(companion);
}

fn busy(companion: &mut Companion) -> &mut Busy {
    match &mut companion.does {
        Activity::Busy(busy) => busy,
        Activity::Exec(_) => unreachable!("the companion is a CPU load"),
    }
}

fn exec(program: &str) -> Activity {
    Activity::Exec(Exec { program: program.to_owned(), arguments: String::new(), grace: Nanos(1), keeps_output: false })
}

#[test]
fn companions() {
    each_fires(&[
        (
            |w| with_companion(w, |one| one.name = "a b".to_owned()),
            "phase[0].companions[0].name",
            "contains ' '",
            "letters, digits",
        ),
        (
            |w| {
                group(w).name = Some("burn".to_owned());
                with_companion(w, |_| {});
            },
            "phase[0].companions[0].name",
            "two members of the phase named `burn`",
            "its own name",
        ),
        (
            |w| with_companion(w, |one| one.name = "workers.0".to_owned()),
            "phase[0].companions[0].name",
            "two members",
            "its own name",
        ),
        (
            |w| with_companion(w, |one| one.count = 0),
            "phase[0].companions[0].count",
            "number of companions is 0",
            "at least 1",
        ),
        (
            |w| with_companion(w, |one| one.cpus = vec![1024]),
            "phase[0].companions[0].cpus[0]",
            "no CPU 1024",
            "0 to 1023",
        ),
        (
            |w| with_companion(w, |one| one.start.after = vec!["nobody".to_owned()]),
            "phase[0].companions[0].start.after",
            "neither a group nor a companion named `nobody`",
            "of the same phase",
        ),
        (
            |w| with_companion(w, |one| one.when_done = WhenDone::GroupsIfFailed(vec!["nobody".to_owned()])),
            "phase[0].companions[0].when-done.groups-if-failed",
            "named `nobody`",
            "of the same phase",
        ),
        (
            |w| with_companion(w, |one| busy(one).percent = 101),
            "phase[0].companions[0].does.busy.percent",
            "101 %",
            "1 to 100",
        ),
        (
            |w| with_companion(w, |one| busy(one).piece = Nanos(0)),
            "phase[0].companions[0].does.busy.piece",
            "is 0",
            "50ms",
        ),
        (
            |w| with_companion(w, |one| one.does = exec(" ")),
            "phase[0].companions[0].does.exec.program",
            "no program is named",
            "`PATH`",
        ),
        (
            |w| {
                with_companion(w, |_| {});
                w.target.insert("sim".to_owned(), sound().target["sim"].clone());
            },
            "phase[0].companions[0]",
            "a virtual clock",
            "real targets",
        ),
    ]);
    none_fires(&[
        |w| with_companion(w, |one| one.when_done = WhenDone::Groups(vec!["workers.0".to_owned(), "burn".to_owned()])),
        // A phase of only companions needs no workers and no target.
        |w| {
            with_companion(w, |one| one.does = exec("true"));
            w.phase.truncate(1);
            w.phase[0].workers.clear();
            w.target.clear();
        },
    ]);
}
