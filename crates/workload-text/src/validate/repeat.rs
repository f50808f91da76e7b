//! Rules for workloads that repeat.

use super::Checker;
use super::help_for_name;
use plumb_workload::Workload;
use plumb_workload::repeat::{Cells, FullLoad, Ladder, Repeat, Rounds};
use std::collections::BTreeSet;

/// Maximum number of cells per round; more is a typo.
const CELLS_MAX: usize = 1000;

/// Maximum load in percent, ten times the requested rate; more is a typo.
const PERCENT_MAX: f64 = 1000.0;

pub(super) fn check(check: &mut Checker, workload: &Workload) {
    match &workload.repeat {
        Some(Repeat::Rounds(own)) => check.nested(&["repeat", "rounds"], |check| rounds(check, workload, own)),
        Some(Repeat::Ladder(own)) => check.nested(&["repeat", "ladder"], |check| ladder(check, workload, own)),
        None => {}
    }
}

fn rounds(check: &mut Checker, workload: &Workload, rounds: &Rounds) {
    let names: Vec<String> = workload.phase.iter().map(|phase| phase.name.clone()).collect();
    for name in rounds.first_only.iter().filter(|name| !names.contains(name)) {
        let message = format!("there is no phase named `{name}`");
        check.problem(["first-only"], message, help_for_name(name, names.iter()));
    }
    let repeated = || workload.phase.iter().filter(|phase| !rounds.first_only.contains(&phase.name));
    if repeated().next().is_none() {
        let help = "leave the phase that is measured out of `first-only`";
        check.problem(["first-only"], "no phase is left to repeat", help);
    }
    if let Some(own) = &rounds.cells {
        cells(check, own);
        for phase in repeated().filter(|phase| phase.workers.iter().any(|group| group.work.blocks().is_none())) {
            let message =
                format!("`{}` has work other than Plumb's own block I/O, which has no mix and size", phase.name);
            check.problem(["cells"], message, "leave `cells` out, or use `work.blocks`");
        }
    }
    // A round with too many cells is not built.
    if rounds.cells.as_ref().is_some_and(|cells| cells.read.len().saturating_mul(cells.block.len()) > CELLS_MAX) {
        return;
    }
    let round: Vec<String> = rounds.round(workload, 2).phase.into_iter().map(|phase| phase.name).collect();
    let mut seen = BTreeSet::new();
    round.iter().for_each(|name| check.unique(["cells"], "phases of a round", name, &mut seen));
    if rounds.steady.is_empty() {
        check.problem(
            ["steady"],
            "no figure must be steady",
            "name a figure: `{ phase = \"write\", figure = \"iops\" }`",
        );
    }
    for (index, tracked) in rounds.steady.iter().enumerate() {
        if !round.contains(&tracked.phase) {
            let message = format!("no phase of a round is named `{}`", tracked.phase);
            let help = help_for_name(&tracked.phase, round.iter());
            check.inside("steady", |check| check.inside(index, |check| check.problem(["phase"], message, help)));
        }
    }
    rule(check, rounds.window, rounds.max_rounds, rounds.range, rounds.slope);
    if rounds.show.is_empty() {
        check.problem(["show"], "no figure would be printed", "name some: `[\"iops\", \"latency\"]`");
    }
}

/// Checks the numbers of the round rule.
pub(super) fn rule(check: &mut Checker, window: u32, max_rounds: u32, range: f64, slope: f64) {
    if window < 3 {
        check.problem(
            ["window"],
            format!("{window} rounds are too few to detect a steady state"),
            "use 5, as SNIA does, and no fewer than 3",
        );
    }
    if max_rounds < window {
        check.problem(
            ["max-rounds"],
            format!("`max-rounds` is {max_rounds}, which is less than the window of {window}"),
            "allow at least as many rounds as the window; 25 is usual",
        );
    }
    check.above_zero(["range"], "the allowed range", range, "0.2 is SNIA's");
    check.above_zero(["slope"], "the allowed slope", slope, "0.1 is SNIA's");
}

fn cells(check: &mut Checker, cells: &Cells) {
    if cells.read.is_empty() || cells.block.is_empty() {
        check.problem(["cells"], "there are no cells", "name at least one `read` and one `block`");
    }
    if cells.read.len().saturating_mul(cells.block.len()) > CELLS_MAX {
        check.problem(["cells"], "there are too many cells", format!("use at most {CELLS_MAX} in a round"));
    }
    for read in cells.read.iter().filter(|read| **read > 100) {
        check.problem(["cells", "read"], format!("{read} % of all ops cannot be reads"), "use 0 to 100");
    }
    cells.block.iter().for_each(|block| check.request(["cells", "block"], block.0));
}

fn ladder(check: &mut Checker, workload: &Workload, ladder: &Ladder) {
    if workload.phase.len() > 1 {
        let message = format!("a ladder needs one phase, but the workload has {}", workload.phase.len());
        check.problem(["percent"], message, "put the other phases into a workload of their own");
    }
    if ladder.percent.is_empty() {
        check.problem(["percent"], "the ladder has no loads", "name some: `[100, 50, 10]`");
    }
    for percent in ladder.percent.iter().chain(&ladder.again) {
        if !(*percent > 0.0 && *percent <= PERCENT_MAX) {
            check.problem(["percent"], format!("{percent} % is not a load"), format!("use above 0, to {PERCENT_MAX}"));
        }
    }
    for again in ladder.again.iter().filter(|again| !ladder.percent.contains(again)) {
        let message = format!("{again} % is to run again but is not in `percent`");
        check.problem(["again"], message, "repeat loads of the ladder only");
    }
    check.above_zero(["within"], "the allowed difference", ladder.within, "0.05 is usual");
    let rates = |asked: bool| {
        workload.phase.iter().flat_map(|phase| &phase.workers).all(|group| group.pace.open.is_some() == asked)
    };
    match ladder.of {
        FullLoad::Requested if !rates(true) => check.problem(
            ["of"],
            "a group of workers sets no rate, so there is no full load",
            "give each a `pace.open.rate`, or use `of = \"peak\"`",
        ),
        FullLoad::Peak if !rates(false) => check.problem(
            ["of"],
            "a group of workers sets a rate, so the peak would not be the storage's limit",
            "leave `pace.open` out, or use `of = \"asked\"`",
        ),
        _ => {}
    }
}
