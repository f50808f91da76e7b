//! Rules for companions: names, times and activities.

use super::{Checker, phases};
use plumb_workload::Workload;
use plumb_workload::companion::{Activity, Busy, Companion, Exec};
use plumb_workload::phase::{Phase, WhenDone};
use plumb_workload::target::Target;
use std::collections::BTreeSet;

/// Checks all companions of a phase whose groups of workers have these names.
pub(super) fn check(check: &mut Checker, workload: &Workload, phase: &Phase, names: &mut BTreeSet<String>) {
    let is_simulated = workload.target.values().any(|target| matches!(target, Target::Sim(_)));
    check.inside("companions", |check| {
        for (index, companion) in phase.companions.iter().enumerate() {
            check.inside(index, |check| {
                if is_simulated {
                    check.problem(
                        [],
                        "programs and CPU load need real time; a simulated device has a virtual clock",
                        "leave it out, or use real targets",
                    );
                }
                check.name(["name"], "the companion", &companion.name);
                check.unique(["name"], "members of the phase", &companion.name, names);
                one(check, phase, companion);
            });
        }
    });
}

fn one(check: &mut Checker, phase: &Phase, companion: &Companion) {
    phases::count(check, companion.count, "companions");
    phases::cpus(check, &companion.cpus);
    members(check, phase, "start", "after", &companion.start.after);
    match &companion.when_done {
        WhenDone::Groups(names) => members(check, phase, "when-done", "groups", names),
        WhenDone::GroupsIfFailed(names) => members(check, phase, "when-done", "groups-if-failed", names),
        WhenDone::Itself | WhenDone::Phase | WhenDone::Run | WhenDone::RunIfFailed | WhenDone::PhaseIfFailed => {}
    }
    match &companion.does {
        Activity::Busy(does) => check.nested(&["does", "busy"], |check| busy(check, does)),
        Activity::Exec(does) => check.nested(&["does", "exec"], |check| exec(check, does)),
    }
}

/// Checks the names of the groups and companions that a companion waits for, or ends.
fn members(check: &mut Checker, phase: &Phase, table: &str, key: &str, names: &[String]) {
    for name in names.iter().filter(|name| !phase.has_member(name)) {
        check.problem(
            [table, key],
            format!("the phase has neither a group nor a companion named `{name}`"),
            "use the `name` of a group of workers, or of a companion, of the same phase",
        );
    }
}

fn busy(check: &mut Checker, busy: &Busy) {
    if !(1..=100).contains(&busy.percent) {
        check.problem(["percent"], format!("{} % is not a valid share of a CPU", busy.percent), "use 1 to 100");
    }
    check.positive(["piece"], "the length of a busy period", busy.piece.0, "use a time such as `50ms`");
}

fn exec(check: &mut Checker, exec: &Exec) {
    if exec.program.trim().is_empty() {
        check.problem(["program"], "no program is named", "give its path, or a name that is found in `PATH`");
    }
}
